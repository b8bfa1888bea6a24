/* Transcendental functions over sixteen float32 lanes: halka's own polynomials, no libm, the same bits in every ISA.
 *
 * Include after a lanes header. Error bounds are stated per function in units in the last place (ulp) of the true value
 * and held by vector_math_test.c; denormal inputs and results count, NaN gives NaN.
 * Coefficients: minimax fits in the style of Cephes (Moshier) and of N. Juffa's published float32 routines. */

#define HKK_INFINITY hkk_from_bits(hkk_iset1(0x7F800000))
#define HKK_NAN      hkk_from_bits(hkk_iset1(0x7FC00000))

/* 2^n for -126 <= n <= 127 */
HKK_INLINE hkk_f32x16 hkk_power_of_two(hkk_i32x16 n)
{
    return hkk_from_bits(hkk_ishl(hkk_iadd(n, hkk_iset1(127)), 23));
}

/* x 2^n for -252 <= n <= 254, rounded once also into the denormals (x about 1). */
HKK_INLINE hkk_f32x16 hkk_scale(hkk_f32x16 x, hkk_i32x16 n)
{
    hkk_i32x16 half = hkk_isra(n, 1);
    return hkk_mul(hkk_mul(x, hkk_power_of_two(half)), hkk_power_of_two(hkk_isub(n, half)));
}

/** e^(x + low) for a small correction low; <= 1.1 ulp. exp(-Inf) = 0, exp(x > 88.73) = Inf. */
HKK_INLINE hkk_f32x16 hkk_exp_corrected(hkk_f32x16 x, hkk_f32x16 low)
{
    /* Beyond these limits the result is 0 or Inf anyhow; the order of operands lets NaN through. */
    x = hkk_max(hkk_set1(-105.0f), hkk_min(hkk_set1(89.0f), x));
    hkk_f32x16 n = hkk_round(hkk_mul(x, hkk_set1(1.44269504f)));
    hkk_f32x16 r = hkk_fnma(n, hkk_set1(0.693145752f), x); /* ln 2 in two parts: the first product is exact */
    r = hkk_add(hkk_fnma(n, hkk_set1(1.42860677e-6f), r), low);
    hkk_f32x16 p = hkk_set1(0.000198527617612853646f);
    p = hkk_fma(p, r, hkk_set1(0.00139304355252534151f));
    p = hkk_fma(p, r, hkk_set1(0.00833336077630519867f));
    p = hkk_fma(p, r, hkk_set1(0.0416664853692054749f));
    p = hkk_fma(p, r, hkk_set1(0.166666671633720398f));
    p = hkk_fma(p, r, hkk_set1(0.5f));
    p = hkk_add(hkk_fma(hkk_mul(r, r), p, r), hkk_set1(1.0f));
    return hkk_scale(p, hkk_to_i32(n));
}

/** e^x; <= 1.1 ulp. */
HKK_INLINE hkk_f32x16 hkk_exp(hkk_f32x16 x)
{
    return hkk_exp_corrected(x, hkk_zero());
}

/* Splits x > 0 into m 2^e with m in [sqrt(1/2), sqrt(2)); e is returned as float. Denormals are scaled first. */
HKK_INLINE hkk_f32x16 hkk_split(hkk_f32x16 x, hkk_f32x16 *e)
{
    hkk_mask16 tiny = hkk_lt(x, hkk_set1(0x1p-126f));
    x = hkk_select(tiny, hkk_mul(x, hkk_set1(0x1p23f)), x);
    hkk_i32x16 bits = hkk_bits(x);
    hkk_i32x16 shift = hkk_isra(hkk_isub(bits, hkk_iset1(0x3F3504F3)), 23);
    *e = hkk_add(hkk_from_i32(shift), hkk_select(tiny, hkk_set1(-23.0f), hkk_zero()));
    return hkk_from_bits(hkk_isub(bits, hkk_ishl(shift, 23)));
}

/** Natural logarithm; <= 1 ulp. log(0) = -Inf, log(x < 0) = NaN, log(Inf) = Inf. */
HKK_INLINE hkk_f32x16 hkk_log(hkk_f32x16 x)
{
    hkk_f32x16 e, f = hkk_sub(hkk_split(x, &e), hkk_set1(1.0f)), z = hkk_mul(f, f);
    hkk_f32x16 p = hkk_set1(7.0376836292e-2f);
    p = hkk_fma(p, f, hkk_set1(-1.1514610310e-1f));
    p = hkk_fma(p, f, hkk_set1(1.1676998740e-1f));
    p = hkk_fma(p, f, hkk_set1(-1.2420140846e-1f));
    p = hkk_fma(p, f, hkk_set1(1.4249322787e-1f));
    p = hkk_fma(p, f, hkk_set1(-1.6668057665e-1f));
    p = hkk_fma(p, f, hkk_set1(2.0000714765e-1f));
    p = hkk_fma(p, f, hkk_set1(-2.4999993993e-1f));
    p = hkk_fma(p, f, hkk_set1(3.3333331174e-1f));
    hkk_f32x16 y = hkk_mul(hkk_mul(p, f), z);
    y = hkk_fma(e, hkk_set1(-2.12194440e-4f), y);
    y = hkk_fma(z, hkk_set1(-0.5f), y);
    y = hkk_fma(e, hkk_set1(0.693359375f), hkk_add(f, y));
    y = hkk_select(hkk_eq(x, HKK_INFINITY), x, y);
    y = hkk_select(hkk_eq(x, hkk_zero()), hkk_neg(HKK_INFINITY), y);
    return hkk_select(hkk_ge(x, hkk_zero()), y, HKK_NAN);
}

