/* Pow: the exponent may have another type than the base, which the result has. */
#include "ops/elementwise_op.h"

/* Exponents 1 and 2 for all elements are products: exact, and much faster. */
static bool constant_exponent(double *out, const hk_tensor *exponent)
{
    if (hk_tensor_count(exponent) != 1)
        return false;
    *out = hki_tensor_get_double(exponent, 0);
    return true;
}

/* The type in which base and exponent meet. */
static hk_dtype meeting_type(hk_dtype base, hk_dtype exponent)
{
    if (hki_dtype_is_float(base))
        return hki_compute_type(base);
    if (hki_dtype_is_float(exponent))
        return HK_DOUBLE;
    return base == HK_UINT64 && exponent == HK_UINT64 ? HK_UINT64 : HK_INT64;
}

static hk_status pow_run(hki_run *r)
{
    hk_dtype type = meeting_type(r->in[0]->dtype, r->in[1]->dtype), as[2] = {type, type};
    double exponent;
    bool is_square = constant_exponent(&exponent, r->in[1]) && exponent == 2 && hki_dtype_is_float(type);
    hki_operand operands[2];
    hki_elementwise e;
    hki_elementwise_plan(&e, operands, is_square ? 1 : 2, r->in, r->out[0], as, type);
    e.row = hki_row_find(is_square ? HKK_ROW_square : HKK_ROW_pow, type, r->k);
    hki_elementwise_run(&e, r->pool);
    return NULL;
}

/* da = dy b a^(b - 1), 0 where b is 0; db = dy y log a, 0 where a is 0 and b is not negative (the limit) */
static hk_status pow_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *a = g->x[0], *b = g->x[1], *dy = g->dy[0];
    if (g->need[0]) {
        hk_value *exponent = a->type.dtype == b->type.dtype ? b : hki_binary(graph, "CastLike", b, a);
        hk_value *zero = hki_scalar_like(graph, exponent, 0);
        hk_value *lower = hki_binary(graph, "Sub", exponent, hki_scalar_like(graph, exponent, 1));
        hk_value *slope = hki_binary(graph, "Mul", exponent, hki_binary(graph, "Pow", a, lower));
        hk_value *is_zero = hki_binary(graph, "Equal", exponent, zero);
        if (is_zero && slope && zero)
            slope = hk_graph_apply(graph, "Where", HK_VALUES(is_zero, zero, slope), HK_NO_ATTRIBUTES);
        g->dx[0] = hki_sum_to_shape(graph, hki_binary(graph, "Mul", dy, slope), a);
    }
    if (g->need[1]) {
        hk_value *zero = hki_scalar_like(graph, a, 0), *is_zero = hki_binary(graph, "Equal", a, zero);
        hk_value *slope = hki_binary(graph, "Mul", g->y[0], hki_unary(graph, "Log", a));
        if (is_zero && slope && zero)
            slope = hk_graph_apply(graph, "Where", HK_VALUES(is_zero, zero, slope), HK_NO_ATTRIBUTES);
        slope = hki_binary(graph, "Mul", dy, slope);
        if (a->type.dtype != b->type.dtype)
            slope = hki_binary(graph, "CastLike", slope, b);
        g->dx[1] = hki_sum_to_shape(graph, slope, b);
    }
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    c->out[0].dtype = c->in[0]->dtype;
    return hki_infer_elementwise(c);
}

static const hki_case cases[] = {
    HKI_BINARY_CASES_IN("{0.5,2}", "{-1.5,2}"),
    {"f[2,3] f[]=(2)!", NULL},
    {"f[2,3] f[]=(3)!", NULL},
    {"f[2,3] f[1]=(0)!", NULL},
    {"f[4]=(0,-1,2,0.5) f[4]=(2,3,0,1)!", NULL},
    {"f[2,3] i64[3]=(0,1,3)", NULL},
    {"i64[3]=(2,-3,4) i64[3]=(5,3,0)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_pow = {
    .name = "Pow",
    .doc = "Z = X^Y, broadcast",
    .inputs = {{"X", "T", HKI_NUMERIC, 0}, {"Y", "T1", HKI_NUMERIC, 0}},
    .outputs = {{"Z", "T", HKI_NUMERIC, 0}},
    .versions = {{1, hki_upgrade_broadcast_axis}, {7, NULL}, {12, NULL}, {13, NULL}, {15, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = infer,
    .run = pow_run,
    .grad = pow_grad,
    .cases = cases,
};
