/* Reshape, Flatten, Squeeze, Unsqueeze: other dims over the same elements in the same order.
 *
 * All four share the memory of their input where the plan allows it; the run then has nothing to do. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status run(hki_run *r)
{
    hki_copy(r->out[0]->data, r->in[0]->data, hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank),
             hk_dtype_size(r->in[0]->dtype), r->pool);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hki_reshape_like(g->graph, g->dy[0], g->x[0]);
    return NULL;
}

/* ---- Reshape ---- */

/* The dimension that is left over: elements of x over elements of the other dims of y. Symbols that stand on both sides
 * cancel, so that (N, 64, 7, 7) with shape (0, -1) or (-1, 3136) is still known. */
static hk_status reshape_remaining(int64_t *out, const hki_type *x, const hki_type *y, int at)
{
    bool used[HK_MAX_RANK] = {0};
    int64_t above = 1, below = 1, symbol = 0;
    int symbols = 0;
    *out = HKI_DIM_UNKNOWN;
    if (x->rank < 0)
        return NULL;
    for (int i = 0; i < y->rank; i++) {
        if (i == at)
            continue;
        if (y->dims[i] >= 0) {
            below = hki_dim_mul(below, y->dims[i]);
            continue;
        }
        int j = 0;
        while (j < x->rank && (used[j] || y->dims[i] == HKI_DIM_UNKNOWN || x->dims[j] != y->dims[i]))
            j++;
        if (j == x->rank)
            return NULL;
        used[j] = true;
    }
    for (int i = 0; i < x->rank; i++) {
        if (used[i])
            continue;
        if (x->dims[i] >= 0) {
            above = hki_dim_mul(above, x->dims[i]);
        } else {
            symbols++;
            symbol = x->dims[i];
        }
    }
    if (symbols == 0 && below == 0) {
        if (above != 0)
            return HK_ERR(HK_INVALID_SHAPE, "%" PRId64 " elements cannot be reshaped to dims of which one is 0", above);
        return HK_ERR(HK_INVALID_SHAPE, "the dimension -1 of the new shape could be anything, since another one is 0");
    }
    if (symbols == 0) {
        if (above % below)
            return HK_ERR(HK_INVALID_SHAPE,
                          "%" PRId64 " elements cannot be reshaped: the other dims of the new shape give %" PRId64
                          ", which does not divide them",
                          above, below);
        *out = above / below;
    } else if (symbols == 1 && above == below && above > 0) {
        *out = symbol;
    }
    return NULL;
}

static hk_status reshape_dims(hki_type *y, const hki_type *x, const int64_t *shape, int count, bool allow_zero)
{
    int at = -1;
    bool zero = false;
    if (count > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "the new shape has %d dims, more than %d", count, HK_MAX_RANK);
    y->rank = count;
    for (int i = 0; i < count; i++) {
        y->dims[i] = shape[i];
        if (shape[i] == -1) {
            if (at >= 0)
                return HK_ERR(HK_INVALID_SHAPE, "the new shape has -1 twice (dims %d and %d)", at, i);
            at = i;
        } else if (shape[i] < -1) {
            return HK_ERR(HK_INVALID_SHAPE, "dim %d of the new shape is %" PRId64 ", expected -1 or more", i, shape[i]);
        } else if (shape[i] == 0 && allow_zero) {
            zero = true;
        } else if (shape[i] == 0) {
            if (x->rank >= 0 && i >= x->rank)
                return HK_ERR(HK_INVALID_SHAPE,
                              "dim %d of the new shape is 0 (as in the input), but the input has rank %d", i, x->rank);
            y->dims[i] = x->rank < 0 ? HKI_DIM_UNKNOWN : x->dims[i];
        }
    }
    if (at >= 0 && zero)
        return HK_ERR(HK_INVALID_SHAPE, "with allowzero the new shape may not have both 0 and -1");
    if (at >= 0)
        return reshape_remaining(&y->dims[at], x, y, at);
    int64_t to = hki_dims_product(y->dims, 0, y->rank), from = x->rank < 0 ? -1 : hki_dims_product(x->dims, 0, x->rank);
    if (to >= 0 && from >= 0 && to != from) {
        char a[HKI_SHAPE_TEXT], b[HKI_SHAPE_TEXT];
        return HK_ERR(HK_INVALID_SHAPE, "%" PRId64 " elements of %s cannot be reshaped to %s, which has %" PRId64, from,
                      hki_dims_text(a, x->rank, x->dims), hki_dims_text(b, y->rank, y->dims), to);
    }
    return NULL;
}

