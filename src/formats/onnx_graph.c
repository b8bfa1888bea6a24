/* Builds the model's graph: names, types, inputs, initializers, nodes in order, outputs. */
#include <inttypes.h>
#include <string.h>

#include "formats/onnx_import.h"

enum { MAX_SYMBOLS = 4096, MAX_METADATA = 4096 };

/* ---- Names. ---- */

hk_value *hki_onnx_find(const hki_onnx_importer *m, const hki_onnx_scope *scope, const char *name)
{
    for (; scope; scope = scope->outer) {
        int64_t number = hki_onnx_names_find(&scope->names, name);
        if (number >= 0)
            return m->values[number];
    }
    return NULL;
}

hk_status hki_onnx_bind(hki_onnx_importer *m, hki_onnx_scope *scope, const char *name, hk_value *value)
{
    int64_t old;
    HK_TRY(hki_onnx_names_add(&scope->names, name, (int64_t)m->value_count, &old));
    if (old >= 0)
        return HK_ERR(HK_INVALID_FILE, "value '%s' is defined twice", name);
    HK_TRY(hki_array_grow(&m->values, &m->value_capacity, m->value_count + 1, sizeof *m->values));
    m->values[m->value_count++] = value;
    return NULL;
}

/* In the model's graph a value that has taken the name already is a helper made by an upgrade or from an inner scope
 * (the file's own names are unique): it is given another. */
const char *hki_onnx_claim(hki_onnx_importer *m, const hki_onnx_scope *scope, const char *name)
{
    if (*scope->prefix)
        return hki_arena_printf(m->arena, "%s/%s", scope->prefix, name);
    hk_value *holder = hk_graph_find(m->graph, name);
    if (!holder)
        return name;
    const char *other = hki_arena_printf(m->arena, "%s_inner", name);
    hk_status status = other ? hki_value_rename(holder, other) : NULL;
    hk_status_free(status);
    return other && !status ? name : NULL;
}

hk_status hki_onnx_add_constant(hki_onnx_importer *m, hki_onnx_scope *scope, const char *name, const hk_tensor *tensor)
{
    const char *full = hki_onnx_claim(m, scope, name);
    if (!full)
        return hki_out_of_memory();
    hk_value *value = hk_graph_constant(m->graph, full, tensor);
    HK_TRY(hk_graph_status(m->graph));
    return hki_onnx_bind(m, scope, name, value);
}

/* ---- Types. ---- */

static hk_status find_symbol(int64_t *out, hki_onnx_importer *m, const char *name)
{
    int64_t number = hki_onnx_names_find(&m->symbols, name);
    *out = HKI_DIM_UNKNOWN;
    if (number < 0 && m->symbols.count >= MAX_SYMBOLS)
        return NULL; /* so many names help nobody; the dimension stays unknown */
    if (number < 0) {
        int64_t code = hk_graph_symbol(m->graph, name);
        HK_TRY(hk_graph_status(m->graph));
        number = -code;
        HK_TRY(hki_onnx_names_add(&m->symbols, name, number, NULL));
    }
    *out = -number;
    return NULL;
}

hk_status hki_onnx_type(hki_type *out, hki_onnx_importer *m, const hki_onnx_value *value)
{
    const char *name;
    memset(out, 0, sizeof *out);
    out->rank = -1;
    if (!value->kind)
        return NULL;
    if (strcmp(value->kind, "tensor"))
        return HK_ERR(HK_UNSUPPORTED, "value '%s' is a %s; halka only has tensors", value->name, value->kind);
    out->dtype = hki_onnx_dtype(value->data_type, &name);
    if (!out->dtype && value->data_type)
        return HK_ERR(HK_UNSUPPORTED, "value '%s': element type %s (%" PRId64 ") is not supported", value->name, name,
                      value->data_type);
    if (!value->has_shape)
        return NULL;
    if (value->rank > HK_MAX_RANK)
        return HK_ERR(HK_UNSUPPORTED, "value '%s' has rank %zu, at most %d is supported", value->name, value->rank,
                      HK_MAX_RANK);
    out->rank = (int)value->rank;
    for (int i = 0; i < out->rank; i++) {
        const hki_onnx_dim *dim = &value->dims[i];
        out->dims[i] = dim->value >= 0 ? dim->value : HKI_DIM_UNKNOWN;
        if (dim->symbol && *dim->symbol)
            HK_TRY(find_symbol(&out->dims[i], m, dim->symbol));
    }
    return NULL;
}

