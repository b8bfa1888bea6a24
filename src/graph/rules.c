/* What gradient, expansion and upgrade rules are written in: short names for building nodes, and the handling of
 * drafts. */
#include <string.h>

#include "graph/op.h"
#include "tensor/number.h"

hk_value *hki_unary(hk_graph *g, const char *op, hk_value *x)
{
    return x ? hk_graph_apply(g, op, 1, &x, HK_NO_ATTRIBUTES) : NULL;
}

hk_value *hki_binary(hk_graph *g, const char *op, hk_value *a, hk_value *b)
{
    return a && b ? hk_graph_apply(g, op, HK_VALUES(a, b), HK_NO_ATTRIBUTES) : NULL;
}

/* Adds a constant and frees the caller's tensor. */
static hk_value *own_constant(hk_graph *g, hk_status status, hk_tensor *tensor)
{
    if (status)
        return hki_graph_fail(g, status);
    hk_value *value = hk_graph_constant(g, NULL, tensor);
    hk_tensor_free(tensor);
    return value;
}

hk_value *hki_scalar_like(hk_graph *g, hk_value *x, double number)
{
    if (!x || g->failure)
        return NULL;
    hk_dtype dtype = x->type.dtype ? x->type.dtype : HK_DOUBLE;
    hk_tensor *tensor = NULL;
    hk_status status = hk_tensor_create(&tensor, dtype, 0, NULL);
    if (!status)
        hki_tensor_set_double(tensor, 0, number);
    hk_value *value = own_constant(g, status, tensor);
    return x->type.dtype ? value : hki_binary(g, "CastLike", value, x);
}

hk_value *hki_ints_constant(hk_graph *g, int64_t count, const int64_t *values)
{
    if (g->failure)
        return NULL;
    hk_tensor *tensor = NULL;
    hk_status status = hk_tensor_from(&tensor, values, HK_INT64, 1, &count);
    return own_constant(g, status, tensor);
}

hk_value *hki_sum_to_shape(hk_graph *g, hk_value *dy, hk_value *x)
{
    if (dy && x && hki_type_known(&dy->type) && hki_type_known(&x->type) &&
        hki_shape_equal(dy->type.rank, dy->type.dims, x->type.rank, x->type.dims))
        return dy;
    return hki_binary(g, "halka.SumToShape", dy, x);
}

/* ---- Drafts. ---- */

const hk_attribute *hki_draft_attribute(const hki_draft *draft, const char *name)
{
    for (int i = 0; i < draft->attribute_count; i++)
        if (!strcmp(draft->attributes[i].name, name))
            return &draft->attributes[i];
    return NULL;
}

void hki_draft_remove_attribute(hki_draft *draft, const char *name)
{
    for (int i = 0; i < draft->attribute_count; i++)
        if (!strcmp(draft->attributes[i].name, name)) {
            draft->attributes[i] = draft->attributes[--draft->attribute_count];
            return;
        }
}

hk_status hki_draft_set_attribute(hki_draft *draft, const hk_attribute *attribute)
{
    hki_draft_remove_attribute(draft, attribute->name);
    hk_attribute *list = hki_arena_array(draft->graph->arena, (size_t)draft->attribute_count + 1, sizeof *list);
    if (!list)
        return hki_out_of_memory();
    if (draft->attribute_count)
        memcpy(list, draft->attributes, (size_t)draft->attribute_count * sizeof *list);
    list[draft->attribute_count++] = *attribute;
    draft->attributes = list;
    return NULL;
}

hk_status hki_draft_set_input(hki_draft *draft, int i, hk_value *value)
{
    if (!value)
        return hk_graph_status(draft->graph);
    if (i >= draft->input_count) {
        hk_value **inputs = hki_arena_array(draft->graph->arena, (size_t)i + 1, sizeof *inputs);
        if (!inputs)
            return hki_out_of_memory();
        if (draft->input_count)
            memcpy(inputs, draft->inputs, (size_t)draft->input_count * sizeof *inputs);
        draft->inputs = inputs;
        draft->input_count = i + 1;
    }
    draft->inputs[i] = value;
    return NULL;
}

hk_status hki_draft_ints_to_input(hki_draft *draft, const char *attribute, int i)
{
    const hk_attribute *a = hki_draft_attribute(draft, attribute);
    if (!a)
        return NULL;
    hk_value *value = NULL;
    if (a->kind == HK_ATTRIBUTE_INTS)
        value = hki_ints_constant(draft->graph, a->count, a->as.ints);
    else if (a->kind == HK_ATTRIBUTE_INT)
        value = hki_ints_constant(draft->graph, 1, &a->as.i);
    else
        return HK_ERR(HK_INVALID_TYPE, "attribute '%s' must be a list of integers", attribute);
    hki_draft_remove_attribute(draft, attribute);
    return hki_draft_set_input(draft, i, value);
}

hk_status hki_draft_float_to_input(hki_draft *draft, const char *attribute, int i, hk_dtype dtype)
{
    const hk_attribute *a = hki_draft_attribute(draft, attribute);
    if (!a)
        return NULL;
    if (a->kind != HK_ATTRIBUTE_FLOAT)
        return HK_ERR(HK_INVALID_TYPE, "attribute '%s' must be a number", attribute);
    double number = a->as.f;
    hki_draft_remove_attribute(draft, attribute);
    hk_tensor *tensor = NULL;
    hk_status status = hk_tensor_create(&tensor, dtype, 0, NULL);
    if (!status)
        hki_tensor_set_double(tensor, 0, number);
    return hki_draft_set_input(draft, i, own_constant(draft->graph, status, tensor));
}
