/* The normalize family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/normalize.inl"
