/* The optimizer family for AVX2 and FMA. */
#include "kernels/x86/lanes_avx2.h"
#include "kernels/optimizer_update.inl"
