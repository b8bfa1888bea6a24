/* Architectures: well-known networks, built as graphs with freshly drawn weights.
 *
 *     hk_architecture_options o = hk_architecture_defaults();
 *     o.classes = 10;
 *     o.input_dtype = HK_UINT8;                    // the model takes the pixels as the data set stores them ...
 *     o.layout = HK_PIXELS_HW;                     // ... N x 28 x 28, and normalises them itself
 *     o.mean_count = o.deviation_count = 1;
 *     o.mean = (float[]){0.2860f}, o.deviation = (float[]){0.3530f};
 *     hk_graph *g;
 *     hk_status s = hk_architecture_create(&g, "cnn", &o);
 *
 * The graph has one input "input" (batch dimension "N") and the output "logits" (N x classes), and "probabilities"
 * (softmax of the logits) if asked for. BatchNormalization and Dropout stand in inference form, as in any exported
 * model. Parameters have the names PyTorch gives them ("layer1.0.conv1.weight"). What is not trained is named so:
 * "preprocess.*", "*.running_mean", "*.running_var", and scalars. The same name, options and seed give the same bytes
 * on every machine. */
#ifndef HALKA_ARCHITECTURE_H
#define HALKA_ARCHITECTURE_H

#include "halka/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the samples are stored, after the batch dimension. */
typedef enum hk_pixel_layout {
    HK_PIXELS_CHW,    /* channels, height, width */
    HK_PIXELS_HWC,    /* height, width, channels (image files) */
    HK_PIXELS_HW,     /* height, width: one channel (IDX files) */
    HK_PIXELS_VECTOR, /* a row of `channels` features (mlp only) */
} hk_pixel_layout;

/** What to build; start from hk_architecture_defaults(). 0 and NULL mean the architecture's own value. */
typedef struct hk_architecture_options {
    int64_t channels, height, width; /* of a sample */
    int64_t classes;
    uint64_t seed;         /* of the initial weights */
    const int64_t *widths; /* mlp: hidden layers; cnn: channels of each stage */
    int width_count;
    double width_multiplier; /* cnn, mobilenetv2: scales all channel counts */
    double dropout;          /* ratio of the Dropout nodes; 0: none; negative: the architecture's own */
    hk_dtype input_dtype;    /* HK_FLOAT (the default) or HK_UINT8 */
    hk_pixel_layout layout;
    double scale;                  /* stored values are divided by this first; 0: 255 for HK_UINT8, 1 for HK_FLOAT */
    const float *mean, *deviation; /* then (x - mean) / deviation; one for all channels or one each */
    int mean_count, deviation_count;
    bool probabilities; /* adds the output "probabilities" */
} hk_architecture_options;

/** Returns options that stand for the architecture's own values. */
HK_API hk_architecture_options hk_architecture_defaults(void);

/** Creates the graph of an architecture. options NULL: defaults. Caller frees with hk_graph_free. HK_NOT_FOUND (unknown
 * name; the message has the nearest one), HK_INVALID_ARGUMENT (options), HK_INVALID_SHAPE (samples too small for the
 * network). */
HK_API hk_status hk_architecture_create(hk_graph **out, const char *name,
                                        const hk_architecture_options *options) HK_MUST_USE;

/** What is known about an architecture without building it. */
typedef struct hk_architecture_info {
    const char *name;
    const char *doc;                 /* one line, with the source */
    int64_t channels, height, width; /* of a sample, by default */
    int64_t classes;                 /* by default */
} hk_architecture_info;

/** Returns the number of architectures. */
HK_API int hk_architecture_count(void);
/** Returns a row of the table, 0 .. hk_architecture_count() - 1. */
HK_API const hk_architecture_info *hk_architecture_at(int index);

#ifdef __cplusplus
}
#endif
#endif
