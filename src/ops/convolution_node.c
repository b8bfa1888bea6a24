/* The passes of a convolution over tensors: reorders what is not channels-last, packs the weights, runs the kernels'
 * blocks. */
#include "ops/convolution_node.h"

#include "ops/convolution_plain.h"
#include "ops/movement.h"
#include "ops/widen.h"

/* Hands out scratch; with base NULL it only counts. */
typedef struct cursor {
    char *base;
    size_t used;
} cursor;

static void *take(cursor *c, int64_t floats)
{
    void *taken = c->base ? c->base + c->used : NULL;
    c->used += hki_scratch_size(floats, sizeof(float));
    return taken;
}

/* True if the tensor's bytes are not those of channels-last. */
static bool is_foreign(const hk_tensor *t)
{
    return t->layout == HKI_PLAIN && t->dims[1] > 1 && hki_shape_count(t->dims, 2, t->rank) > 1;
}

static int64_t count_of(const hk_tensor *t)
{
    return hki_shape_count(t->dims, 0, t->rank);
}

static void reorder(float *to, const float *from, const hk_tensor *t, bool to_channels_last, hki_pool *pool)
{
    int64_t n = t->dims[0], c = t->dims[1], pixels = hki_shape_count(t->dims, 2, t->rank);
    hki_move move = {.to = to, .from = from, .element_size = sizeof(float)};
    hki_move_add(&move, n, c * pixels, c * pixels);
    if (to_channels_last) {
        hki_move_add(&move, pixels, c, 1);
        hki_move_add(&move, c, 1, pixels);
    } else {
        hki_move_add(&move, c, pixels, 1);
        hki_move_add(&move, pixels, 1, c);
    }
    hki_move_run(&move, pool);
}

/* The tensor's elements in channels-last order, in scratch if need be. */
static const float *channels_last(cursor *c, const hk_tensor *t, hki_pool *pool)
{
    if (!is_foreign(t))
        return t->data;
    float *copy = take(c, count_of(t));
    if (copy)
        reorder(copy, t->data, t, true, pool);
    return copy;
}

/* ---- Forward and backward data. ---- */

typedef struct pass_run {
    const hki_convolution_pass *pass;
    hkk_convolution_pass kernel;
    float *packed, *scratch;
    int64_t worker_size;
} pass_run;

static void pack_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const pass_run *r = context;
    const hki_convolution_pass *p = r->pass;
    p->run->k->convolution->pack(r->packed, p->w->data, p->shape, p->direction, block);
}

static void pass_block(void *context, int64_t block, int worker)
{
    const pass_run *r = context;
    r->pass->run->k->convolution->run_block(&r->kernel, block, r->scratch + worker * r->worker_size);
}

static void plan_pass(pass_run *r, const hki_convolution_pass *p)
{
    *r = (pass_run){.pass = p, .kernel = {.shape = p->shape, .direction = p->direction, .weights = p->packed}};
    hkk_convolution_plan(&r->kernel);
    r->worker_size = (r->kernel.scratch + 15) / 16 * 16;
}

size_t hki_convolution_scratch(const hki_convolution_pass *p)
{
    pass_run r;
    cursor c = {0};
    if (p->from->dtype != HK_FLOAT)
        return 0;
    plan_pass(&r, p);
    take(&c, r.worker_size * p->run->threads);
    if (!p->packed)
        take(&c, hkk_convolution_packed_size(p->shape, p->direction));
    if (is_foreign(p->from))
        take(&c, count_of(p->from));
    if (is_foreign(p->to))
        take(&c, count_of(p->to));
    return c.used;
}

void hki_convolution_run(const hki_convolution_pass *p, void *scratch)
{
    pass_run r;
    cursor c = {.base = scratch};
    hki_pool *pool = p->run->pool;
    if (p->from->dtype != HK_FLOAT) {
        hki_convolution_plain(p);
        return;
    }
    plan_pass(&r, p);
    r.scratch = take(&c, r.worker_size * p->run->threads);
    if (!p->packed) {
        r.kernel.weights = r.packed = take(&c, hkk_convolution_packed_size(p->shape, p->direction));
        hki_pool_run(pool, hkk_convolution_pack_blocks(p->shape, p->direction), pack_block, &r);
    }
    r.kernel.from = channels_last(&c, p->from, pool);
    r.kernel.to = is_foreign(p->to) ? take(&c, count_of(p->to)) : p->to->data;
    r.kernel.epilogue.bias_n = p->bias ? p->bias->data : NULL;
    hki_pool_run(pool, r.kernel.blocks, pass_block, &r);
    if (is_foreign(p->to))
        reorder(p->to->data, r.kernel.to, p->to, false, pool);
}