static hk_status reshape_infer(hki_infer *c)
{
    const hk_tensor *shape = hki_infer_data(c, 1);
    int64_t numbers[HKI_SHAPE_NUMBERS];
    int count;
    if (shape) {
        HK_TRY(hki_numbers_read(numbers, &count, shape, "shape"));
        return reshape_dims(&c->out[0], c->in[0], numbers, count, hki_attribute_int(c->node, "allowzero") != 0);
    }
    HK_TRY(hki_numbers_count(&count, c->in[1], "shape"));
    if (count > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "the new shape has %d dims, more than %d", count, HK_MAX_RANK);
    c->out[0].rank = count;
    for (int i = 0; i < count; i++)
        c->out[0].dims[i] = HKI_DIM_UNKNOWN;
    return NULL;
}

/* Reshape-1 has the shape as an attribute. */
static hk_status reshape_from_1(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "consumed_inputs");
    return hki_draft_ints_to_input(draft, "shape", 1);
}

static const hki_case reshape_cases[] = {
    {"f[2,3,4] i64[2]=(4,6)", NULL},
    {"f[2,3,4] i64[3]=(0,-1,2)", NULL},
    {"f[2,3,4] i64[1]=(-1)", NULL},
    {"f[2,3] i64[4]=(3,1,1,2)", NULL},
    {"f[1] i64[0]", NULL},
    {"f[] i64[2]=(1,1)", NULL},
    {"f[0,3] i64[2]=(3,0)", "allowzero=1"},
    {"f[2,0,3] i64[3]=(0,0,3)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_reshape = {
    .name = "Reshape",
    .doc = "y has the elements of x in the same order and the dims given (0: as in x, -1: what is left)",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"shape", "shape", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"reshaped", "T", HKI_ANY, 0}},
    .attributes = {{"allowzero", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, reshape_from_1},
                 {5, NULL},
                 {13, NULL},
                 {14, NULL},
                 {19, NULL},
                 {21, NULL},
                 {23, NULL},
                 {24, NULL},
                 {25, NULL}},
    .flags = HKI_OP_ALIAS,
    .infer = reshape_infer,
    .run = run,
    .grad = grad,
    .cases = reshape_cases,
};

/* ---- Flatten ---- */

static hk_status flatten_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    y->rank = 2;
    y->dims[0] = y->dims[1] = HKI_DIM_UNKNOWN;
    if (x->rank < 0)
        return NULL;
    int64_t axis = hki_attribute_int(c->node, "axis");
    if (axis < -x->rank || axis > x->rank)
        return HK_ERR(HK_INVALID_ARGUMENT, "axis must be in -%d .. %d, found %" PRId64, x->rank, x->rank, axis);
    int at = (int)(axis < 0 ? axis + x->rank : axis);
    y->dims[0] = hki_dims_product(x->dims, 0, at);
    y->dims[1] = hki_dims_product(x->dims, at, x->rank);
    return NULL;
}

static const hki_case flatten_cases[] = {
    {"f[2,3,4]", NULL}, {"f[2,3,4]", "axis=0"}, {"f[2,3,4]", "axis=3"}, {"f[2,3,4]", "axis=-1"},
    {"f[]", "axis=0"},  {"f[0,3]", "axis=1"},   {"f[1,1,5]", "axis=2"}, {NULL, NULL},
};

