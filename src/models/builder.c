/* Layers for the architectures of this folder; see builder.h. Initial weights are drawn from a key per parameter name,
 * so that they depend on seed and name alone, not on the order in which layers are built. */
#include "models/builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "graph/graph.h"
#include "tensor/random.h"

const char *hki_model_name(char *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, HKI_NAME, format, arguments);
    va_end(arguments);
    return out;
}

/* FNV-1a, 64 bits: a stream number from a parameter's name. */
static uint64_t name_stream(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash;
}

static void fill(float *data, int64_t count, hki_key key, hki_init init, const double *fan)
{
    double in = fan ? fan[0] : 1, out = fan ? fan[1] : 1, bound;
    switch (init) {
    case HKI_INIT_ZERO:
        return; /* tensors are made zeroed */
    case HKI_INIT_ONE:
        for (int64_t i = 0; i < count; i++)
            data[i] = 1.0f;
        return;
    case HKI_INIT_HE_FAN_OUT:
        hki_normal_fill(data, count, key, 0.0f, (float)sqrt(2 / out));
        return;
    case HKI_INIT_HE_FAN_IN:
        hki_normal_fill(data, count, key, 0.0f, (float)sqrt(2 / in));
        return;
    case HKI_INIT_NORMAL_001:
        hki_normal_fill(data, count, key, 0.0f, 0.01f);
        return;
    case HKI_INIT_HE_UNIFORM:
        bound = sqrt(6 / in);
        break;
    case HKI_INIT_GLOROT_UNIFORM:
        bound = sqrt(6 / (in + out));
        break;
    case HKI_INIT_FAN_OUT_UNIFORM:
        bound = 1 / sqrt(out);
        break;
    default:
        bound = 1 / sqrt(in);
    }
    hki_uniform_fill(data, count, key, (float)-bound, (float)bound);
}

hk_value *hki_model_weight(hki_model *m, const char *name, int rank, const int64_t *dims, hki_init init,
                           const double *fan)
{
    hk_tensor *tensor;
    hk_status status = hk_tensor_create(&tensor, HK_FLOAT, rank, dims);
    if (status)
        return hki_graph_fail(m->graph, hki_error_context(status, "parameter '%s'", name));
    fill(hk_tensor_data(tensor), hk_tensor_count(tensor), hki_key_create(m->options.seed, name_stream(name)), init,
         fan);
    hk_value *value = hk_graph_constant(m->graph, name, tensor);
    hk_tensor_free(tensor);
    return value;
}

static hk_value *node(hki_model *m, const char *name, const char *op, int input_count, hk_value *const *inputs,
                      int attribute_count, const hk_attribute *attributes)
{
    hk_value *y = NULL;
    if (inputs[0])
        hk_graph_node(m->graph, "", op, name, input_count, inputs, attribute_count, attributes, 1, &y);
    return y;
}

hk_value *hki_model_apply(hki_model *m, const char *name, const char *op, hk_value *a, hk_value *b)
{
    hk_value *inputs[] = {a, b};
    return node(m, name, op, b ? 2 : 1, inputs, HK_NO_ATTRIBUTES);
}

int64_t hki_model_channels(const hk_value *x)
{
    return x && hk_value_rank(x) > 1 ? hk_value_dims(x)[1] : 1;
}

hk_value *hki_model_conv(hki_model *m, const char *name, hk_value *x, hki_conv conv)
{
    if (!x)
        return NULL;
    char text[HKI_NAME];
    int64_t kernel = conv.kernel ? conv.kernel : 1, stride = conv.stride ? conv.stride : 1, pad = conv.pad;
    int64_t groups = conv.groups ? conv.groups : 1;
    int64_t dims[] = {conv.out, hki_model_channels(x) / groups, kernel, kernel};
    double area = (double)(kernel * kernel), fan[] = {(double)dims[1] * area, (double)conv.out * area / (double)groups};
    hk_value *inputs[3] = {x, hki_model_weight(m, hki_model_name(text, "%s.weight", name), 4, dims, conv.init, fan),
                           NULL};
    if (conv.bias)
        inputs[2] = hki_model_weight(m, hki_model_name(text, "%s.bias", name), 1, dims, HKI_INIT_ZERO, NULL);
    return node(m, name, "Conv", conv.bias ? 3 : 2, inputs,
                HK_ATTRIBUTES(HK_INTS("kernel_shape", kernel, kernel), HK_INTS("strides", stride, stride),
                              HK_INTS("pads", pad, pad, pad, pad), HK_INT("group", groups)));
}

