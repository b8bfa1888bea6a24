/* What operators with indices among their data share: reading and checking indices, and combining values into places
 * that may repeat.
 *
 * Indices come from the user's data, so a bad one is a status. Where several values meet in one place they are combined
 * in the order of the source; the pool is given ranges of the destination, so that the order never depends on threads.
 */
#ifndef HKI_OPS_INDEXING_H
#define HKI_OPS_INDEXING_H

#include "base/pool.h"
#include "tensor/tensor.h"

/** Index i of an int32 or int64 tensor. */
static inline int64_t hki_index_at(const hk_tensor *indices, int64_t i)
{
    return indices->dtype == HK_INT64 ? ((const int64_t *)indices->data)[i] : ((const int32_t *)indices->data)[i];
}

/** Fails with HK_INVALID_DATA unless all indices are in -dim .. dim-1. */
hk_status hki_indices_check(const hk_tensor *indices, int64_t dim, int axis) HK_MUST_USE;

typedef enum hki_combine {
    HKI_COMBINE_NONE,
    HKI_COMBINE_ADD,
    HKI_COMBINE_MUL,
    HKI_COMBINE_MIN,
    HKI_COMBINE_MAX
} hki_combine;

/** to[i] = f(to[i], from[i]) for i in 0 .. count-1. Integers wrap; NaN wins in min and max; bool is or / and. Float16
 * and bfloat16 round once per call. */
typedef void hki_combine_fn(void *to, const void *from, int64_t count);

/** Finds the function of a numeric dtype or bool; never NULL for those. */
hki_combine_fn *hki_combine_find(hki_combine how, hk_dtype dtype);
/** Reads ONNX's attribute `reduction`: none, add, mul, min, max. */
hk_status hki_combine_parse(hki_combine *out, const char *text) HK_MUST_USE;

/** Combines slice i of `from` (slice elements each, one after the other) into `to` (to_count elements) at element
 * offsets[i]. */
void hki_scatter_slices(void *to, int64_t to_count, const void *from, int64_t slices, int64_t slice,
                        const int64_t *offsets, hk_dtype dtype, hki_combine how, hki_pool *pool);

/** Number of ranges in which a destination of `bytes` bytes is cut for scattering: depends on the size alone. */
int64_t hki_scatter_ranges(int64_t bytes);

#endif
