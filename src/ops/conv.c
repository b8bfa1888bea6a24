/* Conv and its private backward operators: halka.ConvGradInput, ConvGradWeight, ConvGradBias. */
#include "ops/convolution_node.h"
#include "ops/reduction.h"
#include "ops/widen.h"

/* Which inputs give the dims of x and w. */
static hk_status read_shape(hkk_convolution *s, const hki_run *r, int x, int w)
{
    return hki_convolution_read(s, r->node, r->in[x]->rank, r->in[x]->dims, r->in[w]->dims);
}

/* ---- Conv. ---- */

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0], *w = c->in[1];
    hki_type *y = &c->out[0];
    hkk_convolution s;
    if (x->rank < 0 || w->rank < 0)
        return NULL;
    if (x->rank != w->rank)
        return HK_ERR(HK_INVALID_SHAPE, "X has rank %d but W has rank %d", x->rank, w->rank);
    HK_TRY(hki_convolution_read(&s, c->node, x->rank, x->dims, w->dims));
    if (hki_infer_has(c, 2) && c->in[2]->rank >= 0) {
        int64_t m;
        if (c->in[2]->rank != 1)
            return HK_ERR(HK_INVALID_SHAPE, "B has rank %d, expected 1", c->in[2]->rank);
        HK_TRY(hki_dim_merge(&m, c->in[2]->dims[0], w->dims[0]));
    }
    y->rank = x->rank;
    y->dims[0] = x->dims[0];
    y->dims[1] = w->dims[0];
    for (int d = 2; d < x->rank; d++)
        y->dims[d] = s.out[3 - (x->rank - 2) + d - 2];
    return NULL;
}

static hki_convolution_pass forward_pass(const hki_run *r, const hkk_convolution *s)
{
    return (hki_convolution_pass){.run = r,
                                  .shape = s,
                                  .direction = HKK_CONVOLUTION_FORWARD,
                                  .from = r->in[0],
                                  .w = r->in[1],
                                  .bias = r->input_count > 2 ? r->in[2] : NULL,
                                  .to = r->out[0],
                                  .packed = r->packed ? r->packed[1] : NULL};
}

static hk_status run_any(hki_run *r)
{
    hkk_convolution s;
    HK_TRY(read_shape(&s, r, 0, 1));
    hki_convolution_pass pass = forward_pass(r, &s);
    hki_convolution_run(&pass, r->scratch);
    return NULL;
}

static size_t scratch_any(const hki_run *r)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, 0, 1);
    hk_status_free(status); /* infer has refused it before */
    if (status)
        return 0;
    hki_convolution_pass pass = forward_pass(r, &s);
    return hki_convolution_scratch(&pass);
}

static hk_status run(hki_run *r)
{
    return hki_run_half(r, run_any);
}

static size_t scratch(const hki_run *r)
{
    return hki_half_scratch(r, scratch_any);
}

static size_t packed_size(const hki_run *r, int input)
{
    hkk_convolution s;
    if (input != 1)
        return 0;
    hk_status status = read_shape(&s, r, 0, 1);
    hk_status_free(status);
    return status ? 0 : hki_convolution_packed_size(&s, HKK_CONVOLUTION_FORWARD, r->in[1]->dtype);
}

static void pack(const hki_run *r, int input, void *to)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, 0, 1);
    hk_status_free(status);
    if (!status)
        hki_convolution_pack(to, r, &s, HKK_CONVOLUTION_FORWARD, r->in[input]->data);
}

/* Multiply-adds of one pass, counted twice; x and w as in read_shape. */
static double pass_flops(const hki_run *r, int x, int w)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, x, w);
    hk_status_free(status);
    return status ? 0 : 2.0 * (double)s.batch * (double)s.out_pixels * (double)s.M * (double)s.group_c * (double)s.taps;
}

static double flops(const hki_run *r)
{
    return pass_flops(r, 0, 1);
}

static hk_value *same_attributes(hki_grad *g, const char *op, hk_value *a, hk_value *b, hk_value *c)
{
    hk_value *inputs[] = {a, b, c};
    return a && b ? hk_graph_apply(g->graph, op, c ? 3 : 2, inputs, g->node->attribute_count, g->node->attributes)
                  : NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *x = g->x[0], *w = g->x[1], *dy = g->dy[0];
    if (g->need[0])
        g->dx[0] = same_attributes(g, "halka.ConvGradInput", dy, w, x);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvGradWeight", dy, x, w);
    if (g->node->input_count > 2 && g->x[2] && g->need[2])
        g->dx[2] = hki_unary(g->graph, "halka.ConvGradBias", dy);
    return NULL;
}

/* ---- ConvGradInput: dx from dy, w, and x for its shape. ---- */

static hk_status input_infer(hki_infer *c)
{
    return hki_convolution_infer_grad(c, 2, 1, false);
}

