/* Constant, ConstantOfShape, EyeLike, Range: tensors made from attributes and numbers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"
#include "tensor/number.h"

/* ---- Constant ---- */

static hk_status constant_infer(hki_infer *c)
{
    const hk_node *node = c->node;
    hki_type *y = &c->out[0];
    const hk_attribute *a;
    if (node->attribute_count != 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "one attribute with a value is expected, found %d", node->attribute_count);
    a = &node->attributes[0];
    int64_t count = a->count;
    if (a->kind == HK_ATTRIBUTE_TENSOR)
        hki_type_set(y, a->as.tensor->dtype, a->as.tensor->rank, a->as.tensor->dims);
    else if (a->kind == HK_ATTRIBUTE_FLOAT || a->kind == HK_ATTRIBUTE_INT)
        hki_type_set(y, a->kind == HK_ATTRIBUTE_FLOAT ? HK_FLOAT : HK_INT64, 0, NULL);
    else if (a->kind == HK_ATTRIBUTE_FLOATS || a->kind == HK_ATTRIBUTE_INTS)
        hki_type_set(y, a->kind == HK_ATTRIBUTE_FLOATS ? HK_FLOAT : HK_INT64, 1, &count);
    else
        return HK_ERR(HK_UNSUPPORTED, "attribute %s: string and sparse constants are not supported", a->name);
    return NULL;
}

static hk_status constant_run(hki_run *r)
{
    const hk_attribute *a = &r->node->attributes[0];
    hk_tensor *y = r->out[0];
    int64_t count = hki_shape_count(y->dims, 0, y->rank);
    const void *from = a->kind == HK_ATTRIBUTE_TENSOR   ? a->as.tensor->data
                       : a->kind == HK_ATTRIBUTE_FLOAT  ? (const void *)&a->as.f
                       : a->kind == HK_ATTRIBUTE_INT    ? (const void *)&a->as.i
                       : a->kind == HK_ATTRIBUTE_FLOATS ? (const void *)a->as.floats
                                                        : (const void *)a->as.ints;
    hki_copy(y->data, from, count, hk_dtype_size(y->dtype), r->pool);
    return NULL;
}

static const hki_case constant_cases[] = {
    {"", "value_float=1.5"},    {"", "value_int=-3"}, {"", "value_floats=[1.5,2.5]"},
    {"", "value_ints=[1,2,3]"}, {NULL, NULL},
};

const hki_op hki_op_constant = {
    .name = "Constant",
    .doc = "y = the value in the attribute",
    .outputs = {{"output", "output", HKI_ANY, 0}},
    .attributes = {{"value", HK_ATTRIBUTE_TENSOR, {.i = 0}, false},
                   {"value_float", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},
                   {"value_floats", HK_ATTRIBUTE_FLOATS, {.i = 0}, false},
                   {"value_int", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"value_ints", HK_ATTRIBUTE_INTS, {.i = 0}, false},
                   {"value_string", HK_ATTRIBUTE_STRING, {.s = ""}, false},
                   {"value_strings", HK_ATTRIBUTE_STRINGS, {.i = 0}, false}},
    .versions = {{1, NULL},
                 {9, NULL},
                 {11, NULL},
                 {12, NULL},
                 {13, NULL},
                 {19, NULL},
                 {21, NULL},
                 {23, NULL},
                 {24, NULL},
                 {25, NULL}},
    .infer = constant_infer,
    .run = constant_run,
    .cases = constant_cases,
};

/* ---- ConstantOfShape ---- */

