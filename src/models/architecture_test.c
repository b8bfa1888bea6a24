/* The architectures: parameter counts of the papers (as torchvision counts them), shapes, equal bytes for equal seeds,
 * bad options. */
#include "halka/architecture.h"

#include <stdbool.h>

#include "halka/model.h"
#include "harness/test.h"

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

/* What is trained: all float initializers but statistics, scalars and preprocessing. */
static int64_t parameters(const hk_graph *graph)
{
    int64_t total = 0;
    for (int i = 0; i < hk_graph_constant_count(graph); i++) {
        const hk_value *value = hk_graph_constant_at(graph, i);
        const char *name = hk_value_name(value);
        if (hk_value_dtype(value) == HK_FLOAT && hk_value_rank(value) > 0 && !ends_with(name, ".running_mean") &&
            !ends_with(name, ".running_var") && strncmp(name, "preprocess.", 11))
            total += hk_tensor_count(hk_value_tensor(value));
    }
    return total;
}

static void check_count(const char *name, int64_t expected, int64_t classes)
{
    hk_graph *graph;
    REQUIRE_OK(hk_architecture_create(&graph, name, NULL));
    if (parameters(graph) != expected)
        printf("%s:\n", name);
    CHECK_EQ(parameters(graph), expected);
    const hk_value *logits = hk_graph_output_at(graph, 0);
    CHECK_STR(hk_value_name(logits), "logits");
    CHECK_STR(hk_graph_output_name(graph, 0), "logits");
    CHECK_EQ(hk_value_rank(logits), 2);
    CHECK(hk_value_dims(logits)[0] < 0);
    CHECK_EQ(hk_value_dims(logits)[1], classes);
    hk_graph_free(graph);
}

TEST(parameter_counts)
{
    check_count("mlp", 784 * 128 + 128 + 128 * 10 + 10, 10);
    check_count("lenet", 61706, 10);     /* LeNet-5 with full connections */
    check_count("resnet20", 269722, 10); /* He et al. 2015, table 6: 0.27 M */
    check_count("resnet32", 464154, 10); /* 0.46 M */
    check_count("resnet56", 853018, 10); /* 0.85 M */
    check_count("resnet18-cifar", 11173962, 10);
    check_count("resnet18", 11689512, 1000); /* from here on: torchvision's tables */
    check_count("resnet34", 21797672, 1000);
    check_count("resnet50", 25557032, 1000);
    check_count("mobilenetv2", 3504872, 1000);
    check_count("squeezenet1.1", 1235496, 1000);
    check_count("efficientnet-b0", 5288548, 1000);
}

static const hk_tensor *weight(const hk_graph *graph, const char *name)
{
    const hk_value *value = hk_graph_find(graph, name);
    if (!value)
        printf("there is no '%s'\n", name);
    CHECK(value != NULL);
    return value ? hk_value_tensor(value) : NULL;
}

TEST(names)
{
    hk_graph *graph;
    REQUIRE_OK(hk_architecture_create(&graph, "resnet50", NULL));
    const hk_tensor *w = weight(graph, "layer1.0.downsample.0.weight");
    CHECK(w && hk_tensor_dims(w)[0] == 256 && hk_tensor_dims(w)[1] == 64);
    w = weight(graph, "layer4.2.conv3.weight");
    CHECK(w && hk_tensor_dims(w)[0] == 2048 && hk_tensor_dims(w)[1] == 512);
    weight(graph, "fc.bias");
    hk_graph_free(graph);
    REQUIRE_OK(hk_architecture_create(&graph, "mobilenetv2", NULL));
    w = weight(graph, "features.1.conv.0.0.weight"); /* depthwise */
    CHECK(w && hk_tensor_dims(w)[0] == 32 && hk_tensor_dims(w)[1] == 1);
    weight(graph, "features.17.conv.3.running_var");
    hk_graph_free(graph);
    REQUIRE_OK(hk_architecture_create(&graph, "efficientnet-b0", NULL));
    w = weight(graph, "features.2.0.block.2.fc1.weight"); /* squeezed to a quarter of the block's input */
    CHECK(w && hk_tensor_dims(w)[0] == 4 && hk_tensor_dims(w)[1] == 96);
    hk_graph_free(graph);
}

TEST(same_seed_same_bytes)
{
    hk_architecture_options o = hk_architecture_defaults();
    hk_graph *a, *b, *c;
    REQUIRE_OK(hk_architecture_create(&a, "cnn", &o));
    o.classes = 7; /* does not touch the weights of other layers */
    REQUIRE_OK(hk_architecture_create(&b, "cnn", &o));
    o.seed = 1;
    REQUIRE_OK(hk_architecture_create(&c, "cnn", &o));
    const hk_tensor *x = weight(a, "stage1.conv2.weight"), *y = weight(b, "stage1.conv2.weight");
    const hk_tensor *z = weight(c, "stage1.conv2.weight");
    CHECK_BYTES(hk_tensor_const_data(x), hk_tensor_const_data(y), hk_tensor_size(x));
    CHECK(memcmp(hk_tensor_const_data(x), hk_tensor_const_data(z), hk_tensor_size(x)) != 0);
    const float *w = hk_tensor_const_data(x);
    double sum = 0, square = 0, count = (double)hk_tensor_count(x);
    for (int64_t i = 0; i < hk_tensor_count(x); i++) {
        sum += (double)w[i];
        square += (double)w[i] * (double)w[i];
    }
    CHECK_CLOSE(sum / count, 0, 0.01);                                 /* 2304 draws of deviation 0.118 */
    CHECK_CLOSE(sqrt(square / count) / sqrt(2.0 / (16 * 9)), 1, 0.05); /* He: 2 / fan out */
    hk_graph_free(a);
    hk_graph_free(b);
    hk_graph_free(c);
}

