/* Unique: the different elements (or slices along an axis), sorted or in the order of their first appearance, with
 * where they are.
 *
 * Slices are ordered by their keys, element by element, and equal ones by position; all NaN are equal and last. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/order.h"
#include "ops/shapes.h"

/* The tensor as slices: slice s has elements (o, i) at o * count * inner + s * inner + i. */
typedef struct slices {
    const hk_tensor *x;
    int64_t outer, count, inner;
} slices;

static hk_status slices_of(slices *out, const hk_node *node, const hk_tensor *x)
{
    const hk_attribute *given = hki_attribute_find(node, "axis");
    int axis;
    *out = (slices){.x = x, .outer = 1, .count = hk_tensor_count(x), .inner = 1};
    if (!given)
        return NULL;
    HK_TRY(hki_axis(&axis, given->as.i, x->rank));
    out->outer = hki_shape_count(x->dims, 0, axis);
    out->count = x->dims[axis];
    out->inner = hki_shape_count(x->dims, axis + 1, x->rank);
    return NULL;
}

static int compare(const slices *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t base = o * s->count * s->inner + i;
            uint64_t x = hki_order_key(s->x->data, s->x->dtype, base + a * s->inner);
            uint64_t y = hki_order_key(s->x->data, s->x->dtype, base + b * s->inner);
            if (x != y)
                return x < y ? -1 : 1;
        }
    return 0;
}

static bool before(const slices *s, int64_t a, int64_t b)
{
    int order = compare(s, a, b);
    return order ? order < 0 : a < b;
}

static void sink(const slices *s, int64_t *heap, int64_t count, int64_t at)
{
    int64_t value = heap[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(s, heap[child], heap[child + 1]))
            child++;
        if (!before(s, value, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* Heapsort: needs no memory, and n log n whatever the data. */
static void sort(const slices *s, int64_t *order)
{
    for (int64_t i = 0; i < s->count; i++)
        order[i] = i;
    for (int64_t i = s->count / 2 - 1; i >= 0; i--)
        sink(s, order, s->count, i);
    for (int64_t end = s->count - 1; end > 0; end--) {
        int64_t last = order[end];
        order[end] = order[0];
        order[0] = last;
        sink(s, order, end, 0);
    }
}

static int64_t count_groups(const slices *s, const int64_t *order)
{
    int64_t groups = s->count > 0;
    for (int64_t i = 1; i < s->count; i++)
        groups += compare(s, order[i - 1], order[i]) != 0;
    return groups;
}

static hk_status count_unique(int64_t *out, const hk_node *node, const hk_tensor *x)
{
    slices s;
    HK_TRY(slices_of(&s, node, x));
    int64_t *order = hki_alloc_array((size_t)s.count, sizeof(*order));
    if (!order)
        return hki_out_of_memory();
    sort(&s, order);
    *out = count_groups(&s, order);
    hki_free(order);
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *data = hki_infer_data(c, 0);
    const hk_attribute *given = hki_attribute_find(c->node, "axis");
    int64_t groups = HKI_DIM_UNKNOWN, places = HKI_DIM_UNKNOWN;
    hki_type *y = &c->out[0];
    int axis = 0;
    if (data)
        HK_TRY(count_unique(&groups, c->node, data));
    if (!given) {
        hki_type_set(y, x->dtype, 1, &groups);
        places = x->rank < 0 ? HKI_DIM_UNKNOWN : hki_dims_product(x->dims, 0, x->rank);
    } else if (x->rank >= 0) {
        HK_TRY(hki_axis(&axis, given->as.i, x->rank));
        hki_type_copy(y, x);
        y->dims[axis] = groups;
        places = x->dims[axis];
    }
    for (int i = 1; i < c->output_count; i++)
        hki_type_set(&c->out[i], HK_INT64, 1, i == 2 ? &places : &groups);
    return NULL;
}

/* order, the group of each slice, and for each group its first slice and (not sorted) its number in the output. */
static size_t scratch(const hki_run *r)
{
    slices s;
    hk_status failure = slices_of(&s, r->node, r->in[0]);
    hk_status_free(failure); /* infer has refused it before */
    return failure ? 0 : (size_t)s.count * 4 * sizeof(int64_t);
}

static void copy_slice(const slices *s, hk_tensor *y, int64_t to, int64_t from, int64_t groups)
{
    size_t row = (size_t)s->inner * hk_dtype_size(s->x->dtype);
    for (int64_t o = 0; o < s->outer; o++)
        memcpy((char *)y->data + (size_t)(o * groups + to) * row,
               (const char *)s->x->data + (size_t)(o * s->count + from) * row, row);
}

static int64_t *output(const hki_run *r, int i)
{
    return i < r->output_count && r->out[i] ? r->out[i]->data : NULL;
}

static hk_status run(hki_run *r)
{
    slices s;
    HK_TRY(slices_of(&s, r->node, r->in[0]));
    int64_t *order = r->scratch, *group = order + s.count, *first = group + s.count, *number = first + s.count;
    int64_t groups = 0, planned, *indices = output(r, 1), *inverse = output(r, 2), *counts = output(r, 3);
    sort(&s, order);
    for (int64_t i = 0; i < s.count; i++) {
        if (i == 0 || compare(&s, order[i - 1], order[i]))
            first[groups++] = order[i]; /* equal slices stand in the order of their positions */
        group[order[i]] = groups - 1;
    }
    planned = s.outer * s.inner > 0 ? hk_tensor_count(r->out[0]) / (s.outer * s.inner) : groups;
    if (planned != groups)
        return HK_ERR(HK_INTERNAL, "%" PRId64 " different slices, but the output was planned for %" PRId64, groups,
                      planned);
    bool sorted = hki_attribute_int(r->node, "sorted") != 0;
    for (int64_t i = 0, next = 0; i < s.count; i++)
        if (first[group[i]] == i)
            number[group[i]] = sorted ? group[i] : next++;
    for (int64_t g = 0; g < groups; g++) {
        copy_slice(&s, r->out[0], number[g], first[g], groups);
        if (indices)
            indices[number[g]] = first[g];
        if (counts)
            counts[number[g]] = 0;
    }
    for (int64_t i = 0; i < s.count; i++) {
        if (inverse)
            inverse[i] = number[group[i]];
        if (counts)
            counts[number[group[i]]]++;
    }
    return NULL;
}

static const hki_case cases[] = {
    {"f[6]=(2,1,1,3,4,3)!", "sorted=0"},
    {"i32[2,2]=(1,3,2,3)", NULL},
    {"i64[3,3]=(1,0,0,1,0,0,2,3,4)", "axis=0"},
    {"u8[0]", NULL},
    {"f[2,3,1]!", "axis=-2"},
    {NULL, NULL},
};

const hki_op hki_op_unique = {
    .name = "Unique",
    .doc = "the different elements (or slices along axis) of x, where they first are, which one each is, and how often",
    .inputs = {{"X", "T", HKI_ANY, 0}},
    .outputs = {{"Y", "T", HKI_ANY, 0},
                {"indices", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL},
                {"inverse_indices", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL},
                {"counts", "I", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"sorted", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{11, NULL}},
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .cases = cases,
};
