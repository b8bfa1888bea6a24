/* Writing of graphs and nodes. In a file an output of the graph is a value of that name, so values that are outputs
 * take the output's name; where that is impossible (an input, or a value that is two outputs) an Identity node stands
 * between. */
#include <inttypes.h>
#include <string.h>

#include "formats/onnx_write.h"

/* ---- Names. ---- */

static const char *free_name(hki_onnx_writer *w, const hk_graph *graph, const hki_onnx_names *outputs, const char *base)
{
    for (int i = 2;; i++) {
        const char *name = hki_arena_printf(w->arena, "%s_%d", base, i);
        if (!name || (!hk_graph_find(graph, name) && hki_onnx_names_find(outputs, name) < 0))
            return name;
    }
}

/* Sets w->names; *bridged[i] says that output i needs an Identity. */
static hk_status choose_names(hki_onnx_writer *w, const hk_graph *graph, hki_onnx_names *outputs, bool *bridged)
{
    for (int i = 0; i < graph->output_count; i++) {
        hk_value *value = graph->outputs[i];
        const char *name = graph->output_names[i];
        int64_t old;
        HK_TRY(hki_onnx_names_add(outputs, name, i, &old));
        if (old >= 0)
            return HK_ERR(HK_INVALID_ARGUMENT, "two outputs of the graph are named '%s'", name);
        if (!strcmp(value->name, name) && !w->names[value->index])
            w->names[value->index] = name;
    }
    for (int i = 0; i < graph->output_count; i++) {
        hk_value *value = graph->outputs[i];
        const char *name = graph->output_names[i];
        if (!w->names[value->index] && value->producer)
            w->names[value->index] = name;
        bridged[i] = !w->names[value->index] || strcmp(w->names[value->index], name);
    }
    for (int i = 0; i < graph->value_count; i++) {
        hk_value *value = graph->values[i];
        if (w->names[value->index])
            continue;
        bool taken = hki_onnx_names_find(outputs, value->name) >= 0;
        if (taken && value->is_input)
            return HK_ERR(HK_INVALID_ARGUMENT, "output '%s' has the name of an input that is another value",
                          value->name);
        w->names[value->index] = taken ? free_name(w, graph, outputs, value->name) : value->name;
        if (!w->names[value->index])
            return hki_out_of_memory();
    }
    return NULL;
}

/* ---- Attributes. ---- */

static hk_status put_subgraph(hki_onnx_writer *w, const hk_graph *graph)
{
    const char **names = w->names;
    hki_pb_mark mark = hki_pb_begin(&w->message, 6);
    hk_status status = hki_onnx_put_graph(w, graph);
    hki_pb_end(&w->message, mark);
    w->names = names;
    return status;
}

static hk_status put_attribute_value(hki_onnx_writer *w, const hk_attribute *a)
{
    hki_pb_writer *m = &w->message;
    switch (a->kind) {
    case HK_ATTRIBUTE_FLOAT:
        hki_pb_put_float(m, 2, a->as.f);
        return NULL;
    case HK_ATTRIBUTE_INT:
        hki_pb_put_int(m, 3, a->as.i);
        return NULL;
    case HK_ATTRIBUTE_STRING:
        hki_pb_put_text(m, 4, a->as.s);
        return NULL;
    case HK_ATTRIBUTE_TENSOR:
        hki_onnx_put_tensor(w, 5, NULL, a->as.tensor, false);
        return NULL;
    case HK_ATTRIBUTE_GRAPH:
        return put_subgraph(w, a->as.graph);
    case HK_ATTRIBUTE_FLOATS:
        for (int64_t i = 0; i < a->count; i++)
            hki_pb_put_float(m, 7, a->as.floats[i]);
        return NULL;
    case HK_ATTRIBUTE_INTS:
        for (int64_t i = 0; i < a->count; i++)
            hki_pb_put_int(m, 8, a->as.ints[i]);
        return NULL;
    case HK_ATTRIBUTE_STRINGS:
        for (int64_t i = 0; i < a->count; i++)
            hki_pb_put_text(m, 9, a->as.strings[i]);
        return NULL;
    }
    return HK_ERR(HK_INTERNAL, "attribute '%s' has kind %d", a->name, (int)a->kind);
}

