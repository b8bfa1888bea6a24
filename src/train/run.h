/* A run from the inside: everything that lives while a run file is being worked through. */
#ifndef HKI_TRAIN_RUN_H
#define HKI_TRAIN_RUN_H

#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/report.h"

/* The data of a run: up to three data sets, or two parts of one. */
typedef struct hki_run_data {
    hki_dataset *train, *validation, *test; /* owned; validation is NULL if it is a part of train */
    int64_t *train_indices, *validation_indices; /* NULL: all */
    int64_t train_count, validation_count;
    float *mean, *deviation; /* per channel */
    int64_t channels;
} hki_run_data;

/** Opens the data sets of a config and measures the training data. */
hk_status hki_run_data_open(hki_run_data *out, const hki_config *config) HK_MUST_USE;
void hki_run_data_close(hki_run_data *data);
/** The classes that a data set must use, so that the same label has the same number everywhere. */
typedef struct hki_known_classes {
    const char *const *names; /* NULL: the numbers are the names */
    int count;                /* 0: not known */
} hki_known_classes;
/** Opens one set of files. Classes that the config names come before `known`. */
hk_status hki_run_dataset_open(hki_dataset **out, const hki_config *config, const hki_data_files *files,
                               hki_known_classes known) HK_MUST_USE;
/** Makes or loads the model that the config names, fitted to the data. */
hk_status hki_run_model(hk_graph **out, const hki_config *config, const hki_run_data *data) HK_MUST_USE;

typedef struct hki_run_folder {
    char *path, *checkpoints, *best; /* best: checkpoints/best.safetensors */
    hki_epoch_row *epochs;
    int64_t epoch_count;
    size_t epoch_capacity;
    hki_step_row *steps; /* the loss log */
    int64_t step_count;
    size_t step_capacity;
} hki_run_folder;

/** Makes runs/<name>. Without resume an older run of that name is an error unless it never got to a checkpoint. */
hk_status hki_run_folder_open(hki_run_folder *out, const hki_config *config, bool resume) HK_MUST_USE;
void hki_run_folder_close(hki_run_folder *folder);
hk_status hki_run_folder_add_step(hki_run_folder *folder, const hki_step_row *row) HK_MUST_USE;
hk_status hki_run_folder_add_epoch(hki_run_folder *folder, const hki_epoch_row *row) HK_MUST_USE;
/** Writes metrics.csv (epochs) and steps.csv (the loss log), atomically. */
hk_status hki_run_folder_write_logs(const hki_run_folder *folder) HK_MUST_USE;
/** Reads the logs back up to a step, for a resume. */
hk_status hki_run_folder_read_logs(hki_run_folder *folder, int64_t step) HK_MUST_USE;
/** Writes a text file into the folder, atomically. */
hk_status hki_run_folder_write(const hki_run_folder *folder, const char *name, const char *text) HK_MUST_USE;

/** Evaluates the trainer's model on samples of a data set (indices NULL: all). Where `wrong` is given, collects up to
 * `most` of the surest wrong images; pixels are hki_alloc'ed, freed by hki_wrong_images_free. */
hk_status hki_run_evaluate(hk_evaluation *out, hk_trainer *trainer, const hki_dataset *dataset, const int64_t *indices,
                           int64_t count, hki_wrong_image *wrong, int *wrong_count, int most) HK_MUST_USE;
void hki_wrong_images_free(hki_wrong_image *wrong, int count);

#endif