static hki_convolution_pass input_pass(const hki_run *r, const hkk_convolution *s)
{
    return (hki_convolution_pass){.run = r,
                                  .shape = s,
                                  .direction = HKK_CONVOLUTION_BACKWARD_DATA,
                                  .from = r->in[0],
                                  .w = r->in[1],
                                  .to = r->out[0]};
}

static hk_status input_any(hki_run *r)
{
    hkk_convolution s;
    HK_TRY(read_shape(&s, r, 2, 1));
    hki_convolution_pass pass = input_pass(r, &s);
    hki_convolution_run(&pass, r->scratch);
    return NULL;
}

static size_t input_scratch_any(const hki_run *r)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, 2, 1);
    hk_status_free(status);
    if (status)
        return 0;
    hki_convolution_pass pass = input_pass(r, &s);
    return hki_convolution_scratch(&pass);
}

static hk_status input_run(hki_run *r)
{
    return hki_run_half(r, input_any);
}

static size_t input_scratch(const hki_run *r)
{
    return hki_half_scratch(r, input_scratch_any);
}

static double input_flops(const hki_run *r)
{
    return pass_flops(r, 2, 1);
}

static hk_status input_grad(hki_grad *g)
{
    hk_value *dy = g->x[0], *w = g->x[1], *ddx = g->dy[0];
    if (g->need[0])
        g->dx[0] = same_attributes(g, "Conv", ddx, w, NULL);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvGradWeight", dy, ddx, w);
    return NULL;
}

/* ---- ConvGradWeight: dw from dy, x, and w for its shape. ---- */

static hk_status weight_infer(hki_infer *c)
{
    return hki_convolution_infer_grad(c, 1, 2, false);
}

static hki_convolution_weights weight_pass(const hki_run *r, const hkk_convolution *s)
{
    return (hki_convolution_weights){.run = r, .shape = s, .x = r->in[1], .dy = r->in[0], .dw = r->out[0]};
}

static hk_status weight_any(hki_run *r)
{
    hkk_convolution s;
    HK_TRY(read_shape(&s, r, 1, 2));
    hki_convolution_weights pass = weight_pass(r, &s);
    hki_convolution_weights_run(&pass, r->scratch);
    return NULL;
}

static size_t weight_scratch_any(const hki_run *r)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, 1, 2);
    hk_status_free(status);
    if (status)
        return 0;
    hki_convolution_weights pass = weight_pass(r, &s);
    return hki_convolution_weights_scratch(&pass);
}

static hk_status weight_run(hki_run *r)
{
    return hki_run_half(r, weight_any);
}

static size_t weight_scratch(const hki_run *r)
{
    return hki_half_scratch(r, weight_scratch_any);
}

static double weight_flops(const hki_run *r)
{
    return pass_flops(r, 1, 2);
}

static hk_status weight_grad(hki_grad *g)
{
    hk_value *dy = g->x[0], *x = g->x[1], *ddw = g->dy[0];
    if (g->need[0])
        g->dx[0] = same_attributes(g, "Conv", x, ddw, NULL);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvGradInput", dy, ddw, x);
    return NULL;
}

/* ---- ConvGradBias: the sum of dy over all dims but the channels. ---- */

static hk_status bias_infer(hki_infer *c)
{
    const hki_type *dy = c->in[0];
    c->out[0].rank = 1;
    c->out[0].dims[0] = dy->rank > 1 ? dy->dims[1] : HKI_DIM_UNKNOWN;
    return NULL;
}

static void plan_bias(hki_reduction *plan, const hk_tensor *dy)
{
    static const bool reduced[HK_MAX_RANK] = {true, false, true, true, true, true, true, true};
    hki_reduction_plan(plan, HKK_SUM, dy, reduced);
}

static hk_status bias_any(hki_run *r)
{
    hki_reduction plan;
    plan_bias(&plan, r->in[0]);
    hki_reduction_run(&plan, r->out[0]->data, r->in[0]->data, r->in[0]->dtype, r->scratch, r->pool, r->k);
    return NULL;
}

static size_t bias_scratch_any(const hki_run *r)
{
    hki_reduction plan;
    plan_bias(&plan, r->in[0]);
    return hki_scratch_size(plan.scratch_count, hk_dtype_size(r->in[0]->dtype));
}

static hk_status bias_run(hki_run *r)
{
    return hki_run_float(r, bias_any);
}

static size_t bias_scratch(const hki_run *r)
{
    return hki_float_scratch(r, bias_scratch_any);
}

/* Every element of a channel of dy gets the channel's gradient. */
static hk_status bias_grad(hki_grad *g)
{
    hk_value *dy = g->x[0];
    if (dy->type.rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "the gradient of a bias gradient needs a known rank");
    int64_t axes[HK_MAX_RANK] = {0}, count = 0;
    for (int64_t d = 0; d < dy->type.rank; d++)
        if (d != 1)
            axes[count++] = d;
    hk_value *column = hki_binary(g->graph, "Unsqueeze", g->dy[0], hki_ints_constant(g->graph, count, axes));
    g->dx[0] = hki_binary(g->graph, "Expand", column, hki_unary(g->graph, "Shape", dy));
    return NULL;
}

