/* Elementwise rows in plain C: integers, float64, bool, and what float32 has no vector kernel for. float64 uses the C
 * library's functions; so do the trigonometric functions of float32, computed in float64 and rounded once. */
#include <math.h>

#include "ops/broadcast.h"

/* base^exponent, wrapping; a negative exponent gives what truncating the real result gives. */
static uint64_t unsigned_power(uint64_t base, uint64_t exponent)
{
    uint64_t power = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            power *= base;
    return power;
}

static int64_t signed_power(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    return (int64_t)unsigned_power((uint64_t)base, (uint64_t)exponent);
}

#define FLOATING 1
#define SIGNED 1
#define COMPARE_ONLY 0
#define T double
#define NAME(name) name##_double
#include "ops/rows_plain.inl"

#define FLOATING 1
#define SIGNED 1
#define COMPARE_ONLY 1
#define T float
#define NAME(name) name##_float
#include "ops/rows_plain.inl"

#define INTEGER_POWER signed_power
#define FLOATING 0
#define SIGNED 1
#define COMPARE_ONLY 0
#define T int8_t
#define U uint8_t
#define NAME(name) name##_int8
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 1
#define COMPARE_ONLY 0
#define T int16_t
#define U uint16_t
#define NAME(name) name##_int16
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 1
#define COMPARE_ONLY 0
#define T int32_t
#define U uint32_t
#define NAME(name) name##_int32
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 1
#define COMPARE_ONLY 0
#define T int64_t
#define U uint64_t
#define NAME(name) name##_int64
#include "ops/rows_plain.inl"
#undef INTEGER_POWER

#define INTEGER_POWER unsigned_power
#define FLOATING 0
#define SIGNED 0
#define COMPARE_ONLY 0
#define T uint8_t
#define U uint8_t
#define NAME(name) name##_uint8
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 0
#define COMPARE_ONLY 0
#define T uint16_t
#define U uint16_t
#define NAME(name) name##_uint16
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 0
#define COMPARE_ONLY 0
#define T uint32_t
#define U uint32_t
#define NAME(name) name##_uint32
#include "ops/rows_plain.inl"
#define FLOATING 0
#define SIGNED 0
#define COMPARE_ONLY 0
#define T uint64_t
#define U uint64_t
#define NAME(name) name##_uint64
#include "ops/rows_plain.inl"
#undef INTEGER_POWER

/* ---- Functions of float64, and of float32 through it. ---- */

#define MATH_1(name, out, type, expr)                        \
    static void name(const hkk_row *r)                       \
    {                                                        \
        const type *x = r->x[0];                             \
        out *y = r->y;                                       \
        const double *p = r->p;                              \
        int64_t step = !r->spread[0];                        \
        (void)p;                                             \
        for (int64_t i = 0; i < r->n; i++) {                 \
            double a = x[i * step];                          \
            y[i] = (out)(expr);                              \
        }                                                    \
    }
#define MATH_2(name, type, expr)                             \
    static void name(const hkk_row *r)                       \
    {                                                        \
        const type *x0 = r->x[0], *x1 = r->x[1];             \
        type *y = r->y;                                      \
        const double *p = r->p;                              \
        int64_t s0 = !r->spread[0], s1 = !r->spread[1];      \
        (void)p;                                             \
        for (int64_t i = 0; i < r->n; i++) {                 \
            double a = x0[i * s0], b = x1[i * s1];           \
            y[i] = (type)(expr);                             \
        }                                                    \
    }

/* Both types: name, formula. */
#define TRIGONOMETRIC(X) \
    X(sin, sin(a))       \
    X(cos, cos(a))       \
    X(tan, tan(a))       \
    X(asin, asin(a))     \
    X(acos, acos(a))     \
    X(atan, atan(a))     \
    X(sinh, sinh(a))     \
    X(cosh, cosh(a))     \
    X(asinh, asinh(a))   \
    X(acosh, acosh(a))   \
    X(atanh, atanh(a))

static double unit(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double normal(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double gelu_inner(double x)
{
    return tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x));
}

