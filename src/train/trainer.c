/* The trainer: leaves through the training graph, gradients into a fixed tree, then one update. After the first step
 * nothing is allocated. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "passes/passes.h"
#include "tensor/number.h"

/* ---- Creation. ---- */

static hk_status load_space(float *array, const hki_space *space, const hk_graph *model)
{
    for (int i = 0; i < space->count; i++) {
        const hki_segment *segment = &space->segments[i];
        const hk_tensor *t = hk_graph_find(model, segment->name)->tensor;
        memcpy(array + segment->offset, t->data, (size_t)segment->count * sizeof(float));
    }
    return NULL;
}

static hk_status allocate(hk_trainer *t)
{
    const hk_graph *g = t->graph.graph, *inference = t->graph.inference;
    size_t inputs = (size_t)(g->input_count > inference->input_count ? g->input_count : inference->input_count) + 1;
    size_t outputs =
        (size_t)(g->output_count > inference->output_count ? g->output_count : inference->output_count) + 1;
    t->tensors = hki_alloc_array(inputs, sizeof *t->tensors);
    t->inputs = hki_alloc_array(inputs, sizeof *t->inputs);
    t->types = hki_alloc_array(inputs, sizeof *t->types);
    t->outputs = hki_alloc_array(outputs, sizeof *t->outputs);
    t->parameters = hki_space_array(&t->graph.parameters);
    t->states = hki_space_array(&t->graph.states);
    t->partial = hki_alloc_array((size_t)hki_vector_blocks(t->graph.parameters.size) + 1, sizeof *t->partial);
    return t->tensors && t->inputs && t->types && t->outputs && t->parameters && t->states && t->partial
               ? NULL
               : hki_out_of_memory();
}

static hk_status open_trainer(hk_trainer *t, const hk_graph *model, const hk_session_options *options)
{
    HK_TRY(hk_graph_copy(&t->model, model));
    HK_TRY(hki_training_graph_create(&t->graph, model, t->config));
    if (!options || options->optimize)
        HK_TRY(hki_graph_optimize(t->graph.graph));
    HK_TRY(hki_context_create(&t->context, options));
    t->context->seed = t->config->seed;
    HK_TRY(allocate(t));
    HK_TRY(load_space(t->parameters, &t->graph.parameters, t->model));
    HK_TRY(load_space(t->states, &t->graph.states, t->model));
    HK_TRY(hki_optimizer_create(&t->optimizer, &t->config->optimizer, &t->graph.parameters));
    bool profile = options && options->profile;
    HK_TRY(hki_plan_cache_create(&t->training, t->graph.graph, t->context, 3, profile));
    return hki_plan_cache_create(&t->inference, t->graph.inference, t->context, 3, profile);
}

hk_status hki_trainer_create(hk_trainer **out, const hk_graph *model, hki_config *config,
                             const hk_session_options *options)
{
    *out = NULL;
    hk_trainer *t = hki_alloc_array(1, sizeof *t);
    if (!t) {
        hki_config_free(config);
        return hki_out_of_memory();
    }
    t->config = config;
    hk_status status = open_trainer(t, model, options);
    if (status) {
        hk_trainer_free(t);
        return status;
    }
    *out = t;
    return NULL;
}

void hk_trainer_free(hk_trainer *t)
{
    if (!t)
        return;
    hki_plan_cache_clear(&t->training);
    hki_plan_cache_clear(&t->inference);
    hki_optimizer_clear(&t->optimizer);
    hki_tree_sum_clear(&t->gradients);
    hki_tree_sum_clear(&t->new_states);
    hki_training_graph_clear(&t->graph);
    hki_context_free(t->context);
    hk_graph_free(t->model);
    hki_free(t->parameters);
    hki_free(t->states);
    hki_free(t->partial);
    hki_free(t->tensors);
    hki_free(t->inputs);
    hki_free(t->types);
    hki_free(t->outputs);
    hk_tensor_free(t->prediction);
    hki_config_free(t->config);
    hki_free(t);
}

/* ---- Binding. ---- */

static void give(hk_trainer *t, int i, void *data, hk_dtype dtype, int rank, const int64_t *dims)
{
    hk_tensor *tensor = &t->tensors[i];
    *tensor = (hk_tensor){.data = data, .dtype = dtype, .rank = rank};
    if (rank)
        memcpy(tensor->dims, dims, (size_t)rank * sizeof *dims);
    t->inputs[i] = tensor;
    hki_type_set(&t->types[i], dtype, rank, dims);
}

