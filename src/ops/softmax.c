/* Softmax, LogSoftmax and Hardmax along an axis, and the gradients of the first two. Opsets before 13 worked on the
 * input flattened to a matrix: the upgrade builds just that. */
#include <math.h>
#include <string.h>

#include "ops/shapes.h"
#include "ops/widen.h"

typedef enum softmax_kind { SOFTMAX, LOG_SOFTMAX, HARDMAX } softmax_kind;

/* The tensor as [outer, n, inner] around the axis; all inputs and outputs have its shape. */
typedef struct softmax_work {
    const hki_run *run;
    softmax_kind kind;
    int64_t outer, n, inner;
    int64_t items, items_per_block; /* rows, or strips of columns */
    int64_t strips;
} softmax_work;

#define STRIP 256 /* columns */
#define BLOCK 16384 /* elements per block, about */

static hk_status infer(hki_infer *c)
{
    int axis;
    hki_type_copy(&c->out[0], c->in[0]);
    if (c->in[0]->rank <= 0) /* a scalar is one row of one element */
        return NULL;
    return hki_axis(&axis, hki_attribute_int(c->node, "axis"), c->in[0]->rank);
}

/* ---- float64. ---- */

static void row_double(double *y, const double *x, softmax_kind kind, int64_t n, int64_t stride)
{
    double max = -INFINITY, sum = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i * stride] > max || (i == 0 && isnan(x[0]))) {
            max = x[i * stride];
            first = i;
        }
    for (int64_t i = 0; i < n && kind != HARDMAX; i++)
        sum += exp(x[i * stride] - max);
    for (int64_t i = 0; i < n; i++) {
        double shifted = x[i * stride] - max;
        y[i * stride] = kind == SOFTMAX ? exp(shifted) / sum : kind == LOG_SOFTMAX ? shifted - log(sum) : i == first;
    }
}

static void grad_row_double(double *dx, const double *dy, const double *y, softmax_kind kind, int64_t n, int64_t stride)
{
    double sum = 0;
    for (int64_t i = 0; i < n * stride; i += stride)
        sum += kind == SOFTMAX ? dy[i] * y[i] : dy[i];
    for (int64_t i = 0; i < n * stride; i += stride)
        dx[i] = kind == SOFTMAX ? y[i] * (dy[i] - sum) : dy[i] - exp(y[i]) * sum;
}

/* The first of the largest gets 1. */
static void hardmax_float(float *y, const float *x, int64_t n, int64_t stride)
{
    int64_t first = 0;
    for (int64_t i = 0; i < n; i++) {
        y[i * stride] = 0;
        if (x[i * stride] > x[first * stride])
            first = i;
    }
    if (n)
        y[first * stride] = 1;
}

/* ---- Blocks. ---- */

static void double_block(const softmax_work *s, int64_t at, int64_t columns)
{
    bool is_grad = s->run->input_count == 2;
    for (int64_t j = 0; j < columns; j++) {
        const double *a = (const double *)s->run->in[0]->data + at + j;
        double *out = (double *)s->run->out[0]->data + at + j;
        if (is_grad)
            grad_row_double(out, a, (const double *)s->run->in[1]->data + at + j, s->kind, s->n, s->inner);
        else
            row_double(out, a, s->kind, s->n, s->inner);
    }
}

/* One row group (inner = 1) or one strip of columns, starting at element `at`. */
static void float_block(const softmax_work *s, int64_t at, int64_t rows, int64_t columns)
{
    const hkk_softmax_kernels *k = s->run->k->softmax;
    const float *a = (const float *)s->run->in[0]->data + at;
    const float *y = s->run->input_count == 2 ? (const float *)s->run->in[1]->data + at : NULL;
    float *out = (float *)s->run->out[0]->data + at;
    if (s->kind == HARDMAX) {
        for (int64_t i = 0; i < (s->inner == 1 ? rows : columns); i++) {
            int64_t offset = s->inner == 1 ? i * s->n : i;
            hardmax_float(out + offset, a + offset, s->n, s->inner);
        }
    } else if (s->inner == 1) {
        if (y)
            (s->kind == SOFTMAX ? k->softmax_grad_rows : k->log_softmax_grad_rows)(out, a, y, rows, s->n);
        else
            (s->kind == SOFTMAX ? k->softmax_rows : k->log_softmax_rows)(out, a, rows, s->n);
    } else if (y) {
        (s->kind == SOFTMAX ? k->softmax_grad_columns : k->log_softmax_grad_columns)(out, a, y, s->n, s->inner,
                                                                                     columns);
    } else {
        (s->kind == SOFTMAX ? k->softmax_columns : k->log_softmax_columns)(out, a, s->n, s->inner, columns);
    }
}

