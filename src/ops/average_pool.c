/* AveragePool, GlobalAveragePool, their gradients, and what is built of them: LpPool (through halka.SumPool),
 * GlobalLpPool and LRN. */
#include <math.h>
#include <string.h>

#include "ops/class_labels.h"
#include "ops/movement.h"
#include "ops/pool_visitors.h"
#include "ops/reduction.h"
#include "ops/widen.h"

/* ---- AveragePool and SumPool: one differs from the other only by the division. ---- */

extern const hki_op hki_op_sum_pool, hki_op_sum_pool_grad;

static hk_status read_pooling(hki_pooling *p, const hki_run *r, const hk_tensor *x)
{
    HK_TRY(hki_pooling_read(p, r->node, x->rank, x->dims));
    p->divides = r->node->op != &hki_op_sum_pool && r->node->op != &hki_op_sum_pool_grad;
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    return hki_pooling_infer(&c->out[0], c->node, c->in[0]);
}

static hk_status run_any(hki_run *r)
{
    hki_pooling p;
    HK_TRY(read_pooling(&p, r, r->in[0]));
    return hki_pool_run_kind(HKI_POOL_SUM, &p, r, r->in[0], r->out[0], NULL);
}

static hk_status run(hki_run *r)
{
    return hki_run_float(r, run_any);
}

/* The last input has the dims of x, forward and backward. */
static size_t scratch_any(const hki_run *r)
{
    hki_pooling p;
    hk_status status = read_pooling(&p, r, r->in[r->input_count - 1]);
    if (status) { /* infer has refused it before */
        hk_status_free(status);
        return 0;
    }
    return hki_pool_scratch(&p, r->threads);
}

static size_t scratch(const hki_run *r)
{
    return hki_float_scratch(r, scratch_any);
}

static double flops(const hki_run *r)
{
    int64_t count = 0, window = 1;
    const int64_t *kernel = hki_attribute_ints(r->node, "kernel_shape", &count);
    for (int64_t i = 0; i < count; i++)
        window *= kernel[i];
    return (double)window * (double)hki_shape_count(r->out[0]->dims, 0, r->out[0]->rank);
}

static hk_status grad(hki_grad *g)
{
    const char *op = g->node->op == &hki_op_sum_pool ? "halka.SumPoolGrad" : "halka.AveragePoolGrad";
    g->dx[0] = hk_graph_apply(g->graph, op, HK_VALUES(g->dy[0], g->x[0]), g->node->attribute_count,
                              g->node->attributes);
    return NULL;
}

static hk_status grad_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

