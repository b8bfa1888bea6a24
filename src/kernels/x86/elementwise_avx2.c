/* The elementwise family for AVX2. */
#include "kernels/x86/lanes_avx2.h"
#include "kernels/elementwise.inl"
