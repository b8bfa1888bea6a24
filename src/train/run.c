/* The run loop: epochs of steps of leaves, with checkpoints, validation, the best model, early stopping, and everything
 * written down. */
#include "train/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "halka/model.h"
#include "train/run_report.h"

typedef struct run {
    const hk_run_options *options;
    hki_config *config; /* owned by trainer */
    hki_run_data data;
    hki_run_folder folder;
    hk_trainer *trainer;
    hki_loader *loader;
    hki_metrics metrics; /* of the epoch at hand: accuracy on the training data */
    hki_run_state state;
    int64_t epoch_batches, total_steps;
    int64_t trained_samples; /* by this process */
    double start;            /* clock at the first step of this process */
    double earlier_seconds;
    bool stopped_early, interrupted;
    hk_evaluation validation; /* of the last epoch */
} run;

static void say(const run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const run *r, const char *format, ...)
{
    if (!r->options->message)
        return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    r->options->message(r->options->context, line);
}

/* ---- Opening. ---- */

static hk_status balance_classes(run *r)
{
    const hki_dataset *train = r->data.train;
    hki_loss_config *loss = &r->config->loss;
    if (!loss->balanced)
        return NULL;
    int64_t *counts = hki_arena_array(r->config->arena, (size_t)train->classes + 1, sizeof *counts);
    double *weights = hki_arena_array(r->config->arena, (size_t)train->classes + 1, sizeof *weights);
    if (!counts || !weights)
        return hki_out_of_memory();
    HK_TRY(hki_dataset_class_counts(counts, train, r->data.train_indices, r->data.train_count));
    for (int c = 0; c < train->classes; c++) /* n / (classes * n_c): mean weight 1 over the data */
        weights[c] = counts[c] ? (double)r->data.train_count / ((double)train->classes * (double)counts[c]) : 0;
    loss->class_weights = weights;
    loss->class_weight_count = train->classes;
    return NULL;
}

static hk_status open_trainer(run *r)
{
    hk_graph *model;
    hk_status status = balance_classes(r);
    if (!status)
        status = hki_run_model(&model, r->config, &r->data);
    if (status) {
        hki_config_free(r->config);
        return status;
    }
    status = hki_trainer_create(&r->trainer, model, r->config, &r->options->session);
    hk_graph_free(model);
    return status;
}

static hk_status open_loader(run *r)
{
    const hki_config *c = r->config;
    const hki_augment_config *a = &c->data.augment;
    hki_augment augment = {a->horizontal_flip, a->vertical_flip, a->crop_padding, a->rotate,
                           a->brightness,      a->contrast,      a->saturation,   a->erase,
                           {a->erase_area[0], a->erase_area[1]}, a->mixup};
    bool augments = a->horizontal_flip > 0 || a->vertical_flip > 0 || a->crop_padding > 0 || a->rotate > 0 ||
                    a->brightness > 0 || a->contrast > 0 || a->saturation > 0 || a->erase > 0 || a->mixup > 0;
    hki_loader_options options = {.indices = r->data.train_indices,
                                  .count = r->data.train_count,
                                  .batch_size = c->train_batch_size,
                                  .micro_batch_size = c->micro_batch_size,
                                  .drop_last = c->drop_last,
                                  .shuffle = true,
                                  .seed = c->seed,
                                  .augment = augments ? &augment : NULL,
                                  .workers = (int)c->data.workers};
    HK_TRY(hki_loader_open(&r->loader, r->data.train, &options));
    r->epoch_batches = hki_loader_batches(r->loader);
    if (r->epoch_batches < 1)
        return HK_ERR(HK_INVALID_CONFIG, "train_batch_size %" PRId64 " is larger than the %" PRId64
                                         " training samples, and dataloader_drop_last is set",
                      c->train_batch_size, r->data.train_count);
    r->total_steps = c->epochs * r->epoch_batches;
    if (c->max_steps > 0 && c->max_steps < r->total_steps)
        r->total_steps = c->max_steps;
    r->trainer->total_steps = r->total_steps;
    return hki_metrics_create(&r->metrics, r->trainer->graph.classifies ? r->data.train->classes : 0);
}

