/* Arithmetic on ranges of the flat space: cut in fixed blocks, run on the pool, the same bytes for any number of
 * threads. */
#ifndef HKI_TRAIN_VECTOR_H
#define HKI_TRAIN_VECTOR_H

#include "exec/context.h"

#define HKI_VECTOR_BLOCK 16384 /* floats */

/** y += x. */
void hki_vector_add(hki_context *context, float *y, const float *x, int64_t count);
/** y *= factor; nothing happens for factor 1. */
void hki_vector_scale(hki_context *context, float *y, float factor, int64_t count);
/** Euclidean norm, summed over fixed blocks and then in a fixed tree; Inf or NaN if an element is. `partial` has room
 * for one double per started HKI_VECTOR_BLOCK. */
double hki_vector_norm(hki_context *context, const float *x, int64_t count, double *partial);
static inline int64_t hki_vector_blocks(int64_t count)
{
    return (count + HKI_VECTOR_BLOCK - 1) / HKI_VECTOR_BLOCK;
}

#endif
