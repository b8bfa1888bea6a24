/* Sixteen float32 lanes as two AVX2 registers. The contract of each function stands in kernels/lanes_c.h. */
#ifndef HKI_KERNELS_X86_LANES_AVX2_H
#define HKI_KERNELS_X86_LANES_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HKK_ISA_AVX2 1
#define HKK_NAME(name) name##__avx2
#define HKK_INLINE static inline __attribute__((always_inline, unused))
#define HKK_LANES  16

typedef struct hkk_f32x16 {
    __m256 lo, hi;
} hkk_f32x16;
typedef struct hkk_i32x16 {
    __m256i lo, hi;
} hkk_i32x16;
typedef struct hkk_mask16 {
    __m256 lo, hi; /* all bits of a lane */
} hkk_mask16;

#define HKK_F32_UNARY(name, op)                           \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a)              \
    {                                                     \
        return (hkk_f32x16){op(a.lo), op(a.hi)};          \
    }
#define HKK_F32_BINARY(name, op)                           \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a, hkk_f32x16 b) \
    {                                                      \
        return (hkk_f32x16){op(a.lo, b.lo), op(a.hi, b.hi)}; \
    }
#define HKK_F32_TERNARY(name, op)                                        \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a, hkk_f32x16 b, hkk_f32x16 c) \
    {                                                                    \
        return (hkk_f32x16){op(a.lo, b.lo, c.lo), op(a.hi, b.hi, c.hi)}; \
    }
#define HKK_F32_COMPARE(name, predicate)                                                                 \
    HKK_INLINE hkk_mask16 name(hkk_f32x16 a, hkk_f32x16 b)                                               \
    {                                                                                                    \
        return (hkk_mask16){_mm256_cmp_ps(a.lo, b.lo, predicate), _mm256_cmp_ps(a.hi, b.hi, predicate)}; \
    }
#define HKK_I32_BINARY(name, op)                           \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, hkk_i32x16 b) \
    {                                                      \
        return (hkk_i32x16){op(a.lo, b.lo), op(a.hi, b.hi)}; \
    }
#define HKK_I32_SHIFT(name, op)                                                                   \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, int n)                                               \
    {                                                                                             \
        return (hkk_i32x16){op(a.lo, _mm_cvtsi32_si128(n)), op(a.hi, _mm_cvtsi32_si128(n))};      \
    }
#define HKK_I32_COMPARE(name, op)                                                                        \
    HKK_INLINE hkk_mask16 name(hkk_i32x16 a, hkk_i32x16 b)                                               \
    {                                                                                                    \
        return (hkk_mask16){_mm256_castsi256_ps(op(a.lo, b.lo)), _mm256_castsi256_ps(op(a.hi, b.hi))};   \
    }

