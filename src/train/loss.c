/* Losses, as nodes. Each is the mean over the micro-batch, as PyTorch's with reduction="mean". */
#include "graph/op.h"
#include "train/training_graph.h"

static hk_value *mean_of(hk_graph *g, hk_value *x)
{
    return x ? hk_graph_apply(g, "ReduceMean", 1, &x, HK_ATTRIBUTES(HK_INT("keepdims", 0))) : NULL;
}

static hk_value *class_weights(hk_graph *g, const hki_loss_config *config)
{
    if (!config->class_weight_count || g->failure)
        return NULL;
    int64_t count = config->class_weight_count;
    hk_tensor *tensor;
    hk_status status = hk_tensor_create(&tensor, HK_FLOAT, 1, &count);
    if (status)
        return hki_graph_fail(g, status);
    for (int64_t i = 0; i < count; i++)
        hki_tensor_set_double(tensor, i, config->class_weights[i]);
    hk_value *value = hk_graph_constant(g, "halka.class_weights", tensor);
    hk_tensor_free(tensor);
    return value;
}

/* Mean over samples of lambda * CE(y) + (1 - lambda) * CE(y2): mixup (Zhang et al. 2018). */
static hk_value *mixed_cross_entropy(hk_graph *g, hk_value *logits, hk_value *y, hk_value *y2, hk_value *lambda,
                                     hk_value *weights)
{
    hk_value *first = hk_graph_apply(g, "SoftmaxCrossEntropyLoss", HK_VALUES(logits, y, weights),
                                     HK_ATTRIBUTES(HK_TEXT("reduction", "none")));
    hk_value *second = hk_graph_apply(g, "SoftmaxCrossEntropyLoss", HK_VALUES(logits, y2, weights),
                                      HK_ATTRIBUTES(HK_TEXT("reduction", "none")));
    hk_value *rest = hki_binary(g, "Sub", hki_scalar_like(g, lambda, 1), lambda);
    return mean_of(g, hki_binary(g, "Add", hki_binary(g, "Mul", lambda, first), hki_binary(g, "Mul", rest, second)));
}

static hk_value *cross_entropy(hk_graph *g, const hki_loss_config *config, hk_value *logits, hk_value *y, hk_value *y2,
                               hk_value *lambda)
{
    hk_value *weights = class_weights(g, config);
    if (y2)
        return mixed_cross_entropy(g, logits, y, y2, lambda, weights);
    if (logits->type.rank != 2)
        return hk_graph_apply(g, "SoftmaxCrossEntropyLoss", HK_VALUES(logits, y, weights), HK_NO_ATTRIBUTES);
    return hk_graph_apply(g, "halka.CrossEntropy", HK_VALUES(logits, y, weights),
                          HK_ATTRIBUTES(HK_FLOAT32("label_smoothing", (float)config->label_smoothing)));
}

/* delta-scaled as torch.nn.HuberLoss: 0.5 d^2 inside, delta (|d| - 0.5 delta) outside. */
static hk_value *huber(hk_graph *g, const hki_loss_config *config, hk_value *difference)
{
    hk_value *size = hki_unary(g, "Abs", difference), *delta = hki_scalar_like(g, difference, config->delta);
    hk_value *half = hki_scalar_like(g, difference, 0.5);
    hk_value *inside = hki_binary(g, "Mul", half, hki_binary(g, "Mul", difference, difference));
    hk_value *outside =
        hki_binary(g, "Mul", delta, hki_binary(g, "Sub", size, hki_scalar_like(g, difference, 0.5 * config->delta)));
    hk_value *small = hki_binary(g, "LessOrEqual", size, delta);
    return hk_graph_apply(g, "Where", HK_VALUES(small, inside, outside), HK_NO_ATTRIBUTES);
}

/* max(x, 0) - x y + log(1 + exp(-|x|)): stable for every x. */
static hk_value *binary_cross_entropy(hk_graph *g, hk_value *x, hk_value *y)
{
    hk_value *rest = hki_unary(g, "Softplus", hki_unary(g, "Neg", hki_unary(g, "Abs", x)));
    return hki_binary(g, "Add", hki_binary(g, "Sub", hki_unary(g, "Relu", x), hki_binary(g, "Mul", x, y)), rest);
}

hk_value *hki_build_loss(hk_graph *g, const hki_loss_config *config, hk_value *prediction, hk_value *y, hk_value *y2,
                         hk_value *lambda)
{
    if (!prediction || !y)
        return NULL;
    if (config->type == HKI_LOSS_CROSS_ENTROPY)
        return cross_entropy(g, config, prediction, y, y2, lambda);
    if (config->type == HKI_LOSS_BCE_WITH_LOGITS)
        return mean_of(g, binary_cross_entropy(g, prediction, y));
    hk_value *difference = hki_binary(g, "Sub", prediction, y);
    switch (config->type) {
    case HKI_LOSS_L1:
        return mean_of(g, hki_unary(g, "Abs", difference));
    case HKI_LOSS_HUBER:
        return mean_of(g, huber(g, config, difference));
    default:
        return mean_of(g, hki_binary(g, "Mul", difference, difference));
    }
}
