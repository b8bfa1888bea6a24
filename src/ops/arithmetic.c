/* Arithmetic on two broadcast operands: Add, Sub, Mul, Div, Mod. */
#include "ops/elementwise_op.h"

HKI_RUN_ROW(add, add)
HKI_RUN_ROW(sub, sub)
HKI_RUN_ROW(mul, mul)
HKI_RUN_ROW(div, div)

static hk_status add_grad(hki_grad *g)
{
    for (int i = 0; i < 2; i++)
        if (g->need[i])
            g->dx[i] = hki_sum_to_shape(g->graph, g->dy[0], g->x[i]);
    return NULL;
}

static hk_status sub_grad(hki_grad *g)
{
    if (g->need[0])
        g->dx[0] = hki_sum_to_shape(g->graph, g->dy[0], g->x[0]);
    if (g->need[1])
        g->dx[1] = hki_unary(g->graph, "Neg", hki_sum_to_shape(g->graph, g->dy[0], g->x[1]));
    return NULL;
}

static hk_status mul_grad(hki_grad *g)
{
    for (int i = 0; i < 2; i++)
        if (g->need[i])
            g->dx[i] = hki_sum_to_shape(g->graph, hki_binary(g->graph, "Mul", g->dy[0], g->x[1 - i]), g->x[i]);
    return NULL;
}

/* da = dy / b, db = -(dy / b) y */
static hk_status div_grad(hki_grad *g)
{
    hk_value *quotient = hki_binary(g->graph, "Div", g->dy[0], g->x[1]);
    if (g->need[0])
        g->dx[0] = hki_sum_to_shape(g->graph, quotient, g->x[0]);
    if (g->need[1]) {
        hk_value *product = hki_binary(g->graph, "Mul", quotient, g->y[0]);
        g->dx[1] = hki_unary(g->graph, "Neg", hki_sum_to_shape(g->graph, product, g->x[1]));
    }
    return NULL;
}

static const hki_case binary_cases[] = {HKI_BINARY_CASES};

const hki_op hki_op_add = {
    .name = "Add",
    .doc = "C = A + B, broadcast",
    HKI_BINARY(HKI_NUMERIC, HKI_OP_COMMUTATIVE),
    .versions = {HKI_OLD_BROADCAST, {7, NULL}, {13, NULL}, {14, NULL}},
    .run = add_run,
    .grad = add_grad,
    .cases = binary_cases,
};

const hki_op hki_op_sub = {
    .name = "Sub",
    .doc = "C = A - B, broadcast",
    HKI_BINARY(HKI_NUMERIC, 0),
    .versions = {HKI_OLD_BROADCAST, {7, NULL}, {13, NULL}, {14, NULL}},
    .run = sub_run,
    .grad = sub_grad,
    .cases = binary_cases,
};

const hki_op hki_op_mul = {
    .name = "Mul",
    .doc = "C = A B, element by element, broadcast",
    HKI_BINARY(HKI_NUMERIC, HKI_OP_COMMUTATIVE),
    .versions = {HKI_OLD_BROADCAST, {7, NULL}, {13, NULL}, {14, NULL}},
    .run = mul_run,
    .grad = mul_grad,
    .cases = binary_cases,
};

static const hki_case div_cases[] = {
    HKI_BINARY_CASES_IN("", "{0.5,2}"), {"f[2,3] f[2,3]{-2,-0.5}", NULL}, {NULL, NULL}};

const hki_op hki_op_div = {
    .name = "Div",
    .doc = "C = A / B, broadcast; integers are truncated, and divided by zero give 0",
    HKI_BINARY(HKI_NUMERIC, 0),
    .versions = {HKI_OLD_BROADCAST, {7, NULL}, {13, NULL}, {14, NULL}},
    .run = div_run,
    .grad = div_grad,
    .cases = div_cases,
};

/* ---- Mod: the sign of the divisor (Python), or with fmod the sign of the dividend (C). ---- */

static hk_status mod_infer(hki_infer *c)
{
    if (!hki_attribute_int(c->node, "fmod") && hki_dtype_is_float(c->in[0]->dtype))
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'fmod' must be 1 for %s", hk_dtype_name(c->in[0]->dtype));
    return hki_infer_elementwise(c);
}

static hk_status mod_run(hki_run *r)
{
    return hki_run_row(r, hki_attribute_int(r->node, "fmod") ? HKK_ROW_fmod : HKK_ROW_mod, 0, 0, 0);
}

/* y = a - b trunc(a / b); the quotient is constant almost everywhere */
static hk_status mod_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    if (g->need[0])
        g->dx[0] = hki_sum_to_shape(graph, g->dy[0], g->x[0]);
    if (g->need[1]) {
        hk_value *quotient = hki_binary(graph, "Div", hki_binary(graph, "Sub", g->y[0], g->x[0]), g->x[1]);
        quotient = hki_unary(graph, "Round", quotient);
        g->dx[1] = hki_sum_to_shape(graph, hki_binary(graph, "Mul", g->dy[0], quotient), g->x[1]);
    }
    return NULL;
}

static const hki_case mod_cases[] = {
    {"f[2,3] f[2,3]{0.5,1.5}", "fmod=1"}, {"f[2,3]{2,9} f[]{0.8,1.2}", "fmod=1"},
    {"i64[6]=(-7,-5,7,5,6,-6) i64[6]=(3,-3,-3,3,3,-4)", NULL}, {"i64[6]=(-7,-5,7,5,6,-6) i64[1]=(3)", "fmod=1"},
    {"f[0] f[1]", "fmod=1"}, {NULL, NULL},
};

const hki_op hki_op_mod = {
    .name = "Mod",
    .doc = "C = A mod B, broadcast; with the sign of B, or with fmod = 1 that of A",
    .inputs = {{"A", "T", HKI_NUMERIC, 0}, {"B", "T", HKI_NUMERIC, 0}},
    .outputs = {{"C", "T", HKI_NUMERIC, 0}},
    .attributes = {{"fmod", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{10, NULL}, {13, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = mod_infer,
    .run = mod_run,
    .grad = mod_grad,
    .cases = mod_cases,
};