size_t hki_convolution_packed_size(const hkk_convolution *shape, hkk_convolution_direction direction, hk_dtype dtype)
{
    return dtype == HK_FLOAT ? hki_scratch_size(hkk_convolution_packed_size(shape, direction), sizeof(float)) : 0;
}

void hki_convolution_pack(void *to, const hki_run *run, const hkk_convolution *shape,
                          hkk_convolution_direction direction, const void *w)
{
    for (int64_t block = 0; block < hkk_convolution_pack_blocks(shape, direction); block++)
        run->k->convolution->pack(to, w, shape, direction, block);
}

/* ---- Backward weights. ---- */

typedef struct weights_run {
    const hki_run *run;
    hkk_convolution_weights_pass kernel;
    float *scratch;
    int64_t worker_size;
} weights_run;

static void weights_block(void *context, int64_t block, int worker)
{
    const weights_run *r = context;
    r->run->k->convolution->weights_block(&r->kernel, block, r->scratch + worker * r->worker_size);
}

static void finish_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const weights_run *r = context;
    r->run->k->convolution->weights_finish(&r->kernel, block);
}

static void plan_weights(weights_run *r, const hki_convolution_weights *p)
{
    *r = (weights_run){.run = p->run, .kernel = {.shape = p->shape}};
    hkk_convolution_weights_plan(&r->kernel);
    r->worker_size = (r->kernel.scratch + 15) / 16 * 16;
}

size_t hki_convolution_weights_scratch(const hki_convolution_weights *p)
{
    weights_run r;
    cursor c = {0};
    if (p->x->dtype != HK_FLOAT)
        return 0;
    plan_weights(&r, p);
    take(&c, r.worker_size * p->run->threads);
    take(&c, r.kernel.partial_size);
    if (is_foreign(p->x))
        take(&c, count_of(p->x));
    if (is_foreign(p->dy))
        take(&c, count_of(p->dy));
    return c.used;
}

void hki_convolution_weights_run(const hki_convolution_weights *p, void *scratch)
{
    weights_run r;
    cursor c = {.base = scratch};
    hki_pool *pool = p->run->pool;
    if (p->x->dtype != HK_FLOAT) {
        hki_convolution_weights_plain(p);
        return;
    }
    plan_weights(&r, p);
    r.scratch = take(&c, r.worker_size * p->run->threads);
    r.kernel.partial = take(&c, r.kernel.partial_size);
    r.kernel.x = channels_last(&c, p->x, pool);
    r.kernel.dy = channels_last(&c, p->dy, pool);
    r.kernel.dw = p->dw->data;
    hki_pool_run(pool, r.kernel.blocks, weights_block, &r);
    hki_pool_run(pool, r.kernel.finish_blocks, finish_block, &r);
}

hk_status hki_convolution_infer_grad(hki_infer *c, int x, int w, bool transposed)
{
    const hki_type *dy = c->in[0], *from = c->in[x], *weights = c->in[w];
    hki_type_copy(&c->out[0], c->in[2]);
    if (from->rank < 0 || weights->rank < 0 || dy->rank < 0)
        return NULL;
    if (from->rank != weights->rank || from->rank != dy->rank)
        return HK_ERR(HK_INVALID_SHAPE, "dy, x and w have ranks %d, %d and %d; they must agree", dy->rank, from->rank,
                      weights->rank);
    hkk_convolution s;
    HK_TRY(transposed ? hki_convolution_read_transposed(&s, c->node, from->rank, from->dims, weights->dims)
                      : hki_convolution_read(&s, c->node, from->rank, from->dims, weights->dims));
    int64_t merged;
    HK_TRY_CTX(hki_dim_merge(&merged, dy->dims[0], from->dims[0]), "batch of dy and x");
    HK_TRY_CTX(hki_dim_merge(&merged, dy->dims[1], transposed ? s.C : weights->dims[0]), "channels of dy");
    for (int d = 2; d < dy->rank; d++) {
        int axis = 3 - (dy->rank - 2) + d - 2;
        HK_TRY_CTX(hki_dim_merge(&merged, dy->dims[d], transposed ? s.in[axis] : s.out[axis]), "dimension %d of dy", d);
    }
    return NULL;
}
