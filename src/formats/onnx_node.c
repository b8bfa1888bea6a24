/* Builds one node of a file: attributes, upgrade to the newest operator, names of outputs; and Constant nodes, which
 * become initializers. */
#include <inttypes.h>
#include <string.h>

#include "formats/onnx_import.h"

/* ---- Attributes. ---- */

const hki_onnx_attribute *hki_onnx_attribute_resolve(const hki_onnx_scope *scope, const hki_onnx_attribute *a)
{
    while (a && a->reference && *a->reference) {
        while (scope && !scope->function)
            scope = scope->outer;
        if (!scope)
            return NULL;
        const hki_onnx_attribute *given = NULL;
        for (size_t i = 0; i < scope->call->attribute_count && !given; i++)
            if (!strcmp(scope->call->attributes[i].name, a->reference))
                given = &scope->call->attributes[i];
        for (size_t i = 0; i < scope->function->default_count && !given; i++)
            if (!strcmp(scope->function->defaults[i].name, a->reference))
                return &scope->function->defaults[i];
        a = given;
        scope = scope->caller;
    }
    return a;
}

const hki_onnx_attribute *hki_onnx_attribute_find(const hki_onnx_scope *scope, const hki_onnx_node *node,
                                                  const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name))
            return hki_onnx_attribute_resolve(scope, &node->attributes[i]);
    return NULL;
}

static hk_status convert_attribute(hk_attribute *out, hki_onnx_importer *m, const hki_onnx_attribute *a,
                                   const char *name)
{
    *out = (hk_attribute){.name = name, .kind = (hk_attribute_kind)a->type, .count = (int64_t)a->count};
    switch (a->type) {
    case HK_ATTRIBUTE_FLOAT:
        out->as.f = a->f;
        return NULL;
    case HK_ATTRIBUTE_INT:
        out->as.i = a->i;
        return NULL;
    case HK_ATTRIBUTE_STRING:
        out->as.s = a->s;
        return NULL;
    case HK_ATTRIBUTE_FLOATS:
        out->as.floats = a->floats;
        return NULL;
    case HK_ATTRIBUTE_INTS:
        out->as.ints = a->ints;
        return NULL;
    case HK_ATTRIBUTE_STRINGS:
        out->as.strings = a->strings;
        return NULL;
    case HK_ATTRIBUTE_TENSOR:
        if (!a->tensor)
            return HK_ERR(HK_INVALID_FILE, "attribute '%s' is a tensor, but has none", name);
        return hki_onnx_tensor_get(&out->as.tensor, &m->source, a->tensor);
    case HK_ATTRIBUTE_GRAPH:
        return HK_ERR(HK_UNSUPPORTED, "attribute '%s' is a graph; control flow that depends on data is not supported",
                      name);
    default:
        return HK_ERR(HK_UNSUPPORTED, "attribute '%s' has type %" PRId64 ", which is not supported", name, a->type);
    }
}

static hk_status convert_attributes(hki_draft *draft, hki_onnx_importer *m, const hki_onnx_scope *scope,
                                    const hki_onnx_node *node, int64_t opset)
{
    hk_attribute *list;
    HK_TRY(hki_onnx_array(&list, m->graph->arena, node->attribute_count, sizeof *list));
    draft->attributes = list;
    draft->attribute_count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        const char *name = node->attributes[i].name;
        const hki_onnx_attribute *a = hki_onnx_attribute_resolve(scope, &node->attributes[i]);
        if (!a || (opset < 7 && !strcmp(name, "consumed_inputs"))) /* a hint of the first opsets, without meaning */
            continue;
        HK_TRY(convert_attribute(&list[draft->attribute_count++], m, a, name));
    }
    return NULL;
}

/* ---- Inputs and outputs. ---- */

static hk_status convert_inputs(hki_draft *draft, hki_onnx_importer *m, const hki_onnx_scope *scope,
                                const hki_onnx_node *node)
{
    size_t count = node->input_count;
    while (count && !*node->inputs[count - 1])
        count--;
    if (count > HKI_ONNX_MAX_PORTS)
        return HK_ERR(HK_UNSUPPORTED, "%zu inputs, at most %d are supported", count, HKI_ONNX_MAX_PORTS);
    HK_TRY(hki_onnx_array(&draft->inputs, m->graph->arena, count, sizeof *draft->inputs));
    draft->input_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        if (!*node->inputs[i])
            continue;
        draft->inputs[i] = hki_onnx_find(m, scope, node->inputs[i]);
        if (!draft->inputs[i])
            return HK_ERR(HK_INVALID_FILE, "input '%s' is not defined: no input, initializer or node makes it",
                          node->inputs[i]);
    }
    return NULL;
}

static hk_status convert_output_names(hki_draft *draft, hki_onnx_importer *m, const hki_onnx_node *node)
{
    size_t count = node->output_count;
    while (count > 1 && !*node->outputs[count - 1])
        count--;
    if (count > HKI_ONNX_MAX_PORTS)
        return HK_ERR(HK_UNSUPPORTED, "%zu outputs, at most %d are supported", count, HKI_ONNX_MAX_PORTS);
    HK_TRY(hki_onnx_array(&draft->output_names, m->graph->arena, count, sizeof *draft->output_names));
    draft->output_count = (int)count;
    for (size_t i = 0; i < count; i++)
        draft->output_names[i] = node->outputs[i];
    return NULL;
}

