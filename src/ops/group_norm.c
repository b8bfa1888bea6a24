/* GroupNormalization and InstanceNormalization (one channel per group), in plain layout: the elements of a group of a
 * sample are contiguous. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/class_labels.h"
#include "ops/movement.h"
#include "ops/reduction.h"
#include "ops/shapes.h"
#include "ops/widen.h"

typedef struct group_work {
    const hki_run *run;
    const hk_tensor *x, *dy, *scale, *bias;
    hk_tensor *y; /* dx for gradients; may be NULL there */
    float *sums;  /* samples x 2 x channels: contributions to the gradients of scale and bias */
    int64_t samples, channels, groups, width, pixels; /* width: channels per group */
    int64_t groups_per_block;
    double epsilon;
} group_work;

static hk_status count_groups(int64_t *out, const hk_node *node, int64_t channels)
{
    const hk_attribute *a = hki_attribute_find(node, "num_groups");
    *out = a ? a->as.i : channels;
    if (a && (*out < 1 || (channels >= 0 && channels % *out)))
        return HK_ERR(HK_INVALID_ARGUMENT, "%" PRId64 " channels cannot be cut in %" PRId64 " groups", channels, *out);
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type_copy(&c->out[0], x);
    if (x->rank >= 0 && x->rank < 2)
        return HK_ERR(HK_INVALID_SHAPE, "expected an input (N, C, ...), found rank %d", x->rank);
    int64_t channels = x->rank < 0 ? HKI_DIM_UNKNOWN : x->dims[1], groups;
    for (int i = 1; i < 3; i++) {
        HK_TRY(hki_rank_check(c->in[i], 1, c->node->op->inputs[i].name));
        if (c->in[i]->rank == 1)
            HK_TRY_CTX(hki_dim_merge(&channels, channels, c->in[i]->dims[0]), "input '%s'",
                       c->node->op->inputs[i].name);
    }
    HK_TRY(count_groups(&groups, c->node, channels));
    if (x->rank >= 0)
        c->out[0].dims[1] = channels;
    return NULL;
}

static hk_status prepare(group_work *w, const hki_run *r, const hk_tensor *x, const hk_tensor *scale)
{
    *w = (group_work){.run = r, .x = x, .scale = scale, .sums = r->scratch};
    w->samples = x->dims[0];
    w->channels = x->dims[1];
    w->pixels = hki_shape_count(x->dims, 2, x->rank);
    HK_TRY(count_groups(&w->groups, r->node, w->channels));
    w->width = w->groups ? w->channels / w->groups : 0;
    w->epsilon = hki_attribute_float(r->node, "epsilon");
    return NULL;
}

/* ---- One group of one sample: `at` is its first element, `c` its first channel. ---- */

static void moments(double *mean, double *inv_std, const group_work *w, int64_t at)
{
    int64_t n = w->width * w->pixels;
    if (w->x->dtype == HK_FLOAT) {
        float m, m2;
        w->run->k->normalize->moments_row(&m, &m2, (const float *)w->x->data + at, n);
        *mean = m;
        *inv_std = (float)(1 / sqrt((double)m2 / (double)n + w->epsilon));
        return;
    }
    const double *x = (const double *)w->x->data + at;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inv_std = 1 / sqrt(squares / (double)n + w->epsilon);
}

/* y = (x - mean) slope + bias over one channel */
static void apply_channel(const group_work *w, int64_t at, double mean, double slope, double bias)
{
    if (w->x->dtype == HK_FLOAT) {
        w->run->k->normalize->apply_row((float *)w->y->data + at, (const float *)w->x->data + at, w->pixels,
                                        (float)mean, (float)slope, (float)bias, 0);
        return;
    }
    for (int64_t i = at; i < at + w->pixels; i++)
        hki_real_set(w->y, i, (hki_real_at(w->x, i) - mean) * slope + bias);
}

static void forward_group(const group_work *w, int64_t at, int64_t c)
{
    double mean, inv_std;
    moments(&mean, &inv_std, w, at);
    for (int64_t j = c; j < c + w->width; j++, at += w->pixels)
        apply_channel(w, at, mean, inv_std * hki_real_at(w->scale, j), hki_real_at(w->bias, j));
}

static void channel_sums(double *sum, double *product, const group_work *w, int64_t at, double mean)
{
    *sum = *product = 0;
    if (w->x->dtype == HK_FLOAT) {
        float a, b;
        w->run->k->normalize->grad_sums_row(&a, &b, (const float *)w->dy->data + at, (const float *)w->x->data + at,
                                            w->pixels, (float)mean, 0, 0, 0);
        *sum = a;
        *product = b;
        return;
    }
    for (int64_t i = at; i < at + w->pixels; i++) {
        *sum += hki_real_at(w->dy, i);
        *product += hki_real_at(w->dy, i) * (hki_real_at(w->x, i) - mean);
    }
}