static double gelu_tanh_slope(double x)
{
    double t = gelu_inner(x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * M_2_SQRTPI * M_SQRT1_2 * (1 + 3 * 0.044715 * x * x);
}

static double mish_slope(double x)
{
    double t = tanh(softplus(x));
    return t + x * sigmoid(x) * (1 - t * t);
}

static double swish_slope(double x, double alpha)
{
    double s = sigmoid(alpha * x);
    return s + alpha * x * s * (1 - s);
}

static double hard_sigmoid_slope(double x, const double *p)
{
    double line = p[0] * x + p[1];
    return line > 0 && line < 1 ? p[0] : 0;
}

/* float64 only: the vector kernels have these in float32. */
#define DOUBLE_1(X)                                             \
    X(sqrt, sqrt(a))                                            \
    X(exp, exp(a))                                              \
    X(log, log(a))                                              \
    X(reciprocal, 1 / a)                                        \
    X(floor, floor(a))                                          \
    X(ceil, ceil(a))                                            \
    X(round, rint(a))                                           \
    X(erf, erf(a))                                              \
    X(leaky_relu, a < 0 ? p[0] * a : a)                         \
    X(thresholded_relu, a > p[0] ? a : 0)                       \
    X(elu, a > 0 ? p[0] * a : p[1] * expm1(p[2] * a))           \
    X(gelu, a *normal(a))                                       \
    X(gelu_tanh, 0.5 * a * (1 + gelu_inner(a)))                 \
    X(sigmoid, sigmoid(a))                                      \
    X(hard_sigmoid, unit(p[0] * a + p[1]))                      \
    X(hard_swish, a *unit(a / 6 + 0.5))                         \
    X(tanh, tanh(a))                                            \
    X(softplus, softplus(a))                                    \
    X(softsign, a / (1 + fabs(a)))                              \
    X(mish, a *tanh(softplus(a)))                               \
    X(swish, a *sigmoid(p[0] * a))

#define DOUBLE_2(X)                                                       \
    X(fmod, fmod(a, b))                                                   \
    X(relu_grad, b > 0 ? a : 0)                                           \
    X(sigmoid_grad, a *b * (1 - b))                                       \
    X(tanh_grad, a *(1 - b * b))                                          \
    X(leaky_relu_grad, b < 0 ? p[0] * a : a)                              \
    X(thresholded_relu_grad, b > p[0] ? a : 0)                            \
    X(elu_grad, a *(b > 0 ? p[0] : p[1] * exp(p[2] * b)))                 \
    X(gelu_grad, a *(normal(b) + b * exp(-0.5 * b * b) * 0.5 * M_2_SQRTPI * M_SQRT1_2)) \
    X(gelu_tanh_grad, a *gelu_tanh_slope(b))                              \
    X(hard_sigmoid_grad, a *hard_sigmoid_slope(b, p))                     \
    X(hard_swish_grad, b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + 0.5))      \
    X(softplus_grad, a *sigmoid(b))                                       \
    X(softsign_grad, a / ((1 + fabs(b)) * (1 + fabs(b))))                 \
    X(mish_grad, a *mish_slope(b))                                        \
    X(swish_grad, a *swish_slope(b, p[0]))

#define DEFINE_FLOAT(name, expr) MATH_1(name##_float, float, float, expr)
#define DEFINE_DOUBLE(name, expr) MATH_1(name##_double, double, double, expr)
#define DEFINE_DOUBLE_2(name, expr) MATH_2(name##_double, double, expr)
TRIGONOMETRIC(DEFINE_FLOAT)
TRIGONOMETRIC(DEFINE_DOUBLE)
DOUBLE_1(DEFINE_DOUBLE)
DOUBLE_2(DEFINE_DOUBLE_2)
MATH_2(fmod_float, float, fmod(a, b))
MATH_1(shrink_float, float, float, a < -p[0] ? a + p[1] : a > p[0] ? a - p[1] : 0)
MATH_1(is_nan_float, uint8_t, float, isnan(a))
MATH_1(is_nan_double, uint8_t, double, isnan(a))
MATH_1(is_inf_float, uint8_t, float, isinf(a) && p[a > 0] != 0)
MATH_1(is_inf_double, uint8_t, double, isinf(a) && p[a > 0] != 0)

static void clip_grad_double(const hkk_row *r)
{
    const double *dy = r->x[0], *x = r->x[1], *low = r->x[2], *high = r->x[3];
    double *dx = r->y;
    int64_t step[4] = {!r->spread[0], !r->spread[1], !r->spread[2], !r->spread[3]};
    for (int64_t i = 0; i < r->n; i++) {
        double a = x[i * step[1]];
        dx[i] = a >= low[i * step[2]] && a <= high[i * step[3]] ? dy[i * step[0]] : 0;
    }
}

