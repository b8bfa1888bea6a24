/* The reduce family over lanes; compiled once per ISA. Contract and order of sums: kernels/reduce.h. */
#include <math.h>

#include "kernels/math.inl"
#include "kernels/reduce.h"

/* An accumulator remembers apart whether its lane has met a NaN, which max and min would lose. */
typedef struct hkk_accumulator {
    hkk_f32x16 value;
    hkk_mask16 nan;
} hkk_accumulator;

HKK_INLINE hkk_accumulator hkk_accumulator_start(hkk_f32x16 neutral)
{
    return (hkk_accumulator){neutral, hkk_mask_first(0)};
}

#define HKK_STEP(name, expr)                                                          \
    HKK_INLINE hkk_accumulator name(hkk_accumulator a, hkk_f32x16 x)                  \
    {                                                                                 \
        return (hkk_accumulator){expr, a.nan};                                        \
    }
#define HKK_STEP_NAN(name, expr)                                                      \
    HKK_INLINE hkk_accumulator name(hkk_accumulator a, hkk_f32x16 x)                  \
    {                                                                                 \
        return (hkk_accumulator){expr, hkk_mask_or(a.nan, hkk_isnan(x))};             \
    }
HKK_STEP(hkk_step_sum, hkk_add(a.value, x))
HKK_STEP(hkk_step_abs, hkk_add(a.value, hkk_abs(x)))
HKK_STEP(hkk_step_square, hkk_fma(x, x, a.value))
HKK_STEP(hkk_step_product, hkk_mul(a.value, x))
HKK_STEP_NAN(hkk_step_max, hkk_max(a.value, x))
HKK_STEP_NAN(hkk_step_min, hkk_min(a.value, x))

HKK_INLINE hkk_f32x16 hkk_accumulated(hkk_accumulator a)
{
    return hkk_select(a.nan, HKK_NAN, a.value);
}

/* The same tree as hkk_sum16. */
HKK_INLINE float hkk_product16(hkk_f32x16 a)
{
    float v[16];
    hkk_store(v, a);
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            v[i] = v[i] * v[i + half];
    return v[0];
}

