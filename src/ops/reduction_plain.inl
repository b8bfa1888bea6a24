/* Reductions in plain C for one type, for reduction.c: T, NAME, LOWEST, HIGHEST, ABS, FLOATING are defined by the
 * includer. Integer sums and products wrap, which unsigned arithmetic does by definition. */

#if FLOATING
#define IS_NAN(x) isnan(x)
#else
#define IS_NAN(x) false
#endif

static T NAME(neutral)(hkk_reduction op)
{
    return op == HKK_PRODUCT ? 1 : op == HKK_MAX || op == HKK_LOG_SUM_EXP ? (T)LOWEST : op == HKK_MIN ? (T)HIGHEST : 0;
}

static T NAME(step)(hkk_reduction op, T a, T x)
{
#if FLOATING
    typedef T wrapping;
#else
    typedef uint64_t wrapping;
#endif
    switch (op) {
    case HKK_SUM:
        return (T)((wrapping)a + (wrapping)x);
    case HKK_SUM_ABS:
        return (T)((wrapping)a + (wrapping)ABS(x));
    case HKK_SUM_SQUARE:
        return (T)((wrapping)a + (wrapping)x * (wrapping)x);
    case HKK_PRODUCT:
        return (T)((wrapping)a * (wrapping)x);
    case HKK_MIN:
        return a < x || IS_NAN(a) ? a : x; /* a NaN stays, and x comes through if it is one */
    default:
        return a > x || IS_NAN(a) ? a : x;
    }
}

/* y[j] = reduction over i of x[i stride + j] */
static void NAME(reduce)(T *y, const T *x, hkk_reduction op, int64_t n, int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j++) {
        T a = NAME(neutral)(op);
        for (int64_t i = 0; i < n; i++)
            a = NAME(step)(op, a, x[i * stride + j]);
#if FLOATING
        if (op == HKK_LOG_SUM_EXP && isfinite(a)) { /* so far a is the maximum */
            double sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += exp(x[i * stride + j] - a);
            a += log(sum);
        }
#endif
        y[j] = a;
    }
}

#undef T
#undef NAME
#undef LOWEST
#undef HIGHEST
#undef ABS
#undef FLOATING
#undef IS_NAN