static hkk_row_fn *const math_float[HKK_ROW_COUNT] = {
#define ENTRY_FLOAT(name, expr) [HKK_ROW_##name] = name##_float,
#define ENTRY_DOUBLE(name, expr) [HKK_ROW_##name] = name##_double,
    TRIGONOMETRIC(ENTRY_FLOAT)
    [HKK_ROW_fmod] = fmod_float,
    [HKK_ROW_shrink] = shrink_float,
    [HKK_ROW_is_nan] = is_nan_float,
    [HKK_ROW_is_inf] = is_inf_float,
};

static hkk_row_fn *const math_double[HKK_ROW_COUNT] = {
    TRIGONOMETRIC(ENTRY_DOUBLE) DOUBLE_1(ENTRY_DOUBLE) DOUBLE_2(ENTRY_DOUBLE)
    [HKK_ROW_clip_grad] = clip_grad_double,
    [HKK_ROW_is_nan] = is_nan_double,
    [HKK_ROW_is_inf] = is_inf_double,
};

/* ---- Bool, and selection by size. ---- */

#define BOOL_2(name, expr)                                              \
    static void name##_bool(const hkk_row *r)                           \
    {                                                                   \
        const uint8_t *x0 = r->x[0], *x1 = r->x[1];                     \
        uint8_t *y = r->y;                                              \
        int64_t s0 = !r->spread[0], s1 = !r->spread[1];                 \
        for (int64_t i = 0; i < r->n; i++) {                            \
            bool a = x0[i * s0] != 0, b = x1[i * s1] != 0;              \
            y[i] = (expr);                                              \
        }                                                               \
    }
BOOL_2(logical_and, a &&b)
BOOL_2(logical_or, a || b)
BOOL_2(logical_xor, a != b)
BOOL_2(equal, a == b)

static void logical_not_bool(const hkk_row *r)
{
    const uint8_t *x = r->x[0];
    uint8_t *y = r->y;
    int64_t step = !r->spread[0];
    for (int64_t i = 0; i < r->n; i++)
        y[i] = !x[i * step];
}

static hkk_row_fn *const rows_bool[HKK_ROW_COUNT] = {
    [HKK_ROW_logical_and] = logical_and_bool,
    [HKK_ROW_logical_or] = logical_or_bool,
    [HKK_ROW_logical_xor] = logical_xor_bool,
    [HKK_ROW_logical_not] = logical_not_bool,
    [HKK_ROW_equal] = equal_bool,
};

#define WHERE(name, type)                                                                     \
    static void name(const hkk_row *r)                                                        \
    {                                                                                         \
        const uint8_t *condition = r->x[0];                                                   \
        const type *a = r->x[1], *b = r->x[2];                                                \
        type *y = r->y;                                                                       \
        int64_t s0 = !r->spread[0], s1 = !r->spread[1], s2 = !r->spread[2];                   \
        for (int64_t i = 0; i < r->n; i++)                                                    \
            y[i] = condition[i * s0] ? a[i * s1] : b[i * s2];                                 \
    }
WHERE(where_1, uint8_t)
WHERE(where_2, uint16_t)
WHERE(where_4, uint32_t)
WHERE(where_8, uint64_t)

static hkk_row_fn *find_where(size_t size)
{
    return size == 1 ? where_1 : size == 2 ? where_2 : size == 4 ? where_4 : where_8;
}

/* ---- Finding. ---- */

hkk_row_fn *hki_row_find(hkk_row_op op, hk_dtype dtype, const hkk_kernels *kernels)
{
    if (op == HKK_ROW_where)
        return find_where(hk_dtype_size(dtype));
    switch (dtype) {
    case HK_FLOAT:
        if (kernels->elementwise->f32[op])
            return kernels->elementwise->f32[op];
        return math_float[op] ? math_float[op] : rows_float[op];
    case HK_DOUBLE:
        return math_double[op] ? math_double[op] : rows_double[op];
    case HK_INT8:
        return rows_int8[op];
    case HK_INT16:
        return rows_int16[op];
    case HK_INT32:
        return rows_int32[op];
    case HK_INT64:
        return rows_int64[op];
    case HK_UINT8:
        return rows_uint8[op];
    case HK_UINT16:
        return rows_uint16[op];
    case HK_UINT32:
        return rows_uint32[op];
    case HK_UINT64:
        return rows_uint64[op];
    case HK_BOOL:
        return rows_bool[op];
    default:
        return NULL;
    }
}
