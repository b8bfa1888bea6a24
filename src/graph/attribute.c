/* Attributes of nodes: look-up with defaults from the operator's table, copying into an arena. */
#include <string.h>

#include "graph/graph.h"
#include "graph/op.h"

const hk_attribute *hki_attribute_find(const hk_node *node, const char *name)
{
    for (int i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name))
            return &node->attributes[i];
    return NULL;
}

static const hki_attribute_spec *spec_of(const hk_node *node, const char *name)
{
    for (const hki_attribute_spec *spec = node->op->attributes; spec->name; spec++)
        if (!strcmp(spec->name, name))
            return spec;
    return NULL;
}

int64_t hki_attribute_int(const hk_node *node, const char *name)
{
    const hk_attribute *a = hki_attribute_find(node, name);
    const hki_attribute_spec *spec = spec_of(node, name);
    HK_ASSERT(spec);
    return a ? a->as.i : spec ? spec->fallback.i : 0;
}

float hki_attribute_float(const hk_node *node, const char *name)
{
    const hk_attribute *a = hki_attribute_find(node, name);
    const hki_attribute_spec *spec = spec_of(node, name);
    HK_ASSERT(spec);
    return a ? a->as.f : spec ? spec->fallback.f : 0;
}

const char *hki_attribute_text(const hk_node *node, const char *name)
{
    const hk_attribute *a = hki_attribute_find(node, name);
    const hki_attribute_spec *spec = spec_of(node, name);
    HK_ASSERT(spec);
    const char *text = a ? a->as.s : spec ? spec->fallback.s : NULL;
    return text ? text : "";
}

const int64_t *hki_attribute_ints(const hk_node *node, const char *name, int64_t *out_count)
{
    const hk_attribute *a = hki_attribute_find(node, name);
    *out_count = a ? a->count : 0;
    return a ? a->as.ints : NULL;
}

const float *hki_attribute_floats(const hk_node *node, const char *name, int64_t *out_count)
{
    const hk_attribute *a = hki_attribute_find(node, name);
    *out_count = a ? a->count : 0;
    return a ? a->as.floats : NULL;
}

/* ---- Copying. ---- */

static void *copy_list(hki_arena *arena, const void *list, int64_t count, size_t element_size)
{
    void *copy = hki_arena_array(arena, (size_t)count + 1, element_size);
    if (copy && count)
        memcpy(copy, list, (size_t)count * element_size);
    return copy;
}

static hk_status copy_strings(const char *const **out, hki_arena *arena, const hk_attribute *a)
{
    const char **strings = hki_arena_array(arena, (size_t)a->count + 1, sizeof *strings);
    if (!strings)
        return hki_out_of_memory();
    for (int64_t i = 0; i < a->count; i++)
        if (!(strings[i] = hki_arena_strdup(arena, a->as.strings[i])))
            return hki_out_of_memory();
    *out = strings;
    return NULL;
}

/* Shares the memory if it is counted, else copies the elements. */
static hk_status share_tensor(hk_tensor **out, const hk_tensor *t)
{
    if (t->buffer && t->layout == HKI_PLAIN)
        return hki_tensor_view(out, t->buffer, t->data, t->dtype, t->rank, t->dims);
    return hk_tensor_copy(out, t);
}

static hk_status copy_attribute(hk_attribute *out, hki_arena *arena, const hk_attribute *a)
{
    hk_attribute copy = *a;
    const void *made = copy.name = hki_arena_strdup(arena, a->name);
    if (!made)
        return hki_out_of_memory();
    switch (a->kind) {
    case HK_ATTRIBUTE_STRING:
        made = copy.as.s = hki_arena_strdup(arena, a->as.s);
        break;
    case HK_ATTRIBUTE_TENSOR:
        HK_TRY(share_tensor(&copy.as.tensor, a->as.tensor));
        break;
    case HK_ATTRIBUTE_GRAPH:
        HK_TRY(hk_graph_copy(&copy.as.graph, a->as.graph));
        break;
    case HK_ATTRIBUTE_FLOATS:
        made = copy.as.floats = copy_list(arena, a->as.floats, a->count, sizeof(float));
        break;
    case HK_ATTRIBUTE_INTS:
        made = copy.as.ints = copy_list(arena, a->as.ints, a->count, sizeof(int64_t));
        break;
    case HK_ATTRIBUTE_STRINGS:
        HK_TRY(copy_strings(&copy.as.strings, arena, a));
        break;
    default:
        break;
    }
    if (!made)
        return hki_out_of_memory();
    *out = copy;
    return NULL;
}

hk_status hki_attributes_copy(hk_attribute **out, hki_arena *arena, int count, const hk_attribute *attributes)
{
    *out = NULL;
    hk_attribute *copies = hki_arena_array(arena, (size_t)count + 1, sizeof *copies);
    if (!copies)
        return hki_out_of_memory();
    for (int i = 0; i < count; i++) {
        hk_status status = copy_attribute(&copies[i], arena, &attributes[i]);
        if (status) {
            hki_attributes_free(i, copies);
            return status;
        }
    }
    *out = copies;
    return NULL;
}

void hki_attributes_free(int count, hk_attribute *attributes)
{
    for (int i = 0; i < count; i++) {
        if (attributes[i].kind == HK_ATTRIBUTE_TENSOR)
            hk_tensor_free(attributes[i].as.tensor);
        else if (attributes[i].kind == HK_ATTRIBUTE_GRAPH)
            hk_graph_free(attributes[i].as.graph);
    }
}

hk_status hki_attribute_set(hk_node *node, const hk_attribute *attribute)
{
    hki_arena *arena = node->graph->arena;
    hk_attribute copy;
    HK_TRY(copy_attribute(&copy, arena, attribute));
    for (int i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, attribute->name)) {
            hki_attributes_free(1, &node->attributes[i]);
            node->attributes[i] = copy;
            return NULL;
        }
    hk_attribute *list = copy_list(arena, node->attributes, node->attribute_count, sizeof copy);
    if (!list) {
        hki_attributes_free(1, &copy);
        return hki_out_of_memory();
    }
    list[node->attribute_count++] = copy;
    node->attributes = list;
    return NULL;
}
