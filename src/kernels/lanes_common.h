/* Lane functions that are the same text for every ISA; included at the end of each lanes header. */
#ifndef HKI_KERNELS_LANES_COMMON_H
#define HKI_KERNELS_LANES_COMMON_H

/** Clears the sign bit. */
HKK_INLINE hkk_f32x16 hkk_abs(hkk_f32x16 a)
{
    return hkk_and(a, hkk_from_bits(hkk_iset1(0x7FFFFFFF)));
}
/** Flips the sign bit. */
HKK_INLINE hkk_f32x16 hkk_neg(hkk_f32x16 a)
{
    return hkk_xor(a, hkk_from_bits(hkk_iset1(INT32_MIN)));
}
/** Returns |magnitude| with the sign bit of sign. */
HKK_INLINE hkk_f32x16 hkk_copysign(hkk_f32x16 magnitude, hkk_f32x16 sign)
{
    hkk_f32x16 bit = hkk_from_bits(hkk_iset1(INT32_MIN));
    return hkk_or(hkk_andnot(bit, magnitude), hkk_and(bit, sign));
}
HKK_INLINE hkk_mask16 hkk_isnan(hkk_f32x16 a)
{
    return hkk_ne(a, a);
}

#endif
