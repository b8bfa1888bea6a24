/* The visitors of pool walks: lanes across channels for float32 in channels-last layout, plain loops for float32 in
 * plain layout and for float64. Included by pool_visitors.c's users only. */
#ifndef HKI_OPS_POOL_VISITORS_H
#define HKI_OPS_POOL_VISITORS_H

#include "ops/pooling.h"

typedef void hki_pool_visitor(const hki_pool_walk *walk, const hkk_pool_taps *taps, int64_t x_offset, int64_t y_offset);

typedef enum hki_pool_kind { HKI_POOL_MAX, HKI_POOL_MAX_GRAD, HKI_POOL_SUM, HKI_POOL_SUM_GRAD } hki_pool_kind;

/** Returns the visitor for a tensor of float32 or float64. For HKI_POOL_MAX_GRAD walk->extra is the data of the forward
 * x. */
hki_pool_visitor *hki_pool_visitor_find(hki_pool_kind kind, hk_dtype dtype, hki_layout layout);

/** Runs a pooling of that kind between the large side x (dx for gradients) and the small side y (dy). `forward_x`: for
 * HKI_POOL_MAX_GRAD. */
hk_status hki_pool_run_kind(hki_pool_kind kind, const hki_pooling *pooling, const hki_run *r, const hk_tensor *x,
                            const hk_tensor *y, const hk_tensor *forward_x) HK_MUST_USE;

#endif
