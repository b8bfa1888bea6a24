/* SumToShape: sums a gradient over the dims along which an operand was broadcast. */
#include <string.h>

#include "ops/reduction.h"
#include "ops/widen.h"

static hk_status infer(hki_infer *c)
{
    hk_dtype dtype = c->in[0]->dtype;
    hki_type both = {.rank = -1};
    HK_TRY(hki_infer_broadcast(&both, c->in[0], c->in[1]));
    if (both.rank >= 0 && c->in[0]->rank < both.rank)
        return HK_ERR(HK_INVALID_SHAPE, "rank %d cannot be summed to rank %d", c->in[0]->rank, c->in[1]->rank);
    hki_type_copy(&c->out[0], c->in[1]);
    c->out[0].dtype = dtype;
    return NULL;
}

/* dx with as many dims as dy. */
static hk_tensor aligned(const hki_run *r)
{
    hk_tensor t = *r->out[0];
    int missing = r->in[0]->rank - t.rank;
    for (int i = r->in[0]->rank - 1; i >= 0; i--)
        t.dims[i] = i < missing ? 1 : t.dims[i - missing];
    t.rank = r->in[0]->rank;
    return t;
}

/* Plans the sum. True if its result, whose dims lie in the order of dy, then has to be reordered. */
static bool plan_sum(hki_reduction *out, const hki_run *r)
{
    const hk_tensor *dy = r->in[0];
    hk_tensor dx = aligned(r);
    bool reduced[HK_MAX_RANK];
    for (int i = 0; i < dy->rank; i++)
        reduced[i] = dx.dims[i] == 1 && dy->dims[i] != 1;
    hki_reduction_plan(out, HKK_SUM, dy, reduced);
    bool from = dy->rank >= 3 && dy->layout == HKI_CHANNELS_LAST;
    bool to = r->out[0]->rank >= 3 && r->out[0]->layout == HKI_CHANNELS_LAST;
    if (from && to)
        return dy->rank != r->out[0]->rank;
    return to || (from && dx.dims[1] > 1 && hki_shape_count(dx.dims, 2, dx.rank) > 1);
}

/* Room for the stages of the sum, and for its result in the order of dy and in plain order. */
static size_t sum_scratch(const hki_run *r)
{
    hki_reduction plan;
    bool reorder = plan_sum(&plan, r);
    size_t size = hk_dtype_size(r->out[0]->dtype);
    return hki_scratch_size(plan.scratch_count, size) + (reorder ? 2 * hki_scratch_size(plan.result_count, size) : 0);
}

static hk_status sum(hki_run *r)
{
    hki_reduction plan;
    hk_dtype dtype = r->out[0]->dtype;
    size_t size = hk_dtype_size(dtype);
    if (!plan_sum(&plan, r)) {
        hki_reduction_run(&plan, r->out[0]->data, r->in[0]->data, dtype, r->scratch, r->pool, r->k);
        return NULL;
    }
    hk_tensor from = aligned(r), plain = from;
    from.layout = r->in[0]->layout;
    from.data = (char *)r->scratch + hki_scratch_size(plan.scratch_count, size);
    plain.layout = HKI_PLAIN;
    plain.data = (char *)from.data + hki_scratch_size(plan.result_count, size);
    hki_reduction_run(&plan, from.data, r->in[0]->data, dtype, r->scratch, r->pool, r->k);
    hki_tensor_copy_elements(&plain, &from);
    plain.rank = r->out[0]->rank; /* leading dims of 1 fall away */
    memcpy(plain.dims, r->out[0]->dims, sizeof plain.dims);
    hki_tensor_copy_elements(r->out[0], &plain);
    return NULL;
}

static size_t scratch(const hki_run *r)
{
    return hki_float_scratch(r, sum_scratch);
}

static hk_status run(hki_run *r)
{
    return hki_run_float(r, sum);
}

/* Spread back over the dims. */
static hk_status grad(hki_grad *g)
{
    if (g->need[0])
        g->dx[0] = hki_binary(g->graph, "Expand", g->dy[0], hki_unary(g->graph, "Shape", g->x[0]));
    return NULL;
}

static const hki_case cases[] = {
    {"f[2,3,4] f[3,1]!", NULL},
    {"f[2,3,2,2] f[3,1,1]!", NULL},
    {"f[2,3,2,2] f[3,2,2]!", NULL},
    {"f[2,3,2,2] f[1,3,2,2]!", NULL},
    {"f[2,3,2,2] f[2,1,1,2]!", NULL},
    {"f[4,50] f[]!", NULL},
    {"f[40,5] f[5]!", NULL},
    {"f[3] f[3]!", NULL},
    {"f[0,3] f[3]!", NULL},
    {"f[2,0] f[1]!", NULL},
    {"f[] f[]!", NULL},
    {NULL, NULL},
};

const hki_op hki_op_sum_to_shape = {
    .name = "SumToShape",
    .domain = "halka",
    .doc = "dx = dy summed over the dims along which x was broadcast: the gradient of broadcasting",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T1", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .flags = HKI_OP_SAME_IF_EQUAL,
    .layout = HKI_LAYOUT_SAME,
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .cases = cases,
};
