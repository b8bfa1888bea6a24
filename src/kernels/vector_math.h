/* Kernel family: transcendental functions on arrays, y[i] = f(x[i]). Also the smallest example of a family. */
#ifndef HKI_KERNELS_VECTOR_MATH_H
#define HKI_KERNELS_VECTOR_MATH_H

#include <stdint.h>

/** Computes y[i] = f(x[i]) for i in 0 .. n-1. y may be x. Error bounds: kernels/math.inl. */
typedef void hkk_vector_fn(float *y, const float *x, int64_t n);

typedef struct hkk_vector_math_kernels {
    hkk_vector_fn *exp, *log, *tanh, *sigmoid, *erf, *softplus;
    /** z[i] = x[i] ^ y[i], as C's powf. z may be x or y. */
    void (*pow)(float *z, const float *x, const float *y, int64_t n);
} hkk_vector_math_kernels;

extern const hkk_vector_math_kernels hkk_vector_math__c, hkk_vector_math__avx2, hkk_vector_math__avx512;

#endif
