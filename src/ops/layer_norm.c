/* LayerNormalization and RMSNormalization: rows of the dims from `axis` on; and their gradient, which computes the
 * moments again (a row is read anyhow). */
#include <math.h>
#include <string.h>

#include "ops/class_labels.h"
#include "ops/movement.h"
#include "ops/reduction.h"
#include "ops/shapes.h"
#include "ops/widen.h"

#define SUM_ROWS 64 /* rows whose contributions to the gradients of scale and bias are added one after the other */

typedef struct layer_work {
    const hki_run *run;
    const hk_tensor *x, *dy, *scale, *bias; /* dy, bias may be NULL */
    hk_tensor *y;                           /* dx for gradients; may be NULL there */
    float *mean, *inv_std;                  /* per row */
    float *partial;                         /* segments x 2 x n */
    int64_t rows, n, rows_per_block;
    double epsilon;
    int centered;
} layer_work;

extern const hki_op hki_op_layer_normalization, hki_op_rms_normalization;

static hk_status check_parameter(const hki_type *x, const hki_type *parameter, int axis, const char *name)
{
    if (parameter->rank < 0)
        return NULL;
    int rank = x->rank - axis, extra = parameter->rank - rank;
    bool fits = extra >= 0;
    for (int i = 0; i < parameter->rank && fits; i++) {
        int64_t expected = i < extra ? 1 : x->dims[axis + i - extra], found = parameter->dims[i];
        fits = expected < 0 || found < 0 || expected == found;
    }
    char a[HKI_SHAPE_TEXT], b[HKI_SHAPE_TEXT];
    return fits ? NULL
                : HK_ERR(HK_UNSUPPORTED, "input '%s' must have the normalized shape %s, found %s", name,
                         hki_dims_text(a, rank, x->dims + axis), hki_dims_text(b, parameter->rank, parameter->dims));
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    int axis;
    int64_t stash = hki_attribute_int(c->node, "stash_type");
    hki_type_copy(&c->out[0], x);
    c->out[0].dtype = c->in[1]->dtype; /* RMSNormalization lets it differ from x's */
    for (int o = 1; o < c->output_count; o++)
        c->out[o].dtype = stash == HK_BFLOAT16 ? HK_BFLOAT16 : HK_FLOAT;
    if (stash != HK_FLOAT && stash != HK_BFLOAT16)
        return HK_ERR(HK_UNSUPPORTED, "attribute 'stash_type' is %lld, expected 1 (float) or 16 (bfloat16)",
                      (long long)stash);
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    for (int i = 1; i < c->input_count; i++)
        if (c->in[i])
            HK_TRY(check_parameter(x, c->in[i], axis, c->node->op->inputs[i].name));
    for (int o = 1; o < c->output_count; o++) {
        c->out[o].rank = x->rank;
        for (int i = 0; i < x->rank; i++)
            c->out[o].dims[i] = i < axis ? x->dims[i] : 1;
    }
    return NULL;
}

static hk_status prepare(layer_work *w, const hki_run *r, const hk_tensor *x, const hk_tensor *scale)
{
    int axis;
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
    *w = (layer_work){.run = r, .x = x, .scale = scale, .mean = r->scratch};
    w->rows = hki_shape_count(x->dims, 0, axis);
    w->n = hki_shape_count(x->dims, axis, x->rank);
    w->inv_std = w->mean + w->rows;
    w->partial = w->inv_std + w->rows;
    w->epsilon = hki_attribute_float(r->node, "epsilon");
    w->centered = r->node->op == &hki_op_rms_normalization ? 0 : 1;
    return NULL;
}

/* ---- float64: rows one by one, with the moments written nowhere. ---- */

static void row_moments_double(double *mean, double *inv_std, const layer_work *w, int64_t row)
{
    const double *x = (const double *)w->x->data + row * w->n;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < w->n && w->centered; i++)
        sum += x[i];
    *mean = sum / (double)w->n;
    for (int64_t i = 0; i < w->n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inv_std = 1 / sqrt(squares / (double)w->n + w->epsilon);
}

