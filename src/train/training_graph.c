/* Making the training graph. Which initializers are trained: float32 tensors (not scalars) that stand where weights
 * stand and match no `frozen` pattern; what only prepares the input (names "preprocess.*") or configures an operator is
 * left alone. */
#include "train/training_graph.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/op.h"

/* ---- What is trained. ---- */

/* Operators whose constant inputs other than the first are settings, not weights. */
static bool takes_settings(const hki_op *op)
{
    static const char *const names[] = {"Resize", "Upsample", "OneHot", "Pad",   "Clip",
                                        "Range",  "Dropout",  "Where",  "Pow",   "Mod",
                                        "QuantizeLinear", "DequantizeLinear", "SoftmaxCrossEntropyLoss",
                                        "NegativeLogLikelihoodLoss", "Constant", "ConstantOfShape"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op->name, names[i]))
            return true;
    return false;
}

static bool is_statistic(const hk_node *node, int input)
{
    return !strcmp(node->op->name, "BatchNormalization") && input >= 3;
}

static bool matches(const char *const *patterns, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (hki_glob_match(patterns[i], name))
            return true;
    return false;
}

typedef enum role { UNUSED, SETTING, PARAMETER, STATISTIC } role;

static void find_roles(role *roles, const hk_graph *graph)
{
    for (const hk_node *node = graph->first; node; node = node->next)
        for (int i = 0; i < node->input_count; i++) {
            const hk_value *value = node->inputs[i];
            if (!value || !value->tensor || value->producer)
                continue;
            role *r = &roles[value->index];
            if (is_statistic(node, i))
                *r = STATISTIC;
            else if (takes_settings(node->op) && *r == UNUSED)
                *r = SETTING;
            else if (*r == UNUSED)
                *r = PARAMETER;
        }
}

static bool is_prepared(const char *name)
{
    return hki_glob_match("preprocess.*", name);
}

/* Inputs that have a default become plain initializers: training never feeds them. */
static void drop_defaults(hk_graph *graph)
{
    int kept = 0;
    for (int i = 0; i < graph->input_count; i++) {
        hk_value *input = graph->inputs[i];
        if (input->tensor)
            input->is_input = false;
        else
            graph->inputs[kept++] = input;
    }
    graph->input_count = kept;
}

static hk_status make_input(hk_value *value)
{
    hk_graph *graph = value->graph;
    hk_tensor_free(value->tensor);
    value->tensor = NULL;
    HK_TRY(hki_array_grow(&graph->inputs, &graph->inputs_capacity, (size_t)graph->input_count + 1, sizeof(hk_value *)));
    graph->inputs[graph->input_count++] = value;
    value->is_input = true;
    return NULL;
}

/* Fills the spaces from the model's initializers, in the model's order. */
static hk_status find_spaces(hki_training_graph *out, const hk_graph *model, const hki_config *config)
{
    role *roles = hki_alloc_array((size_t)model->value_count + 1, sizeof *roles);
    if (!roles)
        return hki_out_of_memory();
    find_roles(roles, model);
    hk_status status = NULL;
    for (int i = 0; i < model->value_count && !status; i++) {
        const hk_value *value = model->values[i];
        const hk_tensor *t = value->tensor;
        bool is_state = roles[i] == STATISTIC;
        bool is_parameter = roles[i] == PARAMETER && t && hki_dtype_is_float(t->dtype) && t->rank >= 1 &&
                            !is_prepared(value->name) && !matches(config->frozen, config->frozen_count, value->name);
        if (!is_state && !is_parameter)
            continue;
        if (t->dtype != HK_FLOAT) {
            status = HK_ERR(HK_UNSUPPORTED, "parameter '%s' is %s; only float32 is trained", value->name,
                            hk_dtype_name(t->dtype));
            break;
        }
        status = hki_space_add(is_state ? &out->states : &out->parameters, value->name, t->rank, t->dims);
    }
    hki_free(roles);
    if (!status && !out->parameters.count)
        status = HK_ERR(HK_INVALID_ARGUMENT, "the model has no float32 parameter to train");
    return status;
}

