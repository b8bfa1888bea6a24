/* Functions and constant branches: nodes that stand for other nodes, which are built in their place. */
#include <stdio.h>
#include <string.h>

#include "formats/onnx_import.h"

/* The key of a function: its domain, name and overload, none of which contains a tab. */
static const char *function_key(hki_onnx_importer *m, char *room, size_t size, const char *domain, const char *name,
                                const char *overload)
{
    int length = snprintf(room, size, "%s\t%s\t%s", domain, name, overload);
    return length >= 0 && (size_t)length < size ? room
                                                : hki_arena_printf(m->arena, "%s\t%s\t%s", domain, name, overload);
}

hk_status hki_onnx_index_functions(hki_onnx_importer *m)
{
    for (size_t i = 0; i < m->model.function_count; i++) {
        const hki_onnx_function *f = &m->model.functions[i];
        const char *key = hki_arena_printf(m->arena, "%s\t%s\t%s", f->domain, f->name, f->overload);
        int64_t old;
        if (!key)
            return hki_out_of_memory();
        HK_TRY(hki_onnx_names_add(&m->functions, key, (int64_t)i, &old));
        if (old >= 0)
            return HK_ERR(HK_INVALID_FILE, "function '%s' of domain '%s' is defined twice", f->name, f->domain);
    }
    return NULL;
}

hki_onnx_function *hki_onnx_function_find(hki_onnx_importer *m, const hki_onnx_node *node)
{
    char room[512];
    if (!m->model.function_count)
        return NULL;
    const char *key = function_key(m, room, sizeof room, node->domain, node->op, node->overload);
    int64_t number = key ? hki_onnx_names_find(&m->functions, key) : -1;
    return number < 0 ? NULL : &m->model.functions[number];
}

static const char *inner_prefix(hki_onnx_importer *m, const hki_onnx_scope *scope, const hki_onnx_node *node)
{
    const char *name = *node->name ? node->name : node->outputs[0];
    if (!*name)
        name = node->op;
    return *scope->prefix ? hki_arena_printf(m->arena, "%s/%s", scope->prefix, name) : name;
}

static hk_status enter(hki_onnx_importer *m)
{
    if (m->depth >= HKI_ONNX_MAX_DEPTH)
        return HK_ERR(HK_UNSUPPORTED, "functions and branches are nested more than %d deep", HKI_ONNX_MAX_DEPTH);
    m->depth++;
    return NULL;
}

/* Binds a result of the inner scope to the outer name. A value made in there takes the outer name; one that was only
 * passed through keeps its own. */
static hk_status hand_out(hki_onnx_importer *m, hki_onnx_scope *outer, const hki_onnx_scope *inner,
                          const char *inner_name, const char *outer_name, int first_new)
{
    if (!*outer_name)
        return NULL;
    hk_value *value = hki_onnx_find(m, inner, inner_name);
    if (!value)
        return HK_ERR(HK_INVALID_FILE, "output '%s' is not defined inside", inner_name);
    HK_TRY(hki_onnx_bind(m, outer, outer_name, value));
    const char *prefix = inner->prefix;
    bool fresh = value->index >= first_new && !strncmp(value->name, prefix, strlen(prefix));
    if (!fresh)
        return NULL;
    const char *full = hki_onnx_claim(m, outer, outer_name);
    return full ? hki_value_rename(value, full) : hki_out_of_memory();
}

/* ---- Functions. ---- */

static hk_status bind_arguments(hki_onnx_importer *m, hki_onnx_scope *inner, const hki_onnx_scope *outer,
                                const hki_onnx_node *node, const hki_onnx_function *f)
{
    if (node->input_count > f->input_count || node->output_count > f->output_count)
        return HK_ERR(HK_INVALID_FILE, "function '%s' has %zu inputs and %zu outputs, the node %zu and %zu", f->name,
                      f->input_count, f->output_count, node->input_count, node->output_count);
    for (size_t i = 0; i < f->input_count; i++) {
        const char *name = i < node->input_count ? node->inputs[i] : "";
        hk_value *value = *name ? hki_onnx_find(m, outer, name) : NULL;
        if (*name && !value)
            return HK_ERR(HK_INVALID_FILE, "input '%s' is not defined: no input, initializer or node makes it", name);
        if (!*f->inputs[i])
            return HK_ERR(HK_INVALID_FILE, "function '%s' has an input without a name", f->name);
        HK_TRY(hki_onnx_bind(m, inner, f->inputs[i], value)); /* NULL: an optional input that is absent */
    }
    return NULL;
}

