/* Kernel family: mean and variance, normalization and its gradient, of float32.
 *
 * "Columns": a matrix [rows, channels] with one mean per column; rows are taken in order. "Row": n elements with one
 * mean, summed as kernels/reduce.h says for one accumulator. Variances are two-pass (first the mean, then squares about
 * it), so that they are accurate for data far from zero; blocks are merged by the formula of Chan, Golub and LeVeque
 * (1979). m2 is the sum of squared distances to the mean, the variance times n. */
#ifndef HKI_KERNELS_NORMALIZE_H
#define HKI_KERNELS_NORMALIZE_H

#include <stdint.h>

typedef struct hkk_normalize_kernels {
    /** mean[c], m2[c] of column c; rows > 0. */
    void (*moments_columns)(float *mean, float *m2, const float *x, int64_t rows, int64_t channels);
    /** Merges the moments of count_b more elements into those of count_a. */
    void (*merge_moments)(float *mean, float *m2, const float *mean_b, const float *m2_b, int64_t count_a,
                          int64_t count_b, int64_t channels);
    /** y = (x - mean[c]) scale[c] + bias[c], and with `relu` max(0, that). y may be x. */
    void (*apply_columns)(float *y, const float *x, const float *mean, const float *scale, const float *bias,
                          int64_t rows, int64_t channels, int relu);
    /** sum_dy[c] = sum of dy, sum_dy_x[c] = sum of dy (x - mean[c]). With relu_bias (else NULL) dy counts only where
     * (x - mean[c]) a[c] + relu_bias[c] > 0, that is where apply_columns with scale a and relu gave more than 0. */
    void (*grad_sums_columns)(float *sum_dy, float *sum_dy_x, const float *dy, const float *x, const float *mean,
                              const float *a, const float *relu_bias, int64_t rows, int64_t channels);
    /** dx = a[c] dy - b[c] (x - mean[c]) - d[c], relu_bias as above. dx may be dy. */
    void (*grad_columns)(float *dx, const float *dy, const float *x, const float *mean, const float *a, const float *b,
                         const float *d, const float *relu_bias, int64_t rows, int64_t channels);

    /** The same for one channel that lies in a row; `relu` says whether relu_bias counts. */
    void (*moments_row)(float *mean, float *m2, const float *x, int64_t n);
    void (*apply_row)(float *y, const float *x, int64_t n, float mean, float scale, float bias, int relu);
    void (*grad_sums_row)(float *sum_dy, float *sum_dy_x, const float *dy, const float *x, int64_t n, float mean,
                          float a, float relu_bias, int relu);
    void (*grad_row)(float *dx, const float *dy, const float *x, int64_t n, float mean, float a, float b, float d,
                     float relu_bias, int relu);

    /** y = (x - mean) inv_std scale + bias for each of `rows` rows of n, with scale, bias (may be NULL) of n elements;
     * inv_std = 1 / sqrt(variance + epsilon). Not centered: mean is 0 (root mean square). mean, inv_std: `rows`
     * results. */
    void (*layer_norm_rows)(float *y, float *mean, float *inv_std, const float *x, const float *scale,
                            const float *bias, int64_t rows, int64_t n, float epsilon, int centered);
    /** mean and inv_std alone. */
    void (*layer_norm_moments)(float *mean, float *inv_std, const float *x, int64_t rows, int64_t n, float epsilon,
                               int centered);
    /** The gradients: dx (may be NULL), and added to dscale and dbias, row by row, dy (x - mean) inv_std and dy. */
    void (*layer_norm_grad_rows)(float *dx, float *dscale, float *dbias, const float *dy, const float *x,
                                 const float *scale, const float *mean, const float *inv_std, int64_t rows, int64_t n,
                                 int centered);
} hkk_normalize_kernels;

extern const hkk_normalize_kernels hkk_normalize__c, hkk_normalize__avx2, hkk_normalize__avx512;

#endif
