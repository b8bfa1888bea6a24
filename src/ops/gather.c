/* Gather: y[o, k, i] = x[o, indices[k], i], with o the dims before the axis, k those of indices, i the dims after the
 * axis.
 *
 * Gradient: halka GatherGrad adds dy[o, k, i] to dx[o, indices[k], i] in the order of k. */
#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0], *indices = c->in[1];
    hki_type *y = &c->out[0];
    int axis, rank = 0;
    if (x->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "data must have rank 1 or more, found a scalar");
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    if (indices->rank < 0)
        return NULL;
    if (x->rank + indices->rank - 1 > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "the output would have rank %d, more than %d", x->rank + indices->rank - 1,
                      HK_MAX_RANK);
    for (int i = 0; i < axis; i++)
        y->dims[rank++] = x->dims[i];
    for (int i = 0; i < indices->rank; i++)
        y->dims[rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        y->dims[rank++] = x->dims[i];
    y->rank = rank;
    return NULL;
}

typedef struct gather {
    const hk_tensor *indices;
    char *to;
    const char *from;
    int64_t items, count, dim, inner, step; /* items: rows of y; count: indices; step: rows per block */
    int64_t outer, range;                   /* of the gradient */
    size_t size;
    hki_combine_fn *add;
} gather;

static void gather_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const gather *s = context;
    int64_t end = (block + 1) * s->step < s->items ? (block + 1) * s->step : s->items;
    int64_t outer = block * s->step / s->count, k = block * s->step % s->count;
    size_t row = (size_t)s->inner * s->size;
    for (int64_t item = block * s->step; item < end; item++) {
        int64_t index = hki_index_at(s->indices, k);
        const char *from = s->from + (size_t)(outer * s->dim + (index < 0 ? index + s->dim : index)) * row;
        char *to = s->to + (size_t)item * row;
        if (row == 4)
            memcpy(to, from, 4);
        else if (row == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, row);
        if (++k == s->count) {
            k = 0;
            outer++;
        }
    }
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    int axis;
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
    gather s = {.indices = r->in[1],
                .to = r->out[0]->data,
                .from = x->data,
                .dim = x->dims[axis],
                .inner = hki_shape_count(x->dims, axis + 1, x->rank),
                .size = hk_dtype_size(x->dtype)};
    s.count = hki_shape_count(s.indices->dims, 0, s.indices->rank);
    s.items = hki_shape_count(x->dims, 0, axis) * s.count;
    HK_TRY(hki_indices_check(s.indices, s.dim, axis));
    if (s.items == 0 || s.inner == 0)
        return NULL;
    int64_t blocks = hki_blocks(&s.step, s.items, s.inner * (int64_t)s.size);
    hki_pool_run(r->pool, blocks, gather_rows, &s);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "GatherGrad", NULL, HK_VALUES(g->dy[0], g->x[1], g->x[0]),
                      HK_ATTRIBUTES(HK_INT("axis", hki_attribute_int(g->node, "axis"))), 1, &g->dx[0]);
    return NULL;
}

static const hki_case cases[] = {
    {"f[5,3] i64[4]=(0,4,2,2)", NULL},
    {"f[2,4,3] i64[2,2]=(0,3,-1,1)", "axis=1"},
    {"f[3,4] i32[3]=(1,1,-4)", "axis=-1"},
    {"f[4,2] i64[]=(3)", NULL},
    {"f[4] i64[]=(-1)", NULL},
    {"f[3,2] i64[0]", NULL},
    {"f[3,0] i64[2]=(0,1)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_gather = {
    .name = "Gather",
    .doc = "y = x[..., indices, ...]: slices of x along axis",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"indices", "Tind", HKI_INDEX, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, NULL}, {11, NULL}, {13, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};

/* ---- The gradient ---- */

static hk_status backward_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[2]);
    return NULL;
}

/* Fills one range of dx: zeros, then all rows of dy that meet it, in their order. */
static void backward_range(void *context, int64_t block, int worker)
{
    (void)worker;
    const gather *s = context;
    int64_t total = s->outer * s->dim * s->inner, plane = s->dim * s->inner;
    int64_t low = block * s->range, high = low + s->range < total ? low + s->range : total;
    if (low >= high)
        return;
    memset(s->to + (size_t)low * s->size, 0, (size_t)(high - low) * s->size);
    for (int64_t o = low / plane; o <= (high - 1) / plane; o++)
        for (int64_t k = 0; k < s->count; k++) {
            int64_t index = hki_index_at(s->indices, k);
            int64_t begin = (o * s->dim + (index < 0 ? index + s->dim : index)) * s->inner, end = begin + s->inner;
            int64_t from = begin < low ? low : begin, to = end > high ? high : end;
            if (from < to)
                s->add(s->to + (size_t)from * s->size,
                       s->from + (size_t)((o * s->count + k) * s->inner + from - begin) * s->size, to - from);
        }
}

static hk_status backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0], *indices = r->in[1];
    hk_tensor *dx = r->out[0];
    int axis;
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), dx->rank));
    HK_TRY(hki_indices_check(indices, dx->dims[axis], axis));
    gather s = {.indices = indices,
                .to = dx->data,
                .from = dy->data,
                .dim = dx->dims[axis],
                .inner = hki_shape_count(dx->dims, axis + 1, dx->rank),
                .size = hk_dtype_size(dx->dtype),
                .outer = hki_shape_count(dx->dims, 0, axis),
                .add = hki_combine_find(HKI_COMBINE_ADD, dx->dtype)};
    s.count = hki_shape_count(indices->dims, 0, indices->rank);
    int64_t total = s.outer * s.dim * s.inner;
    if (hki_shape_count(dy->dims, 0, dy->rank) != s.outer * s.count * s.inner)
        return HK_ERR(HK_INVALID_SHAPE, "the gradient has %" PRId64 " elements, expected %" PRId64,
                      hki_shape_count(dy->dims, 0, dy->rank), s.outer * s.count * s.inner);
    if (total == 0)
        return NULL;
    int64_t ranges = hki_scatter_ranges(total * (int64_t)s.size);
    s.range = (total + ranges - 1) / ranges;
    hki_pool_run(r->pool, ranges, backward_range, &s);
    return NULL;
}

static hk_status backward_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "Gather", HK_VALUES(g->dy[0], g->x[1]),
                                  HK_ATTRIBUTES(HK_INT("axis", hki_attribute_int(g->node, "axis"))));
    return NULL;
}

static const hki_case backward_cases[] = {
    {"f[4,3] i64[4]=(0,4,2,2) f[5,3]!", NULL},
    {"f[2,2,2,3] i64[2,2]=(0,3,-1,1) f[2,4,3]!", "axis=1"},
    {NULL, NULL},
};

const hki_op hki_op_gather_grad = {
    .name = "GatherGrad",
    .domain = "halka",
    .doc = "gradient of Gather: dx[..., indices[k], ...] += dy[..., k, ...] in the order of k",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"indices", "Tind", HKI_INDEX, 0},
               {"data", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .infer = backward_infer,
    .run = backward_run,
    .grad = backward_grad,
    .cases = backward_cases,
};