static hk_status filled_infer(hki_infer *c)
{
    const hk_attribute *value = hki_attribute_find(c->node, "value");
    const hk_tensor *data = hki_infer_data(c, 0);
    hki_type *y = &c->out[0];
    int64_t numbers[HKI_SHAPE_NUMBERS];
    y->dtype = value ? value->as.tensor->dtype : HK_FLOAT;
    if (value && hk_tensor_count(value->as.tensor) != 1)
        return HK_ERR(HK_INVALID_SHAPE, "value must have one element, found %" PRId64,
                      hk_tensor_count(value->as.tensor));
    if (hk_dtype_size(y->dtype) == 0 || hk_dtype_size(y->dtype) > 8)
        return HK_ERR(HK_INVALID_TYPE, "value of type %s is not supported", hk_dtype_name(y->dtype));
    int rank;
    if (data)
        HK_TRY(hki_numbers_read(numbers, &rank, data, "input"));
    else
        HK_TRY(hki_numbers_count(&rank, c->in[0], "input"));
    if (rank > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "the shape has %d dims, more than %d", rank, HK_MAX_RANK);
    y->rank = rank;
    for (int i = 0; i < rank; i++) {
        y->dims[i] = data ? numbers[i] : HKI_DIM_UNKNOWN;
        if (data && numbers[i] < 0)
            return HK_ERR(HK_INVALID_SHAPE, "dim %d of the shape is %" PRId64 ", expected 0 or more", i, numbers[i]);
    }
    return NULL;
}

static hk_status filled_run(hki_run *r)
{
    const hk_attribute *value = hki_attribute_find(r->node, "value");
    uint64_t zero = 0;
    hk_tensor *y = r->out[0];
    hki_fill(y->data, value ? value->as.tensor->data : &zero, hki_shape_count(y->dims, 0, y->rank),
             hk_dtype_size(y->dtype), r->pool);
    return NULL;
}

static const hki_case filled_cases[] = {{"i64[2]=(2,3)", NULL}, {"i64[0]", NULL}, {"i64[2]=(0,3)", NULL}, {NULL, NULL}};

