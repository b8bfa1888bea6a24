/* ReduceSum, -Mean, -Max, -Min, -Prod, -L1, -L2, -LogSum, -LogSumExp, -SumSquare: one kernel reduction and a last step
 * each. The engine and the order of sums: ops/reduction.h. */
#include <math.h>

#include "ops/reduction.h"
#include "ops/shapes.h"
#include "ops/widen.h"

typedef enum finish { FINISH_NONE, FINISH_MEAN, FINISH_SQRT, FINISH_LOG } finish;

/* ---- Shapes. ---- */

/* The axes that are reduced, from the values of the axes input (count 0: none given). */
static hk_status mark_axes(bool *reduced, const hk_node *node, int rank, int64_t *axes, int count)
{
    bool all = !count && !hki_attribute_int(node, "noop_with_empty_axes");
    for (int i = 0; i < HK_MAX_RANK; i++)
        reduced[i] = all;
    HK_TRY(hki_axes_normalise(axes, count, rank));
    for (int i = 0; i < count; i++)
        reduced[axes[i]] = true;
    return NULL;
}

/* The axes are not known: with keepdims the rank is, else it is if their number is. */
static hk_status infer_unknown_axes(hki_infer *c, bool keep)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    int count = 0;
    if (!keep) {
        HK_TRY(hki_numbers_count(&count, c->in[1], "axes"));
        if (count <= 0)
            return NULL;
        if (count > x->rank)
            return HK_ERR(HK_INVALID_SHAPE, "%d axes for an input of rank %d", count, x->rank);
    }
    y->rank = x->rank - count;
    for (int i = 0; i < y->rank; i++)
        y->dims[i] = HKI_DIM_UNKNOWN;
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    int64_t axes[HK_MAX_RANK];
    int count = 0;
    bool reduced[HK_MAX_RANK], keep = hki_attribute_int(c->node, "keepdims") != 0;
    if (x->rank < 0)
        return NULL;
    if (hki_infer_has(c, 1))
        HK_TRY(hki_infer_ints(axes, &count, c, 1));
    if (count < 0)
        return infer_unknown_axes(c, keep);
    HK_TRY(mark_axes(reduced, c->node, x->rank, axes, count));
    y->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!reduced[i] || keep)
            y->dims[y->rank++] = reduced[i] ? 1 : x->dims[i];
    return NULL;
}

/* ---- Running. ---- */

static hk_status plan_node(hki_reduction *plan, const hki_run *r, hkk_reduction op, bool *reduced)
{
    int64_t axes[HKI_SHAPE_NUMBERS];
    int count = 0;
    if (r->input_count > 1 && r->in[1])
        HK_TRY(hki_numbers_read(axes, &count, r->in[1], "axes"));
    HK_TRY(mark_axes(reduced, r->node, r->in[0]->rank, axes, count));
    hki_reduction_plan(plan, op, r->in[0], reduced);
    return NULL;
}

static void finish_double(double *y, int64_t n, finish last, double count)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = last == FINISH_MEAN ? y[i] / count : last == FINISH_SQRT ? sqrt(y[i]) : log(y[i]);
}

static void finish_results(const hki_run *r, void *y, hk_dtype dtype, int64_t n, finish last, int64_t count)
{
    if (last == FINISH_NONE)
        return;
    if (dtype == HK_DOUBLE) {
        finish_double(y, n, last, (double)count);
    } else if (dtype == HK_INT64) {
        for (int64_t i = 0; i < n && count; i++)
            ((int64_t *)y)[i] /= count;
    } else if (dtype == HK_UINT64) {
        for (int64_t i = 0; i < n && count; i++)
            ((uint64_t *)y)[i] /= (uint64_t)count;
    } else if (last == FINISH_MEAN) {
        r->k->reduce->divide(y, n, (float)count);
    } else if (last == FINISH_SQRT) {
        r->k->reduce->sqrt(y, n);
    } else {
        r->k->vector_math->log(y, y, n);
    }
}