static hk_status put_attribute(hki_onnx_writer *w, const hk_attribute *a)
{
    hki_pb_mark mark = hki_pb_begin(&w->message, 5);
    hki_pb_put_text(&w->message, 1, a->name);
    hk_status status = put_attribute_value(w, a);
    hki_pb_put_int(&w->message, 20, a->kind);
    hki_pb_end(&w->message, mark);
    return status;
}

/* ---- Nodes. ---- */

/* What operators got after the least opset that is declared, without a change of what was there before: an attribute, a
 * value of it, or an input. A node that uses none of it means the same in the older version. */
static const struct addition {
    const char *op, *attribute, *text; /* attribute NULL: input number `input`; text NULL: any value */
    int input, since;
} additions[] = {
    {"AveragePool", "dilations", NULL, 0, 19},        {"Cast", "round_mode", NULL, 0, 24},
    {"Cast", "saturate", NULL, 0, 19},                {"CastLike", "round_mode", NULL, 0, 24},
    {"CastLike", "saturate", NULL, 0, 19},            {"DequantizeLinear", "block_size", NULL, 0, 21},
    {"DequantizeLinear", "output_dtype", NULL, 0, 23}, {"LpPool", "ceil_mode", NULL, 0, 18},
    {"LpPool", "dilations", NULL, 0, 18},             {"Pad", "mode", "wrap", 0, 19},
    {"Pad", NULL, NULL, 3, 18},                       {"QuantizeLinear", "block_size", NULL, 0, 21},
    {"QuantizeLinear", "output_dtype", NULL, 0, 21},  {"QuantizeLinear", "precision", NULL, 0, 23},
    {"QuantizeLinear", "saturate", NULL, 0, 19},      {"Resize", "antialias", NULL, 0, 18},
    {"Resize", "axes", NULL, 0, 18},                  {"Resize", "keep_aspect_ratio_policy", NULL, 0, 18},
    {"ScatterElements", "reduction", "max", 0, 18},   {"ScatterElements", "reduction", "min", 0, 18},
    {"ScatterND", "reduction", "max", 0, 18},         {"ScatterND", "reduction", "min", 0, 18},
    {"Split", "num_outputs", NULL, 0, 18},            {"TopK", NULL, NULL, 2, 24},
};

static bool uses_addition(const hk_node *node, int version)
{
    for (size_t i = 0; i < sizeof additions / sizeof additions[0]; i++) {
        const struct addition *a = &additions[i];
        if (a->since <= version || strcmp(a->op, node->op->name))
            continue;
        const hk_attribute *given = a->attribute ? hki_attribute_find(node, a->attribute) : NULL;
        if (a->attribute ? given && (!a->text || !strcmp(given->as.s, a->text))
                         : node->input_count > a->input && node->inputs[a->input])
            return true;
    }
    return false;
}

/* Types were widened over time too; halka's youngest is bfloat16. */
static bool uses_young_type(const hk_node *node)
{
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->type.dtype == HK_BFLOAT16)
            return true;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->type.dtype == HK_BFLOAT16)
            return true;
    return false;
}

/* The opset from which on the node means what it means here: the version that halka implements, or an older one (not
 * below what is declared anyway) from which nothing had to be changed and whose additions since are not used. */
static int needed_opset(const hk_node *node)
{
    const hki_version *versions = node->op->versions;
    int row = 0;
    while (row + 1 < HKI_MAX_VERSIONS && versions[row + 1].since)
        row++;
    if (!versions[0].since)
        return 1;
    while (row && versions[row].since > HKI_ONNX_OPSET_LEAST && !versions[row - 1].upgrade &&
           !uses_addition(node, versions[row - 1].since) && !uses_young_type(node))
        row--;
    return versions[row].since;
}

