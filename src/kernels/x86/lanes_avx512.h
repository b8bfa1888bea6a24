/* Sixteen float32 lanes as one AVX-512 register (F, BW, DQ, VL). The contract of each function stands in
 * kernels/lanes_c.h. */
#ifndef HKI_KERNELS_X86_LANES_AVX512_H
#define HKI_KERNELS_X86_LANES_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HKK_ISA_AVX512 1
#define HKK_NAME(name) name##__avx512
#define HKK_INLINE static inline __attribute__((always_inline, unused))
#define HKK_LANES  16

typedef __m512 hkk_f32x16;
typedef __m512i hkk_i32x16;
typedef __mmask16 hkk_mask16;

#define HKK_F32_UNARY(name, op)                     \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a)        \
    {                                               \
        return op(a);                               \
    }
#define HKK_F32_BINARY(name, op)                           \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a, hkk_f32x16 b) \
    {                                                      \
        return op(a, b);                                   \
    }
#define HKK_F32_COMPARE(name, predicate)                   \
    HKK_INLINE hkk_mask16 name(hkk_f32x16 a, hkk_f32x16 b) \
    {                                                      \
        return _mm512_cmp_ps_mask(a, b, predicate);        \
    }
#define HKK_I32_BINARY(name, op)                           \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, hkk_i32x16 b) \
    {                                                      \
        return op(a, b);                                   \
    }
#define HKK_I32_SHIFT(name, op)                     \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, int n) \
    {                                               \
        return op(a, _mm_cvtsi32_si128(n));         \
    }

