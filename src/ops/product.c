/* See product.h. */
#include "ops/product.h"

#include "ops/widen.h"

#define PRODUCT_NAME product_double
#define PRODUCT_TYPE double
#include "ops/product_plain.inl"
#define PRODUCT_NAME product_uint32
#define PRODUCT_TYPE uint32_t
#include "ops/product_plain.inl"
#define PRODUCT_NAME product_uint64
#define PRODUCT_TYPE uint64_t
#include "ops/product_plain.inl"

/* A run in progress. */
typedef struct product_run {
    const hki_product *product;
    const hkk_gemm_kernels *kernels;
    hkk_gemm gemm; /* planned; operands of batch 0 */
    int64_t batches, b_batches; /* of the product; of B's that are packed */
    bool packs;                 /* B is packed first */
    float *packed, *scratch;
    int64_t packed_size, worker_size; /* floats */
    int64_t rows;                     /* of a plain block */
} product_run;

static int64_t batch_count(const hki_product *p)
{
    return hki_shape_count(p->batch_dims, 0, p->batch_rank);
}

static bool b_has_batch(const hki_product *p)
{
    for (int d = 0; d < p->batch_rank; d++)
        if (p->b_batch[d] && p->batch_dims[d] != 1)
            return true;
    return false;
}

static int64_t batch_offset(const hki_product *p, const int64_t *strides, int64_t batch)
{
    int64_t offset = 0;
    for (int d = p->batch_rank - 1; d >= 0; d--) {
        offset += batch % p->batch_dims[d] * strides[d];
        batch /= p->batch_dims[d];
    }
    return offset;
}

/* Packing pays when many rows use B, or when tiles would read beyond narrow rows; what does not lie row by row must be
 * packed. */
static bool needs_packing(const hki_product *p)
{
    return !p->packed_b && (p->b_column != 1 || p->M >= 384 || (p->N < 64 && p->N % 16 != 0));
}

static void plan(product_run *run, const hki_product *p)
{
    *run = (product_run){.product = p, .batches = batch_count(p), .packs = needs_packing(p)};
    run->gemm = (hkk_gemm){.M = p->M,
                           .N = p->N,
                           .K = p->K,
                           .a = p->a,
                           .a_row = p->a_row,
                           .a_step = p->a_step,
                           .c = p->c,
                           .c_ld = p->N,
                           .b_unpacked = !run->packs && !p->packed_b,
                           .b_ld = p->b_row,
                           .epilogue = p->epilogue};
    run->gemm.b = p->packed_b ? p->packed_b : p->b;
    hkk_gemm_plan(&run->gemm);
    run->b_batches = b_has_batch(p) ? run->batches : 1;
    run->packed_size = (hkk_gemm_packed_size(p->K, p->N) + 15) / 16 * 16;
    run->worker_size = (run->gemm.scratch + 15) / 16 * 16;
}

size_t hki_product_scratch(const hki_product *p, int threads)
{
    product_run run;
    if (p->dtype != HK_FLOAT)
        return 0;
    plan(&run, p);
    return (run.packs ? hki_scratch_size(run.packed_size * run.b_batches, sizeof(float)) : 0) +
           hki_scratch_size(run.worker_size * threads, sizeof(float));
}

static void pack_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const product_run *run = context;
    const hki_product *p = run->product;
    int64_t panels = (p->N + HKK_PANEL - 1) / HKK_PANEL, batch = block / panels, panel = block % panels;
    const float *b = (const float *)p->b + (run->b_batches > 1 ? batch_offset(p, p->b_batch, batch) : 0);
    run->kernels->pack(run->packed + batch * run->packed_size, b, p->b_row, p->b_column, p->K, p->N, panel, panel + 1);
}

static void gemm_block(void *context, int64_t block, int worker)
{
    const product_run *run = context;
    const hki_product *p = run->product;
    int64_t batch = block / run->gemm.blocks;
    hkk_gemm gemm = run->gemm;
    gemm.a += batch_offset(p, p->a_batch, batch);
    if (run->packs)
        gemm.b = run->packed + (run->b_batches > 1 ? batch * run->packed_size : 0);
    else
        gemm.b += batch_offset(p, p->b_batch, batch);
    gemm.c += batch * p->M * p->N;
    run->kernels->run_block(&gemm, block % run->gemm.blocks, run->scratch + worker * run->worker_size);
}

static void plain_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const product_run *run = context;
    const hki_product *p = run->product;
    int64_t blocks = (p->M + run->rows - 1) / run->rows, batch = block / blocks, begin = block % blocks * run->rows;
    int64_t end = begin + run->rows < p->M ? begin + run->rows : p->M;
    int64_t a = batch_offset(p, p->a_batch, batch), b = batch_offset(p, p->b_batch, batch), c = batch * p->M * p->N;
    if (p->dtype == HK_DOUBLE)
        product_double(p, a, b, c, begin, end);
    else if (hk_dtype_size(p->dtype) == 4)
        product_uint32(p, a, b, c, begin, end); /* wraps, signed or not */
    else
        product_uint64(p, a, b, c, begin, end);
}

void hki_product_run(const hki_product *p, void *scratch, hki_pool *pool, const hkk_kernels *kernels)
{
    product_run run;
    plan(&run, p);
    if (p->M <= 0 || p->N <= 0)
        return;
    if (p->dtype != HK_FLOAT) {
        int64_t work = (p->N > 0 ? p->N : 1) * (p->K > 0 ? p->K : 1);
        run.rows = work < 1 << 16 ? (1 << 16) / work : 1;
        hki_pool_run(pool, run.batches * ((p->M + run.rows - 1) / run.rows), plain_block, &run);
        return;
    }
    run.kernels = kernels->gemm;
    run.packed = scratch;
    run.scratch = (float *)scratch + (run.packs ? run.packed_size * run.b_batches : 0);
    if (run.packs)
        hki_pool_run(pool, run.b_batches * ((p->N + HKK_PANEL - 1) / HKK_PANEL), pack_block, &run);
    hki_pool_run(pool, run.batches * run.gemm.blocks, gemm_block, &run);
}

size_t hki_product_packed_size(const hki_product *p)
{
    return p->dtype == HK_FLOAT && !b_has_batch(p) ? hki_scratch_size(hkk_gemm_packed_size(p->K, p->N), sizeof(float))
                                                   : 0;
}

void hki_product_pack(void *to, const hki_product *p, hki_pool *pool, const hkk_kernels *kernels)
{
    product_run run;
    plan(&run, p);
    run.kernels = kernels->gemm;
    run.packed = to;
    run.b_batches = 1;
    hki_pool_run(pool, (p->N + HKK_PANEL - 1) / HKK_PANEL, pack_block, &run);
}
