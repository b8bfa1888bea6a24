/* The elementwise family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/elementwise.inl"
