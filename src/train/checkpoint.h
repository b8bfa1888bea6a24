/* Checkpoints: one safetensors file with every parameter, batch-norm statistic and optimizer state by name, and what is
 * needed to go on in its metadata. Written atomically. */
#ifndef HKI_TRAIN_CHECKPOINT_H
#define HKI_TRAIN_CHECKPOINT_H

#include "train/trainer.h"

/** What a run keeps besides the trainer. */
typedef struct hki_run_state {
    int64_t step;          /* optimizer steps done */
    int64_t best_epoch;    /* 0: none */
    double best;           /* value of the monitored metric; NAN: none */
    int64_t bad_epochs;    /* epochs without improvement */
    double seconds;        /* spent training so far */
    /* of the epoch at hand */
    int64_t epoch_samples, epoch_correct;
    double epoch_loss;     /* sum over samples */
} hki_run_state;

/** Saves trainer and state (NULL: none). The effective config is kept to refuse a resume with another one. */
hk_status hki_checkpoint_save(const char *path, const hk_trainer *trainer, const hki_run_state *state) HK_MUST_USE;
/** Loads a checkpoint into a trainer of the same model; names, shapes and kinds of state must agree. state may be NULL.
 * With `same_config` the run file must be the one of the checkpoint, apart from what cannot change a result (epochs
 * excepted). */
hk_status hki_checkpoint_load(const char *path, hk_trainer *trainer, hki_run_state *state,
                              bool same_config) HK_MUST_USE;

/* A folder of them: step-00000123.safetensors, and "latest" with the newest name. */
/** Saves as the newest of a folder, then removes all but the newest `keep`. */
hk_status hki_checkpoints_add(const char *folder, int64_t keep, const hk_trainer *trainer,
                              const hki_run_state *state) HK_MUST_USE;
/** Finds the newest whole checkpoint; *out is NULL if there is none. Free with hki_free. */
hk_status hki_checkpoints_latest(char **out, const char *folder) HK_MUST_USE;

#endif