/* ---- Descriptors. ---- */

#define CONV_ATTRIBUTES                                                                                        \
    {"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false}, {"dilations", HK_ATTRIBUTE_INTS, {0}, false},    \
        {"group", HK_ATTRIBUTE_INT, {.i = 1}, false}, {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, false},          \
        {"pads", HK_ATTRIBUTE_INTS, {0}, false}, {"strides", HK_ATTRIBUTE_INTS, {0}, false}

static const hki_case cases[] = {
    {"f[2,3,7] f[4,3,3] f[4]", NULL},
    {"f[2,3,5,6] f[4,3,3,2] f[4]", "pads=[1,0,1,1]"},
    {"f[1,2,7,6] f[3,2,3,3]", "strides=[2,3] pads=[1,1,0,2]"},
    {"f[1,2,9,8] f[3,2,3,2]", "dilations=[2,3] strides=[1,2]"},
    {"f[1,2,6,5] f[3,2,3,3]", "auto_pad=SAME_UPPER strides=[2,2]"},
    {"f[1,2,6,5] f[3,2,2,3]", "auto_pad=SAME_LOWER"},
    {"f[1,2,6,5] f[3,2,2,3]", "auto_pad=VALID kernel_shape=[2,3]"},
    {"f[1,4,5,5] f[6,2,3,3] f[6]", "group=2 pads=[1,1,1,1]"},
    {"f[2,5,5,6] f[5,1,3,3] f[5]", "group=5 pads=[1,1,1,1] strides=[2,1]"},
    {"f[1,3,4,4] f[6,1,3,3]", "group=3"},
    {"f[1,2,3,4,5] f[2,2,2,2,3]", "strides=[1,2,1] pads=[1,0,1,0,1,1]"},
    {"f[2,9,4,4] f[20,9,1,1] f[20]", NULL},
    {"f[1,1,2,2] f[2,1,4,4]", "pads=[2,2,2,2]"},
    {"f[0,2,4,4] f[3,2,3,3] f[3]", NULL},
    {"f[3,12,20,20] f[33,12,3,3] f[33]", "pads=[1,1,1,1]"},
    {NULL, NULL},
};
static const hki_case input_cases[] = {
    {"f[1,3,5,6] f[3,2,3,2] f[1,2,5,6]!", "pads=[1,0,1,1]"},
    {"f[1,4,2,2] f[4,1,3,3] f[1,2,5,5]!", "group=2 strides=[2,2]"},
    {NULL, NULL},
};
static const hki_case weight_cases[] = {
    {"f[1,3,5,6] f[1,2,5,6] f[3,2,3,2]!", "pads=[1,0,1,1]"},
    {"f[1,4,2,2] f[1,2,5,5] f[4,1,3,3]!", "group=2 strides=[2,2]"},
    {NULL, NULL},
};
static const hki_case bias_cases[] = {{"f[2,3,4,5]", NULL}, {"f[2,17,4]", NULL}, {"f[0,3,2,2]", NULL}, {NULL, NULL}};

const hki_op hki_op_conv = {
    .name = "Conv",
    .doc = "convolution of X (N, C, spatial...) with W (M, C/group, kernel...), + B per channel",
    .inputs = {{"X", "T", HKI_FLOATS, 0}, {"W", "T", HKI_FLOATS, 0}, {"B", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {CONV_ATTRIBUTES},
    .versions = {{1, NULL}, {11, NULL}, {22, NULL}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .packed_size = packed_size,
    .pack = pack,
    .grad = grad,
    .flops = flops,
    .cases = cases,
};

const hki_op hki_op_conv_grad_input = {
    .name = "ConvGradInput",
    .domain = "halka",
    .doc = "the gradient of Conv with respect to X",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"w", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {CONV_ATTRIBUTES},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1 | 4,
    .channels_last_out = 1,
    .infer = input_infer,
    .run = input_run,
    .scratch = input_scratch,
    .grad = input_grad,
    .flops = input_flops,
    .cases = input_cases,
};

const hki_op hki_op_conv_grad_weight = {
    .name = "ConvGradWeight",
    .domain = "halka",
    .doc = "the gradient of Conv with respect to W",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}, {"w", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dw", "T", HKI_FLOATS, 0}},
    .attributes = {CONV_ATTRIBUTES},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1 | 2,
    .infer = weight_infer,
    .run = weight_run,
    .scratch = weight_scratch,
    .grad = weight_grad,
    .flops = weight_flops,
    .cases = weight_cases,
};

const hki_op hki_op_conv_grad_bias = {
    .name = "ConvGradBias",
    .domain = "halka",
    .doc = "the sum over all dims but the channels: the gradient of Conv with respect to B",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}},
    .outputs = {{"db", "T", HKI_FLOATS, 0}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .infer = bias_infer,
    .run = bias_run,
    .scratch = bias_scratch,
    .grad = bias_grad,
    .cases = bias_cases,
};
