/* The elementwise family over lanes; compiled once per ISA. Contract: kernels/elementwise.h. */
#include "kernels/elementwise.h"
#include "kernels/math.inl"

/* ---- Functions that math.inl does not have. ---- */

/* e^x - 1: without cancellation where exp's own polynomial needs no power of two. */
HKK_INLINE hkk_f32x16 hkk_expm1(hkk_f32x16 x)
{
    hkk_f32x16 p = hkk_set1(0.000198527617612853646f), one = hkk_set1(1.0f);
    p = hkk_fma(p, x, hkk_set1(0.00139304355252534151f));
    p = hkk_fma(p, x, hkk_set1(0.00833336077630519867f));
    p = hkk_fma(p, x, hkk_set1(0.0416664853692054749f));
    p = hkk_fma(p, x, hkk_set1(0.166666671633720398f));
    p = hkk_fma(p, x, hkk_set1(0.5f));
    p = hkk_fma(hkk_mul(x, x), p, x);
    return hkk_select(hkk_lt(hkk_abs(x), hkk_set1(0.34f)), p, hkk_sub(hkk_exp(x), one));
}

HKK_INLINE hkk_f32x16 hkk_clamp(hkk_f32x16 x, hkk_f32x16 lo, hkk_f32x16 hi)
{
    return hkk_min(hi, hkk_max(lo, x));
}

HKK_INLINE hkk_f32x16 hkk_unit(hkk_f32x16 x)
{
    return hkk_clamp(x, hkk_zero(), hkk_set1(1.0f));
}

HKK_INLINE hkk_f32x16 hkk_sign(hkk_f32x16 x)
{
    hkk_f32x16 zero = hkk_zero(), one = hkk_set1(1.0f);
    hkk_f32x16 s = hkk_select(hkk_gt(x, zero), one, hkk_select(hkk_lt(x, zero), hkk_neg(one), zero));
    return hkk_select(hkk_isnan(x), x, s);
}

#define HKK_SQRT_HALF    0.707106781f
#define HKK_SQRT_2_OF_PI 0.797884561f /* sqrt(2 / pi) */
#define HKK_GELU_CUBIC   0.044715f

/* Phi(x), the normal distribution. */
HKK_INLINE hkk_f32x16 hkk_normal(hkk_f32x16 x)
{
    hkk_f32x16 e = hkk_erf(hkk_mul(x, hkk_set1(HKK_SQRT_HALF)));
    return hkk_mul(hkk_set1(0.5f), hkk_add(e, hkk_set1(1.0f)));
}

HKK_INLINE hkk_f32x16 hkk_gelu_tanh_inner(hkk_f32x16 x)
{
    hkk_f32x16 square = hkk_mul(x, x), one = hkk_set1(1.0f);
    hkk_f32x16 inner = hkk_mul(x, hkk_fma(square, hkk_set1(HKK_GELU_CUBIC), one));
    return hkk_tanh(hkk_mul(inner, hkk_set1(HKK_SQRT_2_OF_PI)));
}

HKK_INLINE hkk_f32x16 hkk_gelu_tanh_slope(hkk_f32x16 x)
{
    hkk_f32x16 t = hkk_gelu_tanh_inner(x), one = hkk_set1(1.0f), half = hkk_set1(0.5f);
    hkk_f32x16 inner = hkk_fma(hkk_mul(x, x), hkk_set1(3.0f * HKK_GELU_CUBIC), one);
    inner = hkk_mul(inner, hkk_set1(HKK_SQRT_2_OF_PI));
    hkk_f32x16 rise = hkk_mul(hkk_mul(x, hkk_fnma(t, t, one)), inner);
    return hkk_mul(half, hkk_add(hkk_add(one, t), rise));
}

