/* The spatial_pool family over lanes; compiled once per ISA. Contract: kernels/spatial_pool.h. */
#include <math.h>

#include "kernels/math.inl"
#include "kernels/spatial_pool.h"

HKK_INLINE hkk_f32x16 hkk_pool_load(const float *x, int lanes)
{
    return lanes == 16 ? hkk_load(x) : hkk_load_n(x, lanes);
}

HKK_INLINE void hkk_pool_store(float *y, hkk_f32x16 a, int lanes)
{
    if (lanes == 16)
        hkk_store(y, a);
    else
        hkk_store_n(y, a, lanes);
}

HKK_INLINE int hkk_pool_lanes(int64_t left)
{
    return left < 16 ? (int)left : 16;
}

/* True where x takes the place of the maximum so far. */
HKK_INLINE hkk_mask16 hkk_pool_takes(hkk_f32x16 x, hkk_f32x16 max)
{
    return hkk_mask_or(hkk_gt(x, max), hkk_isnan(x));
}

/* One vector of channels. `count` is a constant for the usual windows, so that their loops unroll. */
HKK_INLINE void hkk_pool_max_vector(float *y, const float *x, const int64_t *taps, int64_t count, int lanes)
{
    hkk_f32x16 max = hkk_pool_load(x + taps[0], lanes);
    for (int64_t k = 1; k < count; k++) {
        hkk_f32x16 v = hkk_pool_load(x + taps[k], lanes);
        max = hkk_select(hkk_pool_takes(v, max), v, max);
    }
    hkk_pool_store(y, max, lanes);
}

HKK_INLINE void hkk_pool_max_pixels(float *y, const float *x, const hkk_pool_taps *t, int64_t count)
{
    for (int64_t p = 0; p < t->pixels; p++, x += t->x_step, y += t->y_step) {
        int64_t c = 0;
        for (; c + 16 <= t->channels; c += 16)
            hkk_pool_max_vector(y + c, x + c, t->taps, count, 16);
        if (c < t->channels)
            hkk_pool_max_vector(y + c, x + c, t->taps, count, (int)(t->channels - c));
    }
}

static void HKK_NAME(hkk_pool_max_f32)(float *y, const float *x, const hkk_pool_taps *t)
{
    if (t->tap_count == 4)
        hkk_pool_max_pixels(y, x, t, 4);
    else if (t->tap_count == 9)
        hkk_pool_max_pixels(y, x, t, 9);
    else if (t->tap_count)
        hkk_pool_max_pixels(y, x, t, t->tap_count);
    for (int64_t i = 0; i < t->pixels * t->channels && !t->tap_count; i++)
        y[i / t->channels * t->y_step + i % t->channels] = -INFINITY;
}

static void HKK_NAME(hkk_pool_sum_f32)(float *y, const float *x, const hkk_pool_taps *t)
{
    hkk_f32x16 divisor = hkk_set1((float)t->divisor);
    for (int64_t p = 0; p < t->pixels; p++, x += t->x_step, y += t->y_step)
        for (int64_t c = 0; c < t->channels; c += 16) {
            int lanes = hkk_pool_lanes(t->channels - c);
            hkk_f32x16 sum = hkk_zero();
            for (int64_t k = 0; k < t->tap_count; k++)
                sum = hkk_add(sum, hkk_pool_load(x + t->taps[k] + c, lanes));
            hkk_pool_store(y + c, hkk_div(sum, divisor), lanes);
        }
}

HKK_INLINE void hkk_pool_max_grad_vector(float *dx, const float *dy, const float *x, const int64_t *taps, int64_t count,
                                         int lanes, int disjoint)
{
    hkk_f32x16 max = hkk_pool_load(x + taps[0], lanes), g = hkk_pool_load(dy, lanes), zero = hkk_zero();
    hkk_i32x16 at = hkk_iset1(0);
    for (int64_t k = 1; k < count; k++) {
        hkk_f32x16 v = hkk_pool_load(x + taps[k], lanes);
        hkk_mask16 takes = hkk_pool_takes(v, max);
        max = hkk_select(takes, v, max);
        at = hkk_iselect(takes, hkk_iset1((int32_t)k), at);
    }
    for (int64_t k = 0; k < count; k++) {
        hkk_mask16 here = hkk_ieq(at, hkk_iset1((int32_t)k));
        hkk_f32x16 d = disjoint ? zero : hkk_pool_load(dx + taps[k], lanes);
        hkk_pool_store(dx + taps[k], hkk_select(here, hkk_add(d, g), d), lanes);
    }
}

HKK_INLINE void hkk_pool_max_grad_pixels(float *dx, const float *dy, const float *x, const hkk_pool_taps *t,
                                         int64_t count, int disjoint)
{
    for (int64_t p = 0; p < t->pixels; p++, x += t->x_step, dx += t->x_step, dy += t->y_step) {
        int64_t c = 0;
        for (; c + 16 <= t->channels; c += 16)
            hkk_pool_max_grad_vector(dx + c, dy + c, x + c, t->taps, count, 16, disjoint);
        if (c < t->channels)
            hkk_pool_max_grad_vector(dx + c, dy + c, x + c, t->taps, count, (int)(t->channels - c), disjoint);
    }
}

static void HKK_NAME(hkk_pool_max_grad_f32)(float *dx, const float *dy, const float *x, const hkk_pool_taps *t)
{
    if (t->tap_count == 4 && t->disjoint)
        hkk_pool_max_grad_pixels(dx, dy, x, t, 4, 1);
    else if (t->tap_count == 9 && !t->disjoint)
        hkk_pool_max_grad_pixels(dx, dy, x, t, 9, 0);
    else if (t->tap_count)
        hkk_pool_max_grad_pixels(dx, dy, x, t, t->tap_count, t->disjoint);
}

static void HKK_NAME(hkk_pool_sum_grad_f32)(float *dx, const float *dy, const hkk_pool_taps *t)
{
    hkk_f32x16 divisor = hkk_set1((float)t->divisor);
    for (int64_t p = 0; p < t->pixels; p++, dx += t->x_step, dy += t->y_step)
        for (int64_t c = 0; c < t->channels; c += 16) {
            int lanes = hkk_pool_lanes(t->channels - c);
            hkk_f32x16 g = hkk_div(hkk_pool_load(dy + c, lanes), divisor);
            for (int64_t k = 0; k < t->tap_count; k++) {
                float *to = dx + t->taps[k] + c;
                hkk_pool_store(to, hkk_add(hkk_pool_load(to, lanes), g), lanes);
            }
        }
}

const hkk_spatial_pool_kernels HKK_NAME(hkk_spatial_pool) = {
    .max = HKK_NAME(hkk_pool_max_f32),
    .sum = HKK_NAME(hkk_pool_sum_f32),
    .max_grad = HKK_NAME(hkk_pool_max_grad_f32),
    .sum_grad = HKK_NAME(hkk_pool_sum_grad_f32),
};