#define HKK_REDUCE(name, neutral, step, combine, final)                                                                \
    HKK_INLINE float HKK_NAME(hkk_##name##_row)(const float *x, int64_t n)                                             \
    {                                                                                                                  \
        hkk_accumulator a[4];                                                                                          \
        for (int j = 0; j < 4; j++)                                                                                    \
            a[j] = hkk_accumulator_start(neutral);                                                                     \
        int64_t i = 0;                                                                                                 \
        for (; i + 64 <= n; i += 64)                                                                                   \
            for (int j = 0; j < 4; j++)                                                                                \
                a[j] = step(a[j], hkk_load(x + i + 16 * j));                                                           \
        for (; i + 16 <= n; i += 16)                                                                                   \
            a[0] = step(a[0], hkk_load(x + i));                                                                        \
        if (i < n) {                                                                                                   \
            int rest = (int)(n - i);                                                                                   \
            a[0] = step(a[0], hkk_select(hkk_mask_first(rest), hkk_load_n(x + i, rest), neutral));                     \
        }                                                                                                              \
        hkk_mask16 nan = hkk_mask_or(hkk_mask_or(a[0].nan, a[1].nan), hkk_mask_or(a[2].nan, a[3].nan));                \
        hkk_f32x16 all = combine(combine(a[0].value, a[1].value), combine(a[2].value, a[3].value));                    \
        return hkk_mask_any(nan) ? NAN : final(all);                                                                   \
    }                                                                                                                  \
    static void HKK_NAME(hkk_##name##_rows_f32)(float *y, const float *x, int64_t rows, int64_t n)                     \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r++)                                                                             \
            y[r] = HKK_NAME(hkk_##name##_row)(x + r * n, n);                                                           \
    }                                                                                                                  \
    static void HKK_NAME(hkk_##name##_columns_f32)(float *y, const float *x, int64_t n, int64_t stride,                \
                                                   int64_t columns)                                                    \
    {                                                                                                                  \
        int64_t j = 0;                                                                                                 \
        for (; j + 64 <= columns; j += 64) {                                                                           \
            hkk_accumulator a[4];                                                                                      \
            for (int v = 0; v < 4; v++)                                                                                \
                a[v] = hkk_accumulator_start(neutral);                                                                 \
            for (int64_t i = 0; i < n; i++)                                                                            \
                for (int v = 0; v < 4; v++)                                                                            \
                    a[v] = step(a[v], hkk_load(x + i * stride + j + 16 * v));                                          \
            for (int v = 0; v < 4; v++)                                                                                \
                hkk_store(y + j + 16 * v, hkk_accumulated(a[v]));                                                      \
        }                                                                                                              \
        for (; j < columns; j += 16) {                                                                                 \
            int lanes = columns - j < 16 ? (int)(columns - j) : 16;                                                    \
            hkk_accumulator a = hkk_accumulator_start(neutral);                                                        \
            for (int64_t i = 0; i < n; i++)                                                                            \
                a = step(a, hkk_load_n(x + i * stride + j, lanes));                                                    \
            hkk_store_n(y + j, hkk_accumulated(a), lanes);                                                             \
        }                                                                                                              \
    }

HKK_REDUCE(sum, hkk_zero(), hkk_step_sum, hkk_add, hkk_sum16)
HKK_REDUCE(sum_abs, hkk_zero(), hkk_step_abs, hkk_add, hkk_sum16)
HKK_REDUCE(sum_square, hkk_zero(), hkk_step_square, hkk_add, hkk_sum16)
HKK_REDUCE(product, hkk_set1(1.0f), hkk_step_product, hkk_mul, hkk_product16)
HKK_REDUCE(max, hkk_neg(HKK_INFINITY), hkk_step_max, hkk_max, hkk_max16)
HKK_REDUCE(min, HKK_INFINITY, hkk_step_min, hkk_min, hkk_min16)

/* log(sum) + max where max is finite; max itself where it is infinite or NaN. */
HKK_INLINE hkk_f32x16 hkk_finish_log_sum_exp(hkk_f32x16 sum, hkk_f32x16 max)
{
    hkk_mask16 finite = hkk_lt(hkk_abs(max), HKK_INFINITY);
    return hkk_select(finite, hkk_add(hkk_log(sum), max), max);
}

static void HKK_NAME(hkk_log_sum_exp_rows_f32)(float *y, const float *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n) {
        float max = HKK_NAME(hkk_max_row)(x, n), parts[16];
        hkk_f32x16 shift = hkk_set1(max), sum = hkk_zero();
        int64_t i = 0;
        for (; i + 16 <= n; i += 16)
            sum = hkk_add(sum, hkk_exp(hkk_sub(hkk_load(x + i), shift)));
        if (i < n) {
            int rest = (int)(n - i);
            hkk_f32x16 e = hkk_exp(hkk_sub(hkk_load_n(x + i, rest), shift));
            sum = hkk_add(sum, hkk_select(hkk_mask_first(rest), e, hkk_zero()));
        }
        hkk_store(parts, hkk_finish_log_sum_exp(hkk_set1(hkk_sum16(sum)), shift));
        y[r] = parts[0];
    }
}

static void HKK_NAME(hkk_log_sum_exp_columns_f32)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 16) {
        int lanes = columns - j < 16 ? (int)(columns - j) : 16;
        hkk_accumulator a = hkk_accumulator_start(hkk_neg(HKK_INFINITY));
        for (int64_t i = 0; i < n; i++)
            a = hkk_step_max(a, hkk_load_n(x + i * stride + j, lanes));
        hkk_f32x16 max = hkk_accumulated(a), sum = hkk_zero();
        for (int64_t i = 0; i < n; i++)
            sum = hkk_add(sum, hkk_exp(hkk_sub(hkk_load_n(x + i * stride + j, lanes), max)));
        hkk_store_n(y + j, hkk_finish_log_sum_exp(sum, max), lanes);
    }
}

static void HKK_NAME(hkk_divide_f32)(float *y, int64_t n, float divisor)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] / divisor;
}

static void HKK_NAME(hkk_sqrt_f32)(float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = n - i < 16 ? (int)(n - i) : 16;
        hkk_store_n(y + i, hkk_sqrt(hkk_load_n(y + i, lanes)), lanes);
    }
}

#define HKK_REDUCE_TABLE(shape)                                         \
    {                                                                   \
        [HKK_SUM] = HKK_NAME(hkk_sum_##shape##_f32),                    \
        [HKK_SUM_ABS] = HKK_NAME(hkk_sum_abs_##shape##_f32),            \
        [HKK_SUM_SQUARE] = HKK_NAME(hkk_sum_square_##shape##_f32),      \
        [HKK_PRODUCT] = HKK_NAME(hkk_product_##shape##_f32),            \
        [HKK_MAX] = HKK_NAME(hkk_max_##shape##_f32),                    \
        [HKK_MIN] = HKK_NAME(hkk_min_##shape##_f32),                    \
        [HKK_LOG_SUM_EXP] = HKK_NAME(hkk_log_sum_exp_##shape##_f32),    \
    }

const hkk_reduce_kernels HKK_NAME(hkk_reduce) = {
    .rows = HKK_REDUCE_TABLE(rows),
    .columns = HKK_REDUCE_TABLE(columns),
    .divide = HKK_NAME(hkk_divide_f32),
    .sqrt = HKK_NAME(hkk_sqrt_f32),
};
