/* MatMul (NumPy's matmul) and halka.FusedMatMul, the same with either operand transposed, which its gradients are made
 * of. */
#include <inttypes.h>

#include "ops/product.h"
#include "ops/shapes.h"
#include "ops/widen.h"

#define MATMUL_TYPES \
    (HKI_FLOATS | HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64) | HKI_BIT(HK_UINT32) | HKI_BIT(HK_UINT64))

extern const hki_op hki_op_matmul, hki_op_fused_matmul;

/* An operand as a stack of matrices: [batch..., rows, columns]. */
typedef struct operand {
    int batch_rank;
    int64_t batch[HK_MAX_RANK], rows, columns;
} operand;

/* A vector on the left is one row, on the right one column. */
static operand view(int rank, const int64_t *dims, bool left, bool transposed)
{
    operand o = {.batch_rank = rank > 2 ? rank - 2 : 0};
    for (int d = 0; d < o.batch_rank; d++)
        o.batch[d] = dims[d];
    int64_t last = dims[rank - 1], before = rank > 1 ? dims[rank - 2] : 1;
    o.rows = rank > 1 ? (transposed ? last : before) : left ? 1 : last;
    o.columns = rank > 1 ? (transposed ? before : last) : left ? last : 1;
    return o;
}

static bool is_transposed(const hk_node *node, const char *attribute)
{
    return node->op == &hki_op_fused_matmul && hki_attribute_int(node, attribute);
}

static hk_status infer(hki_infer *c)
{
    const hki_type *a = c->in[0], *b = c->in[1];
    hki_type batch = {0}, x = {0}, y = {0};
    int64_t k;
    if (a->rank == 0 || b->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "a matrix product takes vectors and matrices, found a scalar");
    if (a->rank < 0 || b->rank < 0)
        return NULL;
    operand left = view(a->rank, a->dims, true, is_transposed(c->node, "transA"));
    operand right = view(b->rank, b->dims, false, is_transposed(c->node, "transB"));
    hk_status status = hki_dim_merge(&k, left.columns, right.rows);
    hk_status_free(status);
    if (status)
        return HK_ERR(HK_INVALID_SHAPE, "A has %" PRId64 " columns but B has %" PRId64 " rows", left.columns,
                      right.rows);
    hki_type_set(&x, a->dtype, left.batch_rank, left.batch);
    hki_type_set(&y, b->dtype, right.batch_rank, right.batch);
    HK_TRY(hki_infer_broadcast(&batch, &x, &y));
    if (batch.rank < 0)
        return NULL;
    c->out[0].rank = 0;
    for (int d = 0; d < batch.rank; d++)
        c->out[0].dims[c->out[0].rank++] = batch.dims[d];
    if (a->rank > 1)
        c->out[0].dims[c->out[0].rank++] = left.rows;
    if (b->rank > 1)
        c->out[0].dims[c->out[0].rank++] = right.columns;
    return NULL;
}

/* Strides of an operand's batch dims as seen from the batch of the product. */
static void batch_strides(int64_t *out, const hki_product *p, const operand *o)
{
    int64_t stride = o->rows * o->columns;
    for (int d = 0; d < p->batch_rank; d++)
        out[d] = 0;
    for (int d = o->batch_rank - 1; d >= 0; d--) {
        out[p->batch_rank - o->batch_rank + d] = o->batch[d] == 1 ? 0 : stride;
        stride *= o->batch[d];
    }
}

/* If B has no batch and A lies row by row, the batch is only more rows. */
static void fold_batch(hki_product *p, const operand *left, const operand *right, bool a_transposed)
{
    if (right->batch_rank || a_transposed)
        return;
    for (int d = 0; d < left->batch_rank; d++)
        p->M *= left->batch[d];
    p->batch_rank = 0;
}

