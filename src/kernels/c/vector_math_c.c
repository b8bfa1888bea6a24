/* The vector_math family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/vector_math.inl"