HKK_INLINE hkk_f32x16 hkk_gelu_slope(hkk_f32x16 x)
{
    hkk_f32x16 density = hkk_exp(hkk_mul(hkk_mul(x, x), hkk_set1(-0.5f)));
    return hkk_fma(hkk_mul(x, density), hkk_set1(0.398942280f), hkk_normal(x)); /* 1 / sqrt(2 pi) */
}

/* tanh(softplus(x)) = n / (n + 2) with n = e (e + 2), e = exp(x); 1 in float32 from x = 10 on. */
HKK_INLINE hkk_f32x16 hkk_tanh_softplus(hkk_f32x16 x)
{
    hkk_f32x16 two = hkk_set1(2.0f), e = hkk_exp(hkk_min(hkk_set1(20.0f), x));
    hkk_f32x16 n = hkk_mul(e, hkk_add(e, two));
    return hkk_div(n, hkk_add(n, two));
}

HKK_INLINE hkk_f32x16 hkk_mish_slope(hkk_f32x16 x)
{
    hkk_f32x16 t = hkk_tanh_softplus(x), one = hkk_set1(1.0f);
    return hkk_fma(hkk_mul(x, hkk_sigmoid(x)), hkk_fnma(t, t, one), t);
}

HKK_INLINE hkk_f32x16 hkk_swish_slope(hkk_f32x16 x, hkk_f32x16 alpha)
{
    hkk_f32x16 scaled = hkk_mul(alpha, x), s = hkk_sigmoid(scaled), one = hkk_set1(1.0f);
    return hkk_fma(hkk_mul(scaled, s), hkk_sub(one, s), s);
}

HKK_INLINE hkk_f32x16 hkk_hard_swish_gate(hkk_f32x16 x)
{
    return hkk_unit(hkk_fma(x, hkk_set1(1.0f / 6.0f), hkk_set1(0.5f)));
}

HKK_INLINE hkk_f32x16 hkk_hard_swish_slope(hkk_f32x16 x)
{
    hkk_f32x16 three = hkk_set1(3.0f), middle = hkk_fma(x, hkk_set1(1.0f / 3.0f), hkk_set1(0.5f));
    hkk_f32x16 right = hkk_select(hkk_ge(x, three), hkk_set1(1.0f), middle);
    return hkk_select(hkk_le(x, hkk_neg(three)), hkk_zero(), right);
}

HKK_INLINE hkk_f32x16 hkk_softsign_slope(hkk_f32x16 x)
{
    hkk_f32x16 d = hkk_add(hkk_set1(1.0f), hkk_abs(x));
    return hkk_mul(d, d);
}

/* dy where the mask holds, else 0 (not dy times 0, which NaN and infinities would spoil). */
HKK_INLINE hkk_f32x16 hkk_where(hkk_mask16 m, hkk_f32x16 dy)
{
    return hkk_select(m, dy, hkk_zero());
}

HKK_INLINE hkk_f32x16 hkk_choose_max(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_select(hkk_isnan(a), a, hkk_max(a, b));
}

HKK_INLINE hkk_f32x16 hkk_choose_min(hkk_f32x16 a, hkk_f32x16 b)
{
    return hkk_select(hkk_isnan(a), a, hkk_min(a, b));
}

/* ---- Walking a row: whole vectors, then the rest through padded copies; a formula is compiled once. ---- */

typedef struct hkk_walk {
    const float *x[HKK_ROW_OPERANDS];
    int64_t step[HKK_ROW_OPERANDS]; /* 0: the same sixteen elements again and again */
    float *y;
    int64_t n; /* whole vectors only */
    int rest;
    float spread[HKK_ROW_OPERANDS][16], padded[HKK_ROW_OPERANDS][16], result[16];
} hkk_walk;

HKK_INLINE void hkk_walk_open(hkk_walk *w, const hkk_row *r, int arity)
{
    for (int k = 0; k < arity; k++) {
        w->x[k] = r->x[k];
        w->step[k] = 1;
        if (r->spread[k]) {
            hkk_store(w->spread[k], hkk_set1(*(const float *)r->x[k]));
            w->x[k] = w->spread[k];
            w->step[k] = 0;
        }
    }
    w->y = r->y;
    w->n = r->n & ~(int64_t)15;
    w->rest = (int)(r->n - w->n);
}

