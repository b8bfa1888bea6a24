/* Reverse-mode differentiation (symbol to symbol). Gradients are nodes of the same graph, appended at its end;
 * contributions to one value are added in the order in which the walk meets them, which is fixed. */
#include "graph/autodiff.h"

#include <string.h>

#include "graph/op.h"

typedef struct walk {
    hk_graph *graph;
    bool *wanted;       /* per value: depends on one of wrt */
    hk_value **gradient; /* per value: sum of contributions so far */
    int count;          /* values at the start; later ones are not differentiated */
} walk;

static bool is_differentiable(const hk_value *value)
{
    return !value->type.dtype || hki_dtype_is_float(value->type.dtype);
}

static void mark_wanted(walk *w, int count, hk_value *const *wrt)
{
    for (int i = 0; i < count; i++)
        w->wanted[wrt[i]->index] = true;
    for (hk_node *node = w->graph->first; node; node = node->next) {
        bool depends = false;
        for (int i = 0; i < node->input_count; i++)
            depends |= node->inputs[i] && w->wanted[node->inputs[i]->index];
        for (int i = 0; i < node->output_count && depends; i++)
            if (node->outputs[i] && is_differentiable(node->outputs[i]))
                w->wanted[node->outputs[i]->index] = true;
    }
}

static void contribute(walk *w, hk_value *value, hk_value *gradient)
{
    hk_value **sum = &w->gradient[value->index];
    *sum = *sum ? hki_binary(w->graph, "Add", *sum, gradient) : gradient;
}

/* Composite operators are replaced by their bodies first; then each part has a rule. */
static hk_status expand_composites(hk_graph *graph)
{
    for (hk_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (node->op->grad || !node->op->expand)
            continue;
        HK_TRY(hki_node_expand(node));
    }
    return NULL;
}

/* Makes `old` the output of the body's node that makes `made`, so that whoever holds `old` need not know of the
 * expansion. Not for what the body did not make itself (an input it hands through), nor for what another output has
 * taken: those are replaced. */
static bool take_over(hk_value *old, hk_value *made, int first_new)
{
    hk_node *maker = made->producer;
    if (made->index < first_new || !maker || maker->outputs[made->producer_index] != made)
        return false;
    hki_value_replace(made, old);
    maker->outputs[made->producer_index] = old;
    old->producer = maker;
    old->producer_index = made->producer_index;
    hki_value_refine(old, &made->type);
    if (old->tensor) /* an eager graph has run the node already, and somebody may look at the result */
        hk_tensor_free(made->tensor);
    else
        old->tensor = made->tensor;
    made->tensor = NULL;
    made->producer = NULL;
    return true;
}

static hk_status replace_output(hk_value *old, hk_value *made)
{
    const char *name = old->name;
    hki_value_replace(old, made);
    hki_value_refine(made, &old->type);
    HK_TRY(hki_value_rename(old, "expanded"));
    return hki_value_rename(made, name);
}