/* dx = a dy - b (x - mean) - d over one channel */
static void grad_channel(const group_work *w, int64_t at, double mean, double a, double b, double d)
{
    if (w->x->dtype == HK_FLOAT) {
        w->run->k->normalize->grad_row((float *)w->y->data + at, (const float *)w->dy->data + at,
                                       (const float *)w->x->data + at, w->pixels, (float)mean, (float)a, (float)b,
                                       (float)d, 0, 0);
        return;
    }
    for (int64_t i = at; i < at + w->pixels; i++)
        hki_real_set(w->y, i, a * hki_real_at(w->dy, i) - b * (hki_real_at(w->x, i) - mean) - d);
}

/* With g = dy scale: dx = inv_std (g - mean(g) - (x - mean) inv_std^2 mean(g (x - mean))), means over the group. */
static void grad_group(const group_work *w, int64_t sample, int64_t at, int64_t c)
{
    double mean, inv_std, all = 0, all_products = 0, n = (double)(w->width * w->pixels);
    moments(&mean, &inv_std, w, at);
    for (int64_t j = 0; j < w->width; j++) {
        double sum, product, scale = hki_real_at(w->scale, c + j);
        int64_t slot = sample * 2 * w->channels + c + j;
        channel_sums(&sum, &product, w, at + j * w->pixels, mean);
        all += scale * sum;
        all_products += scale * product;
        if (w->x->dtype == HK_FLOAT) {
            w->sums[slot] = (float)(product * inv_std);
            w->sums[slot + w->channels] = (float)sum;
        } else { /* groups run one after the other */
            ((double *)w->run->out[1]->data)[c + j] += product * inv_std;
            ((double *)w->run->out[2]->data)[c + j] += sum;
        }
    }
    for (int64_t j = 0; j < w->width && w->y; j++)
        grad_channel(w, at + j * w->pixels, mean, inv_std * hki_real_at(w->scale, c + j),
                     inv_std * inv_std * inv_std * all_products / n, inv_std * all / n);
}

static void block(void *context, int64_t index, int worker)
{
    (void)worker;
    const group_work *w = context;
    int64_t end = (index + 1) * w->groups_per_block, all = w->samples * w->groups;
    for (int64_t i = index * w->groups_per_block; i < (end < all ? end : all); i++) {
        int64_t at = i * w->width * w->pixels, c = i % w->groups * w->width;
        if (w->dy)
            grad_group(w, i / w->groups, at, c);
        else
            forward_group(w, at, c);
    }
}

static void run_groups(group_work *w, const hki_run *r)
{
    int64_t bytes = w->width * w->pixels * 8, blocks = hki_blocks(&w->groups_per_block, w->samples * w->groups, bytes);
    hki_pool_run(w->x->dtype == HK_FLOAT ? r->pool : NULL, blocks, block, w);
}

/* ---- Runs. ---- */

static hk_status forward_any(hki_run *r)
{
    group_work w;
    HK_TRY(prepare(&w, r, r->in[0], r->in[1]));
    w.bias = r->in[2];
    w.y = r->out[0];
    run_groups(&w, r);
    return NULL;
}

static hk_status forward_run(hki_run *r)
{
    return hki_run_float(r, forward_any);
}

static size_t forward_scratch(const hki_run *r)
{
    return hki_float_scratch(r, NULL);
}

static hk_status grad_any(hki_run *r)
{
    group_work w;
    HK_TRY(prepare(&w, r, r->in[1], r->in[2]));
    w.dy = r->in[0];
    w.y = r->out[0];
    size_t size = (size_t)w.channels * hk_dtype_size(w.x->dtype);
    memset(r->out[1]->data, 0, size);
    memset(r->out[2]->data, 0, size);
    run_groups(&w, r);
    if (w.x->dtype == HK_DOUBLE)
        return NULL;
    float *sums = w.sums + w.samples * 2 * w.channels, *scratch = sums + 2 * w.channels;
    hki_reduction plan;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, w.samples, 2 * w.channels);
    hki_reduction_run(&plan, sums, w.sums, HK_FLOAT, scratch, r->pool, r->k);
    memcpy(r->out[1]->data, sums, size);
    memcpy(r->out[2]->data, sums + w.channels, size);
    return NULL;
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

static size_t grad_scratch_any(const hki_run *r)
{
    const hk_tensor *x = r->in[1];
    hki_reduction plan;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, x->dims[0], 2 * x->dims[1]);
    return hki_scratch_size((x->dims[0] + 1) * 2 * x->dims[1] + plan.scratch_count, sizeof(float));
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
    hk_attribute attributes[2] = {HK_FLOAT32("epsilon", hki_attribute_float(g->node, "epsilon"))};
    const hk_attribute *groups = hki_attribute_find(g->node, "num_groups");
    if (groups)
        attributes[1] = *groups;
    hk_value *parts[3];
    hk_graph_node(g->graph, "halka", "GroupNormGrad", NULL, 3, (hk_value *[]){g->dy[0], g->x[0], g->x[1]},
                  groups ? 2 : 1, attributes, 3, parts);
    memcpy(g->dx, parts, sizeof parts);
    return NULL;
}

