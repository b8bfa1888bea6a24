/* ConvTranspose and its private backward operators. It is the backward pass of a convolution that leads from its result
 * to X, so its own gradients are the forward pass and the backward weights of that convolution. */
#include "ops/convolution_node.h"
#include "ops/widen.h"

static hk_status read_shape(hkk_convolution *s, const hki_run *r, int x, int w)
{
    return hki_convolution_read_transposed(s, r->node, r->in[x]->rank, r->in[x]->dims, r->in[w]->dims);
}

/* Runs or measures one of the three passes: which inputs are x and w (for their dims), and what they are to the pass.
 */
typedef enum role { ROLE_RESULT, ROLE_GRAD_INPUT, ROLE_GRAD_WEIGHT } role;

static hk_status visit(size_t *out_scratch, const hki_run *r, role what)
{
    hkk_convolution s;
    HK_TRY(read_shape(&s, r,
                      what == ROLE_RESULT       ? 0
                      : what == ROLE_GRAD_INPUT ? 2
                                                : 1,
                      what == ROLE_GRAD_WEIGHT ? 2 : 1));
    if (what == ROLE_GRAD_WEIGHT) {
        hki_convolution_weights pass = {.run = r, .shape = &s, .x = r->in[0], .dy = r->in[1], .dw = r->out[0]};
        if (out_scratch)
            *out_scratch = hki_convolution_weights_scratch(&pass);
        else
            hki_convolution_weights_run(&pass, r->scratch);
        return NULL;
    }
    hki_convolution_pass pass = {.run = r, .shape = &s, .from = r->in[0], .w = r->in[1], .to = r->out[0]};
    pass.direction = what == ROLE_RESULT ? HKK_CONVOLUTION_BACKWARD_DATA : HKK_CONVOLUTION_FORWARD;
    pass.bias = what == ROLE_RESULT && r->input_count > 2 ? r->in[2] : NULL;
    pass.packed = what == ROLE_RESULT && r->packed ? r->packed[1] : NULL;
    if (out_scratch)
        *out_scratch = hki_convolution_scratch(&pass);
    else
        hki_convolution_run(&pass, r->scratch);
    return NULL;
}

#define PASS_FNS(name, what)                                                                                    \
    static hk_status name##_any(hki_run *r)                                                                     \
    {                                                                                                           \
        return visit(NULL, r, what);                                                                            \
    }                                                                                                           \
    static hk_status name##_run(hki_run *r)                                                                     \
    {                                                                                                           \
        return hki_run_half(r, name##_any);                                                                     \
    }                                                                                                           \
    static size_t name##_scratch_any(const hki_run *r)                                                          \
    {                                                                                                           \
        size_t size = 0;                                                                                        \
        hk_status_free(visit(&size, r, what)); /* infer has refused what fails here */                          \
        return size;                                                                                            \
    }                                                                                                           \
    static size_t name##_scratch(const hki_run *r)                                                              \
    {                                                                                                           \
        return hki_half_scratch(r, name##_scratch_any);                                                         \
    }
PASS_FNS(result, ROLE_RESULT)
PASS_FNS(input, ROLE_GRAD_INPUT)
PASS_FNS(weight, ROLE_GRAD_WEIGHT)

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0], *w = c->in[1];
    hki_type *y = &c->out[0];
    hkk_convolution s;
    if (x->rank < 0 || w->rank < 0)
        return NULL;
    if (x->rank != w->rank)
        return HK_ERR(HK_INVALID_SHAPE, "X has rank %d but W has rank %d", x->rank, w->rank);
    HK_TRY(hki_convolution_read_transposed(&s, c->node, x->rank, x->dims, w->dims));
    if (hki_infer_has(c, 2) && c->in[2]->rank >= 0) {
        int64_t m;
        if (c->in[2]->rank != 1)
            return HK_ERR(HK_INVALID_SHAPE, "B has rank %d, expected 1", c->in[2]->rank);
        HK_TRY(hki_dim_merge(&m, c->in[2]->dims[0], s.C));
    }
    y->rank = x->rank;
    y->dims[0] = x->dims[0];
    y->dims[1] = s.C;
    for (int d = 2; d < x->rank; d++)
        y->dims[d] = s.in[3 - (x->rank - 2) + d - 2];
    return NULL;
}

static hk_status input_infer(hki_infer *c)
{
    return hki_convolution_infer_grad(c, 2, 1, true);
}

static hk_status weight_infer(hki_infer *c)
{
    return hki_convolution_infer_grad(c, 1, 2, true);
}

static size_t packed_size(const hki_run *r, int input)
{
    hkk_convolution s;
    if (input != 1)
        return 0;
    hk_status status = read_shape(&s, r, 0, 1);
    hk_status_free(status);
    return status ? 0 : hki_convolution_packed_size(&s, HKK_CONVOLUTION_BACKWARD_DATA, r->in[1]->dtype);
}

static void pack(const hki_run *r, int input, void *to)
{
    hkk_convolution s;
    hk_status status = read_shape(&s, r, 0, 1);
    hk_status_free(status);
    if (!status)
        hki_convolution_pack(to, r, &s, HKK_CONVOLUTION_BACKWARD_DATA, r->in[input]->data);
}

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

static double input_flops(const hki_run *r)
{
    return pass_flops(r, 2, 1);
}