const hki_op hki_op_flatten = {
    .name = "Flatten",
    .doc = "y is x as a matrix: dims before axis, dims from axis on",
    .inputs = {{"input", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{1, NULL}, {9, NULL}, {11, NULL}, {13, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .flags = HKI_OP_ALIAS,
    .infer = flatten_infer,
    .run = run,
    .grad = grad,
    .cases = flatten_cases,
};

/* ---- Squeeze, Unsqueeze ---- */

static hk_status squeeze_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    const hk_tensor *data = hki_infer_data(c, 1);
    int64_t axes[HKI_SHAPE_NUMBERS];
    int count = 0;
    bool gone[HK_MAX_RANK] = {0};
    if (x->rank < 0)
        return NULL;
    if (hki_infer_has(c, 1) && !data) {
        HK_TRY(hki_numbers_count(&count, c->in[1], "axes"));
        if (count < 0)
            return NULL;
        if (count > x->rank)
            return HK_ERR(HK_INVALID_SHAPE, "%d axes for an input of rank %d", count, x->rank);
        y->rank = x->rank - count;
        for (int i = 0; i < y->rank; i++)
            y->dims[i] = HKI_DIM_UNKNOWN;
        return NULL;
    }
    if (data) {
        HK_TRY(hki_numbers_read(axes, &count, data, "axes"));
        HK_TRY(hki_axes_normalise(axes, count, x->rank));
    }
    for (int i = 0; i < count; i++) {
        if (x->dims[axes[i]] >= 0 && x->dims[axes[i]] != 1)
            return HK_ERR(HK_INVALID_SHAPE, "axis %" PRId64 " cannot be squeezed: its dim is %" PRId64 ", expected 1",
                          axes[i], x->dims[axes[i]]);
        gone[axes[i]] = true;
    }
    for (int i = 0; i < x->rank && !data; i++) {
        if (x->dims[i] < 0)
            return NULL; /* it may be 1: not even the rank is known */
        gone[i] = x->dims[i] == 1;
    }
    y->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!gone[i])
            y->dims[y->rank++] = x->dims[i];
    return NULL;
}

static hk_status axes_to_input(hki_draft *draft)
{
    return hki_draft_ints_to_input(draft, "axes", 1);
}

static const hki_case squeeze_cases[] = {
    {"f[1,3,1,4] i64[1]=(2)", NULL}, {"f[1,3,1] i64[2]=(0,-1)", NULL}, {"f[1,3,1]", NULL}, {"f[1,1]", NULL},
    {"f[1,0] i64[1]=(0)", NULL},     {"f[2,3] i64[0]", NULL},          {NULL, NULL},
};

const hki_op hki_op_squeeze = {
    .name = "Squeeze",
    .doc = "y is x without the dims of 1 named by axes (without axes: all of them)",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"axes", "axes", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .outputs = {{"squeezed", "T", HKI_ANY, 0}},
    .versions = {{1, NULL}, {11, axes_to_input}, {13, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .flags = HKI_OP_ALIAS,
    .infer = squeeze_infer,
    .run = run,
    .grad = grad,
    .cases = squeeze_cases,
};

static hk_status unsqueeze_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    const hk_tensor *data = hki_infer_data(c, 1);
    int64_t axes[HKI_SHAPE_NUMBERS];
    int count;
    bool added[HK_MAX_RANK] = {0};
    if (data)
        HK_TRY(hki_numbers_read(axes, &count, data, "axes"));
    else
        HK_TRY(hki_numbers_count(&count, c->in[1], "axes"));
    if (x->rank < 0 || count < 0)
        return NULL;
    if (x->rank + count > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "an input of rank %d with %d more dims is over the limit of %d", x->rank, count,
                      HK_MAX_RANK);
    y->rank = x->rank + count;
    if (data) {
        HK_TRY(hki_axes_normalise(axes, count, y->rank));
        for (int i = 0; i < count; i++)
            added[axes[i]] = true;
    }
    for (int i = 0, from = 0; i < y->rank; i++)
        y->dims[i] = !data ? HKI_DIM_UNKNOWN : added[i] ? 1 : x->dims[from++];
    return NULL;
}

static const hki_case unsqueeze_cases[] = {
    {"f[3,4] i64[2]=(0,3)", NULL}, {"f[3] i64[1]=(-1)", NULL},      {"f[] i64[1]=(0)", NULL},
    {"f[2,0] i64[1]=(1)", NULL},   {"f[2,3] i64[3]=(4,2,1)", NULL}, {NULL, NULL},
};

const hki_op hki_op_unsqueeze = {
    .name = "Unsqueeze",
    .doc = "y is x with dims of 1 inserted, so that they stand at axes of y",
    .inputs = {{"data", "T", HKI_ANY, 0}, {"axes", "axes", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"expanded", "T", HKI_ANY, 0}},
    .versions = {{1, NULL}, {11, axes_to_input}, {13, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .flags = HKI_OP_ALIAS,
    .infer = unsqueeze_infer,
    .run = run,
    .grad = grad,
    .cases = unsqueeze_cases,
};