/* Takes from a declared type what inference left open. What inference knows stands: declarations in files are sometimes
 * stale. */
static void complete(hk_value *value, const hki_type *declared)
{
    hki_type *type = &value->type;
    if (!type->dtype)
        type->dtype = declared->dtype;
    if (type->rank < 0) {
        hk_dtype dtype = type->dtype;
        *type = *declared;
        type->dtype = dtype;
    } else if (type->rank == declared->rank) {
        for (int i = 0; i < type->rank; i++)
            if (type->dims[i] == HKI_DIM_UNKNOWN)
                type->dims[i] = declared->dims[i];
    }
}

/* ---- Inputs and initializers. ---- */

/* Up to IR version 3 every initializer had to be listed among the inputs as well; it is a constant. From version 4 on,
 * such an input is one with a default value. */
static hk_status import_inputs(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_names *initializers)
{
    const hki_onnx_graph *g = m->model.graph;
    for (size_t i = 0; i < g->input_count; i++) {
        const hki_onnx_value *input = &g->inputs[i];
        if (!*input->name)
            return HK_ERR(HK_INVALID_FILE, "input %zu has no name", i);
        if (m->model.ir_version < 4 && hki_onnx_names_find(initializers, input->name) >= 0)
            continue;
        hki_type type;
        HK_TRY_CTX(hki_onnx_type(&type, m, input), "input %zu", i);
        if (!type.dtype)
            return HK_ERR(HK_INVALID_FILE, "input '%s' has no element type", input->name);
        hk_value *value = hk_graph_input(m->graph, input->name, type.dtype, type.rank, type.dims);
        HK_TRY(hk_graph_status(m->graph));
        HK_TRY(hki_onnx_bind(m, scope, input->name, value));
    }
    return NULL;
}

/* An initializer under the name of an input: its default. */
static hk_status set_default(hk_value *input, const hk_tensor *tensor)
{
    if (input->tensor || input->producer)
        return HK_ERR(HK_INVALID_FILE, "value '%s' is defined twice", input->name);
    if (input->type.dtype != tensor->dtype)
        return HK_ERR(HK_INVALID_FILE, "input '%s' is %s, but its default is %s", input->name,
                      hk_dtype_name(input->type.dtype), hk_dtype_name(tensor->dtype));
    if (tensor->buffer)
        HK_TRY(
            hki_tensor_view(&input->tensor, tensor->buffer, tensor->data, tensor->dtype, tensor->rank, tensor->dims));
    else
        HK_TRY(hk_tensor_copy(&input->tensor, tensor));
    hki_type_set(&input->type, tensor->dtype, tensor->rank, tensor->dims);
    return NULL;
}

static hk_status import_initializer(hki_onnx_importer *m, hki_onnx_scope *scope, const char *name,
                                    const hk_tensor *tensor)
{
    if (!*name)
        return HK_ERR(HK_INVALID_FILE, "an initializer has no name");
    int64_t number = hki_onnx_names_find(&scope->names, name);
    if (number >= 0 && m->values[number]->is_input)
        return set_default(m->values[number], tensor);
    return hki_onnx_add_constant(m, scope, name, tensor);
}

hk_status hki_onnx_import_initializers(hki_onnx_importer *m, hki_onnx_scope *scope, hki_onnx_graph *g)
{
    hk_tensor *tensor;
    for (size_t i = 0; i < g->initializer_count; i++) {
        HK_TRY(hki_onnx_tensor_get(&tensor, &m->source, &g->initializers[i]));
        HK_TRY(import_initializer(m, scope, g->initializers[i].name, tensor));
    }
    for (size_t i = 0; i < g->sparse_count; i++) {
        HK_TRY(hki_onnx_sparse_get(&tensor, &m->source, &g->sparse[i]));
        HK_TRY(import_initializer(m, scope, g->sparse[i].values.name, tensor));
    }
    return NULL;
}

/* ---- Nodes and outputs. ---- */

static hk_status complete_outputs(hki_onnx_importer *m, const hki_onnx_scope *scope, const hki_onnx_node *node)
{
    for (size_t i = 0; i < node->output_count; i++) {
        int64_t info = hki_onnx_names_find(&m->infos, node->outputs[i]);
        hk_value *value = info < 0 ? NULL : hki_onnx_find(m, scope, node->outputs[i]);
        hki_type declared;
        if (!value || !value->producer)
            continue;
        hk_status status = hki_onnx_type(&declared, m, &m->model.graph->values[info]);
        if (status)
            hk_status_free(status); /* of no use then */
        else
            complete(value, &declared);
    }
    return NULL;
}

