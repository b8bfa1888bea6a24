/* Building a graph: inputs, initializers, nodes (inferred and checked as they are added), outputs; and the accessors.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/op.h"

hk_value *hk_graph_input(hk_graph *graph, const char *name, hk_dtype dtype, int rank, const int64_t *dims)
{
    if (graph->failure)
        return NULL;
    if (rank > HK_MAX_RANK)
        return hki_graph_fail(graph, HK_ERR(HK_INVALID_SHAPE, "input '%s' has rank %d, at most %d is supported", name,
                                            rank, HK_MAX_RANK));
    if (hk_graph_find(graph, name))
        return hki_graph_fail(graph, HK_ERR(HK_INVALID_ARGUMENT, "there is already a value named '%s'", name));
    hki_type type = {.dtype = dtype, .rank = rank};
    if (rank > 0)
        memcpy(type.dims, dims, (size_t)rank * sizeof *dims);
    hk_status status =
        hki_array_grow(&graph->inputs, &graph->inputs_capacity, (size_t)graph->input_count + 1, sizeof(hk_value *));
    if (status)
        return hki_graph_fail(graph, status);
    hk_value *value = hki_graph_value(graph, name, &type);
    if (!value)
        return NULL;
    value->is_input = true;
    graph->inputs[graph->input_count++] = value;
    return value;
}

hk_value *hk_graph_constant(hk_graph *graph, const char *name, const hk_tensor *tensor)
{
    if (graph->failure || !tensor)
        return NULL;
    hki_type type;
    hki_type_set(&type, tensor->dtype, tensor->rank, tensor->dims);
    hk_tensor *shared;
    hk_status status = tensor->buffer && tensor->layout == HKI_PLAIN
                           ? hki_tensor_view(&shared, tensor->buffer, tensor->data, tensor->dtype, tensor->rank,
                                             tensor->dims)
                           : hk_tensor_copy(&shared, tensor);
    if (status)
        return hki_graph_fail(graph, status);
    hk_value *value = hki_graph_value(graph, name ? name : "constant", &type);
    if (value)
        value->tensor = shared;
    else
        hk_tensor_free(shared);
    return value;
}

void hk_graph_output(hk_graph *graph, const char *name, hk_value *value)
{
    if (!value || graph->failure)
        return;
    size_t count = (size_t)graph->output_count + 1;
    hk_status status = hki_array_grow(&graph->outputs, &graph->outputs_capacity, count, sizeof(hk_value *));
    if (!status)
        status = hki_array_grow(&graph->output_names, &graph->output_names_capacity, count, sizeof(char *));
    const char *copy = status ? NULL : hki_arena_strdup(graph->arena, name ? name : value->name);
    if (!copy) {
        hki_graph_fail(graph, status ? status : hki_out_of_memory());
        return;
    }
    graph->outputs[graph->output_count] = value;
    graph->output_names[graph->output_count++] = copy;
}

/* ---- Nodes. ---- */

static hk_status find_op(const hki_op **out, const char *domain, const char *op)
{
    *out = hki_op_find(domain, op);
    if (*out)
        return NULL;
    const char *names[512];
    size_t count = 0;
    for (int i = 0; i < hki_op_count() && count < 512; i++)
        names[count++] = hki_op_at(i)->name;
    const char *nearest = hki_nearest_name(op, names, count);
    return HK_ERR(HK_UNSUPPORTED, "operator '%s'%s%s%s is not known%s%s%s", op, domain && *domain ? " of domain '" : "",
                  domain ? domain : "", domain && *domain ? "'" : "", nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
}

static hk_status infer_node(hki_type *types, const hk_node *node)
{
    const hki_type **in = hki_alloc_array((size_t)node->input_count + 1, sizeof *in);
    const hk_tensor **data = hki_alloc_array((size_t)node->input_count + 1, sizeof *data);
    hk_status status = in && data ? NULL : hki_out_of_memory();
    for (int i = 0; i < node->input_count && !status; i++)
        if (node->inputs[i]) {
            in[i] = &node->inputs[i]->type;
            data[i] = node->inputs[i]->tensor;
        }
    if (!status)
        status = hki_node_infer(types, node, in, data);
    hki_free(in);
    hki_free(data);
    return status ? hki_error_context(status, HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node)) : NULL;
}

static void link_node(hk_graph *graph, hk_node *node)
{
    hk_node *next = graph->insert_before;
    node->next = next;
    node->previous = next ? next->previous : graph->last;
    *(node->previous ? &node->previous->next : &graph->first) = node;
    *(next ? &next->previous : &graph->last) = node;
    graph->node_count++;
}

static hk_status make_node(hk_node **out, hk_graph *graph, const hki_op *op, const char *name, int input_count,
                           hk_value *const *inputs, int attribute_count, const hk_attribute *attributes,
                           int output_count)
{
    hki_arena *arena = graph->arena;
    hk_node *node = hki_arena_alloc(arena, sizeof *node);
    if (!node)
        return hki_out_of_memory();
    node->op = op;
    node->graph = graph;
    node->input_count = input_count;
    node->output_count = output_count;
    node->inputs = hki_arena_array(arena, (size_t)input_count + 1, sizeof(hk_value *));
    node->outputs = hki_arena_array(arena, (size_t)output_count + 1, sizeof(hk_value *));
    node->name =
        name && *name ? hki_arena_strdup(arena, name) : hki_arena_printf(arena, "%s_%d", op->name, graph->node_count);
    if (!node->inputs || !node->outputs || !node->name)
        return hki_out_of_memory();
    if (input_count)
        memcpy(node->inputs, inputs, (size_t)input_count * sizeof *inputs);
    HK_TRY(hki_attributes_copy(&node->attributes, arena, attribute_count, attributes));
    node->attribute_count = attribute_count;
    if (op->flags & HKI_OP_RANDOM)
        node->stream = graph->next_stream++;
    *out = node;
    return NULL;
}

