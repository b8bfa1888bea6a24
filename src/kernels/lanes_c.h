/* Sixteen float32 lanes in plain C: the meaning of every lane function.
 *
 * A kernel family is written once over these functions (FAMILY.inl) and compiled with one of lanes_c.h,
 * x86/lanes_avx2.h and x86/lanes_avx512.h. All three give the same bits for the same input, infinities, signed zeros
 * and denormals included; only the payload and sign of a NaN are open. So kernels are bit-equal over ISAs by
 * construction. The comments here are the contract of all three files. */
#ifndef HKI_KERNELS_LANES_C_H
#define HKI_KERNELS_LANES_C_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HKK_ISA_C 1
/** The name of a kernel or table of this ISA: HKK_NAME(hkk_math) is hkk_math__c. */
#define HKK_NAME(name) name##__c
#define HKK_INLINE static inline __attribute__((always_inline, unused))
#define HKK_LANES  16

typedef struct hkk_f32x16 {
    float v[16];
} hkk_f32x16;
typedef struct hkk_i32x16 {
    int32_t v[16];
} hkk_i32x16;
typedef struct hkk_mask16 {
    uint8_t v[16]; /* 0 or 1 */
} hkk_mask16;

#define HKK_EACH for (int i = 0; i < 16; i++)
#define HKK_F32_UNARY(name, expr)               \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a)    \
    {                                           \
        hkk_f32x16 r;                           \
        HKK_EACH r.v[i] = (expr);               \
        return r;                               \
    }
#define HKK_F32_BINARY(name, expr)                         \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a, hkk_f32x16 b) \
    {                                                      \
        hkk_f32x16 r;                                      \
        HKK_EACH r.v[i] = (expr);                          \
        return r;                                          \
    }
#define HKK_F32_TERNARY(name, expr)                                      \
    HKK_INLINE hkk_f32x16 name(hkk_f32x16 a, hkk_f32x16 b, hkk_f32x16 c) \
    {                                                                    \
        hkk_f32x16 r;                                                    \
        HKK_EACH r.v[i] = (expr);                                        \
        return r;                                                        \
    }
#define HKK_F32_COMPARE(name, expr)                        \
    HKK_INLINE hkk_mask16 name(hkk_f32x16 a, hkk_f32x16 b) \
    {                                                      \
        hkk_mask16 r;                                      \
        HKK_EACH r.v[i] = (expr);                          \
        return r;                                          \
    }
#define HKK_I32_BINARY(name, expr)                         \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, hkk_i32x16 b) \
    {                                                      \
        hkk_i32x16 r;                                      \
        HKK_EACH r.v[i] = (int32_t)(expr);                 \
        return r;                                          \
    }
#define HKK_I32_SHIFT(name, expr)                   \
    HKK_INLINE hkk_i32x16 name(hkk_i32x16 a, int n) \
    {                                               \
        hkk_i32x16 r;                               \
        HKK_EACH r.v[i] = (int32_t)(expr);          \
        return r;                                   \
    }
#define HKK_I32_COMPARE(name, expr)                        \
    HKK_INLINE hkk_mask16 name(hkk_i32x16 a, hkk_i32x16 b) \
    {                                                      \
        hkk_mask16 r;                                      \
        HKK_EACH r.v[i] = (expr);                          \
        return r;                                          \
    }

/* Loads and stores: unaligned. The _n forms touch only the first n lanes (0 <= n <= 16); the rest reads as zero. */

HKK_INLINE hkk_f32x16 hkk_load(const float *p)
{
    hkk_f32x16 r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}
HKK_INLINE hkk_f32x16 hkk_load_n(const float *p, int n)
{
    hkk_f32x16 r;
    HKK_EACH r.v[i] = i < n ? p[i] : 0.0f;
    return r;
}
HKK_INLINE void hkk_store(float *p, hkk_f32x16 a)
{
    memcpy(p, a.v, sizeof a.v);
}
HKK_INLINE void hkk_store_n(float *p, hkk_f32x16 a, int n)
{
    HKK_EACH if (i < n) p[i] = a.v[i];
}
HKK_INLINE hkk_i32x16 hkk_iload(const int32_t *p)
{
    hkk_i32x16 r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}
HKK_INLINE hkk_i32x16 hkk_iload_n(const int32_t *p, int n)
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = i < n ? p[i] : 0;
    return r;
}
HKK_INLINE void hkk_istore(int32_t *p, hkk_i32x16 a)
{
    memcpy(p, a.v, sizeof a.v);
}
HKK_INLINE void hkk_istore_n(int32_t *p, hkk_i32x16 a, int n)
{
    HKK_EACH if (i < n) p[i] = a.v[i];
}
/** Loads 16 bytes as integers 0 .. 255, or -128 .. 127. */
HKK_INLINE hkk_i32x16 hkk_iload_u8(const uint8_t *p)
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = p[i];
    return r;
}
HKK_INLINE hkk_i32x16 hkk_iload_i8(const int8_t *p)
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = p[i];
    return r;
}
HKK_INLINE hkk_f32x16 hkk_set1(float x)
{
    hkk_f32x16 r;
    HKK_EACH r.v[i] = x;
    return r;
}
HKK_INLINE hkk_f32x16 hkk_zero(void)
{
    return hkk_set1(0.0f);
}
HKK_INLINE hkk_i32x16 hkk_iset1(int32_t x)
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = x;
    return r;
}
/** Lane numbers 0 .. 15. */
HKK_INLINE hkk_i32x16 hkk_ilanes(void)
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = i;
    return r;
}