static hk_status check_node(hki_onnx_writer *w, const hk_node *node)
{
    const char *domain = hk_node_domain(node);
    int since = needed_opset(node);
    if (*domain)
        HK_TRY(hki_onnx_names_add(&w->domains, domain, since, NULL));
    if (!strcmp(domain, "halka") && !w->options->keep_halka_nodes)
        return HK_ERR(HK_UNSUPPORTED, "domain 'halka' is not ONNX and is only written on request");
    if (!*domain && w->options->opset && since > w->options->opset)
        return HK_ERR(HK_UNSUPPORTED, "needs opset %d, %d was asked for", since, w->options->opset);
    if (!*domain && since > w->opset)
        w->opset = since;
    return NULL;
}

static hk_status put_node(hki_onnx_writer *w, const hk_node *node)
{
    HK_TRY_CTX(check_node(w, node), HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
    hki_pb_mark mark = hki_pb_begin(&w->message, 1);
    for (int i = 0; i < node->input_count; i++)
        hki_pb_put_text(&w->message, 1, node->inputs[i] ? w->names[node->inputs[i]->index] : "");
    for (int i = 0; i < node->output_count; i++)
        hki_pb_put_text(&w->message, 2, node->outputs[i] ? w->names[node->outputs[i]->index] : "");
    hki_pb_put_text(&w->message, 3, node->name);
    hki_pb_put_text(&w->message, 4, node->op->name);
    for (int i = 0; i < node->attribute_count; i++)
        HK_TRY_CTX(put_attribute(w, &node->attributes[i]), HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
    if (*hk_node_domain(node))
        hki_pb_put_text(&w->message, 7, hk_node_domain(node));
    hki_pb_end(&w->message, mark);
    return NULL;
}

static void put_bridge(hki_onnx_writer *w, const char *from, const char *to)
{
    hki_pb_mark mark = hki_pb_begin(&w->message, 1);
    hki_pb_put_text(&w->message, 1, from);
    hki_pb_put_text(&w->message, 2, to);
    hki_pb_put_text(&w->message, 3, to);
    hki_pb_put_text(&w->message, 4, "Identity");
    hki_pb_end(&w->message, mark);
}

/* ---- The graph. ---- */

static hk_status put_parts(hki_onnx_writer *w, const hk_graph *graph, const bool *bridged)
{
    hki_pb_writer *m = &w->message;
    for (const hk_node *node = graph->first; node; node = node->next)
        HK_TRY(put_node(w, node));
    for (int i = 0; i < graph->output_count; i++)
        if (bridged[i])
            put_bridge(w, w->names[graph->outputs[i]->index], graph->output_names[i]);
    if (*graph->name)
        hki_pb_put_text(m, 2, graph->name);
    for (int i = 0; i < graph->value_count; i++) {
        const hk_value *value = graph->values[i];
        if (value->tensor && !value->producer)
            hki_onnx_put_tensor(w, 5, w->names[value->index], value->tensor, true);
    }
    for (int i = 0; i < graph->input_count; i++)
        hki_onnx_put_value(m, 11, w->names[graph->inputs[i]->index], graph, &graph->inputs[i]->type);
    for (int i = 0; i < graph->output_count; i++)
        hki_onnx_put_value(m, 12, graph->output_names[i], graph, &graph->outputs[i]->type);
    return NULL;
}

hk_status hki_onnx_put_graph(hki_onnx_writer *w, const hk_graph *graph)
{
    hki_onnx_names outputs = {0};
    bool *bridged = hki_arena_array(w->arena, (size_t)graph->output_count + 1, sizeof *bridged);
    w->names = hki_arena_array(w->arena, (size_t)graph->value_count + 1, sizeof *w->names);
    hk_status status = bridged && w->names ? choose_names(w, graph, &outputs, bridged) : hki_out_of_memory();
    hki_onnx_names_free(&outputs);
    return status ? status : put_parts(w, graph, bridged);
}
