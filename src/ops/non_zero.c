/* NonZero and Compress: outputs whose length only the data decides. The shape is inferred from the values, once they
 * are known. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/order.h"
#include "ops/shapes.h"

/* ---- NonZero ---- */

static int64_t count_non_zero(const hk_tensor *x, int64_t count)
{
    int64_t total = 0;
    static const double zero = 0;
    static const uint64_t none = 0;
    uint64_t key =
        hki_dtype_is_float(x->dtype) ? hki_order_key(&zero, HK_DOUBLE, 0) : hki_order_key(&none, x->dtype, 0);
    for (int64_t i = 0; i < count; i++)
        total += hki_order_key(x->data, x->dtype, i) != key;
    return total;
}

static hk_status non_zero_infer(hki_infer *c)
{
    const hk_tensor *x = hki_infer_data(c, 0);
    hki_type *y = &c->out[0];
    y->dtype = HK_INT64;
    y->rank = 2;
    y->dims[0] = c->in[0]->rank < 0 ? HKI_DIM_UNKNOWN : c->in[0]->rank;
    y->dims[1] = x ? count_non_zero(x, hk_tensor_count(x)) : HKI_DIM_UNKNOWN;
    return NULL;
}

static hk_status non_zero_run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    int64_t count = hk_tensor_count(x), columns = y->dims[1], column = 0;
    int64_t *out = y->data;
    if (count_non_zero(x, count) != columns)
        return HK_ERR(HK_INTERNAL, "the output was planned for %" PRId64 " elements, the input has another number",
                      columns);
    for (int64_t i = 0; i < count && column < columns; i++) {
        hk_tensor one = *x;
        one.data = (char *)x->data + (size_t)i * hk_dtype_size(x->dtype);
        if (!count_non_zero(&one, 1))
            continue;
        int64_t rest = i;
        for (int d = x->rank - 1; d >= 0; d--) {
            out[d * columns + column] = rest % x->dims[d];
            rest /= x->dims[d];
        }
        column++;
    }
    return NULL;
}

static const hki_case non_zero_cases[] = {
    {"i32[2,3]=(1,0,2,0,0,3)", NULL},
    {"f[3]=(0,-1,2)!", NULL},
    {"bool[2,2]=(0,0,0,0)", NULL},
    {"i64[0,2]", NULL},
    {"i64[]=(5)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_non_zero = {
    .name = "NonZero",
    .doc = "y = indices of the elements that are not zero, one column each, in row-major order",
    .inputs = {{"X", "T", HKI_ANY, 0}},
    .outputs = {{"Y", "I", HKI_BIT(HK_INT64), 0}},
    .versions = {{9, NULL}, {13, NULL}},
    .infer = non_zero_infer,
    .run = non_zero_run,
    .cases = non_zero_cases,
};

/* ---- Compress ---- */

static int64_t count_true(const hk_tensor *condition, int64_t limit)
{
    int64_t total = 0, count = hk_tensor_count(condition);
    for (int64_t i = 0; i < count && i < limit; i++)
        total += ((const uint8_t *)condition->data)[i] != 0;
    return total;
}

static hk_status compress_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *condition = hki_infer_data(c, 1);
    const hk_attribute *given = hki_attribute_find(c->node, "axis");
    hki_type *y = &c->out[0];
    int axis = 0;
    HK_TRY(hki_rank_check(c->in[1], 1, "condition"));
    if (x->rank < 0 && given)
        return NULL;
    hki_type_copy(y, x);
    int64_t limit = x->rank < 0 ? -1 : hki_dims_product(x->dims, 0, x->rank);
    if (given) {
        HK_TRY(hki_axis(&axis, given->as.i, x->rank));
        limit = x->dims[axis];
    } else {
        y->rank = 1;
    }
    y->dims[axis] = condition && limit >= 0 ? count_true(condition, limit) : HKI_DIM_UNKNOWN;
    return NULL;
}

typedef struct compress {
    int64_t outer, dim, inner, kept; /* slices of the whole and of the kept part, along the axis */
    int64_t length;                  /* of condition, at most dim */
    const uint8_t *condition;
    size_t row;
} compress;

