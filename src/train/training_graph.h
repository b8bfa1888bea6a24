/* From a model to the graph of one micro-batch: parameters become inputs, batch normalization and dropout go to
 * training mode, the loss and the gradients are added. The model itself is not touched. */
#ifndef HKI_TRAIN_TRAINING_GRAPH_H
#define HKI_TRAIN_TRAINING_GRAPH_H

#include "train/config.h"
#include "train/space.h"

/* Inputs in order: x, y, [y2, lambda with mixup], weight, then parameters, then states.
 * Outputs in order: loss, prediction, then one new value per state, then one gradient per parameter. */
typedef struct hki_training_graph {
    hk_graph *graph;     /* one training micro-batch */
    hk_graph *inference; /* the model with parameters and states as inputs, behind its own inputs */
    hki_space parameters, states;
    bool mixup;
    bool classifies;     /* y: int64 class indices (N); else float32 targets */
    int first_parameter; /* index of the first parameter among graph's inputs */
    int prediction;      /* which output of the model the loss reads */
} hki_training_graph;

hk_status hki_training_graph_create(hki_training_graph *out, const hk_graph *model,
                                    const hki_config *config) HK_MUST_USE;
void hki_training_graph_clear(hki_training_graph *graph);

/** Builds the loss: a scalar, the mean over the micro-batch. labels2 and lambda (N) may be NULL. class_weights may be
 * NULL. loss.c */
hk_value *hki_build_loss(hk_graph *g, const hki_loss_config *config, hk_value *prediction, hk_value *y, hk_value *y2,
                         hk_value *lambda);

#endif
