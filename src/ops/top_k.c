/* TopK: the k largest (or smallest) elements along an axis, in order; of equal ones the first comes first. NaN counts
 * as the largest.
 *
 * Each line keeps a heap of k candidates with the worst on top. The gradient puts dy back to the places the values came
 * from. */
#include <inttypes.h>
#include <string.h>

#include "ops/order.h"
#include "ops/shapes.h"

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *data = hki_infer_data(c, 1);
    int axis;
    int64_t k = HKI_DIM_UNKNOWN;
    if (c->output_count > 1)
        c->out[1].dtype = HK_INT64;
    if (x->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "X must have rank 1 or more, found a scalar");
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    if (data) {
        HK_TRY(hki_number_read(&k, data, "K"));
        if (k < 0 || (x->dims[axis] >= 0 && k > x->dims[axis]))
            return HK_ERR(HK_INVALID_ARGUMENT, "K is %" PRId64 ", expected 0 .. %" PRId64 " (dim %d of X)", k,
                          x->dims[axis], axis);
    }
    for (int i = 0; i < c->output_count; i++) {
        hk_dtype dtype = c->out[i].dtype;
        hki_type_copy(&c->out[i], x);
        c->out[i].dtype = dtype;
        c->out[i].dims[axis] = k;
    }
    return NULL;
}

typedef struct entry {
    uint64_t key;
    int64_t index;
} entry;

typedef struct top_k {
    const char *x;
    char *values;
    int64_t *indices;
    hk_dtype dtype;
    size_t size;
    uint64_t flip; /* smallest: keys are inverted */
    int64_t n, k, inner, lines, step;
    entry *heaps; /* k of each worker */
} top_k;

static bool worse(entry a, entry b)
{
    return a.key != b.key ? a.key < b.key : a.index > b.index;
}

/* Puts `e` at the top of a heap of `count`, and lets it sink to its place: every entry is worse than those below it. */
static void sink(entry *heap, int64_t count, entry e)
{
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && worse(heap[child + 1], heap[child]))
            child++;
        if (!worse(heap[child], e))
            break;
        heap[at] = heap[child];
    }
    heap[at] = e;
}

static void rise(entry *heap, int64_t at)
{
    entry e = heap[at];
    while (at > 0 && worse(e, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = e;
}

static void run_line(const top_k *s, int64_t line, entry *heap)
{
    int64_t outer = line / s->inner, i = line % s->inner, count = 0;
    int64_t from = outer * s->n * s->inner + i, to = outer * s->k * s->inner + i;
    for (int64_t j = 0; j < s->n; j++) {
        entry e = {hki_order_key(s->x, s->dtype, from + j * s->inner) ^ s->flip, j};
        if (count < s->k) {
            heap[count] = e;
            rise(heap, count++);
        } else if (e.key > heap[0].key) {
            sink(heap, count, e);
        }
    }
    for (int64_t j = s->k - 1; j >= 0; j--) { /* the worst goes last */
        entry e = heap[0];
        sink(heap, j, heap[j]);
        if (s->values)
            memcpy(s->values + (size_t)(to + j * s->inner) * s->size,
                   s->x + (size_t)(from + e.index * s->inner) * s->size, s->size);
        if (s->indices)
            s->indices[to + j * s->inner] = e.index;
    }
}

static void run_lines(void *context, int64_t block, int worker)
{
    const top_k *s = context;
    int64_t end = (block + 1) * s->step < s->lines ? (block + 1) * s->step : s->lines;
    for (int64_t line = block * s->step; line < end; line++)
        run_line(s, line, s->heaps + worker * s->k);
}

static int64_t axis_dim(const hki_run *r, const hk_tensor *t)
{
    int64_t axis = hki_attribute_int(r->node, "axis");
    return t->dims[axis < 0 ? axis + t->rank : axis];
}

static size_t scratch(const hki_run *r)
{
    const hk_tensor *y = r->out[0] ? r->out[0] : r->out[1];
    return (size_t)(r->threads > 0 ? r->threads : 1) * (size_t)axis_dim(r, y) * sizeof(entry);
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    int axis;
    int64_t k;
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
    HK_TRY(hki_number_read(&k, r->in[1], "K"));
    const hk_tensor *y = r->out[0] ? r->out[0] : r->out[1];
    if (k != y->dims[axis])
        return HK_ERR(HK_INVALID_SHAPE, "K is %" PRId64 ", but the output was planned for %" PRId64, k, y->dims[axis]);
    top_k s = {.x = x->data,
               .values = r->out[0] ? r->out[0]->data : NULL,
               .dtype = x->dtype,
               .indices = r->output_count > 1 && r->out[1] ? r->out[1]->data : NULL,
               .size = hk_dtype_size(x->dtype),
               .flip = hki_attribute_int(r->node, "largest") ? 0 : UINT64_MAX,
               .n = x->dims[axis],
               .k = k,
               .inner = hki_shape_count(x->dims, axis + 1, x->rank),
               .heaps = r->scratch};
    s.lines = hki_shape_count(x->dims, 0, axis) * s.inner;
    if (s.lines == 0 || k == 0)
        return NULL;
    s.step = s.n < 4096 ? 4096 / s.n : 1;
    hki_pool_run(r->pool, (s.lines + s.step - 1) / s.step, run_lines, &s);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *indices = g->node->output_count > 1 ? g->y[1] : NULL;
    hk_attribute axis = HK_INT("axis", hki_attribute_int(g->node, "axis"));
    if (!g->need[0] || !g->dy[0])
        return NULL;
    if (!indices) { /* the node was made without it: make one that has it */
        hk_value *outputs[2] = {NULL, NULL};
        hk_graph_node(g->graph, "", "TopK", NULL, 2, g->x, g->node->attribute_count, g->node->attributes, 2, outputs);
        indices = outputs[1];
    }
    hk_value *zeros = hki_zeros_like(g->graph, g->x[0]);
    g->dx[0] = hk_graph_apply(g->graph, "ScatterElements", HK_VALUES(zeros, indices, g->dy[0]), 1, &axis);
    return NULL;
}

/* TopK-1 has k as an attribute. */
static hk_status from_1(hki_draft *draft)
{
    return hki_draft_ints_to_input(draft, "k", 1);
}

static const hki_case cases[] = {
    {"f[3,5]{distinct} i64[1]=(2)", NULL},
    {"f[4,2]{distinct} i64[1]=(3)", "axis=0"},
    {"f[2,3,2]{distinct} i64[1]=(1)", "axis=-2 largest=0"},
    {"f[2,4]{distinct} i64[1]=(4)", "largest=0 sorted=0"},
    {"f[2,3]{distinct} i64[1]=(0)", NULL},
    {"f[0,3] i64[1]=(2)", NULL},
    {"f[1]{distinct} i64[1]=(1)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_top_k = {
    .name = "TopK",
    .doc = "values and indices of the K largest (or smallest) elements of x along axis, in order",
    .inputs = {{"X", "T", HKI_NUMERIC, 0}, {"K", "K", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"Values", "T", HKI_NUMERIC, 0}, {"Indices", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = -1}, false},
                   {"largest", HK_ATTRIBUTE_INT, {.i = 1}, false},
                   {"sorted", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{1, from_1}, {10, NULL}, {11, NULL}, {24, NULL}},
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .cases = cases,
};
