/* BatchNormSaved -> Relu becomes BatchNormSaved(relu=1), and ReluGrad -> BatchNormGrad becomes BatchNormGrad(relu=1),
 * which finds from x where the Relu let its input through. The arithmetic is the same, so are the bytes. */
#include <string.h>

#include "graph/op.h"
#include "passes/passes.h"

static bool is_halka(const hk_node *node, const char *name)
{
    return node->op->domain && !strcmp(node->op->domain, "halka") && !strcmp(node->op->name, name);
}

static bool is_graph_output(const hk_graph *graph, const hk_value *value)
{
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == value)
            return true;
    return false;
}

/* The only node that reads a value, at one place; NULL if there are more or it is an output of the graph. */
static hk_node *only_reader(const hk_graph *graph, const hk_value *value)
{
    hk_node *reader = NULL;
    if (is_graph_output(graph, value))
        return NULL;
    for (hk_node *node = graph->first; node; node = node->next)
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i] == value) {
                if (reader)
                    return NULL;
                reader = node;
            }
    return reader;
}

/* The node that reads the saved inverse deviation, if any. */
static hk_node *gradient_of(const hk_graph *graph, const hk_node *norm)
{
    const hk_value *saved = norm->output_count > 4 ? norm->outputs[4] : NULL;
    for (hk_node *node = graph->first; node && saved; node = node->next)
        if (is_halka(node, "BatchNormGrad") && node->inputs[4] == saved)
            return node;
    return NULL;
}

static hk_status set_relu(hk_node *node)
{
    hk_attribute relu = HK_INT("relu", 1);
    return hki_attribute_set(node, &relu);
}

/* Gives BatchNormGrad the bias as sixth input, and the gradient of the Relu's output in place of that of its input. */
static hk_status fuse_gradient(hk_node *gradient, hk_node *relu_grad, hk_value *bias)
{
    hk_value **inputs = hki_arena_array(gradient->graph->arena, 7, sizeof *inputs);
    if (!inputs)
        return hki_out_of_memory();
    memcpy(inputs, gradient->inputs, 5 * sizeof *inputs);
    inputs[0] = relu_grad->inputs[0];
    inputs[5] = bias;
    HK_TRY(set_relu(gradient));
    gradient->inputs = inputs;
    gradient->input_count = 6;
    hki_graph_remove(relu_grad);
    return NULL;
}

static hk_status fuse(hk_graph *graph, hk_node *norm)
{
    hk_node *relu = norm->outputs[0] ? only_reader(graph, norm->outputs[0]) : NULL;
    if (!relu || strcmp(relu->op->name, "Relu") || hki_attribute_find(norm, "relu"))
        return NULL;
    hk_node *gradient = gradient_of(graph, norm);
    if (gradient) {
        const hk_value *dy = gradient->inputs[0];
        hk_node *relu_grad = dy->producer;
        if (!relu_grad || !is_halka(relu_grad, "ReluGrad") || relu_grad->inputs[1] != relu->outputs[0] ||
            only_reader(graph, dy) != gradient || gradient->input_count != 5)
            return NULL;
        HK_TRY(fuse_gradient(gradient, relu_grad, norm->inputs[2]));
    }
    HK_TRY(set_relu(norm));
    hk_value *y = norm->outputs[0], *result = relu->outputs[0];
    hki_graph_remove(relu);
    norm->outputs[0] = result; /* keeps its name, which may be that of an output */
    result->producer = norm;
    result->producer_index = 0;
    y->producer = NULL;
    return NULL;
}

hk_status hki_fuse_batch_norm_relu(hk_graph *graph)
{
    for (hk_node *node = graph->first; node; node = node->next)
        if (is_halka(node, "BatchNormSaved"))
            HK_TRY(fuse(graph, node));
    return NULL;
}