HKK_INLINE hkk_mask16 hkk_mask_first(int n)
{
    return (hkk_mask16)((1u << n) - 1u);
}
HKK_INLINE hkk_f32x16 hkk_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
HKK_INLINE hkk_f32x16 hkk_load_n(const float *p, int n)
{
    return _mm512_maskz_loadu_ps(hkk_mask_first(n), p);
}
HKK_INLINE void hkk_store(float *p, hkk_f32x16 a)
{
    _mm512_storeu_ps(p, a);
}
HKK_INLINE void hkk_store_n(float *p, hkk_f32x16 a, int n)
{
    _mm512_mask_storeu_ps(p, hkk_mask_first(n), a);
}
HKK_INLINE hkk_i32x16 hkk_iload(const int32_t *p)
{
    return _mm512_loadu_si512(p);
}
HKK_INLINE hkk_i32x16 hkk_iload_n(const int32_t *p, int n)
{
    return _mm512_maskz_loadu_epi32(hkk_mask_first(n), p);
}
HKK_INLINE void hkk_istore(int32_t *p, hkk_i32x16 a)
{
    _mm512_storeu_si512(p, a);
}
HKK_INLINE void hkk_istore_n(int32_t *p, hkk_i32x16 a, int n)
{
    _mm512_mask_storeu_epi32(p, hkk_mask_first(n), a);
}
HKK_INLINE hkk_i32x16 hkk_iload_u8(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
HKK_INLINE hkk_i32x16 hkk_iload_i8(const int8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
HKK_INLINE hkk_f32x16 hkk_set1(float x)
{
    return _mm512_set1_ps(x);
}
HKK_INLINE hkk_f32x16 hkk_zero(void)
{
    return _mm512_setzero_ps();
}
HKK_INLINE hkk_i32x16 hkk_iset1(int32_t x)
{
    return _mm512_set1_epi32(x);
}
HKK_INLINE hkk_i32x16 hkk_ilanes(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

HKK_F32_BINARY(hkk_add, _mm512_add_ps)
HKK_F32_BINARY(hkk_sub, _mm512_sub_ps)
HKK_F32_BINARY(hkk_mul, _mm512_mul_ps)
HKK_F32_BINARY(hkk_div, _mm512_div_ps)
HKK_INLINE hkk_f32x16 hkk_fma(hkk_f32x16 a, hkk_f32x16 b, hkk_f32x16 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
HKK_INLINE hkk_f32x16 hkk_fnma(hkk_f32x16 a, hkk_f32x16 b, hkk_f32x16 c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
HKK_F32_UNARY(hkk_sqrt, _mm512_sqrt_ps)
HKK_F32_BINARY(hkk_min, _mm512_min_ps)
HKK_F32_BINARY(hkk_max, _mm512_max_ps)
HKK_INLINE hkk_f32x16 hkk_round(hkk_f32x16 a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
HKK_INLINE hkk_f32x16 hkk_floor(hkk_f32x16 a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
HKK_INLINE hkk_f32x16 hkk_ceil(hkk_f32x16 a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

HKK_INLINE hkk_i32x16 hkk_bits(hkk_f32x16 a)
{
    return _mm512_castps_si512(a);
}
HKK_INLINE hkk_f32x16 hkk_from_bits(hkk_i32x16 a)
{
    return _mm512_castsi512_ps(a);
}
HKK_I32_BINARY(hkk_iadd, _mm512_add_epi32)
HKK_I32_BINARY(hkk_isub, _mm512_sub_epi32)
HKK_I32_BINARY(hkk_imul, _mm512_mullo_epi32)
HKK_I32_BINARY(hkk_iand, _mm512_and_si512)
HKK_I32_BINARY(hkk_ior, _mm512_or_si512)
HKK_I32_BINARY(hkk_ixor, _mm512_xor_si512)
HKK_I32_BINARY(hkk_iandnot, _mm512_andnot_si512)
HKK_I32_BINARY(hkk_imin, _mm512_min_epi32)
HKK_I32_BINARY(hkk_imax, _mm512_max_epi32)
HKK_I32_SHIFT(hkk_ishl, _mm512_sll_epi32)
HKK_I32_SHIFT(hkk_isrl, _mm512_srl_epi32)
HKK_I32_SHIFT(hkk_isra, _mm512_sra_epi32)
HKK_INLINE hkk_mask16 hkk_ieq(hkk_i32x16 a, hkk_i32x16 b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}
HKK_INLINE hkk_mask16 hkk_igt(hkk_i32x16 a, hkk_i32x16 b)
{
    return _mm512_cmpgt_epi32_mask(a, b);
}
HKK_F32_BINARY(hkk_and, _mm512_and_ps)
HKK_F32_BINARY(hkk_or, _mm512_or_ps)
HKK_F32_BINARY(hkk_xor, _mm512_xor_ps)
HKK_F32_BINARY(hkk_andnot, _mm512_andnot_ps)

HKK_INLINE hkk_i32x16 hkk_to_i32(hkk_f32x16 a)
{
    return _mm512_cvtps_epi32(a);
}
HKK_INLINE hkk_i32x16 hkk_trunc_i32(hkk_f32x16 a)
{
    return _mm512_cvttps_epi32(a);
}
HKK_INLINE hkk_f32x16 hkk_from_i32(hkk_i32x16 a)
{
    return _mm512_cvtepi32_ps(a);
}

HKK_F32_COMPARE(hkk_lt, _CMP_LT_OQ)
HKK_F32_COMPARE(hkk_le, _CMP_LE_OQ)
HKK_F32_COMPARE(hkk_gt, _CMP_GT_OQ)
HKK_F32_COMPARE(hkk_ge, _CMP_GE_OQ)
HKK_F32_COMPARE(hkk_eq, _CMP_EQ_OQ)
HKK_F32_COMPARE(hkk_ne, _CMP_NEQ_UQ)

HKK_INLINE hkk_mask16 hkk_mask_and(hkk_mask16 a, hkk_mask16 b)
{
    return (hkk_mask16)(a & b);
}
HKK_INLINE hkk_mask16 hkk_mask_or(hkk_mask16 a, hkk_mask16 b)
{
    return (hkk_mask16)(a | b);
}
HKK_INLINE hkk_mask16 hkk_mask_not(hkk_mask16 a)
{
    return (hkk_mask16)~a;
}
HKK_INLINE uint32_t hkk_mask_bits(hkk_mask16 a)
{
    return a;
}
HKK_INLINE bool hkk_mask_any(hkk_mask16 a)
{
    return a != 0;
}
HKK_INLINE hkk_f32x16 hkk_select(hkk_mask16 m, hkk_f32x16 a, hkk_f32x16 b)
{
    return _mm512_mask_blend_ps(m, b, a);
}
HKK_INLINE hkk_i32x16 hkk_iselect(hkk_mask16 m, hkk_i32x16 a, hkk_i32x16 b)
{
    return _mm512_mask_blend_epi32(m, b, a);
}

HKK_INLINE hkk_f32x16 hkk_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
HKK_INLINE void hkk_store_f16(uint16_t *p, hkk_f32x16 a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#define HKK_REDUCE16(name, op256, op128, op1)                                                \
    HKK_INLINE float name(hkk_f32x16 a)                                                      \
    {                                                                                        \
        __m256 eight = op256(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));       \
        __m128 four = op128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)); \
        __m128 two = op128(four, _mm_movehl_ps(four, four));                                 \
        return _mm_cvtss_f32(op1(two, _mm_shuffle_ps(two, two, 1)));                         \
    }
HKK_REDUCE16(hkk_sum16, _mm256_add_ps, _mm_add_ps, _mm_add_ss)
HKK_REDUCE16(hkk_max16, _mm256_max_ps, _mm_max_ps, _mm_max_ss)
HKK_REDUCE16(hkk_min16, _mm256_min_ps, _mm_min_ps, _mm_min_ss)

#include "kernels/lanes_common.h"

#endif