static void give_tensor(hk_trainer *t, int i, const hk_tensor *x)
{
    give(t, i, x->data, x->dtype, x->rank, x->dims);
}

static int give_space(hk_trainer *t, int i, float *array, const hki_space *space)
{
    for (int s = 0; s < space->count; s++, i++) {
        const hki_segment *segment = &space->segments[s];
        give(t, i, array + segment->offset, HK_FLOAT, segment->rank, segment->dims);
    }
    return i;
}

/* Makes trainer->prediction a tensor of the given type; memory only grows. */
static hk_status shape_prediction(hk_trainer *t, const hki_type *type)
{
    int64_t count;
    size_t size;
    HK_TRY(hki_shape_check(&count, &size, type->dtype, type->rank, type->dims));
    if (!t->prediction || size > t->prediction_size) {
        hk_tensor *larger;
        HK_TRY(hk_tensor_create(&larger, type->dtype, type->rank, type->dims));
        hk_tensor_free(t->prediction);
        t->prediction = larger;
        t->prediction_size = size;
    }
    t->prediction->dtype = type->dtype;
    t->prediction->rank = type->rank;
    memcpy(t->prediction->dims, type->dims, sizeof type->dims);
    return NULL;
}

static hk_status refuse_dynamic(const hki_plan *plan)
{
    if (!plan->facts.is_dynamic)
        return NULL;
    return HK_ERR(HK_UNSUPPORTED, "the model has shapes that depend on its data; such a model cannot be trained");
}

/* ---- A step. ---- */

void hki_trainer_begin(hk_trainer *t)
{
    hki_tree_sum_start(&t->gradients, t->graph.parameters.size);
    hki_tree_sum_start(&t->new_states, t->graph.states.size);
    t->loss = 0;
}

/* A loss over values compares like with like: without this, (n) against (n, 1) would quietly broadcast to (n, n). */
static hk_status check_targets(const hk_trainer *t, const hki_plan *plan, const hk_tensor *y)
{
    const hki_type *prediction = hki_plan_output_type(plan, 1);
    char found[HKI_SHAPE_TEXT], expected[HKI_SHAPE_TEXT];
    if (t->graph.classifies || hki_shape_equal(prediction->rank, prediction->dims, y->rank, y->dims))
        return NULL;
    return HK_ERR(HK_INVALID_SHAPE, "the targets are %s, the model predicts %s",
                  hki_shape_text(found, y->dtype, y->rank, y->dims),
                  hki_shape_text(expected, prediction->dtype, prediction->rank, prediction->dims));
}

static hk_status bind_outputs(hk_trainer *t, const hki_plan *plan)
{
    float *gradient, *state;
    HK_TRY(hki_tree_sum_leaf(&gradient, &t->gradients));
    HK_TRY(hki_tree_sum_leaf(&state, &t->new_states));
    HK_TRY(shape_prediction(t, hki_plan_output_type(plan, 1)));
    int o = 0;
    t->outputs[o++] = &t->loss_value;
    t->outputs[o++] = t->prediction->data;
    for (int i = 0; i < t->graph.states.count; i++)
        t->outputs[o++] = state + t->graph.states.segments[i].offset;
    for (int i = 0; i < t->graph.parameters.count; i++)
        t->outputs[o++] = gradient + t->graph.parameters.segments[i].offset;
    return NULL;
}

hk_status hki_trainer_leaf(hk_trainer *t, const hki_leaf *leaf, double share)
{
    float weight = (float)share;
    int i = 0;
    give_tensor(t, i++, leaf->x);
    give_tensor(t, i++, leaf->y);
    if (t->graph.mixup) {
        give_tensor(t, i++, leaf->y2);
        give_tensor(t, i++, leaf->lambda);
    }
    give(t, i++, &weight, HK_FLOAT, 0, NULL);
    HK_ASSERT(i == t->graph.first_parameter);
    i = give_space(t, i, t->parameters, &t->graph.parameters);
    give_space(t, i, t->states, &t->graph.states);
    hki_plan *plan;
    HK_TRY(hki_plan_cache_find(&plan, &t->training, t->types));
    HK_TRY(refuse_dynamic(plan));
    HK_TRY(check_targets(t, plan, leaf->y));
    HK_TRY(bind_outputs(t, plan));
    t->context->step = (uint64_t)t->steps;
    t->context->sample = leaf->sample;
    HK_TRY(hki_plan_run(plan, t->inputs, t->outputs));
    t->loss += share * (double)t->loss_value;
    hki_vector_scale(t->context, t->new_states.arrays[t->new_states.depth], weight, t->graph.states.size);
    hki_tree_sum_push(&t->gradients, t->context);
    hki_tree_sum_push(&t->new_states, t->context);
    return NULL;
}

