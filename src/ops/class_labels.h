/* What the losses over class labels share: which samples count, with which weight, and how the loss is reduced. */
#ifndef HKI_OPS_CLASS_LABELS_H
#define HKI_OPS_CLASS_LABELS_H

#include "graph/op.h"

typedef enum hki_loss_reduction { HKI_LOSS_NONE, HKI_LOSS_SUM, HKI_LOSS_MEAN } hki_loss_reduction;

/** The labels of a loss node while it runs. */
typedef struct hki_labels {
    const hk_tensor *labels;  /* int32 or int64 */
    const hk_tensor *weights; /* (C), float32 or float64, or NULL for ones */
    int64_t classes;
    bool ignores;
    int64_t ignored;
    hki_loss_reduction reduction;
} hki_labels;

/** Reads ONNX's attribute `reduction`: none, sum, mean. */
hk_status hki_loss_reduction_parse(hki_loss_reduction *out, const char *text) HK_MUST_USE;
/** Reads the attributes `reduction` and `ignore_index`, and checks every label. HK_INVALID_DATA names the first bad
 * one. */
hk_status hki_labels_read(hki_labels *out, const hk_node *node, const hk_tensor *labels, const hk_tensor *weights,
                          int64_t classes) HK_MUST_USE;
/** Returns label i, or -1 if it is ignored. */
int64_t hki_label_at(const hki_labels *l, int64_t i);
/** Returns the weight of a class. */
double hki_label_weight(const hki_labels *l, int64_t label);
/** Returns what a sum of losses is divided by: the weights of all labels that count for mean, else 1. */
double hki_labels_divisor(const hki_labels *l);
/** Element i of a float32 or float64 array. */
double hki_real_at(const hk_tensor *t, int64_t i);
void hki_real_set(hk_tensor *t, int64_t i, double value);

/** Infers the loss: a scalar, or labels' shape for reduction none; checks scores (N, C, d...), labels (N, d...) and
 * weights (C) against each other. */
hk_status hki_infer_loss(hki_infer *c, hki_type *loss, const hki_type *scores, const hki_type *labels,
                         const hki_type *weights) HK_MUST_USE;

#endif