static hk_status make_inputs(hk_graph *graph, const hki_space *space)
{
    for (int i = 0; i < space->count; i++)
        HK_TRY(make_input(hk_graph_find(graph, space->segments[i].name)));
    return NULL;
}

/* ---- Training mode. ---- */

static hk_status train_batch_norm(hk_graph *graph, hk_node *node)
{
    hk_attribute attributes[3] = {HK_FLOAT32("epsilon", hki_attribute_float(node, "epsilon")),
                                  HK_FLOAT32("momentum", hki_attribute_float(node, "momentum")),
                                  HK_INT("training_mode", 1)};
    graph->insert_before = node;
    hk_value *out[3];
    hk_graph_node(graph, "", "BatchNormalization", node->name, 5, node->inputs, 3, attributes, 3, out);
    graph->insert_before = NULL;
    HK_TRY(hk_graph_status(graph));
    hki_value_replace(node->outputs[0], out[0]);
    hki_graph_remove(node);
    return NULL;
}

static hk_status train_dropout(hk_graph *graph, hk_node *node)
{
    hk_tensor *yes, *half;
    HK_TRY(hk_tensor_create(&yes, HK_BOOL, 0, NULL));
    *(bool *)hk_tensor_data(yes) = true;
    hk_status status = hk_tensor_create(&half, HK_FLOAT, 0, NULL);
    if (status) {
        hk_tensor_free(yes);
        return status;
    }
    *(float *)hk_tensor_data(half) = 0.5f; /* ONNX: the default ratio */
    graph->insert_before = node;
    hk_value *ratio = node->input_count > 1 && node->inputs[1] ? node->inputs[1]
                                                               : hk_graph_constant(graph, "dropout_ratio", half);
    hk_value *mode = hk_graph_constant(graph, "training_mode", yes);
    hk_value *out[1];
    hk_graph_node(graph, "", "Dropout", node->name, HK_VALUES(node->inputs[0], ratio, mode), HK_NO_ATTRIBUTES, 1, out);
    graph->insert_before = NULL;
    hk_tensor_free(yes);
    hk_tensor_free(half);
    HK_TRY(hk_graph_status(graph));
    hki_value_replace(node->outputs[0], out[0]);
    hki_graph_remove(node);
    return NULL;
}

static hk_status set_training_mode(hk_graph *graph)
{
    for (hk_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        if (!strcmp(node->op->name, "BatchNormalization") && !hki_attribute_int(node, "training_mode"))
            HK_TRY(train_batch_norm(graph, node));
        else if (!strcmp(node->op->name, "Dropout"))
            HK_TRY(train_dropout(graph, node));
    }
    return hki_graph_infer(graph);
}

/* The node output that replaces a statistic: the new running mean or variance of the first node that reads it. */
static hk_value *new_statistic(const hk_graph *graph, const hk_value *statistic)
{
    for (const hk_node *node = graph->first; node; node = node->next)
        if (!strcmp(node->op->name, "BatchNormalization"))
            for (int i = 3; i < 5; i++)
                if (node->inputs[i] == statistic)
                    return node->outputs[i - 2];
    return NULL;
}

/* ---- Loss and gradients. ---- */

static hk_status find_prediction(int *out, const hk_graph *model, const hki_loss_config *loss)
{
    *out = 0;
    const char *wanted = loss->output ? loss->output : "logits";
    for (int i = 0; i < model->output_count; i++)
        if (!strcmp(model->output_names[i], wanted)) {
            *out = i;
            return NULL;
        }
    if (loss->output)
        return HK_ERR(HK_INVALID_CONFIG, "loss.output: the model has no output named '%s'; its first is '%s'",
                      loss->output, model->output_names[0]);
    return NULL;
}

static bool loss_classifies(int type)
{
    return type == HKI_LOSS_CROSS_ENTROPY;
}