hk_status hki_onnx_import_nodes(hki_onnx_importer *m, hki_onnx_scope *scope, hki_onnx_node *nodes, size_t count)
{
    size_t *order;
    HK_TRY(hki_onnx_order(&order, m->arena, nodes, count));
    for (size_t i = 0; i < count; i++) {
        if (m->depth && ++m->nodes_made > HKI_ONNX_MAX_NODES)
            return HK_ERR(HK_UNSUPPORTED, "functions and branches grow the graph beyond %d nodes", HKI_ONNX_MAX_NODES);
        HK_TRY(hki_onnx_import_node(m, scope, &nodes[order[i]]));
        if (!*scope->prefix)
            HK_TRY(complete_outputs(m, scope, &nodes[order[i]]));
    }
    return NULL;
}

static hk_status import_outputs(hki_onnx_importer *m, const hki_onnx_scope *scope)
{
    const hki_onnx_graph *g = m->model.graph;
    hki_onnx_names seen = {0};
    hk_status status = NULL;
    for (size_t i = 0; i < g->output_count && !status; i++) {
        const hki_onnx_value *output = &g->outputs[i];
        hk_value *value = *output->name ? hki_onnx_find(m, scope, output->name) : NULL;
        hki_type declared;
        int64_t old = -1;
        status =
            value ? hki_onnx_type(&declared, m, output)
                  : HK_ERR(HK_INVALID_FILE, "output '%s' is not defined: nothing in the graph makes it", output->name);
        if (!status)
            status = hki_onnx_names_add(&seen, output->name, (int64_t)i, &old);
        if (!status && old >= 0)
            status = HK_ERR(HK_INVALID_FILE, "output '%s' is listed twice", output->name);
        if (!status && declared.dtype && value->type.dtype && declared.dtype != value->type.dtype)
            status = HK_ERR(HK_INVALID_FILE, "output '%s' is declared %s, but is %s", output->name,
                            hk_dtype_name(declared.dtype), hk_dtype_name(value->type.dtype));
        if (status)
            break;
        if (value->producer)
            complete(value, &declared);
        hk_graph_output(m->graph, output->name, value);
        status = hk_graph_status(m->graph);
    }
    hki_onnx_names_free(&seen);
    return status;
}

/* ---- The whole. ---- */

static hk_status name_initializers(hki_onnx_names *out, const hki_onnx_graph *g)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        HK_TRY(hki_onnx_names_add(out, g->initializers[i].name, 0, NULL));
    for (size_t i = 0; i < g->sparse_count; i++)
        HK_TRY(hki_onnx_names_add(out, g->sparse[i].values.name, 0, NULL));
    return NULL;
}

static hk_status import_into(hki_onnx_importer *m, hki_onnx_scope *scope)
{
    hki_onnx_graph *g = m->model.graph;
    hki_onnx_names initializers = {0};
    hk_status status = name_initializers(&initializers, g);
    if (!status)
        status = import_inputs(m, scope, &initializers);
    hki_onnx_names_free(&initializers);
    HK_TRY(status);
    HK_TRY(hki_onnx_import_initializers(m, scope, g));
    for (size_t i = 0; i < g->value_count; i++)
        HK_TRY(hki_onnx_names_add(&m->infos, g->values[i].name, (int64_t)i, NULL));
    HK_TRY(hki_onnx_import_nodes(m, scope, g->nodes, g->node_count));
    return import_outputs(m, scope);
}

static hk_status import_metadata(hki_onnx_importer *m)
{
    if (m->model.metadata_count > MAX_METADATA)
        return HK_ERR(HK_UNSUPPORTED, "%zu metadata_props, at most %d are supported", m->model.metadata_count,
                      MAX_METADATA);
    for (size_t i = 0; i < m->model.metadata_count; i++)
        HK_TRY(hk_graph_set_metadata(m->graph, m->model.metadata[i].key, m->model.metadata[i].value));
    return NULL;
}

hk_status hki_onnx_import_model(hki_onnx_importer *m)
{
    HK_TRY(hki_onnx_index_functions(m));
    HK_TRY(hki_onnx_check_operators(m));
    HK_TRY(import_metadata(m));
    hki_onnx_scope scope = {.prefix = "", .imports = m->model.imports, .import_count = m->model.import_count};
    hk_status status = import_into(m, &scope);
    hki_onnx_names_free(&scope.names);
    return status;
}
