/* Activations, each with a private operator for its gradient; Elu, Selu and Celu are one function with other
 * parameters. */
#include <string.h>

#include "ops/elementwise_op.h"

/* A gradient operator on (dy, b) that takes over the attributes of the node. */
static hk_status backward(hki_grad *g, const char *op, hk_value *b)
{
    if (g->need[0])
        hk_graph_node(g->graph, "halka", op, NULL, HK_VALUES(g->dy[0], b), g->node->attribute_count,
                      g->node->attributes, 1, &g->dx[0]);
    return NULL;
}

#define BACKWARD_FROM_X(name, op)                 \
    static hk_status name##_grad(hki_grad *g)     \
    {                                             \
        return backward(g, op, g->x[0]);          \
    }
#define BACKWARD_FROM_Y(name, op)                 \
    static hk_status name##_grad(hki_grad *g)     \
    {                                             \
        return backward(g, op, g->y[0]);          \
    }

static const hki_case any_cases[] = {HKI_UNARY_CASES};
static const hki_case wide_cases[] = {HKI_UNARY_CASES_IN("{-5,5}")};

#define ATTRIBUTE(name, value) {name, HK_ATTRIBUTE_FLOAT, {.f = value}, false}
#define ALPHA(r) hki_attribute_float((r)->node, "alpha")
#define BETA(r)  hki_attribute_float((r)->node, "beta")
#define SINCE_1  {1, hki_upgrade_drop_consumed}, {6, NULL}

/* ---- Without parameters. ---- */

/* symbol, row of the kernels, what the gradient is computed from */
#define SIMPLE(symbol, op_name, formula, types, from, second, list, ...)                                               \
    HKI_RUN_ROW(symbol, symbol)                                                                                        \
    HKI_RUN_ROW(symbol##_backward, symbol##_grad)                                                                      \
    BACKWARD_FROM_##from(symbol, op_name "Grad")                                                                       \
    const hki_op hki_op_##symbol = {.name = op_name,                                                                   \
                                    .doc = formula,                                                                    \
                                    HKI_UNARY(types),                                                                  \
                                    .versions = {__VA_ARGS__},                                                         \
                                    .run = symbol##_run,                                                               \
                                    .grad = symbol##_grad,                                                             \
                                    .cases = list};                                                                    \
    const hki_op hki_op_##symbol##_grad = {                                                                            \
        .name = op_name "Grad", .doc = "gradient of " op_name, HKI_BACKWARD(second), .run = symbol##_backward_run};

SIMPLE(relu, "Relu", "Y = max(0, X)", HKI_FLOATS | HKI_SIGNED_INTS, Y, "y", any_cases, SINCE_1, {13, NULL}, {14, NULL})
SIMPLE(sigmoid, "Sigmoid", "Y = 1 / (1 + e^-X)", HKI_FLOATS, Y, "y", wide_cases, SINCE_1, {13, NULL})
SIMPLE(tanh, "Tanh", "Y = hyperbolic tangent of X", HKI_FLOATS, Y, "y", wide_cases, SINCE_1, {13, NULL})
SIMPLE(softplus, "Softplus", "Y = log(1 + e^X)", HKI_FLOATS, X, "x", wide_cases, {1, NULL}, {22, NULL})
SIMPLE(softsign, "Softsign", "Y = X / (1 + |X|)", HKI_FLOATS, X, "x", wide_cases, {1, NULL}, {22, NULL})
SIMPLE(hard_swish, "HardSwish", "Y = X max(0, min(1, X / 6 + 1 / 2))", HKI_FLOATS, X, "x", wide_cases, {14, NULL},
       {22, NULL})
SIMPLE(mish, "Mish", "Y = X tanh(log(1 + e^X))", HKI_FLOATS, X, "x", wide_cases, {18, NULL}, {22, NULL})

/* ---- With parameters. ---- */

