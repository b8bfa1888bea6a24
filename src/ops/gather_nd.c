/* GatherND and ScatterND: index tuples that name slices.
 *
 *   gather:   y[b, k, ...] = x[b, indices[b, k, 0], indices[b, k, 1], ..., ...]   with b the batch dims
 *   scatter:  y = x; y[indices[k, 0], indices[k, 1], ..., ...] = f(y[...], updates[k, ...]) in the order of k
 *
 * The offsets of all slices are computed and checked first, into scratch; copying or ordered scattering follows. */
#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/shapes.h"

typedef struct slices {
    int64_t count, length;        /* slices, elements of one */
    int64_t batches, batch_count; /* batches, slices of one */
} slices;

/* Sizes for data of dims (rank) and indices; the shapes were inferred. */
static slices measure(const hk_tensor *indices, int rank, const int64_t *dims, int batch_dims)
{
    int tuple = (int)indices->dims[indices->rank - 1];
    slices s = {.count = hki_shape_count(indices->dims, 0, indices->rank - 1),
                .length = hki_shape_count(dims, batch_dims + tuple, rank),
                .batches = hki_shape_count(indices->dims, 0, batch_dims)};
    s.batch_count = s.batches ? s.count / s.batches : 0;
    return s;
}

static hk_status find_slices(int64_t *out, const slices *s, const hk_tensor *indices, int rank, const int64_t *dims,
                             int batch_dims)
{
    int tuple = (int)indices->dims[indices->rank - 1];
    int64_t strides[HK_MAX_RANK], batch = hki_shape_count(dims, batch_dims, rank);
    hki_row_major(strides, rank, dims);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t offset = i / s->batch_count * batch;
        for (int j = 0; j < tuple; j++) {
            int64_t index = hki_index_at(indices, i * tuple + j), dim = dims[batch_dims + j];
            if (index < -dim || index >= dim)
                return HK_ERR(HK_INVALID_DATA,
                              "index %" PRId64 " (number %d of tuple %" PRId64 ") is outside -%" PRId64 " .. %" PRId64
                              " of axis %d",
                              index, j, i, dim, dim - 1, batch_dims + j);
            offset += (index < 0 ? index + dim : index) * strides[batch_dims + j];
        }
        out[i] = offset;
    }
    return NULL;
}

static hk_status check_tuple(const hki_type *x, const hki_type *indices, int64_t batch_dims)
{
    if (x->rank == 0 || indices->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "data and indices must have rank 1 or more, found %d and %d", x->rank,
                      indices->rank);
    if (batch_dims < 0 || (x->rank >= 0 && batch_dims >= x->rank) ||
        (indices->rank >= 0 && batch_dims >= indices->rank))
        return HK_ERR(HK_INVALID_ARGUMENT, "batch_dims %" PRId64 " must be less than the ranks %d and %d", batch_dims,
                      x->rank, indices->rank);
    if (x->rank < 0 || indices->rank < 0)
        return NULL;
    int64_t tuple = indices->dims[indices->rank - 1], dim;
    if (tuple > x->rank - batch_dims || tuple == 0)
        return HK_ERR(HK_INVALID_SHAPE, "the last dim of indices is %" PRId64 ", expected 1 .. %" PRId64, tuple,
                      x->rank - batch_dims);
    for (int i = 0; i < batch_dims; i++)
        HK_TRY_CTX(hki_dim_merge(&dim, x->dims[i], indices->dims[i]), "batch dim %d of data and indices", i);
    return NULL;
}

/* Dims of the slices that indices names in x: those of indices without the last, then those of x that no tuple names.
 * False: not known. */
static bool slices_shape(hki_type *out, const hki_type *x, const hki_type *indices, int batch_dims)
{
    out->rank = -1;
    if (x->rank < 0 || indices->rank < 1 || indices->dims[indices->rank - 1] < 0)
        return false;
    int first = batch_dims + (int)indices->dims[indices->rank - 1], rank = indices->rank - 1;
    if (rank + x->rank - first > HK_MAX_RANK)
        return false;
    memcpy(out->dims, indices->dims, sizeof(out->dims[0]) * (size_t)rank);
    for (int i = first; i < x->rank; i++)
        out->dims[rank++] = x->dims[i];
    out->rank = rank;
    return true;
}

static size_t offsets_scratch(const hk_tensor *indices)
{
    return (size_t)hki_shape_count(indices->dims, 0, indices->rank - 1) * sizeof(int64_t);
}

/* ---- GatherND ---- */

