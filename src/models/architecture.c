/* The table of architectures, the checks of their options, and the nodes in front of every network that turn stored
 * samples into what it was designed for. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "graph/graph.h"
#include "models/builder.h"

typedef struct row {
    hk_architecture_info info;
    hk_value *(*build)(hki_model *m, hk_value *x);
    bool takes_widths, takes_multiplier, takes_vector;
} row;

static const row rows[] = {
    {{"mlp", "multi-layer perceptron, one hidden layer of 128 (widths: other hidden layers)", 1, 28, 28, 10},
     hki_build_mlp,
     true,
     false,
     true},
    {{"lenet", "LeNet-5 (LeCun et al. 1998) with ReLU and max pooling: 61,706 parameters", 1, 28, 28, 10},
     hki_build_lenet,
     false,
     false,
     false},
    {{"cnn", "three stages of two conv-bn-relu blocks with 16, 32, 64 channels (widths), dropout, dense 128", 1, 28, 28,
      10},
     hki_build_cnn,
     true,
     true,
     false},
    {{"resnet20", "ResNet-20 for 32x32 pixels, parameter-free shortcuts (He et al. 2015): 0.27 M parameters", 3, 32, 32,
      10},
     hki_build_resnet20,
     false,
     false,
     false},
    {{"resnet32", "ResNet-32 for 32x32 pixels: 0.46 M parameters", 3, 32, 32, 10},
     hki_build_resnet32,
     false,
     false,
     false},
    {{"resnet56", "ResNet-56 for 32x32 pixels: 0.85 M parameters", 3, 32, 32, 10},
     hki_build_resnet56,
     false,
     false,
     false},
    {{"resnet18-cifar", "ResNet-18 with a 3x3 stem and no first pooling, for 32x32 pixels: 11.2 M parameters", 3, 32,
      32, 10},
     hki_build_resnet18_cifar,
     false,
     false,
     false},
    {{"resnet18", "ResNet-18 (He et al. 2015): 11.7 M parameters", 3, 224, 224, 1000},
     hki_build_resnet18,
     false,
     false,
     false},
    {{"resnet34", "ResNet-34 (He et al. 2015): 21.8 M parameters", 3, 224, 224, 1000},
     hki_build_resnet34,
     false,
     false,
     false},
    {{"resnet50", "ResNet-50 with the stride in the 3x3 convolution (v1.5): 25.6 M parameters", 3, 224, 224, 1000},
     hki_build_resnet50,
     false,
     false,
     false},
    {{"mobilenetv2", "MobileNetV2 (Sandler et al. 2018): 3.5 M parameters", 3, 224, 224, 1000},
     hki_build_mobilenetv2,
     false,
     true,
     false},
    {{"squeezenet1.1", "SqueezeNet 1.1 (Iandola et al. 2016): 1.24 M parameters", 3, 224, 224, 1000},
     hki_build_squeezenet,
     false,
     false,
     false},
    {{"efficientnet-b0", "EfficientNet-B0 (Tan and Le 2019), without stochastic depth: 5.3 M parameters", 3, 224, 224,
      1000},
     hki_build_efficientnet_b0,
     false,
     false,
     false},
};

#define ROW_COUNT ((int)(sizeof rows / sizeof *rows))
#define DIM_LIMIT 1000000 /* of channels, height, width, classes: keeps a typing error from asking for terabytes */

hk_architecture_options hk_architecture_defaults(void)
{
    return (hk_architecture_options){.dropout = -1};
}

int hk_architecture_count(void)
{
    return ROW_COUNT;
}

const hk_architecture_info *hk_architecture_at(int index)
{
    return index >= 0 && index < ROW_COUNT ? &rows[index].info : NULL;
}

