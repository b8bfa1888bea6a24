/* BatchNormalization: inference and training. For differentiation it becomes halka.BatchNormSaved, which also hands out
 * the mean and inverse deviation it used; halka.BatchNormGrad takes those. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/batch_norm.h"
#include "ops/class_labels.h"
#include "ops/widen.h"

/* ---- Shapes. ---- */

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    bool training = hki_attribute_int(c->node, "training_mode") != 0;
    int64_t channels = x->rank < 0 ? HKI_DIM_UNKNOWN : x->rank > 1 ? x->dims[1] : 1;
    if (x->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "expected an input (N, C, ...), found a scalar");
    for (int i = 1; i < 5; i++) {
        if (c->in[i]->rank >= 0 && c->in[i]->rank != 1)
            return HK_ERR(HK_INVALID_SHAPE, "input '%s' must have one dim (C), found %d", c->node->op->inputs[i].name,
                          c->in[i]->rank);
        if (c->in[i]->rank == 1)
            HK_TRY_CTX(hki_dim_merge(&channels, channels, c->in[i]->dims[0]), "input '%s'",
                       c->node->op->inputs[i].name);
    }
    if (!training && c->output_count > 1 && c->output_count < 4)
        return HK_ERR(HK_INVALID_ARGUMENT, "running mean and variance are outputs only with training_mode = 1");
    hki_type_copy(&c->out[0], x);
    if (x->rank > 1)
        c->out[0].dims[1] = channels;
    for (int o = 1; o < c->output_count; o++) {
        c->out[o].rank = 1;
        c->out[o].dims[0] = channels;
    }
    return NULL;
}

/* ---- Running. Per-channel numbers are doubles at the start of the scratch. ---- */

static hk_tensor *output(const hki_run *r, int i)
{
    return i < r->output_count ? r->out[i] : NULL;
}

/* What is stored must be what was used: rounded to the type of the tensor. */
static double as_stored(double value, hk_dtype dtype)
{
    return dtype == HK_FLOAT ? (double)(float)value : value;
}

static void write_running(const hki_run *r, const double *mean, const double *variance, int64_t channels)
{
    double momentum = hki_attribute_float(r->node, "momentum");
    for (int64_t c = 0; c < channels; c++) {
        if (output(r, 1))
            hki_real_set(r->out[1], c, hki_real_at(r->in[3], c) * momentum + mean[c] * (1 - momentum));
        if (output(r, 2))
            hki_real_set(r->out[2], c, hki_real_at(r->in[4], c) * momentum + variance[c] * (1 - momentum));
    }
}

/* Only halka's own forms have the attribute. */
static bool has_relu(const hk_node *node)
{
    const hk_attribute *relu = hki_attribute_find(node, "relu");
    return relu && relu->as.i;
}

static hk_status run_any(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hki_batch_shape s;
    hki_batch_shape_read(&s, x);
    double *mean = r->scratch, *inv_std = mean + s.channels, epsilon = hki_attribute_float(r->node, "epsilon");
    void *scratch = (char *)r->scratch + hki_scratch_size(2 * s.channels, sizeof(double));
    bool training = hki_attribute_int(r->node, "training_mode") != 0;
    if (training)
        hki_batch_moments(mean, inv_std, &s, x, r, scratch);
    for (int64_t c = 0; c < s.channels && !training; c++) {
        mean[c] = hki_real_at(r->in[3], c);
        inv_std[c] = hki_real_at(r->in[4], c);
    }
    if (training)
        write_running(r, mean, inv_std, s.channels);
    for (int64_t c = 0; c < s.channels; c++) {
        inv_std[c] = as_stored(1 / sqrt(inv_std[c] + epsilon), x->dtype);
        if (output(r, 3))
            hki_real_set(r->out[3], c, mean[c]);
        if (output(r, 4))
            hki_real_set(r->out[4], c, inv_std[c]);
    }
    if (output(r, 0))
        hki_batch_apply(r->out[0], &s, x, mean, inv_std, r->in[1], r->in[2], has_relu(r->node), r, scratch);
    return NULL;
}

static hk_status run(hki_run *r)
{
    return hki_run_float(r, run_any);
}

static size_t scratch_any(const hki_run *r)
{
    hki_batch_shape s;
    hki_batch_shape_read(&s, r->in[0]);
    return hki_scratch_size(2 * s.channels, sizeof(double)) + hki_batch_scratch(&s, r->in[0]->dtype);
}

static size_t scratch(const hki_run *r)
{
    return hki_float_scratch(r, scratch_any);
}

static double flops(const hki_run *r)
{
    bool training = hki_attribute_int(r->node, "training_mode") != 0;
    return (training ? 7.0 : 3.0) * (double)hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
}