/* Arithmetic: each rounded once. */

HKK_F32_BINARY(hkk_add, a.v[i] + b.v[i])
HKK_F32_BINARY(hkk_sub, a.v[i] - b.v[i])
HKK_F32_BINARY(hkk_mul, a.v[i] * b.v[i])
HKK_F32_BINARY(hkk_div, a.v[i] / b.v[i])
HKK_F32_TERNARY(hkk_fma, fmaf(a.v[i], b.v[i], c.v[i]))   /* a b + c */
HKK_F32_TERNARY(hkk_fnma, fmaf(-a.v[i], b.v[i], c.v[i])) /* c - a b */
HKK_F32_UNARY(hkk_sqrt, sqrtf(a.v[i]))
/* (a < b) ? a : b: the second operand if either is NaN or both are zero. To let a NaN of x through: hkk_min(limit, x).
 */
HKK_F32_BINARY(hkk_min, a.v[i] < b.v[i] ? a.v[i] : b.v[i])
HKK_F32_BINARY(hkk_max, a.v[i] > b.v[i] ? a.v[i] : b.v[i])
HKK_F32_UNARY(hkk_round, rintf(a.v[i])) /* to nearest, ties to even */
HKK_F32_UNARY(hkk_floor, floorf(a.v[i]))
HKK_F32_UNARY(hkk_ceil, ceilf(a.v[i]))

/* Bits. */

HKK_INLINE hkk_i32x16 hkk_bits(hkk_f32x16 a)
{
    hkk_i32x16 r;
    memcpy(r.v, a.v, sizeof r.v);
    return r;
}
HKK_INLINE hkk_f32x16 hkk_from_bits(hkk_i32x16 a)
{
    hkk_f32x16 r;
    memcpy(r.v, a.v, sizeof r.v);
    return r;
}
HKK_I32_BINARY(hkk_iadd, (uint32_t)a.v[i] + (uint32_t)b.v[i]) /* wraps */
HKK_I32_BINARY(hkk_isub, (uint32_t)a.v[i] - (uint32_t)b.v[i])
HKK_I32_BINARY(hkk_imul, (uint32_t)a.v[i] * (uint32_t)b.v[i])
HKK_I32_BINARY(hkk_iand, a.v[i] & b.v[i])
HKK_I32_BINARY(hkk_ior, a.v[i] | b.v[i])
HKK_I32_BINARY(hkk_ixor, a.v[i] ^ b.v[i])
HKK_I32_BINARY(hkk_iandnot, ~a.v[i] & b.v[i])
HKK_I32_BINARY(hkk_imin, a.v[i] < b.v[i] ? a.v[i] : b.v[i])
HKK_I32_BINARY(hkk_imax, a.v[i] > b.v[i] ? a.v[i] : b.v[i])
HKK_I32_SHIFT(hkk_ishl, (uint32_t)a.v[i] << n) /* 0 <= n < 32 */
HKK_I32_SHIFT(hkk_isrl, (uint32_t)a.v[i] >> n)
HKK_I32_SHIFT(hkk_isra, a.v[i] >> n)
HKK_I32_COMPARE(hkk_ieq, a.v[i] == b.v[i])
HKK_I32_COMPARE(hkk_igt, a.v[i] > b.v[i])

HKK_INLINE hkk_f32x16 hkk_and(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_from_bits(hkk_iand(hkk_bits(a), hkk_bits(b)));
}
HKK_INLINE hkk_f32x16 hkk_or(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_from_bits(hkk_ior(hkk_bits(a), hkk_bits(b)));
}
HKK_INLINE hkk_f32x16 hkk_xor(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_from_bits(hkk_ixor(hkk_bits(a), hkk_bits(b)));
}
/** ~a & b */
HKK_INLINE hkk_f32x16 hkk_andnot(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_from_bits(hkk_iandnot(hkk_bits(a), hkk_bits(b)));
}

/* Conversions. Outside the range of int32 and for NaN the integer is INT32_MIN. */

HKK_INLINE int32_t hkk_lane_to_i32(float x)
{
    return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}
HKK_INLINE hkk_i32x16 hkk_to_i32(hkk_f32x16 a) /* to nearest, ties to even */
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = hkk_lane_to_i32(rintf(a.v[i]));
    return r;
}
HKK_INLINE hkk_i32x16 hkk_trunc_i32(hkk_f32x16 a) /* towards zero */
{
    hkk_i32x16 r;
    HKK_EACH r.v[i] = hkk_lane_to_i32(a.v[i]);
    return r;
}
HKK_INLINE hkk_f32x16 hkk_from_i32(hkk_i32x16 a)
{
    hkk_f32x16 r;
    HKK_EACH r.v[i] = (float)a.v[i];
    return r;
}