/* The type in which a reduction is done; integers under a root or logarithm are done as float64. */
static hk_dtype type_of_work(hk_dtype dtype, hkk_reduction op, finish last)
{
    if (dtype == HK_FLOAT || dtype == HK_FLOAT16 || dtype == HK_BFLOAT16)
        return HK_FLOAT;
    if (dtype == HK_DOUBLE || last == FINISH_SQRT || last == FINISH_LOG || op == HKK_LOG_SUM_EXP)
        return HK_DOUBLE;
    return dtype == HK_UINT64 ? HK_UINT64 : HK_INT64;
}

static hk_status reduce(hki_run *r, hkk_reduction op, finish last)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    hki_reduction plan;
    bool reduced[HK_MAX_RANK];
    HK_TRY(plan_node(&plan, r, op, reduced));
    if (plan.result_count != hki_shape_count(y->dims, 0, y->rank))
        return HK_ERR(HK_INVALID_SHAPE, "the axes have changed since the shapes were inferred");
    hki_reduction_run(&plan, y->data, x->data, x->dtype, r->scratch, r->pool, r->k);
    finish_results(r, y->data, x->dtype, plan.result_count, last, plan.count);
    return NULL;
}

/* An upper bound for every choice of axes, since their values may not be looked at here: each stage leaves at most half
 * of the elements, or, where an axis is empty, of what there would be without it. */
static size_t reduce_scratch(const hki_run *r)
{
    const hk_tensor *x = r->in[0];
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++)
        count *= x->dims[i] ? x->dims[i] : 1;
    return hki_scratch_size(count + 64, hk_dtype_size(x->dtype));
}

static hk_status run_as(hki_run *r, hkk_reduction op, finish last, hki_run_fn *run)
{
    hk_dtype work = type_of_work(r->in[0]->dtype, op, last);
    return r->in[0]->dtype == work ? reduce(r, op, last) : hki_run_widened(r, work, run);
}

static size_t scratch_as(const hki_run *r, hkk_reduction op, finish last)
{
    hk_dtype work = type_of_work(r->in[0]->dtype, op, last);
    return r->in[0]->dtype == work ? reduce_scratch(r) : hki_widened_scratch(r, work, reduce_scratch);
}

static double flops(const hki_run *r)
{
    return (double)hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
}

/* ---- Gradients. ---- */

/* v has the shape of y; gives it the dims of 1 that keepdims=0 took away, so that it broadcasts with x. */
static hk_value *with_kept_dims(hki_grad *g, hk_value *v)
{
    hk_value *axes = g->node->input_count > 1 ? g->x[1] : NULL;
    if (hki_attribute_int(g->node, "keepdims") || !axes || (axes->type.rank == 1 && axes->type.dims[0] == 0))
        return v;
    return hki_binary(g->graph, "Unsqueeze", v, axes);
}

static hk_value *sum_grad_of(hki_grad *g, hk_value *dy)
{
    return hki_binary(g->graph, "Expand", with_kept_dims(g, dy), hki_shape_value(g->graph, g->x[0]));
}

static hk_status sum_grad(hki_grad *g)
{
    g->dx[0] = sum_grad_of(g, g->dy[0]);
    return NULL;
}

static hk_status mean_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *x = g->x[0], *y = g->y[0], *count;
    if (hki_type_known(&x->type) && hki_type_known(&y->type)) {
        double results = (double)hki_shape_count(y->type.dims, 0, y->type.rank);
        count = hki_scalar_like(graph, x, (double)hki_shape_count(x->type.dims, 0, x->type.rank) / fmax(results, 1));
    } else {
        count = hki_binary(graph, "Div", hki_binary(graph, "CastLike", hki_unary(graph, "Size", x), x),
                           hki_binary(graph, "CastLike", hki_unary(graph, "Size", y), x));
    }
    g->dx[0] = sum_grad_of(g, hki_binary(graph, "Div", g->dy[0], count));
    return NULL;
}