static hk_status resume(run *r)
{
    r->state.best = NAN;
    if (!r->options->resume)
        return NULL;
    char *path;
    HK_TRY(hki_checkpoints_latest(&path, r->folder.checkpoints));
    if (!path) {
        say(r, "no checkpoint in %s yet: starting from the beginning", r->folder.checkpoints);
        return NULL;
    }
    hk_status status = hki_checkpoint_load(path, r->trainer, &r->state, true);
    if (!status)
        status = hki_run_folder_read_logs(&r->folder, r->trainer->steps);
    if (!status)
        say(r, "resumed at step %" PRId64 " from %s", r->trainer->steps, path);
    hki_free(path);
    r->earlier_seconds = r->state.seconds;
    r->stopped_early = r->config->early_stopping && r->state.bad_epochs >= r->config->early_stopping;
    r->metrics.samples = r->state.epoch_samples;
    r->metrics.correct = r->state.epoch_correct;
    r->metrics.loss = r->state.epoch_loss;
    return status;
}

static hk_status open_run(run *r, const char *path)
{
    char *text;
    size_t size;
    HK_TRY(hki_file_read(&text, &size, path));
    hk_status status =
        hki_config_parse(&r->config, text, size, path, r->options->overrides, r->options->override_count);
    hki_free(text);
    HK_TRY(status);
    status = hki_run_data_open(&r->data, r->config);
    if (!status)
        status = hki_run_folder_open(&r->folder, r->config, r->options->resume);
    if (status) {
        hki_config_free(r->config);
        return status;
    }
    HK_TRY(open_trainer(r));
    HK_TRY(open_loader(r));
    HK_TRY(resume(r));
    return hki_run_folder_write(&r->folder, "config.json", r->config->effective);
}

static void close_run(run *r)
{
    hki_loader_close(r->loader);
    hk_trainer_free(r->trainer);
    hki_metrics_clear(&r->metrics);
    hk_evaluation_clear(&r->validation);
    hki_run_folder_close(&r->folder);
    hki_run_data_close(&r->data);
}

/* ---- Progress. ---- */

static double seconds_so_far(const run *r)
{
    return r->earlier_seconds + hki_clock() - r->start;
}

static void tell(const run *r, const char *phase, double loss, double metric, bool end)
{
    if (!r->options->progress)
        return;
    int64_t step = r->trainer->steps;
    double elapsed = hki_clock() - r->start, rate = elapsed > 0 ? (double)r->trained_samples / elapsed : 0;
    double per_step =
        r->trained_samples ? elapsed / ((double)r->trained_samples / (double)r->config->train_batch_size) : 0;
    hk_progress p = {.phase = phase,
                     .epoch = step ? (step - 1) / r->epoch_batches + 1 : 1,
                     .epochs = r->config->epochs,
                     .step = step,
                     .steps = r->total_steps,
                     .epoch_step = step ? (step - 1) % r->epoch_batches + 1 : 0,
                     .epoch_steps = r->epoch_batches,
                     .loss = loss,
                     .metric = metric,
                     .metric_name = "accuracy",
                     .learning_rate = hk_trainer_learning_rate(r->trainer),
                     .samples_per_second = rate,
                     .seconds_left = (double)(r->total_steps - step) * per_step,
                     .end_of_phase = end,
                     .line_due = end || (r->config->steps_per_print > 0 && step % r->config->steps_per_print == 0)};
    r->options->progress(r->options->context, &p);
}

static double epoch_loss(const run *r)
{
    return r->metrics.samples ? r->metrics.loss / (double)r->metrics.samples : NAN;
}

/* ---- A step. ---- */

static hk_status train_step(run *r)
{
    const hki_batch *batch;
    double rate = hk_trainer_learning_rate(r->trainer);
    int64_t samples = 0;
    hki_trainer_begin(r->trainer);
    do {
        HK_TRY(hki_loader_next(&batch, r->loader));
        hki_leaf leaf = {batch->x, batch->y, batch->y2, batch->lambda, batch->first};
        HK_TRY(hki_trainer_leaf(r->trainer, &leaf, (double)batch->samples / (double)batch->batch_samples));
        HK_TRY(hki_metrics_add(&r->metrics, r->trainer->prediction, batch->y, false));
        samples += batch->samples;
    } while (!batch->ends_batch);
    HK_TRY(hki_trainer_finish(r->trainer));
    r->metrics.loss += r->trainer->loss * (double)samples;
    r->trained_samples += samples;
    hki_step_row row = {r->trainer->steps, r->trainer->loss, rate, r->trainer->gradient_norm};
    return hki_run_folder_add_step(&r->folder, &row);
}