const hki_op hki_op_constant_of_shape = {
    .name = "ConstantOfShape",
    .doc = "y has the shape given, every element is value (default float32 0)",
    .inputs = {{"input", "input", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"output", "output", HKI_ANY, 0}},
    .attributes = {{"value", HK_ATTRIBUTE_TENSOR, {.i = 0}, false}},
    .versions = {{9, NULL}, {20, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = filled_infer,
    .run = filled_run,
    .cases = filled_cases,
};

/* ---- EyeLike ---- */

static hk_status eye_infer(hki_infer *c)
{
    const hk_attribute *dtype = hki_attribute_find(c->node, "dtype");
    HK_TRY(hki_rank_check(c->in[0], 2, "input"));
    hki_type_copy(&c->out[0], c->in[0]);
    if (dtype) {
        if (dtype->as.i < 0 || dtype->as.i > HK_BFLOAT16 || !(HKI_ANY >> dtype->as.i & 1))
            return HK_ERR(HK_INVALID_TYPE, "dtype %" PRId64 " is not a type that EyeLike can make", dtype->as.i);
        c->out[0].dtype = (hk_dtype)dtype->as.i;
    }
    return NULL;
}

static hk_status eye_run(hki_run *r)
{
    hk_tensor *y = r->out[0];
    uint64_t zero = 0, one;
    double value = 1;
    size_t size = hk_dtype_size(y->dtype);
    HK_TRY(hki_convert(&one, y->dtype, &value, HK_DOUBLE, 1));
    hki_fill(y->data, &zero, y->dims[0] * y->dims[1], size, r->pool);
    int64_t k = hki_attribute_int(r->node, "k");
    for (int64_t i = 0; i < y->dims[0]; i++)
        if (k >= -i && k < y->dims[1] - i)
            memcpy((char *)y->data + (size_t)(i * y->dims[1] + i + k) * size, &one, size);
    return NULL;
}

static const hki_case eye_cases[] = {
    {"f[3,4]!", NULL}, {"f[4,3]!", "k=1"}, {"f[3,3]!", "k=-2 dtype=11"}, {"i32[2,0]", NULL}, {NULL, NULL},
};

const hki_op hki_op_eye_like = {
    .name = "EyeLike",
    .doc = "y has the shape of x, 1 on the diagonal k and 0 elsewhere",
    .inputs = {{"input", "T1", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"output", "output", HKI_ANY, 0}},
    .attributes = {{"dtype", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"k", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{9, NULL}, {22, NULL}},
    .infer = eye_infer,
    .run = eye_run,
    .cases = eye_cases,
};

/* ---- Range ---- */

#define RANGE_TYPES (HKI_FLOATS | HKI_BIT(HK_INT16) | HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64))

/* max(ceil((limit - start) / delta), 0); integers exactly. */
static hk_status range_count(int64_t *out, const hk_tensor *start, const hk_tensor *limit, const hk_tensor *delta)
{
    double count;
    if (hk_tensor_count(start) != 1 || hk_tensor_count(limit) != 1 || hk_tensor_count(delta) != 1)
        return HK_ERR(HK_INVALID_SHAPE, "start, limit and delta must be scalars");
    if (hki_tensor_get_double(delta, 0) == 0)
        return HK_ERR(HK_INVALID_ARGUMENT, "delta is 0");
    if (hki_dtype_is_integer(start->dtype)) {
        int64_t a = hki_tensor_get_int(start, 0), b = hki_tensor_get_int(limit, 0), d = hki_tensor_get_int(delta, 0);
        if (d > 0 ? b <= a : b >= a) {
            *out = 0;
            return NULL;
        }
        uint64_t distance = d > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
        uint64_t step = d > 0 ? (uint64_t)d : 0 - (uint64_t)d;
        uint64_t steps = (distance - 1) / step + 1;
        count = (double)steps;
        *out = (int64_t)steps;
    } else {
        count =
            ceil((hki_tensor_get_double(limit, 0) - hki_tensor_get_double(start, 0)) / hki_tensor_get_double(delta, 0));
        if (!(count > 0)) /* also NaN */
            count = 0;
        *out = count < 1e15 ? (int64_t)count : 0;
    }
    if (count >= 1e15)
        return HK_ERR(HK_INVALID_SHAPE, "the range has %g numbers, too many", count);
    return NULL;
}

static hk_status range_infer(hki_infer *c)
{
    const hk_tensor *data[3];
    c->out[0].rank = 1;
    c->out[0].dims[0] = HKI_DIM_UNKNOWN;
    for (int i = 0; i < 3; i++)
        data[i] = hki_infer_data(c, i);
    if (data[0] && data[1] && data[2])
        return range_count(&c->out[0].dims[0], data[0], data[1], data[2]);
    return NULL;
}

static hk_status range_run(hki_run *r)
{
    hk_tensor *y = r->out[0];
    int64_t count, i;
    HK_TRY(range_count(&count, r->in[0], r->in[1], r->in[2]));
    HK_TRY(hki_output_check(y, 1, &count));
    if (hki_dtype_is_integer(y->dtype)) {
        uint64_t start = (uint64_t)hki_tensor_get_int(r->in[0], 0), delta = (uint64_t)hki_tensor_get_int(r->in[2], 0);
        for (i = 0; i < count; i++) {
            uint64_t value = start + (uint64_t)i * delta;
            if (y->dtype == HK_INT64)
                ((uint64_t *)y->data)[i] = value;
            else if (y->dtype == HK_INT32)
                ((uint32_t *)y->data)[i] = (uint32_t)value;
            else
                ((uint16_t *)y->data)[i] = (uint16_t)value;
        }
        return NULL;
    }
    double start = hki_tensor_get_double(r->in[0], 0), delta = hki_tensor_get_double(r->in[2], 0);
    for (i = 0; i < count; i++) {
        if (y->dtype == HK_DOUBLE)
            ((double *)y->data)[i] = start + (double)i * delta;
        else if (y->dtype == HK_FLOAT)
            ((float *)y->data)[i] = (float)start + (float)i * (float)delta;
        else /* stash_type 1: computed in float32, rounded once */
            hki_tensor_set_double(y, i, (float)start + (float)i * (float)delta);
    }
    return NULL;
}

static const hki_case range_cases[] = {
    {"f[]=(1)! f[]=(5.5)! f[]=(1.25)!", NULL},
    {"i64[]=(10) i64[]=(4) i64[]=(-2)", NULL},
    {"i32[]=(3) i32[]=(3) i32[]=(1)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_range = {
    .name = "Range",
    .doc = "y[i] = start + i * delta, up to limit (exclusive)",
    .inputs = {{"start", "T", RANGE_TYPES, 0}, {"limit", "T", RANGE_TYPES, 0}, {"delta", "T", RANGE_TYPES, 0}},
    .outputs = {{"output", "T", RANGE_TYPES, 0}},
    .attributes = {{"stash_type", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{11, NULL}, {27, NULL}},
    .infer = range_infer,
    .run = range_run,
    .cases = range_cases,
};