/* Masks and comparisons: ordered (false for NaN), but hkk_ne is true for NaN. */

HKK_F32_COMPARE(hkk_lt, a.v[i] < b.v[i])
HKK_F32_COMPARE(hkk_le, a.v[i] <= b.v[i])
HKK_F32_COMPARE(hkk_gt, a.v[i] > b.v[i])
HKK_F32_COMPARE(hkk_ge, a.v[i] >= b.v[i])
HKK_F32_COMPARE(hkk_eq, a.v[i] == b.v[i])
HKK_F32_COMPARE(hkk_ne, a.v[i] != b.v[i])

HKK_INLINE hkk_mask16 hkk_mask_and(hkk_mask16 a, hkk_mask16 b)
{
    HKK_EACH a.v[i] &= b.v[i];
    return a;
}
HKK_INLINE hkk_mask16 hkk_mask_or(hkk_mask16 a, hkk_mask16 b)
{
    HKK_EACH a.v[i] |= b.v[i];
    return a;
}
HKK_INLINE hkk_mask16 hkk_mask_not(hkk_mask16 a)
{
    HKK_EACH a.v[i] ^= 1;
    return a;
}
/** True in the first n lanes. */
HKK_INLINE hkk_mask16 hkk_mask_first(int n)
{
    hkk_mask16 r;
    HKK_EACH r.v[i] = i < n;
    return r;
}
/** Returns the mask as an integer, lane 0 in bit 0. */
HKK_INLINE uint32_t hkk_mask_bits(hkk_mask16 a)
{
    uint32_t bits = 0;
    HKK_EACH bits |= (uint32_t)a.v[i] << i;
    return bits;
}
HKK_INLINE bool hkk_mask_any(hkk_mask16 a)
{
    return hkk_mask_bits(a) != 0;
}
/** m ? a : b */
HKK_INLINE hkk_f32x16 hkk_select(hkk_mask16 m, hkk_f32x16 a, hkk_f32x16 b)
{
    HKK_EACH a.v[i] = m.v[i] ? a.v[i] : b.v[i];
    return a;
}
HKK_INLINE hkk_i32x16 hkk_iselect(hkk_mask16 m, hkk_i32x16 a, hkk_i32x16 b)
{
    HKK_EACH a.v[i] = m.v[i] ? a.v[i] : b.v[i];
    return a;
}

/* Half precision: exact to float32; to nearest even on the way back, overflow to infinity. */

HKK_INLINE float hkk_lane_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7FFF, bits;
    float f;
    if (magnitude >= 0x7C00) {
        bits = sign | 0x7F800000 | (magnitude & 0x3FF ? 0x400000 | (magnitude & 0x3FF) << 13 : 0);
    } else if (magnitude >= 0x400) {
        bits = sign | ((magnitude << 13) + 0x38000000);
    } else {
        f = (float)magnitude * 0x1p-24f;
        memcpy(&bits, &f, 4);
        bits |= sign;
    }
    memcpy(&f, &bits, 4);
    return f;
}
HKK_INLINE uint16_t hkk_lane_to_f16(float f)
{
    uint32_t bits, sign, magnitude;
    memcpy(&bits, &f, 4);
    sign = bits >> 16 & 0x8000;
    magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
    if (magnitude >= 0x477FF000) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7C00);
    if (magnitude <
        0x38800000) { /* a half denormal: units of 2^-24; adding 0.5 leaves the rounded units in the low bits */
        float x;
        memcpy(&x, &magnitude, 4);
        x += 0.5f;
        memcpy(&magnitude, &x, 4);
        return (uint16_t)(sign | (magnitude - 0x3F000000));
    }
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13));
}
HKK_INLINE hkk_f32x16 hkk_load_f16(const uint16_t *p)
{
    hkk_f32x16 r;
    HKK_EACH r.v[i] = hkk_lane_from_f16(p[i]);
    return r;
}
HKK_INLINE void hkk_store_f16(uint16_t *p, hkk_f32x16 a)
{
    HKK_EACH p[i] = hkk_lane_to_f16(a.v[i]);
}

/* Reductions over the lanes by one fixed tree: 8 + 8, 4 + 4, 2 + 2, 1 + 1. */

HKK_INLINE float hkk_sum16(hkk_f32x16 a)
{
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            a.v[i] = a.v[i] + a.v[i + half];
    return a.v[0];
}
HKK_INLINE float hkk_max16(hkk_f32x16 a)
{
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    return a.v[0];
}
HKK_INLINE float hkk_min16(hkk_f32x16 a)
{
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            a.v[i] = a.v[i] < a.v[i + half] ? a.v[i] : a.v[i + half];
    return a.v[0];
}

#include "kernels/lanes_common.h"

#endif
