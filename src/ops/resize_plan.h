/* What Resize (and its gradient) does along each axis: output length, and for every output the places of the input with
 * their weights.
 *
 * Interpolation is separable, so an axis is all there is to know. Formulae: ONNX Resize-19,
 * "coordinate_transformation_mode" and the filters of its reference implementation. */
#ifndef HKI_OPS_RESIZE_PLAN_H
#define HKI_OPS_RESIZE_PLAN_H

#include "graph/op.h"

typedef enum hki_resize_mode { HKI_RESIZE_NEAREST, HKI_RESIZE_LINEAR, HKI_RESIZE_CUBIC } hki_resize_mode;

typedef struct hki_resize_axis {
    int64_t in, out; /* lengths; negative: not known */
    double scale;
    double roi[2]; /* start and end in units of the input's length */
    bool identity; /* nothing to do along this axis */
} hki_resize_axis;

typedef struct hki_resize {
    hki_resize_mode mode;
    int coordinates, nearest; /* positions in ONNX's lists of names: see resize_plan.c */
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
    int rank;
    hki_resize_axis axes[HK_MAX_RANK];
} hki_resize;

/** The inputs that may be absent (NULL; Resize-11 gives empty tensors instead, which count as absent) or known to
 * exist, but not by value. */
typedef struct hki_resize_inputs {
    const hk_tensor *roi, *scales, *sizes;
    bool open; /* scales or sizes are given but not known yet */
} hki_resize_inputs;

/** Reads attributes and inputs for data of dims (unknown ones negative). */
hk_status hki_resize_read(hki_resize *out, const hk_node *node, int rank, const int64_t *dims,
                          const hki_resize_inputs *inputs) HK_MUST_USE;

/** Number of places that one output reads along an axis. */
int64_t hki_resize_taps(const hki_resize *resize, const hki_resize_axis *axis);
/** At least hki_resize_taps, from lengths alone. */
int64_t hki_resize_taps_bound(const hk_node *node, int64_t in, int64_t out);
/** Fills the places (0 .. in-1) and weights of output i. Returns false if the output is the extrapolation value. */
bool hki_resize_weights(int64_t *places, double *weights, const hki_resize *resize, const hki_resize_axis *axis,
                        int64_t i);

#endif
