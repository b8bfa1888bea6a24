/* Networks for small devices: MobileNetV2 (Sandler et al. 2018, table 2), SqueezeNet 1.1 (Iandola et al. 2016, and its
 * authors' later version 1.1), EfficientNet-B0 (Tan and Le 2019, table 1). Parameter names as in torchvision.
 * EfficientNet's stochastic depth is left out: it changes training only, and ONNX has no node for it. */
#include "models/builder.h"

static hk_value *conv_bn(hki_model *m, const char *conv_name, const char *bn_name, hk_value *x, hki_conv conv)
{
    return hki_model_batch_norm(m, bn_name, hki_model_conv(m, conv_name, x, conv));
}

/* ---- MobileNetV2. ---- */

/* PREFIX.0 convolution, PREFIX.1 batch normalisation, clip to 0 .. 6. */
static hk_value *conv_bn_relu6(hki_model *m, const char *prefix, hk_value *x, hki_conv conv)
{
    char a[HKI_NAME], b[HKI_NAME], c[HKI_NAME];
    x = conv_bn(m, hki_model_name(a, "%s.0", prefix), hki_model_name(b, "%s.1", prefix), x, conv);
    return hki_model_relu6(m, hki_model_name(c, "%s.2", prefix), x);
}

static hk_value *inverted_residual(hki_model *m, int index, hk_value *x, int64_t expand, int64_t out, int64_t stride)
{
    char a[HKI_NAME], b[HKI_NAME];
    int64_t in = hki_model_channels(x), hidden = in * expand;
    int part = 0;
    hk_value *y = x;
    if (expand != 1)
        y = conv_bn_relu6(m, hki_model_name(a, "features.%d.conv.%d", index, part++), y,
                          (hki_conv){.out = hidden, .init = HKI_INIT_HE_FAN_OUT});
    y = conv_bn_relu6(m, hki_model_name(a, "features.%d.conv.%d", index, part++), y,
                      (hki_conv){hidden, 3, stride, 1, hidden, .init = HKI_INIT_HE_FAN_OUT});
    hki_model_name(a, "features.%d.conv.%d", index, part);
    hki_model_name(b, "features.%d.conv.%d", index, part + 1);
    y = conv_bn(m, a, b, y, (hki_conv){.out = out, .init = HKI_INIT_HE_FAN_OUT});
    if (stride != 1 || in != out || !y)
        return y;
    return hki_model_apply(m, hki_model_name(a, "features.%d.add", index), "Add", x, y);
}

hk_value *hki_build_mobilenetv2(hki_model *m, hk_value *x)
{
    static const struct {
        int64_t expand, out, count, stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int index = 1;
    x = conv_bn_relu6(m, "features.0", x, (hki_conv){hki_model_scaled(m, 32), 3, 2, 1, .init = HKI_INIT_HE_FAN_OUT});
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int64_t i = 0; i < rows[row].count; i++)
            x = inverted_residual(m, index++, x, rows[row].expand, hki_model_scaled(m, rows[row].out),
                                  i ? 1 : rows[row].stride);
    int64_t last = m->options.width_multiplier > 1 ? hki_model_scaled(m, 1280) : 1280;
    x = conv_bn_relu6(m, "features.18", x, (hki_conv){.out = last, .init = HKI_INIT_HE_FAN_OUT});
    x = hki_model_pool_flatten(m, x);
    x = hki_model_dropout(m, "classifier.0", x, 0.2);
    return hki_model_linear(m, "classifier.1", "logits", x, m->options.classes, HKI_INIT_NORMAL_001);
}

/* ---- SqueezeNet 1.1. ---- */

static hk_value *conv_relu(hki_model *m, const char *name, hk_value *x, hki_conv conv)
{
    char relu[HKI_NAME];
    conv.bias = true;
    x = hki_model_conv(m, name, x, conv);
    return hki_model_apply(m, hki_model_name(relu, "%s.relu", name), "Relu", x, NULL);
}

static hk_value *fire(hki_model *m, int index, hk_value *x, int64_t squeeze, int64_t expand)
{
    char name[HKI_NAME];
    hki_conv point = {.out = squeeze, .init = HKI_INIT_HE_UNIFORM},
             full = {expand, 3, 1, 1, .init = HKI_INIT_HE_UNIFORM};
    x = conv_relu(m, hki_model_name(name, "features.%d.squeeze", index), x, point);
    point.out = expand;
    hk_value *a = conv_relu(m, hki_model_name(name, "features.%d.expand1x1", index), x, point);
    hk_value *b = conv_relu(m, hki_model_name(name, "features.%d.expand3x3", index), x, full);
    hk_value *y = NULL;
    if (a && b)
        hk_graph_node(m->graph, "", "Concat", hki_model_name(name, "features.%d.concat", index), HK_VALUES(a, b),
                      HK_ATTRIBUTES(HK_INT("axis", 1)), 1, &y);
    return y;
}

