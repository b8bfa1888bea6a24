/* GatherElements and ScatterElements: one index per element, along one axis.
 *
 *   gather:   y[o, k, i] = x[o, indices[o, k, i], i]
 *   scatter:  y = x; y[o, indices[o, k, i], i] = f(y[...], updates[o, k, i]) in the order of k
 *
 * All places of y with one (o, i) are touched by that line of indices alone, so lines are what the pool gets. */
#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/shapes.h"

typedef struct lines {
    const hk_tensor *indices;
    char *to;
    const char *from;
    int axis;
    int64_t strides[HK_MAX_RANK]; /* of the tensor that is indexed */
    int64_t dim, outer, count, inner, step;
    bool same_inner; /* the dims after the axis are those of the tensor that is indexed */
    bool scatter;
    size_t size;
    hki_combine_fn *combine;
} lines;

/* Offset in the indexed tensor of the part of a multi-index that stands in dims begin .. end. */
static int64_t offset_of(const lines *s, int64_t flat, int begin, int end)
{
    int64_t offset = 0;
    for (int d = end - 1; d >= begin; d--) {
        offset += flat % s->indices->dims[d] * s->strides[d];
        flat /= s->indices->dims[d];
    }
    return offset;
}

static void move_one(const lines *s, char *to, const char *from)
{
    if (s->combine)
        s->combine(to, from, 1);
    else if (s->size == 4)
        memcpy(to, from, 4);
    else if (s->size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, s->size);
}

/* A block is one o and `step` neighbours of i. */
static void run_lines(void *context, int64_t block, int worker)
{
    (void)worker;
    const lines *s = context;
    int64_t pieces = (s->inner + s->step - 1) / s->step, o = block / pieces, first = block % pieces * s->step;
    int64_t last = first + s->step < s->inner ? first + s->step : s->inner;
    int64_t base = offset_of(s, o, 0, s->axis), stride = s->strides[s->axis];
    for (int64_t k = 0; k < s->count; k++)
        for (int64_t i = first; i < last; i++) {
            int64_t at = (o * s->count + k) * s->inner + i, index = hki_index_at(s->indices, at);
            int64_t inner = s->same_inner ? i : offset_of(s, i, s->axis + 1, s->indices->rank);
            int64_t place = base + (index < 0 ? index + s->dim : index) * stride + inner;
            if (s->scatter)
                move_one(s, s->to + (size_t)place * s->size, s->from + (size_t)at * s->size);
            else
                move_one(s, s->to + (size_t)at * s->size, s->from + (size_t)place * s->size);
        }
}

static hk_status start(lines *s, const hk_node *node, const hk_tensor *indexed, const hk_tensor *indices)
{
    HK_TRY(hki_axis(&s->axis, hki_attribute_int(node, "axis"), indexed->rank));
    s->indices = indices;
    s->dim = indexed->dims[s->axis];
    s->size = hk_dtype_size(indexed->dtype);
    s->outer = hki_shape_count(indices->dims, 0, s->axis);
    s->count = indices->dims[s->axis];
    s->inner = hki_shape_count(indices->dims, s->axis + 1, indices->rank);
    s->same_inner = hki_shape_equal(indices->rank - s->axis - 1, indices->dims + s->axis + 1,
                                    indexed->rank - s->axis - 1, indexed->dims + s->axis + 1);
    hki_row_major(s->strides, indexed->rank, indexed->dims);
    return hki_indices_check(indices, s->dim, s->axis);
}

static void run_all(lines *s, hki_pool *pool)
{
    if (s->outer * s->count * s->inner == 0)
        return;
    hki_blocks(&s->step, s->inner, s->count * 16);
    hki_pool_run(pool, s->outer * ((s->inner + s->step - 1) / s->step), run_lines, s);
}

/* indices must have the rank of data and, except on the axis, dims that are not larger. */
static hk_status check_indices(const hki_infer *c)
{
    const hki_type *x = c->in[0], *indices = c->in[1];
    int axis;
    if (x->rank < 0)
        return NULL;
    if (x->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "data must have rank 1 or more, found a scalar");
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    HK_TRY(hki_rank_check(indices, x->rank, "indices"));
    for (int i = 0; i < indices->rank; i++)
        if (i != axis && x->dims[i] >= 0 && indices->dims[i] > x->dims[i])
            return HK_ERR(HK_INVALID_SHAPE, "dim %d of indices is %" PRId64 ", more than the %" PRId64 " of data", i,
                          indices->dims[i], x->dims[i]);
    return NULL;
}

/* ---- GatherElements ---- */

static hk_status gather_infer(hki_infer *c)
{
    HK_TRY(check_indices(c));
    c->out[0].rank = c->in[1]->rank;
    memcpy(c->out[0].dims, c->in[1]->dims, sizeof(c->out[0].dims));
    return NULL;
}

static hk_status gather_run(hki_run *r)
{
    lines s = {.to = r->out[0]->data, .from = r->in[0]->data};
    HK_TRY(start(&s, r->node, r->in[0], r->in[1]));
    run_all(&s, r->pool);
    return NULL;
}

static hk_status gather_grad(hki_grad *g)
{
    if (!g->need[0] || !g->dy[0])
        return NULL;
    hk_value *zeros = hki_zeros_like(g->graph, g->x[0]);
    g->dx[0] =
        hk_graph_apply(g->graph, "ScatterElements", HK_VALUES(zeros, g->x[1], g->dy[0]),
                       HK_ATTRIBUTES(HK_INT("axis", hki_attribute_int(g->node, "axis")), HK_TEXT("reduction", "add")));
    return NULL;
}

