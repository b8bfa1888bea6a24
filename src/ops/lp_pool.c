/* Operators built of poolings and reductions: LpPool, GlobalLpPool, LRN. */
#include <string.h>

#include "ops/pooling.h"

/* ---- Powers |x|^p and roots. ---- */

static hk_value *absolute_power(hk_graph *g, hk_value *x, int64_t p)
{
    if (p == 1)
        return hki_unary(g, "Abs", x);
    if (p == 2)
        return hki_binary(g, "Mul", x, x);
    return hki_binary(g, "Pow", hki_unary(g, "Abs", x), hki_scalar_like(g, x, (double)p));
}

static hk_value *root(hk_graph *g, hk_value *x, int64_t p)
{
    if (p == 1)
        return x;
    if (p == 2)
        return hki_unary(g, "Sqrt", x);
    return hki_binary(g, "Pow", x, hki_scalar_like(g, x, 1.0 / (double)p));
}

static hk_status check_p(const hk_node *node)
{
    if (hki_attribute_int(node, "p") < 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or more",
                      (long long)hki_attribute_int(node, "p"));
    return NULL;
}

/* p was a float before opset 2. */
static hk_status integer_p(hki_draft *draft)
{
    const hk_attribute *p = hki_draft_attribute(draft, "p");
    if (!p || p->kind != HK_ATTRIBUTE_FLOAT)
        return NULL;
    if (p->as.f != (float)(int64_t)p->as.f)
        return HK_ERR(HK_UNSUPPORTED, "attribute 'p' is %g, only whole numbers are supported", (double)p->as.f);
    hk_attribute whole = HK_INT("p", (int64_t)p->as.f);
    return hki_draft_set_attribute(draft, &whole);
}

/* ---- LpPool. ---- */

static hk_status lp_infer(hki_infer *c)
{
    HK_TRY(check_p(c->node));
    return hki_pooling_infer(&c->out[0], c->node, c->in[0]);
}

static hk_status lp_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    int64_t p = hki_attribute_int(node, "p");
    hk_attribute attributes[HKI_MAX_ATTRIBUTES];
    int count = 0;
    for (int i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, "p"))
            attributes[count++] = node->attributes[i];
    hk_value *powers = absolute_power(g, node->inputs[0], p);
    out[0] = root(g, hk_graph_apply(g, "halka.SumPool", HK_VALUES(powers), count, attributes), p);
    return NULL;
}

static const hki_case lp_cases[] = {
    {"f[2,3,6]{0.5,2}", "kernel_shape=[2] strides=[2]"},
    {"f[1,1,5,4]{0.5,2}", "kernel_shape=[3,2] pads=[1,0,1,1] p=1"},
    {"f[1,2,6,6]{0.5,2}", "kernel_shape=[3,3] strides=[2,2] p=3"},
    {NULL, NULL},
};

const hki_op hki_op_lp_pool = {
    .name = "LpPool",
    .doc = "(sum of |x|^p)^(1/p) of each window over the spatial dims",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {{"auto_pad", HK_ATTRIBUTE_STRING, {.s = "NOTSET"}, false},
                   {"ceil_mode", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"dilations", HK_ATTRIBUTE_INTS, {0}, false},
                   {"kernel_shape", HK_ATTRIBUTE_INTS, {0}, true},
                   {"p", HK_ATTRIBUTE_INT, {.i = 2}, false},
                   {"pads", HK_ATTRIBUTE_INTS, {0}, false},
                   {"strides", HK_ATTRIBUTE_INTS, {0}, false}},
    .versions = {{1, integer_p}, {2, NULL}, {11, NULL}, {18, NULL}, {22, NULL}},
    .infer = lp_infer,
    .expand = lp_expand,
    .cases = lp_cases,
};

/* ---- GlobalLpPool. ---- */

static hk_status global_lp_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    HK_TRY(check_p(c->node));
    if (x->rank < 0)
        return NULL;
    if (x->rank < 3)
        return HK_ERR(HK_INVALID_SHAPE, "pooling needs an input (N, C, spatial...), found rank %d", x->rank);
    c->out[0].rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        c->out[0].dims[i] = i < 2 ? x->dims[i] : 1;
    return NULL;
}

static hk_status global_lp_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    static const int64_t spatial[HKI_POOL_DIMS] = {2, 3, 4, 5, 6, 7};
    int64_t p = hki_attribute_int(node, "p");
    int rank = node->inputs[0]->type.rank;
    if (rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "the rank of the input must be known");
    hk_value *axes = hki_ints_constant(g, rank - 2, spatial), *powers = absolute_power(g, node->inputs[0], p);
    out[0] = root(g, hk_graph_apply(g, "ReduceSum", HK_VALUES(powers, axes), HK_NO_ATTRIBUTES), p);
    return NULL;
}

