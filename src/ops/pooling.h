/* What all poolings share: the geometry of windows from a node's attributes, and a walk over the output that hands runs
 * of pixels with equal taps to a kernel. Works for any number of spatial dims and for both layouts. */
#ifndef HKI_OPS_POOLING_H
#define HKI_OPS_POOLING_H

#include "graph/op.h"

#define HKI_POOL_DIMS (HK_MAX_RANK - 2)

typedef struct hki_pooling {
    int rank; /* spatial dims */
    int64_t in[HKI_POOL_DIMS], out[HKI_POOL_DIMS];
    int64_t kernel[HKI_POOL_DIMS], stride[HKI_POOL_DIMS], dilation[HKI_POOL_DIMS];
    int64_t begin[HKI_POOL_DIMS], end[HKI_POOL_DIMS]; /* pads */
    bool counts_pad; /* padding counts in averages */
    bool divides;    /* averages rather than sums */
} hki_pooling;

/** Infers the shape of the pooled x (N, C, spatial...) from the attributes kernel_shape, strides, pads, dilations,
 * auto_pad and ceil_mode, as far as the dims of x are known. */
hk_status hki_pooling_infer(hki_type *y, const hk_node *node, const hki_type *x) HK_MUST_USE;
/** Reads the geometry for an x of known dims. The global poolings have one window over all. */
hk_status hki_pooling_read(hki_pooling *out, const hk_node *node, int rank, const int64_t *dims) HK_MUST_USE;
void hki_pooling_global(hki_pooling *out, int rank, const int64_t *dims);

/** A walk: what a run gives its kernels. x and y are the tensors of the large and the small side (for gradients dx and
 * dy); both have one layout. */
typedef struct hki_pool_walk hki_pool_walk;
struct hki_pool_walk {
    const hki_pooling *pooling;
    const hk_tensor *x, *y;
    /* Treats one run of pixels: offsets in elements of the first pixel of channel `channel` in x (where taps start) and
     * y. */
    void (*visit)(const hki_pool_walk *walk, const hkk_pool_taps *taps, int64_t x_offset, int64_t y_offset);
    const hki_run *run;
    bool scatters; /* a gradient: windows may overlap, so a sample is one block, and dx is zeroed first */
    bool sets; /* a gradient whose kernel sets its taps if windows are disjoint: then dx is zeroed only where none is */
    void *extra;   /* of the visitor */
    /* Set by the walk: */
    int64_t *taps; /* per worker, max_taps each */
    int64_t max_taps, rows, rows_per_block, blocks_per_sample, group;
    int64_t pixel_stride, x_channel_stride, y_channel_stride;
    bool disjoint, covers; /* windows do not overlap; they cover all of x */
};

/** Walks over all pixels of y in fixed blocks. run->scratch has room for hki_pool_scratch. */
hk_status hki_pool_walk_run(hki_pool_walk *walk) HK_MUST_USE;
size_t hki_pool_scratch(const hki_pooling *pooling, int threads);

#endif
