/* Residual networks: He et al., "Deep Residual Learning for Image Recognition", 2015. The ImageNet networks of
 * section 4.1 (the stride of a bottleneck stands in its 3x3 convolution, as in torchvision, "v1.5"), and the CIFAR-10
 * networks of section 4.2 with their parameter-free shortcuts (option A). */
#include "models/builder.h"

typedef struct network {
    int blocks[4];
    int stages;
    int64_t width;      /* channels of the first stage */
    int expansion;      /* 1: basic blocks; 4: bottlenecks */
    bool small_stem;    /* 3x3 convolution and no pooling: for 32x32 pixels */
    bool free_shortcut; /* option A: subsample and pad with zero channels */
    hki_init init;
} network;

static hk_value *conv_bn(hki_model *m, const char *prefix, int i, hk_value *x, hki_conv conv)
{
    char name[HKI_NAME];
    x = hki_model_conv(m, hki_model_name(name, "%s.conv%d", prefix, i), x, conv);
    return hki_model_batch_norm(m, hki_model_name(name, "%s.bn%d", prefix, i), x);
}

static hk_value *relu(hki_model *m, const char *prefix, int i, hk_value *x)
{
    char name[HKI_NAME];
    return hki_model_apply(m, hki_model_name(name, "%s.relu%d", prefix, i), "Relu", x, NULL);
}

static hk_value *ints(hki_model *m, const char *name, int64_t count, const int64_t *values)
{
    hk_value *value = hk_graph_find(m->graph, name);
    if (value)
        return value;
    hk_tensor *tensor = NULL;
    hk_status status = hk_tensor_from(&tensor, values, HK_INT64, 1, &count);
    if (status) {
        hk_status_free(status); /* out of memory is the only way: the graph runs into it next */
        return NULL;
    }
    value = hk_graph_constant(m->graph, name, tensor);
    hk_tensor_free(tensor);
    return value;
}

/* Option A: every second pixel, and zero channels on both sides. */
static hk_value *free_shortcut(hki_model *m, const char *prefix, hk_value *x, int64_t out, int64_t stride)
{
    char name[HKI_NAME];
    int64_t in = hki_model_channels(x), before = (out - in) / 2, after = out - in - before;
    hk_value *starts = ints(m, "shortcut.starts", 2, (int64_t[]){0, 0});
    hk_value *ends = ints(m, "shortcut.ends", 2, (int64_t[]){INT64_MAX, INT64_MAX});
    hk_value *axes = ints(m, "shortcut.axes", 2, (int64_t[]){2, 3});
    hk_value *steps = ints(m, "shortcut.steps", 2, (int64_t[]){stride, stride});
    hk_value *slice = NULL, *pad = NULL;
    if (!x || !starts || !ends || !axes || !steps)
        return NULL;
    hk_graph_node(m->graph, "", "Slice", hki_model_name(name, "%s.subsample", prefix),
                  HK_VALUES(x, starts, ends, axes, steps), HK_NO_ATTRIBUTES, 1, &slice);
    hki_model_name(name, "%s.pads", prefix);
    hk_value *pads = ints(m, name, 8, (int64_t[]){0, before, 0, 0, 0, after, 0, 0});
    if (slice && pads)
        hk_graph_node(m->graph, "", "Pad", hki_model_name(name, "%s.pad", prefix), HK_VALUES(slice, pads),
                      HK_NO_ATTRIBUTES, 1, &pad);
    return pad;
}

static hk_value *block(hki_model *m, const network *net, const char *prefix, hk_value *x, int64_t width, int64_t stride)
{
    char name[HKI_NAME];
    int64_t out = width * net->expansion;
    hki_conv full = {.out = width, .kernel = 3, .pad = 1, .init = net->init};
    hki_conv point = {.out = width, .init = net->init};
    hk_value *y = x, *shortcut = x;
    if (net->expansion > 1)
        y = relu(m, prefix, 1, conv_bn(m, prefix, 1, y, point));
    full.stride = stride;
    int last = net->expansion > 1 ? 3 : 2;
    y = relu(m, prefix, last - 1, conv_bn(m, prefix, last - 1, y, full));
    full.stride = 1;
    point.out = out;
    y = conv_bn(m, prefix, last, y, net->expansion > 1 ? point : full);
    if (stride != 1 || hki_model_channels(x) != out) {
        if (net->free_shortcut) {
            shortcut = free_shortcut(m, prefix, x, out, stride);
        } else {
            point.stride = stride;
            shortcut = hki_model_conv(m, hki_model_name(name, "%s.downsample.0", prefix), x, point);
            shortcut = hki_model_batch_norm(m, hki_model_name(name, "%s.downsample.1", prefix), shortcut);
        }
    }
    if (!y || !shortcut)
        return NULL;
    y = hki_model_apply(m, hki_model_name(name, "%s.add", prefix), "Add", y, shortcut);
    return relu(m, prefix, last, y);
}

static hk_value *build(hki_model *m, hk_value *x, const network *net)
{
    char prefix[HKI_NAME];
    hki_conv stem = {.out = net->width, .kernel = 7, .stride = 2, .pad = 3, .init = net->init};
    if (net->small_stem)
        stem.kernel = 3, stem.stride = 1, stem.pad = 1;
    x = hki_model_conv(m, "conv1", x, stem);
    x = hki_model_batch_norm(m, "bn1", x);
    x = hki_model_apply(m, "relu", "Relu", x, NULL);
    if (!net->small_stem)
        x = hki_model_max_pool(m, "maxpool", x, 3, 2, 1, false);
    for (int stage = 0; stage < net->stages; stage++)
        for (int i = 0; i < net->blocks[stage]; i++)
            x = block(m, net, hki_model_name(prefix, "layer%d.%d", stage + 1, i), x, net->width << stage,
                      i == 0 && stage > 0 ? 2 : 1);
    x = hki_model_pool_flatten(m, x);
    x = hki_model_dropout(m, "dropout", x, 0);
    return hki_model_linear(m, "fc", "logits", x, m->options.classes, HKI_INIT_LECUN_UNIFORM);
}

hk_value *hki_build_resnet18(hki_model *m, hk_value *x)
{
    return build(m, x, &(network){{2, 2, 2, 2}, 4, 64, 1, .init = HKI_INIT_HE_FAN_OUT});
}

hk_value *hki_build_resnet34(hki_model *m, hk_value *x)
{
    return build(m, x, &(network){{3, 4, 6, 3}, 4, 64, 1, .init = HKI_INIT_HE_FAN_OUT});
}

hk_value *hki_build_resnet50(hki_model *m, hk_value *x)
{
    return build(m, x, &(network){{3, 4, 6, 3}, 4, 64, 4, .init = HKI_INIT_HE_FAN_OUT});
}

hk_value *hki_build_resnet18_cifar(hki_model *m, hk_value *x)
{
    return build(m, x, &(network){{2, 2, 2, 2}, 4, 64, 1, .small_stem = true, .init = HKI_INIT_HE_FAN_OUT});
}

/* 6n + 2 layers: three stages of n blocks with 16, 32 and 64 channels. */
static hk_value *cifar(hki_model *m, hk_value *x, int n)
{
    return build(m, x, &(network){{n, n, n}, 3, 16, 1, true, true, HKI_INIT_HE_FAN_IN});
}

hk_value *hki_build_resnet20(hki_model *m, hk_value *x)
{
    return cifar(m, x, 3);
}

hk_value *hki_build_resnet32(hki_model *m, hk_value *x)
{
    return cifar(m, x, 5);
}

hk_value *hki_build_resnet56(hki_model *m, hk_value *x)
{
    return cifar(m, x, 9);
}
