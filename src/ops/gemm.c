/* Gemm: Y = alpha A' B' + beta C. */
#include <inttypes.h>

#include "ops/product.h"
#include "ops/widen.h"

#define GEMM_TYPES (HKI_FLOATS | HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64) | HKI_BIT(HK_UINT32) | HKI_BIT(HK_UINT64))

static hk_status infer(hki_infer *c)
{
    const hki_type *a = c->in[0], *b = c->in[1];
    bool a_transposed = hki_attribute_int(c->node, "transA"), b_transposed = hki_attribute_int(c->node, "transB");
    int64_t k, dims[2] = {HKI_DIM_UNKNOWN, HKI_DIM_UNKNOWN};
    for (int i = 0; i < 2; i++)
        if (c->in[i]->rank >= 0 && c->in[i]->rank != 2)
            return HK_ERR(HK_INVALID_SHAPE, "Gemm multiplies matrices, found %c of rank %d", "AB"[i], c->in[i]->rank);
    if (a->rank == 2)
        dims[0] = a->dims[a_transposed ? 1 : 0];
    if (b->rank == 2)
        dims[1] = b->dims[b_transposed ? 0 : 1];
    if (a->rank == 2 && b->rank == 2) {
        int64_t columns = a->dims[a_transposed ? 0 : 1], rows = b->dims[b_transposed ? 1 : 0];
        hk_status status = hki_dim_merge(&k, columns, rows);
        if (status) {
            hk_status_free(status);
            return HK_ERR(HK_INVALID_SHAPE, "A' has %" PRId64 " columns but B' has %" PRId64 " rows", columns, rows);
        }
    }
    hki_type_set(&c->out[0], a->dtype, 2, dims);
    if (hki_infer_has(c, 2) && c->in[2]->rank >= 0) {
        hki_type broadcast = c->out[0];
        HK_TRY(hki_infer_broadcast(&broadcast, &c->out[0], c->in[2]));
        if (broadcast.rank != 2 || (dims[0] >= 0 && broadcast.dims[0] >= 0 && broadcast.dims[0] != dims[0]) ||
            (dims[1] >= 0 && broadcast.dims[1] >= 0 && broadcast.dims[1] != dims[1]))
            return HK_ERR(HK_INVALID_SHAPE, "C does not broadcast to the shape of A' B'");
    }
    return NULL;
}

static const hk_tensor *bias_of(const hki_run *r)
{
    return r->input_count > 2 ? r->in[2] : NULL;
}

/* True if C fits the epilogue of the kernels: nothing to scale, and a row, a column or a whole matrix. */
static bool is_plain_bias(const hki_run *r)
{
    return r->in[0]->dtype == HK_FLOAT && hki_attribute_float(r->node, "alpha") == 1.0f &&
           hki_attribute_float(r->node, "beta") == 1.0f && hki_shape_count(bias_of(r)->dims, 0, bias_of(r)->rank) > 1;
}

static void describe(hki_product *p, const hki_run *r)
{
    const hk_tensor *a = r->in[0], *b = r->in[1], *c = bias_of(r);
    bool a_transposed = hki_attribute_int(r->node, "transA"), b_transposed = hki_attribute_int(r->node, "transB");
    *p = (hki_product){
        .dtype = a->dtype, .M = a->dims[a_transposed], .K = a->dims[!a_transposed], .N = b->dims[!b_transposed]};
    p->a = a->data;
    p->b = b->data;
    p->c = r->out[0]->data;
    p->a_row = a_transposed ? 1 : p->K;
    p->a_step = a_transposed ? p->M : 1;
    p->b_row = b_transposed ? 1 : p->N;
    p->b_column = b_transposed ? p->K : 1;
    p->packed_b = r->packed ? r->packed[1] : NULL;
    if (!c || !is_plain_bias(r))
        return;
    int64_t columns = c->dims[c->rank - 1], rows = c->rank > 1 ? c->dims[c->rank - 2] : 1;
    if (rows == 1)
        p->epilogue.bias_n = c->data;
    else if (columns == 1)
        p->epilogue.bias_m = c->data;
    else {
        p->epilogue.residual = c->data;
        p->epilogue.residual_ld = columns;
    }
}

/* Y = alpha Y + beta C for what the kernels do not do. */
typedef struct affine {
    const hki_run *run;
    double alpha, beta;
    const void *c;
    int64_t columns, row_stride, column_stride;
} affine;

#define AFFINE_ROW(name, type, factor)                                                         \
    static void affine_##name(const affine *f, int64_t row)                                    \
    {                                                                                          \
        type *y = (type *)f->run->out[0]->data + row * f->columns;                             \
        const type *c = f->c;                                                                  \
        type alpha = (type)(factor)f->alpha, beta = (type)(factor)f->beta;                     \
        for (int64_t n = 0; n < f->columns; n++) {                                             \
            type scaled = alpha * y[n];                                                        \
            y[n] = c ? scaled + beta * c[row * f->row_stride + n * f->column_stride] : scaled; \
        }                                                                                      \
    }
