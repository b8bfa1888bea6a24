/* The probe for AVX-512. */
#include "kernels/x86/lanes_avx512.h"
#include "lanes_probe.inl"
