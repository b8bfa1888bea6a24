/* halka.CrossEntropy: softmax cross-entropy of logits (N, C) with class weights, ignored labels and label smoothing in
 * one pass, as PyTorch defines it; the gradient recomputes the softmax, so that nothing but the logits is kept. */
#include <math.h>
#include <string.h>

#include "ops/class_labels.h"
#include "ops/movement.h"
#include "ops/widen.h"

typedef struct entropy_work {
    const hki_run *run;
    hki_labels labels;
    const hk_tensor *logits;
    double smoothing, weight_sum, divisor;
    int64_t n, rows_per_block;
} entropy_work;

static const hk_tensor *optional_input(const hki_run *r, int i)
{
    return i < r->input_count ? r->in[i] : NULL;
}

static hk_status infer(hki_infer *c)
{
    if (c->in[0]->rank >= 0 && c->in[0]->rank != 2)
        return HK_ERR(HK_INVALID_SHAPE, "logits must have 2 dims (N, C), found %d", c->in[0]->rank);
    float smoothing = hki_attribute_float(c->node, "label_smoothing");
    if (!(smoothing >= 0 && smoothing <= 1))
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'label_smoothing' is %g, expected 0 .. 1", (double)smoothing);
    return hki_infer_loss(c, &c->out[0], c->in[0], c->in[1], hki_infer_has(c, 2) ? c->in[2] : NULL);
}

/* ---- Rows. ---- */

/* log-sum-exp of a row, relative to its maximum, which goes to *max. */
static double row_log_sum(double *max, const double *x, int64_t n)
{
    double sum = 0;
    *max = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        *max = x[i] > *max ? x[i] : *max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - *max);
    return log(sum);
}

/* The loss of row i, with its weights. */
static double row_loss(const entropy_work *w, int64_t i)
{
    int64_t label = hki_label_at(&w->labels, i), n = w->n;
    double loss, smooth = 0;
    if (label < 0)
        return 0;
    if (w->logits->dtype == HK_FLOAT) {
        const float *weights = w->labels.weights ? w->labels.weights->data : NULL;
        hkk_cross_entropy part = w->run->k->softmax->cross_entropy_row((const float *)w->logits->data + i * n, n, label,
                                                                       weights, w->smoothing > 0);
        loss = part.loss;
        smooth = part.smooth;
    } else {
        const double *x = (const double *)w->logits->data + i * n;
        double max, log_sum = row_log_sum(&max, x, n);
        loss = log_sum - (x[label] - max);
        for (int64_t c = 0; c < n && w->smoothing > 0; c++)
            smooth += hki_label_weight(&w->labels, c) * (log_sum - (x[c] - max));
    }
    return (1 - w->smoothing) * hki_label_weight(&w->labels, label) * loss + w->smoothing / (double)n * smooth;
}

static void loss_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const entropy_work *w = context;
    int64_t end = (block + 1) * w->rows_per_block, rows = w->logits->dims[0];
    double *losses = w->run->scratch;
    for (int64_t i = block * w->rows_per_block; i < (end < rows ? end : rows); i++)
        losses[i] = row_loss(w, i);
}

/* dx of row i; `dy` is the gradient of its loss, divided. */
static void row_grad(const entropy_work *w, int64_t i, double dy)
{
    hk_tensor *dx = w->run->out[0];
    int64_t label = hki_label_at(&w->labels, i), n = w->n;
    if (label < 0) {
        memset((char *)dx->data + (size_t)(i * n) * hk_dtype_size(dx->dtype), 0, (size_t)n * hk_dtype_size(dx->dtype));
        return;
    }
    double on_label = dy * (1 - w->smoothing) * hki_label_weight(&w->labels, label);
    double on_all = dy * w->smoothing / (double)n, total = on_label + on_all * w->weight_sum;
    if (dx->dtype == HK_FLOAT) {
        const float *weights = w->labels.weights ? w->labels.weights->data : NULL;
        w->run->k->softmax->cross_entropy_grad_row((float *)dx->data + i * n, (const float *)w->logits->data + i * n, n,
                                                   label, weights, (float)total, (float)on_label, (float)on_all);
        return;
    }
    const double *x = (const double *)w->logits->data + i * n;
    double max, log_sum = row_log_sum(&max, x, n);
    for (int64_t c = 0; c < n; c++)
        hki_real_set(dx, i * n + c, exp(x[c] - max - log_sum) * total - on_all * hki_label_weight(&w->labels, c) -
                                        (c == label ? on_label : 0));
}

static void grad_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const entropy_work *w = context;
    int64_t end = (block + 1) * w->rows_per_block, rows = w->logits->dims[0];
    for (int64_t i = block * w->rows_per_block; i < (end < rows ? end : rows); i++)
        row_grad(w, i, hki_real_at(w->run->in[0], w->labels.reduction == HKI_LOSS_NONE ? i : 0) / w->divisor);
}

/* ---- Runs. `first` is the index of the logits among the inputs. ---- */

