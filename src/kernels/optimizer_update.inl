/* The optimizer family over lanes; compiled once per ISA. Contract: kernels/optimizer_update.h. */
#include "kernels/optimizer_update.h"

#include <stddef.h>

/* Runs BODY for whole vectors, then once for the rest with partial loads and stores. */
#define HKK_OVER(n, BODY)                     \
    do {                                      \
        int64_t i = 0;                        \
        for (; i + 16 <= (n); i += 16) {      \
            BODY(hkk_load_all, hkk_store_all, 16) \
        }                                     \
        if (i < (n)) {                        \
            int rest = (int)((n) - i);        \
            BODY(hkk_load_n, hkk_store_n, rest) \
        }                                     \
    } while (0)

HKK_INLINE hkk_f32x16 hkk_load_all(const float *x, int n)
{
    (void)n;
    return hkk_load(x);
}

HKK_INLINE void hkk_store_all(float *x, hkk_f32x16 v, int n)
{
    (void)n;
    hkk_store(x, v);
}

static void HKK_NAME(hkk_sgd_f32)(float *w, float *velocity, const float *grad, int64_t n, const hkk_sgd *p)
{
    const hkk_f32x16 scale = hkk_set1(p->scale), decay = hkk_set1(p->decay), lr = hkk_set1(p->lr);
    const hkk_f32x16 momentum = hkk_set1(p->momentum), fresh = hkk_set1(1 - p->dampening);
    const bool moves = p->momentum != 0, first = p->first, nesterov = p->nesterov;
#define SGD(load, store, count)                                                              \
    hkk_f32x16 x = load(w + i, count);                                                       \
    hkk_f32x16 g = hkk_fma(decay, x, hkk_mul(scale, load(grad + i, count)));                 \
    if (moves) {                                                                             \
        hkk_f32x16 v = first ? g : hkk_fma(momentum, load(velocity + i, count), hkk_mul(fresh, g)); \
        store(velocity + i, v, count);                                                       \
        g = nesterov ? hkk_fma(momentum, v, g) : v;                                          \
    }                                                                                        \
    store(w + i, hkk_fnma(lr, g, x), count);
    HKK_OVER(n, SGD);
#undef SGD
}

static void HKK_NAME(hkk_adam_f32)(float *w, float *m, float *v, const float *grad, int64_t n, const hkk_adam *p)
{
    const hkk_f32x16 scale = hkk_set1(p->scale), decay = hkk_set1(p->decoupled ? 0 : p->decay);
    const hkk_f32x16 lr_decay = hkk_set1(p->decoupled ? p->lr_decay : 0), step = hkk_set1(p->step);
    const hkk_f32x16 beta1 = hkk_set1(p->beta1), beta2 = hkk_set1(p->beta2), eps = hkk_set1(p->eps);
    const hkk_f32x16 fresh1 = hkk_set1(p->one_minus_beta1), fresh2 = hkk_set1(p->one_minus_beta2),
                     root = hkk_set1(p->root);
#define ADAM(load, store, count)                                                                        \
    hkk_f32x16 x = load(w + i, count);                                                                  \
    hkk_f32x16 g = hkk_fma(decay, x, hkk_mul(scale, load(grad + i, count)));                            \
    hkk_f32x16 mean = hkk_fma(beta1, load(m + i, count), hkk_mul(fresh1, g));                           \
    hkk_f32x16 square = hkk_fma(beta2, load(v + i, count), hkk_mul(fresh2, hkk_mul(g, g)));             \
    store(m + i, mean, count);                                                                          \
    store(v + i, square, count);                                                                        \
    hkk_f32x16 size = hkk_fma(hkk_sqrt(square), root, eps);                                             \
    x = hkk_fnma(lr_decay, x, x);                                                                       \
    store(w + i, hkk_fnma(step, hkk_div(mean, size), x), count);
    HKK_OVER(n, ADAM);
#undef ADAM
}