static double weight_flops(const hki_run *r)
{
    return pass_flops(r, 1, 2);
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
        g->dx[0] = same_attributes(g, "halka.ConvTransposeGradInput", dy, w, x);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvTransposeGradWeight", dy, x, w);
    if (g->node->input_count > 2 && g->x[2] && g->need[2])
        g->dx[2] = hki_unary(g->graph, "halka.ConvGradBias", dy);
    return NULL;
}

static hk_status input_grad(hki_grad *g)
{
    hk_value *dy = g->x[0], *w = g->x[1], *ddx = g->dy[0];
    if (g->need[0])
        g->dx[0] = same_attributes(g, "ConvTranspose", ddx, w, NULL);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvTransposeGradWeight", dy, ddx, w);
    return NULL;
}

static hk_status weight_grad(hki_grad *g)
{
    hk_value *dy = g->x[0], *x = g->x[1], *ddw = g->dy[0];
    if (g->need[0])
        g->dx[0] = same_attributes(g, "ConvTranspose", x, ddw, NULL);
    if (g->need[1])
        g->dx[1] = same_attributes(g, "halka.ConvTransposeGradInput", dy, ddw, x);
    return NULL;
}

#define TRANSPOSE_ATTRIBUTES                                                                                        \
    {"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false}, {"dilations", HK_ATTRIBUTE_INTS, {0}, false},         \
        {"group", HK_ATTRIBUTE_INT, {.i = 1}, false}, {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, false},               \
        {"output_padding", HK_ATTRIBUTE_INTS, {0}, false}, {"output_shape", HK_ATTRIBUTE_INTS, {0}, false},          \
        {"pads", HK_ATTRIBUTE_INTS, {0}, false}, {"strides", HK_ATTRIBUTE_INTS, {0}, false}

static const hki_case cases[] = {
    {"f[1,3,5] f[3,2,3] f[2]", NULL},
    {"f[2,3,4,3] f[3,2,3,2] f[2]", "strides=[2,3] pads=[1,0,1,1]"},
    {"f[1,2,3,3] f[2,3,3,3]", "strides=[2,2] output_padding=[1,1] pads=[1,1,1,1]"},
    {"f[1,2,3,3] f[2,3,3,3]", "strides=[3,2] output_shape=[10,8]"},
    {"f[1,2,3,4] f[2,3,3,3]", "strides=[2,2] auto_pad=SAME_UPPER"},
    {"f[1,2,3,4] f[2,3,4,3]", "strides=[2,2] auto_pad=SAME_LOWER"},
    {"f[1,2,3,3] f[2,3,2,2]", "dilations=[2,3]"},
    {"f[1,4,3,3] f[4,3,3,3] f[6]", "group=2"},
    {"f[1,4,3,3] f[4,1,3,3] f[4]", "group=4 strides=[2,2]"},
    {"f[1,2,2,3,2] f[2,2,2,2,2]", "strides=[1,2,1]"},
    {"f[1,2,3,3] f[2,3,1,2]", "strides=[2,3]"},
    {"f[1,2,3,3] f[2,2,2,2]", "dilations=[3,3] output_padding=[2,2]"},
    {"f[0,2,3,3] f[2,3,3,3]", NULL},
    {NULL, NULL},
};
static const hki_case input_cases[] = {
    {"f[1,2,6,5] f[3,2,3,2] f[1,3,3,2]!", "strides=[2,3] pads=[0,0,1,0]"},
    {NULL, NULL},
};
static const hki_case weight_cases[] = {
    {"f[1,2,6,5] f[1,3,3,2] f[3,2,3,2]!", "strides=[2,3] pads=[0,0,1,0]"},
    {NULL, NULL},
};

const hki_op hki_op_conv_transpose = {
    .name = "ConvTranspose",
    .doc = "transposed convolution of X (N, C, spatial...) with W (C, M/group, kernel...), + B per channel",
    .inputs = {{"X", "T", HKI_FLOATS, 0}, {"W", "T", HKI_FLOATS, 0}, {"B", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {TRANSPOSE_ATTRIBUTES},
    .versions = {{1, NULL}, {11, NULL}, {22, NULL}},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1,
    .channels_last_out = 1,
    .infer = infer,
    .run = result_run,
    .scratch = result_scratch,
    .packed_size = packed_size,
    .pack = pack,
    .grad = grad,
    .flops = flops,
    .cases = cases,
};

const hki_op hki_op_conv_transpose_grad_input = {
    .name = "ConvTransposeGradInput",
    .domain = "halka",
    .doc = "the gradient of ConvTranspose with respect to X",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"w", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {TRANSPOSE_ATTRIBUTES},
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

const hki_op hki_op_conv_transpose_grad_weight = {
    .name = "ConvTransposeGradWeight",
    .domain = "halka",
    .doc = "the gradient of ConvTranspose with respect to W",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}, {"w", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dw", "T", HKI_FLOATS, 0}},
    .attributes = {TRANSPOSE_ATTRIBUTES},
    .layout = HKI_LAYOUT_CHANNELS_LAST,
    .channels_last_in = 1 | 2,
    .infer = weight_infer,
    .run = weight_run,
    .scratch = weight_scratch,
    .grad = weight_grad,
    .flops = weight_flops,
    .cases = weight_cases,
};
