/* Arithmetic on ranges of the flat space. */
#include "train/vector.h"

#include <math.h>

typedef struct job {
    const hkk_optimizer_kernels *k;
    float *y;
    const float *x;
    float factor;
    int64_t count;
    double *partial;
} job;

static int64_t block_size(const job *j, int64_t block)
{
    int64_t rest = j->count - block * HKI_VECTOR_BLOCK;
    return rest < HKI_VECTOR_BLOCK ? rest : HKI_VECTOR_BLOCK;
}

static void add_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const job *j = context;
    j->k->add(j->y + block * HKI_VECTOR_BLOCK, j->x + block * HKI_VECTOR_BLOCK, block_size(j, block));
}

static void scale_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const job *j = context;
    j->k->scale(j->y + block * HKI_VECTOR_BLOCK, j->factor, block_size(j, block));
}

static void square_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const job *j = context;
    j->partial[block] = j->k->sum_squares(j->x + block * HKI_VECTOR_BLOCK, block_size(j, block));
}

void hki_vector_add(hki_context *context, float *y, const float *x, int64_t count)
{
    job j = {.k = context->k->optimizer, .y = y, .x = x, .count = count};
    hki_pool_run(context->pool, hki_vector_blocks(count), add_block, &j);
}

void hki_vector_scale(hki_context *context, float *y, float factor, int64_t count)
{
    if (factor == 1)
        return;
    job j = {.k = context->k->optimizer, .y = y, .factor = factor, .count = count};
    hki_pool_run(context->pool, hki_vector_blocks(count), scale_block, &j);
}

/* Sum over a tree that halves: the same for any number of threads. */
static double tree_sum(const double *x, int64_t count)
{
    if (count <= 2)
        return count == 2 ? x[0] + x[1] : count == 1 ? x[0] : 0;
    return tree_sum(x, count / 2) + tree_sum(x + count / 2, count - count / 2);
}

double hki_vector_norm(hki_context *context, const float *x, int64_t count, double *partial)
{
    job j = {.k = context->k->optimizer, .x = x, .count = count, .partial = partial};
    hki_pool_run(context->pool, hki_vector_blocks(count), square_block, &j);
    return sqrt(tree_sum(partial, hki_vector_blocks(count)));
}
