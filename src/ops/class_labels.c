/* See class_labels.h. */
#include "ops/class_labels.h"

#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"

hk_status hki_loss_reduction_parse(hki_loss_reduction *out, const char *text)
{
    if (!strcmp(text, "none"))
        *out = HKI_LOSS_NONE;
    else if (!strcmp(text, "sum"))
        *out = HKI_LOSS_SUM;
    else if (!strcmp(text, "mean"))
        *out = HKI_LOSS_MEAN;
    else
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'reduction' is '%s', expected none, sum or mean", text);
    return NULL;
}

hk_status hki_labels_read(hki_labels *out, const hk_node *node, const hk_tensor *labels, const hk_tensor *weights,
                          int64_t classes)
{
    const hk_attribute *ignored = hki_attribute_find(node, "ignore_index");
    *out = (hki_labels){labels, weights, classes, ignored != NULL, ignored ? ignored->as.i : 0, HKI_LOSS_MEAN};
    HK_TRY(hki_loss_reduction_parse(&out->reduction, hki_attribute_text(node, "reduction")));
    int64_t count = hki_shape_count(labels->dims, 0, labels->rank);
    for (int64_t i = 0; i < count; i++) {
        int64_t label = hki_index_at(labels, i);
        if ((label < 0 || label >= classes) && !(out->ignores && label == out->ignored))
            return HK_ERR(HK_INVALID_DATA, "label %" PRId64 " is %" PRId64 ", expected 0 .. %" PRId64, i, label,
                          classes - 1);
    }
    return NULL;
}

int64_t hki_label_at(const hki_labels *l, int64_t i)
{
    int64_t label = hki_index_at(l->labels, i);
    return l->ignores && label == l->ignored ? -1 : label;
}

double hki_label_weight(const hki_labels *l, int64_t label)
{
    return l->weights ? hki_real_at(l->weights, label) : 1;
}

double hki_labels_divisor(const hki_labels *l)
{
    double sum = 0;
    int64_t count = hki_shape_count(l->labels->dims, 0, l->labels->rank);
    if (l->reduction != HKI_LOSS_MEAN)
        return 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t label = hki_label_at(l, i);
        sum += label < 0 ? 0 : hki_label_weight(l, label);
    }
    return sum;
}

double hki_real_at(const hk_tensor *t, int64_t i)
{
    return t->dtype == HK_FLOAT ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

void hki_real_set(hk_tensor *t, int64_t i, double value)
{
    if (t->dtype == HK_FLOAT)
        ((float *)t->data)[i] = (float)value;
    else
        ((double *)t->data)[i] = value;
}

/* The labels' shape: that of the scores without the classes. */
static hk_status merge_labels(hki_type *out, const hki_type *scores, const hki_type *labels)
{
    hki_type_copy(out, labels);
    if (scores->rank < 0)
        return NULL;
    if (scores->rank < 2)
        return HK_ERR(HK_INVALID_SHAPE, "scores must have at least 2 dims (N, C), found %d", scores->rank);
    if (labels->rank >= 0 && labels->rank != scores->rank - 1)
        return HK_ERR(HK_INVALID_SHAPE, "scores of rank %d need labels of rank %d, found %d", scores->rank,
                      scores->rank - 1, labels->rank);
    out->rank = scores->rank - 1;
    for (int i = 0; i < out->rank; i++) {
        int64_t dim = scores->dims[i ? i + 1 : 0];
        HK_TRY_CTX(hki_dim_merge(&out->dims[i], dim, labels->rank >= 0 ? labels->dims[i] : HKI_DIM_UNKNOWN),
                   "dim %d of the labels", i);
    }
    return NULL;
}

hk_status hki_infer_loss(hki_infer *c, hki_type *loss, const hki_type *scores, const hki_type *labels,
                         const hki_type *weights)
{
    hki_loss_reduction reduction;
    hki_type kept;
    int64_t classes;
    HK_TRY(hki_loss_reduction_parse(&reduction, hki_attribute_text(c->node, "reduction")));
    HK_TRY(merge_labels(&kept, scores, labels));
    if (weights && weights->rank >= 0) {
        if (weights->rank != 1)
            return HK_ERR(HK_INVALID_SHAPE, "class weights must have one dim, found %d", weights->rank);
        if (scores->rank > 1)
            HK_TRY_CTX(hki_dim_merge(&classes, scores->dims[1], weights->dims[0]), "class weights");
    }
    loss->rank = reduction == HKI_LOSS_NONE ? kept.rank : 0;
    if (reduction == HKI_LOSS_NONE && kept.rank > 0)
        memcpy(loss->dims, kept.dims, sizeof loss->dims);
    return NULL;
}