/* After the whole vectors: sets up one padded vector. After that one: stores its part and ends. */
HKK_INLINE bool hkk_walk_rest(hkk_walk *w, const hkk_row *r, int arity)
{
    if (!w->rest)
        return false;
    if (w->y == w->result) {
        hkk_store_n((float *)r->y + (r->n & ~(int64_t)15), hkk_load(w->result), w->rest);
        return false;
    }
    for (int k = 0; k < arity; k++)
        if (w->step[k]) {
            hkk_store(w->padded[k], hkk_load_n(w->x[k] + w->n, w->rest));
            w->x[k] = w->padded[k];
        }
    w->y = w->result;
    w->n = 16;
    return true;
}

#define HKK_OPERAND(k) hkk_load(w.x[k] + i * w.step[k])
#define HKK_A hkk_f32x16 a = HKK_OPERAND(0);
#define HKK_AB HKK_A hkk_f32x16 b = HKK_OPERAND(1);
#define HKK_ABC HKK_AB hkk_f32x16 c = HKK_OPERAND(2);
#define HKK_ABCD HKK_ABC hkk_f32x16 d = HKK_OPERAND(3);

#define HKK_ROW(name, arity, operands, expr)                                                               \
    static void HKK_NAME(hkk_##name##_f32)(const hkk_row *r)                                               \
    {                                                                                                      \
        hkk_walk w;                                                                                        \
        hkk_walk_open(&w, r, arity);                                                                       \
        hkk_f32x16 p0 = hkk_set1((float)r->p[0]), p1 = hkk_set1((float)r->p[1]), p2 = hkk_set1((float)r->p[2]); \
        (void)p0, (void)p1, (void)p2;                                                                      \
        do {                                                                                               \
            for (int64_t i = 0; i < w.n; i += 16) {                                                        \
                operands hkk_store(w.y + i, expr);                                                         \
            }                                                                                              \
        } while (hkk_walk_rest(&w, r, arity));                                                             \
    }
#define HKK_ROW_1(name, expr) HKK_ROW(name, 1, HKK_A, expr)
#define HKK_ROW_2(name, expr) HKK_ROW(name, 2, HKK_AB, expr)

HKK_ROW_2(add, hkk_add(a, b))
HKK_ROW_2(sub, hkk_sub(a, b))
HKK_ROW_2(mul, hkk_mul(a, b))
HKK_ROW_2(div, hkk_div(a, b))
HKK_ROW_2(pow, hkk_pow(a, b))
HKK_ROW_2(min, hkk_choose_min(a, b))
HKK_ROW_2(max, hkk_choose_max(a, b))
HKK_ROW_2(prelu, hkk_select(hkk_lt(a, hkk_zero()), hkk_mul(a, b), a))
HKK_ROW_1(neg, hkk_neg(a))
HKK_ROW_1(abs, hkk_abs(a))
HKK_ROW_1(sign, hkk_sign(a))
HKK_ROW_1(sqrt, hkk_sqrt(a))
HKK_ROW_1(exp, hkk_exp(a))
HKK_ROW_1(log, hkk_log(a))
HKK_ROW_1(reciprocal, hkk_div(hkk_set1(1.0f), a))
HKK_ROW_1(floor, hkk_floor(a))
HKK_ROW_1(ceil, hkk_ceil(a))
HKK_ROW_1(round, hkk_round(a))
HKK_ROW_1(erf, hkk_erf(a))
HKK_ROW_1(square, hkk_mul(a, a))
HKK_ROW(clip, 3, HKK_ABC, hkk_clamp(a, b, c))

HKK_ROW_1(relu, hkk_max(hkk_zero(), a))
HKK_ROW_1(leaky_relu, hkk_select(hkk_lt(a, hkk_zero()), hkk_mul(p0, a), a))
HKK_ROW_1(thresholded_relu, hkk_where(hkk_gt(a, p0), a))
HKK_ROW_1(elu, hkk_select(hkk_gt(a, hkk_zero()), hkk_mul(p0, a), hkk_mul(p1, hkk_expm1(hkk_mul(p2, a)))))
HKK_ROW_1(gelu, hkk_mul(a, hkk_normal(a)))
HKK_ROW_1(gelu_tanh, hkk_mul(hkk_mul(hkk_set1(0.5f), a), hkk_add(hkk_set1(1.0f), hkk_gelu_tanh_inner(a))))
HKK_ROW_1(sigmoid, hkk_sigmoid(a))
HKK_ROW_1(hard_sigmoid, hkk_unit(hkk_fma(p0, a, p1)))
HKK_ROW_1(hard_swish, hkk_mul(a, hkk_hard_swish_gate(a)))
HKK_ROW_1(tanh, hkk_tanh(a))
HKK_ROW_1(softplus, hkk_softplus(a))
HKK_ROW_1(softsign, hkk_div(a, hkk_add(hkk_set1(1.0f), hkk_abs(a))))
HKK_ROW_1(mish, hkk_mul(a, hkk_tanh_softplus(a)))
HKK_ROW_1(swish, hkk_mul(a, hkk_sigmoid(hkk_mul(p0, a))))

HKK_ROW_2(relu_grad, hkk_where(hkk_gt(b, hkk_zero()), a))
HKK_ROW_2(sigmoid_grad, hkk_mul(a, hkk_mul(b, hkk_sub(hkk_set1(1.0f), b))))
HKK_ROW_2(tanh_grad, hkk_mul(a, hkk_fnma(b, b, hkk_set1(1.0f))))
HKK_ROW(clip_grad, 4, HKK_ABCD, hkk_where(hkk_mask_and(hkk_ge(b, c), hkk_le(b, d)), a))
HKK_ROW_2(leaky_relu_grad, hkk_select(hkk_lt(b, hkk_zero()), hkk_mul(p0, a), a))
HKK_ROW_2(thresholded_relu_grad, hkk_where(hkk_gt(b, p0), a))
HKK_ROW_2(elu_grad, hkk_mul(a, hkk_select(hkk_gt(b, hkk_zero()), p0, hkk_mul(p1, hkk_exp(hkk_mul(p2, b))))))
HKK_ROW_2(gelu_grad, hkk_mul(a, hkk_gelu_slope(b)))
HKK_ROW_2(gelu_tanh_grad, hkk_mul(a, hkk_gelu_tanh_slope(b)))
HKK_ROW_2(hard_sigmoid_grad, hkk_where(hkk_mask_and(hkk_gt(hkk_fma(p0, b, p1), hkk_zero()),
                                                    hkk_lt(hkk_fma(p0, b, p1), hkk_set1(1.0f))), hkk_mul(p0, a)))
HKK_ROW_2(hard_swish_grad, hkk_mul(a, hkk_hard_swish_slope(b)))
HKK_ROW_2(softplus_grad, hkk_mul(a, hkk_sigmoid(b)))
HKK_ROW_2(softsign_grad, hkk_div(a, hkk_softsign_slope(b)))
HKK_ROW_2(mish_grad, hkk_mul(a, hkk_mish_slope(b)))
HKK_ROW_2(swish_grad, hkk_mul(a, hkk_swish_slope(b, p0)))

const hkk_elementwise_kernels HKK_NAME(hkk_elementwise) = {
    .f32 = {
#define HKK_ROW_ENTRY(name, arity) [HKK_ROW_##name] = HKK_NAME(hkk_##name##_f32),
        HKK_LANE_ROWS(HKK_ROW_ENTRY)
#undef HKK_ROW_ENTRY
    },
};
