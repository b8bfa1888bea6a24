/* Graphs: creation, values, names, the list of nodes. Building functions that infer stand in build.c. */
#include "graph/graph.h"

#include <string.h>

#include "base/text.h"
#include "graph/names.h"
#include "graph/op.h"

hk_status hk_graph_create(hk_graph **out, const char *name)
{
    *out = NULL;
    hki_arena *arena;
    HK_TRY(hki_arena_create(&arena));
    hk_graph *graph = hki_arena_alloc(arena, sizeof *graph);
    if (!graph) {
        hki_arena_free(arena);
        return hki_out_of_memory();
    }
    graph->arena = arena;
    graph->name = hki_arena_strdup(arena, name ? name : "");
    hk_status status = graph->name ? hki_names_create(&graph->names) : hki_out_of_memory();
    if (status) {
        hki_arena_free(arena);
        return status;
    }
    *out = graph;
    return NULL;
}

void hk_graph_free(hk_graph *graph)
{
    if (!graph)
        return;
    for (hk_node *node = graph->first; node; node = node->next)
        hki_attributes_free(node->attribute_count, node->attributes);
    for (int i = 0; i < graph->value_count; i++)
        hk_tensor_free(graph->values[i]->tensor);
    if (graph->observer_free)
        graph->observer_free(graph->observer_context);
    hk_status_free(graph->failure);
    hki_names_free(graph->names);
    hki_free(graph->values);
    hki_free(graph->inputs);
    hki_free(graph->outputs);
    hki_free(graph->output_names);
    hki_free(graph->symbols);
    hki_free(graph->metadata);
    hki_arena_free(graph->arena);
}

void *hki_graph_fail(hk_graph *graph, hk_status status)
{
    if (graph->failure)
        hk_status_free(status);
    else
        graph->failure = status;
    return NULL;
}

hk_status hk_graph_status(hk_graph *graph)
{
    hk_status status = graph->failure;
    graph->failure = NULL;
    return status;
}

/* ---- Symbols and metadata. ---- */

/* Codes lie below HKI_DIM_UNKNOWN: symbol i is -2 - i. */
int64_t hk_graph_symbol(hk_graph *graph, const char *name)
{
    for (int i = 0; i < graph->symbol_count; i++)
        if (!strcmp(graph->symbols[i], name))
            return -2 - (int64_t)i;
    hk_status status =
        hki_array_grow(&graph->symbols, &graph->symbols_capacity, (size_t)graph->symbol_count + 1, sizeof(char *));
    const char *copy = status ? NULL : hki_arena_strdup(graph->arena, name);
    if (!copy) {
        hki_graph_fail(graph, status ? status : hki_out_of_memory());
        return HKI_DIM_UNKNOWN;
    }
    graph->symbols[graph->symbol_count] = copy;
    return -2 - (int64_t)graph->symbol_count++;
}

const char *hk_graph_symbol_name(const hk_graph *graph, int64_t code)
{
    int64_t i = -2 - code;
    return i >= 0 && i < graph->symbol_count ? graph->symbols[i] : "?";
}

hk_status hk_graph_set_metadata(hk_graph *graph, const char *key, const char *value)
{
    const char *copy = hki_arena_strdup(graph->arena, value);
    if (!copy)
        return hki_out_of_memory();
    for (int i = 0; i < graph->metadata_count; i += 2)
        if (!strcmp(graph->metadata[i], key)) {
            graph->metadata[i + 1] = copy;
            return NULL;
        }
    HK_TRY(
        hki_array_grow(&graph->metadata, &graph->metadata_capacity, (size_t)graph->metadata_count + 2, sizeof(char *)));
    const char *key_copy = hki_arena_strdup(graph->arena, key);
    if (!key_copy)
        return hki_out_of_memory();
    graph->metadata[graph->metadata_count++] = key_copy;
    graph->metadata[graph->metadata_count++] = copy;
    return NULL;
}

const char *hk_graph_metadata(const hk_graph *graph, const char *key)
{
    for (int i = 0; i < graph->metadata_count; i += 2)
        if (!strcmp(graph->metadata[i], key))
            return graph->metadata[i + 1];
    return NULL;
}

