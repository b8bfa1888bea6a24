/* The engine of all reductions over axes: a plan of stages over the memory of a tensor, cut in blocks by shape only.
 *
 * Reduced axes that lie side by side in memory are one. Each stage reduces the innermost one left: [outer, n, inner] to
 * [outer, inner], by rows (inner = 1) or columns; a long n is cut in segments, whose results a further stage reduces.
 * The order of every sum is thus fixed by the shape, and does not depend on `outer`: neither on the batch. */
#ifndef HKI_OPS_REDUCTION_H
#define HKI_OPS_REDUCTION_H

#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

typedef struct hki_reduction_stage {
    hkk_reduction op;
    int64_t outer, n, inner;
    int64_t segment, segments; /* n = segments of this many, the last may be shorter */
} hki_reduction_stage;

#define HKI_REDUCTION_STAGES (6 * HK_MAX_RANK)

typedef struct hki_reduction {
    int stage_count;
    hki_reduction_stage stages[HKI_REDUCTION_STAGES];
    int64_t count;        /* elements that are reduced to one */
    int64_t result_count; /* results; in the memory order of what is kept of x */
    int64_t scratch_count; /* elements between the stages */
} hki_reduction;

/** Plans the reduction of x (only its shape and layout are read) over the logical axes with reduced[axis]. */
void hki_reduction_plan(hki_reduction *out, hkk_reduction op, const hk_tensor *x, const bool *reduced);
/** Plans the reduction of [outer, n, inner] to [outer, inner]. */
void hki_reduction_plan_matrix(hki_reduction *out, hkk_reduction op, int64_t outer, int64_t n, int64_t inner);
/** Runs a plan on float32, float64, int64 or uint64. `scratch` has room for plan->scratch_count elements. */
void hki_reduction_run(const hki_reduction *plan, void *y, const void *x, hk_dtype dtype, void *scratch,
                       hki_pool *pool, const hkk_kernels *kernels);

#endif
