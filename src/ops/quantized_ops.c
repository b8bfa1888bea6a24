/* Operators on quantized tensors, built of simpler ones: DynamicQuantizeLinear, MatMulInteger, QLinearMatMul,
 * ConvInteger, QLinearConv.
 *
 * Products are exact: matrices are multiplied as int32, convolutions as float64, which holds every sum of products of
 * two 9-bit numbers up to 2^35 terms. The result is requantized in float32 as  round(sum * (scale_a * scale_b /
 * scale_y)) + zero_point. */
#include "graph/op.h"

#define BYTES (HKI_BIT(HK_INT8) | HKI_BIT(HK_UINT8))

static hk_value *cast(hk_graph *g, hk_value *x, hk_dtype dtype)
{
    return x ? hk_graph_apply(g, "Cast", 1, &x, HK_ATTRIBUTES(HK_INT("to", dtype))) : NULL;
}

static hk_value *input(const hk_node *node, int i)
{
    return i < node->input_count ? node->inputs[i] : NULL;
}

/* Gives a vector one entry per row (or channel) trailing dims of 1; scalars stay. */
static hk_value *spread(hk_graph *g, hk_value *v, int trailing)
{
    int64_t axes[HK_MAX_RANK];
    if (!v || v->type.rank != 1 || v->type.dims[0] == 1 || trailing <= 0)
        return v;
    for (int i = 0; i < trailing; i++)
        axes[i] = i + 1;
    return hki_binary(g, "Unsqueeze", v, hki_ints_constant(g, trailing, axes));
}

/* x - zero as numbers of `dtype`. */
static hk_value *centred(hk_graph *g, hk_value *x, hk_value *zero, int trailing, hk_dtype dtype)
{
    hk_value *wide = cast(g, x, dtype);
    return zero ? hki_binary(g, "Sub", wide, cast(g, spread(g, zero, trailing), dtype)) : wide;
}

/* Runs the rule of the float operator on inputs a and b. */
static hk_status infer_as(hki_infer *c, const char *op, int a, int b, hk_dtype dtype)
{
    const hki_type *in[2] = {c->in[a], c->in[b]};
    const hk_tensor *data[2] = {NULL, NULL};
    hki_infer inner = {c->node, 2, 1, in, data, c->out};
    HK_TRY(hki_op_find("", op)->infer(&inner));
    c->out[0].dtype = dtype;
    return NULL;
}

/* saturate(round(sum * (scale_a * scale_b / scale_y)) + zero_y). */
static hk_value *requantize(hk_graph *g, hk_value *sum, hk_value *scale_a, hk_value *scale_b, hk_value *scale_y,
                            hk_value *zero_y)
{
    hk_value *scale = hki_binary(g, "Div", hki_binary(g, "Mul", scale_a, scale_b), scale_y);
    hk_value *real = hki_binary(g, "Mul", cast(g, sum, HK_FLOAT), scale), *one = hki_scalar_like(g, real, 1);
    return hk_graph_apply(g, "QuantizeLinear", HK_VALUES(real, one, zero_y), HK_NO_ATTRIBUTES);
}

/* ---- Matrices. ---- */

static hk_status matmul_integer_infer(hki_infer *c)
{
    return infer_as(c, "MatMul", 0, 1, HK_INT32);
}

/* A zero point of A may have one entry per row, one of B one per column. */
static hk_value *product(hk_graph *g, hk_value *a, hk_value *zero_a, hk_value *b, hk_value *zero_b)
{
    return hki_binary(g, "MatMul", centred(g, a, zero_a, 1, HK_INT32), centred(g, b, zero_b, 0, HK_INT32));
}

static hk_status matmul_integer_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    out[0] = product(g, node->inputs[0], input(node, 2), node->inputs[1], input(node, 3));
    return NULL;
}

static const hki_case matmul_integer_cases[] = {
    {"u8[2,3]=(0,1,2,128,254,255) i8[3,2]=(1,-1,127,-128,5,6) u8[]=(128) i8[]=(1)", NULL},
    {"i8[2,2]=(1,2,3,4) i8[2,3]=(1,2,3,4,5,6) i8[2]=(1,2) i8[3]=(0,1,2)", NULL},
    {"u8[2,1,2]=(1,2,3,4) u8[2,2]=(1,2,3,4)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_matmul_integer = {
    .name = "MatMulInteger",
    .doc = "Y = (A - a_zero_point) (B - b_zero_point), exact in int32",
    .inputs = {{"A", "T1", BYTES, 0},
               {"B", "T2", BYTES, 0},
               {"a_zero_point", "T1", BYTES, HKI_OPTIONAL},
               {"b_zero_point", "T2", BYTES, HKI_OPTIONAL}},
    .outputs = {{"Y", "T3", HKI_BIT(HK_INT32), 0}},
    .versions = {{10, NULL}},
    .infer = matmul_integer_infer,
    .expand = matmul_integer_expand,
    .cases = matmul_integer_cases,
};

static hk_status qlinear_matmul_infer(hki_infer *c)
{
    return infer_as(c, "MatMul", 0, 3, c->in[7]->dtype);
}

static hk_status qlinear_matmul_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_value *const *in = node->inputs;
    hk_value *sum = product(g, in[0], in[2], in[3], in[5]);
    out[0] = requantize(g, sum, spread(g, in[1], 1), in[4], in[6], in[7]);
    return NULL;
}