hk_value *hki_build_squeezenet(hki_model *m, hk_value *x)
{
    x = conv_relu(m, "features.0", x, (hki_conv){64, 3, 2, 0, .init = HKI_INIT_HE_UNIFORM});
    x = hki_model_max_pool(m, "features.2", x, 3, 2, 0, true);
    x = fire(m, 3, x, 16, 64);
    x = fire(m, 4, x, 16, 64);
    x = hki_model_max_pool(m, "features.5", x, 3, 2, 0, true);
    x = fire(m, 6, x, 32, 128);
    x = fire(m, 7, x, 32, 128);
    x = hki_model_max_pool(m, "features.8", x, 3, 2, 0, true);
    x = fire(m, 9, x, 48, 192);
    x = fire(m, 10, x, 48, 192);
    x = fire(m, 11, x, 64, 256);
    x = fire(m, 12, x, 64, 256);
    x = hki_model_dropout(m, "classifier.0", x, 0.5);
    x = conv_relu(m, "classifier.1", x, (hki_conv){.out = m->options.classes, .init = HKI_INIT_NORMAL_001});
    x = hki_model_apply(m, "pool", "GlobalAveragePool", x, NULL);
    return hki_model_apply(m, "logits", "Flatten", x, NULL);
}

/* ---- EfficientNet-B0. ---- */

static hk_value *conv_bn_silu(hki_model *m, const char *prefix, hk_value *x, hki_conv conv)
{
    char a[HKI_NAME], b[HKI_NAME], c[HKI_NAME];
    x = conv_bn(m, hki_model_name(a, "%s.0", prefix), hki_model_name(b, "%s.1", prefix), x, conv);
    return x ? hki_model_silu(m, hki_model_name(c, "%s.2", prefix), x) : NULL;
}

/* Squeeze-and-excitation (Hu et al. 2018): channels weighted by a sigmoid of what a bottleneck makes of their means. */
static hk_value *squeeze_excite(hki_model *m, const char *prefix, hk_value *x, int64_t squeezed)
{
    char name[HKI_NAME];
    hki_conv conv = {.out = squeezed, .bias = true, .init = HKI_INIT_HE_FAN_OUT};
    hk_value *s = hki_model_apply(m, hki_model_name(name, "%s.avgpool", prefix), "GlobalAveragePool", x, NULL);
    s = hki_model_conv(m, hki_model_name(name, "%s.fc1", prefix), s, conv);
    s = s ? hki_model_silu(m, hki_model_name(name, "%s.activation", prefix), s) : NULL;
    conv.out = hki_model_channels(x);
    s = hki_model_conv(m, hki_model_name(name, "%s.fc2", prefix), s, conv);
    s = hki_model_apply(m, hki_model_name(name, "%s.scale", prefix), "Sigmoid", s, NULL);
    return s ? hki_model_apply(m, hki_model_name(name, "%s.mul", prefix), "Mul", x, s) : NULL;
}

static hk_value *mbconv(hki_model *m, const char *prefix, hk_value *x, int64_t expand, int64_t kernel, int64_t stride,
                        int64_t out)
{
    char a[HKI_NAME], b[HKI_NAME];
    int64_t in = hki_model_channels(x), hidden = in * expand;
    int part = 0;
    hk_value *y = x;
    if (expand != 1)
        y = conv_bn_silu(m, hki_model_name(a, "%s.block.%d", prefix, part++), y,
                         (hki_conv){.out = hidden, .init = HKI_INIT_HE_FAN_OUT});
    y = conv_bn_silu(m, hki_model_name(a, "%s.block.%d", prefix, part++), y,
                     (hki_conv){hidden, kernel, stride, kernel / 2, hidden, .init = HKI_INIT_HE_FAN_OUT});
    y = squeeze_excite(m, hki_model_name(a, "%s.block.%d", prefix, part++), y, in < 4 ? 1 : in / 4);
    hki_model_name(a, "%s.block.%d.0", prefix, part);
    hki_model_name(b, "%s.block.%d.1", prefix, part);
    y = conv_bn(m, a, b, y, (hki_conv){.out = out, .init = HKI_INIT_HE_FAN_OUT});
    if (stride != 1 || in != out || !y)
        return y;
    return hki_model_apply(m, hki_model_name(a, "%s.add", prefix), "Add", y, x);
}

hk_value *hki_build_efficientnet_b0(hki_model *m, hk_value *x)
{
    static const struct {
        int64_t expand, kernel, stride, out;
        int count;
    } rows[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
    char prefix[HKI_NAME];
    x = conv_bn_silu(m, "features.0", x, (hki_conv){32, 3, 2, 1, .init = HKI_INIT_HE_FAN_OUT});
    for (int row = 0; row < 7; row++)
        for (int i = 0; i < rows[row].count; i++)
            x = mbconv(m, hki_model_name(prefix, "features.%d.%d", row + 1, i), x, rows[row].expand, rows[row].kernel,
                       i ? 1 : rows[row].stride, rows[row].out);
    x = conv_bn_silu(m, "features.8", x, (hki_conv){.out = 1280, .init = HKI_INIT_HE_FAN_OUT});
    x = hki_model_pool_flatten(m, x);
    x = hki_model_dropout(m, "classifier.0", x, 0.2);
    return hki_model_linear(m, "classifier.1", "logits", x, m->options.classes, HKI_INIT_FAN_OUT_UNIFORM);
}
