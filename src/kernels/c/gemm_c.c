/* The gemm family in plain C. */
#include "kernels/lanes_c.h"
#include "kernels/gemm.inl"