static hk_status compress_plan(compress *s, const hki_run *r, const hk_tensor *whole, const hk_tensor *part,
                               const hk_tensor *condition)
{
    const hk_attribute *given = hki_attribute_find(r->node, "axis");
    int axis = 0;
    *s = (compress){.outer = 1, .dim = hk_tensor_count(whole), .inner = 1, .condition = condition->data};
    if (given) {
        HK_TRY(hki_axis(&axis, given->as.i, whole->rank));
        s->outer = hki_shape_count(whole->dims, 0, axis);
        s->dim = whole->dims[axis];
        s->inner = hki_shape_count(whole->dims, axis + 1, whole->rank);
    }
    s->kept = count_true(condition, s->dim);
    s->length = hk_tensor_count(condition) < s->dim ? hk_tensor_count(condition) : s->dim;
    s->row = (size_t)s->inner * hk_dtype_size(whole->dtype);
    if (hk_tensor_count(part) != s->outer * s->kept * s->inner)
        return HK_ERR(HK_INVALID_SHAPE, "condition keeps %" PRId64 " elements, expected %" PRId64,
                      s->outer * s->kept * s->inner, hk_tensor_count(part));
    return NULL;
}

static hk_status compress_run(hki_run *r)
{
    compress s;
    HK_TRY(compress_plan(&s, r, r->in[0], r->out[0], r->in[1]));
    char *to = r->out[0]->data;
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.length; i++)
            if (s.condition[i]) {
                memcpy(to, (const char *)r->in[0]->data + (size_t)(o * s.dim + i) * s.row, s.row);
                to += s.row;
            }
    return NULL;
}

static hk_status compress_grad(hki_grad *g)
{
    const hk_attribute *axis = hki_attribute_find(g->node, "axis");
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "CompressGrad", NULL, HK_VALUES(g->dy[0], g->x[1], g->x[0]), axis != NULL,
                      axis, 1, &g->dx[0]);
    return NULL;
}

static const hki_case compress_cases[] = {
    {"f[3,2] bool[3]=(1,0,1)", "axis=0"},
    {"f[3,2] bool[5]=(0,1,0,0,1)", NULL},
    {"f[2,3,2] bool[2]=(0,1)", "axis=-2"},
    {"f[3,2] bool[3]=(0,0,0)", "axis=0"},
    {NULL, NULL},
};

const hki_op hki_op_compress = {
    .name = "Compress",
    .doc = "y = the slices of x along axis (without it: the elements) for which condition is true",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"condition", "T1", HKI_BOOLS, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{9, NULL}, {11, NULL}},
    .infer = compress_infer,
    .run = compress_run,
    .grad = compress_grad,
    .cases = compress_cases,
};

static hk_status compress_backward_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[2]);
    return NULL;
}

static hk_status compress_backward_run(hki_run *r)
{
    compress s;
    hk_tensor *dx = r->out[0];
    uint64_t zero = 0;
    HK_TRY(compress_plan(&s, r, dx, r->in[0], r->in[1]));
    hki_fill(dx->data, &zero, hk_tensor_count(dx), hk_dtype_size(dx->dtype), r->pool);
    const char *from = r->in[0]->data;
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.length; i++)
            if (s.condition[i]) {
                memcpy((char *)dx->data + (size_t)(o * s.dim + i) * s.row, from, s.row);
                from += s.row;
            }
    return NULL;
}

static hk_status compress_backward_grad(hki_grad *g)
{
    const hk_attribute *axis = hki_attribute_find(g->node, "axis");
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "Compress", HK_VALUES(g->dy[0], g->x[1]), axis != NULL, axis);
    return NULL;
}

static const hki_case compress_backward_cases[] = {
    {"f[2,2] bool[3]=(1,0,1) f[3,2]!", "axis=0"},
    {"f[2] bool[5]=(0,1,0,0,1) f[3,2]!", NULL},
    {NULL, NULL},
};

const hki_op hki_op_compress_grad = {
    .name = "CompressGrad",
    .domain = "halka",
    .doc = "gradient of Compress: dy at the places that were kept, zeros elsewhere",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"condition", "T1", HKI_BOOLS, 0},
               {"input", "T", HKI_FLOATS, HKI_SHAPE_ONLY}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .infer = compress_backward_infer,
    .run = compress_backward_run,
    .grad = compress_backward_grad,
    .cases = compress_backward_cases,
};
