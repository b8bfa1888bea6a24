/* Elementary functions of one operand: signs, roots, rounding, exponentials, trigonometry. */
#include "ops/elementwise_op.h"

#include <math.h>

/* ---- Formulae of gradients. ---- */

static hk_value *scaled(hk_graph *g, hk_value *x, double factor)
{
    return hki_binary(g, "Mul", x, hki_scalar_like(g, x, factor));
}

static hk_value *square(hk_graph *g, hk_value *x)
{
    return hki_binary(g, "Mul", x, x);
}

/* sign x^2 + number */
static hk_value *square_plus(hk_graph *g, hk_value *x, int sign, double number)
{
    hk_value *constant = hki_scalar_like(g, x, number);
    return sign > 0 ? hki_binary(g, "Add", square(g, x), constant) : hki_binary(g, "Sub", constant, square(g, x));
}

/* dx = the expression, in terms of graph, dy, x and y */
#define GRAD(name, expr)                                                                   \
    static hk_status name##_grad(hki_grad *g)                                              \
    {                                                                                      \
        hk_graph *graph = g->graph;                                                        \
        hk_value *dy = g->dy[0], *x = g->x[0], *y = g->y[0];                               \
        (void)x, (void)y, (void)dy, (void)graph;                                           \
        if (g->need[0])                                                                    \
            g->dx[0] = (expr);                                                             \
        return NULL;                                                                       \
    }
#define TIMES(factor)   hki_binary(graph, "Mul", dy, factor)
#define OVER(divisor)   hki_binary(graph, "Div", dy, divisor)
#define MINUS(value)    hki_unary(graph, "Neg", value)
#define APPLY(op, value) hki_unary(graph, op, value)

GRAD(neg, MINUS(dy))
GRAD(abs, TIMES(APPLY("Sign", x)))
GRAD(sqrt, OVER(scaled(graph, y, 2)))
GRAD(exp, TIMES(y))
GRAD(log, OVER(x))
GRAD(reciprocal, MINUS(TIMES(square(graph, y))))
GRAD(erf, TIMES(scaled(graph, APPLY("Exp", MINUS(square(graph, x))), M_2_SQRTPI)))
GRAD(sin, TIMES(APPLY("Cos", x)))
GRAD(cos, MINUS(TIMES(APPLY("Sin", x))))
GRAD(tan, TIMES(square_plus(graph, y, 1, 1)))
GRAD(asin, OVER(APPLY("Sqrt", square_plus(graph, x, -1, 1))))
GRAD(acos, MINUS(OVER(APPLY("Sqrt", square_plus(graph, x, -1, 1)))))
GRAD(atan, OVER(square_plus(graph, x, 1, 1)))
GRAD(sinh, TIMES(APPLY("Cosh", x)))
GRAD(cosh, TIMES(APPLY("Sinh", x)))
GRAD(asinh, OVER(APPLY("Sqrt", square_plus(graph, x, 1, 1))))
GRAD(acosh, OVER(APPLY("Sqrt", square_plus(graph, x, 1, -1))))
GRAD(atanh, OVER(square_plus(graph, x, -1, 1)))
GRAD(flat, NULL) /* steps: zero almost everywhere */

/* ---- Run functions. ---- */

HKI_RUN_ROW(neg, neg)
HKI_RUN_ROW(abs, abs)
HKI_RUN_ROW(sign, sign)
HKI_RUN_ROW(sqrt, sqrt)
HKI_RUN_ROW(exp, exp)
HKI_RUN_ROW(log, log)
HKI_RUN_ROW(reciprocal, reciprocal)
HKI_RUN_ROW(floor, floor)
HKI_RUN_ROW(ceil, ceil)
HKI_RUN_ROW(round, round)
HKI_RUN_ROW(erf, erf)
HKI_RUN_ROW(sin, sin)
HKI_RUN_ROW(cos, cos)
HKI_RUN_ROW(tan, tan)
HKI_RUN_ROW(asin, asin)
HKI_RUN_ROW(acos, acos)
HKI_RUN_ROW(atan, atan)
HKI_RUN_ROW(sinh, sinh)
HKI_RUN_ROW(cosh, cosh)
HKI_RUN_ROW(asinh, asinh)
HKI_RUN_ROW(acosh, acosh)
HKI_RUN_ROW(atanh, atanh)

