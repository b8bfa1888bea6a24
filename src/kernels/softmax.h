/* Kernel family: softmax, log-softmax and cross-entropy of float32, by rows (the axis is contiguous) or by columns.
 *
 * A row is summed as kernels/reduce.h says for one accumulator: lane i takes the elements i, i + 16 ...; a column in
 * order. */
#ifndef HKI_KERNELS_SOFTMAX_H
#define HKI_KERNELS_SOFTMAX_H

#include <stdint.h>

/** One row of a cross-entropy: what is added to the loss. */
typedef struct hkk_cross_entropy {
    float loss;   /* -log softmax(x)[label] */
    float smooth; /* -sum over c of weight[c] log softmax(x)[c]; 0 unless asked for */
} hkk_cross_entropy;

typedef struct hkk_softmax_kernels {
    /** y = softmax(x) of each of `rows` rows of n elements. y may be x. */
    void (*softmax_rows)(float *y, const float *x, int64_t rows, int64_t n);
    void (*log_softmax_rows)(float *y, const float *x, int64_t rows, int64_t n);
    /** dx = y (dy - sum(dy y)). dx may be dy or y. */
    void (*softmax_grad_rows)(float *dx, const float *dy, const float *y, int64_t rows, int64_t n);
    /** dx = dy - exp(y) sum(dy), y being the log-softmax. dx may be dy or y. */
    void (*log_softmax_grad_rows)(float *dx, const float *dy, const float *y, int64_t rows, int64_t n);
    /** The same along columns: element i of column j stands at x[i stride + j], i < n, j < columns. */
    void (*softmax_columns)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns);
    void (*log_softmax_columns)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns);
    void (*softmax_grad_columns)(float *dx, const float *dy, const float *y, int64_t n, int64_t stride,
                                 int64_t columns);
    void (*log_softmax_grad_columns)(float *dx, const float *dy, const float *y, int64_t n, int64_t stride,
                                     int64_t columns);
    /** Cross-entropy of one row x[n]. weights (n, or NULL for ones) and the smooth part count only if `smoothing`. */
    hkk_cross_entropy (*cross_entropy_row)(const float *x, int64_t n, int64_t label, const float *weights,
                                           int smoothing);
    /** dx[c] = softmax(x)[c] total - on_label [c = label] - on_all weight[c]. dx may be x. */
    void (*cross_entropy_grad_row)(float *dx, const float *x, int64_t n, int64_t label, const float *weights,
                                   float total, float on_label, float on_all);
} hkk_softmax_kernels;

extern const hkk_softmax_kernels hkk_softmax__c, hkk_softmax__avx2, hkk_softmax__avx512;

#endif