static const hki_case global_lp_cases[] = {
    {"f[2,3,4]{0.5,2}", NULL}, {"f[2,3,2,4]{0.5,2}", "p=1"}, {"f[1,1,2,2,3]{0.5,2}", "p=3"}, {NULL, NULL}};

const hki_op hki_op_global_lp_pool = {
    .name = "GlobalLpPool",
    .doc = "(sum of |x|^p)^(1/p) over the spatial dims",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {{"p", HK_ATTRIBUTE_INT, {.i = 2}, false}},
    .versions = {{1, integer_p}, {2, NULL}, {22, NULL}},
    .infer = global_lp_infer,
    .expand = global_lp_expand,
    .cases = global_lp_cases,
};

/* ---- LRN: the sum of squares over neighbouring channels is an average pooling over a dim made of the channels. ----
 */

static hk_status lrn_infer(hki_infer *c)
{
    if (hki_attribute_int(c->node, "size") < 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'size' is %lld, expected 1 or more",
                      (long long)hki_attribute_int(c->node, "size"));
    if (c->in[0]->rank >= 0 && (c->in[0]->rank < 2 || c->in[0]->rank >= HK_MAX_RANK))
        return HK_ERR(HK_INVALID_SHAPE, "expected an input (N, C, ...) of rank 2 .. %d, found %d", HK_MAX_RANK - 1,
                      c->in[0]->rank);
    return hki_infer_same(c);
}

/* x / (bias + alpha / size sum(x^2))^beta; average pooling with padding counted is sum / size. */
static hk_status lrn_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_value *x = node->inputs[0];
    int64_t size = hki_attribute_int(node, "size"), one = 1, kernel[HKI_POOL_DIMS], pads[2 * HKI_POOL_DIMS] = {0};
    int rank = x->type.rank - 1; /* spatial dims after the channels became one */
    if (x->type.rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "the rank of the input must be known");
    for (int i = 0; i < rank; i++)
        kernel[i] = i ? 1 : size;
    pads[0] = (size - 1) / 2;
    pads[rank] = size / 2;
    hk_attribute attributes[] = {
        {"kernel_shape", HK_ATTRIBUTE_INTS, rank, {.ints = kernel}},
        {"pads", HK_ATTRIBUTE_INTS, 2 * rank, {.ints = pads}},
        HK_INT("count_include_pad", 1),
    };
    hk_value *axis = hki_ints_constant(g, 1, &one);
    hk_value *squares = hki_binary(g, "Unsqueeze", hki_binary(g, "Mul", x, x), axis);
    hk_value *mean = hk_graph_apply(g, "AveragePool", HK_VALUES(squares), 3, attributes);
    hk_value *scaled = hki_binary(g, "Mul", hki_binary(g, "Squeeze", mean, axis),
                                  hki_scalar_like(g, x, hki_attribute_float(node, "alpha")));
    hk_value *base = hki_binary(g, "Add", scaled, hki_scalar_like(g, x, hki_attribute_float(node, "bias")));
    hk_value *power = hki_binary(g, "Pow", base, hki_scalar_like(g, x, hki_attribute_float(node, "beta")));
    out[0] = hki_binary(g, "Div", x, power);
    return NULL;
}

static const hki_case lrn_cases[] = {
    {"f[2,5,2,3]", "size=3 alpha=0.5"}, {"f[1,4,3]", "size=2 alpha=0.5 beta=0.5 bias=2"}, {"f[2,1,2]", "size=5"},
    {"f[0,3,2,2]", "size=3"}, {NULL, NULL}};

const hki_op hki_op_lrn = {
    .name = "LRN",
    .doc = "y = x / (bias + alpha / size sum(x^2 over size neighbouring channels))^beta",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {{"alpha", HK_ATTRIBUTE_FLOAT, {.f = 0.0001f}, false},
                   {"beta", HK_ATTRIBUTE_FLOAT, {.f = 0.75f}, false},
                   {"bias", HK_ATTRIBUTE_FLOAT, {.f = 1.0f}, false},
                   {"size", HK_ATTRIBUTE_INT, {.i = 1}, true}},
    .versions = {{1, NULL}, {13, NULL}},
    .infer = lrn_infer,
    .expand = lrn_expand,
    .cases = lrn_cases,
};