/* ---- Values. ---- */

/* A name nobody has: the base itself, or base_2, base_3 ... */
static const char *fresh_name(hk_graph *graph, const char *base)
{
    if (!base || !*base)
        base = "value";
    if (!hki_names_find(graph->names, base))
        return hki_arena_strdup(graph->arena, base);
    for (;;) {
        int64_t n = hki_names_next_number(graph->names);
        char *name = hki_arena_printf(graph->arena, "%s_%lld", base, (long long)n);
        if (!name || !hki_names_find(graph->names, name))
            return name;
    }
}

hk_value *hki_graph_value(hk_graph *graph, const char *name, const hki_type *type)
{
    hk_status status =
        hki_array_grow(&graph->values, &graph->values_capacity, (size_t)graph->value_count + 1, sizeof(hk_value *));
    if (status)
        return hki_graph_fail(graph, status);
    hk_value *value = hki_arena_alloc(graph->arena, sizeof *value);
    const char *unique = value ? fresh_name(graph, name) : NULL;
    if (!unique)
        return hki_graph_fail(graph, hki_out_of_memory());
    value->name = unique;
    value->graph = graph;
    value->type = *type;
    value->index = graph->value_count;
    status = hki_names_add(graph->names, value);
    if (status)
        return hki_graph_fail(graph, status);
    graph->values[graph->value_count++] = value;
    return value;
}

hk_status hki_value_rename(hk_value *value, const char *name)
{
    hk_graph *graph = value->graph;
    if (!strcmp(value->name, name))
        return NULL;
    hki_names_remove(graph->names, value);
    const char *unique = fresh_name(graph, name);
    if (!unique)
        return hki_out_of_memory();
    value->name = unique;
    return hki_names_add(graph->names, value);
}

void hki_value_refine(hk_value *value, const hki_type *type)
{
    hki_type *old = &value->type;
    if (type->dtype)
        old->dtype = type->dtype;
    if (type->rank < 0)
        return;
    if (old->rank != type->rank) {
        *old = *type;
        return;
    }
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] >= 0 || old->dims[i] == HKI_DIM_UNKNOWN)
            old->dims[i] = type->dims[i];
}

void hki_value_replace(hk_value *from, hk_value *to)
{
    hk_graph *graph = from->graph;
    for (hk_node *node = graph->first; node; node = node->next)
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i] == from)
                node->inputs[i] = to;
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == from)
            graph->outputs[i] = to;
}

hk_value *hk_graph_find(const hk_graph *graph, const char *name)
{
    return hki_names_find(graph->names, name);
}

/* ---- Nodes. ---- */

void hki_graph_remove(hk_node *node)
{
    hk_graph *graph = node->graph;
    *(node->previous ? &node->previous->next : &graph->first) = node->next;
    *(node->next ? &node->next->previous : &graph->last) = node->previous;
    if (graph->insert_before == node)
        graph->insert_before = node->next;
    graph->node_count--;
    hki_attributes_free(node->attribute_count, node->attributes);
    node->attribute_count = 0;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i])
            node->outputs[i]->producer = NULL;
}

/* Marks what the outputs need, walking backwards: the list is in execution order, so one pass is enough. */
void hki_graph_prune(hk_graph *graph)
{
    bool *needed = hki_alloc_array((size_t)graph->value_count + 1, sizeof *needed);
    if (!needed)
        return; /* pruning saves work, it is never required */
    for (int i = 0; i < graph->output_count; i++)
        needed[graph->outputs[i]->index] = true;
    for (hk_node *node = graph->last, *previous; node; node = previous) {
        previous = node->previous;
        bool used = false;
        for (int i = 0; i < node->output_count; i++)
            used |= node->outputs[i] && needed[node->outputs[i]->index];
        if (!used) {
            hki_graph_remove(node);
            continue;
        }
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i])
                needed[node->inputs[i]->index] = true;
    }
    int kept = 0;
    for (int i = 0; i < graph->value_count; i++) {
        hk_value *value = graph->values[i];
        if (needed[i] || value->is_input || value->producer) {
            value->index = kept;
            graph->values[kept++] = value;
        } else {
            hki_names_remove(graph->names, value);
            hk_tensor_free(value->tensor);
            value->tensor = NULL;
        }
    }
    graph->value_count = kept;
    hki_free(needed);
}

