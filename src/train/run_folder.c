/* The folder of a run: what is in it, and the two logs - metrics.csv by epoch, steps.csv by optimizer step (the loss
 * log of the numerical contract). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/decimal.h"
#include "train/run.h"

static hk_status join(char **out, const char *folder, const char *name)
{
    *out = hki_path_join(folder, name);
    return *out ? NULL : hki_out_of_memory();
}

static const char *run_name(const hki_config *config)
{
    return config->name ? config->name : config->model_name ? config->model_name : "run";
}

static hk_status refuse_older_run(const hki_run_folder *folder)
{
    char *latest;
    HK_TRY(hki_checkpoints_latest(&latest, folder->checkpoints));
    bool found = latest != NULL;
    hki_free(latest);
    if (found)
        return HK_ERR(HK_INVALID_ARGUMENT,
                      "%s holds an earlier run: go on with --resume, give another name (--set name=...), or remove it",
                      folder->path);
    return NULL;
}

static hk_status open_folder(hki_run_folder *out, const hki_config *config, bool resume)
{
    HK_TRY(join(&out->path, config->output ? config->output : "runs", run_name(config)));
    HK_TRY(join(&out->checkpoints, out->path, "checkpoints"));
    HK_TRY(join(&out->best, out->checkpoints, "best.safetensors"));
    HK_TRY(hki_directory_create(out->path));
    return resume ? NULL : refuse_older_run(out);
}

hk_status hki_run_folder_open(hki_run_folder *out, const hki_config *config, bool resume)
{
    memset(out, 0, sizeof *out);
    hk_status status = open_folder(out, config, resume);
    if (status)
        hki_run_folder_close(out);
    return status;
}

void hki_run_folder_close(hki_run_folder *folder)
{
    hki_free(folder->path);
    hki_free(folder->checkpoints);
    hki_free(folder->best);
    hki_free(folder->epochs);
    hki_free(folder->steps);
    memset(folder, 0, sizeof *folder);
}

hk_status hki_run_folder_add_step(hki_run_folder *folder, const hki_step_row *row)
{
    HK_TRY(hki_array_grow(&folder->steps, &folder->step_capacity, (size_t)folder->step_count + 1, sizeof *row));
    folder->steps[folder->step_count++] = *row;
    return NULL;
}

hk_status hki_run_folder_add_epoch(hki_run_folder *folder, const hki_epoch_row *row)
{
    HK_TRY(hki_array_grow(&folder->epochs, &folder->epoch_capacity, (size_t)folder->epoch_count + 1, sizeof *row));
    folder->epochs[folder->epoch_count++] = *row;
    return NULL;
}

hk_status hki_run_folder_write(const hki_run_folder *folder, const char *name, const char *text)
{
    char *path;
    hki_writer *writer;
    HK_TRY(join(&path, folder->path, name));
    hk_status status = hki_writer_open(&writer, path);
    hki_free(path);
    HK_TRY(status);
    hki_writer_write(writer, text, strlen(text));
    return hki_writer_commit(writer);
}

/* ---- Logs. Numbers are written so that they read back exactly; what was not measured is empty. ---- */

#define STEP_HEADER "step,loss,learning_rate,gradient_norm\n"
#define EPOCH_HEADER \
    "epoch,step,learning_rate,train_loss,train_accuracy,validation_loss,validation_accuracy,seconds\n"

static void add_number(hki_text *text, double value, const char *end)
{
    char decimal[HKI_DECIMAL_TEXT];
    hki_text_printf(text, "%s%s", isnan(value) ? "" : hki_decimal_text(decimal, value), end);
}

static hk_status write_text(const hki_run_folder *folder, const char *name, hki_text *text)
{
    hk_status status = hki_text_status(text);
    if (!status)
        status = hki_run_folder_write(folder, name, text->data);
    hki_text_free(text);
    return status;
}

hk_status hki_run_folder_write_logs(const hki_run_folder *folder)
{
    hki_text text = {0};
    hki_text_printf(&text, STEP_HEADER);
    for (int64_t i = 0; i < folder->step_count; i++) {
        const hki_step_row *row = &folder->steps[i];
        hki_text_printf(&text, "%" PRId64 ",", row->step);
        add_number(&text, row->loss, ",");
        add_number(&text, row->learning_rate, ",");
        add_number(&text, row->gradient_norm, "\n");
    }
    HK_TRY(write_text(folder, "steps.csv", &text));
    text = (hki_text){0};
    hki_text_printf(&text, EPOCH_HEADER);
    for (int64_t i = 0; i < folder->epoch_count; i++) {
        const hki_epoch_row *row = &folder->epochs[i];
        hki_text_printf(&text, "%" PRId64 ",%" PRId64 ",", row->epoch, row->step);
        add_number(&text, row->learning_rate, ",");
        add_number(&text, row->train_loss, ",");
        add_number(&text, row->train_accuracy, ",");
        add_number(&text, row->validation_loss, ",");
        add_number(&text, row->validation_accuracy, ",");
        add_number(&text, round(row->seconds * 1000) / 1000, "\n");
    }
    return write_text(folder, "metrics.csv", &text);
}

/* Reads the next cell of a line; NAN if empty. Moves behind the comma. */
static double cell(const char **at)
{
    char *end;
    double value = strtod(*at, &end);
    if (end == *at)
        value = NAN;
    *at = end + (*end == ',');
    return value;
}

static hk_status read_steps(hki_run_folder *folder, const char *at, int64_t last)
{
    while (at && (at = strchr(at, '\n')) && *++at) {
        hki_step_row row = {.step = (int64_t)cell(&at)};
        row.loss = cell(&at);
        row.learning_rate = cell(&at);
        row.gradient_norm = cell(&at);
        if (row.step >= 1 && row.step <= last)
            HK_TRY(hki_run_folder_add_step(folder, &row));
    }
    return NULL;
}

static hk_status read_epochs(hki_run_folder *folder, const char *at, int64_t last)
{
    while (at && (at = strchr(at, '\n')) && *++at) {
        hki_epoch_row row = {.epoch = (int64_t)cell(&at)};
        row.step = (int64_t)cell(&at);
        row.learning_rate = cell(&at);
        row.train_loss = cell(&at);
        row.train_accuracy = cell(&at);
        row.validation_loss = cell(&at);
        row.validation_accuracy = cell(&at);
        row.seconds = cell(&at);
        if (row.epoch >= 1 && row.step <= last)
            HK_TRY(hki_run_folder_add_epoch(folder, &row));
    }
    return NULL;
}

static hk_status read_log(hki_run_folder *folder, const char *name, int64_t step,
                          hk_status (*read)(hki_run_folder *folder, const char *text, int64_t last))
{
    char *path, *text;
    size_t size;
    HK_TRY(join(&path, folder->path, name));
    hk_status status = NULL;
    if (hki_path_exists(path)) {
        status = hki_file_read(&text, &size, path);
        if (!status) {
            status = read(folder, text, step);
            hki_free(text);
        }
    }
    hki_free(path);
    return status;
}

hk_status hki_run_folder_read_logs(hki_run_folder *folder, int64_t step)
{
    HK_TRY(read_log(folder, "steps.csv", step, read_steps));
    return read_log(folder, "metrics.csv", step, read_epochs);
}
