/* Clip to an interval whose ends are inputs, PRelu, and Shrink. */
#include <string.h>

#include "ops/elementwise_op.h"

/* ---- Clip ---- */

/* The widest limits of a type, as bytes of one element. */
static void widest(void *low, void *high, hk_dtype dtype)
{
    size_t size = hk_dtype_size(dtype);
    bool is_signed = hki_dtype_is_signed(dtype);
    if (dtype == HK_DOUBLE) {
        *(double *)low = -(*(double *)high = (double)__builtin_inff());
    } else if (dtype == HK_FLOAT) {
        *(float *)low = -(*(float *)high = __builtin_inff());
    } else if (dtype == HK_FLOAT16 || dtype == HK_BFLOAT16) {
        *(uint16_t *)high = dtype == HK_FLOAT16 ? 0x7c00 : 0x7f80;
        *(uint16_t *)low = *(uint16_t *)high | 0x8000;
    } else { /* little-endian or not: the extreme byte is set through a wide integer */
        uint64_t all = size == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * size)) - 1, top = is_signed ? all >> 1 : all;
        uint64_t bottom = is_signed ? top + 1 : 0;
        for (size_t i = 0; i < size; i++) {
            size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;
            ((uint8_t *)low)[at] = (uint8_t)(bottom >> (8 * i));
            ((uint8_t *)high)[at] = (uint8_t)(top >> (8 * i));
        }
    }
}

/* Runs a row on `count` leading inputs followed by the limits at inputs `first` and first + 1, or the widest ones. */
static hk_status run_with_limits(hki_run *r, hkk_row_op op, int count)
{
    int64_t low, high;
    widest(&low, &high, r->in[0]->dtype);
    hk_tensor tensors[2] = {{.data = &low, .dtype = r->in[0]->dtype}, {.data = &high, .dtype = r->in[0]->dtype}};
    const hk_tensor *in[HKK_ROW_OPERANDS];
    for (int k = 0; k < count; k++)
        in[k] = r->in[k];
    for (int k = 0; k < 2; k++) {
        const hk_tensor *limit = count + k < r->input_count ? r->in[count + k] : NULL;
        if (limit) /* a scalar, or one element of any rank */
            tensors[k].data = limit->data;
        in[count + k] = &tensors[k];
    }
    return hki_run_row_on(r, op, count + 2, in, (double[3]){0});
}

static hk_status clip_run(hki_run *r)
{
    return run_with_limits(r, HKK_ROW_clip, 1);
}

static hk_status clip_backward_run(hki_run *r)
{
    return run_with_limits(r, HKK_ROW_clip_grad, 2);
}

static hk_status check_limits(hki_infer *c, int first)
{
    for (int i = first; i < first + 2; i++) {
        if (!hki_infer_has(c, i) || c->in[i]->rank < 0)
            continue;
        for (int d = 0; d < c->in[i]->rank; d++)
            if (c->in[i]->dims[d] >= 0 && c->in[i]->dims[d] != 1) {
                char text[HKI_SHAPE_TEXT];
                return HK_ERR(HK_INVALID_SHAPE, "input '%s': expected a scalar, found %s", i == first ? "min" : "max",
                              hki_shape_text(text, c->in[i]->dtype, c->in[i]->rank, c->in[i]->dims));
            }
    }
    return hki_infer_same(c);
}

static hk_status clip_infer(hki_infer *c)
{
    return check_limits(c, 1);
}

static hk_status clip_backward_infer(hki_infer *c)
{
    return check_limits(c, 2);
}

/* The part of dy where the result is a limit. */
static hk_value *limit_gradient(hki_grad *g, const char *comparison, hk_value *x, hk_value *limit)
{
    hk_value *beyond = hki_binary(g->graph, comparison, x, limit), *zero = hki_scalar_like(g->graph, g->dy[0], 0);
    if (!beyond || !zero)
        return NULL;
    hk_value *part = hk_graph_apply(g->graph, "Where", HK_VALUES(beyond, g->dy[0], zero), HK_NO_ATTRIBUTES);
    return hki_sum_to_shape(g->graph, part, limit);
}

