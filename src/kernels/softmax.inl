/* The softmax family over lanes; compiled once per ISA. Contract and order of sums: kernels/softmax.h. */
#include "kernels/math.inl"
#include "kernels/softmax.h"

#define HKK_MINUS_INFINITY hkk_neg(HKK_INFINITY)

/* `lanes` of the row or column group from x on; the rest reads as `fill`. */
HKK_INLINE hkk_f32x16 hkk_load_or(const float *x, int lanes, hkk_f32x16 fill)
{
    return lanes == 16 ? hkk_load(x) : hkk_select(hkk_mask_first(lanes), hkk_load_n(x, lanes), fill);
}

HKK_INLINE void hkk_store_part(float *y, hkk_f32x16 a, int lanes)
{
    if (lanes == 16)
        hkk_store(y, a);
    else
        hkk_store_n(y, a, lanes);
}

HKK_INLINE int hkk_lanes_left(int64_t left)
{
    return left < 16 ? (int)left : 16;
}

HKK_INLINE float hkk_first(hkk_f32x16 a)
{
    float v[16];
    hkk_store(v, a);
    return v[0];
}

/* A NaN need not come through here: it makes the sum NaN. */
HKK_INLINE float hkk_row_max(const float *x, int64_t n)
{
    hkk_f32x16 max = HKK_MINUS_INFINITY;
    for (int64_t i = 0; i < n; i += 16)
        max = hkk_max(hkk_load_or(x + i, hkk_lanes_left(n - i), HKK_MINUS_INFINITY), max);
    return hkk_max16(max);
}

/* Sum of exp(x - max); exp(-Inf) = 0 in the missing lanes. */
HKK_INLINE float hkk_row_sum_exp(const float *x, int64_t n, hkk_f32x16 max)
{
    hkk_f32x16 sum = hkk_zero();
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 e = hkk_exp(hkk_sub(hkk_load_or(x + i, lanes, HKK_MINUS_INFINITY), max));
        sum = hkk_add(sum, lanes == 16 ? e : hkk_select(hkk_mask_first(lanes), e, hkk_zero()));
    }
    return hkk_sum16(sum);
}

static void HKK_NAME(hkk_softmax_rows_f32)(float *y, const float *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        hkk_f32x16 max = hkk_set1(hkk_row_max(x, n)), sum = hkk_zero();
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 e = hkk_exp(hkk_sub(hkk_load_or(x + i, lanes, HKK_MINUS_INFINITY), max));
            hkk_store_part(y + i, e, lanes);
            sum = hkk_add(sum, lanes == 16 ? e : hkk_select(hkk_mask_first(lanes), e, hkk_zero()));
        }
        hkk_f32x16 share = hkk_div(hkk_set1(1.0f), hkk_set1(hkk_sum16(sum)));
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_store_part(y + i, hkk_mul(hkk_load_or(y + i, lanes, hkk_zero()), share), lanes);
        }
    }
}

static void HKK_NAME(hkk_log_softmax_rows_f32)(float *y, const float *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        hkk_f32x16 max = hkk_set1(hkk_row_max(x, n));
        hkk_f32x16 log_sum = hkk_log(hkk_set1(hkk_row_sum_exp(x, n, max)));
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 shifted = hkk_sub(hkk_load_or(x + i, lanes, hkk_zero()), max);
            hkk_store_part(y + i, hkk_sub(shifted, log_sum), lanes);
        }
    }
}

static void HKK_NAME(hkk_softmax_grad_rows_f32)(float *dx, const float *dy, const float *y, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        hkk_f32x16 sum = hkk_zero(), zero = hkk_zero();
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            sum = hkk_fma(hkk_load_or(dy + i, lanes, zero), hkk_load_or(y + i, lanes, zero), sum);
        }
        hkk_f32x16 total = hkk_set1(hkk_sum16(sum));
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 d = hkk_sub(hkk_load_or(dy + i, lanes, zero), total);
            hkk_store_part(dx + i, hkk_mul(hkk_load_or(y + i, lanes, zero), d), lanes);
        }
    }
}

static void HKK_NAME(hkk_log_softmax_grad_rows_f32)(float *dx, const float *dy, const float *y, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        hkk_f32x16 sum = hkk_zero(), zero = hkk_zero();
        for (int64_t i = 0; i < n; i += 16)
            sum = hkk_add(sum, hkk_load_or(dy + i, hkk_lanes_left(n - i), zero));
        hkk_f32x16 total = hkk_set1(hkk_sum16(sum));
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 p = hkk_exp(hkk_load_or(y + i, lanes, zero));
            hkk_store_part(dx + i, hkk_fnma(p, total, hkk_load_or(dy + i, lanes, zero)), lanes);
        }
    }
}

/* ---- Columns: sixteen at a time, the rows in order. ---- */

HKK_INLINE hkk_f32x16 hkk_columns_max(const float *x, int64_t n, int64_t stride, int lanes)
{
    hkk_f32x16 max = HKK_MINUS_INFINITY;
    for (int64_t i = 0; i < n; i++)
        max = hkk_max(hkk_load_or(x + i * stride, lanes, hkk_zero()), max);
    return max;
}

static void HKK_NAME(hkk_softmax_columns_f32)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 16) {
        int lanes = hkk_lanes_left(columns - j);
        hkk_f32x16 max = hkk_columns_max(x + j, n, stride, lanes), sum = hkk_zero();
        for (int64_t i = 0; i < n; i++) {
            hkk_f32x16 e = hkk_exp(hkk_sub(hkk_load_or(x + i * stride + j, lanes, hkk_zero()), max));
            hkk_store_part(y + i * stride + j, e, lanes);
            sum = hkk_add(sum, e);
        }
        hkk_f32x16 share = hkk_div(hkk_set1(1.0f), sum);
        for (int64_t i = 0; i < n; i++) {
            float *at = y + i * stride + j;
            hkk_store_part(at, hkk_mul(hkk_load_or(at, lanes, hkk_zero()), share), lanes);
        }
    }
}