/* The gradient is shared evenly by all that are equal to the extremum. */
static hk_status extremum_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *x = g->x[0], *equal = hki_binary(graph, "Equal", x, with_kept_dims(g, g->y[0]));
    hk_value *mask = hki_binary(graph, "CastLike", equal, x), *axes = g->node->input_count > 1 ? g->x[1] : NULL;
    hk_attribute attributes[] = {HK_INT("keepdims", 1),
                                 HK_INT("noop_with_empty_axes", hki_attribute_int(g->node, "noop_with_empty_axes"))};
    hk_value *ties = hk_graph_apply(graph, "ReduceSum", HK_VALUES(mask, axes), 2, attributes);
    hk_value *share = hki_binary(graph, "Div", mask, ties);
    g->dx[0] = hki_binary(graph, "Mul", share, with_kept_dims(g, g->dy[0]));
    return NULL;
}

static hk_status l1_grad(hki_grad *g)
{
    g->dx[0] = hki_binary(g->graph, "Mul", hki_unary(g->graph, "Sign", g->x[0]), with_kept_dims(g, g->dy[0]));
    return NULL;
}

/* x dy / y, and 0 where the norm is 0. */
static hk_status l2_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *y = g->y[0], *zero = hki_scalar_like(graph, y, 0), *is_zero = hki_binary(graph, "Equal", y, zero);
    hk_value *ratio = hki_binary(graph, "Div", g->dy[0], y);
    ratio = hk_graph_apply(graph, "Where", HK_VALUES(is_zero, zero, ratio), HK_NO_ATTRIBUTES);
    g->dx[0] = hki_binary(graph, "Mul", g->x[0], with_kept_dims(g, ratio));
    return NULL;
}

static hk_status log_sum_grad(hki_grad *g)
{
    g->dx[0] = sum_grad_of(g, hki_binary(g->graph, "Div", g->dy[0], hki_unary(g->graph, "Exp", g->y[0])));
    return NULL;
}

static hk_status log_sum_exp_grad(hki_grad *g)
{
    hk_value *shifted = hki_binary(g->graph, "Sub", g->x[0], with_kept_dims(g, g->y[0]));
    g->dx[0] = hki_binary(g->graph, "Mul", hki_unary(g->graph, "Exp", shifted), with_kept_dims(g, g->dy[0]));
    return NULL;
}

static hk_status sum_square_grad(hki_grad *g)
{
    hk_value *twice = hki_binary(g->graph, "Mul", g->x[0], hki_scalar_like(g->graph, g->x[0], 2));
    g->dx[0] = hki_binary(g->graph, "Mul", twice, with_kept_dims(g, g->dy[0]));
    return NULL;
}

static hk_status product_grad(hki_grad *g)
{
    hk_value *axes = g->node->input_count > 1 ? g->x[1] : NULL;
    hk_attribute attributes[] = {HK_INT("noop_with_empty_axes", hki_attribute_int(g->node, "noop_with_empty_axes"))};
    g->dx[0] = hk_graph_apply(g->graph, "halka.ReduceProdGrad",
                              HK_VALUES(with_kept_dims(g, g->dy[0]), g->x[0], axes), 1, attributes);
    return NULL;
}

/* ---- Gradient of ReduceProd: dx = dy times the product of the others. ---- */

typedef struct product_line {
    double product; /* of what is not zero */
    int zeros;
} product_line;

/* dx, x of [outer, n, inner] after moving the reduced axes is not at hand: walk all elements with the index of their
 * result. */
static int64_t result_index(const hk_tensor *x, const bool *reduced, int64_t element)
{
    int64_t index = 0, stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        int64_t at = element % x->dims[i];
        element /= x->dims[i];
        if (!reduced[i]) {
            index += at * stride;
            stride *= x->dims[i];
        }
    }
    return index;
}

static hk_status product_grad_double(hki_run *r)
{
    const hk_tensor *x = r->in[1];
    int64_t axes[HKI_SHAPE_NUMBERS], count = hki_shape_count(x->dims, 0, x->rank);
    int axis_count = 0;
    bool reduced[HK_MAX_RANK];
    if (r->input_count > 2 && r->in[2])
        HK_TRY(hki_numbers_read(axes, &axis_count, r->in[2], "axes"));
    HK_TRY(mark_axes(reduced, r->node, x->rank, axes, axis_count));
    product_line *lines = r->scratch;
    const double *value = x->data, *dy = r->in[0]->data;
    double *dx = r->out[0]->data;
    for (int64_t i = 0; i < hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank); i++)
        lines[i] = (product_line){1, 0};
    for (int64_t i = 0; i < count; i++) {
        product_line *line = &lines[result_index(x, reduced, i)];
        if (value[i] == 0)
            line->zeros++;
        else
            line->product *= value[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at = result_index(x, reduced, i);
        double others = value[i] == 0 ? lines[at].product : lines[at].product / value[i];
        dx[i] = lines[at].zeros > (value[i] == 0) ? 0 : dy[at] * others;
    }
    return NULL;
}