static void describe(hki_product *p, const hki_run *r)
{
    const hk_tensor *a = r->in[0], *b = r->in[1], *y = r->out[0];
    bool a_transposed = is_transposed(r->node, "transA") && a->rank > 1,
         b_transposed = is_transposed(r->node, "transB") && b->rank > 1;
    operand left = view(a->rank, a->dims, true, a_transposed), right = view(b->rank, b->dims, false, b_transposed);
    *p = (hki_product){.dtype = a->dtype,
                       .M = left.rows,
                       .N = right.columns,
                       .K = left.columns,
                       .a = a->data,
                       .b = b->data,
                       .c = y->data};
    p->a_row = a_transposed ? 1 : left.columns;
    p->a_step = a_transposed ? left.rows : 1;
    p->b_row = b_transposed ? 1 : right.columns;
    p->b_column = b_transposed ? right.rows : 1;
    p->batch_rank = left.batch_rank > right.batch_rank ? left.batch_rank : right.batch_rank;
    for (int d = 0; d < p->batch_rank; d++)
        p->batch_dims[d] = y->dims[d];
    batch_strides(p->a_batch, p, &left);
    batch_strides(p->b_batch, p, &right);
    fold_batch(p, &left, &right, a_transposed);
    p->packed_b = r->packed ? r->packed[1] : NULL;
}

static hk_status run_any(hki_run *r)
{
    hki_product p;
    describe(&p, r);
    hki_product_run(&p, r->scratch, r->pool, r->k);
    return NULL;
}

static hk_status run(hki_run *r)
{
    return hki_run_half(r, run_any);
}

static size_t scratch_any(const hki_run *r)
{
    hki_product p;
    describe(&p, r);
    return hki_product_scratch(&p, r->threads);
}

static size_t scratch(const hki_run *r)
{
    return hki_half_scratch(r, scratch_any);
}

static size_t packed_size(const hki_run *r, int input)
{
    hki_product p;
    if (input != 1)
        return 0;
    describe(&p, r);
    return hki_product_packed_size(&p);
}

static void pack(const hki_run *r, int input, void *to)
{
    hki_product p;
    (void)input;
    describe(&p, r);
    hki_product_pack(to, &p, r->pool, r->k);
}

static double flops(const hki_run *r)
{
    const hk_tensor *a = r->in[0];
    operand left = view(a->rank, a->dims, true, is_transposed(r->node, "transA"));
    return 2.0 * (double)left.columns * (double)hki_shape_count(r->out[0]->dims, 0, r->out[0]->rank);
}

/* ---- Gradients: products again, with one operand transposed. ---- */

static hk_value *fused(hk_graph *g, hk_value *a, hk_value *b, bool a_transposed, bool b_transposed)
{
    return hk_graph_apply(g, "halka.FusedMatMul", HK_VALUES(a, b),
                          HK_ATTRIBUTES(HK_INT("transA", a_transposed), HK_INT("transB", b_transposed)));
}

static hk_value *insert_axis(hk_graph *g, hk_value *x, int64_t axis)
{
    return hki_binary(g, "Unsqueeze", x, hki_ints_constant(g, 1, &axis));
}

/* All dims but the last as one. */
static hk_value *flatten_rows(hk_graph *g, hk_value *x)
{
    return hk_graph_apply(g, "Flatten", HK_VALUES(x), HK_ATTRIBUTES(HK_INT("axis", -1)));
}

/* dB of a matrix B that all batches of A share: the batch is a longer sum, not many products to be added up. */
static hk_value *shared_gradient(hk_graph *g, hk_value *a, hk_value *dy, bool b_transposed)
{
    hk_value *x = flatten_rows(g, a), *y = flatten_rows(g, dy);
    return b_transposed ? fused(g, y, x, true, false) : fused(g, x, y, true, false);
}

