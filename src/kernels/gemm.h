/* Kernel family: matrix product in float32, C = epilogue(A B).
 *
 * Order of summation, the same for every blocking, ISA and thread: each element of C is one chain of fused
 * multiply-adds over increasing k, starting from 0 (or from C with `accumulate`). Then the epilogue, each step rounded
 * by itself:
 * + bias, + residual, clamp; so a fused product has the bytes of the unfused one.
 *
 * B is best packed once into panels of 32 columns (hkk_gemm_kernels.pack), in the same layout for every ISA. Work is
 * cut into blocks by shape alone; the operator runs them with hki_pool_run. */
#ifndef HKI_KERNELS_GEMM_H
#define HKI_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HKK_PANEL 32 /* columns of a packed panel */

/** What follows the product. A zeroed struct does nothing. */
typedef struct hkk_gemm_epilogue {
    const float *bias_n;   /* [N], added to each row, or NULL */
    const float *bias_m;   /* [M], added to each column, or NULL */
    const float *residual; /* [M, N] with row stride residual_ld, added after the bias, or NULL */
    int64_t residual_ld;
    bool clamp; /* y = min(hi, max(lo, y)), NaN stays: relu is 0 .. Inf, relu6 0 .. 6 */
    float lo, hi;
} hkk_gemm_epilogue;

/** One product, and how it is cut. Fill the operands, then call hkk_gemm_plan. */
typedef struct hkk_gemm {
    int64_t M, N, K;
    const float *a; /* A[m, k] = a[m * a_row + k * a_step]: row-major (a_step 1) or transposed (a_row 1) */
    int64_t a_row, a_step;
    const float *b; /* packed panels, or with b_unpacked row-major [K, N] with row stride b_ld */
    bool b_unpacked;
    int64_t b_ld;
    float *c; /* [M, N] with row stride c_ld */
    int64_t c_ld;
    bool accumulate; /* start from C instead of 0 */
    hkk_gemm_epilogue epilogue;
    /* Set by hkk_gemm_plan, from M, N, K and strides alone. */
    int64_t blocks;        /* for hki_pool_run */
    int64_t scratch;       /* floats each worker needs, 64-byte aligned */
    int64_t block_rows;    /* rows of a block, a multiple of 12 */
    int64_t block_columns; /* columns of a block, a multiple of 64 */
    int64_t block_k;       /* k is cut into pieces of at most this; the chain goes on through C */
} hkk_gemm;

/** Sets the planned fields of a product. Depends on sizes and strides only. */
void hkk_gemm_plan(hkk_gemm *gemm);

/** Returns how many floats B[K, N] takes when packed: whole panels. The caller checks for overflow of K * (N + 31)
 * first. */
int64_t hkk_gemm_packed_size(int64_t K, int64_t N);

typedef struct hkk_gemm_kernels {
    /** Computes one block of C, 0 <= block < gemm->blocks; scratch as gemm->scratch says, or NULL if that is 0. */
    void (*run_block)(const hkk_gemm *gemm, int64_t block, float *scratch);
    /** Packs panels panel_begin .. panel_end-1 of B[K, N], B[k, n] = b[k * b_row + n * b_column]: panel p holds, for
     * each k, the columns 32 p .. 32 p + 31, zeros beyond N. `packed` is the start of the whole packed matrix. */
    void (*pack)(float *packed, const float *b, int64_t b_row, int64_t b_column, int64_t K, int64_t N,
                 int64_t panel_begin, int64_t panel_end);
} hkk_gemm_kernels;

extern const hkk_gemm_kernels hkk_gemm__c, hkk_gemm__avx2, hkk_gemm__avx512;

#endif
