/* The convolution family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/convolution.inl"