static hk_status grad(hki_grad *g)
{
    hk_graph *graph = g->graph;
    hk_value *a = g->x[0], *b = g->x[1], *dy = g->dy[0];
    int a_rank = a->type.rank, b_rank = b->type.rank;
    bool a_transposed = is_transposed(g->node, "transA") && a_rank > 1,
         b_transposed = is_transposed(g->node, "transB") && b_rank > 1;
    if (!dy)
        return NULL;
    if (a_rank < 1 || b_rank < 1)
        return HK_ERR(HK_UNSUPPORTED, "the gradient of a matrix product needs operands of known rank");
    if (a_rank > 2 && b_rank == 2 && !a_transposed && g->need[1]) {
        g->dx[1] = shared_gradient(graph, a, dy, b_transposed);
    } else if (g->need[1]) {
        hk_value *left = a_rank == 1 ? insert_axis(graph, a, 0) : a,
                 *d = a_rank == 1 ? insert_axis(graph, dy, b_rank == 1 ? -1 : -2) : dy;
        if (b_rank == 1)
            d = insert_axis(graph, d, -1);
        hk_value *db =
            b_transposed ? fused(graph, d, left, true, a_transposed) : fused(graph, left, d, !a_transposed, false);
        int64_t last = -1;
        if (b_rank == 1)
            db = hki_binary(graph, "Squeeze", db, hki_ints_constant(graph, 1, &last));
        g->dx[1] = hki_sum_to_shape(graph, db, b);
    }
    if (g->need[0]) {
        hk_value *right = b_rank == 1 ? insert_axis(graph, b, 1) : b,
                 *d = b_rank == 1 ? insert_axis(graph, dy, -1) : dy;
        if (a_rank == 1)
            d = insert_axis(graph, d, -2);
        hk_value *da =
            a_transposed ? fused(graph, right, d, b_transposed, true) : fused(graph, d, right, false, !b_transposed);
        g->dx[0] = hki_sum_to_shape(graph, da, a);
    }
    return NULL;
}

static const hki_case cases[] = {
    {"f[2,3] f[3,4]", NULL},
    {"f[3] f[3]", NULL},
    {"f[3] f[3,4]", NULL},
    {"f[2,3] f[3]", NULL},
    {"f[5,2,3] f[3,4]", NULL},
    {"f[3] f[5,3,4]", NULL},
    {"f[5,2,3] f[3]", NULL},
    {"f[2,3] f[5,3,4]", NULL},
    {"f[2,1,2,3] f[4,3,2]", NULL},
    {"f[2,3,2,3] f[2,3,3,5]", NULL},
    {"f[1,2,3] f[4,3,2]", NULL},
    {"f[120,70] f[70,40]", NULL},
    {"f[2,0] f[0,3]", NULL},
    {"f[0,2,3] f[3,4]", NULL},
    {"i32[2,3] i32[3,2]", NULL},
    {"i64[2,2,3] i64[3,2]", NULL},
    {NULL, NULL},
};
static const hki_case fused_cases[] = {
    {"f[3,2] f[3,4]", "transA=1"},
    {"f[2,3] f[4,3]", "transB=1"},
    {"f[3,2] f[4,3]", "transA=1 transB=1"},
    {"f[5,3,2] f[3,4]", "transA=1"},
    {"f[5,2,3] f[4,3]", "transB=1"},
    {"f[2,3,2] f[5,1,4,3]", "transA=1 transB=1"},
    {NULL, NULL},
};

#define MATMUL_PORTS                                                                       \
    .inputs = {{"A", "T", MATMUL_TYPES, 0}, {"B", "T", MATMUL_TYPES, 0}},                  \
    .outputs = {{"Y", "T", MATMUL_TYPES, 0}}, .infer = infer, .run = run, .scratch = scratch, \
    .packed_size = packed_size, .pack = pack, .grad = grad, .flops = flops

const hki_op hki_op_matmul = {
    .name = "MatMul",
    .doc = "Y = A B, matrices in the last two dims",
    .versions = {{1, NULL}, {9, NULL}, {13, NULL}},
    .cases = cases,
    MATMUL_PORTS,
};

const hki_op hki_op_fused_matmul = {
    .name = "FusedMatMul",
    .domain = "halka",
    .doc = "Y = A' B', each with its last two dims exchanged if transA or transB",
    .attributes = {{"transA", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"transB", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .cases = fused_cases,
    MATMUL_PORTS,
};
