/* NegativeLogLikelihoodLoss, its gradient, and SoftmaxCrossEntropyLoss, which is built of it and LogSoftmax (or, for a
 * plain matrix of scores, of the fused halka.CrossEntropy). */
#include <string.h>

#include "ops/class_labels.h"
#include "ops/widen.h"

#define LABEL_TYPES (HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64))

/* ---- Forward. ---- */

static hk_status nll_infer(hki_infer *c)
{
    return hki_infer_loss(c, &c->out[0], c->in[0], c->in[1], hki_infer_has(c, 2) ? c->in[2] : NULL);
}

static const hk_tensor *optional_input(const hki_run *r, int i)
{
    return i < r->input_count ? r->in[i] : NULL;
}

static hk_status nll_any(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hki_labels l;
    HK_TRY(hki_labels_read(&l, r->node, r->in[1], optional_input(r, 2), x->dims[1]));
    int64_t positions = hki_shape_count(x->dims, 2, x->rank), count = x->dims[0] * positions;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t label = hki_label_at(&l, i);
        int64_t at = (i / positions * l.classes + label) * positions + i % positions;
        double loss = label < 0 ? 0 : -hki_real_at(x, at) * hki_label_weight(&l, label);
        sum += loss;
        if (l.reduction == HKI_LOSS_NONE)
            hki_real_set(r->out[0], i, loss);
    }
    if (l.reduction != HKI_LOSS_NONE)
        hki_real_set(r->out[0], 0, sum / hki_labels_divisor(&l));
    return NULL;
}

static hk_status nll_run(hki_run *r)
{
    return hki_run_float(r, nll_any);
}

static size_t nll_scratch(const hki_run *r)
{
    return hki_float_scratch(r, NULL);
}

/* ---- Gradient. ---- */

/* Copies the attributes that both have from a loss to its private operator. */
static int loss_attributes(hk_attribute *out, const hk_node *node)
{
    int count = 0;
    for (int i = 0; i < node->attribute_count; i++)
        out[count++] = node->attributes[i];
    return count;
}

static hk_status nll_grad(hki_grad *g)
{
    hk_attribute attributes[HKI_MAX_ATTRIBUTES];
    hk_value *weights = g->node->input_count > 2 ? g->x[2] : NULL;
    if (weights && g->need[2])
        return HK_ERR(HK_UNSUPPORTED, "no gradient with respect to class weights");
    int count = loss_attributes(attributes, g->node);
    g->dx[0] = hk_graph_apply(g->graph, "halka.NegativeLogLikelihoodLossGrad",
                              HK_VALUES(g->dy[0], g->x[0], g->x[1], weights), count, attributes);
    return NULL;
}

static hk_status nll_grad_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

/* dy, x (shape only), labels, weights -> dx: -weight dy / divisor at the label, 0 elsewhere. */
static hk_status nll_grad_any(hki_run *r)
{
    hk_tensor *dx = r->out[0];
    hki_labels l;
    HK_TRY(hki_labels_read(&l, r->node, r->in[2], optional_input(r, 3), dx->dims[1]));
    int64_t positions = hki_shape_count(dx->dims, 2, dx->rank), count = dx->dims[0] * positions;
    double divisor = hki_labels_divisor(&l);
    memset(dx->data, 0, (size_t)(count * l.classes) * hk_dtype_size(dx->dtype));
    for (int64_t i = 0; i < count; i++) {
        int64_t label = hki_label_at(&l, i);
        int64_t at = (i / positions * l.classes + label) * positions + i % positions;
        if (label >= 0)
            hki_real_set(dx, at, -hki_label_weight(&l, label) * hki_real_at(r->in[0], l.reduction ? 0 : i) / divisor);
    }
    return NULL;
}

static hk_status nll_grad_run(hki_run *r)
{
    return hki_run_float(r, nll_grad_any);
}

#define LOSS_ATTRIBUTES                                                 \
    {"ignore_index", HK_ATTRIBUTE_INT, {.i = 0}, false},                \
    {                                                                   \
        "reduction", HK_ATTRIBUTE_STRING, {.s = "mean"}, false          \
    }

