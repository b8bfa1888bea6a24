/* Where: chooses between two operands, element by element. */
#include "ops/elementwise_op.h"

static hk_status run(hki_run *r)
{
    hki_operand operands[3];
    hki_elementwise e;
    hki_elementwise_plan(&e, operands, 3, r->in, r->out[0], NULL, HK_UNDEFINED);
    e.row = hki_row_find(HKK_ROW_where, r->out[0]->dtype, r->k);
    hki_elementwise_run(&e, r->pool);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *zero = hki_scalar_like(g->graph, g->dy[0], 0);
    for (int i = 1; i < 3 && zero; i++) {
        hk_value *yes = i == 1 ? g->dy[0] : zero, *no = i == 1 ? zero : g->dy[0];
        if (g->need[i])
            g->dx[i] = hki_sum_to_shape(
                g->graph, hk_graph_apply(g->graph, "Where", HK_VALUES(g->x[0], yes, no), HK_NO_ATTRIBUTES), g->x[i]);
    }
    return NULL;
}

static const hki_case cases[] = {
    {"bool[2,3]=(0,1,1,0,1,0) f[2,3] f[2,3]", NULL},
    {"bool[3]=(0,1,0) f[2,3] f[]", NULL},
    {"bool[2,1]=(0,1) f[1,70] f[2,70]", NULL},
    {"bool[]=(1) f[2,3] f[3]", NULL},
    {"bool[2,3,2,2] f[3,1,1] f[]", NULL},
    {"bool[1] f[0,3] f[3]", NULL},
    {"bool[3]=(0,1,1) i64[3]=(1,2,3) i64[]=(9)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_where = {
    .name = "Where",
    .doc = "output = condition ? X : Y, broadcast",
    .inputs = {{"condition", "B", HKI_BOOLS, 0}, {"X", "T", HKI_ANY, 0}, {"Y", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .versions = {{9, NULL}, {16, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = hki_infer_elementwise,
    .run = run,
    .grad = grad,
    .cases = cases,
};
