/* Elementwise rows in plain C for one type, for rows_plain.c: T, NAME, FLOATING, SIGNED, U (the unsigned type of that
 * width) and INTEGER_POWER are defined by the includer. Integers wrap, as they do in every other runtime; a division by
 * zero gives 0. */

#define ROW_1(name, expr)                                 \
    static void NAME(name)(const hkk_row *r)              \
    {                                                     \
        const T *x = r->x[0];                             \
        T *y = r->y;                                      \
        int64_t step = !r->spread[0];                     \
        for (int64_t i = 0; i < r->n; i++) {              \
            T a = x[i * step];                            \
            y[i] = (T)(expr);                             \
        }                                                 \
    }
#define ROW_2(name, type, expr)                           \
    static void NAME(name)(const hkk_row *r)              \
    {                                                     \
        const T *x0 = r->x[0], *x1 = r->x[1];             \
        type *y = r->y;                                   \
        int64_t s0 = !r->spread[0], s1 = !r->spread[1];   \
        for (int64_t i = 0; i < r->n; i++) {              \
            T a = x0[i * s0], b = x1[i * s1];             \
            y[i] = (type)(expr);                          \
        }                                                 \
    }

ROW_2(equal, uint8_t, a == b)
ROW_2(less, uint8_t, a < b)
ROW_2(less_equal, uint8_t, a <= b)
ROW_2(greater, uint8_t, a > b)
ROW_2(greater_equal, uint8_t, a >= b)

#if !COMPARE_ONLY
#if FLOATING
ROW_2(add, T, a + b)
ROW_2(sub, T, a - b)
ROW_2(mul, T, a *b)
ROW_2(div, T, a / b)
ROW_2(pow, T, pow(a, b))
ROW_2(min, T, a < b || isnan(a) ? a : b)
ROW_2(max, T, a > b || isnan(a) ? a : b)
ROW_1(neg, -a)
ROW_1(abs, fabs(a))
ROW_1(sign, isnan(a) ? a : (a > 0) - (a < 0))
ROW_1(square, a *a)
#else
ROW_2(add, T, (U)a + (U)b)
ROW_2(sub, T, (U)a - (U)b)
ROW_2(mul, T, (uint64_t)a * (uint64_t)b)
#if SIGNED
ROW_2(div, T, b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b)
ROW_2(fmod, T, b == 0 || b == -1 ? 0 : a % b)
ROW_2(mod, T, b == 0 || b == -1 ? 0 : a % b && (a % b < 0) != (b < 0) ? a % b + b : a % b)
ROW_1(sign, (a > 0) - (a < 0))
ROW_1(abs, a < 0 ? (T)(0 - (U)a) : a)
#else
ROW_2(div, T, b == 0 ? 0 : a / b)
ROW_2(fmod, T, b == 0 ? 0 : a % b)
ROW_2(mod, T, b == 0 ? 0 : a % b)
ROW_1(sign, a > 0)
ROW_1(abs, a)
ROW_2(shift_left, T, b < sizeof(T) * 8 ? (uint64_t)a << b : 0)
ROW_2(shift_right, T, b < sizeof(T) * 8 ? a >> b : 0)
#endif
ROW_2(pow, T, INTEGER_POWER(a, b))
ROW_2(min, T, a < b ? a : b)
ROW_2(max, T, a > b ? a : b)
ROW_1(neg, (U)0 - (U)a)
ROW_1(square, (uint64_t)a * (uint64_t)a)
ROW_2(bit_and, T, a &b)
ROW_2(bit_or, T, a | b)
ROW_2(bit_xor, T, a ^ b)
ROW_1(bit_not, ~a)
#endif

#if FLOATING || SIGNED
ROW_1(relu, 0 > a ? 0 : a)
ROW_1(shrink, a < -r->p[0] ? a + r->p[1] : a > r->p[0] ? a - r->p[1] : 0)
#else
ROW_1(relu, a)
ROW_1(shrink, a > r->p[0] ? a - r->p[1] : 0)
#endif
#if FLOATING || SIGNED
ROW_2(prelu, T, a < 0 ? a * b : a)
#else
ROW_2(prelu, T, ((void)b, a))
#endif

static void NAME(clip)(const hkk_row *r)
{
    const T *x = r->x[0], *low = r->x[1], *high = r->x[2];
    T *y = r->y;
    int64_t step[3] = {!r->spread[0], !r->spread[1], !r->spread[2]};
    for (int64_t i = 0; i < r->n; i++) {
        T a = x[i * step[0]], lo = low[i * step[1]], hi = high[i * step[2]];
        a = lo > a ? lo : a;
        y[i] = hi < a ? hi : a;
    }
}
#endif

static hkk_row_fn *const NAME(rows)[HKK_ROW_COUNT] = {
    [HKK_ROW_equal] = NAME(equal),
    [HKK_ROW_less] = NAME(less),
    [HKK_ROW_less_equal] = NAME(less_equal),
    [HKK_ROW_greater] = NAME(greater),
    [HKK_ROW_greater_equal] = NAME(greater_equal),
#if !COMPARE_ONLY
    [HKK_ROW_add] = NAME(add),
    [HKK_ROW_sub] = NAME(sub),
    [HKK_ROW_mul] = NAME(mul),
    [HKK_ROW_div] = NAME(div),
    [HKK_ROW_pow] = NAME(pow),
    [HKK_ROW_min] = NAME(min),
    [HKK_ROW_max] = NAME(max),
    [HKK_ROW_neg] = NAME(neg),
    [HKK_ROW_abs] = NAME(abs),
    [HKK_ROW_sign] = NAME(sign),
    [HKK_ROW_square] = NAME(square),
    [HKK_ROW_relu] = NAME(relu),
    [HKK_ROW_prelu] = NAME(prelu),
    [HKK_ROW_clip] = NAME(clip),
    [HKK_ROW_shrink] = NAME(shrink),
#if !FLOATING
    [HKK_ROW_mod] = NAME(mod),
    [HKK_ROW_fmod] = NAME(fmod),
    [HKK_ROW_bit_and] = NAME(bit_and),
    [HKK_ROW_bit_or] = NAME(bit_or),
    [HKK_ROW_bit_xor] = NAME(bit_xor),
    [HKK_ROW_bit_not] = NAME(bit_not),
#if !SIGNED
    [HKK_ROW_shift_left] = NAME(shift_left),
    [HKK_ROW_shift_right] = NAME(shift_right),
#endif
#endif
#endif
};

#undef ROW_1
#undef ROW_2
#undef T
#undef U
#undef NAME
#undef FLOATING
#undef SIGNED
#undef COMPARE_ONLY
