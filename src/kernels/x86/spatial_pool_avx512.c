/* The spatial_pool family for AVX-512. */
#include "kernels/x86/lanes_avx512.h"
#include "kernels/spatial_pool.inl"
