/* Layers as the papers name them, on top of the public graph builder: weights with their initial values, convolution,
 * batch normalisation, dense layer. Every architecture in this folder is written with these.
 *
 * As with the graph builder, failures stay in the graph: a NULL value is passed on, and hk_graph_status tells. */
#ifndef HKI_MODELS_BUILDER_H
#define HKI_MODELS_BUILDER_H

#include "halka/architecture.h"

/** How a weight starts. "fan in" of a weight (out, in, k...) is in*k..., "fan out" is out*k... */
typedef enum hki_init {
    HKI_INIT_ZERO,
    HKI_INIT_ONE,
    HKI_INIT_HE_FAN_OUT,      /* normal, deviation sqrt(2 / fan out): He et al. 2015, as torchvision does */
    HKI_INIT_HE_FAN_IN,       /* normal, deviation sqrt(2 / fan in) */
    HKI_INIT_HE_UNIFORM,      /* uniform, bound sqrt(6 / fan in) */
    HKI_INIT_GLOROT_UNIFORM,  /* uniform, bound sqrt(6 / (fan in + fan out)): Glorot and Bengio 2010 */
    HKI_INIT_LECUN_UNIFORM,   /* uniform, bound 1 / sqrt(fan in): PyTorch's Linear */
    HKI_INIT_FAN_OUT_UNIFORM, /* uniform, bound 1 / sqrt(fan out): EfficientNet's classifier */
    HKI_INIT_NORMAL_001,      /* normal, deviation 0.01 */
} hki_init;

/** A graph being built, and the options with all defaults filled in. */
typedef struct hki_model {
    hk_graph *graph;
    hk_architecture_options options;
} hki_model;

/** A convolution; zero fields: kernel 1, stride 1, pad 0, groups 1, no bias. */
typedef struct hki_conv {
    int64_t out, kernel, stride, pad, groups;
    bool bias;
    hki_init init;
} hki_conv;

/** Adds an initializer. `fan` (2 values: in, out) may be NULL where the init does not need it. */
hk_value *hki_model_weight(hki_model *m, const char *name, int rank, const int64_t *dims, hki_init init,
                           const double *fan);
/** Applies an operator with a node name and no attributes to one or two values (b may be NULL). */
hk_value *hki_model_apply(hki_model *m, const char *name, const char *op, hk_value *a, hk_value *b);
/** Conv of x (N C H W) with weight NAME.weight (out, C / groups, k, k) and, if asked, NAME.bias. */
hk_value *hki_model_conv(hki_model *m, const char *name, hk_value *x, hki_conv conv);
/** BatchNormalization over NAME.weight, .bias, .running_mean, .running_var; epsilon 1e-5, momentum 0.9 (PyTorch's 0.1).
 */
hk_value *hki_model_batch_norm(hki_model *m, const char *name, hk_value *x);
/** Gemm of x (N I) with NAME.weight (out, I) and NAME.bias; node_name NULL: name. The bias starts at zero, with
 * HKI_INIT_LECUN_UNIFORM as the weight. */
hk_value *hki_model_linear(hki_model *m, const char *name, const char *node_name, hk_value *x, int64_t out,
                           hki_init init);
/** Dropout with options.dropout (`own` if negative); x itself if the ratio is 0. */
hk_value *hki_model_dropout(hki_model *m, const char *name, hk_value *x, double own);
/** MaxPool, square. */
hk_value *hki_model_max_pool(hki_model *m, const char *name, hk_value *x, int64_t kernel, int64_t stride, int64_t pad,
                             bool ceil_mode);
/** GlobalAveragePool and Flatten: N C H W -> N C. */
hk_value *hki_model_pool_flatten(hki_model *m, hk_value *x);
/** Clip to 0 .. 6. */
hk_value *hki_model_relu6(hki_model *m, const char *name, hk_value *x);
/** x * sigmoid(x), as two nodes that every runtime knows. */
hk_value *hki_model_silu(hki_model *m, const char *name, hk_value *x);
/** Returns channels (dim 1) of a value, 1 for NULL. */
int64_t hki_model_channels(const hk_value *x);
/** Scales a channel count by options.width_multiplier, rounded to a multiple of 8 and never down by more than 10 %
 * (MobileNetV2's rule). */
int64_t hki_model_scaled(const hki_model *m, int64_t channels);

#define HKI_NAME 160
/** Formats a parameter name into a buffer of HKI_NAME bytes and returns it. */
const char *hki_model_name(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The architectures: from the preprocessed sample (N C H W, float32) to the logits, in a node named "logits". */
hk_value *hki_build_mlp(hki_model *m, hk_value *x);
hk_value *hki_build_lenet(hki_model *m, hk_value *x);
hk_value *hki_build_cnn(hki_model *m, hk_value *x);
hk_value *hki_build_resnet18(hki_model *m, hk_value *x);
hk_value *hki_build_resnet34(hki_model *m, hk_value *x);
hk_value *hki_build_resnet50(hki_model *m, hk_value *x);
hk_value *hki_build_resnet18_cifar(hki_model *m, hk_value *x);
hk_value *hki_build_resnet20(hki_model *m, hk_value *x);
hk_value *hki_build_resnet32(hki_model *m, hk_value *x);
hk_value *hki_build_resnet56(hki_model *m, hk_value *x);
hk_value *hki_build_mobilenetv2(hki_model *m, hk_value *x);
hk_value *hki_build_squeezenet(hki_model *m, hk_value *x);
hk_value *hki_build_efficientnet_b0(hki_model *m, hk_value *x);

#endif