/** log(1 + u) for 0 <= u <= 1; <= 2 ulp. */
HKK_INLINE hkk_f32x16 hkk_log1p_unit(hkk_f32x16 u)
{
    hkk_f32x16 one = hkk_set1(1.0f), w = hkk_add(one, u);
    hkk_f32x16 lost = hkk_sub(u, hkk_sub(w, one)); /* what rounding 1 + u dropped: exact, as u <= 1 */
    return hkk_add(hkk_log(w), hkk_div(lost, w));
}

/** Hyperbolic tangent; <= 2 ulp. */
HKK_INLINE hkk_f32x16 hkk_tanh(hkk_f32x16 x)
{
    hkk_f32x16 a = hkk_abs(x), z = hkk_mul(x, x), one = hkk_set1(1.0f);
    hkk_f32x16 p = hkk_set1(-5.70498872745e-3f);
    p = hkk_fma(p, z, hkk_set1(2.06390887954e-2f));
    p = hkk_fma(p, z, hkk_set1(-5.37397155531e-2f));
    p = hkk_fma(p, z, hkk_set1(1.33314422036e-1f));
    p = hkk_fma(p, z, hkk_set1(-3.33332819422e-1f));
    p = hkk_fma(hkk_mul(p, z), x, x);
    hkk_f32x16 t = hkk_add(hkk_exp(hkk_add(a, a)), one);
    t = hkk_copysign(hkk_sub(one, hkk_div(hkk_set1(2.0f), t)), x);
    t = hkk_select(hkk_lt(a, hkk_set1(0.625f)), p, t);
    return hkk_select(hkk_eq(x, hkk_zero()), x, t); /* keeps -0 */
}

/** 1 / (1 + e^-x); <= 3 ulp, also where the result is tiny. */
HKK_INLINE hkk_f32x16 hkk_sigmoid(hkk_f32x16 x)
{
    hkk_f32x16 one = hkk_set1(1.0f), e = hkk_exp(hkk_neg(hkk_abs(x)));
    return hkk_div(hkk_select(hkk_lt(x, hkk_zero()), e, one), hkk_add(one, e));
}

/** Error function; <= 2 ulp. */
HKK_INLINE hkk_f32x16 hkk_erf(hkk_f32x16 x)
{
    hkk_f32x16 t = hkk_min(hkk_set1(4.0f), hkk_abs(x)), s = hkk_mul(t, t), one = hkk_set1(1.0f);
    hkk_f32x16 r = hkk_fma(hkk_set1(-1.72853470e-5f), t, hkk_set1(3.83197126e-4f));
    hkk_f32x16 u = hkk_fma(hkk_set1(-3.88396438e-3f), t, hkk_set1(2.42546219e-2f));
    r = hkk_fma(r, s, u);
    r = hkk_fma(r, t, hkk_set1(-1.06777877e-1f));
    r = hkk_fma(r, t, hkk_set1(-6.34846687e-1f));
    r = hkk_fma(r, t, hkk_set1(-1.28717512e-1f));
    r = hkk_fma(r, t, hkk_neg(t));
    r = hkk_copysign(hkk_sub(one, hkk_exp(r)), x);
    hkk_f32x16 q = hkk_set1(-5.96761703e-4f);
    q = hkk_fma(q, s, hkk_set1(4.99119423e-3f));
    q = hkk_fma(q, s, hkk_set1(-2.67681349e-2f));
    q = hkk_fma(q, s, hkk_set1(1.12819925e-1f));
    q = hkk_fma(q, s, hkk_set1(-3.76125336e-1f));
    q = hkk_fma(q, s, hkk_set1(1.28379166e-1f));
    q = hkk_fma(q, x, x);
    return hkk_select(hkk_gt(t, hkk_set1(0.927734375f)), r, hkk_select(hkk_isnan(x), x, q));
}

/** log(1 + e^x); <= 3 ulp. */
HKK_INLINE hkk_f32x16 hkk_softplus(hkk_f32x16 x)
{
    hkk_f32x16 tail = hkk_log1p_unit(hkk_exp(hkk_neg(hkk_abs(x))));
    return hkk_add(hkk_max(hkk_zero(), x), tail);
}