static hk_status finish_node(hk_graph *graph, hk_node *node)
{
    hki_type *types = hki_alloc_array((size_t)node->output_count + 1, sizeof *types);
    if (!types)
        return hki_out_of_memory();
    hk_status status = infer_node(types, node);
    for (int i = 0; i < node->output_count && !status; i++) {
        hk_value *value = node->outputs[i] = hki_graph_value(graph, node->name, &types[i]);
        if (!value)
            break;
        value->producer = node;
        value->producer_index = i;
    }
    hki_free(types);
    return status;
}

hk_node *hk_graph_node(hk_graph *graph, const char *domain, const char *op, const char *name, int input_count,
                       hk_value *const *inputs, int attribute_count, const hk_attribute *attributes, int output_count,
                       hk_value **out_outputs)
{
    for (int i = 0; i < output_count && out_outputs; i++)
        out_outputs[i] = NULL;
    if (graph->failure)
        return NULL;
    const hki_op *type;
    hk_node *node = NULL;
    hk_status status = find_op(&type, domain, op);
    if (!status)
        status = make_node(&node, graph, type, name, input_count, inputs, attribute_count, attributes, output_count);
    if (!status)
        status = finish_node(graph, node);
    if (status || graph->failure) {
        if (node)
            hki_attributes_free(node->attribute_count, node->attributes);
        return hki_graph_fail(graph, status);
    }
    link_node(graph, node);
    for (int i = 0; i < output_count && out_outputs; i++)
        out_outputs[i] = node->outputs[i];
    if (graph->observer) {
        status = graph->observer(graph->observer_context, node);
        if (status)
            return hki_graph_fail(graph, status);
    }
    return node;
}

hk_value *hk_graph_apply(hk_graph *graph, const char *op, int input_count, hk_value *const *inputs, int attribute_count,
                         const hk_attribute *attributes)
{
    const char *domain = "";
    if (!strncmp(op, "halka.", 6)) {
        domain = "halka";
        op += 6;
    }
    hk_value *output = NULL;
    hk_graph_node(graph, domain, op, NULL, input_count, inputs, attribute_count, attributes, 1, &output);
    return output;
}

hk_status hki_graph_infer(hk_graph *graph)
{
    for (hk_node *node = graph->first; node; node = node->next) {
        hki_type *types = hki_alloc_array((size_t)node->output_count + 1, sizeof *types);
        hk_status status = types ? infer_node(types, node) : hki_out_of_memory();
        for (int i = 0; i < node->output_count && !status; i++)
            if (node->outputs[i])
                hki_value_refine(node->outputs[i], &types[i]);
        hki_free(types);
        HK_TRY(status);
    }
    return NULL;
}

/* ---- Accessors. ---- */

const char *hk_graph_name(const hk_graph *graph)
{
    return graph->name;
}

int hk_graph_input_count(const hk_graph *graph)
{
    return graph->input_count;
}

hk_value *hk_graph_input_at(const hk_graph *graph, int index)
{
    return graph->inputs[index];
}

int hk_graph_output_count(const hk_graph *graph)
{
    return graph->output_count;
}

hk_value *hk_graph_output_at(const hk_graph *graph, int index)
{
    return graph->outputs[index];
}

const char *hk_graph_output_name(const hk_graph *graph, int index)
{
    return graph->output_names[index];
}

int hk_graph_constant_count(const hk_graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->value_count; i++)
        count += graph->values[i]->tensor && !graph->values[i]->producer;
    return count;
}

hk_value *hk_graph_constant_at(const hk_graph *graph, int index)
{
    for (int i = 0; i < graph->value_count; i++)
        if (graph->values[i]->tensor && !graph->values[i]->producer && index-- == 0)
            return graph->values[i];
    return NULL;
}

int hk_graph_node_count(const hk_graph *graph)
{
    return graph->node_count;
}

hk_node *hk_graph_first(const hk_graph *graph)
{
    return graph->first;
}

hk_node *hk_node_next(const hk_node *node)
{
    return node->next;
}

const char *hk_node_name(const hk_node *node)
{
    return node->name;
}

const char *hk_node_op(const hk_node *node)
{
    return node->op->name;
}

const char *hk_node_domain(const hk_node *node)
{
    return node->op->domain ? node->op->domain : "";
}

int hk_node_input_count(const hk_node *node)
{
    return node->input_count;
}

hk_value *hk_node_input(const hk_node *node, int index)
{
    return node->inputs[index];
}

int hk_node_output_count(const hk_node *node)
{
    return node->output_count;
}

hk_value *hk_node_output(const hk_node *node, int index)
{
    return node->outputs[index];
}

int hk_node_attribute_count(const hk_node *node)
{
    return node->attribute_count;
}

const hk_attribute *hk_node_attribute(const hk_node *node, int index)
{
    return &node->attributes[index];
}

const char *hk_value_name(const hk_value *value)
{
    return value->name;
}

hk_dtype hk_value_dtype(const hk_value *value)
{
    return value->type.dtype;
}

int hk_value_rank(const hk_value *value)
{
    return value->type.rank;
}

const int64_t *hk_value_dims(const hk_value *value)
{
    return value->type.dims;
}

const hk_tensor *hk_value_tensor(const hk_value *value)
{
    return value->tensor;
}
