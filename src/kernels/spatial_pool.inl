/* The spatial_pool family over lanes; compiled once per ISA. Contract: kernels/spatial_pool.h. */
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

static void HKK_NAME(hkk_pool_max_f32)(float *y, const float *x, const hkk_pool_taps *t)
{
    for (int64_t p = 0; p < t->pixels; p++, x += t->x_step, y += t->y_step)
        for (int64_t c = 0; c < t->channels; c += 16) {
            int lanes = hkk_pool_lanes(t->channels - c);
            hkk_f32x16 max = t->tap_count ? hkk_pool_load(x + t->taps[0] + c, lanes) : hkk_neg(HKK_INFINITY);
            for (int64_t k = 1; k < t->tap_count; k++) {
                hkk_f32x16 v = hkk_pool_load(x + t->taps[k] + c, lanes);
                max = hkk_select(hkk_pool_takes(v, max), v, max);
            }
            hkk_pool_store(y + c, max, lanes);
        }
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

static void HKK_NAME(hkk_pool_max_grad_f32)(float *dx, const float *dy, const float *x, const hkk_pool_taps *t)
{
    for (int64_t p = 0; p < t->pixels && t->tap_count; p++, x += t->x_step, dx += t->x_step, dy += t->y_step)
        for (int64_t c = 0; c < t->channels; c += 16) {
            int lanes = hkk_pool_lanes(t->channels - c);
            hkk_f32x16 max = hkk_pool_load(x + t->taps[0] + c, lanes), g = hkk_pool_load(dy + c, lanes);
            hkk_i32x16 at = hkk_iset1(0);
            for (int64_t k = 1; k < t->tap_count; k++) {
                hkk_f32x16 v = hkk_pool_load(x + t->taps[k] + c, lanes);
                hkk_mask16 takes = hkk_pool_takes(v, max);
                max = hkk_select(takes, v, max);
                at = hkk_iselect(takes, hkk_iset1((int32_t)k), at);
            }
            for (int64_t k = 0; k < t->tap_count; k++) {
                float *to = dx + t->taps[k] + c;
                hkk_f32x16 d = hkk_pool_load(to, lanes);
                d = hkk_select(hkk_ieq(at, hkk_iset1((int32_t)k)), hkk_add(d, g), d);
                hkk_pool_store(to, d, lanes);
            }
        }
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