HKK_INLINE __m256i hkk_first8(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HKK_INLINE hkk_f32x16 hkk_load(const float *p)
{
    return (hkk_f32x16){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
HKK_INLINE hkk_f32x16 hkk_load_n(const float *p, int n)
{
    return (hkk_f32x16){_mm256_maskload_ps(p, hkk_first8(n)), _mm256_maskload_ps(p + 8, hkk_first8(n - 8))};
}
HKK_INLINE void hkk_store(float *p, hkk_f32x16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
HKK_INLINE void hkk_store_n(float *p, hkk_f32x16 a, int n)
{
    _mm256_maskstore_ps(p, hkk_first8(n), a.lo);
    _mm256_maskstore_ps(p + 8, hkk_first8(n - 8), a.hi);
}
HKK_INLINE hkk_i32x16 hkk_iload(const int32_t *p)
{
    return (hkk_i32x16){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 8))};
}
HKK_INLINE hkk_i32x16 hkk_iload_n(const int32_t *p, int n)
{
    return (hkk_i32x16){_mm256_maskload_epi32(p, hkk_first8(n)), _mm256_maskload_epi32(p + 8, hkk_first8(n - 8))};
}
HKK_INLINE void hkk_istore(int32_t *p, hkk_i32x16 a)
{
    _mm256_storeu_si256((__m256i *)p, a.lo);
    _mm256_storeu_si256((__m256i *)(p + 8), a.hi);
}
HKK_INLINE void hkk_istore_n(int32_t *p, hkk_i32x16 a, int n)
{
    _mm256_maskstore_epi32(p, hkk_first8(n), a.lo);
    _mm256_maskstore_epi32(p + 8, hkk_first8(n - 8), a.hi);
}
HKK_INLINE hkk_i32x16 hkk_iload_u8(const uint8_t *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return (hkk_i32x16){_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
HKK_INLINE hkk_i32x16 hkk_iload_i8(const int8_t *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return (hkk_i32x16){_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
HKK_INLINE hkk_f32x16 hkk_set1(float x)
{
    return (hkk_f32x16){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
HKK_INLINE hkk_f32x16 hkk_zero(void)
{
    return (hkk_f32x16){_mm256_setzero_ps(), _mm256_setzero_ps()};
}
HKK_INLINE hkk_i32x16 hkk_iset1(int32_t x)
{
    return (hkk_i32x16){_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
HKK_INLINE hkk_i32x16 hkk_ilanes(void)
{
    return (hkk_i32x16){_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}

HKK_F32_BINARY(hkk_add, _mm256_add_ps)
HKK_F32_BINARY(hkk_sub, _mm256_sub_ps)
HKK_F32_BINARY(hkk_mul, _mm256_mul_ps)
HKK_F32_BINARY(hkk_div, _mm256_div_ps)
HKK_F32_TERNARY(hkk_fma, _mm256_fmadd_ps)
HKK_F32_TERNARY(hkk_fnma, _mm256_fnmadd_ps)
HKK_F32_UNARY(hkk_sqrt, _mm256_sqrt_ps)
HKK_F32_BINARY(hkk_min, _mm256_min_ps)
HKK_F32_BINARY(hkk_max, _mm256_max_ps)
#define HKK_ROUND_PS(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
HKK_F32_UNARY(hkk_round, HKK_ROUND_PS)
HKK_F32_UNARY(hkk_floor, _mm256_floor_ps)
HKK_F32_UNARY(hkk_ceil, _mm256_ceil_ps)

HKK_INLINE hkk_i32x16 hkk_bits(hkk_f32x16 a)
{
    return (hkk_i32x16){_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
HKK_INLINE hkk_f32x16 hkk_from_bits(hkk_i32x16 a)
{
    return (hkk_f32x16){_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
HKK_I32_BINARY(hkk_iadd, _mm256_add_epi32)
HKK_I32_BINARY(hkk_isub, _mm256_sub_epi32)
HKK_I32_BINARY(hkk_imul, _mm256_mullo_epi32)
HKK_I32_BINARY(hkk_iand, _mm256_and_si256)
HKK_I32_BINARY(hkk_ior, _mm256_or_si256)
HKK_I32_BINARY(hkk_ixor, _mm256_xor_si256)
HKK_I32_BINARY(hkk_iandnot, _mm256_andnot_si256)
HKK_I32_BINARY(hkk_imin, _mm256_min_epi32)
HKK_I32_BINARY(hkk_imax, _mm256_max_epi32)
HKK_I32_SHIFT(hkk_ishl, _mm256_sll_epi32)
HKK_I32_SHIFT(hkk_isrl, _mm256_srl_epi32)
HKK_I32_SHIFT(hkk_isra, _mm256_sra_epi32)
HKK_I32_COMPARE(hkk_ieq, _mm256_cmpeq_epi32)
HKK_I32_COMPARE(hkk_igt, _mm256_cmpgt_epi32)
HKK_F32_BINARY(hkk_and, _mm256_and_ps)
HKK_F32_BINARY(hkk_or, _mm256_or_ps)
HKK_F32_BINARY(hkk_xor, _mm256_xor_ps)
HKK_F32_BINARY(hkk_andnot, _mm256_andnot_ps)

HKK_INLINE hkk_i32x16 hkk_to_i32(hkk_f32x16 a)
{
    return (hkk_i32x16){_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
HKK_INLINE hkk_i32x16 hkk_trunc_i32(hkk_f32x16 a)
{
    return (hkk_i32x16){_mm256_cvttps_epi32(a.lo), _mm256_cvttps_epi32(a.hi)};
}
HKK_INLINE hkk_f32x16 hkk_from_i32(hkk_i32x16 a)
{
    return (hkk_f32x16){_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}

HKK_F32_COMPARE(hkk_lt, _CMP_LT_OQ)
HKK_F32_COMPARE(hkk_le, _CMP_LE_OQ)
HKK_F32_COMPARE(hkk_gt, _CMP_GT_OQ)
HKK_F32_COMPARE(hkk_ge, _CMP_GE_OQ)
HKK_F32_COMPARE(hkk_eq, _CMP_EQ_OQ)
HKK_F32_COMPARE(hkk_ne, _CMP_NEQ_UQ)

HKK_INLINE hkk_mask16 hkk_mask_and(hkk_mask16 a, hkk_mask16 b)
{
    return (hkk_mask16){_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)};
}
HKK_INLINE hkk_mask16 hkk_mask_or(hkk_mask16 a, hkk_mask16 b)
{
    return (hkk_mask16){_mm256_or_ps(a.lo, b.lo), _mm256_or_ps(a.hi, b.hi)};
}
HKK_INLINE hkk_mask16 hkk_mask_not(hkk_mask16 a)
{
    __m256 ones = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    return (hkk_mask16){_mm256_xor_ps(a.lo, ones), _mm256_xor_ps(a.hi, ones)};
}
HKK_INLINE hkk_mask16 hkk_mask_first(int n)
{
    return (hkk_mask16){_mm256_castsi256_ps(hkk_first8(n)), _mm256_castsi256_ps(hkk_first8(n - 8))};
}
HKK_INLINE uint32_t hkk_mask_bits(hkk_mask16 a)
{
    return (uint32_t)_mm256_movemask_ps(a.lo) | (uint32_t)_mm256_movemask_ps(a.hi) << 8;
}
HKK_INLINE bool hkk_mask_any(hkk_mask16 a)
{
    return hkk_mask_bits(a) != 0;
}
HKK_INLINE hkk_f32x16 hkk_select(hkk_mask16 m, hkk_f32x16 a, hkk_f32x16 b)
{
    return (hkk_f32x16){_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}
HKK_INLINE hkk_i32x16 hkk_iselect(hkk_mask16 m, hkk_i32x16 a, hkk_i32x16 b)
{
    return hkk_bits(hkk_select(m, hkk_from_bits(a), hkk_from_bits(b)));
}

HKK_INLINE hkk_f32x16 hkk_load_f16(const uint16_t *p)
{
    return (hkk_f32x16){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                        _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8)))};
}
HKK_INLINE void hkk_store_f16(uint16_t *p, hkk_f32x16 a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(p + 8), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}

#define HKK_REDUCE16(name, op256, op128, op1)                                            \
    HKK_INLINE float name(hkk_f32x16 a)                                                  \
    {                                                                                    \
        __m256 eight = op256(a.lo, a.hi);                                                \
        __m128 four = op128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)); \
        __m128 two = op128(four, _mm_movehl_ps(four, four));                             \
        return _mm_cvtss_f32(op1(two, _mm_shuffle_ps(two, two, 1)));                     \
    }
HKK_REDUCE16(hkk_sum16, _mm256_add_ps, _mm_add_ps, _mm_add_ss)
HKK_REDUCE16(hkk_max16, _mm256_max_ps, _mm_max_ps, _mm_max_ss)
HKK_REDUCE16(hkk_min16, _mm256_min_ps, _mm_min_ps, _mm_min_ss)

#include "kernels/lanes_common.h"

#endif