static void row_double(const layer_work *w, int64_t row)
{
    double mean, inv_std;
    row_moments_double(&mean, &inv_std, w, row);
    for (int64_t i = 0; i < w->n; i++) {
        double v = (hki_real_at(w->x, row * w->n + i) - mean) * inv_std * hki_real_at(w->scale, i);
        hki_real_set(w->y, row * w->n + i, v + (w->bias ? hki_real_at(w->bias, i) : 0));
    }
    for (int o = 1; o < w->run->output_count; o++)
        if (w->run->out[o])
            hki_real_set(w->run->out[o], row, o == 1 ? mean : inv_std);
}

static void grad_row_double(const layer_work *w, int64_t row)
{
    double mean, inv_std, sum = 0, product = 0, n = (double)w->n;
    row_moments_double(&mean, &inv_std, w, row);
    for (int64_t i = 0; i < w->n; i++) {
        double dy = hki_real_at(w->dy, row * w->n + i), distance = hki_real_at(w->x, row * w->n + i) - mean;
        sum += dy * hki_real_at(w->scale, i);
        product += dy * hki_real_at(w->scale, i) * distance;
        for (int o = 1; o < w->run->output_count; o++)
            if (w->run->out[o])
                ((double *)w->run->out[o]->data)[i] += o == 1 ? dy * distance * inv_std : dy;
    }
    sum = w->centered ? sum : 0;
    for (int64_t i = 0; i < w->n && w->y; i++) {
        double g = hki_real_at(w->dy, row * w->n + i) * hki_real_at(w->scale, i);
        double distance = hki_real_at(w->x, row * w->n + i) - mean;
        hki_real_set(w->y, row * w->n + i, inv_std * (g - sum / n - distance * inv_std * inv_std * product / n));
    }
}

/* ---- float32. ---- */

static void forward_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const layer_work *w = context;
    int64_t first = block * w->rows_per_block, left = w->rows - first;
    int64_t rows = left < w->rows_per_block ? left : w->rows_per_block;
    w->run->k->normalize->layer_norm_rows((float *)w->y->data + first * w->n, w->mean + first, w->inv_std + first,
                                          (const float *)w->x->data + first * w->n, w->scale->data,
                                          w->bias ? w->bias->data : NULL, rows, w->n, (float)w->epsilon, w->centered);
}

/* A block is SUM_ROWS rows, so that the sums over rows are cut by the shape alone. */
static void grad_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const layer_work *w = context;
    const hkk_normalize_kernels *k = w->run->k->normalize;
    int64_t first = block * SUM_ROWS, left = w->rows - first, rows = left < SUM_ROWS ? left : SUM_ROWS;
    const float *x = (const float *)w->x->data + first * w->n, *dy = (const float *)w->dy->data + first * w->n;
    float *mean = w->mean + first, *inv_std = w->inv_std + first, *sums = w->partial + block * 2 * w->n;
    k->layer_norm_moments(mean, inv_std, x, rows, w->n, (float)w->epsilon, w->centered);
    memset(sums, 0, (size_t)(2 * w->n) * sizeof *sums);
    k->layer_norm_grad_rows(w->y ? (float *)w->y->data + first * w->n : NULL, sums, sums + w->n, dy, x, w->scale->data,
                            mean, inv_std, rows, w->n, w->centered);
}

static int64_t segments(int64_t rows)
{
    return (rows + SUM_ROWS - 1) / SUM_ROWS;
}

/* Adds the partial sums of all segments and splits them into the gradients of scale and bias. */
static void finish_sums(const layer_work *w)
{
    hki_reduction plan;
    int64_t count = segments(w->rows);
    float *sums = w->partial + count * 2 * w->n, *scratch = sums + 2 * w->n;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, count, 2 * w->n);
    hki_reduction_run(&plan, sums, w->partial, HK_FLOAT, scratch, w->run->pool, w->run->k);
    for (int o = 1; o < w->run->output_count; o++)
        if (w->run->out[o])
            memcpy(w->run->out[o]->data, sums + (o - 1) * w->n, (size_t)w->n * sizeof(float));
}

/* ---- Runs. ---- */

