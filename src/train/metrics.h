/* Metrics over a stream of predictions: what hk_evaluation reports. Sums are in double, in the order of the samples. */
#ifndef HKI_TRAIN_METRICS_H
#define HKI_TRAIN_METRICS_H

#include "halka/train.h"
#include "tensor/tensor.h"

typedef struct hki_metrics {
    bool classifies;
    int classes;
    int64_t samples, values; /* values: numbers compared (regression) */
    int64_t correct, top5;
    int64_t *confusion;      /* classes x classes, rows: true class */
    double loss;             /* sum over samples */
    double squared, absolute, target, target_squared;
} hki_metrics;

/** Starts with `classes` classes (0: regression). */
hk_status hki_metrics_create(hki_metrics *out, int classes) HK_MUST_USE;
void hki_metrics_clear(hki_metrics *metrics);
/** Forgets what was added. */
void hki_metrics_start(hki_metrics *metrics);
/** Adds a batch. Classification: prediction float32 (N, classes) logits, y int64 (N). Regression: both float32, same
 * number of elements. With `loss` the cross-entropy (or squared error) of each sample is added too. HK_INVALID_DATA
 * names a label out of range. */
hk_status hki_metrics_add(hki_metrics *metrics, const hk_tensor *prediction, const hk_tensor *y, bool loss) HK_MUST_USE;
/** Accuracy so far, or NAN for regression. */
double hki_metrics_accuracy(const hki_metrics *metrics);
/** Fills an evaluation, which takes copies. */
hk_status hki_metrics_finish(hk_evaluation *out, const hki_metrics *metrics) HK_MUST_USE;
/** Index of the largest of n values; the first of equals. */
int64_t hki_arg_max(const float *values, int64_t n);

#endif