static hk_status add_gradients(hki_training_graph *out, hk_value *loss, hk_value *weight)
{
    int count = out->parameters.count;
    hk_graph *g = out->graph;
    hk_value **wrt = hki_alloc_array((size_t)count + 1, sizeof *wrt);
    hk_value **gradients = hki_alloc_array((size_t)count + 1, sizeof *gradients);
    hk_status status = wrt && gradients ? NULL : hki_out_of_memory();
    for (int i = 0; i < count && !status; i++)
        wrt[i] = g->inputs[out->first_parameter + i];
    if (!status)
        status = hki_gradients(gradients, g, loss, weight, count, wrt);
    for (int i = 0; i < count && !status; i++)
        hk_graph_output(g, out->parameters.segments[i].name, gradients[i]);
    hki_free(wrt);
    hki_free(gradients);
    return status;
}

static hk_status build_training(hki_training_graph *out, const hki_config *config)
{
    HK_TRY(hk_graph_copy(&out->graph, out->inference));
    hk_graph *g = out->graph;
    hk_value *prediction = g->outputs[out->prediction];
    const hki_type *type = &prediction->type;
    int64_t n[1] = {hk_graph_symbol(g, "N")};
    hk_value *y2 = NULL, *lambda = NULL;
    hk_value *y = out->classifies && type->rank <= 2 ? hk_graph_input(g, "halka.y", HK_INT64, 1, n)
                  : out->classifies                  ? hk_graph_input(g, "halka.y", HK_INT64, -1, NULL)
                                                     : hk_graph_input(g, "halka.y", HK_FLOAT, -1, NULL);
    if (out->mixup) {
        y2 = hk_graph_input(g, "halka.y2", HK_INT64, 1, n);
        lambda = hk_graph_input(g, "halka.lambda", HK_FLOAT, 1, n);
    }
    hk_value *weight = hk_graph_input(g, "halka.weight", HK_FLOAT, 0, NULL);
    HK_TRY(hk_graph_status(g));
    out->first_parameter = g->input_count;
    HK_TRY(make_inputs(g, &out->parameters));
    HK_TRY(make_inputs(g, &out->states));
    HK_TRY(set_training_mode(g));
    prediction = g->outputs[out->prediction];
    hk_value *loss = hki_build_loss(g, &config->loss, prediction, y, y2, lambda);
    HK_TRY(hk_graph_status(g));
    g->output_count = 0;
    hk_graph_output(g, "loss", loss);
    hk_graph_output(g, "prediction", prediction);
    for (int i = 0; i < out->states.count; i++) { /* before the gradients, whose rules may replace the nodes */
        hk_value *update = new_statistic(g, g->inputs[out->first_parameter + out->parameters.count + i]);
        if (!update)
            return HK_ERR(HK_INTERNAL, "no node updates the statistic '%s'", out->states.segments[i].name);
        hk_graph_output(g, out->states.segments[i].name, update);
    }
    HK_TRY(add_gradients(out, loss, weight));
    HK_TRY(hk_graph_status(g));
    hki_graph_prune(g);
    return NULL;
}

hk_status hki_training_graph_create(hki_training_graph *out, const hk_graph *model, const hki_config *config)
{
    memset(out, 0, sizeof *out);
    if (model->input_count < 1 || model->output_count < 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "a model to train needs an input and an output");
    out->mixup = config->data.augment.mixup > 0;
    out->classifies = loss_classifies(config->loss.type);
    hk_status status = find_prediction(&out->prediction, model, &config->loss);
    if (!status)
        status = hk_graph_copy(&out->inference, model);
    if (!status) {
        drop_defaults(out->inference);
        status = find_spaces(out, out->inference, config);
    }
    if (!status)
        status = build_training(out, config);
    if (!status)
        status = make_inputs(out->inference, &out->parameters);
    if (!status)
        status = make_inputs(out->inference, &out->states);
    for (int i = 0; i < out->parameters.count && !status; i++)
        out->parameters.segments[i].no_decay = matches(config->optimizer.no_decay, config->optimizer.no_decay_count,
                                                       out->parameters.segments[i].name);
    if (status)
        hki_training_graph_clear(out);
    return status;
}

void hki_training_graph_clear(hki_training_graph *graph)
{
    hki_space_clear(&graph->parameters);
    hki_space_clear(&graph->states);
    hk_graph_free(graph->graph);
    hk_graph_free(graph->inference);
    memset(graph, 0, sizeof *graph);
}
