/* Half-precision numbers in software and conversion between element types.
 *
 * Every conversion rounds once, to nearest even, and gives the same bits on every machine. Blocks of elements pass
 * through one of three wide types that hold them exactly: int64, uint64, double. */
#include "tensor/number.h"

#include <string.h>

#include "tensor/tensor.h"

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float hki_float16_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31) /* infinity, or NaN with its payload */
        return bits_float(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return bits_float(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* exact: subnormal halves are normal floats */
    return bits_float(sign | float_bits(magnitude));
}

/* Drops the low `shift` (1 .. 31) bits of `value`, rounding to nearest even. */
static uint32_t round_shift(uint32_t value, unsigned shift)
{
    uint32_t half = 1u << (shift - 1), rest = value & (2 * half - 1), kept = value >> shift;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t hki_float_to_float16(float value)
{
    uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000) /* NaN: quiet, with the top of its payload */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) /* 65536 and above */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* 2^-14 and above: normal; a carry out of the fraction moves the exponent on */
        return (uint16_t)(sign | round_shift(magnitude - (112u << 23), 13));
    if (magnitude < 0x33000000) /* below 2^-25: rounds to zero */
        return sign;
    uint32_t fraction = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | round_shift(fraction, 126 - (magnitude >> 23)));
}

/* Rounds to float so that a second rounding to fewer than 23 bits is right: an inexact result gets an odd last bit
 * (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"). */
static float double_to_odd_float(double value)
{
    float near = (float)value;
    uint32_t bits = float_bits(near);
    if ((double)near == value || value != value || (bits & 0x7fffffff) == 0x7f800000 || (bits & 1))
        return near;
    bool too_large = value < 0 ? (double)near < value : (double)near > value; /* in magnitude */
    return bits_float(too_large ? bits - 1 : bits + 1);
}

uint16_t hki_double_to_float16(double value)
{
    return hki_float_to_float16(double_to_odd_float(value));
}

float hki_bfloat16_to_float(uint16_t half)
{
    return bits_float((uint32_t)half << 16);
}

