/* The elementwise family for AVX-512. */
#include "kernels/x86/lanes_avx512.h"
#include "kernels/elementwise.inl"
