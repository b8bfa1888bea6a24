/* Which tables of kernels exist in this build: one line per family and ISA. */
#include "kernels/kernels.h"

#if defined(__x86_64__)
#define HKK_ALL_ISAS(make) make(HKI_ISA_C, c), make(HKI_ISA_AVX2, avx2), make(HKI_ISA_AVX512, avx512)
#else
#define HKK_ALL_ISAS(make) make(HKI_ISA_C, c)
#endif

#define HKK_TABLE(id, suffix) [id] = { \
    .isa = id, \
    .convolution = &hkk_convolution__##suffix, \
    .elementwise = &hkk_elementwise__##suffix, \
    .gemm = &hkk_gemm__##suffix, \
    .optimizer = &hkk_optimizer__##suffix, \
    .vector_math = &hkk_vector_math__##suffix, \
    .reduce = &hkk_reduce__##suffix, \
    .softmax = &hkk_softmax__##suffix, \
    .spatial_pool = &hkk_spatial_pool__##suffix, \
    .normalize = &hkk_normalize__##suffix, \
}

static const hkk_kernels tables[] = {HKK_ALL_ISAS(HKK_TABLE)};

const hkk_kernels *hkk_kernels_get(hki_isa isa)
{
    size_t count = sizeof tables / sizeof tables[0];
    return &tables[(size_t)isa < count ? (size_t)isa : 0];
}
