/* Resize by one pass per axis: tables of weights, scratch, and the passes forward and backward. */
#ifndef HKI_OPS_RESIZE_PASS_H
#define HKI_OPS_RESIZE_PASS_H

#include "ops/resize_plan.h"

/** The weights of one axis in scratch: `taps` places and weights per output; places[0] < 0: the extrapolation value. */
typedef struct hki_resize_table {
    int64_t taps;
    int64_t *places;
    double *weights;
} hki_resize_table;

/** Where scratch holds what: tables of all axes, then two buffers in the computing type. */
typedef struct hki_resize_layout {
    size_t tables[HK_MAX_RANK], buffers[2], size;
} hki_resize_layout;

/** Lays out scratch for a Resize from dims `in` to dims `out`. */
hki_resize_layout hki_resize_scratch(const hk_node *node, hk_dtype dtype, int rank, const int64_t *in,
                                     const int64_t *out);
/** Fills the tables of all axes along which something happens. */
hk_status hki_resize_tables(hki_resize_table *tables, const hki_resize *resize, const hki_resize_layout *l,
                            char *scratch, const hk_node *node) HK_MUST_USE;
/** Interpolates `from` to `to` over ascending axes, or (backward) adds the gradient `from` of the output into `to` over
 * descending ones. Computes in float32 for float16, bfloat16 and float32, in float64 for the rest. */
hk_status hki_resize_passes(const hki_run *r, const hki_resize *resize, const hki_resize_table *tables,
                            const hki_resize_layout *l, const hk_tensor *from, hk_tensor *to,
                            bool backward) HK_MUST_USE;

#endif
