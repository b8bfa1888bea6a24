/* Kernel family: pooling of float32 with the channels side by side (channels-last), lanes across channels.
 *
 * A call treats `pixels` output pixels in a row that have the same taps: tap k of pixel p and channel c is
 * x[p x_step + taps[k] + c]. Taps are taken in order, so the sum of a channel has a fixed order, and of equal maxima
 * the first counts; a NaN wins over what came before it. */
#ifndef HKI_KERNELS_SPATIAL_POOL_H
#define HKI_KERNELS_SPATIAL_POOL_H

#include <stdint.h>

typedef struct hkk_pool_taps {
    const int64_t *taps; /* offsets in elements, in order */
    int64_t tap_count;   /* 0: the maximum is -Inf, the sum 0 */
    int64_t pixels, x_step, y_step;
    int64_t channels;
    double divisor; /* of sums; rounded to float by the float32 kernels */
    int disjoint;   /* no two windows overlap: max_grad may set its taps instead of adding to zeros */
} hkk_pool_taps;

typedef struct hkk_spatial_pool_kernels {
    /** y[p y_step + c] = maximum of the taps. */
    void (*max)(float *y, const float *x, const hkk_pool_taps *t);
    /** y[p y_step + c] = sum of the taps / divisor. */
    void (*sum)(float *y, const float *x, const hkk_pool_taps *t);
    /** Adds dy[p y_step + c] to dx where x has the first maximum of the taps; dx is addressed as x. Disjoint: sets dx
     * there, and zero at the other taps. */
    void (*max_grad)(float *dx, const float *dy, const float *x, const hkk_pool_taps *t);
    /** Adds dy[p y_step + c] / divisor to dx at each tap. */
    void (*sum_grad)(float *dx, const float *dy, const hkk_pool_taps *t);
} hkk_spatial_pool_kernels;

extern const hkk_spatial_pool_kernels hkk_spatial_pool__c, hkk_spatial_pool__avx2, hkk_spatial_pool__avx512;

#endif