uint16_t hki_float_to_bfloat16(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t double_to_bfloat16(double value)
{
    return hki_float_to_bfloat16(double_to_odd_float(value));
}

/* An integer as a double that rounds to a half as the integer itself would: above 2^54 the last bit says "and more". */
static double int_to_odd_double(int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (magnitude >> 53)
        magnitude = (magnitude & ~(uint64_t)0x7ff) | (magnitude & 0x7ff ? 0x800 : 0);
    return value < 0 ? -(double)magnitude : (double)magnitude;
}

static double uint_to_odd_double(uint64_t value)
{
    return (double)(value >> 53 ? (value & ~(uint64_t)0x7ff) | (value & 0x7ff ? 0x800 : 0) : value);
}

/* Truncates towards zero into [low, high]; NaN gives 0. `above` is the first double beyond high. */
static int64_t saturate_int(double value, int64_t low, int64_t high, double above)
{
    if (value != value)
        return 0;
    return value >= above ? high : value <= (double)low ? low : (int64_t)value;
}

static uint64_t saturate_uint(double value, uint64_t high, double above)
{
    if (!(value > 0))
        return 0;
    return value >= above ? high : (uint64_t)value;
}

#define BLOCK 256 /* elements that pass through the wide buffer at a time */

typedef union wide {
    int64_t i[BLOCK];
    uint64_t u[BLOCK];
    double d[BLOCK];
} wide;

enum wide_kind { WIDE_INT, WIDE_UINT, WIDE_DOUBLE };

#define LOAD(dtype, type, field, kind, expression)                 \
    case dtype: {                                                  \
        const type *x = (const type *)from;                        \
        for (int64_t k = 0; k < count; k++)                        \
            to->field[k] = (expression);                           \
        return kind;                                               \
    }

/* Reads `count` elements into the wide buffer and says which of its members holds them. */
static enum wide_kind load_block(wide *to, const void *from, hk_dtype dtype, int64_t count)
{
    switch (dtype) {
        LOAD(HK_FLOAT, float, d, WIDE_DOUBLE, (double)x[k])
        LOAD(HK_DOUBLE, double, d, WIDE_DOUBLE, x[k])
        LOAD(HK_FLOAT16, uint16_t, d, WIDE_DOUBLE, (double)hki_float16_to_float(x[k]))
        LOAD(HK_BFLOAT16, uint16_t, d, WIDE_DOUBLE, (double)hki_bfloat16_to_float(x[k]))
        LOAD(HK_UINT64, uint64_t, u, WIDE_UINT, x[k])
        LOAD(HK_BOOL, uint8_t, i, WIDE_INT, x[k] != 0)
        LOAD(HK_UINT8, uint8_t, i, WIDE_INT, x[k])
        LOAD(HK_INT8, int8_t, i, WIDE_INT, x[k])
        LOAD(HK_UINT16, uint16_t, i, WIDE_INT, x[k])
        LOAD(HK_INT16, int16_t, i, WIDE_INT, x[k])
        LOAD(HK_UINT32, uint32_t, i, WIDE_INT, x[k])
        LOAD(HK_INT32, int32_t, i, WIDE_INT, x[k])
        LOAD(HK_INT64, int64_t, i, WIDE_INT, x[k])
    default:
        return WIDE_INT; /* hki_convert has refused it */
    }
}
#undef LOAD

#define STORE(dtype, type, expression)                             \
    case dtype: {                                                  \
        type *y = (type *)to;                                      \
        for (int64_t k = 0; k < count; k++)                        \
            y[k] = (type)(expression);                             \
        break;                                                     \
    }

/* Integers to integers keep the low bits, as numpy and C do. */
#define STORE_INTEGERS(x)            \
    STORE(HK_UINT8, uint8_t, x[k])   \
    STORE(HK_INT8, int8_t, x[k])     \
    STORE(HK_UINT16, uint16_t, x[k]) \
    STORE(HK_INT16, int16_t, x[k])   \
    STORE(HK_UINT32, uint32_t, x[k]) \
    STORE(HK_INT32, int32_t, x[k])   \
    STORE(HK_UINT64, uint64_t, x[k]) \
    STORE(HK_INT64, int64_t, x[k])

#define STORE_OTHERS(x, odd)                                    \
    STORE(HK_BOOL, uint8_t, x[k] != 0)                          \
    STORE(HK_FLOAT, float, x[k])                                \
    STORE(HK_DOUBLE, double, x[k])                              \
    STORE(HK_FLOAT16, uint16_t, hki_double_to_float16(odd(x[k]))) \
    STORE(HK_BFLOAT16, uint16_t, double_to_bfloat16(odd(x[k])))

static void store_ints(void *to, hk_dtype dtype, const int64_t *x, int64_t count)
{
    switch (dtype) {
        STORE_INTEGERS(x)
        STORE_OTHERS(x, int_to_odd_double)
    default:
        break;
    }
}

static void store_uints(void *to, hk_dtype dtype, const uint64_t *x, int64_t count)
{
    switch (dtype) {
        STORE_INTEGERS(x)
        STORE_OTHERS(x, uint_to_odd_double)
    default:
        break;
    }
}

static void store_doubles(void *to, hk_dtype dtype, const double *x, int64_t count)
{
    switch (dtype) {
        STORE(HK_UINT8, uint8_t, saturate_uint(x[k], UINT8_MAX, 256.0))
        STORE(HK_UINT16, uint16_t, saturate_uint(x[k], UINT16_MAX, 65536.0))
        STORE(HK_UINT32, uint32_t, saturate_uint(x[k], UINT32_MAX, 0x1p32))
        STORE(HK_UINT64, uint64_t, saturate_uint(x[k], UINT64_MAX, 0x1p64))
        STORE(HK_INT8, int8_t, saturate_int(x[k], INT8_MIN, INT8_MAX, 128.0))
        STORE(HK_INT16, int16_t, saturate_int(x[k], INT16_MIN, INT16_MAX, 32768.0))
        STORE(HK_INT32, int32_t, saturate_int(x[k], INT32_MIN, INT32_MAX, 0x1p31))
        STORE(HK_INT64, int64_t, saturate_int(x[k], INT64_MIN, INT64_MAX, 0x1p63))
        STORE_OTHERS(x, )
    default:
        break;
    }
}

static bool convertible(hk_dtype dtype)
{
    return dtype == HK_BOOL || hki_dtype_is_float(dtype) || hki_dtype_is_integer(dtype);
}

hk_status hki_convert(void *to, hk_dtype to_dtype, const void *from, hk_dtype from_dtype, int64_t count)
{
    if (!convertible(to_dtype) || !convertible(from_dtype))
        return HK_ERR(HK_INVALID_TYPE, "cannot convert %s to %s: expected numeric types or bool",
                      hk_dtype_name(from_dtype), hk_dtype_name(to_dtype));
    size_t to_size = hk_dtype_size(to_dtype), from_size = hk_dtype_size(from_dtype);
    if (to_dtype == from_dtype && to_dtype != HK_BOOL) {
        if (count > 0)
            memcpy(to, from, (size_t)count * to_size);
        return NULL;
    }
    wide block;
    for (int64_t i = 0; i < count; i += BLOCK) {
        int64_t n = count - i < BLOCK ? count - i : BLOCK;
        void *target = (char *)to + (size_t)i * to_size;
        enum wide_kind kind = load_block(&block, (const char *)from + (size_t)i * from_size, from_dtype, n);
        if (kind == WIDE_DOUBLE)
            store_doubles(target, to_dtype, block.d, n);
        else if (kind == WIDE_UINT)
            store_uints(target, to_dtype, block.u, n);
        else
            store_ints(target, to_dtype, block.i, n);
    }
    return NULL;
}
