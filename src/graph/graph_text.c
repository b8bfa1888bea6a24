/* A graph as text: one line per input, initializer, node and output. Values of small constants are shown. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/op.h"
#include "halka/model.h"

enum { SHOWN_ELEMENTS = 8 };

static void put_type(hki_text *t, const hk_graph *graph, const hki_type *type)
{
    hki_text_printf(t, "%s[", hk_dtype_name(type->dtype));
    if (type->rank < 0)
        hki_text_printf(t, "...");
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] >= 0)
            hki_text_printf(t, "%s%" PRId64, i ? "," : "", type->dims[i]);
        else
            hki_text_printf(t, "%s%s", i ? "," : "", hk_graph_symbol_name(graph, type->dims[i]));
    hki_text_printf(t, "]");
}

static void put_elements(hki_text *t, const hk_tensor *tensor)
{
    int64_t count = hk_tensor_count(tensor);
    if (count > SHOWN_ELEMENTS || tensor->dtype == HK_COMPLEX64 || tensor->dtype == HK_COMPLEX128)
        return;
    hki_text_printf(t, " = (");
    for (int64_t i = 0; i < count; i++)
        hki_text_printf(t, "%s%.9g", i ? ", " : "", hki_tensor_get_double(tensor, i));
    hki_text_printf(t, ")");
}

static void put_attribute(hki_text *t, const hk_graph *graph, const hk_attribute *a)
{
    hki_text_printf(t, " %s=", a->name);
    switch (a->kind) {
    case HK_ATTRIBUTE_FLOAT:
        hki_text_printf(t, "%.9g", (double)a->as.f);
        return;
    case HK_ATTRIBUTE_INT:
        hki_text_printf(t, "%" PRId64, a->as.i);
        return;
    case HK_ATTRIBUTE_STRING:
        hki_text_json(t, a->as.s);
        return;
    case HK_ATTRIBUTE_TENSOR: {
        hki_type type;
        hki_type_set(&type, a->as.tensor->dtype, a->as.tensor->rank, a->as.tensor->dims);
        put_type(t, graph, &type);
        put_elements(t, a->as.tensor);
        return;
    }
    case HK_ATTRIBUTE_GRAPH:
        hki_text_printf(t, "graph");
        return;
    default:
        break;
    }
    hki_text_printf(t, "[");
    for (int64_t i = 0; i < a->count; i++) {
        hki_text_printf(t, "%s", i ? "," : "");
        if (a->kind == HK_ATTRIBUTE_FLOATS)
            hki_text_printf(t, "%.9g", (double)a->as.floats[i]);
        else if (a->kind == HK_ATTRIBUTE_INTS)
            hki_text_printf(t, "%" PRId64, a->as.ints[i]);
        else
            hki_text_json(t, a->as.strings[i]);
    }
    hki_text_printf(t, "]");
}

static void put_node(hki_text *t, const hk_node *node)
{
    const char *domain = hk_node_domain(node);
    for (int i = 0; i < node->output_count; i++) {
        const hk_value *value = node->outputs[i];
        hki_text_printf(t, "%s%s", i ? ", " : "", value ? value->name : "-");
        if (value) {
            hki_text_printf(t, " ");
            put_type(t, node->graph, &value->type);
        }
    }
    hki_text_printf(t, " = %s%s%s(", domain, *domain ? "." : "", node->op->name);
    for (int i = 0; i < node->input_count; i++)
        hki_text_printf(t, "%s%s", i ? ", " : "", node->inputs[i] ? node->inputs[i]->name : "-");
    hki_text_printf(t, ")");
    for (int i = 0; i < node->attribute_count; i++)
        put_attribute(t, node->graph, &node->attributes[i]);
    hki_text_printf(t, " # %s\n", node->name);
}

static void put_graph(hki_text *t, const hk_graph *graph)
{
    hki_text_printf(t, "graph %s\n", graph->name);
    for (int i = 0; i < graph->input_count; i++) {
        hki_text_printf(t, "input %s ", graph->inputs[i]->name);
        put_type(t, graph, &graph->inputs[i]->type);
        hki_text_printf(t, "\n");
    }
    for (int i = 0; i < graph->value_count; i++) {
        const hk_value *value = graph->values[i];
        if (!value->tensor || value->producer)
            continue;
        hki_text_printf(t, "%s %s ", value->is_input ? "default" : "constant", value->name);
        put_type(t, graph, &value->type);
        put_elements(t, value->tensor);
        hki_text_printf(t, "\n");
    }
    for (const hk_node *node = graph->first; node; node = node->next)
        put_node(t, node);
    for (int i = 0; i < graph->output_count; i++)
        hki_text_printf(t, "output %s = %s\n", graph->output_names[i], graph->outputs[i]->name);
    for (int i = 0; i < graph->metadata_count; i += 2) {
        hki_text_printf(t, "metadata ");
        hki_text_json(t, graph->metadata[i]);
        hki_text_printf(t, " ");
        hki_text_json(t, graph->metadata[i + 1]);
        hki_text_printf(t, "\n");
    }
}

hk_status hk_graph_text(char **out, const hk_graph *graph)
{
    hki_text text = {0};
    *out = NULL;
    put_graph(&text, graph);
    hk_status status = hki_text_status(&text);
    if (status)
        hki_text_free(&text);
    else
        *out = text.data;
    return status;
}

void hk_text_free(char *text)
{
    hki_free(text);
}
