/* Normalizations that are built of reductions: MeanVarianceNormalization, LpNormalization. */
#include "graph/op.h"

/* ---- MeanVarianceNormalization. ---- */

/* (x - mean) / (std + 1e-9), the constant of ONNX's own definition. */
static hk_status mvn_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    static const int64_t usual[] = {0, 2, 3};
    int64_t count;
    const int64_t *given = hki_attribute_ints(node, "axes", &count);
    hk_value *x = node->inputs[0], *axes = hki_ints_constant(g, given ? count : 3, given ? given : usual);
    hk_value *centered = hki_binary(g, "Sub", x, hki_binary(g, "ReduceMean", x, axes));
    hk_value *variance = hki_binary(g, "ReduceMean", hki_binary(g, "Mul", centered, centered), axes);
    hk_value *std = hki_binary(g, "Add", hki_unary(g, "Sqrt", variance), hki_scalar_like(g, x, 1e-9));
    out[0] = hki_binary(g, "Div", centered, std);
    return NULL;
}

static const hki_case mvn_cases[] = {
    {"f[2,3,4,2]", NULL}, {"f[2,3,5]", "axes=[2]"}, {"f[3,4]", "axes=[0,-1]"}, {NULL, NULL}};

const hki_op hki_op_mean_variance_normalization = {
    .name = "MeanVarianceNormalization",
    .doc = "y = (x - mean) / (sqrt(var) + 1e-9), moments over axes (N, H, W unless given)",
    .inputs = {{"X", "T", HKI_FLOATS, 0}},
    .outputs = {{"Y", "T", HKI_FLOATS, 0}},
    .attributes = {{"axes", HK_ATTRIBUTE_INTS, {0}, false}},
    .versions = {{9, NULL}, {13, NULL}},
    .infer = hki_infer_same,
    .expand = mvn_expand,
    .cases = mvn_cases,
};

/* ---- LpNormalization. ---- */

static hk_status lp_infer(hki_infer *c)
{
    int axis;
    int64_t p = hki_attribute_int(c->node, "p");
    if (p != 1 && p != 2)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
    hki_type_copy(&c->out[0], c->in[0]);
    return c->in[0]->rank < 0 ? NULL : hki_axis(&axis, hki_attribute_int(c->node, "axis"), c->in[0]->rank);
}

/* x / norm, and 0 where the norm is 0. */
static hk_status lp_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    int64_t axis = hki_attribute_int(node, "axis");
    const char *reduction = hki_attribute_int(node, "p") == 1 ? "ReduceL1" : "ReduceL2";
    hk_value *x = node->inputs[0], *norm = hki_binary(g, reduction, x, hki_ints_constant(g, 1, &axis));
    hk_value *is_zero = hki_binary(g, "Equal", norm, hki_scalar_like(g, x, 0));
    norm = hk_graph_apply(g, "Where", HK_VALUES(is_zero, hki_scalar_like(g, x, 1), norm), HK_NO_ATTRIBUTES);
    out[0] = hki_binary(g, "Div", x, norm);
    return NULL;
}

static const hki_case lp_cases[] = {
    {"f[2,5]{0.5,2}", NULL}, {"f[2,3,4]{0.5,2}", "axis=1 p=1"}, {"f[2,3,4]{0.5,2}", "axis=0"}, {"f[0,3]", NULL},
    {NULL, NULL}};

const hki_op hki_op_lp_normalization = {
    .name = "LpNormalization",
    .doc = "y = x / (sum of |x|^p)^(1/p) along axis",
    .inputs = {{"input", "T", HKI_FLOATS, 0}},
    .outputs = {{"output", "T", HKI_FLOATS, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = -1}, false}, {"p", HK_ATTRIBUTE_INT, {.i = 2}, false}},
    .versions = {{1, NULL}, {22, NULL}},
    .infer = lp_infer,
    .expand = lp_expand,
    .cases = lp_cases,
};