hk_status hki_node_expand(hk_node *node)
{
    hk_graph *graph = node->graph;
    hk_node *saved = graph->insert_before;
    int first_new = graph->value_count;
    hk_value **made = hki_alloc_array((size_t)node->output_count + 1, sizeof *made);
    if (!made)
        return hki_out_of_memory();
    graph->insert_before = node;
    hk_status status = node->op->expand(graph, node, made);
    graph->insert_before = saved == node ? node->next : saved;
    if (!status)
        status = hk_graph_status(graph);
    if (status) {
        hki_free(made);
        return hki_error_context(status, HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
    }
    hki_graph_remove(node);
    for (int i = 0; i < node->output_count && !status; i++) {
        hk_value *old = node->outputs[i];
        if (!old || !made[i] || take_over(old, made[i], first_new))
            continue;
        status = replace_output(old, made[i]);
        node->outputs[i] = made[i]; /* for who holds the node: an eager graph hands its outputs out */
    }
    hki_free(made);
    return status;
}

static hk_status no_gradient(const hk_node *node)
{
    return HK_ERR(HK_UNSUPPORTED, HKI_NODE_FORMAT ": this operator has no gradient", HKI_NODE_ARGUMENTS(node));
}

static hk_status differentiate(walk *w, hk_node *node)
{
    size_t in = (size_t)node->input_count + 1, out = (size_t)node->output_count + 1;
    hk_value **dy = hki_alloc_array(out, sizeof *dy), **dx = hki_alloc_array(in, sizeof *dx);
    bool *need = hki_alloc_array(in, sizeof *need);
    hk_status status = dy && dx && need ? NULL : hki_out_of_memory();
    bool flows = false, needed = false;
    for (int i = 0; i < node->output_count && !status; i++)
        if (node->outputs[i] && (dy[i] = w->gradient[node->outputs[i]->index]))
            flows = true;
    for (int i = 0; i < node->input_count && !status; i++) {
        hk_value *x = node->inputs[i];
        need[i] = x && w->wanted[x->index] && is_differentiable(x);
        needed |= need[i];
    }
    if (!status && flows && needed) {
        hki_grad g = {w->graph, node, node->inputs, node->outputs, dy, need, dx};
        status = node->op->grad ? node->op->grad(&g) : no_gradient(node);
        if (!status)
            status = hk_graph_status(w->graph);
        if (status)
            status = hki_error_context(status, "gradient of " HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
        for (int i = 0; i < node->input_count && !status; i++)
            if (need[i] && dx[i])
                contribute(w, node->inputs[i], dx[i]);
    }
    hki_free(dy);
    hki_free(dx);
    hki_free(need);
    return status;
}

static hk_value *full_like(hk_graph *g, hk_value *x, double number)
{
    if (x->type.rank == 0)
        return hki_scalar_like(g, x, number);
    return hki_binary(g, "Expand", hki_scalar_like(g, x, number), hki_unary(g, "Shape", x));
}

static hk_status walk_back(walk *w, hk_value **out, hk_value *loss, hk_value *seed, int count, hk_value *const *wrt)
{
    mark_wanted(w, count, wrt);
    w->gradient[loss->index] = seed ? seed : full_like(w->graph, loss, 1);
    for (hk_node *node = w->graph->last, *previous; node; node = previous) {
        previous = node->previous;
        bool old = true; /* nodes made by this walk come last and are passed over */
        for (int i = 0; i < node->output_count; i++)
            old &= !node->outputs[i] || node->outputs[i]->index < w->count;
        if (old)
            HK_TRY(differentiate(w, node));
    }
    for (int i = 0; i < count; i++) {
        out[i] = w->gradient[wrt[i]->index];
        if (!out[i])
            out[i] = full_like(w->graph, wrt[i], 0);
    }
    return hk_graph_status(w->graph);
}

hk_status hki_gradients(hk_value **out, hk_graph *graph, hk_value *loss, hk_value *seed, int count,
                        hk_value *const *wrt)
{
    memset(out, 0, (size_t)count * sizeof *out);
    HK_TRY(hk_graph_status(graph));
    HK_TRY(expand_composites(graph));
    walk w = {graph, NULL, NULL, graph->value_count};
    w.wanted = hki_alloc_array((size_t)w.count + 1, sizeof *w.wanted);
    w.gradient = hki_alloc_array((size_t)w.count + 1, sizeof *w.gradient);
    hk_node *saved = graph->insert_before;
    graph->insert_before = NULL;
    hk_status status =
        w.wanted && w.gradient ? walk_back(&w, out, loss, seed, count, wrt) : hki_out_of_memory();
    graph->insert_before = saved;
    hki_free(w.wanted);
    hki_free(w.gradient);
    return status;
}

hk_status hk_graph_gradients(hk_value **out_gradients, hk_graph *graph, hk_value *loss, int count,
                             hk_value *const *wrt)
{
    if (!loss || (loss->type.rank != 0 && !(loss->type.rank == 1 && loss->type.dims[0] == 1)))
        return HK_ERR(HK_INVALID_SHAPE, "the loss must be a scalar");
    return hki_gradients(out_gradients, graph, loss, NULL, count, wrt);
}