static size_t product_grad_lines(const hki_run *r)
{
    return hki_scratch_size(hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank), sizeof(product_line));
}

static hk_status product_grad_run(hki_run *r)
{
    return r->in[0]->dtype == HK_DOUBLE ? product_grad_double(r) : hki_run_widened(r, HK_DOUBLE, product_grad_double);
}

static size_t product_grad_scratch(const hki_run *r)
{
    return r->in[0]->dtype == HK_DOUBLE ? product_grad_lines(r)
                                        : hki_widened_scratch(r, HK_DOUBLE, product_grad_lines);
}

static hk_status product_grad_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

const hki_op hki_op_reduce_prod_grad = {
    .name = "ReduceProdGrad",
    .domain = "halka",
    .doc = "dx = dy times the product of the other elements",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}, {"axes", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"noop_with_empty_axes", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .infer = product_grad_infer,
    .run = product_grad_run,
    .scratch = product_grad_scratch,
};

/* ---- Descriptors. ---- */

static hk_status axes_to_input(hki_draft *draft)
{
    return hki_draft_ints_to_input(draft, "axes", 1);
}

#define COMMON_CASES                                                                                          \
    {"f[2,3,4] i64[1]=(1)", NULL}, {"f[2,3,4] i64[2]=(0,-1)", "keepdims=0"}, {"f[3,4]", NULL},                 \
        {"f[2,1,5] i64[1]=(-2)", "keepdims=0"}, {"f[4]", "keepdims=0"}, {"f[2,3] i64[0]", "noop_with_empty_axes=1"}, \
        {"f[2,40,3] i64[2]=(1,0)", "keepdims=0"}
#define DISTINCT_CASES                                                                                    \
    {"f[2,3,4]{distinct} i64[1]=(1)", NULL}, {"f[2,3,4]{distinct} i64[2]=(0,-1)", "keepdims=0"},           \
        {"f[3,7]{distinct}", NULL}, {"f[2,1,5]{distinct} i64[1]=(-2)", "keepdims=0"}, {"f[4]{distinct}", "keepdims=0"}
#define POSITIVE_CASES                                                                               \
    {"f[2,3,4]{0.5,2} i64[1]=(1)", NULL}, {"f[2,3,4]{0.5,2} i64[2]=(0,-1)", "keepdims=0"},            \
        {"f[3,4]{0.5,2}", NULL}, {"f[4]{0.5,2}", "keepdims=0"}, {"f[2,3]{0.5,2} i64[0]", "noop_with_empty_axes=1"}
#define EMPTY_CASES {"f[0,3] i64[1]=(1)", NULL}, {"f[2,0,3] i64[1]=(2)", "keepdims=0"}

static const hki_case sum_cases[] = {COMMON_CASES, EMPTY_CASES, {"f[2,0,3] i64[1]=(1)", NULL}, {NULL, NULL}};
static const hki_case mean_cases[] = {COMMON_CASES, EMPTY_CASES, {NULL, NULL}};
static const hki_case extremum_cases[] = {DISTINCT_CASES, EMPTY_CASES, {NULL, NULL}};
static const hki_case positive_cases[] = {POSITIVE_CASES, EMPTY_CASES, {NULL, NULL}};
static const hki_case product_cases[] = {COMMON_CASES, EMPTY_CASES, {"f[2,3]=(1,0,2,0,3,0) i64[1]=(1)", NULL},
                                         {NULL, NULL}};