static hk_status grad_any(hki_run *r)
{
    hki_pooling p;
    HK_TRY(read_pooling(&p, r, r->in[1]));
    return hki_pool_run_kind(HKI_POOL_SUM_GRAD, &p, r, r->out[0], r->in[0], NULL);
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

/* The gradient is linear in dy, and its transpose is the pooling itself. */
static hk_status grad_grad(hki_grad *g)
{
    const char *op = g->node->op == &hki_op_sum_pool_grad ? "halka.SumPool" : "AveragePool";
    g->dx[0] = hk_graph_apply(g->graph, op, HK_VALUES(g->dy[0]), g->node->attribute_count, g->node->attributes);
    return NULL;
}

#define POOL_ATTRIBUTES                                                                                             \
    {"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false}, {"ceil_mode", HK_ATTRIBUTE_INT, {.i = 0}, false},     \
        {"count_include_pad", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"dilations", HK_ATTRIBUTE_INTS, {0}, false},      \
        {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, true}, {"pads", HK_ATTRIBUTE_INTS, {0}, false},                     \
        {"strides", HK_ATTRIBUTE_INTS, {0}, false}

static const hki_case cases[] = {
    {"f[2,3,6]", "kernel_shape=[2] strides=[2]"},
    {"f[1,1,5,4]", "kernel_shape=[3,2] pads=[1,0,1,1]"},
    {"f[1,1,5,4]", "kernel_shape=[3,2] pads=[1,0,1,1] count_include_pad=1"},
    {"f[2,20,6,5]", "kernel_shape=[2,2] strides=[2,2]"},
    {"f[1,2,7,7]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] ceil_mode=1"},
    {"f[1,2,6,6]", "kernel_shape=[3,3] strides=[2,2] pads=[0,0,1,1] ceil_mode=1 count_include_pad=1"},
    {"f[1,2,7,8]", "kernel_shape=[2,2] dilations=[2,3] strides=[1,2]"},
    {"f[1,2,5,6]", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER"},
    {"f[1,2,5,6]", "kernel_shape=[2,3] auto_pad=SAME_LOWER"},
    {"f[1,2,3,4,5]", "kernel_shape=[2,2,2] strides=[1,2,2]"},
    {"f[0,2,4,4]", "kernel_shape=[2,2]"},
    {NULL, NULL},
};
static const hki_case grad_cases[] = {
    {"f[2,3,3] f[2,3,6]!", "kernel_shape=[2] strides=[2]"},
    {"f[1,1,5,4] f[1,1,5,4]!", "kernel_shape=[3,2] pads=[1,0,1,1]"},
    {NULL, NULL},
};

#define POOL_OP(id, pool_name, pool_domain, formula, rows)                \
    const hki_op hki_op_##id = {                                          \
        .name = pool_name,                                                \
        .domain = pool_domain,                                            \
        .doc = formula,                                                   \
        .inputs = {{"X", "T", HKI_FLOATS, 0}},                            \
        .outputs = {{"Y", "T", HKI_FLOATS, 0}},                           \
        .attributes = {POOL_ATTRIBUTES},                                  \
        .versions = rows,                                                 \
        .layout = HKI_LAYOUT_CHANNELS_LAST,                               \
        .channels_last_in = 1,                                            \
        .channels_last_out = 1,                                           \
        .infer = infer,                                                   \
        .run = run,                                                       \
        .scratch = scratch,                                               \
        .grad = grad,                                                     \
        .flops = flops,                                                   \
        .cases = cases,                                                   \
    };

#define AVERAGE_VERSIONS {{1, NULL}, {7, NULL}, {10, NULL}, {11, NULL}, {19, NULL}, {22, NULL}}
#define NO_VERSIONS {{0, NULL}}
POOL_OP(average_pool, "AveragePool", "", "mean of each window over the spatial dims", AVERAGE_VERSIONS)
POOL_OP(sum_pool, "SumPool", "halka", "sum of each window over the spatial dims", NO_VERSIONS)

#define POOL_GRAD_OP(id, pool_name, formula)                                                  \
    const hki_op hki_op_##id = {                                                              \
        .name = pool_name,                                                                    \
        .domain = "halka",                                                                    \
        .doc = formula,                                                                       \
        .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},       \
        .outputs = {{"dx", "T", HKI_FLOATS, 0}},                                              \
        .attributes = {POOL_ATTRIBUTES},                                                      \
        .layout = HKI_LAYOUT_CHANNELS_LAST,                                                   \
        .channels_last_in = 1,                                                                \
        .channels_last_out = 1,                                                               \
        .infer = grad_infer,                                                                  \
        .run = grad_run,                                                                      \
        .scratch = scratch,                                                                   \
        .grad = grad_grad,                                                                    \
        .cases = grad_cases,                                                                  \
    };

POOL_GRAD_OP(average_pool_grad, "AveragePoolGrad", "dx = sum over the windows of an element of dy / their size")
POOL_GRAD_OP(sum_pool_grad, "SumPoolGrad", "dx = sum over the windows of an element of dy")

/* ---- GlobalAveragePool. ---- */

static hk_status global_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    if (x->rank < 0)
        return NULL;
    if (x->rank < 3)
        return HK_ERR(HK_INVALID_SHAPE, "pooling needs an input (N, C, spatial...), found rank %d", x->rank);
    c->out[0].rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        c->out[0].dims[i] = i < 2 ? x->dims[i] : 1;
    return NULL;
}

static void plan_global(hki_reduction *plan, const hk_tensor *x)
{
    static const bool spatial[HK_MAX_RANK] = {false, false, true, true, true, true, true, true};
    hki_reduction_plan(plan, HKK_SUM, x, spatial);
}

