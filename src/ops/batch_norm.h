/* Batch normalization while it runs: moments, running statistics, application and gradient, for channels-last and plain
 * layout. */
#ifndef HKI_OPS_BATCH_NORM_H
#define HKI_OPS_BATCH_NORM_H

#include "graph/op.h"

/** The tensor as a matrix: channels-last rows x channels; plain samples x channels x pixels, which for one pixel is the
 * former too. */
typedef struct hki_batch_shape {
    int64_t channels;
    int64_t count;    /* elements per channel */
    bool by_planes;   /* plain layout: each channel of a sample is a contiguous row of `pixels` */
    int64_t pixels;
    int64_t segments; /* partial results: fixed groups of rows, or samples */
    int64_t segment;  /* elements per channel of a segment; the last may have fewer */
} hki_batch_shape;

void hki_batch_shape_read(hki_batch_shape *out, const hk_tensor *x);
/** Bytes of scratch for any of the functions below. */
size_t hki_batch_scratch(const hki_batch_shape *s, hk_dtype dtype);

/** mean[c] and variance[c] (population) of x, float32 or float64. */
void hki_batch_moments(double *mean, double *variance, const hki_batch_shape *s, const hk_tensor *x, const hki_run *r,
                       void *scratch);
/** y = (x - mean) scale inv_std + bias, and with `relu` max(0, that). */
void hki_batch_apply(hk_tensor *y, const hki_batch_shape *s, const hk_tensor *x, const double *mean,
                     const double *inv_std, const hk_tensor *scale, const hk_tensor *bias, bool relu, const hki_run *r,
                     void *scratch);

/** What the two passes of the gradient take: dy, x, and per channel the mean and a = scale inv_std. With relu_bias
 * (else NULL) dy counts only where (x - mean) a + relu_bias > 0. */
typedef struct hki_batch_grad {
    const hki_batch_shape *shape;
    const hk_tensor *dy, *x, *relu_bias;
    const double *mean, *a;
    const hki_run *run;
    void *scratch;
} hki_batch_grad;

/** sum_dy[c] = sum of dy, sum_dy_x[c] = sum of dy (x - mean). */
void hki_batch_grad_sums(double *sum_dy, double *sum_dy_x, const hki_batch_grad *g);
/** dx = a dy - b (x - mean) - d, with b, d per channel. */
void hki_batch_grad_apply(hk_tensor *dx, const hki_batch_grad *g, const double *b, const double *d);

#endif