/* ---- Gradient. ---- */

static hk_status expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_value *outputs[5];
    hk_graph_node(g, "halka", "BatchNormSaved", node->name, node->input_count, node->inputs, node->attribute_count,
                  node->attributes, 5, outputs);
    for (int i = 0; i < node->output_count && i < 3; i++)
        out[i] = outputs[i];
    return NULL;
}

/* v (C) with the dims of 1 that make it broadcast with x (N, C, ...). */
static hk_value *along_channels(hk_graph *g, hk_value *v, const hk_value *x)
{
    static const int64_t spatial[] = {1, 2, 3, 4, 5, 6};
    if (x->type.rank < 3)
        return v;
    return hki_binary(g, "Unsqueeze", v, hki_ints_constant(g, x->type.rank - 2, spatial));
}

/* What the gradients of the running statistics add to dx: the batch mean and variance depend on x. */
static hk_value *running_grad(hki_grad *g, hk_value *dx, double rest)
{
    hk_graph *graph = g->graph;
    hk_value *x = g->x[0];
    hk_value *count = hki_binary(graph, "Div", hki_unary(graph, "Size", x), hki_unary(graph, "Size", g->x[1]));
    hk_value *share =
        hki_binary(graph, "Div", hki_scalar_like(graph, x, rest), hki_binary(graph, "CastLike", count, x));
    if (g->dy[1]) {
        hk_value *part = hki_binary(graph, "Mul", hki_binary(graph, "CastLike", g->dy[1], x), share);
        dx = hki_binary(graph, "Add", dx, along_channels(graph, part, x));
    }
    if (g->dy[2]) {
        hk_value *mean = along_channels(graph, hki_binary(graph, "CastLike", g->y[3], x), x);
        hk_value *part = hki_binary(graph, "Mul", hki_binary(graph, "CastLike", g->dy[2], x), share);
        part = along_channels(graph, hki_binary(graph, "Add", part, part), x);
        dx = hki_binary(graph, "Add", dx, hki_binary(graph, "Mul", hki_binary(graph, "Sub", x, mean), part));
    }
    return dx;
}

static hk_status saved_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    int64_t training = hki_attribute_int(g->node, "training_mode");
    double momentum = hki_attribute_float(g->node, "momentum");
    hk_value *parts[3] = {NULL, NULL, NULL}, *dy = g->dy[0];
    if (g->dy[3] || g->dy[4]) /* only BatchNormGrad reads them */
        return HK_ERR(HK_UNSUPPORTED, "no gradient through the saved mean and deviation");
    if (!dy)
        dy = hki_binary(graph, "Mul", g->y[0], hki_scalar_like(graph, g->x[0], 0));
    bool relu = has_relu(g->node);
    hk_attribute attributes[] = {HK_INT("training_mode", training), HK_INT("relu", relu)};
    hk_value *inputs[] = {dy, g->x[0], g->x[1], g->y[3], g->y[4], g->x[2]};
    hk_graph_node(graph, "halka", "BatchNormGrad", NULL, relu ? 6 : 5, inputs, relu ? 2 : 1, attributes, 3, parts);
    memcpy(g->dx, parts, sizeof parts);
    if (!training) {
        hk_value *slope = hki_binary(graph, "Mul", g->x[1], hki_binary(graph, "CastLike", g->y[4], g->x[1]));
        hk_value *square = hki_binary(graph, "Mul", slope, hki_binary(graph, "CastLike", g->y[4], g->x[1]));
        g->dx[3] =
            hki_binary(graph, "CastLike", hki_unary(graph, "Neg", hki_binary(graph, "Mul", parts[2], slope)), g->x[3]);
        hk_value *half = hki_binary(graph, "Mul", square, hki_scalar_like(graph, g->x[1], -0.5));
        g->dx[4] = hki_binary(graph, "CastLike", hki_binary(graph, "Mul", parts[1], half), g->x[4]);
        return NULL;
    }
    if (g->dy[1] || g->dy[2])
        g->dx[0] = running_grad(g, parts[0], 1 - momentum);
    if (g->dy[1])
        g->dx[3] = hki_binary(graph, "Mul", g->dy[1], hki_scalar_like(graph, g->x[3], momentum));
    if (g->dy[2])
        g->dx[4] = hki_binary(graph, "Mul", g->dy[2], hki_scalar_like(graph, g->x[4], momentum));
    return NULL;
}

static hk_status grad_infer(hki_infer *c)
{
    if (has_relu(c->node) && !hki_infer_has(c, 5))
        return HK_ERR(HK_INVALID_ARGUMENT, "input 'B' is required with relu");
    hki_type_copy(&c->out[0], c->in[1]);
    for (int o = 1; o < c->output_count; o++)
        hki_type_copy(&c->out[o], c->in[2]);
    return NULL;
}