static hk_status gather_infer(hki_infer *c)
{
    int64_t batch_dims = hki_attribute_int(c->node, "batch_dims");
    HK_TRY(check_tuple(c->in[0], c->in[1], batch_dims));
    slices_shape(&c->out[0], c->in[0], c->in[1], (int)batch_dims);
    return NULL;
}

static size_t gather_scratch(const hki_run *r)
{
    return offsets_scratch(r->in[1]);
}

typedef struct copying {
    const int64_t *offsets;
    char *to;
    const char *from;
    int64_t count, step;
    size_t bytes, size;
} copying;

static void copy_slices(void *context, int64_t block, int worker)
{
    (void)worker;
    const copying *s = context;
    int64_t end = (block + 1) * s->step < s->count ? (block + 1) * s->step : s->count;
    for (int64_t i = block * s->step; i < end; i++)
        memcpy(s->to + (size_t)i * s->bytes, s->from + (size_t)s->offsets[i] * s->size, s->bytes);
}

static hk_status gather_run(hki_run *r)
{
    const hk_tensor *x = r->in[0], *indices = r->in[1];
    int batch_dims = (int)hki_attribute_int(r->node, "batch_dims");
    slices s = measure(indices, x->rank, x->dims, batch_dims);
    if (s.count == 0)
        return NULL;
    HK_TRY(find_slices(r->scratch, &s, indices, x->rank, x->dims, batch_dims));
    copying c = {.offsets = r->scratch,
                 .to = r->out[0]->data,
                 .from = x->data,
                 .count = s.count,
                 .size = hk_dtype_size(x->dtype)};
    c.bytes = (size_t)s.length * c.size;
    int64_t blocks = hki_blocks(&c.step, c.count, (int64_t)c.bytes + 16);
    hki_pool_run(r->pool, blocks, copy_slices, &c);
    return NULL;
}

static hk_status gather_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "GatherNDGrad", NULL, HK_VALUES(g->dy[0], g->x[1], g->x[0]),
                      HK_ATTRIBUTES(HK_INT("batch_dims", hki_attribute_int(g->node, "batch_dims"))), 1, &g->dx[0]);
    return NULL;
}

static const hki_case gather_cases[] = {
    {"f[2,2] i64[2,2]=(0,0,1,-1)", NULL},
    {"f[3,2] i64[3,1]=(1,0,1)", NULL},
    {"f[2,2,2] i64[2,1]=(1,0)", "batch_dims=1"},
    {"f[2,3,2] i64[2,2,1]=(1,0,2,2)", "batch_dims=1"},
    {"f[2,2,2] i64[1,2,2]=(0,1,1,0)", NULL},
    {"f[3,2] i64[0,1]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_gather_nd = {
    .name = "GatherND",
    .doc = "y = slices of x named by the tuples in the last dim of indices",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"indices", "indices", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"batch_dims", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{11, NULL}, {12, NULL}, {13, NULL}},
    .infer = gather_infer,
    .run = gather_run,
    .scratch = gather_scratch,
    .grad = gather_grad,
    .cases = gather_cases,
};

/* ---- The gradient ---- */

static hk_status backward_infer(hki_infer *c)
{
    HK_TRY(check_tuple(c->in[2], c->in[1], hki_attribute_int(c->node, "batch_dims")));
    hki_type_copy(&c->out[0], c->in[2]);
    return NULL;
}

static hk_status backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0], *indices = r->in[1];
    hk_tensor *dx = r->out[0];
    int batch_dims = (int)hki_attribute_int(r->node, "batch_dims");
    slices s = measure(indices, dx->rank, dx->dims, batch_dims);
    uint64_t zero = 0;
    int64_t total = hki_shape_count(dx->dims, 0, dx->rank);
    if (hki_shape_count(dy->dims, 0, dy->rank) != s.count * s.length)
        return HK_ERR(HK_INVALID_SHAPE, "the gradient has %" PRId64 " elements, expected %" PRId64,
                      hki_shape_count(dy->dims, 0, dy->rank), s.count * s.length);
    hki_fill(dx->data, &zero, total, hk_dtype_size(dx->dtype), r->pool);
    if (s.count == 0)
        return NULL;
    HK_TRY(find_slices(r->scratch, &s, indices, dx->rank, dx->dims, batch_dims));
    hki_scatter_slices(dx->data, total, dy->data, s.count, s.length, r->scratch, dx->dtype, HKI_COMBINE_ADD, r->pool);
    return NULL;
}