#define WITH_PARAMETERS(symbol, op_name, formula, p0, p1, parameters, list, ...)                                       \
    static hk_status symbol##_run(hki_run *r)                                                                          \
    {                                                                                                                  \
        return hki_run_row(r, HKK_ROW_##symbol, p0, p1, 0);                                                            \
    }                                                                                                                  \
    static hk_status symbol##_backward_run(hki_run *r)                                                                 \
    {                                                                                                                  \
        return hki_run_row(r, HKK_ROW_##symbol##_grad, p0, p1, 0);                                                     \
    }                                                                                                                  \
    BACKWARD_FROM_X(symbol, op_name "Grad")                                                                            \
    const hki_op hki_op_##symbol = {.name = op_name,                                                                   \
                                    .doc = formula,                                                                    \
                                    HKI_UNARY(HKI_FLOATS),                                                             \
                                    .attributes = {parameters},                                                        \
                                    .versions = {__VA_ARGS__},                                                         \
                                    .run = symbol##_run,                                                               \
                                    .grad = symbol##_grad,                                                             \
                                    .cases = list};                                                                    \
    const hki_op hki_op_##symbol##_grad = {.name = op_name "Grad",                                                     \
                                           .doc = "gradient of " op_name,                                              \
                                           HKI_BACKWARD("x"),                                                          \
                                           .attributes = {parameters},                                                 \
                                           .run = symbol##_backward_run};
#define AND ,

static const hki_case leaky_cases[] = {
    {"f[3,7]", NULL}, {"f[2,3,2,2]", "alpha=0.2"}, {"f[]", "alpha=-0.5"}, {"f[0]", NULL}, {NULL, NULL},
};
WITH_PARAMETERS(leaky_relu, "LeakyRelu", "Y = X < 0 ? alpha X : X", ALPHA(r), 0, ATTRIBUTE("alpha", 0.01f), leaky_cases,
                SINCE_1, {16, NULL})
static const hki_case threshold_cases[] = {
    {"f[3,7]", NULL}, {"f[2,3,2,2]", "alpha=0.5"}, {"f[]", "alpha=-0.5"}, {"f[0]", NULL}, {NULL, NULL},
};
WITH_PARAMETERS(thresholded_relu, "ThresholdedRelu", "Y = X > alpha ? X : 0", ALPHA(r), 0, ATTRIBUTE("alpha", 1.0f),
                threshold_cases, {10, NULL}, {22, NULL})
static const hki_case hard_sigmoid_cases[] = {
    {"f[3,7]{-5,5}", NULL}, {"f[2,3,2,2]{-3,3}", "alpha=0.5 beta=0.6"}, {"f[]", NULL}, {"f[0]", NULL}, {NULL, NULL},
};
WITH_PARAMETERS(hard_sigmoid, "HardSigmoid", "Y = max(0, min(1, alpha X + beta))", ALPHA(r), BETA(r),
                ATTRIBUTE("alpha", 0.2f) AND ATTRIBUTE("beta", 0.5f), hard_sigmoid_cases, SINCE_1, {22, NULL})
static const hki_case swish_cases[] = {
    {"f[3,7]{-5,5}", NULL}, {"f[2,3,2,2]{-3,3}", "alpha=1.7"}, {"f[]", NULL}, {"f[0]", NULL}, {NULL, NULL},
};
WITH_PARAMETERS(swish, "Swish", "Y = X sigmoid(alpha X)", ALPHA(r), 0, ATTRIBUTE("alpha", 1.0f), swish_cases,
                {24, NULL})

/* ---- Elu, Selu, Celu: Y = X > 0 ? gain X : scale (e^(rate X) - 1). ---- */

typedef struct elu_shape {
    double gain, scale, rate;
} elu_shape;

static elu_shape shape_of_elu(const hk_node *node)
{
    double alpha = hki_attribute_float(node, "alpha");
    if (!strcmp(node->op->name, "Selu")) {
        double gamma = hki_attribute_float(node, "gamma");
        return (elu_shape){gamma, gamma * alpha, 1};
    }
    return (elu_shape){1, alpha, !strcmp(node->op->name, "Celu") && alpha != 0 ? 1 / alpha : 1};
}

static hk_status elu_run(hki_run *r)
{
    elu_shape s = shape_of_elu(r->node);
    return hki_run_row(r, HKK_ROW_elu, s.gain, s.scale, s.rate);
}

static hk_status elu_backward_run(hki_run *r)
{
    return hki_run_row(r, HKK_ROW_elu_grad, hki_attribute_float(r->node, "gain"), hki_attribute_float(r->node, "scale"),
                       hki_attribute_float(r->node, "rate"));
}

static hk_status elu_grad(hki_grad *g)
{
    elu_shape s = shape_of_elu(g->node);
    if (g->need[0])
        hk_graph_node(g->graph, "halka", "EluGrad", NULL, HK_VALUES(g->dy[0], g->x[0]),
                      HK_ATTRIBUTES(HK_FLOAT32("gain", (float)s.gain), HK_FLOAT32("scale", (float)(s.scale * s.rate)),
                                    HK_FLOAT32("rate", (float)s.rate)),
                      1, &g->dx[0]);
    return NULL;
}

static const hki_case elu_cases[] = {
    {"f[3,7]", NULL}, {"f[2,3,2,2]{-3,3}", "alpha=0.5"}, {"f[]", "alpha=2"}, {"f[0]", NULL}, {NULL, NULL},
};
static const hki_case selu_cases[] = {
    {"f[3,7]", NULL}, {"f[2,3,2,2]{-3,3}", "alpha=0.5 gamma=1.5"}, {"f[]", NULL}, {"f[0]", NULL}, {NULL, NULL},
};

const hki_op hki_op_elu = {
    .name = "Elu",
    .doc = "Y = X < 0 ? alpha (e^X - 1) : X",
    HKI_UNARY(HKI_FLOATS),
    .attributes = {ATTRIBUTE("alpha", 1.0f)},
    .versions = {SINCE_1, {22, NULL}},
    .run = elu_run,
    .grad = elu_grad,
    .cases = elu_cases,
};

/* Before opset 6 the defaults were rounded to four decimals. */
static hk_status selu_from_1(hki_draft *draft)
{
    HK_TRY(hki_upgrade_drop_consumed(draft));
    if (!hki_draft_attribute(draft, "alpha"))
        HK_TRY(hki_draft_set_attribute(draft, &(hk_attribute)HK_FLOAT32("alpha", 1.6732f)));
    if (!hki_draft_attribute(draft, "gamma"))
        HK_TRY(hki_draft_set_attribute(draft, &(hk_attribute)HK_FLOAT32("gamma", 1.0507f)));
    return NULL;
}

const hki_op hki_op_selu = {
    .name = "Selu",
    .doc = "Y = gamma (X > 0 ? X : alpha (e^X - 1))",
    HKI_UNARY(HKI_FLOATS),
    .attributes = {ATTRIBUTE("alpha", 1.67326319217681884765625f), ATTRIBUTE("gamma", 1.05070102214813232421875f)},
    .versions = {{1, selu_from_1}, {6, NULL}, {22, NULL}},
    .run = elu_run,
    .grad = elu_grad,
    .cases = selu_cases,
};

const hki_op hki_op_celu = {
    .name = "Celu",
    .doc = "Y = max(0, X) + min(0, alpha (e^(X / alpha) - 1))",
    HKI_UNARY(HKI_FLOATS),
    .attributes = {ATTRIBUTE("alpha", 1.0f)},
    .versions = {{12, NULL}},
    .run = elu_run,
    .grad = elu_grad,
    .cases = elu_cases,
};

const hki_op hki_op_elu_grad = {
    .name = "EluGrad",
    .doc = "gradient of Elu, Selu and Celu: dx = dy (x > 0 ? gain : scale e^(rate x))",
    HKI_BACKWARD("x"),
    .attributes = {ATTRIBUTE("gain", 1.0f), ATTRIBUTE("scale", 1.0f), ATTRIBUTE("rate", 1.0f)},
    .run = elu_backward_run,
};

/* ---- Gelu. ---- */

static hk_status gelu_row(hki_run *r, hkk_row_op exact, hkk_row_op approximate)
{
    bool is_tanh = !strcmp(hki_attribute_text(r->node, "approximate"), "tanh");
    return hki_run_row(r, is_tanh ? approximate : exact, 0, 0, 0);
}

static hk_status gelu_run(hki_run *r)
{
    return gelu_row(r, HKK_ROW_gelu, HKK_ROW_gelu_tanh);
}

static hk_status gelu_backward_run(hki_run *r)
{
    return gelu_row(r, HKK_ROW_gelu_grad, HKK_ROW_gelu_tanh_grad);
}

BACKWARD_FROM_X(gelu, "GeluGrad")

static hk_status gelu_infer(hki_infer *c)
{
    const char *approximate = hki_attribute_text(c->node, "approximate");
    if (strcmp(approximate, "none") && strcmp(approximate, "tanh"))
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'approximate': expected none or tanh, found '%s'", approximate);
    return hki_infer_same(c);
}

static const hki_case gelu_cases[] = {
    {"f[3,7]{-4,4}", NULL}, {"f[2,3,2,2]{-4,4}", "approximate=tanh"}, {"f[]", NULL}, {"f[0]", "approximate=none"},
    {NULL, NULL},
};

#define GELU_ATTRIBUTES {{"approximate", HK_ATTRIBUTE_STRING, {.s = "none"}, false}}

const hki_op hki_op_gelu = {
    .name = "Gelu",
    .doc = "Y = X Phi(X), Phi being the normal distribution; approximate = tanh: X (1 + tanh(sqrt(2 / pi) (X + "
           "0.044715 X^3))) / 2",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = GELU_ATTRIBUTES,
    .versions = {{20, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = gelu_infer,
    .run = gelu_run,
    .grad = gelu_grad,
    .cases = gelu_cases,
};

const hki_op hki_op_gelu_grad = {
    .name = "GeluGrad",
    .doc = "gradient of Gelu",
    HKI_BACKWARD("x"),
    .attributes = GELU_ATTRIBUTES,
    .run = gelu_backward_run,
};