static void HKK_NAME(hkk_log_softmax_columns_f32)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 16) {
        int lanes = hkk_lanes_left(columns - j);
        hkk_f32x16 max = hkk_columns_max(x + j, n, stride, lanes), sum = hkk_zero();
        for (int64_t i = 0; i < n; i++)
            sum = hkk_add(sum, hkk_exp(hkk_sub(hkk_load_or(x + i * stride + j, lanes, hkk_zero()), max)));
        hkk_f32x16 log_sum = hkk_log(sum);
        for (int64_t i = 0; i < n; i++) {
            hkk_f32x16 shifted = hkk_sub(hkk_load_or(x + i * stride + j, lanes, hkk_zero()), max);
            hkk_store_part(y + i * stride + j, hkk_sub(shifted, log_sum), lanes);
        }
    }
}

static void HKK_NAME(hkk_softmax_grad_columns_f32)(float *dx, const float *dy, const float *y, int64_t n,
                                                   int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 16) {
        int lanes = hkk_lanes_left(columns - j);
        hkk_f32x16 sum = hkk_zero(), zero = hkk_zero();
        for (int64_t i = 0; i < n; i++)
            sum = hkk_fma(hkk_load_or(dy + i * stride + j, lanes, zero), hkk_load_or(y + i * stride + j, lanes, zero),
                          sum);
        for (int64_t i = 0; i < n; i++) {
            hkk_f32x16 d = hkk_sub(hkk_load_or(dy + i * stride + j, lanes, zero), sum);
            hkk_store_part(dx + i * stride + j, hkk_mul(hkk_load_or(y + i * stride + j, lanes, zero), d), lanes);
        }
    }
}

static void HKK_NAME(hkk_log_softmax_grad_columns_f32)(float *dx, const float *dy, const float *y, int64_t n,
                                                       int64_t stride, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 16) {
        int lanes = hkk_lanes_left(columns - j);
        hkk_f32x16 sum = hkk_zero(), zero = hkk_zero();
        for (int64_t i = 0; i < n; i++)
            sum = hkk_add(sum, hkk_load_or(dy + i * stride + j, lanes, zero));
        for (int64_t i = 0; i < n; i++) {
            hkk_f32x16 p = hkk_exp(hkk_load_or(y + i * stride + j, lanes, zero));
            hkk_store_part(dx + i * stride + j, hkk_fnma(p, sum, hkk_load_or(dy + i * stride + j, lanes, zero)), lanes);
        }
    }
}

/* ---- Cross-entropy. ---- */

static hkk_cross_entropy HKK_NAME(hkk_cross_entropy_row_f32)(const float *x, int64_t n, int64_t label,
                                                             const float *weights, int smoothing)
{
    float max = hkk_row_max(x, n);
    hkk_f32x16 shift = hkk_set1(max), log_sum = hkk_log(hkk_set1(hkk_row_sum_exp(x, n, shift))), smooth = hkk_zero();
    for (int64_t i = 0; i < n && smoothing; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 loss = hkk_sub(log_sum, hkk_sub(hkk_load_or(x + i, lanes, hkk_zero()), shift));
        hkk_f32x16 weight = weights ? hkk_load_or(weights + i, lanes, hkk_zero())
                                    : hkk_select(hkk_mask_first(lanes), hkk_set1(1.0f), hkk_zero());
        smooth = hkk_fma(weight, hkk_select(hkk_mask_first(lanes), loss, hkk_zero()), smooth);
    }
    return (hkk_cross_entropy){hkk_first(log_sum) - (x[label] - max), smoothing ? hkk_sum16(smooth) : 0.0f};
}

static void HKK_NAME(hkk_cross_entropy_grad_row_f32)(float *dx, const float *x, int64_t n, int64_t label,
                                                     const float *weights, float total, float on_label, float on_all)
{
    hkk_f32x16 max = hkk_set1(hkk_row_max(x, n)), scale;
    scale = hkk_div(hkk_set1(total), hkk_set1(hkk_row_sum_exp(x, n, max)));
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 e = hkk_exp(hkk_sub(hkk_load_or(x + i, lanes, HKK_MINUS_INFINITY), max));
        hkk_f32x16 weight = weights ? hkk_load_or(weights + i, lanes, hkk_zero()) : hkk_set1(1.0f);
        hkk_f32x16 d = hkk_sub(hkk_mul(e, scale), hkk_mul(weight, hkk_set1(on_all)));
        hkk_store_part(dx + i, d, lanes);
    }
    dx[label] = dx[label] - on_label;
}

const hkk_softmax_kernels HKK_NAME(hkk_softmax) = {
    .softmax_rows = HKK_NAME(hkk_softmax_rows_f32),
    .log_softmax_rows = HKK_NAME(hkk_log_softmax_rows_f32),
    .softmax_grad_rows = HKK_NAME(hkk_softmax_grad_rows_f32),
    .log_softmax_grad_rows = HKK_NAME(hkk_log_softmax_grad_rows_f32),
    .softmax_columns = HKK_NAME(hkk_softmax_columns_f32),
    .log_softmax_columns = HKK_NAME(hkk_log_softmax_columns_f32),
    .softmax_grad_columns = HKK_NAME(hkk_softmax_grad_columns_f32),
    .log_softmax_grad_columns = HKK_NAME(hkk_log_softmax_grad_columns_f32),
    .cross_entropy_row = HKK_NAME(hkk_cross_entropy_row_f32),
    .cross_entropy_grad_row = HKK_NAME(hkk_cross_entropy_grad_row_f32),
};