hk_value *hki_model_batch_norm(hki_model *m, const char *name, hk_value *x)
{
    if (!x)
        return NULL;
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    static const hki_init inits[] = {HKI_INIT_ONE, HKI_INIT_ZERO, HKI_INIT_ZERO, HKI_INIT_ONE};
    char text[HKI_NAME];
    int64_t channels = hki_model_channels(x);
    hk_value *inputs[5] = {x};
    for (int i = 0; i < 4; i++)
        inputs[1 + i] =
            hki_model_weight(m, hki_model_name(text, "%s.%s", name, parts[i]), 1, &channels, inits[i], NULL);
    return node(m, name, "BatchNormalization", 5, inputs,
                HK_ATTRIBUTES(HK_FLOAT32("epsilon", 1e-5f), HK_FLOAT32("momentum", 0.9f)));
}

hk_value *hki_model_linear(hki_model *m, const char *name, const char *node_name, hk_value *x, int64_t out,
                           hki_init init)
{
    if (!x)
        return NULL;
    char text[HKI_NAME];
    int64_t dims[] = {out, hki_model_channels(x)};
    double fan[] = {(double)dims[1], (double)out};
    hki_init bias = init == HKI_INIT_LECUN_UNIFORM ? init : HKI_INIT_ZERO;
    hk_value *w = hki_model_weight(m, hki_model_name(text, "%s.weight", name), 2, dims, init, fan);
    hk_value *b = hki_model_weight(m, hki_model_name(text, "%s.bias", name), 1, dims, bias, fan);
    hk_value *inputs[] = {x, w, b};
    return node(m, node_name ? node_name : name, "Gemm", 3, inputs, HK_ATTRIBUTES(HK_INT("transB", 1)));
}

static hk_value *scalar(hki_model *m, const char *name, float value)
{
    hk_tensor *tensor;
    hk_status status = hk_tensor_from(&tensor, &value, HK_FLOAT, 0, NULL);
    if (status)
        return hki_graph_fail(m->graph, status);
    hk_value *constant = hk_graph_constant(m->graph, name, tensor);
    hk_tensor_free(tensor);
    return constant;
}

hk_value *hki_model_dropout(hki_model *m, const char *name, hk_value *x, double own)
{
    double ratio = m->options.dropout < 0 ? own : m->options.dropout;
    if (!x || ratio == 0)
        return x;
    char text[HKI_NAME];
    return hki_model_apply(m, name, "Dropout", x, scalar(m, hki_model_name(text, "%s.ratio", name), (float)ratio));
}

hk_value *hki_model_max_pool(hki_model *m, const char *name, hk_value *x, int64_t kernel, int64_t stride, int64_t pad,
                             bool ceil_mode)
{
    return node(m, name, "MaxPool", 1, &x,
                HK_ATTRIBUTES(HK_INTS("kernel_shape", kernel, kernel), HK_INTS("strides", stride, stride),
                              HK_INTS("pads", pad, pad, pad, pad), HK_INT("ceil_mode", ceil_mode)));
}

hk_value *hki_model_pool_flatten(hki_model *m, hk_value *x)
{
    x = hki_model_apply(m, "pool", "GlobalAveragePool", x, NULL);
    return hki_model_apply(m, "flatten", "Flatten", x, NULL);
}

hk_value *hki_model_relu6(hki_model *m, const char *name, hk_value *x)
{
    hk_value *low = hk_graph_find(m->graph, "zero"), *high = hk_graph_find(m->graph, "six");
    if (!low)
        low = scalar(m, "zero", 0.0f);
    if (!high)
        high = scalar(m, "six", 6.0f);
    hk_value *inputs[] = {x, low, high};
    return node(m, name, "Clip", 3, inputs, HK_NO_ATTRIBUTES);
}

hk_value *hki_model_silu(hki_model *m, const char *name, hk_value *x)
{
    char text[HKI_NAME];
    return hki_model_apply(m, name, "Mul", x,
                           hki_model_apply(m, hki_model_name(text, "%s.sigmoid", name), "Sigmoid", x, NULL));
}

int64_t hki_model_scaled(const hki_model *m, int64_t channels)
{
    double wanted = (double)channels * m->options.width_multiplier;
    int64_t rounded = (int64_t)(wanted + 4) / 8 * 8;
    if (rounded < 8)
        rounded = 8;
    return (double)rounded < 0.9 * wanted ? rounded + 8 : rounded;
}