static const hki_case qlinear_matmul_cases[] = {
    {"u8[2,2]=(1,2,3,4) f32[]=(0.5)! u8[]=(1) u8[2,3]=(1,2,3,4,5,6) f32[]=(0.25)! u8[]=(2) f32[]=(0.1)! u8[]=(100)",
     NULL},
    {NULL, NULL},
};

const hki_op hki_op_qlinear_matmul = {
    .name = "QLinearMatMul",
    .doc = "y = quantize(dequantize(a) dequantize(b))",
    .inputs = {{"a", "T1", BYTES, 0},
               {"a_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"a_zero_point", "T1", BYTES, 0},
               {"b", "T2", BYTES, 0},
               {"b_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"b_zero_point", "T2", BYTES, 0},
               {"y_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"y_zero_point", "T3", BYTES, 0}},
    .outputs = {{"y", "T3", BYTES, 0}},
    .versions = {{10, NULL}, {21, NULL}},
    .infer = qlinear_matmul_infer,
    .expand = qlinear_matmul_expand,
    .cases = qlinear_matmul_cases,
};

/* ---- Convolutions. ---- */

#define CONV_ATTRIBUTES                                                                                       \
    {"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false}, {"dilations", HK_ATTRIBUTE_INTS, {0}, false},  \
        {"group", HK_ATTRIBUTE_INT, {.i = 1}, false}, {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, false},        \
        {"pads", HK_ATTRIBUTE_INTS, {0}, false}, {"strides", HK_ATTRIBUTE_INTS, {0}, false}

/* The padding is the zero point, so zeros once it was taken away. Zero points of w may be one per output channel. */
static hk_value *convolution(hk_graph *g, const hk_node *node, hk_value *x, hk_value *zero_x, hk_value *w,
                             hk_value *zero_w, hk_value *bias)
{
    hk_value *wide_x = centred(g, x, zero_x, 0, HK_DOUBLE);
    hk_value *wide_w = centred(g, w, zero_w, w->type.rank - 1, HK_DOUBLE);
    hk_value *inputs[3] = {wide_x, wide_w, cast(g, bias, HK_DOUBLE)};
    if (!wide_x || !wide_w)
        return NULL;
    hk_value *sum = hk_graph_apply(g, "Conv", bias ? 3 : 2, inputs, node->attribute_count, node->attributes);
    return cast(g, sum, HK_INT32);
}

static hk_status conv_integer_infer(hki_infer *c)
{
    return infer_as(c, "Conv", 0, 1, HK_INT32);
}

static hk_status conv_integer_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    out[0] = convolution(g, node, node->inputs[0], input(node, 2), node->inputs[1], input(node, 3), NULL);
    return NULL;
}

static const hki_case conv_integer_cases[] = {
    {"u8[1,1,3,3]=(2,3,4,5,6,7,8,9,10) u8[1,1,2,2]=(1,1,1,1) u8[]=(1)", "pads=[1,1,1,1]"},
    {"i8[1,2,3]=(1,2,3,4,5,6) i8[2,1,2]=(1,2,3,4) i8[]=(1) i8[2]=(0,1)", "group=2"},
    {NULL, NULL},
};

const hki_op hki_op_conv_integer = {
    .name = "ConvInteger",
    .doc = "y = Conv(x - x_zero_point, w - w_zero_point), exact in int32",
    .inputs = {{"x", "T1", BYTES, 0},
               {"w", "T2", BYTES, 0},
               {"x_zero_point", "T1", BYTES, HKI_OPTIONAL},
               {"w_zero_point", "T2", BYTES, HKI_OPTIONAL}},
    .outputs = {{"y", "T3", HKI_BIT(HK_INT32), 0}},
    .attributes = {CONV_ATTRIBUTES},
    .versions = {{10, NULL}},
    .infer = conv_integer_infer,
    .expand = conv_integer_expand,
    .cases = conv_integer_cases,
};

static hk_status qlinear_conv_infer(hki_infer *c)
{
    return infer_as(c, "Conv", 0, 3, c->in[7]->dtype);
}

static hk_status qlinear_conv_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_value *const *in = node->inputs;
    hk_value *sum = convolution(g, node, in[0], in[2], in[3], in[5], input(node, 8));
    out[0] = requantize(g, sum, in[1], spread(g, in[4], in[3]->type.rank - 2), in[6], in[7]);
    return NULL;
}

static const hki_case qlinear_conv_cases[] = {
    {"u8[1,1,2,3]=(2,3,4,5,6,7) f32[]=(0.5)! u8[]=(1) i8[2,1,1,2]=(1,2,3,4) f32[2]=(0.5,2)! i8[2]=(0,1) f32[]=(1)! "
     "u8[]=(9) "
     "i32[2]=(5,-5)",
     NULL},
    {NULL, NULL},
};

const hki_op hki_op_qlinear_conv = {
    .name = "QLinearConv",
    .doc = "y = quantize(Conv(dequantize(x), dequantize(w), B))",
    .inputs = {{"x", "T1", BYTES, 0},
               {"x_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"x_zero_point", "T1", BYTES, 0},
               {"w", "T2", BYTES, 0},
               {"w_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"w_zero_point", "T2", BYTES, 0},
               {"y_scale", "TS", HKI_BIT(HK_FLOAT), 0},
               {"y_zero_point", "T3", BYTES, 0},
               {"B", "T4", HKI_BIT(HK_INT32), HKI_OPTIONAL}},
    .outputs = {{"y", "T3", BYTES, 0}},
    .attributes = {CONV_ATTRIBUTES},
    .versions = {{10, NULL}},
    .infer = qlinear_conv_infer,
    .expand = qlinear_conv_expand,
    .cases = qlinear_conv_cases,
};

/* ---- DynamicQuantizeLinear. ---- */

static hk_status dynamic_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = HK_UINT8;
    if (c->output_count > 1)
        hki_type_set(&c->out[1], HK_FLOAT, 0, NULL);
    if (c->output_count > 2)
        hki_type_set(&c->out[2], HK_UINT8, 0, NULL);
    return NULL;
}

static hk_value *reduce_all(hk_graph *g, const char *op, hk_value *x)
{
    return hk_graph_apply(g, op, 1, &x, HK_ATTRIBUTES(HK_INT("keepdims", 0)));
}

/* As ONNX's own definition: the range contains 0, scale = (max - min) / 255, zero_point = saturate(round(-min /
 * scale)). */
static hk_status dynamic_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_value *x = node->inputs[0], *zero = hki_scalar_like(g, x, 0), *top = hki_scalar_like(g, x, 255);
    hk_value *low = hki_binary(g, "Min", reduce_all(g, "ReduceMin", x), zero);
    hk_value *high = hki_binary(g, "Max", reduce_all(g, "ReduceMax", x), zero);
    hk_value *scale = hki_binary(g, "Div", hki_binary(g, "Sub", high, low), top);
    hk_value *point = hki_binary(g, "Div", hki_binary(g, "Sub", zero, low), scale);
    point = hk_graph_apply(g, "Clip", HK_VALUES(hki_unary(g, "Round", point), zero, top), HK_NO_ATTRIBUTES);
    point = cast(g, point, HK_UINT8);
    out[0] = hk_graph_apply(g, "QuantizeLinear", HK_VALUES(x, scale, point), HK_NO_ATTRIBUTES);
    if (node->output_count > 1)
        out[1] = scale;
    if (node->output_count > 2)
        out[2] = point;
    return NULL;
}

static const hki_case dynamic_cases[] = {{"f32[2,3]!", NULL}, {"f32[4]=(1,2,3,4)!", NULL}, {NULL, NULL}};

const hki_op hki_op_dynamic_quantize_linear = {
    .name = "DynamicQuantizeLinear",
    .doc = "y = quantize(x) to uint8 over the range of x and 0; also the scale and zero point",
    .inputs = {{"x", "T1", HKI_BIT(HK_FLOAT), 0}},
    .outputs = {{"y", "T2", HKI_BIT(HK_UINT8), 0},
                {"y_scale", "scale", HKI_BIT(HK_FLOAT), HKI_OPTIONAL},
                {"y_zero_point", "T2", HKI_BIT(HK_UINT8), HKI_OPTIONAL}},
    .versions = {{11, NULL}},
    .infer = dynamic_infer,
    .expand = dynamic_expand,
    .cases = dynamic_cases,
};