/* ---- Copying. ---- */

static hk_status copy_node(hk_graph *to, const hk_node *node, hk_value *const *map)
{
    hk_node *copy = hki_arena_alloc(to->arena, sizeof *copy);
    if (!copy)
        return hki_out_of_memory();
    *copy = *node;
    copy->graph = to;
    copy->name = hki_arena_strdup(to->arena, node->name);
    copy->inputs = hki_arena_array(to->arena, (size_t)node->input_count + 1, sizeof(hk_value *));
    copy->outputs = hki_arena_array(to->arena, (size_t)node->output_count + 1, sizeof(hk_value *));
    if (!copy->name || !copy->inputs || !copy->outputs)
        return hki_out_of_memory();
    HK_TRY(hki_attributes_copy(&copy->attributes, to->arena, node->attribute_count, node->attributes));
    for (int i = 0; i < node->input_count; i++)
        copy->inputs[i] = node->inputs[i] ? map[node->inputs[i]->index] : NULL;
    for (int i = 0; i < node->output_count; i++) {
        copy->outputs[i] = node->outputs[i] ? map[node->outputs[i]->index] : NULL;
        if (copy->outputs[i])
            copy->outputs[i]->producer = copy;
    }
    copy->previous = to->last;
    copy->next = NULL;
    *(to->last ? &to->last->next : &to->first) = copy;
    to->last = copy;
    to->node_count++;
    return NULL;
}

static hk_status copy_values(hk_graph *to, const hk_graph *from, hk_value **map)
{
    for (int i = 0; i < from->value_count; i++) {
        const hk_value *value = from->values[i];
        hk_value *copy = map[i] = hki_graph_value(to, value->name, &value->type);
        if (!copy)
            return hk_graph_status(to);
        copy->producer_index = value->producer_index;
        copy->is_input = value->is_input;
        if (value->tensor) {
            const hk_tensor *t = value->tensor;
            HK_TRY(hki_tensor_view(&copy->tensor, t->buffer, t->data, t->dtype, t->rank, t->dims));
        }
    }
    return NULL;
}

static hk_status copy_into(hk_graph *to, const hk_graph *from, hk_value **map)
{
    for (int i = 0; i < from->symbol_count; i++)
        hk_graph_symbol(to, from->symbols[i]);
    HK_TRY(copy_values(to, from, map));
    for (int i = 0; i < from->input_count; i++) {
        HK_TRY(hki_array_grow(&to->inputs, &to->inputs_capacity, (size_t)i + 1, sizeof(hk_value *)));
        to->inputs[to->input_count++] = map[from->inputs[i]->index];
    }
    for (const hk_node *node = from->first; node; node = node->next)
        HK_TRY(copy_node(to, node, map));
    for (int i = 0; i < from->output_count; i++)
        hk_graph_output(to, from->output_names[i], map[from->outputs[i]->index]);
    for (int i = 0; i < from->metadata_count; i += 2)
        HK_TRY(hk_graph_set_metadata(to, from->metadata[i], from->metadata[i + 1]));
    to->next_stream = from->next_stream;
    return hk_graph_status(to);
}

hk_status hk_graph_copy(hk_graph **out, const hk_graph *graph)
{
    *out = NULL;
    hk_graph *copy;
    HK_TRY(hk_graph_create(&copy, graph->name));
    hk_value **map = hki_alloc_array((size_t)graph->value_count + 1, sizeof *map);
    hk_status status = map ? copy_into(copy, graph, map) : hki_out_of_memory();
    hki_free(map);
    if (status) {
        hk_graph_free(copy);
        return status;
    }
    *out = copy;
    return NULL;
}