static hk_status find(const row **out, const char *name)
{
    const char *names[ROW_COUNT];
    for (int i = 0; i < ROW_COUNT; i++) {
        names[i] = rows[i].info.name;
        if (!strcmp(names[i], name)) {
            *out = &rows[i];
            return NULL;
        }
    }
    const char *nearest = hki_nearest_name(name, names, ROW_COUNT);
    return HK_ERR(HK_NOT_FOUND, "there is no architecture '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "; `halka model list` names them all");
}

/* ---- Options. ---- */

static hk_status check_dim(const char *what, int64_t value)
{
    if (value >= 1 && value <= DIM_LIMIT)
        return NULL;
    return HK_ERR(HK_INVALID_ARGUMENT, "%s is %lld, expected 1 to %d", what, (long long)value, DIM_LIMIT);
}

static hk_status check_normalisation(const hk_architecture_options *o)
{
    if (!(o->scale > 0) || !isfinite(o->scale))
        return HK_ERR(HK_INVALID_ARGUMENT, "scale is %g, expected a number above 0", o->scale);
    const char *names[] = {"mean", "deviation"};
    const float *lists[] = {o->mean, o->deviation};
    int counts[] = {o->mean_count, o->deviation_count};
    for (int k = 0; k < 2; k++) {
        if (counts[k] != 0 && counts[k] != 1 && counts[k] != o->channels)
            return HK_ERR(HK_INVALID_ARGUMENT, "%s has %d values, expected 1 or %lld (one per channel)", names[k],
                          counts[k], (long long)o->channels);
        for (int i = 0; i < counts[k]; i++)
            if (!isfinite(lists[k][i]) || (k == 1 && !(lists[k][i] > 0)))
                return HK_ERR(HK_INVALID_ARGUMENT, "%s[%d] is %g, expected a %snumber", names[k], i,
                              (double)lists[k][i], k ? "positive " : "finite ");
    }
    return NULL;
}

static hk_status check_sizes(const hk_architecture_options *o, const row *r)
{
    HK_TRY(check_dim("channels", o->channels));
    HK_TRY(check_dim("height", o->height));
    HK_TRY(check_dim("width", o->width));
    HK_TRY(check_dim("classes", o->classes));
    if (o->widths && !r->takes_widths)
        return HK_ERR(HK_INVALID_ARGUMENT, "widths can be given for mlp and cnn, not for %s", r->info.name);
    if (o->width_multiplier != 1 && !r->takes_multiplier)
        return HK_ERR(HK_INVALID_ARGUMENT, "a width multiplier can be given for cnn and mobilenetv2, not for %s",
                      r->info.name);
    if (!(o->width_multiplier > 0 && o->width_multiplier <= 100))
        return HK_ERR(HK_INVALID_ARGUMENT, "width multiplier is %g, expected above 0 and at most 100",
                      o->width_multiplier);
    if (o->width_count < 0 || o->width_count > 64)
        return HK_ERR(HK_INVALID_ARGUMENT, "%d widths, expected at most 64", o->width_count);
    for (int i = 0; i < o->width_count && o->widths; i++)
        HK_TRY(check_dim("a width", o->widths[i]));
    return NULL;
}

/* Fills in the defaults and checks the result. */
static hk_status complete(hk_architecture_options *o, const row *r)
{
    const hk_architecture_info *own = &r->info;
    if (o->layout == HK_PIXELS_VECTOR) {
        o->height = o->width = 1;
        if (!o->channels)
            o->channels = own->channels * own->height * own->width;
    }
    if (o->layout == HK_PIXELS_HW && !o->channels)
        o->channels = 1;
    o->channels = o->channels ? o->channels : own->channels;
    o->height = o->height ? o->height : own->height;
    o->width = o->width ? o->width : own->width;
    o->classes = o->classes ? o->classes : own->classes;
    o->width_multiplier = o->width_multiplier != 0 ? o->width_multiplier : 1;
    o->input_dtype = o->input_dtype ? o->input_dtype : HK_FLOAT;
    o->scale = o->scale != 0 ? o->scale : o->input_dtype == HK_UINT8 ? 255 : 1;
    HK_TRY(check_sizes(o, r));
    HK_TRY(check_normalisation(o));
    if (o->input_dtype != HK_FLOAT && o->input_dtype != HK_UINT8)
        return HK_ERR(HK_INVALID_ARGUMENT, "input type is %s, expected float32 or uint8",
                      hk_dtype_name(o->input_dtype));
    if ((int)o->layout < HK_PIXELS_CHW || o->layout > HK_PIXELS_VECTOR)
        return HK_ERR(HK_INVALID_ARGUMENT, "layout is %d, expected one of hk_pixel_layout", (int)o->layout);
    if (o->layout == HK_PIXELS_VECTOR && !r->takes_vector)
        return HK_ERR(HK_INVALID_ARGUMENT, "%s takes images; rows of features are for mlp", own->name);
    if (o->layout == HK_PIXELS_HW && o->channels != 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "layout HW has one channel, %lld were asked for", (long long)o->channels);
    if (!(o->dropout < 1))
        return HK_ERR(HK_INVALID_ARGUMENT, "dropout is %g, expected less than 1", o->dropout);
    return NULL;
}

/* ---- Preprocessing. ---- */

static hk_value *constant(hki_model *m, const char *name, hk_dtype dtype, int rank, const int64_t *dims,
                          const void *data)
{
    hk_tensor *tensor;
    hk_status status = hk_tensor_from(&tensor, data, dtype, rank, dims);
    if (status)
        return hki_graph_fail(m->graph, status);
    hk_value *value = hk_graph_constant(m->graph, name, tensor);
    hk_tensor_free(tensor);
    return value;
}

/* One number for all channels, or one for each. */
static hk_value *per_channel(hki_model *m, const char *name, int count, const float *values)
{
    int64_t dims[] = {count, 1, 1};
    int rank = count == 1 ? 0 : m->options.layout == HK_PIXELS_VECTOR ? 1 : 3;
    return constant(m, name, HK_FLOAT, rank, dims, values);
}

/* The graph's input, as stored. */
static hk_value *input(hki_model *m)
{
    const hk_architecture_options *o = &m->options;
    int64_t n = hk_graph_symbol(m->graph, "N"), c = o->channels, h = o->height, w = o->width;
    int64_t dims[][4] = {{n, c, h, w}, {n, h, w, c}, {n, h, w}, {n, c}};
    static const int ranks[] = {4, 4, 3, 2};
    return hk_graph_input(m->graph, "input", o->input_dtype, ranks[o->layout], dims[o->layout]);
}

/* N C H W in float32, normalised: ((x / scale) - mean) / deviation. */
static hk_value *preprocess(hki_model *m, hk_value *x)
{
    const hk_architecture_options *o = &m->options;
    float scale = (float)o->scale;
    hk_value *y = NULL;
    if (o->layout == HK_PIXELS_HWC) {
        hk_graph_node(m->graph, "", "Transpose", "preprocess.transpose", HK_VALUES(x),
                      HK_ATTRIBUTES(HK_INTS("perm", 0, 3, 1, 2)), 1, &y);
        x = y;
    }
    if (o->layout == HK_PIXELS_HW)
        x = hki_model_apply(m, "preprocess.unsqueeze", "Unsqueeze", x,
                            constant(m, "preprocess.axes", HK_INT64, 1, (int64_t[]){1}, (int64_t[]){1}));
    if (o->input_dtype != HK_FLOAT && x) {
        hk_graph_node(m->graph, "", "Cast", "preprocess.cast", HK_VALUES(x), HK_ATTRIBUTES(HK_INT("to", HK_FLOAT)), 1,
                      &y);
        x = y;
    }
    if (scale != 1)
        x = hki_model_apply(m, "preprocess.rescale", "Div", x,
                            constant(m, "preprocess.scale", HK_FLOAT, 0, NULL, &scale));
    if (o->mean_count)
        x = hki_model_apply(m, "preprocess.center", "Sub", x,
                            per_channel(m, "preprocess.mean", o->mean_count, o->mean));
    if (o->deviation_count)
        x = hki_model_apply(m, "preprocess.normalize", "Div", x,
                            per_channel(m, "preprocess.deviation", o->deviation_count, o->deviation));
    return x;
}

hk_status hk_architecture_create(hk_graph **out, const char *name, const hk_architecture_options *options)
{
    *out = NULL;
    const row *r = NULL;
    HK_TRY(find(&r, name));
    hki_model m = {.options = options ? *options : hk_architecture_defaults()};
    HK_TRY_CTX(complete(&m.options, r), "architecture '%s'", name);
    HK_TRY(hk_graph_create(&m.graph, name));
    hk_value *logits = r->build(&m, preprocess(&m, input(&m)));
    hk_graph_output(m.graph, "logits", logits);
    if (m.options.probabilities && logits) {
        hk_value *y = NULL;
        hk_graph_node(m.graph, "", "Softmax", "probabilities", HK_VALUES(logits), HK_ATTRIBUTES(HK_INT("axis", 1)), 1,
                      &y);
        hk_graph_output(m.graph, "probabilities", y);
    }
    hk_status status = hk_graph_status(m.graph);
    if (!status)
        status = hk_graph_set_metadata(m.graph, "halka.architecture", name);
    if (status) {
        hk_graph_free(m.graph);
        return hki_error_context(status, "architecture '%s' for samples of %lld x %lld x %lld", name,
                                 (long long)m.options.channels, (long long)m.options.height,
                                 (long long)m.options.width);
    }
    *out = m.graph;
    return NULL;
}
