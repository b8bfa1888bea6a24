/* The reduce family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/reduce.inl"