static hk_status build_call(hki_onnx_importer *m, hki_onnx_scope *outer, hki_onnx_scope *inner,
                            const hki_onnx_node *node, hki_onnx_function *f)
{
    int first_new = m->graph->value_count;
    HK_TRY(bind_arguments(m, inner, outer, node, f));
    HK_TRY_CTX(hki_onnx_import_nodes(m, inner, f->nodes, f->node_count), "node '%s': in function '%s'", inner->prefix,
               f->name);
    for (size_t i = 0; i < node->output_count; i++)
        HK_TRY(hand_out(m, outer, inner, f->outputs[i], node->outputs[i], first_new));
    return NULL;
}

hk_status hki_onnx_import_call(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node,
                               hki_onnx_function *f)
{
    if (f->active)
        return HK_ERR(HK_INVALID_FILE, "function '%s' calls itself", f->name);
    hki_onnx_scope inner = {.imports = f->imports, .import_count = f->import_count, .function = f, .call = node,
                            .caller = scope, .prefix = inner_prefix(m, scope, node)};
    if (!inner.prefix)
        return hki_out_of_memory();
    HK_TRY(enter(m));
    f->active = true;
    hk_status status = build_call(m, scope, &inner, node, f);
    f->active = false;
    m->depth--;
    hki_onnx_names_free(&inner.names);
    return status;
}

/* ---- Branches. ---- */

static hk_status choose_branch(hki_onnx_graph **out, hki_onnx_importer *m, const hki_onnx_scope *scope,
                               const hki_onnx_node *node)
{
    hk_value *condition = node->input_count == 1 ? hki_onnx_find(m, scope, node->inputs[0]) : NULL;
    if (!condition)
        return HK_ERR(HK_INVALID_FILE, "expected a condition, found %zu inputs or an undefined one", node->input_count);
    const hk_tensor *tensor = condition->producer || condition->is_input ? NULL : condition->tensor;
    if (!tensor)
        return HK_ERR(HK_UNSUPPORTED, "the condition '%s' is not a constant; branches that depend on data are not "
                                      "supported",
                      node->inputs[0]);
    if (tensor->dtype != HK_BOOL || hk_tensor_count(tensor) != 1)
        return HK_ERR(HK_INVALID_FILE, "the condition '%s' must be one bool", node->inputs[0]);
    const char *name = hki_tensor_get_int(tensor, 0) ? "then_branch" : "else_branch";
    const hki_onnx_attribute *a = hki_onnx_attribute_find(scope, node, name);
    if (!a || !a->graph)
        return HK_ERR(HK_INVALID_FILE, "attribute '%s' is missing", name);
    *out = a->graph;
    return NULL;
}

static hk_status build_branch(hki_onnx_importer *m, hki_onnx_scope *outer, hki_onnx_scope *inner,
                              const hki_onnx_node *node, hki_onnx_graph *g)
{
    int first_new = m->graph->value_count;
    if (g->output_count < node->output_count || g->input_count)
        return HK_ERR(HK_INVALID_FILE, "the branch has %zu inputs and %zu outputs, expected 0 and %zu", g->input_count,
                      g->output_count, node->output_count);
    HK_TRY(hki_onnx_import_initializers(m, inner, g));
    HK_TRY(hki_onnx_import_nodes(m, inner, g->nodes, g->node_count));
    for (size_t i = 0; i < node->output_count; i++)
        HK_TRY(hand_out(m, outer, inner, g->outputs[i].name, node->outputs[i], first_new));
    return NULL;
}

hk_status hki_onnx_import_if(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node)
{
    hki_onnx_graph *branch = NULL;
    HK_TRY(choose_branch(&branch, m, scope, node));
    hki_onnx_scope inner = {.outer = scope, .imports = scope->imports, .import_count = scope->import_count,
                            .prefix = inner_prefix(m, scope, node)};
    if (!inner.prefix)
        return hki_out_of_memory();
    HK_TRY(enter(m));
    hk_status status = build_branch(m, scope, &inner, node, branch);
    m->depth--;
    hki_onnx_names_free(&inner.names);
    return status;
}