/* The first parameter whose gradient is not finite. */
static const char *find_not_finite(const hk_trainer *t)
{
    for (int s = 0; s < t->graph.parameters.count; s++) {
        const hki_segment *segment = &t->graph.parameters.segments[s];
        for (int64_t i = 0; i < segment->count; i++)
            if (!isfinite(t->gradient[segment->offset + i]))
                return segment->name;
    }
    return "?";
}

hk_status hki_trainer_finish(hk_trainer *t)
{
    t->gradient = hki_tree_sum_finish(&t->gradients, t->context);
    if (!isfinite(t->loss))
        return HK_ERR(HK_NOT_FINITE, "step %" PRId64 ": the loss is %g", t->steps + 1, t->loss);
    t->gradient_norm = hki_vector_norm(t->context, t->gradient, t->graph.parameters.size, t->partial);
    if (!isfinite(t->gradient_norm))
        return HK_ERR(HK_NOT_FINITE, "step %" PRId64 ": the gradient of '%s' is not finite (loss %g)", t->steps + 1,
                      find_not_finite(t), t->loss);
    double clip = t->config->gradient_clipping, scale = 1;
    if (clip > 0 && t->gradient_norm > clip)
        scale = clip / (t->gradient_norm + 1e-6);
    hki_rates rates =
        hki_schedule_rates(&t->config->schedule, t->config->optimizer.lr, t->steps, t->total_steps);
    HK_TRY(hki_optimizer_step(&t->optimizer, t->context, t->parameters, t->gradient, (float)scale, rates));
    const float *states = hki_tree_sum_finish(&t->new_states, t->context);
    memcpy(t->states, states, (size_t)t->graph.states.size * sizeof *states);
    t->steps++;
    return NULL;
}

/* ---- Inference with the current weights. ---- */

static hk_status bind_inference(hki_plan **out, hk_trainer *t, const hk_tensor *x)
{
    give_tensor(t, 0, x);
    int i = give_space(t, 1, t->parameters, &t->graph.parameters);
    give_space(t, i, t->states, &t->graph.states);
    HK_TRY(hki_plan_cache_find(out, &t->inference, t->types));
    return refuse_dynamic(*out);
}

