/* Eager graphs: a graph that runs every node as it is added. The graph is the tape. */
#include "exec/context.h"

static hk_status run_added_node(void *context, hk_node *node)
{
    if (!node->op->run)
        return hki_node_expand(node);
    const hk_tensor **in = hki_alloc_array((size_t)node->input_count + 1, sizeof *in);
    hk_tensor **out = hki_alloc_array((size_t)node->output_count + 1, sizeof *out);
    hk_status status = in && out ? NULL : hki_out_of_memory();
    for (int i = 0; i < node->input_count && !status; i++)
        if (node->inputs[i] && !(in[i] = node->inputs[i]->tensor))
            status = HK_ERR(HK_INVALID_ARGUMENT, "'%s' has no value: an eager graph takes constants, not inputs",
                            node->inputs[i]->name);
    if (!status)
        status = hki_node_run(out, context, node, in);
    for (int i = 0; i < node->output_count && !status; i++) {
        hk_value *value = node->outputs[i];
        value->tensor = out[i];
        hki_type_set(&value->type, out[i]->dtype, out[i]->rank, out[i]->dims);
    }
    hki_free(in);
    hki_free(out);
    return status;
}

static void free_context(void *context)
{
    hki_context_free(context);
}

hk_status hk_graph_create_eager(hk_graph **out, const char *name, const hk_session_options *options)
{
    *out = NULL;
    hki_context *context;
    HK_TRY(hki_context_create(&context, options));
    hk_graph *graph;
    hk_status status = hk_graph_create(&graph, name);
    if (status) {
        hki_context_free(context);
        return status;
    }
    graph->observer = run_added_node;
    graph->observer_context = context;
    graph->observer_free = free_context;
    *out = graph;
    return NULL;
}
