/* Evaluation of a model file on the data of a run file, through a session: the way a user of the model would run it. */
#include <string.h>

#include "base/file.h"
#include "formats/label.h"
#include "train/run.h"

#define BATCH 256

typedef struct evaluation {
    hki_config *config;
    hki_dataset *data;
    int64_t *rest, *indices; /* a validation part of the training data; NULL: all of data */
    int64_t count;
    hk_session *session;
    hk_tensor **outputs;
    int output_count, prediction;
} evaluation;

static hk_status read_config(evaluation *e, const char *data, const hk_run_options *options)
{
    /* The batch is this function's own, whatever the file says. */
    const char *overrides[64] = {"train_batch_size=256", "train_micro_batch_size_per_gpu=256",
                                 "gradient_accumulation_steps=1"};
    int count = 3;
    for (int i = 0; options && i < options->override_count && count < 64; i++)
        overrides[count++] = options->overrides[i];
    if (data[strspn(data, " \t\r\n")] == '{')
        return hki_config_parse(&e->config, data, strlen(data), "--data", overrides, count);
    char *text;
    size_t size;
    HK_TRY(hki_file_read(&text, &size, data));
    hk_status status = hki_config_parse(&e->config, text, size, data, overrides, count);
    hki_free(text);
    return status;
}

/* Finds the classes of the model: their names, if it carries them, else the size of its prediction. */
static hk_status find_classes(hki_known_classes *out, const evaluation *e, const hk_graph *model)
{
    const hki_type *type = &model->outputs[e->prediction]->type;
    int64_t last = type->rank == 2 ? type->dims[1] : 0, count;
    *out = (hki_known_classes){NULL, last > 0 && last <= INT32_MAX ? (int)last : 0};
    const char *labels = hk_graph_metadata(model, "halka.labels"), **names;
    if (!labels)
        return NULL;
    HK_TRY(hki_labels_parse(&names, &count, e->config->arena, labels, strlen(labels), "the model's halka.labels"));
    if (count == last)
        *out = (hki_known_classes){names, (int)count};
    return NULL;
}

static hk_status open_data(evaluation *e, const hk_graph *model, const char *split)
{
    const hki_data_config *data = &e->config->data;
    const hki_data_files *files = !strcmp(split, "train")        ? &data->train
                                  : !strcmp(split, "validation") ? &data->validation
                                  : !strcmp(split, "test")       ? &data->test
                                                                 : NULL;
    if (!files)
        return HK_ERR(HK_INVALID_ARGUMENT, "unknown split '%s': expected train, validation or test", split);
    bool is_part = files == &data->validation && !files->given && data->validation_fraction > 0;
    if (!files->given && !is_part)
        return HK_ERR(HK_INVALID_CONFIG, "%s: data.%s is missing", e->config->source, split);
    hki_known_classes known;
    HK_TRY(find_classes(&known, e, model));
    HK_TRY_CTX(hki_run_dataset_open(&e->data, e->config, is_part ? &data->train : files, known), "data.%s", split);
    e->count = e->data->count;
    int64_t rest;
    return is_part ? hki_split(&e->rest, &rest, &e->indices, &e->count, e->data->count, data->validation_fraction,
                               e->config->seed)
                   : NULL;
}

static hk_status open_model(evaluation *e, const hk_graph *model, const hk_run_options *options)
{
    HK_TRY(hk_session_create(&e->session, model, options ? &options->session : NULL));
    e->output_count = hk_graph_output_count(model);
    e->outputs = hki_alloc_array((size_t)e->output_count + 1, sizeof *e->outputs);
    if (!e->outputs)
        return hki_out_of_memory();
    if (hk_graph_input_count(model) != 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "the model has %d inputs; evaluation feeds one",
                      hk_graph_input_count(model));
    const char *wanted = e->config->loss.output ? e->config->loss.output : "logits";
    for (int i = 0; i < e->output_count; i++)
        if (!strcmp(model->output_names[i], wanted))
            e->prediction = i;
    return NULL;
}

static hk_status run_leaves(evaluation *e, hki_metrics *metrics, hki_loader *loader)
{
    for (int64_t i = hki_loader_leaves(loader); i > 0; i--) {
        const hki_batch *batch;
        HK_TRY(hki_loader_next(&batch, loader));
        const hk_tensor *inputs[1] = {batch->x};
        HK_TRY(hk_session_run(e->session, inputs, e->outputs));
        hk_status status = hki_metrics_add(metrics, e->outputs[e->prediction], batch->y, true);
        for (int o = 0; o < e->output_count; o++)
            hk_tensor_free(e->outputs[o]);
        HK_TRY(status);
        if (hki_stop_requested())
            return HK_ERR(HK_INTERRUPTED, "stopped on request");
    }
    return NULL;
}

static hk_status evaluate(evaluation *e, hk_evaluation *out)
{
    hki_loader_options options = {.indices = e->indices,
                                  .count = e->count,
                                  .batch_size = BATCH,
                                  .micro_batch_size = BATCH,
                                  .workers = (int)e->config->data.workers};
    double start = hki_clock();
    hki_metrics metrics;
    hki_loader *loader;
    HK_TRY(hki_metrics_create(&metrics, e->data->classifies ? e->data->classes : 0));
    hk_status status = hki_loader_open(&loader, e->data, &options);
    if (!status) {
        status = run_leaves(e, &metrics, loader);
        hki_loader_close(loader);
    }
    if (!status)
        status = hki_metrics_finish(out, &metrics);
    hki_metrics_clear(&metrics);
    if (!status)
        out->seconds = hki_clock() - start;
    return status;
}

static void close_evaluation(evaluation *e)
{
    hk_session_free(e->session);
    hki_free(e->outputs);
    hki_dataset_close(e->data);
    hki_free(e->rest);
    hki_free(e->indices);
    hki_config_free(e->config);
}

hk_status hk_evaluate(hk_evaluation *out, const hk_graph *model, const char *data, const char *split,
                      const hk_run_options *options)
{
    memset(out, 0, sizeof *out);
    evaluation e = {0};
    hk_status status = read_config(&e, data, options);
    if (!status)
        status = open_model(&e, model, options);
    if (!status)
        status = open_data(&e, model, split);
    if (!status)
        status = evaluate(&e, out);
    close_evaluation(&e);
    return status;
}