static hk_status forward_any(hki_run *r)
{
    layer_work w;
    HK_TRY(prepare(&w, r, r->in[0], r->in[1]));
    w.y = r->out[0];
    w.bias = r->input_count > 2 ? r->in[2] : NULL;
    if (w.x->dtype == HK_DOUBLE) {
        for (int64_t i = 0; i < w.rows; i++)
            row_double(&w, i);
        return NULL;
    }
    hki_pool_run(r->pool, hki_blocks(&w.rows_per_block, w.rows, w.n * 8), forward_block, &w);
    for (int o = 1; o < r->output_count; o++)
        if (r->out[o])
            memcpy(r->out[o]->data, o == 1 ? w.mean : w.inv_std, (size_t)w.rows * sizeof(float));
    return NULL;
}

static hk_status forward_run(hki_run *r)
{
    return hki_run_float(r, forward_any);
}

/* Rows of x; each takes two floats of scratch, in gradients besides the partial sums. */
static int64_t scratch_rows(const hki_run *r, const hk_tensor *x)
{
    int axis;
    hk_status status = hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank);
    if (status) { /* infer has refused it before */
        hk_status_free(status);
        return 0;
    }
    return hki_shape_count(x->dims, 0, axis);
}

static size_t forward_scratch_any(const hki_run *r)
{
    return hki_scratch_size(2 * scratch_rows(r, r->in[0]), sizeof(float));
}

static size_t forward_scratch(const hki_run *r)
{
    return hki_float_scratch(r, forward_scratch_any);
}

static hk_status grad_any(hki_run *r)
{
    layer_work w;
    HK_TRY(prepare(&w, r, r->in[1], r->in[2]));
    w.centered = (int)hki_attribute_int(r->node, "centered");
    w.dy = r->in[0];
    w.y = r->out[0];
    if (w.x->dtype == HK_DOUBLE) {
        for (int o = 1; o < r->output_count; o++)
            if (r->out[o])
                memset(r->out[o]->data, 0, (size_t)w.n * sizeof(double));
        for (int64_t i = 0; i < w.rows; i++)
            grad_row_double(&w, i);
        return NULL;
    }
    hki_pool_run(r->pool, segments(w.rows), grad_block, &w);
    finish_sums(&w);
    return NULL;
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

static size_t grad_scratch_any(const hki_run *r)
{
    const hk_tensor *scale = r->in[2];
    int64_t rows = scratch_rows(r, r->in[1]), n = hki_shape_count(scale->dims, 0, scale->rank);
    hki_reduction plan;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, segments(rows), 2 * n);
    return hki_scratch_size(2 * rows + (segments(rows) + 1) * 2 * n + plan.scratch_count, sizeof(float));
}

static size_t grad_scratch(const hki_run *r)
{
    return hki_float_scratch(r, grad_scratch_any);
}

static double flops(const hki_run *r)
{
    return 7.0 * (double)hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
}

/* ---- Gradient. ---- */

static hk_status grad(hki_grad *g)
{
    const hk_node *node = g->node;
    hk_value *parts[3] = {NULL, NULL, NULL};
    for (int o = 1; o < node->output_count; o++)
        if (g->dy[o])
            return HK_ERR(HK_UNSUPPORTED, "no gradient through the outputs Mean and InvStdDev");
    hk_attribute attributes[] = {
        HK_INT("axis", hki_attribute_int(node, "axis")),
        HK_FLOAT32("epsilon", hki_attribute_float(node, "epsilon")),
        HK_INT("centered", node->op == &hki_op_layer_normalization),
    };
    bool has_bias = node->input_count > 2 && g->x[2];
    hk_graph_node(g->graph, "halka", "LayerNormGrad", NULL, 3, (hk_value *[]){g->dy[0], g->x[0], g->x[1]}, 3,
                  attributes, has_bias ? 3 : 2, parts);
    for (int i = 0; i < node->input_count && i < 3; i++)
        g->dx[i] = parts[i];
    return NULL;
}