static hk_status grad_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    hki_type_copy(&c->out[1], c->in[2]);
    hki_type_copy(&c->out[2], c->in[2]);
    return NULL;
}

/* In opset 18 scale and bias had one number per group: repeat them over the channels of the group. */
static hk_status parameters_per_channel(hki_draft *draft)
{
    hk_graph *g = draft->graph;
    const hk_attribute *a = hki_draft_attribute(draft, "num_groups");
    const hki_type *x = draft->inputs[0] ? &draft->inputs[0]->type : NULL;
    if (!a || !x || x->rank < 2 || x->dims[1] < 0 || a->as.i < 1 || x->dims[1] % a->as.i)
        return HK_ERR(HK_UNSUPPORTED, "GroupNormalization of opset 18 needs a known number of channels");
    int64_t column[] = {a->as.i, 1}, matrix[] = {a->as.i, x->dims[1] / a->as.i}, flat[] = {-1};
    for (int i = 1; i < 3 && i < draft->input_count; i++) {
        hk_value *v = hki_binary(g, "Reshape", draft->inputs[i], hki_ints_constant(g, 2, column));
        v = hki_binary(g, "Expand", v, hki_ints_constant(g, 2, matrix));
        HK_TRY(hki_draft_set_input(draft, i, hki_binary(g, "Reshape", v, hki_ints_constant(g, 1, flat))));
    }
    return hk_graph_status(g);
}

static hk_status drop_consumed_inputs(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "consumed_inputs");
    return NULL;
}

static const hki_case instance_cases[] = {
    {"f[2,3,4] f[3] f[3]", NULL}, {"f[2,2,3,6] f[2] f[2]", "epsilon=0.01"}, {"f[1,1,20] f[1] f[1]", NULL},
    {"f[0,2,3] f[2] f[2]", NULL}, {NULL, NULL},
};
static const hki_case group_cases[] = {
    {"f[2,4,3] f[4] f[4]", "num_groups=2"}, {"f[2,6,2,5] f[6] f[6]", "num_groups=3 epsilon=0.01"},
    {"f[1,3,4] f[3] f[3]", "num_groups=1"}, {"f[2,4] f[4] f[4]", "num_groups=2"},
    {"f[0,2,3] f[2] f[2]", "num_groups=2"}, {NULL, NULL},
};

#define GROUP_INPUTS {"X", "T", HKI_FLOATS, 0}, {"scale", "T", HKI_FLOATS, 0}, {"bias", "T", HKI_FLOATS, 0}

const hki_op hki_op_group_norm_grad = {
    .name = "GroupNormGrad",
    .domain = "halka",
    .doc = "gradients of GroupNormalization (without num_groups: InstanceNormalization) with respect to its inputs",
    .inputs = {{"dY", "T", HKI_FLOATS, 0}, {"X", "T", HKI_FLOATS, 0}, {"scale", "T", HKI_FLOATS, 0}},
    .outputs = {{"dX", "T", HKI_FLOATS, 0}, {"dscale", "T", HKI_FLOATS, 0}, {"dbias", "T", HKI_FLOATS, 0}},
    .attributes = {{"epsilon", HK_ATTRIBUTE_FLOAT, {.f = 1e-5f}, false},
                   {"num_groups", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .infer = grad_infer,
    .run = grad_run,
    .scratch = grad_scratch,
    .flops = flops,
};

const hki_op hki_op_instance_normalization = {
    .name = "InstanceNormalization",
    .doc = "y = (x - mean) / sqrt(var + epsilon) scale + B, moments per sample and channel",
    .inputs = {{"input", "T", HKI_FLOATS, 0}, {"scale", "T", HKI_FLOATS, 0}, {"B", "T", HKI_FLOATS, 0}},
    .outputs = {{"output", "T", HKI_FLOATS, 0}},
    .attributes = {{"epsilon", HK_ATTRIBUTE_FLOAT, {.f = 1e-5f}, false}},
    .versions = {{1, drop_consumed_inputs}, {6, NULL}, {22, NULL}},
    .infer = infer,
    .run = forward_run,
    .scratch = forward_scratch,
    .grad = grad,
    .flops = flops,
    .cases = instance_cases,
};

const hki_op hki_op_group_normalization = {
    .name = "GroupNormalization",
    .doc = "y = (x - mean) / sqrt(var + epsilon) scale + bias, moments per sample and group of channels",
    .inputs = {GROUP_INPUTS},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {{"epsilon", HK_ATTRIBUTE_FLOAT, {.f = 1e-5f}, false},
                   {"num_groups", HK_ATTRIBUTE_INT, {.i = 0}, true},
                   {"stash_type", HK_ATTRIBUTE_INT, {.i = HK_FLOAT}, false}},
    .versions = {{18, parameters_per_channel}, {21, NULL}},
    .infer = infer,
    .run = forward_run,
    .scratch = forward_scratch,
    .grad = grad,
    .flops = flops,
    .cases = group_cases,
};