/* ---- Descriptors. ---- */

static const hki_case any_cases[] = {HKI_UNARY_CASES};
static const hki_case positive_cases[] = {HKI_UNARY_CASES_IN("{0.2,3}")};
static const hki_case small_cases[] = {HKI_UNARY_CASES_IN("{-0.9,0.9}")};
static const hki_case over_one_cases[] = {HKI_UNARY_CASES_IN("{1.1,4}")};

#define ELEMENTARY(symbol, op_name, formula, types, rule, list, ...)                                              \
    const hki_op hki_op_##symbol = {.name = op_name, .doc = formula, HKI_UNARY(types), .versions = {__VA_ARGS__}, \
                                    .run = symbol##_run, .grad = rule##_grad, .cases = list};
#define SINCE_1 {1, hki_upgrade_drop_consumed}, {6, NULL}, {13, NULL}

ELEMENTARY(neg, "Neg", "Y = -X", HKI_FLOATS | HKI_SIGNED_INTS, neg, any_cases, SINCE_1)
ELEMENTARY(abs, "Abs", "Y = |X|", HKI_NUMERIC, abs, any_cases, SINCE_1)
ELEMENTARY(sign, "Sign", "Y = -1, 0 or 1: the sign of X", HKI_NUMERIC, flat, any_cases, {9, NULL}, {13, NULL})
ELEMENTARY(sqrt, "Sqrt", "Y = square root of X", HKI_FLOATS, sqrt, positive_cases, SINCE_1)
ELEMENTARY(exp, "Exp", "Y = e^X", HKI_FLOATS, exp, any_cases, SINCE_1)
ELEMENTARY(log, "Log", "Y = natural logarithm of X", HKI_FLOATS, log, positive_cases, SINCE_1)
ELEMENTARY(reciprocal, "Reciprocal", "Y = 1 / X", HKI_FLOATS, reciprocal, positive_cases, SINCE_1)
ELEMENTARY(floor, "Floor", "Y = largest integer not above X", HKI_FLOATS, flat, any_cases, SINCE_1)
ELEMENTARY(ceil, "Ceil", "Y = smallest integer not below X", HKI_FLOATS, flat, any_cases, SINCE_1)
ELEMENTARY(round, "Round", "Y = integer nearest to X, ties to even", HKI_FLOATS, flat, any_cases, {11, NULL},
           {22, NULL})
ELEMENTARY(erf, "Erf", "Y = error function of X", HKI_FLOATS, erf, any_cases, {9, NULL}, {13, NULL})
ELEMENTARY(sin, "Sin", "Y = sine of X", HKI_FLOATS, sin, any_cases, {7, NULL}, {22, NULL})
ELEMENTARY(cos, "Cos", "Y = cosine of X", HKI_FLOATS, cos, any_cases, {7, NULL}, {22, NULL})
ELEMENTARY(tan, "Tan", "Y = tangent of X", HKI_FLOATS, tan, small_cases, {7, NULL}, {22, NULL})
ELEMENTARY(asin, "Asin", "Y = arc sine of X", HKI_FLOATS, asin, small_cases, {7, NULL}, {22, NULL})
ELEMENTARY(acos, "Acos", "Y = arc cosine of X", HKI_FLOATS, acos, small_cases, {7, NULL}, {22, NULL})
ELEMENTARY(atan, "Atan", "Y = arc tangent of X", HKI_FLOATS, atan, any_cases, {7, NULL}, {22, NULL})
ELEMENTARY(sinh, "Sinh", "Y = hyperbolic sine of X", HKI_FLOATS, sinh, any_cases, {9, NULL}, {22, NULL})
ELEMENTARY(cosh, "Cosh", "Y = hyperbolic cosine of X", HKI_FLOATS, cosh, any_cases, {9, NULL}, {22, NULL})
ELEMENTARY(asinh, "Asinh", "Y = inverse hyperbolic sine of X", HKI_FLOATS, asinh, any_cases, {9, NULL}, {22, NULL})
ELEMENTARY(acosh, "Acosh", "Y = inverse hyperbolic cosine of X", HKI_FLOATS, acosh, over_one_cases, {9, NULL},
           {22, NULL})
ELEMENTARY(atanh, "Atanh", "Y = inverse hyperbolic tangent of X", HKI_FLOATS, atanh, small_cases, {9, NULL}, {22, NULL})
