/* SumToShape: sums a gradient over the dims along which an operand was broadcast. */
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

/* Always on plain tensors: the order of the sum must not depend on a layout. */
static void plan_sum(hki_reduction *out, const hki_run *r)
{
    const hk_tensor *dy = r->in[0], *dx = r->out[0];
    int missing = dy->rank - dx->rank;
    bool reduced[HK_MAX_RANK];
    for (int i = 0; i < dy->rank; i++)
        reduced[i] = dy->dims[i] != 1 && (i < missing || dx->dims[i - missing] == 1);
    hki_reduction_plan(out, HKK_SUM, dy, reduced);
}

static size_t sum_scratch(const hki_run *r)
{
    hki_reduction plan;
    plan_sum(&plan, r);
    return hki_scratch_size(plan.scratch_count, hk_dtype_size(r->out[0]->dtype));
}

static hk_status sum(hki_run *r)
{
    hki_reduction plan;
    plan_sum(&plan, r);
    hki_reduction_run(&plan, r->out[0]->data, r->in[0]->data, r->out[0]->dtype, r->scratch, r->pool, r->k);
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
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .cases = cases,
};