static hk_status global_any(hki_run *r)
{
    hki_reduction plan;
    plan_global(&plan, r->in[0]);
    hki_reduction_run(&plan, r->out[0]->data, r->in[0]->data, r->in[0]->dtype, r->scratch, r->pool, r->k);
    if (r->in[0]->dtype == HK_FLOAT)
        r->k->reduce->divide(r->out[0]->data, plan.result_count, (float)plan.count);
    else
        for (int64_t i = 0; i < plan.result_count; i++)
            ((double *)r->out[0]->data)[i] /= (double)plan.count;
    return NULL;
}

static hk_status global_run(hki_run *r)
{
    return hki_run_float(r, global_any);
}

static size_t global_scratch_any(const hki_run *r)
{
    hki_reduction plan;
    plan_global(&plan, r->in[0]);
    return hki_scratch_size(plan.scratch_count, hk_dtype_size(r->in[0]->dtype));
}

static size_t global_scratch(const hki_run *r)
{
    return hki_float_scratch(r, global_scratch_any);
}

static hk_status global_grad(hki_grad *g)
{
    g->dx[0] = hki_binary(g->graph, "halka.GlobalAveragePoolGrad", g->dy[0], g->x[0]);
    return NULL;
}

/* The gradient's work: for each sample the row of dy / pixels, repeated over all pixels. */
typedef struct spread {
    hk_tensor *dx;
    const hk_tensor *dy;
    int64_t pixels;
} spread;

static void spread_sample(void *context, int64_t sample, int worker)
{
    (void)worker;
    const spread *s = context;
    int64_t channels = s->dx->dims[1], pixels = s->pixels, first = sample * channels * pixels;
    bool plain = s->dx->layout == HKI_PLAIN;
    size_t size = hk_dtype_size(s->dx->dtype);
    for (int64_t c = 0; c < channels && pixels; c++) {
        int64_t at = first + (plain ? c * pixels : c);
        hki_real_set(s->dx, at, hki_real_at(s->dy, sample * channels + c) / (double)pixels);
        for (int64_t i = 1; i < pixels && plain; i++)
            memcpy((char *)s->dx->data + (size_t)(at + i) * size, (char *)s->dx->data + (size_t)at * size, size);
    }
    char *row = (char *)s->dx->data + (size_t)first * size;
    for (int64_t i = 1; i < pixels && !plain; i++)
        memcpy(row + (size_t)(i * channels) * size, row, (size_t)channels * size);
}

static hk_status global_grad_any(hki_run *r)
{
    hk_tensor *dx = r->out[0];
    spread s = {dx, r->in[0], hki_shape_count(dx->dims, 2, dx->rank)};
    hki_pool_run(r->pool, dx->dims[0], spread_sample, &s);
    return NULL;
}

static hk_status global_grad_run(hki_run *r)
{
    return hki_run_float(r, global_grad_any);
}

static size_t global_grad_scratch(const hki_run *r)
{
    return hki_float_scratch(r, NULL);
}

static hk_status global_grad_grad(hki_grad *g)
{
    g->dx[0] = hki_unary(g->graph, "GlobalAveragePool", g->dy[0]);
    return NULL;
}

static const hki_case global_cases[] = {
    {"f[2,3,4]", NULL},     {"f[2,17,3,4]", NULL},  {"f[1,1,2,2,3]", NULL},
    {"f[2,3,1,1]", NULL}, {"f[0,3,2,2]", NULL}, {NULL, NULL},
};

const hki_op hki_op_global_average_pool_grad = {
    .name = "GlobalAveragePoolGrad",
    .domain = "halka",
    .doc = "dx = dy / number of pixels",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = grad_infer,
    .run = global_grad_run,
    .scratch = global_grad_scratch,
    .grad = global_grad_grad,
};

const hki_op hki_op_global_average_pool = {
    .name = "GlobalAveragePool",
    .doc = "mean over the spatial dims",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .versions = {{1, NULL}, {22, NULL}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = global_infer,
    .run = global_run,
    .scratch = global_scratch,
    .grad = global_grad,
    .cases = global_cases,
};