static hk_status save(run *r)
{
    r->state.step = r->trainer->steps;
    r->state.seconds = seconds_so_far(r);
    r->state.epoch_samples = r->metrics.samples;
    r->state.epoch_correct = r->metrics.correct;
    r->state.epoch_loss = r->metrics.loss;
    HK_TRY(hki_run_folder_write_logs(&r->folder));
    return hki_checkpoints_add(r->folder.checkpoints, r->config->checkpoint_keep, r->trainer, &r->state);
}

/* ---- The end of an epoch. ---- */

static bool monitors_accuracy(const run *r)
{
    return r->config->monitor == HKI_MONITOR_ACCURACY ||
           (r->config->monitor == HKI_MONITOR_AUTO && r->trainer->graph.classifies);
}

static hk_status validate(run *r, hki_epoch_row *row)
{
    const hki_dataset *data = r->data.validation ? r->data.validation : r->data.train;
    hk_evaluation_clear(&r->validation);
    HK_TRY(hki_run_evaluate(&r->validation, r->trainer, data, r->data.validation_indices, r->data.validation_count,
                            NULL, NULL, 0));
    row->validation_loss = r->validation.loss;
    row->validation_accuracy = r->validation.accuracy;
    tell(r, "validate", row->validation_loss, row->validation_accuracy, true);
    return NULL;
}

/* Keeps the best model so far; counts epochs without a better one. */
static hk_status keep_best(run *r, const hki_epoch_row *row)
{
    bool accuracy = monitors_accuracy(r);
    double value = accuracy ? row->validation_accuracy : row->validation_loss;
    bool better = isnan(r->state.best) || (accuracy ? value > r->state.best : value < r->state.best);
    r->state.bad_epochs++;
    if (!better)
        return NULL;
    r->state.best = value;
    r->state.best_epoch = row->epoch;
    r->state.bad_epochs = 0;
    HK_TRY(hki_directory_create(r->folder.checkpoints));
    return hki_checkpoint_save(r->folder.best, r->trainer, &r->state);
}

static hk_status end_epoch(run *r)
{
    hki_epoch_row row = {.epoch = (r->trainer->steps - 1) / r->epoch_batches + 1,
                         .step = r->trainer->steps,
                         .learning_rate = r->folder.steps[r->folder.step_count - 1].learning_rate,
                         .train_loss = epoch_loss(r),
                         .train_accuracy = hki_metrics_accuracy(&r->metrics),
                         .validation_loss = NAN,
                         .validation_accuracy = NAN};
    tell(r, "train", row.train_loss, row.train_accuracy, true);
    if (r->data.validation_count) {
        HK_TRY(validate(r, &row));
        HK_TRY(keep_best(r, &row));
    }
    row.seconds = seconds_so_far(r);
    HK_TRY(hki_run_folder_add_epoch(&r->folder, &row));
    hki_metrics_start(&r->metrics);
    if (r->config->early_stopping && r->state.bad_epochs >= r->config->early_stopping) {
        say(r, "no better epoch for %" PRId64 ": stopping (best: epoch %" PRId64 ")", r->state.bad_epochs,
            r->state.best_epoch);
        r->stopped_early = true;
    }
    return NULL;
}

/* ---- The loop. ---- */

static hk_status train(run *r)
{
    int64_t start = r->trainer->steps;
    HK_TRY(hki_loader_seek(r->loader, start / r->epoch_batches, start % r->epoch_batches));
    r->start = hki_clock();
    while (r->trainer->steps < r->total_steps && !r->stopped_early) {
        HK_TRY(train_step(r));
        int64_t step = r->trainer->steps, every = r->config->checkpoint_every;
        bool ends_epoch = step % r->epoch_batches == 0, stop = hki_stop_requested();
        tell(r, "train", epoch_loss(r), hki_metrics_accuracy(&r->metrics), false);
        if (ends_epoch || step == r->total_steps)
            HK_TRY(end_epoch(r));
        if (ends_epoch || step == r->total_steps || stop || (every > 0 && step % every == 0))
            HK_TRY(save(r));
        if (stop && step < r->total_steps) {
            r->interrupted = true;
            break;
        }
    }
    r->state.seconds = seconds_so_far(r);
    return NULL;
}

