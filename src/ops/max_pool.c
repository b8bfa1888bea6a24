/* MaxPool with its Indices output, GlobalMaxPool, and their gradient, which finds the first maximum of each window
 * again from x. */
#include <math.h>
#include <string.h>

#include "ops/pool_visitors.h"
#include "ops/reduction.h"
#include "ops/widen.h"

/* ---- Forward. ---- */

static hk_status infer(hki_infer *c)
{
    HK_TRY(hki_pooling_infer(&c->out[0], c->node, c->in[0]));
    if (c->output_count > 1) {
        hki_type_copy(&c->out[1], &c->out[0]);
        c->out[1].dtype = HK_INT64;
    }
    return NULL;
}

/* Position of spatial element `pixel` (row-major) in ONNX's Indices; storage order 1 is column-major. */
static int64_t index_of_pixel(const hki_pooling *p, int64_t pixel, bool column_major)
{
    int64_t at[HKI_POOL_DIMS], index = 0;
    if (!column_major)
        return pixel;
    for (int d = p->rank - 1; d >= 0; d--) {
        at[d] = pixel % p->in[d];
        pixel /= p->in[d];
    }
    for (int d = p->rank - 1; d >= 0; d--)
        index = index * p->in[d] + at[d];
    return index;
}

/* Writes the place of each window's first maximum into the plain tensor `extra`. */
static void visit_indices(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    const hki_pooling *p = w->pooling;
    hk_tensor *indices = w->extra;
    bool column_major = hki_attribute_int(w->run->node, "storage_order") != 0, is_float = w->x->dtype == HK_FLOAT;
    int64_t in_pixels = hki_shape_count(p->in, 0, p->rank), out_pixels = hki_shape_count(p->out, 0, p->rank);
    int64_t channels = w->x->dims[1], sample = y_offset / (out_pixels * channels);
    int64_t first = y_offset % (out_pixels * channels) / w->pixel_stride;
    for (int64_t i = 0; i < t->pixels * t->channels; i++) {
        int64_t c = i / t->pixels, out = i % t->pixels, best = 0;
        int64_t from = x_offset + c * w->x_channel_stride + out * t->x_step;
        double max = -INFINITY;
        for (int64_t k = 0; k < t->tap_count; k++) {
            int64_t at = from + t->taps[k];
            double v = is_float ? (double)((const float *)w->x->data)[at] : ((const double *)w->x->data)[at];
            if (k == 0 || v > max || v != v) {
                max = v;
                best = (t->taps[k] + out * t->x_step) / w->pixel_stride;
            }
        }
        int64_t plane = sample * channels + c;
        ((int64_t *)indices->data)[plane * out_pixels + first + out] =
            plane * in_pixels + index_of_pixel(p, best, column_major);
    }
}

static hk_status run_any(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hki_pooling p;
    HK_TRY(hki_pooling_read(&p, r->node, x->rank, x->dims));
    HK_TRY(hki_pool_run_kind(HKI_POOL_MAX, &p, r, x, r->out[0], NULL));
    if (r->output_count < 2 || !r->out[1])
        return NULL;
    hki_pool_walk walk = {
        .pooling = &p, .x = x, .y = r->out[0], .visit = visit_indices, .run = r, .extra = r->out[1]};
    return hki_pool_walk_run(&walk);
}

static hk_status run(hki_run *r)
{
    return hki_run_float(r, run_any);
}

