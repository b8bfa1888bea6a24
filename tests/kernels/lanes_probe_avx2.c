/* The probe for AVX2. */
#include "kernels/x86/lanes_avx2.h"
#include "lanes_probe.inl"
