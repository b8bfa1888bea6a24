/* The report of a run: one HTML file with everything inside - no script or picture from elsewhere. */
#ifndef HKI_TRAIN_REPORT_H
#define HKI_TRAIN_REPORT_H

#include "halka/train.h"
#include "tensor/tensor.h"

/* One line of metrics.csv: an epoch. Numbers that were not measured are NAN. */
typedef struct hki_epoch_row {
    int64_t epoch, step;
    double learning_rate, train_loss, train_accuracy, validation_loss, validation_accuracy, seconds;
} hki_epoch_row;

/* One optimizer step, for the loss curve. */
typedef struct hki_step_row {
    int64_t step;
    double loss, learning_rate, gradient_norm;
} hki_step_row;

/* A test image that the model got wrong, sure of itself. */
typedef struct hki_wrong_image {
    const uint8_t *pixels;          /* height x width x channels */
    int64_t height, width, channels; /* channels 1 or 3 */
    int64_t index;                  /* in the data set */
    int label, guess;
    double confidence;              /* probability given to the guess */
} hki_wrong_image;

typedef struct hki_fact {
    const char *name, *value;
} hki_fact;

typedef struct hki_report {
    const char *title;
    const hki_fact *facts; /* model, parameters, data, threads, ISA, time, peak memory ... */
    int fact_count;
    const hki_epoch_row *epochs;
    int64_t epoch_count;
    const hki_step_row *steps;
    int64_t step_count;
    const hk_evaluation *evaluation; /* on test (or validation) data; NULL: none */
    const char *evaluation_name;     /* "test" */
    const char *const *classes;      /* evaluation->classes names; NULL: numbers */
    const hki_wrong_image *wrong;
    int wrong_count;
    const char *config;              /* the effective config, JSON */
} hki_report;

/** Writes the report atomically. */
hk_status hki_report_write(const char *path, const hki_report *report) HK_MUST_USE;

#endif