static const hki_case gather_cases[] = {
    {"f[2,3] i64[2,2]=(0,-1,2,2)", "axis=1"},
    {"f[3,2] i64[2,2]=(1,2,-3,0)", NULL},
    {"f[2,3,2] i32[1,2,2]=(2,0,1,1)", "axis=-2"},
    {"f[4] i64[2]=(3,3)", NULL},
    {"f[3] i64[0]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_gather_elements = {
    .name = "GatherElements",
    .doc = "y[..., k, ...] = x[..., indices[..., k, ...], ...] along axis",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"indices", "Tind", HKI_INDEX, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{11, NULL}, {13, NULL}},
    .infer = gather_infer,
    .run = gather_run,
    .grad = gather_grad,
    .cases = gather_cases,
};

/* ---- ScatterElements ---- */

static hk_status scatter_infer(hki_infer *c)
{
    const hki_type *indices = c->in[1], *updates = c->in[2];
    hki_combine how;
    HK_TRY(hki_combine_parse(&how, hki_attribute_text(c->node, "reduction")));
    HK_TRY(check_indices(c));
    if (indices->rank >= 0 && updates->rank >= 0) {
        HK_TRY(hki_rank_check(updates, indices->rank, "updates"));
        for (int i = 0; i < indices->rank; i++) {
            int64_t dim;
            HK_TRY_CTX(hki_dim_merge(&dim, indices->dims[i], updates->dims[i]), "dim %d of indices and updates", i);
        }
    }
    hki_type_copy(&c->out[0], c->in[0]);
    return NULL;
}

static hk_status scatter_run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    lines s = {.to = r->out[0]->data, .from = r->in[2]->data, .scatter = true};
    hki_combine how;
    HK_TRY(hki_combine_parse(&how, hki_attribute_text(r->node, "reduction")));
    HK_TRY(start(&s, r->node, x, r->in[1]));
    if (how != HKI_COMBINE_NONE)
        s.combine = hki_combine_find(how, x->dtype);
    hki_copy(s.to, x->data, hki_shape_count(x->dims, 0, x->rank), s.size, r->pool);
    run_all(&s, r->pool);
    return NULL;
}

/* none: x is kept except at the indices; add: x is kept everywhere. */
static hk_status scatter_grad(hki_grad *g)
{
    const char *reduction = hki_attribute_text(g->node, "reduction");
    hk_attribute axis = HK_INT("axis", hki_attribute_int(g->node, "axis"));
    if (!g->dy[0])
        return NULL;
    if (strcmp(reduction, "none") && strcmp(reduction, "add"))
        return HK_ERR(HK_UNSUPPORTED, "ScatterElements has a gradient with reduction none and add, found '%s'",
                      reduction);
    if (g->need[2])
        g->dx[2] = hk_graph_apply(g->graph, "GatherElements", HK_VALUES(g->dy[0], g->x[1]), 1, &axis);
    if (g->need[0] && !strcmp(reduction, "add"))
        g->dx[0] = g->dy[0];
    else if (g->need[0]) {
        hk_value *zeros = hki_zeros_like(g->graph, g->x[2]);
        g->dx[0] = hk_graph_apply(g->graph, "ScatterElements", HK_VALUES(g->dy[0], g->x[1], zeros), 1, &axis);
    }
    return NULL;
}

static const hki_case scatter_cases[] = {
    {"f[2,3] i64[2,2]=(0,-1,2,1) f[2,2]", "axis=1"},
    {"f[3,2] i64[2,2]=(1,1,-3,0) f[2,2]", NULL},
    {"f[4] i64[4]=(3,3,0,3) f[4]", "reduction=add"},
    {"f[2,3,2] i32[1,2,2]=(2,0,1,1) f[1,2,2]", "axis=-2 reduction=add"},
    {"f[3] i64[0] f[0]", NULL},
    {"f[0,2] i64[0,1] f[0,1]", "axis=1"},
    {NULL, NULL},
};

#define SCATTER_PORTS                                                                                                  \
    .inputs = {{"data", "T", HKI_ANY, 0}, {"indices", "Tind", HKI_INDEX, 0}, {"updates", "T", HKI_ANY, 0}},            \
    .outputs = {{"output", "T", HKI_ANY, 0}}

const hki_op hki_op_scatter_elements = {
    .name = "ScatterElements",
    .doc = "y = x with y[..., indices[..., k, ...], ...] replaced by, or combined with, updates[..., k, ...]",
    SCATTER_PORTS,
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"reduction", HK_ATTRIBUTE_STRING, {.s = "none"}, false}},
    .versions = {{11, NULL}, {13, NULL}, {16, NULL}, {18, NULL}},
    .infer = scatter_infer,
    .run = scatter_run,
    .grad = scatter_grad,
    .cases = scatter_cases,
};

/* ---- Scatter: the old name, until opset 11 ---- */

static hk_status old_rename(hki_draft *draft)
{
    draft->op = "ScatterElements";
    return NULL;
}

static hk_status old_infer(hki_infer *c)
{
    (void)c;
    return HK_ERR(HK_UNSUPPORTED, "Scatter was removed in opset 11; its name is ScatterElements now");
}

const hki_op hki_op_scatter = {
    .name = "Scatter",
    .doc = "the name of ScatterElements before opset 11; files that use it are upgraded",
    SCATTER_PORTS,
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{9, old_rename}}, /* files of later opsets that still use it too */
    .infer = old_infer,
};