/* For forward runs and gradients: input 0 of the former, the last input of the latter has the dims of x. */
static size_t scratch_any(const hki_run *r)
{
    const hk_tensor *x = r->in[r->input_count - 1];
    hki_pooling p;
    hk_status status = hki_pooling_read(&p, r->node, x->rank, x->dims);
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

/* ---- Gradient. ---- */

static hk_status grad(hki_grad *g)
{
    if (g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "halka.MaxPoolGrad", HK_VALUES(g->dy[0], g->x[0]),
                                  g->node->attribute_count, g->node->attributes);
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
    HK_TRY(hki_pooling_read(&p, r->node, r->in[1]->rank, r->in[1]->dims));
    return hki_pool_run_kind(HKI_POOL_MAX_GRAD, &p, r, r->out[0], r->in[0], r->in[1]);
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

#define MAX_POOL_ATTRIBUTES                                                                                         \
    {"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false}, {"ceil_mode", HK_ATTRIBUTE_INT, {.i = 0}, false},     \
        {"dilations", HK_ATTRIBUTE_INTS, {0}, false}, {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, true},                \
        {"pads", HK_ATTRIBUTE_INTS, {0}, false}, {"storage_order", HK_ATTRIBUTE_INT, {.i = 0}, false},               \
        {"strides", HK_ATTRIBUTE_INTS, {0}, false}

static const hki_case cases[] = {
    {"f[2,3,6]{distinct}", "kernel_shape=[2] strides=[2]"},
    {"f[1,1,5,4]{distinct}", "kernel_shape=[3,2] pads=[1,0,1,1]"},
    {"f[2,20,6,5]{distinct}", "kernel_shape=[2,2] strides=[2,2]"},
    {"f[1,2,7,7]{distinct}", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] ceil_mode=1"},
    {"f[1,2,7,8]{distinct}", "kernel_shape=[2,2] dilations=[2,3] strides=[1,2]"},
    {"f[1,2,5,6]{distinct}", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER"},
    {"f[1,2,5,6]{distinct}", "kernel_shape=[2,3] auto_pad=SAME_LOWER"},
    {"f[1,2,3,4,5]{distinct}", "kernel_shape=[2,2,2] strides=[1,2,2]"},
    {"f[0,2,4,4]{distinct}", "kernel_shape=[2,2]"},
    {NULL, NULL},
};

const hki_op hki_op_max_pool_grad = {
    .name = "MaxPoolGrad",
    .domain = "halka",
    .doc = "dx = dy at the first maximum of each window, 0 elsewhere",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {MAX_POOL_ATTRIBUTES},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 3,
    .channels_last_out = 1,
    .infer = grad_infer,
    .run = grad_run,
    .scratch = scratch,
};

#define MAX_POOL_TYPES (HKI_FLOATS | HKI_BIT(HK_INT8) | HKI_BIT(HK_UINT8))

const hki_op hki_op_max_pool = {
    .name = "MaxPool",
    .doc = "maximum of each window over the spatial dims",
    .inputs = {{"X", "T", MAX_POOL_TYPES, 0}},
    .outputs = {{"Y", "T", MAX_POOL_TYPES, 0}, {"Indices", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .attributes = {MAX_POOL_ATTRIBUTES},
    .versions = {{1, NULL}, {8, NULL}, {10, NULL}, {11, NULL}, {12, NULL}, {22, NULL}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .flops = flops,
    .cases = cases,
};

/* ---- GlobalMaxPool. ---- */

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
    hki_reduction_plan(plan, HKK_MAX, x, spatial);
}

static hk_status global_any(hki_run *r)
{
    hki_reduction plan;
    plan_global(&plan, r->in[0]);
    hki_reduction_run(&plan, r->out[0]->data, r->in[0]->data, r->in[0]->dtype, r->scratch, r->pool, r->k);
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
    g->dx[0] = hki_binary(g->graph, "halka.GlobalMaxPoolGrad", g->dy[0], g->x[0]);
    return NULL;
}

static hk_status global_grad_any(hki_run *r)
{
    hki_pooling p;
    hki_pooling_global(&p, r->in[1]->rank, r->in[1]->dims);
    return hki_pool_run_kind(HKI_POOL_MAX_GRAD, &p, r, r->out[0], r->in[0], r->in[1]);
}

static hk_status global_grad_run(hki_run *r)
{
    return hki_run_float(r, global_grad_any);
}

static size_t global_grad_scratch_any(const hki_run *r)
{
    hki_pooling p;
    hki_pooling_global(&p, r->in[1]->rank, r->in[1]->dims);
    return hki_pool_scratch(&p, r->threads);
}

static size_t global_grad_scratch(const hki_run *r)
{
    return hki_float_scratch(r, global_grad_scratch_any);
}

static const hki_case global_cases[] = {
    {"f[2,3,4]{distinct}", NULL}, {"f[2,17,3,4]{distinct}", NULL}, {"f[1,1,2,2,3]{distinct}", NULL},
    {"f[2,3,1,1]{distinct}", NULL}, {"f[0,3,2,2]{distinct}", NULL}, {NULL, NULL},
};

const hki_op hki_op_global_max_pool_grad = {
    .name = "GlobalMaxPoolGrad",
    .domain = "halka",
    .doc = "dx = dy at the first maximum of each channel, 0 elsewhere",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 3,
    .channels_last_out = 1,
    .infer = grad_infer,
    .run = global_grad_run,
    .scratch = global_grad_scratch,
};

const hki_op hki_op_global_max_pool = {
    .name = "GlobalMaxPool",
    .doc = "maximum over the spatial dims",
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