const hki_op hki_op_nll_loss_grad = {
    .name = "NegativeLogLikelihoodLossGrad",
    .domain = "halka",
    .doc = "dx = -weight dy / divisor at the label, 0 elsewhere",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"input", "T", HKI_FLOATS, HKI_SHAPE_ONLY},
               {"target", "Tind", LABEL_TYPES, 0},
               {"weight", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {LOSS_ATTRIBUTES},
    .infer = nll_grad_infer,
    .run = nll_grad_run,
    .scratch = nll_scratch,
};

static const hki_case nll_cases[] = {
    {"f[3,5] i64[3]=(1,0,4)", NULL},
    {"f[3,5] i64[3]=(1,0,4)", "reduction=none"},
    {"f[3,5] i32[3]=(1,0,4) f[5]!{0.5,2}", "reduction=sum"},
    {"f[3,5] i64[3]=(1,-1,4) f[5]!{0.5,2}", "ignore_index=-1"},
    {"f[2,3,2,1] i64[2,2,1]=(0,1,2,1)", "ignore_index=1"},
    {"f[1,3,4] i64[1,4]=(0,1,2,1)", "reduction=none"},
    {"f[2,1] i64[2]=(0,0)", NULL},
    {"f[0,3] i64[0]", "reduction=sum"},
    {NULL, NULL},
};

const hki_op hki_op_nll_loss = {
    .name = "NegativeLogLikelihoodLoss",
    .doc = "-weight[target] input[target], averaged, summed or per sample",
    .inputs = {{"input", "T", HKI_FLOATS, 0},
               {"target", "Tind", LABEL_TYPES, 0},
               {"weight", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"loss", "T", HKI_FLOATS, 0}},
    .attributes = {LOSS_ATTRIBUTES},
    .versions = {{12, NULL}, {13, NULL}, {22, NULL}},
    .infer = nll_infer,
    .run = nll_run,
    .scratch = nll_scratch,
    .grad = nll_grad,
    .cases = nll_cases,
};

/* ---- SoftmaxCrossEntropyLoss. ---- */

static hk_status cross_entropy_infer(hki_infer *c)
{
    HK_TRY(hki_infer_loss(c, &c->out[0], c->in[0], c->in[1], hki_infer_has(c, 2) ? c->in[2] : NULL));
    if (c->output_count > 1)
        hki_type_copy(&c->out[1], c->in[0]);
    return NULL;
}

static hk_status cross_entropy_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hk_attribute attributes[HKI_MAX_ATTRIBUTES], axis[] = {HK_INT("axis", 1)};
    int count = loss_attributes(attributes, node);
    hk_value *weights = node->input_count > 2 ? node->inputs[2] : NULL;
    bool wants_log_prob = node->output_count > 1 && node->outputs[1];
    if (!wants_log_prob && node->inputs[0]->type.rank == 2) {
        out[0] = hk_graph_apply(g, "halka.CrossEntropy", HK_VALUES(node->inputs[0], node->inputs[1], weights), count,
                                attributes);
        return NULL;
    }
    hk_value *log_prob = hk_graph_apply(g, "LogSoftmax", HK_VALUES(node->inputs[0]), 1, axis);
    out[0] = hk_graph_apply(g, "NegativeLogLikelihoodLoss", HK_VALUES(log_prob, node->inputs[1], weights), count,
                            attributes);
    if (wants_log_prob)
        out[1] = log_prob;
    return NULL;
}

const hki_op hki_op_softmax_cross_entropy_loss = {
    .name = "SoftmaxCrossEntropyLoss",
    .doc = "-weight[label] log(softmax(scores))[label], averaged, summed or per sample",
    .inputs = {{"scores", "T", HKI_FLOATS, 0},
               {"labels", "Tind", LABEL_TYPES, 0},
               {"weights", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .outputs = {{"output", "T", HKI_FLOATS, 0}, {"log_prob", "T", HKI_FLOATS, HKI_OPTIONAL}},
    .attributes = {LOSS_ATTRIBUTES},
    .versions = {{12, NULL}, {13, NULL}},
    .infer = cross_entropy_infer,
    .expand = cross_entropy_expand,
    .cases = nll_cases,
};