static hk_status prepare(entropy_work *w, const hki_run *r, int first)
{
    w->run = r;
    w->logits = r->in[first];
    w->n = w->logits->dims[1];
    HK_TRY(hki_labels_read(&w->labels, r->node, r->in[first + 1], optional_input(r, first + 2), w->n));
    w->smoothing = hki_attribute_float(r->node, "label_smoothing");
    w->divisor = hki_labels_divisor(&w->labels);
    w->weight_sum = 0;
    for (int64_t c = 0; c < w->n && w->smoothing > 0; c++)
        w->weight_sum += hki_label_weight(&w->labels, c);
    return NULL;
}

static hk_status loss_any(hki_run *r)
{
    entropy_work w;
    HK_TRY(prepare(&w, r, 0));
    int64_t rows = w.logits->dims[0];
    const double *losses = r->scratch;
    hki_pool_run(r->pool, hki_blocks(&w.rows_per_block, rows, w.n * 16), loss_block, &w);
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        sum += losses[i];
        if (w.labels.reduction == HKI_LOSS_NONE)
            hki_real_set(r->out[0], i, losses[i]);
    }
    if (w.labels.reduction != HKI_LOSS_NONE)
        hki_real_set(r->out[0], 0, sum / w.divisor);
    return NULL;
}

static hk_status grad_any(hki_run *r)
{
    entropy_work w;
    HK_TRY(prepare(&w, r, 1));
    hki_pool_run(r->pool, hki_blocks(&w.rows_per_block, w.logits->dims[0], w.n * 16), grad_block, &w);
    return NULL;
}

static hk_status loss_run(hki_run *r)
{
    return hki_run_float(r, loss_any);
}

static hk_status grad_run(hki_run *r)
{
    return hki_run_float(r, grad_any);
}

static size_t loss_scratch_any(const hki_run *r)
{
    return hki_scratch_size(r->in[0]->dims[0], sizeof(double));
}

static size_t loss_scratch(const hki_run *r)
{
    return hki_float_scratch(r, loss_scratch_any);
}

static size_t grad_scratch(const hki_run *r)
{
    return hki_float_scratch(r, NULL);
}

static double flops(const hki_run *r)
{
    return 12.0 * (double)hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
}

static hk_status grad(hki_grad *g)
{
    hk_value *weights = g->node->input_count > 2 ? g->x[2] : NULL;
    if (weights && g->need[2])
        return HK_ERR(HK_UNSUPPORTED, "no gradient with respect to class weights");
    g->dx[0] = hk_graph_apply(g->graph, "halka.CrossEntropyGrad", HK_VALUES(g->dy[0], g->x[0], g->x[1], weights),
                              g->node->attribute_count, g->node->attributes);
    return NULL;
}

static hk_status grad_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

#define LABEL_TYPES (HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64))
#define ENTROPY_ATTRIBUTES                                      \
    {"ignore_index", HK_ATTRIBUTE_INT, {.i = 0}, false},        \
    {"label_smoothing", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},   \
    {                                                           \
        "reduction", HK_ATTRIBUTE_STRING, {.s = "mean"}, false  \
    }

static const hki_case cases[] = {
    {"f[3,5] i64[3]=(1,0,4)", NULL},
    {"f[3,5] i64[3]=(1,0,4)", "label_smoothing=0.1"},
    {"f[3,5] i32[3]=(1,0,4) f[5]!{0.5,2}", "reduction=sum label_smoothing=0.25"},
    {"f[3,5] i64[3]=(1,-100,4) f[5]!{0.5,2}", "ignore_index=-100 label_smoothing=0.25"},
    {"f[3,20] i64[3]=(1,19,4)", "reduction=none ignore_index=19"},
    {"f[2,1] i64[2]=(0,0)", NULL},
    {"f[0,3] i64[0]", "reduction=sum"},
    {NULL, NULL},
};

const hki_op hki_op_cross_entropy_grad = {
    .name = "CrossEntropyGrad",
    .domain = "halka",
    .doc = "dx = dy (softmax(logits) - target), per row weighted and divided as in CrossEntropy",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"logits", "T", HKI_FLOATS, 0},
               {"labels", "Tind", LABEL_TYPES, 0},
               {"weights", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {ENTROPY_ATTRIBUTES},
    .infer = grad_infer,
    .run = grad_run,
    .scratch = grad_scratch,
    .flops = flops,
};

const hki_op hki_op_cross_entropy = {
    .name = "CrossEntropy",
    .domain = "halka",
    .doc = "-sum(target log(softmax(logits))), target = (1 - s) onehot(label) + s / C, averaged, summed or per sample",
    .inputs = {{"logits", "T", HKI_FLOATS, 0},
               {"labels", "Tind", LABEL_TYPES, 0},
               {"weights", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"loss", "T", HKI_FLOATS, 0}},
    .attributes = {ENTROPY_ATTRIBUTES},
    .infer = infer,
    .run = loss_run,
    .scratch = loss_scratch,
    .grad = grad,
    .flops = flops,
    .cases = cases,
};
