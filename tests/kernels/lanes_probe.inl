/* Every lane function once: each writes 16 words of `out`. Compiled per ISA; lanes_test.c compares the words. */
#include "lanes_probe.h"

int HKK_NAME(lanes_probe)(float *out, const float *x, const float *y, const float *z, int n)
{
    hkk_f32x16 a = hkk_load(x), b = hkk_load(y), c = hkk_load(z);
    hkk_i32x16 i = hkk_bits(a), j = hkk_bits(b);
    hkk_mask16 m = hkk_lt(a, b), first = hkk_mask_first(n);
    int rows = 0;
#define FLOATS(value) hkk_store(out + 16 * rows++, value)
#define INTS(value)   hkk_istore((int32_t *)(out + 16 * rows++), value)
#define MASK(value)   INTS(hkk_iset1((int32_t)hkk_mask_bits(value)))
    FLOATS(hkk_load_n(x, n));
    INTS(hkk_iload_n((const int32_t *)x, n));
    FLOATS(c);
    hkk_store_n(out + 16 * (rows - 1), a, n);
    FLOATS(c);
    hkk_istore_n((int32_t *)(out + 16 * (rows - 1)), i, n);
    INTS(hkk_iload((const int32_t *)y));
    INTS(hkk_iload_u8((const uint8_t *)x));
    INTS(hkk_iload_i8((const int8_t *)x));
    INTS(hkk_ilanes());
    FLOATS(hkk_set1(x[3]));
    FLOATS(hkk_zero());
    FLOATS(hkk_add(a, b));
    FLOATS(hkk_sub(a, b));
    FLOATS(hkk_mul(a, b));
    FLOATS(hkk_div(a, b));
    FLOATS(hkk_fma(a, b, c));
    FLOATS(hkk_fnma(a, b, c));
    FLOATS(hkk_sqrt(a));
    FLOATS(hkk_min(a, b));
    FLOATS(hkk_max(a, b));
    FLOATS(hkk_round(a));
    FLOATS(hkk_floor(a));
    FLOATS(hkk_ceil(a));
    FLOATS(hkk_abs(a));
    FLOATS(hkk_neg(a));
    FLOATS(hkk_copysign(a, b));
    FLOATS(hkk_from_bits(i));
    INTS(hkk_iadd(i, j));
    INTS(hkk_isub(i, j));
    INTS(hkk_imul(i, j));
    INTS(hkk_iand(i, j));
    INTS(hkk_ior(i, j));
    INTS(hkk_ixor(i, j));
    INTS(hkk_iandnot(i, j));
    INTS(hkk_imin(i, j));
    INTS(hkk_imax(i, j));
    INTS(hkk_ishl(i, n));
    INTS(hkk_isrl(i, n));
    INTS(hkk_isra(i, n));
    MASK(hkk_ieq(i, j));
    MASK(hkk_igt(i, j));
    INTS(hkk_bits(hkk_and(a, b)));
    INTS(hkk_bits(hkk_or(a, b)));
    INTS(hkk_bits(hkk_xor(a, b)));
    INTS(hkk_bits(hkk_andnot(a, b)));
    INTS(hkk_to_i32(a));
    INTS(hkk_trunc_i32(a));
    FLOATS(hkk_from_i32(i));
    MASK(m);
    MASK(hkk_le(a, b));
    MASK(hkk_gt(a, b));
    MASK(hkk_ge(a, b));
    MASK(hkk_eq(a, b));
    MASK(hkk_ne(a, b));
    MASK(hkk_isnan(a));
    MASK(hkk_mask_and(m, first));
    MASK(hkk_mask_or(m, first));
    MASK(hkk_mask_not(m));
    INTS(hkk_iset1(hkk_mask_any(m)));
    FLOATS(hkk_select(m, a, c));
    INTS(hkk_iselect(first, i, j));
    FLOATS(hkk_load_f16((const uint16_t *)x));
    INTS(hkk_iset1(0));
    hkk_store_f16((uint16_t *)(out + 16 * (rows - 1)), a);
    FLOATS(hkk_set1(hkk_sum16(a)));
    FLOATS(hkk_set1(hkk_max16(a)));
    FLOATS(hkk_set1(hkk_min16(a)));
    return rows;
}
