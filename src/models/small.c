/* Small networks for 28x28 pixels: a multi-layer perceptron, LeNet-5 in today's form, and the convolutional network of
 * the quickstart. */
#include "models/builder.h"

hk_value *hki_build_mlp(hki_model *m, hk_value *x)
{
    static const int64_t own[] = {128};
    const int64_t *hidden = m->options.widths ? m->options.widths : own;
    int count = m->options.widths ? m->options.width_count : 1;
    char name[HKI_NAME];
    if (x && hk_value_rank(x) > 2)
        x = hki_model_apply(m, "flatten", "Flatten", x, NULL);
    for (int i = 0; i < count; i++) {
        x = hki_model_linear(m, hki_model_name(name, "fc%d", i + 1), NULL, x, hidden[i], HKI_INIT_HE_UNIFORM);
        x = hki_model_apply(m, hki_model_name(name, "relu%d", i + 1), "Relu", x, NULL);
        x = hki_model_dropout(m, hki_model_name(name, "dropout%d", i + 1), x, 0);
    }
    return hki_model_linear(m, hki_model_name(name, "fc%d", count + 1), "logits", x, m->options.classes,
                            HKI_INIT_GLOROT_UNIFORM);
}

/* LeCun et al. 1998, figure 2, with ReLU, max pooling and full connections between C1 and C3: 61,706 parameters. */
hk_value *hki_build_lenet(hki_model *m, hk_value *x)
{
    x = hki_model_conv(m, "conv1", x, (hki_conv){6, 5, 1, 2, .bias = true, .init = HKI_INIT_HE_UNIFORM});
    x = hki_model_apply(m, "relu1", "Relu", x, NULL);
    x = hki_model_max_pool(m, "pool1", x, 2, 2, 0, false);
    x = hki_model_conv(m, "conv2", x, (hki_conv){16, 5, 1, 0, .bias = true, .init = HKI_INIT_HE_UNIFORM});
    x = hki_model_apply(m, "relu2", "Relu", x, NULL);
    x = hki_model_max_pool(m, "pool2", x, 2, 2, 0, false);
    x = hki_model_apply(m, "flatten", "Flatten", x, NULL);
    x = hki_model_linear(m, "fc1", NULL, x, 120, HKI_INIT_HE_UNIFORM);
    x = hki_model_apply(m, "relu3", "Relu", x, NULL);
    x = hki_model_dropout(m, "dropout1", x, 0);
    x = hki_model_linear(m, "fc2", NULL, x, 84, HKI_INIT_HE_UNIFORM);
    x = hki_model_apply(m, "relu4", "Relu", x, NULL);
    x = hki_model_dropout(m, "dropout2", x, 0);
    return hki_model_linear(m, "fc3", "logits", x, m->options.classes, HKI_INIT_GLOROT_UNIFORM);
}

/* Stages of two conv-bn-relu blocks and a 2x2 max pool; then dropout, a dense layer of 128, dropout, and the classes.
 * The layout of VGG (Simonyan and Zisserman 2015), small, with batch normalisation. */
hk_value *hki_build_cnn(hki_model *m, hk_value *x)
{
    static const int64_t own[] = {16, 32, 64};
    const int64_t *widths = m->options.widths ? m->options.widths : own;
    int stages = m->options.widths ? m->options.width_count : 3;
    char name[HKI_NAME];
    for (int stage = 1; stage <= stages; stage++) {
        double scaled = (double)widths[stage - 1] * m->options.width_multiplier;
        hki_conv conv = {
            .out = scaled < 1 ? 1 : (int64_t)(scaled + 0.5), .kernel = 3, .pad = 1, .init = HKI_INIT_HE_FAN_OUT};
        for (int i = 1; i <= 2; i++) {
            x = hki_model_conv(m, hki_model_name(name, "stage%d.conv%d", stage, i), x, conv);
            x = hki_model_batch_norm(m, hki_model_name(name, "stage%d.bn%d", stage, i), x);
            x = hki_model_apply(m, hki_model_name(name, "stage%d.relu%d", stage, i), "Relu", x, NULL);
        }
        x = hki_model_max_pool(m, hki_model_name(name, "stage%d.pool", stage), x, 2, 2, 0, false);
    }
    x = hki_model_apply(m, "flatten", "Flatten", x, NULL);
    x = hki_model_dropout(m, "dropout1", x, 0.3);
    x = hki_model_linear(m, "fc1", NULL, x, 128, HKI_INIT_HE_UNIFORM);
    x = hki_model_apply(m, "relu", "Relu", x, NULL);
    x = hki_model_dropout(m, "dropout2", x, 0.3);
    return hki_model_linear(m, "fc2", "logits", x, m->options.classes, HKI_INIT_GLOROT_UNIFORM);
}