static hk_status clip_grad(hki_grad *g)
{
    int count = g->node->input_count;
    hk_value *low = count > 1 ? g->x[1] : NULL, *high = count > 2 ? g->x[2] : NULL;
    hk_value *inputs[4] = {g->dy[0], g->x[0], low, high};
    if (g->need[0])
        hk_graph_node(g->graph, "halka", "ClipGrad", NULL, count + 1, inputs, HK_NO_ATTRIBUTES, 1, &g->dx[0]);
    if (low && g->need[1])
        g->dx[1] = limit_gradient(g, "Less", g->x[0], low);
    if (high && g->need[2])
        g->dx[2] = limit_gradient(g, "Greater", low ? hki_binary(g->graph, "Max", g->x[0], low) : g->x[0], high);
    return NULL;
}

static hk_status clip_from_6(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "consumed_inputs");
    hk_dtype dtype = draft->input_count && draft->inputs[0] ? draft->inputs[0]->type.dtype : HK_UNDEFINED;
    HK_TRY(hki_draft_float_to_input(draft, "min", 1, dtype ? dtype : HK_FLOAT));
    return hki_draft_float_to_input(draft, "max", 2, dtype ? dtype : HK_FLOAT);
}

static const hki_case clip_cases[] = {
    {"f[3,13] f[]=(-0.5) f[]=(1)", NULL},
    {"f[2,3,2,2] f[]=(-0.5)", NULL},
    {"f[5] - f[]=(0.25)", NULL},
    {"f[2,3]", NULL},
    {"f[] f[]=(-0.5) f[]=(1)", NULL},
    {"f[0,2] f[]=(-0.5) f[]=(1)", NULL},
    {"i64[3]=(1,-4,9) i64[]=(0) i64[]=(5)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_clip = {
    .name = "Clip",
    .doc = "output = min(max, max(min, input))",
    .inputs = {{"input", "T", HKI_NUMERIC, 0},
               {"min", "T", HKI_NUMERIC, HKI_OPTIONAL},
               {"max", "T", HKI_NUMERIC, HKI_OPTIONAL}},
    .outputs = {{"output", "T", HKI_NUMERIC, 0}},
    .versions = {{1, hki_upgrade_drop_consumed}, {6, clip_from_6}, {11, NULL}, {12, NULL}, {13, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = clip_infer,
    .run = clip_run,
    .grad = clip_grad,
    .cases = clip_cases,
};

const hki_op hki_op_clip_grad = {
    .name = "ClipGrad",
    .domain = "halka",
    .doc = "gradient of Clip: dx = min <= x <= max ? dy : 0",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"x", "T", HKI_FLOATS, 0}, {"min", "T", HKI_FLOATS, HKI_OPTIONAL},
               {"max", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = clip_backward_infer,
    .run = clip_backward_run,
};

/* ---- PRelu ---- */

HKI_RUN_ROW(prelu, prelu)

static hk_status prelu_infer(hki_infer *c)
{
    HK_TRY(hki_infer_elementwise(c));
    const hki_type *x = c->in[0], *y = &c->out[0];
    char text[2][HKI_SHAPE_TEXT];
    if (hki_type_known(x) && hki_type_known(y) && !hki_shape_equal(x->rank, x->dims, y->rank, y->dims))
        return HK_ERR(HK_INVALID_SHAPE, "slope %s does not broadcast to %s",
                      hki_shape_text(text[0], x->dtype, c->in[1]->rank, c->in[1]->dims),
                      hki_shape_text(text[1], x->dtype, x->rank, x->dims));
    if (x->rank >= 0)
        hki_type_copy(&c->out[0], x);
    return NULL;
}

static hk_status prelu_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *zero = hki_scalar_like(graph, g->x[0], 0), *negative = hki_binary(graph, "Less", g->x[0], zero);
    if (!zero || !negative)
        return NULL;
    if (g->need[0]) {
        hk_value *slope = hki_binary(graph, "Mul", g->dy[0], g->x[1]);
        if (slope)
            g->dx[0] = hk_graph_apply(graph, "Where", HK_VALUES(negative, slope, g->dy[0]), HK_NO_ATTRIBUTES);
    }
    if (g->need[1]) {
        hk_value *part = hki_binary(graph, "Mul", g->dy[0], g->x[0]);
        if (part)
            part = hk_graph_apply(graph, "Where", HK_VALUES(negative, part, zero), HK_NO_ATTRIBUTES);
        g->dx[1] = hki_sum_to_shape(graph, part, g->x[1]);
    }
    return NULL;
}

/* Before opset 7 a slope of C elements belonged to dimension 1 of the input, whatever its rank. */
static hk_status prelu_from_6(hki_draft *draft)
{
    if (draft->input_count < 2 || !draft->inputs[0] || !draft->inputs[1])
        return NULL;
    const hki_type *x = &draft->inputs[0]->type, *slope = &draft->inputs[1]->type;
    if (slope->rank != 1 || slope->dims[0] == 1)
        return NULL;
    if (x->rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "PRelu of opset %d needs an input of known rank", draft->version);
    int64_t axes[HK_MAX_RANK];
    int count = x->rank > 2 ? x->rank - 2 : 0;
    for (int i = 0; i < count; i++)
        axes[i] = i + 1;
    if (!count)
        return NULL;
    hk_value *list = hki_ints_constant(draft->graph, count, axes);
    return hki_draft_set_input(draft, 1, hki_binary(draft->graph, "Unsqueeze", draft->inputs[1], list));
}

static const hki_case prelu_cases[] = {
    {"f[3,13] f[13]", NULL}, {"f[2,3,2,2] f[3,1,1]", NULL},         {"f[2,3] f[]", NULL}, {"f[] f[]", NULL},
    {"f[0,3] f[3]", NULL},   {"i64[3]=(1,-2,-3) i64[1]=(4)", NULL}, {NULL, NULL},
};

#define PRELU_TYPES (HKI_FLOATS | HKI_INDEX | HKI_BIT(HK_UINT32) | HKI_BIT(HK_UINT64))

const hki_op hki_op_prelu = {
    .name = "PRelu",
    .doc = "Y = X < 0 ? slope X : X, the slope broadcast to X",
    .inputs = {{"X", "T", PRELU_TYPES, 0}, {"slope", "T", PRELU_TYPES, 0}},
    .outputs = {{"Y", "T", PRELU_TYPES, 0}},
    .versions = {{1, hki_upgrade_drop_consumed}, {6, prelu_from_6}, {7, NULL}, {9, NULL}, {16, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = prelu_infer,
    .run = prelu_run,
    .grad = prelu_grad,
    .cases = prelu_cases,
};

/* ---- Shrink ---- */

static hk_status shrink_run(hki_run *r)
{
    return hki_run_row(r, HKK_ROW_shrink, hki_attribute_float(r->node, "lambd"), hki_attribute_float(r->node, "bias"),
                       0);
}

static hk_status shrink_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *limit = hki_scalar_like(graph, g->x[0], hki_attribute_float(g->node, "lambd"));
    hk_value *zero = hki_scalar_like(graph, g->x[0], 0);
    hk_value *right = hki_binary(graph, "Greater", g->x[0], limit);
    hk_value *left = hki_binary(graph, "Less", g->x[0], hki_unary(graph, "Neg", limit));
    hk_value *outside = hki_binary(graph, "Or", left, right);
    if (g->need[0] && outside && zero)
        g->dx[0] = hk_graph_apply(graph, "Where", HK_VALUES(outside, g->dy[0], zero), HK_NO_ATTRIBUTES);
    return NULL;
}

static const hki_case shrink_cases[] = {
    {"f[3,13]", NULL}, {"f[2,3,2,2]", "lambd=1.0 bias=0.5"}, {"f[]", "bias=1.5"}, {"f[0]", NULL}, {NULL, NULL},
};

const hki_op hki_op_shrink = {
    .name = "Shrink",
    .doc = "output = input < -lambd ? input + bias : input > lambd ? input - bias : 0",
    .inputs = {{"input", "T", HKI_NUMERIC, 0}},
    .outputs = {{"output", "T", HKI_NUMERIC, 0}},
    .attributes = {{"bias", HK_ATTRIBUTE_FLOAT, {.f = 0}, false}, {"lambd", HK_ATTRIBUTE_FLOAT, {.f = 0.5f}, false}},
    .versions = {{9, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = hki_infer_same,
    .run = shrink_run,
    .grad = shrink_grad,
    .cases = shrink_cases,
};