#define REDUCE_VERSIONS {{1, NULL}, {11, NULL}, {13, axes_to_input}, {18, NULL}}
#define EXTREMUM_VERSIONS {{1, NULL}, {11, NULL}, {12, NULL}, {13, axes_to_input}, {18, NULL}, {20, NULL}}
#define SUM_VERSIONS {{1, NULL}, {11, axes_to_input}, {13, NULL}}
#define REDUCE_TYPES (HKI_NUMERIC)

/* identifier, ONNX name, formula, types, reduction, last step, versions, gradient, cases */
#define REDUCE_OP(id, onnx_name, formula, types, reduction, last, rows, gradient, op_cases)                      \
    static hk_status id##_run(hki_run *r)                                                                        \
    {                                                                                                            \
        return run_as(r, reduction, last, id##_run);                                                             \
    }                                                                                                            \
    static size_t id##_scratch(const hki_run *r)                                                                 \
    {                                                                                                            \
        return scratch_as(r, reduction, last);                                                                   \
    }                                                                                                            \
    const hki_op hki_op_##id = {                                                                                 \
        .name = onnx_name,                                                                                       \
        .doc = formula,                                                                                          \
        .inputs = {{"data", "T", types, 0}, {"axes", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL}},                     \
        .outputs = {{"reduced", "T", types, 0}},                                                                 \
        .attributes = {{"keepdims", HK_ATTRIBUTE_INT, {.i = 1}, false},                                          \
                       {"noop_with_empty_axes", HK_ATTRIBUTE_INT, {.i = 0}, false}},                             \
        .versions = rows,                                                                                        \
        .infer = infer,                                                                                          \
        .run = id##_run,                                                                                         \
        .scratch = id##_scratch,                                                                                 \
        .grad = gradient,                                                                                        \
        .flops = flops,                                                                                          \
        .cases = op_cases,                                                                                       \
    };

REDUCE_OP(reduce_sum, "ReduceSum", "sum over axes", REDUCE_TYPES, HKK_SUM, FINISH_NONE, SUM_VERSIONS, sum_grad,
          sum_cases)
REDUCE_OP(reduce_mean, "ReduceMean", "mean over axes", REDUCE_TYPES, HKK_SUM, FINISH_MEAN, REDUCE_VERSIONS, mean_grad,
          mean_cases)
REDUCE_OP(reduce_max, "ReduceMax", "maximum over axes", REDUCE_TYPES | HKI_BOOLS, HKK_MAX, FINISH_NONE,
          EXTREMUM_VERSIONS, extremum_grad, extremum_cases)
REDUCE_OP(reduce_min, "ReduceMin", "minimum over axes", REDUCE_TYPES | HKI_BOOLS, HKK_MIN, FINISH_NONE,
          EXTREMUM_VERSIONS, extremum_grad, extremum_cases)
REDUCE_OP(reduce_prod, "ReduceProd", "product over axes", REDUCE_TYPES, HKK_PRODUCT, FINISH_NONE, REDUCE_VERSIONS,
          product_grad, product_cases)
REDUCE_OP(reduce_l1, "ReduceL1", "sum of |x| over axes", REDUCE_TYPES, HKK_SUM_ABS, FINISH_NONE, REDUCE_VERSIONS,
          l1_grad, positive_cases)
REDUCE_OP(reduce_l2, "ReduceL2", "root of the sum of x^2 over axes", REDUCE_TYPES, HKK_SUM_SQUARE, FINISH_SQRT,
          REDUCE_VERSIONS, l2_grad, positive_cases)
REDUCE_OP(reduce_log_sum, "ReduceLogSum", "log of the sum over axes", REDUCE_TYPES, HKK_SUM, FINISH_LOG,
          REDUCE_VERSIONS, log_sum_grad, positive_cases)
REDUCE_OP(reduce_log_sum_exp, "ReduceLogSumExp", "log of the sum of e^x over axes", REDUCE_TYPES, HKK_LOG_SUM_EXP,
          FINISH_NONE, REDUCE_VERSIONS, log_sum_exp_grad, mean_cases)
REDUCE_OP(reduce_sum_square, "ReduceSumSquare", "sum of x^2 over axes", REDUCE_TYPES, HKK_SUM_SQUARE, FINISH_NONE,
          REDUCE_VERSIONS, sum_square_grad, mean_cases)