static void block(void *context, int64_t index, int worker)
{
    (void)worker;
    const softmax_work *s = context;
    int64_t first = index * s->items_per_block, end = first + s->items_per_block;
    end = end < s->items ? end : s->items;
    bool is_float = s->run->in[0]->dtype == HK_FLOAT;
    if (s->inner == 1 && is_float) {
        float_block(s, first * s->n, end - first, 1);
        return;
    }
    for (int64_t i = first; i < end; i++) {
        int64_t column = i % s->strips * STRIP, at = i / s->strips * s->n * s->inner + column;
        int64_t columns = s->inner - column < STRIP ? s->inner - column : STRIP;
        if (is_float)
            float_block(s, at, 1, columns);
        else
            double_block(s, at, columns);
    }
}

static hk_status run_blocks(hki_run *r, softmax_kind kind)
{
    const hk_tensor *x = r->in[0];
    softmax_work s = {.run = r, .kind = kind, .outer = 1, .n = 1, .inner = 1};
    if (x->rank) {
        int axis;
        HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
        s.outer = hki_shape_count(x->dims, 0, axis);
        s.n = x->dims[axis];
        s.inner = hki_shape_count(x->dims, axis + 1, x->rank);
    }
    if (!s.outer || !s.n || !s.inner)
        return NULL;
    s.strips = (s.inner + STRIP - 1) / STRIP;
    s.items = s.outer * s.strips;
    int64_t item = s.n * (s.inner < STRIP ? s.inner : STRIP);
    s.items_per_block = item < BLOCK ? BLOCK / item : 1;
    hki_pool_run(r->pool, (s.items + s.items_per_block - 1) / s.items_per_block, block, &s);
    return NULL;
}

#define SOFTMAX_RUN(name, kind)                \
    static hk_status name##_any(hki_run *r)    \
    {                                          \
        return run_blocks(r, kind);            \
    }                                          \
    static hk_status name##_run(hki_run *r)    \
    {                                          \
        return hki_run_float(r, name##_any);   \
    }
SOFTMAX_RUN(softmax, SOFTMAX)
SOFTMAX_RUN(log_softmax, LOG_SOFTMAX)
SOFTMAX_RUN(hardmax, HARDMAX)

static size_t scratch(const hki_run *r)
{
    return hki_float_scratch(r, NULL);
}

static double flops(const hki_run *r)
{
    return 12.0 * (double)hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
}

/* ---- Gradients. ---- */

static hk_value *private_grad(hki_grad *g, const char *op)
{
    hk_attribute axis[] = {HK_INT("axis", hki_attribute_int(g->node, "axis"))};
    return hk_graph_apply(g->graph, op, HK_VALUES(g->dy[0], g->y[0]), 1, axis);
}

static hk_status softmax_grad(hki_grad *g)
{
    g->dx[0] = private_grad(g, "halka.SoftmaxGrad");
    return NULL;
}

static hk_status log_softmax_grad(hki_grad *g)
{
    g->dx[0] = private_grad(g, "halka.LogSoftmaxGrad");
    return NULL;
}

/* A step function: the gradient is zero wherever there is one. */
static hk_status hardmax_grad(hki_grad *g)
{
    (void)g;
    return NULL;
}

static hk_value *sum_keeping(hk_graph *graph, hk_value *v, int64_t axis)
{
    hk_attribute keep[] = {HK_INT("keepdims", 1)};
    return hk_graph_apply(graph, "ReduceSum", HK_VALUES(v, hki_ints_constant(graph, 1, &axis)), 1, keep);
}

/* z = y (dy - s), s = sum(dy y): for a gradient dz, d(dy) = y (dz - sum(dz y)) and d(y) = dz (dy - s) - dy sum(dz y).
 */
static hk_status softmax_grad_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *dy = g->x[0], *y = g->x[1], *dz = g->dy[0];
    int64_t axis = hki_attribute_int(g->node, "axis");
    hk_value *back = sum_keeping(graph, hki_binary(graph, "Mul", dz, y), axis);
    g->dx[0] = hki_binary(graph, "Mul", y, hki_binary(graph, "Sub", dz, back));
    hk_value *s = sum_keeping(graph, hki_binary(graph, "Mul", dy, y), axis);
    hk_value *direct = hki_binary(graph, "Mul", dz, hki_binary(graph, "Sub", dy, s));
    g->dx[1] = hki_binary(graph, "Sub", direct, hki_binary(graph, "Mul", dy, back));
    return NULL;
}

/* z = dy - p s, p = e^y, s = sum(dy): d(dy) = dz - sum(dz p), d(y) = -dz p s. */
static hk_status log_softmax_grad_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *dy = g->x[0], *p = hki_unary(graph, "Exp", g->x[1]), *dz = g->dy[0];
    int64_t axis = hki_attribute_int(g->node, "axis");
    hk_value *weighted = hki_binary(graph, "Mul", dz, p);
    g->dx[0] = hki_binary(graph, "Sub", dz, sum_keeping(graph, weighted, axis));
    g->dx[1] = hki_unary(graph, "Neg", hki_binary(graph, "Mul", weighted, sum_keeping(graph, dy, axis)));
    return NULL;
}