static hk_status grad_infer(hki_infer *c)
{
    const hki_type *dy = c->in[0], *x = c->in[1];
    int axis;
    hki_type_copy(&c->out[0], x);
    for (int o = 1; o < c->output_count; o++)
        hki_type_copy(&c->out[o], c->in[2]);
    if (x->rank < 0 || dy->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    HK_TRY(check_parameter(x, c->in[2], axis, "scale"));
    if (dy->rank != x->rank)
        return HK_ERR(HK_INVALID_SHAPE, "dY has rank %d but X has rank %d", dy->rank, x->rank);
    int64_t merged;
    for (int i = 0; i < x->rank; i++)
        HK_TRY(hki_dim_merge(&merged, dy->dims[i], x->dims[i]));
    return NULL;
}

static const hki_case layer_cases[] = {
    {"f[2,3,5] f[5] f[5]", NULL},     {"f[2,3,5] f[3,5] f[3,5]", "axis=1"}, {"f[2,3,5] f[3,5]", "axis=-2"},
    {"f[4,17] f[17] f[17]", "epsilon=0.01"}, {"f[70,3] f[3] f[3]", NULL},   {"f[2,3] f[2,3]", "axis=0"},
    {"f[0,4] f[4] f[4]", NULL},       {"f[3,1] f[1] f[1]", NULL},           {NULL, NULL},
};
static const hki_case rms_cases[] = {
    {"f[2,3,5] f[5]", NULL}, {"f[2,3,5] f[3,5]", "axis=1"}, {"f[70,3] f[3]", "epsilon=0.01"}, {"f[0,4] f[4]", NULL},
    {NULL, NULL},
};

#define LAYER_ATTRIBUTES                                                                                        \
    {"axis", HK_ATTRIBUTE_INT, {.i = -1}, false}, {"epsilon", HK_ATTRIBUTE_FLOAT, {.f = 1e-5f}, false},          \
        {"stash_type", HK_ATTRIBUTE_INT, {.i = HK_FLOAT}, false}
#define STASH_TYPES (HKI_BIT(HK_FLOAT) | HKI_BIT(HK_BFLOAT16))

const hki_op hki_op_layer_norm_grad = {
    .name = "LayerNormGrad",
    .domain = "halka",
    .doc = "gradients of LayerNormalization (centered) and RMSNormalization with respect to X, scale and bias",
    .inputs = {{"dY", "V", HKI_FLOATS, 0}, {"X", "T", HKI_FLOATS, 0}, {"scale", "V", HKI_FLOATS, 0}},
    .outputs = {{"dX", "T", HKI_FLOATS, HKI_OPTIONAL},
                {"dscale", "V", HKI_FLOATS, HKI_OPTIONAL},
                {"dbias", "V", HKI_FLOATS, HKI_OPTIONAL}},
    .attributes = {LAYER_ATTRIBUTES, {"centered", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .infer = grad_infer,
    .run = grad_run,
    .scratch = grad_scratch,
    .flops = flops,
};

const hki_op hki_op_layer_normalization = {
    .name = "LayerNormalization",
    .doc = "y = (x - mean) / sqrt(var + epsilon) scale + B, moments over the dims from axis on",
    .inputs = {{"X", "T", HKI_FLOATS, 0}, {"Scale", "T", HKI_FLOATS, 0}, {"B", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0},
                {"Mean", "U", STASH_TYPES, HKI_OPTIONAL},
                {"InvStdDev", "U", STASH_TYPES, HKI_OPTIONAL}},
    .attributes = {LAYER_ATTRIBUTES},
    .versions = {{17, NULL}},
    .infer = infer,
    .run = forward_run,
    .scratch = forward_scratch,
    .grad = grad,
    .flops = flops,
    .cases = layer_cases,
};

const hki_op hki_op_rms_normalization = {
    .name = "RMSNormalization",
    .doc = "y = x / sqrt(mean(x^2) + epsilon) scale, mean over the dims from axis on",
    .inputs = {{"X", "T", HKI_FLOATS, 0}, {"scale", "V", HKI_FLOATS, 0}},
    .outputs = {{"Y", "V", HKI_FLOATS, 0}},
    .attributes = {LAYER_ATTRIBUTES},
    .versions = {{23, NULL}},
    .infer = infer,
    .run = forward_run,
    .scratch = forward_scratch,
    .grad = grad,
    .flops = flops,
    .cases = rms_cases,
};
