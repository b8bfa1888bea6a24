/* Shapes as operators use them. See shapes.h. */
#include "ops/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

hk_status hki_numbers_count(int *out, const hki_type *type, const char *name)
{
    *out = -1;
    if (type->rank < 0)
        return NULL;
    if (type->rank > 1)
        return HK_ERR(HK_INVALID_SHAPE, "%s must be a 1-D tensor, found rank %d", name, type->rank);
    if (type->rank == 1 && type->dims[0] > HKI_SHAPE_NUMBERS)
        return HK_ERR(HK_INVALID_SHAPE, "%s has %" PRId64 " elements, more than any shape can use (%d)", name,
                      type->dims[0], HKI_SHAPE_NUMBERS);
    *out = type->rank == 0 ? 1 : type->dims[0] < 0 ? -1 : (int)type->dims[0];
    return NULL;
}

hk_status hki_numbers_read(int64_t *out, int *out_count, const hk_tensor *tensor, const char *name)
{
    hki_type type = {.dtype = tensor->dtype, .rank = tensor->rank};
    memcpy(type.dims, tensor->dims, sizeof(type.dims));
    int count;
    HK_TRY(hki_numbers_count(&count, &type, name));
    if (!hki_dtype_is_integer(tensor->dtype))
        return HK_ERR(HK_INVALID_TYPE, "%s must hold integers, found %s", name, hk_dtype_name(tensor->dtype));
    for (int i = 0; i < count; i++)
        out[i] = hki_tensor_get_int(tensor, i);
    *out_count = count;
    return NULL;
}

hk_status hki_number_read(int64_t *out, const hk_tensor *tensor, const char *name)
{
    if (hki_shape_count(tensor->dims, 0, tensor->rank) != 1) {
        char text[HKI_SHAPE_TEXT];
        return HK_ERR(HK_INVALID_SHAPE, "%s must hold one number, found %s", name,
                      hki_shape_text(text, tensor->dtype, tensor->rank, tensor->dims));
    }
    *out = hki_tensor_get_int(tensor, 0);
    return NULL;
}

hk_status hki_axes_normalise(int64_t *axes, int count, int rank)
{
    uint32_t seen = 0;
    for (int i = 0; i < count; i++) {
        int axis;
        HK_TRY(hki_axis(&axis, axes[i], rank));
        if (seen >> axis & 1)
            return HK_ERR(HK_INVALID_ARGUMENT, "axis %" PRId64 " stands twice in the list of axes", axes[i]);
        seen |= 1u << axis;
        axes[i] = axis;
    }
    return NULL;
}

hk_status hki_rank_check(const hki_type *type, int rank, const char *name)
{
    if (type->rank >= 0 && type->rank != rank)
        return HK_ERR(HK_INVALID_SHAPE, "%s must have rank %d, found rank %d", name, rank, type->rank);
    return NULL;
}

hk_status hki_output_check(const hk_tensor *out, int rank, const int64_t *dims)
{
    if (hki_shape_equal(out->rank, out->dims, rank, dims))
        return NULL;
    char found[HKI_SHAPE_TEXT], planned[HKI_SHAPE_TEXT];
    return HK_ERR(HK_INVALID_SHAPE, "the inputs give an output of %s, but it was planned as %s",
                  hki_shape_text(found, out->dtype, rank, dims),
                  hki_shape_text(planned, out->dtype, out->rank, out->dims));
}

const char *hki_dims_text(char *out, int rank, const int64_t *dims)
{
    size_t used = 0;
    used += (size_t)snprintf(out, HKI_SHAPE_TEXT, "[");
    for (int i = 0; i < rank && used < HKI_SHAPE_TEXT - 32; i++)
        used +=
            (size_t)(dims[i] < 0 ? snprintf(out + used, HKI_SHAPE_TEXT - used, "%s?", i ? "," : "")
                                 : snprintf(out + used, HKI_SHAPE_TEXT - used, "%s%" PRId64, i ? "," : "", dims[i]));
    snprintf(out + used, HKI_SHAPE_TEXT - used, "]");
    return out;
}

int64_t hki_dims_product(const int64_t *dims, int begin, int end)
{
    int64_t product = 1;
    for (int i = begin; i < end; i++)
        if (dims[i] == 0)
            return 0;
    for (int i = begin; i < end; i++)
        product = hki_dim_mul(product, dims[i]);
    return product;
}

hk_value *hki_shape_value(hk_graph *g, hk_value *x)
{
    if (x && hki_type_known(&x->type))
        return hki_ints_constant(g, x->type.rank, x->type.dims);
    return hki_unary(g, "Shape", x);
}

hk_value *hki_reshape_like(hk_graph *g, hk_value *v, hk_value *x)
{
    if (!v || !x)
        return NULL;
    int unknown = 0, at = 0, zeros = 0;
    for (int i = 0; i < x->type.rank; i++) {
        zeros += x->type.dims[i] == 0;
        if (x->type.dims[i] < 0) {
            unknown++;
            at = i;
        }
    }
    if (x->type.rank >= 0 && unknown == 1 && !zeros) {
        int64_t dims[HK_MAX_RANK];
        memcpy(dims, x->type.dims, sizeof(dims));
        dims[at] = -1;
        return hki_binary(g, "Reshape", v, hki_ints_constant(g, x->type.rank, dims));
    }
    hk_value *shape = hki_shape_value(g, x);
    return hk_graph_apply(g, "Reshape", HK_VALUES(v, shape), HK_ATTRIBUTES(HK_INT("allowzero", 1)));
}

hk_value *hki_zeros_like(hk_graph *g, hk_value *x)
{
    if (!x)
        return NULL;
    int64_t one = 1;
    hk_tensor *zero;
    hk_status status = hk_tensor_create(&zero, x->type.dtype, 1, &one);
    if (status)
        return hki_graph_fail(g, status);
    hk_value *shape = hki_shape_value(g, x);
    hk_value *value = hk_graph_apply(g, "ConstantOfShape", HK_VALUES(shape), HK_ATTRIBUTES(HK_TENSOR("value", zero)));
    hk_tensor_free(zero);
    return value;
}