/* ---- Older opsets. ---- */

/* Softmax of the matrix [dims before axis, dims from axis on]: Flatten, Softmax, Reshape back. Where the axis is the
 * last one this is the present meaning. */
static hk_status flatten_semantics(hki_draft *draft)
{
    hk_graph *g = draft->graph;
    const hk_attribute *a = hki_draft_attribute(draft, "axis");
    int64_t axis = a ? a->as.i : 1;
    hk_value *x = draft->inputs[0];
    if (x && x->type.rank > 0 && (axis == -1 || axis == x->type.rank - 1)) {
        hk_attribute same = HK_INT("axis", axis);
        return hki_draft_set_attribute(draft, &same);
    }
    hk_attribute flatten[] = {HK_INT("axis", axis)}, rows[] = {HK_INT("axis", -1)};
    hk_value *matrix = hk_graph_apply(g, "Flatten", 1, &x, 1, flatten);
    hk_value *y = hk_graph_apply(g, draft->op, 1, &matrix, 1, rows);
    hk_value *shape = hki_shape_value(g, x);
    HK_TRY(hki_draft_set_input(draft, 0, y));
    HK_TRY(hki_draft_set_input(draft, 1, shape));
    draft->attribute_count = 0;
    draft->op = "Reshape";
    return hk_graph_status(g);
}

static const hki_case cases[] = {
    {"f[2,5]", NULL},  {"f[2,3,4]", "axis=0"}, {"f[2,3,4]", "axis=1"}, {"f[2,3,4]", "axis=-2"}, {"f[3,1]", NULL},
    {"f[0,4]", NULL},  {"f[2,0]", NULL},       {"f[1,17]", NULL},      {"f[2,3,20]", "axis=1"}, {NULL, NULL},
};
static const hki_case hardmax_cases[] = {
    {"f[2,5]{distinct}", NULL}, {"f[2,3,4]{distinct}", "axis=0"}, {"f[0,4]", NULL}, {"f[2,0]", NULL}, {NULL, NULL},
};
static const hki_case grad_cases[] = {
    {"f[2,5] f[2,5]", NULL}, {"f[2,3,4] f[2,3,4]", "axis=1"}, {"f[3,0] f[3,0]", NULL}, {NULL, NULL},
};

#define SOFTMAX_OP(id, onnx_name, formula, gradient, op_cases)                               \
    const hki_op hki_op_##id = {                                                             \
        .name = onnx_name,                                                                   \
        .doc = formula,                                                                      \
        .inputs = {{"input", "T", HKI_FLOATS, 0}},                                           \
        .outputs = {{"output", "T", HKI_FLOATS, 0}},                                         \
        .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = -1}, false}},                        \
        .versions = {{1, flatten_semantics}, {11, flatten_semantics}, {13, NULL}},           \
        .infer = infer,                                                                      \
        .run = id##_run,                                                                     \
        .scratch = scratch,                                                                  \
        .grad = gradient,                                                                    \
        .flops = flops,                                                                      \
        .cases = op_cases,                                                                   \
    };

SOFTMAX_OP(softmax, "Softmax", "y = e^x / sum(e^x) along axis", softmax_grad, cases)
SOFTMAX_OP(log_softmax, "LogSoftmax", "y = x - log(sum(e^x)) along axis", log_softmax_grad, cases)
SOFTMAX_OP(hardmax, "Hardmax", "1 for the first largest element along axis, 0 for the others", hardmax_grad,
           hardmax_cases)

#define SOFTMAX_GRAD_OP(id, halka_name, formula, forward, gradient)                  \
    const hki_op hki_op_##id = {                                                     \
        .name = halka_name,                                                          \
        .domain = "halka",                                                           \
        .doc = formula,                                                              \
        .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"y", "T", HKI_FLOATS, 0}},           \
        .outputs = {{"dx", "T", HKI_FLOATS, 0}},                                     \
        .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = -1}, false}},                \
        .infer = infer,                                                              \
        .run = forward##_run,                                                        \
        .scratch = scratch,                                                          \
        .grad = gradient,                                                            \
        .cases = grad_cases,                                                         \
    };

SOFTMAX_GRAD_OP(softmax_grad, "SoftmaxGrad", "dx = y (dy - sum(dy y))", softmax, softmax_grad_grad)
SOFTMAX_GRAD_OP(log_softmax_grad, "LogSoftmaxGrad", "dx = dy - e^y sum(dy)", log_softmax, log_softmax_grad_grad)