TEST(preprocessing)
{
    float mean[] = {0.1f, 0.2f, 0.3f}, deviation = 0.5f;
    hk_architecture_options o = hk_architecture_defaults();
    o.input_dtype = HK_UINT8;
    o.layout = HK_PIXELS_HWC;
    o.mean = mean;
    o.mean_count = 3;
    o.deviation = &deviation;
    o.deviation_count = 1;
    o.probabilities = true;
    hk_graph *graph;
    REQUIRE_OK(hk_architecture_create(&graph, "resnet20", &o));
    const hk_value *input = hk_graph_input_at(graph, 0);
    CHECK_EQ(hk_value_dtype(input), HK_UINT8);
    CHECK_EQ(hk_value_dims(input)[3], 3);
    CHECK_EQ(hk_graph_output_count(graph), 2);
    CHECK_STR(hk_graph_output_name(graph, 1), "probabilities");
    CHECK_EQ(parameters(graph), 269722);
    hk_graph_free(graph);
    o = hk_architecture_defaults();
    o.layout = HK_PIXELS_HW;
    o.input_dtype = HK_UINT8;
    REQUIRE_OK(hk_architecture_create(&graph, "cnn", &o));
    CHECK_EQ(hk_value_rank(hk_graph_input_at(graph, 0)), 3);
    hk_graph_free(graph);
    o.layout = HK_PIXELS_VECTOR;
    o.input_dtype = HK_FLOAT;
    o.channels = 13;
    o.widths = (int64_t[]){20, 30};
    o.width_count = 2;
    REQUIRE_OK(hk_architecture_create(&graph, "mlp", &o));
    CHECK_EQ(parameters(graph), 13 * 20 + 20 + 20 * 30 + 30 + 30 * 10 + 10);
    hk_graph_free(graph);
}

TEST(saved_and_loaded)
{
    hk_graph *graph, *again;
    for (int i = 0; i < hk_architecture_count(); i++) {
        const char *name = hk_architecture_at(i)->name;
        if (hk_architecture_at(i)->width > 32)
            continue; /* the large ones differ in size only; tests/cli saves one */
        REQUIRE_OK(hk_architecture_create(&graph, name, NULL));
        REQUIRE_OK(hk_model_save(graph, TEST_BINARY_DIR "/architecture.onnx", NULL));
        REQUIRE_OK(hk_model_load(&again, TEST_BINARY_DIR "/architecture.onnx"));
        CHECK_EQ(hk_graph_node_count(again), hk_graph_node_count(graph));
        CHECK_EQ(parameters(again), parameters(graph));
        for (int k = 0; k < hk_graph_constant_count(graph); k++) {
            const hk_tensor *a = hk_value_tensor(hk_graph_constant_at(graph, k));
            const hk_tensor *b = weight(again, hk_value_name(hk_graph_constant_at(graph, k)));
            if (b)
                CHECK_BYTES(hk_tensor_const_data(a), hk_tensor_const_data(b), hk_tensor_size(a));
        }
        hk_graph_free(graph);
        hk_graph_free(again);
    }
}

TEST(bad_options)
{
    hk_graph *graph;
    CHECK_FAILS(hk_architecture_create(&graph, "resnet-20", NULL), HK_NOT_FOUND, "did you mean 'resnet20'?");
    CHECK(graph == NULL);
    hk_architecture_options o = hk_architecture_defaults();
    o.classes = -1;
    CHECK_FAILS(hk_architecture_create(&graph, "mlp", &o), HK_INVALID_ARGUMENT, "classes is -1");
    o = hk_architecture_defaults();
    o.height = o.width = 4;
    CHECK_FAILS(hk_architecture_create(&graph, "lenet", &o), HK_INVALID_SHAPE, "4 x 4");
    o = hk_architecture_defaults();
    o.widths = (int64_t[]){3};
    o.width_count = 1;
    CHECK_FAILS(hk_architecture_create(&graph, "resnet20", &o), HK_INVALID_ARGUMENT, "widths");
    o = hk_architecture_defaults();
    o.layout = HK_PIXELS_HW;
    o.channels = 3;
    CHECK_FAILS(hk_architecture_create(&graph, "cnn", &o), HK_INVALID_ARGUMENT, "one channel");
    o = hk_architecture_defaults();
    o.dropout = NAN;
    CHECK_FAILS(hk_architecture_create(&graph, "cnn", &o), HK_INVALID_ARGUMENT, "dropout");
    float zero = 0;
    o = hk_architecture_defaults();
    o.deviation = &zero;
    o.deviation_count = 1;
    CHECK_FAILS(hk_architecture_create(&graph, "cnn", &o), HK_INVALID_ARGUMENT, "deviation[0]");
    o = hk_architecture_defaults();
    o.layout = HK_PIXELS_VECTOR;
    CHECK_FAILS(hk_architecture_create(&graph, "cnn", &o), HK_INVALID_ARGUMENT, "rows of features");
    o = hk_architecture_defaults();
    o.input_dtype = HK_INT32;
    CHECK_FAILS(hk_architecture_create(&graph, "cnn", &o), HK_INVALID_ARGUMENT, "int32");
}

TEST_MAIN()
