/* The trainer from the inside: one optimizer step is begin, leaf after leaf, finish. */
#ifndef HKI_TRAIN_TRAINER_H
#define HKI_TRAIN_TRAINER_H

#include "exec/plan_cache.h"
#include "halka/train.h"
#include "train/accumulate.h"
#include "train/optimizer.h"
#include "train/training_graph.h"

struct hk_trainer {
    hki_config *config; /* owned */
    hk_graph *model;    /* as it was given: names and structure of what is exported */
    hki_training_graph graph;
    hki_context *context;
    hki_plan_cache training, inference;
    float *parameters, *states; /* over graph.parameters, graph.states */
    hki_optimizer optimizer;
    hki_tree_sum gradients, new_states;
    float *gradient;    /* of the last step: gradients' root */
    double *partial;    /* for norms */
    int64_t steps;      /* optimizer steps done */
    int64_t total_steps; /* of the run, for schedules; 0: unknown */
    double loss;        /* of the step at hand: weighted sum over leaves so far */
    double gradient_norm; /* of the last step, before clipping */
    /* arrays for a plan run, one entry per graph input or output */
    hk_tensor *tensors;
    const hk_tensor **inputs;
    void **outputs;
    hki_type *types;
    float loss_value;
    hk_tensor *prediction; /* of the last leaf or prediction; grown as needed */
    size_t prediction_size;
};

/* One leaf: a micro-batch. y2 and lambda are NULL without mixup. */
typedef struct hki_leaf {
    const hk_tensor *x, *y, *y2, *lambda;
    uint64_t sample; /* global index of its first sample in the epoch's order */
} hki_leaf;

/** Creates a trainer; takes ownership of config, also on failure. */
hk_status hki_trainer_create(hk_trainer **out, const hk_graph *model, hki_config *config,
                             const hk_session_options *options) HK_MUST_USE;
/** Starts an optimizer step. */
void hki_trainer_begin(hk_trainer *trainer);
/** Adds one leaf with its share of the batch (samples of the leaf / samples of the batch). Afterwards
 * trainer->prediction holds its predictions. */
hk_status hki_trainer_leaf(hk_trainer *trainer, const hki_leaf *leaf, double share) HK_MUST_USE;
/** Ends the step: checks that loss and gradients are finite (HK_NOT_FINITE names the step and tensor, nothing is
 * changed), clips, updates. */
hk_status hki_trainer_finish(hk_trainer *trainer) HK_MUST_USE;
/** Runs the inference graph; trainer->prediction then holds the output that the loss reads. */
hk_status hki_trainer_infer(hk_trainer *trainer, const hk_tensor *x) HK_MUST_USE;

#endif