/* ---- The end. ---- */

static hk_status export_model(run *r, char **out_path)
{
    if (r->state.best_epoch && hki_path_exists(r->folder.best))
        HK_TRY(hki_checkpoint_load(r->folder.best, r->trainer, NULL, false));
    hk_graph *model;
    HK_TRY(hk_trainer_export(r->trainer, &model));
    *out_path = hki_path_join(r->folder.path, "model.onnx");
    hk_status status = *out_path ? hk_model_save(model, *out_path, NULL) : hki_out_of_memory();
    hk_graph_free(model);
    return status;
}

static hk_status finish(run *r, hk_run_result *out)
{
    if (r->interrupted)
        return NULL;
    HK_TRY(export_model(r, &out->model_path));
    hki_wrong_image wrong[24];
    int wrong_count = 0;
    hk_evaluation test = {0};
    hk_status status = NULL;
    if (r->data.test) {
        status = hki_run_evaluate(&test, r->trainer, r->data.test, NULL, r->data.test->count, wrong, &wrong_count, 24);
        out->test_loss = test.loss;
        out->test_metric = test.accuracy;
        if (!status)
            tell(r, "test", test.loss, test.accuracy, true);
    }
    hki_run_facts facts = {r->trainer, &r->data, &r->folder, &r->state, r->data.test ? &test : NULL,
                           r->validation.samples ? &r->validation : NULL, wrong, wrong_count};
    if (!status)
        status = hki_run_report(&out->report_path, &facts);
    hki_wrong_images_free(wrong, wrong_count);
    hk_evaluation_clear(&test);
    return status;
}

static hk_status fill_result(hk_run_result *out, const run *r)
{
    const hki_run_folder *folder = &r->folder;
    out->folder = hki_strdup(folder->path);
    out->steps = r->folder.step_count;
    out->epochs = folder->epoch_count;
    out->loss = folder->step_count ? folder->steps[folder->step_count - 1].loss : NAN;
    out->metric = r->validation.samples ? r->validation.accuracy : NAN;
    out->best_metric = r->state.best;
    out->metric_name = "accuracy";
    out->seconds = r->state.seconds;
    double own = r->state.seconds - r->earlier_seconds;
    out->samples_per_second = own > 0 ? (double)r->trained_samples / own : 0;
    out->peak_memory = hki_memory_peak();
    out->interrupted = r->interrupted;
    return out->folder ? NULL : hki_out_of_memory();
}

hk_run_options hk_run_defaults(void)
{
    return (hk_run_options){.session = hk_session_defaults()};
}

/* After a loss that is not finite the logs show where it went; the checkpoints are all from before. */
static hk_status explain_failure(run *r, hk_status status)
{
    if (hk_status_code(status) != HK_NOT_FINITE)
        return status;
    hk_status logs = hki_run_folder_write_logs(&r->folder);
    char *latest = NULL;
    logs = hki_status_join(logs, hki_checkpoints_latest(&latest, r->folder.checkpoints));
    hk_status_free(logs);
    status = latest ? hki_error_context(status, "training stopped, the last good checkpoint is %s", latest)
                    : hki_error_context(status, "training stopped before the first checkpoint");
    hki_free(latest);
    return status;
}

hk_status hk_run_file(hk_run_result *out, const char *path, const hk_run_options *options)
{
    memset(out, 0, sizeof *out);
    out->test_loss = out->test_metric = NAN;
    hk_run_options defaults = hk_run_defaults();
    run r = {.options = options ? options : &defaults};
    hk_status status = open_run(&r, path);
    if (!status)
        status = train(&r);
    if (status)
        status = explain_failure(&r, status);
    if (!status)
        status = finish(&r, out);
    if (!status)
        status = fill_result(out, &r);
    close_run(&r);
    if (status)
        hk_run_result_clear(out);
    return status;
}

void hk_run_result_clear(hk_run_result *result)
{
    hki_free(result->folder);
    hki_free(result->model_path);
    hki_free(result->report_path);
    memset(result, 0, sizeof *result);
}

void hk_stop_on_signals(void)
{
    hki_stop_install();
}

void hk_stop_request(void)
{
    hki_stop_set(true);
}
