/* Operators on any number of broadcast operands: Sum, Mean, Max, Min. Operands are combined in their order. */
#include "ops/elementwise_op.h"

static hk_status sum_run(hki_run *r)
{
    return hki_run_fold(r, HKK_ROW_add, false);
}

static hk_status mean_run(hki_run *r)
{
    return hki_run_fold(r, HKK_ROW_add, true);
}

static hk_status max_run(hki_run *r)
{
    return hki_run_fold(r, HKK_ROW_max, false);
}

static hk_status min_run(hki_run *r)
{
    return hki_run_fold(r, HKK_ROW_min, false);
}

static hk_status sum_grad(hki_grad *g)
{
    for (int i = 0; i < g->node->input_count; i++)
        if (g->need[i])
            g->dx[i] = hki_sum_to_shape(g->graph, g->dy[0], g->x[i]);
    return NULL;
}

static hk_status mean_grad(hki_grad *g)
{
    hk_value *count = hki_scalar_like(g->graph, g->dy[0], g->node->input_count);
    hk_value *share = hki_binary(g->graph, "Div", g->dy[0], count);
    for (int i = 0; i < g->node->input_count; i++)
        if (g->need[i])
            g->dx[i] = hki_sum_to_shape(g->graph, share, g->x[i]);
    return NULL;
}

/* The first of the operands that equal the result takes the whole gradient. */
static hk_status extremum_grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *zero = hki_scalar_like(graph, g->dy[0], 0), *taken = NULL;
    for (int i = 0; i < g->node->input_count; i++) {
        hk_value *equal = hki_binary(graph, "Equal", g->x[i], g->y[0]), *mine = equal;
        if (taken)
            mine = hki_binary(graph, "And", equal, hki_unary(graph, "Not", taken));
        taken = taken ? hki_binary(graph, "Or", taken, equal) : equal;
        if (!mine || !zero)
            return NULL; /* the failure is in the graph */
        if (g->need[i]) {
            hk_value *part = hk_graph_apply(graph, "Where", HK_VALUES(mine, g->dy[0], zero), HK_NO_ATTRIBUTES);
            g->dx[i] = hki_sum_to_shape(graph, part, g->x[i]);
        }
    }
    return NULL;
}

static const hki_case cases[] = {
    HKI_BINARY_CASES_IN("", ""), {"f[2,3]", NULL}, {"f[2,3] f[3] f[]", NULL}, {"f[3,1] f[1,40] f[] f[3,40] f[1]", NULL},
    {"f[2,3,2,2] f[3,1,1] f[2,1,1,1]", NULL}, {"f[0,2] f[2] f[1]", NULL}, {NULL, NULL},
};
static const hki_case extremum_cases[] = {
    HKI_BINARY_CASES_IN("", ""), {"f[2,3]", NULL}, {"f[2,3] f[3] f[]", NULL}, {"f[3,1] f[1,40] f[] f[3,40] f[1]", NULL},
    {"i64[3]=(1,5,-2) i64[1]=(2)", NULL}, {"f[0,2] f[2] f[1]", NULL}, {NULL, NULL},
};

/* Not marked as elementwise although they are: only the first two operands may be overwritten, and that one of them may
 * come again among the others is nothing the mark could say. */
#define VARIADIC(symbol, op_name, formula, types, rule, list, ...)                                                     \
    const hki_op hki_op_##symbol = {.name = op_name,                                                                   \
                                    .doc = formula,                                                                    \
                                    .inputs = {{"data", "T", types, HKI_VARIADIC}},                                    \
                                    .outputs = {{"result", "T", types, 0}},                                            \
                                    .versions = {__VA_ARGS__},                                                         \
                                    .layout = HKI_LAYOUT_SAME,                                                         \
                                    .infer = hki_infer_elementwise,                                                    \
                                    .run = symbol##_run,                                                               \
                                    .scratch = hki_fold_scratch,                                                       \
                                    .grad = rule##_grad,                                                               \
                                    .cases = list};

VARIADIC(sum, "Sum", "the sum of all inputs, broadcast", HKI_FLOATS, sum, cases, {1, hki_upgrade_drop_consumed},
         {6, NULL}, {8, NULL}, {13, NULL})
VARIADIC(mean, "Mean", "the mean of all inputs, broadcast", HKI_FLOATS, mean, cases, {1, hki_upgrade_drop_consumed},
         {6, NULL}, {8, NULL}, {13, NULL})
VARIADIC(max, "Max", "the largest of all inputs, broadcast; NaN if one is NaN", HKI_NUMERIC, extremum, extremum_cases,
         {1, hki_upgrade_drop_consumed}, {6, NULL}, {8, NULL}, {12, NULL}, {13, NULL})
VARIADIC(min, "Min", "the smallest of all inputs, broadcast; NaN if one is NaN", HKI_NUMERIC, extremum, extremum_cases,
         {1, hki_upgrade_drop_consumed}, {6, NULL}, {8, NULL}, {12, NULL}, {13, NULL})
