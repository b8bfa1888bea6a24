/* OneHot: y[..., d, ...] = on where indices[...] is d, else off; d runs along a new axis of length depth. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status read_depth(int64_t *out, const hk_tensor *depth)
{
    if (hk_tensor_count(depth) != 1)
        return HK_ERR(HK_INVALID_SHAPE, "depth must hold one number, found %" PRId64, hk_tensor_count(depth));
    double value = hki_tensor_get_double(depth, 0);
    if (!(value >= 0 && value < 1e15))
        return HK_ERR(HK_INVALID_ARGUMENT, "depth is %g, expected 0 or more", value);
    *out = (int64_t)value;
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *indices = c->in[0], *values = c->in[2];
    const hk_tensor *data = hki_infer_data(c, 1);
    hki_type *y = &c->out[0];
    int axis;
    int64_t depth = HKI_DIM_UNKNOWN;
    HK_TRY(hki_rank_check(values, 1, "values"));
    if (values->rank == 1 && values->dims[0] >= 0 && values->dims[0] != 2)
        return HK_ERR(HK_INVALID_SHAPE, "values must be [off, on], found %" PRId64 " elements", values->dims[0]);
    if (data)
        HK_TRY(read_depth(&depth, data));
    if (indices->rank < 0)
        return NULL;
    if (indices->rank == HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "indices of rank %d leave no room for another dim", indices->rank);
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), indices->rank + 1));
    y->rank = indices->rank + 1;
    for (int i = 0; i < y->rank; i++)
        y->dims[i] = i < axis ? indices->dims[i] : i == axis ? depth : indices->dims[i - 1];
    return NULL;
}

static hk_status run(hki_run *r)
{
    const hk_tensor *indices = r->in[0], *values = r->in[2];
    hk_tensor *y = r->out[0];
    int axis;
    int64_t depth, count = hki_shape_count(indices->dims, 0, indices->rank);
    size_t size = hk_dtype_size(values->dtype);
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), y->rank));
    HK_TRY(read_depth(&depth, r->in[1]));
    if (depth != y->dims[axis])
        return HK_ERR(HK_INVALID_SHAPE, "depth is %" PRId64 ", but the output was planned for %" PRId64, depth,
                      y->dims[axis]);
    const char *on = (const char *)values->data + size;
    hki_fill(y->data, values->data, count * depth, size, r->pool);
    int64_t inner = hki_shape_count(indices->dims, axis, indices->rank);
    bool floats = hki_dtype_is_float(indices->dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t index;
        if (floats) {
            double value = hki_tensor_get_double(indices, i);
            if (!(value >= (double)-depth && value < (double)depth))
                continue;
            index = (int64_t)value;
        } else {
            index = hki_tensor_get_int(indices, i);
        }
        if (index < -depth || index >= depth)
            continue; /* ONNX: all off */
        index = index < 0 ? index + depth : index;
        memcpy((char *)y->data + (size_t)((i / inner * depth + index) * inner + i % inner) * size, on, size);
    }
    return NULL;
}

static const hki_case cases[] = {
    {"i64[3]=(0,2,-1) i64[]=(4) f[2]=(0,1)!", NULL},
    {"i32[2,2]=(0,1,5,2) i64[1]=(3) f[2]=(2,5)!", "axis=1"},
    {"i64[]=(1) i64[]=(3) f[2]=(0,1)!", "axis=0"},
    {"i64[0] i64[]=(3) f[2]=(0,1)!", NULL},
    {NULL, NULL},
};

const hki_op hki_op_one_hot = {
    .name = "OneHot",
    .doc = "y = on where the position along axis is the index, else off",
    .inputs = {{"indices", "T1", HKI_NUMERIC, 0}, {"depth", "T2", HKI_NUMERIC, 0}, {"values", "T3", HKI_ANY, 0}},
    .outputs = {{"output", "T3", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = -1}, false}},
    .versions = {{9, NULL}, {11, NULL}},
    .infer = infer,
    .run = run,
    .cases = cases,
};