/* Gives the outputs of a new node the names of the file; absent ones leave the node. */
static hk_status name_outputs(hki_onnx_importer *m, hki_onnx_scope *scope, hk_node *node, const hki_draft *draft)
{
    for (int i = 0; i < node->output_count && i < draft->output_count; i++) {
        const char *name = draft->output_names[i];
        hk_value *value = node->outputs[i];
        if (!*name) {
            value->producer = NULL;
            node->outputs[i] = NULL;
            continue;
        }
        if (strcmp(value->name, name) || *scope->prefix) {
            const char *full = hki_onnx_claim(m, scope, name);
            if (!full)
                return hki_out_of_memory();
            HK_TRY(hki_value_rename(value, full));
        }
        HK_TRY(hki_onnx_bind(m, scope, name, value));
    }
    return NULL;
}

/* ---- An operator. ---- */

static const char *full_name(hki_onnx_importer *m, const hki_onnx_scope *scope, const char *name)
{
    return *scope->prefix && *name ? hki_arena_printf(m->arena, "%s/%s", scope->prefix, name) : name;
}

static hk_status import_operator(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node)
{
    int64_t opset = hki_onnx_opset(scope, node->domain);
    hki_draft draft = {.graph = m->graph, .op = node->op, .name = full_name(m, scope, node->name)};
    if (!draft.name)
        return hki_out_of_memory();
    HK_TRY(convert_inputs(&draft, m, scope, node));
    HK_TRY(convert_output_names(&draft, m, node));
    HK_TRY(convert_attributes(&draft, m, scope, node, opset));
    HK_TRY(hki_onnx_upgrade(&draft, node->domain, opset));
    hk_node *made = hk_graph_node(m->graph, node->domain, draft.op, draft.name, draft.input_count, draft.inputs,
                                  draft.attribute_count, draft.attributes, draft.output_count, NULL);
    HK_TRY(hk_graph_status(m->graph));
    return name_outputs(m, scope, made, &draft);
}

hk_status hki_onnx_import_node(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node)
{
    const char *label = *node->name ? node->name : node->output_count ? node->outputs[0] : "";
    hki_onnx_function *function = hki_onnx_function_find(m, node);
    bool standard = !*node->domain && !function;
    hk_status status;
    if (!node->output_count)
        status = HK_ERR(HK_INVALID_FILE, "a node without outputs");
    else if (function)
        status = hki_onnx_import_call(m, scope, node, function);
    else if (standard && !strcmp(node->op, "Constant"))
        status = hki_onnx_import_constant(m, scope, node);
    else if (standard && !strcmp(node->op, "If"))
        status = hki_onnx_import_if(m, scope, node);
    else
        status = import_operator(m, scope, node);
    if (!status || !strncmp(hk_status_message(status), "node '", 6))
        return status;
    return hki_error_context(status, "node '%s' (%s)", label, node->op);
}

/* ---- Constants. ---- */

static hk_status constant_list(hk_tensor **out, hki_onnx_importer *m, const hki_onnx_attribute *a)
{
    bool list = a->type == HK_ATTRIBUTE_FLOATS || a->type == HK_ATTRIBUTE_INTS;
    bool real = a->type == HK_ATTRIBUTE_FLOAT || a->type == HK_ATTRIBUTE_FLOATS;
    const void *data = list ? (real ? (const void *)a->floats : a->ints) : real ? (const void *)&a->f : &a->i;
    int64_t count = (int64_t)a->count;
    HK_TRY(hk_tensor_from(out, data, real ? HK_FLOAT : HK_INT64, list, list ? &count : NULL));
    return hki_onnx_source_keep(&m->source, *out);
}

hk_status hki_onnx_import_constant(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node)
{
    static const struct form {
        const char *name;
        int64_t type;
    } forms[] = {{"value", HK_ATTRIBUTE_TENSOR},      {"sparse_value", 11},
                 {"value_float", HK_ATTRIBUTE_FLOAT}, {"value_floats", HK_ATTRIBUTE_FLOATS},
                 {"value_int", HK_ATTRIBUTE_INT},     {"value_ints", HK_ATTRIBUTE_INTS}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const hki_onnx_attribute *a = hki_onnx_attribute_find(scope, node, forms[i].name);
        hk_tensor *tensor = NULL;
        if (!a)
            continue;
        if (a->type != forms[i].type || (i == 0 && !a->tensor) || (i == 1 && !a->sparse))
            return HK_ERR(HK_INVALID_FILE, "attribute '%s' has type %" PRId64 ", expected %" PRId64, forms[i].name,
                          a->type, forms[i].type);
        if (i == 0)
            HK_TRY(hki_onnx_tensor_get(&tensor, &m->source, a->tensor));
        else if (i == 1)
            HK_TRY(hki_onnx_sparse_get(&tensor, &m->source, a->sparse));
        else
            HK_TRY(constant_list(&tensor, m, a));
        return *node->outputs[0] ? hki_onnx_add_constant(m, scope, node->outputs[0], tensor) : NULL;
    }
    if (hki_onnx_attribute_find(scope, node, "value_string") || hki_onnx_attribute_find(scope, node, "value_strings"))
        return HK_ERR(HK_UNSUPPORTED, "constants of strings are not supported");
    return HK_ERR(HK_INVALID_FILE, "expected an attribute 'value' or one of its other forms, found none");
}