static void HKK_NAME(hkk_lamb_direction_f32)(float *u, const float *w, float *m, float *v, const float *grad, int64_t n,
                                             const hkk_adam *p)
{
    const hkk_f32x16 scale = hkk_set1(p->scale), decay = hkk_set1(p->decay), step = hkk_set1(p->step);
    const hkk_f32x16 beta1 = hkk_set1(p->beta1), beta2 = hkk_set1(p->beta2), eps = hkk_set1(p->eps);
    const hkk_f32x16 fresh1 = hkk_set1(p->one_minus_beta1), fresh2 = hkk_set1(p->one_minus_beta2),
                     root = hkk_set1(p->root);
#define LAMB(load, store, count)                                                             \
    hkk_f32x16 g = hkk_mul(scale, load(grad + i, count));                                    \
    hkk_f32x16 mean = hkk_fma(beta1, load(m + i, count), hkk_mul(fresh1, g));                \
    hkk_f32x16 square = hkk_fma(beta2, load(v + i, count), hkk_mul(fresh2, hkk_mul(g, g)));  \
    store(m + i, mean, count);                                                               \
    store(v + i, square, count);                                                             \
    hkk_f32x16 size = hkk_fma(hkk_sqrt(square), root, eps);                                  \
    store(u + i, hkk_fma(decay, load(w + i, count), hkk_div(hkk_mul(step, mean), size)), count);
    HKK_OVER(n, LAMB);
#undef LAMB
}

static void HKK_NAME(hkk_adagrad_f32)(float *w, float *sum, const float *grad, int64_t n, const hkk_adagrad *p)
{
    const hkk_f32x16 scale = hkk_set1(p->scale), decay = hkk_set1(p->decay), lr = hkk_set1(p->lr),
                     eps = hkk_set1(p->eps);
#define ADAGRAD(load, store, count)                                                      \
    hkk_f32x16 x = load(w + i, count);                                                   \
    hkk_f32x16 g = hkk_fma(decay, x, hkk_mul(scale, load(grad + i, count)));             \
    hkk_f32x16 s = hkk_fma(g, g, load(sum + i, count));                                  \
    store(sum + i, s, count);                                                            \
    store(w + i, hkk_fnma(lr, hkk_div(g, hkk_add(hkk_sqrt(s), eps)), x), count);
    HKK_OVER(n, ADAGRAD);
#undef ADAGRAD
}

static void HKK_NAME(hkk_add_f32)(float *y, const float *x, int64_t n)
{
#define ADD(load, store, count) store(y + i, hkk_add(load(y + i, count), load(x + i, count)), count);
    HKK_OVER(n, ADD);
#undef ADD
}

static void HKK_NAME(hkk_scale_f32)(float *y, float factor, int64_t n)
{
    const hkk_f32x16 f = hkk_set1(factor);
#define SCALE(load, store, count) store(y + i, hkk_mul(f, load(y + i, count)), count);
    HKK_OVER(n, SCALE);
#undef SCALE
}

static void HKK_NAME(hkk_add_scaled_f32)(float *y, const float *x, float factor, int64_t n)
{
    const hkk_f32x16 f = hkk_set1(factor);
#define ADD_SCALED(load, store, count) store(y + i, hkk_fma(f, load(x + i, count), load(y + i, count)), count);
    HKK_OVER(n, ADD_SCALED);
#undef ADD_SCALED
}

static double HKK_NAME(hkk_sum_squares_f32)(const float *x, int64_t n)
{
    double total = 0;
    for (int64_t start = 0; start < n; start += 1024) {
        int64_t count = n - start < 1024 ? n - start : 1024;
        const float *group = x + start;
        hkk_f32x16 sum = hkk_set1(0);
#define SQUARE(load, store, size)                \
    hkk_f32x16 v = load(group + i, size);        \
    sum = hkk_fma(v, v, sum);
        HKK_OVER(count, SQUARE);
#undef SQUARE
        total += (double)hkk_sum16(sum);
    }
    return total;
}

const hkk_optimizer_kernels HKK_NAME(hkk_optimizer) = {
    .sgd = HKK_NAME(hkk_sgd_f32),
    .adam = HKK_NAME(hkk_adam_f32),
    .adagrad = HKK_NAME(hkk_adagrad_f32),
    .lamb_direction = HKK_NAME(hkk_lamb_direction_f32),
    .add = HKK_NAME(hkk_add_f32),
    .scale = HKK_NAME(hkk_scale_f32),
    .add_scaled = HKK_NAME(hkk_add_scaled_f32),
    .sum_squares = HKK_NAME(hkk_sum_squares_f32),
};
