/* Matrix products as operators need them: batches of C = A B over strided operands of any numeric type, cut in fixed
 * blocks on the pool. float32 runs on the packed kernels, the other types on plain loops. */
#ifndef HKI_OPS_PRODUCT_H
#define HKI_OPS_PRODUCT_H

#include "graph/op.h"

/** What is multiplied. A[m, k] = a[m * a_row + k * a_step], B[k, n] = b[k * b_row + n * b_column], C row-major [M, N]
 * for each batch, one behind the other. float32 sums as kernels/gemm.h says; other types add products over increasing
 * k. */
typedef struct hki_product {
    hk_dtype dtype; /* FLOAT, DOUBLE, INT32, INT64, UINT32 or UINT64 */
    int64_t M, N, K;
    const void *a, *b;
    void *c;
    int64_t a_row, a_step, b_row, b_column;
    int batch_rank;
    int64_t batch_dims[HK_MAX_RANK], a_batch[HK_MAX_RANK],
        b_batch[HK_MAX_RANK];   /* strides in elements; 0 where broadcast */
    const void *packed_b;       /* made by hki_product_pack from a B without batch, or NULL */
    hkk_gemm_epilogue epilogue; /* float32 only */
} hki_product;

/** Returns the bytes of scratch that a run takes; data pointers are not looked at, but packed_b must be as in the run.
 */
size_t hki_product_scratch(const hki_product *product, int threads);
void hki_product_run(const hki_product *product, void *scratch, hki_pool *pool, const hkk_kernels *kernels);

/** Returns the bytes that B takes when packed, 0 for types that are not packed. */
size_t hki_product_packed_size(const hki_product *product);
void hki_product_pack(void *to, const hki_product *product, hki_pool *pool, const hkk_kernels *kernels);

#endif