static hk_status backward_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "GatherND", HK_VALUES(g->dy[0], g->x[1]),
                                  HK_ATTRIBUTES(HK_INT("batch_dims", hki_attribute_int(g->node, "batch_dims"))));
    return NULL;
}

static const hki_case backward_cases[] = {
    {"f[3,2] i64[3,1]=(1,0,1) f[3,2]!", NULL},
    {"f[2,2] i64[2,1]=(1,0) f[2,2,2]!", "batch_dims=1"},
    {NULL, NULL},
};

const hki_op hki_op_gather_nd_grad = {
    .name = "GatherNDGrad",
    .domain = "halka",
    .doc = "gradient of GatherND: adds the slices of dy to the places they came from, in their order",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"indices", "indices", HKI_BIT(HK_INT64), 0},
               {"data", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"batch_dims", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .infer = backward_infer,
    .run = backward_run,
    .scratch = gather_scratch,
    .grad = backward_grad,
    .cases = backward_cases,
};

/* ---- ScatterND ---- */

static hk_status scatter_infer(hki_infer *c)
{
    const hki_type *updates = c->in[2];
    hki_type expected = {.rank = -1};
    hki_combine how;
    HK_TRY(hki_combine_parse(&how, hki_attribute_text(c->node, "reduction")));
    HK_TRY(check_tuple(c->in[0], c->in[1], 0));
    if (slices_shape(&expected, c->in[0], c->in[1], 0) && updates->rank >= 0) {
        HK_TRY(hki_rank_check(updates, expected.rank, "updates"));
        for (int i = 0; i < expected.rank; i++)
            HK_TRY_CTX(hki_dim_merge(&expected.dims[i], expected.dims[i], updates->dims[i]),
                       "dim %d of updates, from the shapes of data and indices", i);
    }
    hki_type_copy(&c->out[0], c->in[0]);
    return NULL;
}

static hk_status scatter_run(hki_run *r)
{
    const hk_tensor *x = r->in[0], *indices = r->in[1];
    hki_combine how;
    int64_t total = hki_shape_count(x->dims, 0, x->rank);
    slices s = measure(indices, x->rank, x->dims, 0);
    HK_TRY(hki_combine_parse(&how, hki_attribute_text(r->node, "reduction")));
    hki_copy(r->out[0]->data, x->data, total, hk_dtype_size(x->dtype), r->pool);
    if (s.count == 0)
        return NULL;
    HK_TRY(find_slices(r->scratch, &s, indices, x->rank, x->dims, 0));
    hki_scatter_slices(r->out[0]->data, total, r->in[2]->data, s.count, s.length, r->scratch, x->dtype, how, r->pool);
    return NULL;
}

static hk_status scatter_grad(hki_grad *g)
{
    const char *reduction = hki_attribute_text(g->node, "reduction");
    if (!g->dy[0])
        return NULL;
    if (strcmp(reduction, "none") && strcmp(reduction, "add"))
        return HK_ERR(HK_UNSUPPORTED, "ScatterND has a gradient with reduction none and add, found '%s'", reduction);
    if (g->need[2])
        g->dx[2] = hki_binary(g->graph, "GatherND", g->dy[0], g->x[1]);
    if (g->need[0] && !strcmp(reduction, "add"))
        g->dx[0] = g->dy[0];
    else if (g->need[0])
        g->dx[0] = hk_graph_apply(g->graph, "ScatterND",
                                  HK_VALUES(g->dy[0], g->x[1], hki_zeros_like(g->graph, g->x[2])), HK_NO_ATTRIBUTES);
    return NULL;
}

static const hki_case scatter_cases[] = {
    {"f[4] i64[2,1]=(3,-4) f[2]", NULL},
    {"f[3,2] i64[2,1]=(2,0) f[2,2]", NULL},
    {"f[3,2] i64[3,1]=(2,0,2) f[3,2]", "reduction=add"},
    {"f[2,2,2] i64[2,2]=(0,1,1,0) f[2,2]", NULL},
    {"f[3] i64[0,1] f[0]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_scatter_nd = {
    .name = "ScatterND",
    .doc = "y = x with the slices named by the tuples in indices replaced by, or combined with, updates",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"indices", "indices", HKI_BIT(HK_INT64), 0}, {"updates", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"reduction", HK_ATTRIBUTE_STRING, {.s = "none"}, false}},
    .versions = {{11, NULL}, {13, NULL}, {16, NULL}, {18, NULL}},
    .infer = scatter_infer,
    .run = scatter_run,
    .scratch = gather_scratch,
    .grad = scatter_grad,
    .cases = scatter_cases,
};