/* log(x) of a normal or denormal x > 0 as an unevaluated sum, relative error about 1e-9. */
HKK_INLINE hkk_f32x16 hkk_log_extended(hkk_f32x16 x, hkk_f32x16 *low)
{
    hkk_f32x16 e, m = hkk_split(x, &e), two = hkk_set1(2.0f);
    hkk_f32x16 inverse = hkk_div(hkk_set1(1.0f), hkk_add(m, hkk_set1(1.0f)));
    m = hkk_sub(m, hkk_set1(1.0f));
    /* q = (m - 1) / (m + 1) in two parts; log m = 2 atanh q */
    hkk_f32x16 q = hkk_mul(m, inverse);
    hkk_f32x16 q_low = hkk_mul(inverse, hkk_fnma(q, m, hkk_fnma(q, two, m)));
    hkk_f32x16 s = hkk_mul(q, q);
    hkk_f32x16 r = hkk_set1(0.1293334961f);
    r = hkk_fma(r, s, hkk_set1(0.1419928074f));
    r = hkk_fma(r, s, hkk_set1(0.2000148296f));
    r = hkk_fma(r, s, hkk_set1(0.3333332539f));
    hkk_f32x16 t = hkk_fma(q, hkk_add(q_low, q_low), hkk_fma(q, q, hkk_neg(s))); /* s + t = q^2 */
    hkk_f32x16 p = hkk_mul(s, q);
    t = hkk_fma(s, q_low, hkk_fma(t, q, hkk_fma(s, q, hkk_neg(p)))); /* p + t = q^3 */
    s = hkk_fma(r, p, hkk_fma(r, t, q_low));
    r = hkk_add(q, q);
    hkk_f32x16 ln2 = hkk_set1(6.93147182e-1f), ln2_low = hkk_set1(-1.90465421e-9f);
    t = hkk_fma(ln2, e, r);
    p = hkk_fnma(ln2, e, t);
    s = hkk_fma(ln2_low, e, hkk_fma(two, s, hkk_sub(r, p)));
    p = hkk_add(t, s);
    *low = hkk_add(hkk_sub(t, p), s);
    return p;
}

/** x^y as C's powf: signs of zero, infinities and integer y included; <= 3 ulp. */
HKK_INLINE hkk_f32x16 hkk_pow(hkk_f32x16 x, hkk_f32x16 y)
{
    hkk_f32x16 zero = hkk_zero(), one = hkk_set1(1.0f), a = hkk_abs(x), low;
    hkk_f32x16 high = hkk_log_extended(a, &low);
    /* log of 0 and Inf as numbers large enough that the product below decides alone */
    hkk_mask16 is_zero = hkk_eq(a, zero), is_infinite = hkk_eq(a, HKK_INFINITY);
    hkk_mask16 edge = hkk_mask_or(is_zero, is_infinite);
    high = hkk_select(is_zero, hkk_neg(HKK_INFINITY), hkk_select(is_infinite, HKK_INFINITY, high));
    hkk_f32x16 product = hkk_mul(high, y);
    hkk_f32x16 product_low = hkk_fma(low, y, hkk_fma(high, y, hkk_neg(product)));
    hkk_f32x16 sum = hkk_add(product, product_low);
    hkk_f32x16 rest = hkk_add(hkk_sub(product, sum), product_low);
    hkk_mask16 far = hkk_mask_or(edge, hkk_mask_not(hkk_le(hkk_abs(product), hkk_set1(200.0f))));
    hkk_f32x16 r = hkk_exp_corrected(hkk_select(far, product, sum), hkk_select(far, zero, rest));
    /* A negative base: y an integer, odd ones keep the sign. From 2^24 on all floats are even. */
    hkk_f32x16 half_y = hkk_mul(y, hkk_set1(0.5f));
    hkk_mask16 integer = hkk_eq(hkk_floor(y), y);
    hkk_mask16 odd = hkk_mask_and(integer, hkk_ne(hkk_floor(half_y), half_y));
    hkk_mask16 negative = hkk_igt(hkk_iset1(0), hkk_bits(x));
    r = hkk_select(hkk_mask_and(negative, odd), hkk_neg(r), r);
    hkk_mask16 finite_negative = hkk_mask_and(hkk_lt(x, zero), hkk_ne(x, hkk_neg(HKK_INFINITY)));
    r = hkk_select(hkk_mask_and(finite_negative, hkk_mask_not(integer)), HKK_NAN, r);
    r = hkk_select(hkk_mask_or(hkk_isnan(x), hkk_isnan(y)), HKK_NAN, r);
    hkk_mask16 minus_one_infinite = hkk_mask_and(hkk_eq(x, hkk_set1(-1.0f)), hkk_eq(hkk_abs(y), HKK_INFINITY));
    hkk_mask16 is_one = hkk_mask_or(hkk_mask_or(hkk_eq(x, one), hkk_eq(y, zero)), minus_one_infinite);
    return hkk_select(is_one, one, r);
}