hk_status hk_trainer_predict(hk_trainer *t, const hk_tensor *x, hk_tensor **outputs)
{
    int count = t->graph.inference->output_count;
    memset(outputs, 0, (size_t)count * sizeof *outputs);
    hki_plan *plan;
    HK_TRY(bind_inference(&plan, t, x));
    hk_status status = NULL;
    for (int i = 0; i < count && !status; i++) {
        const hki_type *type = hki_plan_output_type(plan, i);
        status = hk_tensor_create(&outputs[i], type->dtype, type->rank, type->dims);
        t->outputs[i] = status ? NULL : outputs[i]->data;
    }
    if (!status)
        status = hki_plan_run(plan, t->inputs, t->outputs);
    for (int i = 0; i < count && status; i++) {
        hk_tensor_free(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

hk_status hki_trainer_infer(hk_trainer *t, const hk_tensor *x)
{
    int count = t->graph.inference->output_count;
    hk_tensor **outputs = hki_alloc_array((size_t)count + 1, sizeof *outputs);
    if (!outputs)
        return hki_out_of_memory();
    hk_status status = hk_trainer_predict(t, x, outputs);
    for (int i = 0; i < count && !status; i++) {
        if (i != t->graph.prediction) {
            hk_tensor_free(outputs[i]);
            continue;
        }
        hk_tensor_free(t->prediction);
        t->prediction = outputs[i];
        t->prediction_size = hk_tensor_size(outputs[i]);
    }
    hki_free(outputs);
    return status;
}

/* ---- Public. ---- */

hk_status hk_trainer_create(hk_trainer **out, const hk_graph *graph, const char *config,
                            const hk_session_options *options)
{
    *out = NULL;
    hki_config *parsed;
    HK_TRY(hki_config_parse(&parsed, config, strlen(config), "config", NULL, 0));
    return hki_trainer_create(out, graph, parsed, options);
}

/* Rows begin .. begin + count of a tensor, over the same memory. */
static hk_tensor rows_of(const hk_tensor *t, int64_t begin, int64_t count)
{
    hk_tensor rows = *t;
    size_t row = t->dims[0] ? hk_tensor_size(t) / (size_t)t->dims[0] : 0;
    rows.buffer = NULL;
    rows.data = (char *)t->data + (size_t)begin * row;
    rows.dims[0] = count;
    return rows;
}

/* Labels as int64, targets as float32. */
static hk_status convert_targets(hk_tensor **out, const hk_trainer *t, const hk_tensor *y)
{
    hk_dtype wanted = t->graph.classifies ? HK_INT64 : HK_FLOAT;
    HK_TRY(hk_tensor_create(out, wanted, y->rank, y->dims));
    hk_status status = hki_convert((*out)->data, wanted, y->data, y->dtype, hk_tensor_count(y));
    if (status) {
        hk_tensor_free(*out);
        *out = NULL;
    }
    return status;
}

static hk_status step_leaves(hk_trainer *t, const hk_tensor *x, const hk_tensor *y)
{
    int64_t samples = x->dims[0];
    int64_t micro = t->config->micro_batch_size ? t->config->micro_batch_size : samples;
    hki_trainer_begin(t);
    for (int64_t begin = 0; begin < samples; begin += micro) {
        int64_t count = samples - begin < micro ? samples - begin : micro;
        hk_tensor leaf_x = rows_of(x, begin, count), leaf_y = rows_of(y, begin, count);
        hki_leaf leaf = {&leaf_x, &leaf_y, NULL, NULL, (uint64_t)begin};
        HK_TRY(hki_trainer_leaf(t, &leaf, (double)count / (double)samples));
    }
    return hki_trainer_finish(t);
}

hk_status hk_trainer_step(hk_trainer *t, const hk_tensor *x, const hk_tensor *y, double *out_loss)
{
    if (x->rank < 1 || y->rank < 1 || x->dims[0] != y->dims[0] || x->dims[0] < 1)
        return HK_ERR(HK_INVALID_SHAPE, "x and y must have the same number of samples (at least 1) in dimension 0");
    if (t->graph.mixup)
        return HK_ERR(HK_INVALID_CONFIG, "data.augment.mixup needs a run; hk_trainer_step takes batches as they are");
    hk_tensor *targets = NULL;
    hk_dtype wanted = t->graph.classifies ? HK_INT64 : HK_FLOAT;
    if (y->dtype != wanted)
        HK_TRY(convert_targets(&targets, t, y));
    hk_status status = step_leaves(t, x, targets ? targets : y);
    hk_tensor_free(targets);
    if (!status && out_loss)
        *out_loss = t->loss;
    return status;
}

int64_t hk_trainer_steps(const hk_trainer *t)
{
    return t->steps;
}

double hk_trainer_learning_rate(const hk_trainer *t)
{
    return hki_schedule_rates(&t->config->schedule, t->config->optimizer.lr, t->steps, t->total_steps).lr;
}

const float *hk_trainer_gradient(const hk_trainer *t, const char *parameter, int64_t *out_count)
{
    int i = hki_space_find(&t->graph.parameters, parameter);
    *out_count = i < 0 || !t->gradient ? 0 : t->graph.parameters.segments[i].count;
    return i < 0 || !t->gradient ? NULL : t->gradient + t->graph.parameters.segments[i].offset;
}

static hk_status export_space(hk_graph *graph, const float *array, const hki_space *space)
{
    for (int i = 0; i < space->count; i++) {
        const hki_segment *segment = &space->segments[i];
        hk_value *value = hk_graph_find(graph, segment->name);
        hk_tensor *copy;
        HK_TRY(hk_tensor_from(&copy, array + segment->offset, HK_FLOAT, segment->rank, segment->dims));
        hk_tensor_free(value->tensor);
        value->tensor = copy;
    }
    return NULL;
}

hk_status hk_trainer_export(const hk_trainer *t, hk_graph **out)
{
    *out = NULL;
    hk_graph *graph;
    HK_TRY(hk_graph_copy(&graph, t->model));
    hk_status status = export_space(graph, t->parameters, &t->graph.parameters);
    if (!status)
        status = export_space(graph, t->states, &t->graph.states);
    if (status) {
        hk_graph_free(graph);
        return status;
    }
    *out = graph;
    return NULL;
}
