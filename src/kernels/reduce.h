/* Kernel family: reductions of float32 over rows or columns of a matrix.
 *
 * Rows: lane i of accumulator a (of four) takes the elements 64 k + 16 a + i in order of k; vectors left over go to
 * accumulator 0, missing lanes count as the neutral element; then (0 + 1) + (2 + 3) and the tree of hkk_sum16. Columns:
 * each column is reduced in order of rows, from the neutral element on. A NaN in the input makes the result NaN. No
 * rows or columns at all give the neutral element (-Inf for max and logsumexp). */
#ifndef HKI_KERNELS_REDUCE_H
#define HKI_KERNELS_REDUCE_H

#include <stdint.h>

typedef enum hkk_reduction {
    HKK_SUM,
    HKK_SUM_ABS,
    HKK_SUM_SQUARE,
    HKK_PRODUCT,
    HKK_MAX,
    HKK_MIN,
    HKK_LOG_SUM_EXP, /* max + log(sum(exp(x - max))) */
    HKK_REDUCTION_COUNT
} hkk_reduction;

typedef struct hkk_reduce_kernels {
    /** y[r] = reduction of x[r n .. r n + n - 1], r in 0 .. rows-1. */
    void (*rows[HKK_REDUCTION_COUNT])(float *y, const float *x, int64_t rows, int64_t n);
    /** y[j] = reduction over i in 0 .. n-1 of x[i stride + j], j in 0 .. columns-1. */
    void (*columns[HKK_REDUCTION_COUNT])(float *y, const float *x, int64_t n, int64_t stride, int64_t columns);
    /** y[i] = y[i] / divisor */
    void (*divide)(float *y, int64_t n, float divisor);
    void (*sqrt)(float *y, int64_t n);
} hkk_reduce_kernels;

extern const hkk_reduce_kernels hkk_reduce__c, hkk_reduce__avx2, hkk_reduce__avx512;

#endif
