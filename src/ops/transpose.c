/* Transpose: y[i_perm0, i_perm1, ...] = x[i_0, i_1, ...]. */
#include <inttypes.h>

#include "ops/movement.h"
#include "ops/shapes.h"

/* The permutation: dim i of y is dim perm[i] of x; without the attribute, reversed. */
static hk_status permutation(int *perm, const hk_node *node, int rank)
{
    int64_t count;
    const int64_t *list = hki_attribute_ints(node, "perm", &count);
    uint32_t seen = 0;
    if (list && count != rank)
        return HK_ERR(HK_INVALID_ARGUMENT, "perm has %" PRId64 " numbers for an input of rank %d", count, rank);
    for (int i = 0; i < rank; i++) {
        int64_t axis = list ? list[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank || (seen >> axis & 1))
            return HK_ERR(HK_INVALID_ARGUMENT,
                          "perm must be a permutation of 0 .. %d, found %" PRId64 " at position %d%s", rank - 1, axis,
                          i, axis >= 0 && axis < rank ? " a second time" : "");
        seen |= 1u << axis;
        perm[i] = (int)axis;
    }
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    int perm[HK_MAX_RANK], rank = x->rank;
    int64_t count;
    if (rank < 0 && hki_attribute_ints(c->node, "perm", &count) && count <= HK_MAX_RANK)
        rank = (int)count;
    if (rank < 0)
        return NULL;
    HK_TRY(permutation(perm, c->node, rank));
    y->rank = rank;
    for (int i = 0; i < rank; i++)
        y->dims[i] = x->rank < 0 ? HKI_DIM_UNKNOWN : x->dims[perm[i]];
    return NULL;
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    int perm[HK_MAX_RANK];
    int64_t strides[HK_MAX_RANK], to[HK_MAX_RANK];
    HK_TRY(permutation(perm, r->node, x->rank));
    hki_row_major(strides, x->rank, x->dims);
    hki_row_major(to, y->rank, y->dims);
    hki_move move = {.to = y->data, .from = x->data, .element_size = hk_dtype_size(x->dtype)};
    for (int i = 0; i < y->rank; i++)
        hki_move_add(&move, y->dims[i], to[i], strides[perm[i]]);
    hki_move_run(&move, r->pool);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    if (!g->need[0] || !g->dy[0])
        return NULL;
    int64_t count, inverse[HK_MAX_RANK];
    const int64_t *list = hki_attribute_ints(g->node, "perm", &count);
    for (int64_t i = 0; list && i < count; i++)
        inverse[list[i]] = i;
    hk_attribute perm = {"perm", HK_ATTRIBUTE_INTS, list ? count : 0, {.ints = inverse}};
    g->dx[0] = hk_graph_apply(g->graph, "Transpose", HK_VALUES(g->dy[0]), list != NULL, &perm);
    return NULL;
}

static const hki_case cases[] = {
    {"f[2,3]", NULL},
    {"f[2,3,4]", NULL},
    {"f[2,3,4]", "perm=[2,0,1]"},
    {"f[2,3,4,5]", "perm=[0,2,3,1]"},
    {"f[2,1,3,1,2]", "perm=[4,3,0,1,2]"},
    {"f[]", NULL},
    {"f[5]", "perm=[0]"},
    {"f[2,0,3]", "perm=[1,2,0]"},
    {NULL, NULL},
};

const hki_op hki_op_transpose = {
    .name = "Transpose",
    .doc = "y is x with its dims in the order perm (default: reversed)",
    .inputs = {{"data", "T", HKI_ANY, 0}},
    .outputs = {{"transposed", "T", HKI_ANY, 0}},
    .attributes = {{"perm", HK_ATTRIBUTE_INTS, {.i = 0}, false}},
    .versions = {{1, NULL}, {13, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};