AFFINE_ROW(float, float, float)
AFFINE_ROW(double, double, double)
AFFINE_ROW(uint32, uint32_t, int64_t)
AFFINE_ROW(uint64, uint64_t, int64_t)

static void affine_block(void *context, int64_t row, int worker)
{
    (void)worker;
    const affine *f = context;
    hk_dtype dtype = f->run->out[0]->dtype;
    if (dtype == HK_FLOAT)
        affine_float(f, row);
    else if (dtype == HK_DOUBLE)
        affine_double(f, row);
    else if (hk_dtype_size(dtype) == 4)
        affine_uint32(f, row);
    else
        affine_uint64(f, row);
}

static hk_status run_any(hki_run *r)
{
    hki_product p;
    describe(&p, r);
    hki_product_run(&p, r->scratch, r->pool, r->k);
    const hk_tensor *c = bias_of(r);
    affine f = {.run = r,
                .alpha = hki_attribute_float(r->node, "alpha"),
                .beta = hki_attribute_float(r->node, "beta"),
                .columns = p.N};
    if (c && !is_plain_bias(r)) {
        int64_t strides[HK_MAX_RANK];
        hki_broadcast_strides(strides, 2, r->out[0]->dims, c);
        f.c = c->data;
        f.row_stride = strides[0];
        f.column_stride = strides[1];
    }
    if (f.c || f.alpha != 1)
        hki_pool_run(r->pool, p.M, affine_block, &f);
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
    hki_product p;
    describe(&p, r);
    return 2.0 * (double)p.M * (double)p.N * (double)p.K;
}

static hk_value *product(hki_grad *g, hk_value *a, hk_value *b, bool a_transposed, bool b_transposed)
{
    return hk_graph_apply(g->graph, "Gemm", HK_VALUES(a, b),
                          HK_ATTRIBUTES(HK_FLOAT32("alpha", hki_attribute_float(g->node, "alpha")),
                                        HK_INT("transA", a_transposed), HK_INT("transB", b_transposed)));
}

static hk_status grad(hki_grad *g)
{
    bool a_transposed = hki_attribute_int(g->node, "transA"), b_transposed = hki_attribute_int(g->node, "transB");
    float beta = hki_attribute_float(g->node, "beta");
    hk_value *a = g->x[0], *b = g->x[1], *dy = g->dy[0];
    if (!dy)
        return NULL;
    if (g->need[0])
        g->dx[0] = a_transposed ? product(g, b, dy, b_transposed, true) : product(g, dy, b, false, !b_transposed);
    if (g->need[1])
        g->dx[1] = b_transposed ? product(g, dy, a, true, a_transposed) : product(g, a, dy, !a_transposed, false);
    if (g->node->input_count > 2 && g->x[2] && g->need[2]) {
        hk_value *scaled = beta == 1.0f ? dy : hki_binary(g->graph, "Mul", dy, hki_scalar_like(g->graph, dy, beta));
        g->dx[2] = hki_sum_to_shape(g->graph, scaled, g->x[2]);
    }
    return NULL;
}

/* Until opset 7 C was broadcast only on request, and had to be given. */
static hk_status upgrade_broadcast(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "broadcast");
    return NULL;
}

static const hki_case cases[] = {
    {"f[2,3] f[3,4] f[4]", NULL},
    {"f[2,3] f[3,4]", NULL},
    {"f[2,3] f[3,4] f[2,4]", "alpha=0.5 beta=0.25"},
    {"f[3,2] f[3,4] f[2,1]", "transA=1"},
    {"f[2,3] f[4,3] f[1,4]", "transB=1"},
    {"f[3,2] f[4,3] f[]", "transA=1 transB=1 beta=2"},
    {"f[2,3] f[3,4] f[1]", NULL},
    {"f[2,3] f[3,1] f[2,1]", "alpha=3"},
    {"f[130,70] f[40,70] f[40]", "transB=1"},
    {"f[0,3] f[3,4] f[4]", NULL},
    {"i32[2,3] i32[3,2] i32[2]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_gemm = {
    .name = "Gemm",
    .doc = "Y = alpha A' B' + beta C, with A' and B' transposed if transA or transB",
    .inputs = {{"A", "T", GEMM_TYPES, 0}, {"B", "T", GEMM_TYPES, 0}, {"C", "T", GEMM_TYPES, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", GEMM_TYPES, 0}},
    .attributes = {{"alpha", HK_ATTRIBUTE_FLOAT, {.f = 1}, false},
                   {"beta", HK_ATTRIBUTE_FLOAT, {.f = 1}, false},
                   {"transA", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"transB", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, upgrade_broadcast}, {6, upgrade_broadcast}, {7, NULL}, {9, NULL}, {11, NULL}, {13, NULL}},
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .packed_size = packed_size,
    .pack = pack,
    .grad = grad,
    .flops = flops,
    .cases = cases,
};