/* With n elements per channel and a = scale inv_std: dx = a (dy - sum(dy) / n - (x - mean) inv_std^2 sum(dy (x - mean))
 * / n); in inference mode the moments do not depend on x, and dx = a dy. */
static hk_status grad_any(hki_run *r)
{
    const hk_tensor *dy = r->in[0], *x = r->in[1];
    hki_batch_shape s;
    hki_batch_shape_read(&s, x);
    double *mean = r->scratch, *sum = mean + s.channels, *product = sum + s.channels, *a = product + s.channels;
    void *scratch = (char *)r->scratch + hki_scratch_size(4 * s.channels, sizeof(double));
    bool training = hki_attribute_int(r->node, "training_mode") != 0;
    for (int64_t c = 0; c < s.channels; c++) {
        mean[c] = hki_real_at(r->in[3], c);
        a[c] = as_stored(hki_real_at(r->in[2], c) * hki_real_at(r->in[4], c), x->dtype);
    }
    hki_batch_grad g = {.shape = &s, .dy = dy, .x = x, .mean = mean, .a = a, .run = r, .scratch = scratch};
    g.relu_bias = has_relu(r->node) ? r->in[5] : NULL;
    hki_batch_grad_sums(sum, product, &g);
    for (int64_t c = 0; c < s.channels; c++) {
        double inv_std = hki_real_at(r->in[4], c), n = (double)s.count;
        if (output(r, 1))
            hki_real_set(r->out[1], c, product[c] * inv_std);
        if (output(r, 2))
            hki_real_set(r->out[2], c, sum[c]);
        product[c] = training ? a[c] * inv_std * inv_std * product[c] / n : 0;
        sum[c] = training ? a[c] * sum[c] / n : 0;
    }
    if (output(r, 0))
        hki_batch_grad_apply(r->out[0], &g, product, sum);
    return NULL;
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

static size_t grad_scratch_any(const hki_run *r)
{
    hki_batch_shape s;
    hki_batch_shape_read(&s, r->in[1]);
    return hki_scratch_size(4 * s.channels, sizeof(double)) + hki_batch_scratch(&s, r->in[1]->dtype);
}

static size_t grad_scratch(const hki_run *r)
{
    return hki_float_scratch(r, grad_scratch_any);
}

/* ---- Older opsets. ---- */

static int given_outputs(const hki_draft *draft)
{
    int count = 0;
    for (int i = 0; i < draft->output_count; i++)
        count += draft->output_names[i] && *draft->output_names[i];
    return count;
}

/* Statistics per activation (spatial = 0, before opset 9), in inference: plain arithmetic that broadcasts over the
 * batch. */
static hk_status per_activation(hki_draft *draft)
{
    hk_graph *g = draft->graph;
    const hk_attribute *a = hki_draft_attribute(draft, "epsilon");
    if (draft->input_count < 5 || given_outputs(draft) > 1)
        return HK_ERR(HK_UNSUPPORTED, "attribute 'spatial' = 0 is supported in inference only");
    hk_value *x = draft->inputs[0], *mean = draft->inputs[3], *variance = draft->inputs[4];
    hk_value *epsilon = hki_scalar_like(g, variance, a ? (double)a->as.f : 1e-5);
    hk_value *std = hki_unary(g, "Sqrt", hki_binary(g, "Add", variance, epsilon));
    hk_value *slope = hki_binary(g, "Div", draft->inputs[1], std);
    HK_TRY(hki_draft_set_input(draft, 0, hki_binary(g, "Mul", hki_binary(g, "Sub", x, mean), slope)));
    HK_TRY(hki_draft_set_input(draft, 1, draft->inputs[2]));
    HK_TRY(hk_graph_status(g));
    draft->input_count = 2;
    draft->attribute_count = 0;
    draft->op = "Add";
    return NULL;
}

static hk_status drop_spatial(hki_draft *draft)
{
    const hk_attribute *spatial = hki_draft_attribute(draft, "spatial");
    if (spatial && spatial->as.i == 0 && draft->inputs[0] && draft->inputs[0]->type.rank != 2)
        return per_activation(draft);
    hki_draft_remove_attribute(draft, "spatial");
    return NULL;
}

/* Opsets 1 and 6 had is_test, which files set as they pleased; what counts is whether running statistics are asked for.
 */
static hk_status drop_is_test(hki_draft *draft)
{
    const hk_attribute *is_test = hki_draft_attribute(draft, "is_test");
    if (is_test && is_test->as.i)
        draft->output_count = draft->output_count > 1 ? 1 : draft->output_count;
    hki_draft_remove_attribute(draft, "is_test");
    hki_draft_remove_attribute(draft, "consumed_inputs");
    return NULL;
}

/* Before opset 14, asking for more than one output was what made a node train; saved statistics are no longer outputs.
 */
static hk_status outputs_to_mode(hki_draft *draft)
{
    hk_attribute mode = HK_INT("training_mode", 1);
    if (given_outputs(draft) > 1)
        HK_TRY(hki_draft_set_attribute(draft, &mode));
    else if (draft->output_count > 1)
        draft->output_count = 1;
    if (draft->output_count > 3)
        draft->output_count = 3;
    return NULL;
}

/* ---- Descriptors. ---- */

#define BATCH_INPUTS                                                                                       \
    {"X", "T", HKI_FLOATS, 0}, {"scale", "T1", HKI_FLOATS, 0}, {"B", "T1", HKI_FLOATS, 0},                 \
        {"input_mean", "T2", HKI_FLOATS, 0}, {"input_var", "T2", HKI_FLOATS, 0}
#define BATCH_OUTPUTS                                                                                      \
    {"Y", "T", HKI_FLOATS, 0}, {"running_mean", "T2", HKI_FLOATS, HKI_OPTIONAL},                           \
        {"running_var", "T2", HKI_FLOATS, HKI_OPTIONAL}
#define BATCH_ATTRIBUTES                                                                                   \
    {"epsilon", HK_ATTRIBUTE_FLOAT, {.f = 1e-5f}, false}, {"momentum", HK_ATTRIBUTE_FLOAT, {.f = 0.9f}, false}, \
        {"training_mode", HK_ATTRIBUTE_INT, {.i = 0}, false}

static const hki_case cases[] = {
    {"f[2,3,4] f[3] f[3] f[3] f[3]{0.5,2}", NULL},
    {"f[2,17,3,2] f[17] f[17] f[17]! f[17]{0.5,2}!", "training_mode=1"},
    {"f[3,2,5] f[2] f[2] f[2]! f[2]{0.5,2}!", "training_mode=1 epsilon=0.01"},
    {"f[5,3] f[3] f[3] f[3]! f[3]{0.5,2}!", "training_mode=1"},
    {"f[5,3] f[3] f[3] f[3] f[3]{0.5,2}", NULL},
    {"f[2,1,2,2,3] f[1] f[1] f[1] f[1]{0.5,2}", NULL},
    {"f[0,3,2] f[3] f[3] f[3] f[3]{0.5,2}", NULL},
    {NULL, NULL},
};

const hki_op hki_op_batch_norm_grad = {
    .name = "BatchNormGrad",
    .domain = "halka",
    .doc = "gradients of BatchNormSaved with respect to X, scale and B",
    .inputs = {{"dY", "T", HKI_FLOATS, 0},
               {"X", "T", HKI_FLOATS, 0},
               {"scale", "T1", HKI_FLOATS, 0},
               {"saved_mean", "T2", HKI_FLOATS, 0},
               {"saved_inv_std", "T2", HKI_FLOATS, 0},
               {"B", "T1", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"dX", "T", HKI_FLOATS, HKI_OPTIONAL},
                {"dscale", "T1", HKI_FLOATS, HKI_OPTIONAL},
                {"dB", "T1", HKI_FLOATS, HKI_OPTIONAL}},
    .attributes = {{"training_mode", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"relu", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 3,
    .channels_last_out = 1,
    .infer = grad_infer,
    .run = grad_run,
    .scratch = grad_scratch,
    .flops = flops,
};

const hki_op hki_op_batch_norm_saved = {
    .name = "BatchNormSaved",
    .domain = "halka",
    .doc = "BatchNormalization, with relu = 1 Relu of it, that also gives the mean and 1 / sqrt(var + epsilon) it used",
    .inputs = {BATCH_INPUTS},
    .outputs = {BATCH_OUTPUTS,
                {"saved_mean", "T2", HKI_FLOATS, HKI_OPTIONAL},
                {"saved_inv_std", "T2", HKI_FLOATS, HKI_OPTIONAL}},
    .attributes = {BATCH_ATTRIBUTES, {"relu", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = saved_grad,
    .flops = flops,
};

const hki_op hki_op_batch_normalization = {
    .name = "BatchNormalization",
    .doc = "y = (x - mean) / sqrt(var + epsilon) scale + B, per channel; mean and var of the batch in training mode",
    .inputs = {BATCH_INPUTS},
    .outputs = {BATCH_OUTPUTS},
    .attributes = {BATCH_ATTRIBUTES},
    .versions = {{1, drop_is_test}, {6, drop_is_test}, {7, drop_spatial}, {9, outputs_to_mode}, {14, NULL}, {15, NULL}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .expand = expand,
    .flops = flops,
    .cases = cases,
};
