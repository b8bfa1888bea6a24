/* Training: a run described by a JSON file, or a trainer that a program drives step by step.
 *
 *     hk_trainer *t;                                          // a graph and DeepSpeed's JSON keys
 *     hk_trainer_create(&t, graph, "{\"train_batch_size\": 128, \"loss\": \"cross_entropy\","
 *                                  " \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 1e-3}}}", NULL);
 *     for (...) hk_trainer_step(t, x, y, &loss);              // x: (128, ...), y: labels (128)
 *     hk_trainer_export(t, &trained);                         // a graph with the trained weights
 *
 * The trained bytes depend on graph, data, config and seed alone: not on threads, ISA, memory or interruption
 * (docs/NUMERICS.md). */
#ifndef HALKA_TRAIN_H
#define HALKA_TRAIN_H

#include "halka/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A trainer. ---- */

typedef struct hk_trainer hk_trainer;

/** Creates a trainer for a copy of `graph` (weights are copied, the caller's stay as they are). config: JSON text with
 * the keys of a run file that concern training (docs/run-file.md); unknown keys are errors with line and nearest name.
 * options NULL: defaults. */
HK_API hk_status hk_trainer_create(hk_trainer **out, const hk_graph *graph, const char *config,
                                   const hk_session_options *options) HK_MUST_USE;
HK_API void hk_trainer_free(hk_trainer *trainer);
/** Does one optimizer step on a batch: x is cut along its first dimension into micro-batches (leaves); gradients are
 * summed in a fixed tree. y: labels or targets. out_loss (may be NULL): mean loss over the batch. HK_NOT_FINITE: the
 * loss or gradient is not finite; parameters are unchanged. */
HK_API hk_status hk_trainer_step(hk_trainer *trainer, const hk_tensor *x, const hk_tensor *y,
                                 double *out_loss) HK_MUST_USE;
/** Returns the number of optimizer steps done. */
HK_API int64_t hk_trainer_steps(const hk_trainer *trainer);
/** Returns the learning rate of the next step. */
HK_API double hk_trainer_learning_rate(const hk_trainer *trainer);
/** Runs the model as it stands, in inference form, on x: new tensors, one per graph output; the caller frees. */
HK_API hk_status hk_trainer_predict(hk_trainer *trainer, const hk_tensor *x, hk_tensor **outputs) HK_MUST_USE;
/** Makes a graph in inference form with the current weights; the caller frees. */
HK_API hk_status hk_trainer_export(const hk_trainer *trainer, hk_graph **out) HK_MUST_USE;
/** Returns a gradient of the last step by parameter name (summed over the batch, before clipping); borrowed until the
 * next step, NULL if unknown. */
HK_API const float *hk_trainer_gradient(const hk_trainer *trainer, const char *parameter, int64_t *out_count);
/** Saves or loads everything needed to go on: weights, optimizer state, counters (safetensors, atomic). */
HK_API hk_status hk_trainer_save(const hk_trainer *trainer, const char *path) HK_MUST_USE;
HK_API hk_status hk_trainer_load(hk_trainer *trainer, const char *path) HK_MUST_USE;

/* ---- A run. ---- */

/** What a run tells while it goes on; see hk_run_options.progress. */
typedef struct hk_progress {
    const char *phase;        /* "train", "validate", "test" */
    int64_t epoch, epochs;    /* from 1 */
    int64_t step, steps;      /* optimizer steps: done and in all */
    int64_t epoch_step, epoch_steps;
    double loss, metric;      /* running mean of the epoch; metric: accuracy, or NAN */
    const char *metric_name;
    double learning_rate, samples_per_second, seconds_left;
    bool end_of_phase;        /* the last call for this phase: loss and metric are final */
    bool line_due;            /* a log that is no terminal gets a line now (steps_per_print) */
} hk_progress;

typedef struct hk_run_options {
    bool resume;              /* go on from the newest checkpoint in the run folder */
    const char *const *overrides; /* "key.sub=value" over the run file */
    int override_count;
    hk_session_options session;
    void (*progress)(void *context, const hk_progress *progress); /* may be NULL */
    void (*message)(void *context, const char *line);             /* may be NULL */
    void *context;
} hk_run_options;

/** Returns the defaults of all options. */
HK_API hk_run_options hk_run_defaults(void);

/** How a run ended. Strings are owned by the result. */
typedef struct hk_run_result {
    char *folder, *model_path, *report_path;
    int64_t steps, epochs;
    double loss, metric, best_metric, seconds, samples_per_second; /* metric: on validation data, NAN if none */
    double test_loss, test_metric; /* NAN if there is no test data */
    const char *metric_name;
    uint64_t peak_memory;
    bool interrupted;         /* stopped on request; --resume goes on */
} hk_run_result;

/** Trains what a run file names. Writes into the run folder: model.onnx, checkpoints, metrics.csv, config.json,
 * report.html. A stop request (hk_stop_request, SIGINT after hk_stop_on_signals) ends the run after the step at hand
 * with everything saved: no error, result.interrupted. */
HK_API hk_status hk_run_file(hk_run_result *out, const char *path, const hk_run_options *options) HK_MUST_USE;
HK_API void hk_run_result_clear(hk_run_result *result);

/** Makes SIGINT and SIGTERM request a stop; a second one ends the process. */
HK_API void hk_stop_on_signals(void);
/** Requests a stop of the run in progress. */
HK_API void hk_stop_request(void);

/* ---- Evaluation. ---- */

/** Metrics of a model on a data set. What does not apply is NAN or 0. */
typedef struct hk_evaluation {
    int64_t samples;
    int classes;
    double loss, accuracy, top5, mse, mae, r2;
    double macro_precision, macro_recall, macro_f1;
    double *precision, *recall, *f1; /* per class, owned */
    int64_t *confusion;              /* classes x classes, rows: true class; owned */
    double seconds;
} hk_evaluation;

/** Evaluates a model file on the data block of a run file (or a JSON text that begins with '{' and has such a
 * block), split "train", "validation" or "test". */
HK_API hk_status hk_evaluate(hk_evaluation *out, const hk_graph *model, const char *data, const char *split,
                             const hk_run_options *options) HK_MUST_USE;
HK_API void hk_evaluation_clear(hk_evaluation *evaluation);

#ifdef __cplusplus
}
#endif
#endif
