/* See pool_visitors.h. */
#include "ops/pool_visitors.h"

#include <math.h>

#define T      float
#define NAME(x) x##_float
#define LOWEST (-INFINITY)
#include "ops/pool_plain.inl"

#define T      double
#define NAME(x) x##_double
#define LOWEST (-INFINITY)
#include "ops/pool_plain.inl"

static void visit_max(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    w->run->k->spatial_pool->max((float *)w->y->data + y_offset, (const float *)w->x->data + x_offset, t);
}

static void visit_max_grad(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    w->run->k->spatial_pool->max_grad((float *)w->x->data + x_offset, (const float *)w->y->data + y_offset,
                              (const float *)w->extra + x_offset, t);
}

static void visit_sum(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    w->run->k->spatial_pool->sum((float *)w->y->data + y_offset, (const float *)w->x->data + x_offset, t);
}

static void visit_sum_grad(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    w->run->k->spatial_pool->sum_grad((float *)w->x->data + x_offset, (const float *)w->y->data + y_offset, t);
}

hki_pool_visitor *hki_pool_visitor_find(hki_pool_kind kind, hk_dtype dtype, hki_layout layout)
{
    static hki_pool_visitor *const lanes[] = {visit_max, visit_max_grad, visit_sum, visit_sum_grad};
    static hki_pool_visitor *const floats[] = {visit_max_float, visit_max_grad_float, visit_sum_float,
                                               visit_sum_grad_float};
    static hki_pool_visitor *const doubles[] = {visit_max_double, visit_max_grad_double, visit_sum_double,
                                                visit_sum_grad_double};
    return dtype == HK_DOUBLE ? doubles[kind] : layout == HKI_PLAIN ? floats[kind] : lanes[kind];
}

hk_status hki_pool_run_kind(hki_pool_kind kind, const hki_pooling *pooling, const hki_run *r, const hk_tensor *x,
                            const hk_tensor *y, const hk_tensor *forward_x)
{
    hki_pool_walk walk = {
        .pooling = pooling,
        .x = x,
        .y = y,
        .visit = hki_pool_visitor_find(kind, x->dtype, x->layout),
        .run = r,
        .scatters = kind == HKI_POOL_MAX_GRAD || kind == HKI_POOL_SUM_GRAD,
        .sets = kind == HKI_POOL_MAX_GRAD && x->dtype == HK_FLOAT && x->layout == HKI_CHANNELS_LAST,
        .extra = forward_x ? forward_x->data : NULL,
    };
    if (forward_x && forward_x->layout != x->layout)
        return HK_ERR(HK_INTERNAL, "pooling found tensors of different layouts");
    return hki_pool_walk_run(&walk);
}
