/* Reductions, normalizations, poolings and losses: rare types, older opsets, data far from zero, independence of the
 * batch, and what bad input says. Values and gradients in general: the ONNX suite and tests/operators. */
#include "graph/op.h"
#include "halka/session.h"
#include "harness/test.h"

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static hk_graph *eager(void)
{
    hk_graph *g = NULL;
    CHECK_OK(hk_graph_create_eager(&g, "test", &(hk_session_options){.threads = 2}));
    return g;
}

/* A constant of any type from doubles; fewer than the tensor holds are repeated. */
static hk_value *constant(hk_graph *g, hk_dtype dtype, int rank, const int64_t *dims, int count, const double *values)
{
    hk_tensor *t = NULL;
    CHECK_OK(hk_tensor_create(&t, dtype, rank, dims));
    for (int64_t i = 0; t && i < hk_tensor_count(t); i++)
        hki_tensor_set_double(t, i, values[i % count]);
    hk_value *v = hk_graph_constant(g, NULL, t);
    hk_tensor_free(t);
    return v;
}

#define NUMBERS(...) (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__}

static void check_values(hk_graph *g, const hk_value *y, hk_dtype dtype, int count, const double *values)
{
    CHECK_OK(hk_graph_status(g));
    if (!y || !y->tensor) {
        CHECK(!"no value");
        return;
    }
    CHECK_EQ(y->tensor->dtype, dtype);
    CHECK_EQ(hk_tensor_count(y->tensor), count);
    for (int i = 0; i < count && i < hk_tensor_count(y->tensor); i++)
        CHECK_CLOSE(hki_tensor_get_double(y->tensor, i), values[i], dtype == HK_FLOAT16 ? 1e-3 : 1e-5);
}

/* ---- Types. ---- */

TEST(integers_are_exact)
{
    hk_graph *g = eager();
    hk_value *big = constant(g, HK_INT64, DIMS(3), NUMBERS(9007199254740992.0, 1, 1));
    hk_value *sum = hk_graph_apply(g, "ReduceSum", HK_VALUES(big), HK_NO_ATTRIBUTES);
    CHECK_OK(hk_graph_status(g));
    CHECK(sum && *(int64_t *)sum->tensor->data == 9007199254740994);
    hk_value *bytes = constant(g, HK_INT8, DIMS(4), NUMBERS(-128, 5, 127, 3));
    check_values(g, hki_unary(g, "ReduceMin", bytes), HK_INT8, NUMBERS(-128));
    check_values(g, hki_unary(g, "ReduceMax", bytes), HK_INT8, NUMBERS(127));
    hk_value *large = constant(g, HK_UINT64, DIMS(2), NUMBERS(18446744073709549568.0, 7));
    check_values(g, hki_unary(g, "ReduceMax", large), HK_UINT64, NUMBERS(18446744073709549568.0));
    hk_value *whole = constant(g, HK_INT32, DIMS(4), NUMBERS(1, 2, 3, 5));
    check_values(g, hki_unary(g, "ReduceMean", whole), HK_INT32, NUMBERS(2));
    check_values(g, hki_unary(g, "ReduceL2", whole), HK_INT32, NUMBERS(6));
    hk_value *flags = constant(g, HK_BOOL, DIMS(3), NUMBERS(0, 1, 0));
    check_values(g, hki_unary(g, "ReduceMax", flags), HK_BOOL, NUMBERS(1));
    hk_graph_free(g);
}

TEST(half_precision)
{
    hk_graph *g = eager();
    hk_value *x = constant(g, HK_FLOAT16, DIMS(1, 1, 4), NUMBERS(1, 2, 4, 3));
    check_values(g, hki_unary(g, "ReduceSum", x), HK_FLOAT16, NUMBERS(10));
    check_values(g, hki_unary(g, "Softmax", x), HK_FLOAT16, NUMBERS(0.0320586, 0.0871443, 0.6439143, 0.2368828));
    check_values(g, hki_unary(g, "GlobalAveragePool", x), HK_FLOAT16, NUMBERS(2.5));
    check_values(g, hk_graph_apply(g, "MaxPool", HK_VALUES(x), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2))), HK_FLOAT16,
                 NUMBERS(2, 4, 4));
    hk_value *one = constant(g, HK_FLOAT, DIMS(1), NUMBERS(1)), *zero = constant(g, HK_FLOAT, DIMS(1), NUMBERS(0));
    hk_value *parts[] = {x, one, zero, zero, one};
    check_values(g, hk_graph_apply(g, "BatchNormalization", 5, parts, HK_NO_ATTRIBUTES), HK_FLOAT16,
                 NUMBERS(1, 2, 4, 3));
    hk_value *bytes = constant(g, HK_UINT8, DIMS(1, 1, 4), NUMBERS(1, 200, 4, 3));
    check_values(g, hk_graph_apply(g, "MaxPool", HK_VALUES(bytes), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2))), HK_UINT8,
                 NUMBERS(200, 200, 4));
    hk_graph_free(g);
}

TEST(column_major_indices)
{
    hk_graph *g = eager();
    hk_value *outputs[2], *x = constant(g, HK_FLOAT, DIMS(1, 2, 2, 3), NUMBERS(1, 2, 9, 4, 5, 6));
    hk_graph_node(g, "", "MaxPool", NULL, 1, &x,
                  HK_ATTRIBUTES(HK_INTS("kernel_shape", 2, 2), HK_INT("storage_order", 1)), 2, outputs);
    check_values(g, outputs[0], HK_FLOAT, NUMBERS(5, 9, 5, 9));
    check_values(g, outputs[1], HK_INT64, NUMBERS(3, 4, 9, 10));
    hk_graph_free(g);
}

/* ---- Far from zero: a variance of 1 about 10,000. ---- */

TEST(moments_far_from_zero)
{
    enum { N = 40000 };
    hk_graph *g = eager();
    static double values[N];
    for (int i = 0; i < N; i++)
        values[i] = 10000 + (i % 2 ? 1 : -1);
    hk_value *x = constant(g, HK_FLOAT, DIMS(N / 4, 1, 4), N, values);
    hk_value *one = constant(g, HK_FLOAT, DIMS(1), NUMBERS(1)), *zero = constant(g, HK_FLOAT, DIMS(1), NUMBERS(0));
    hk_value *parts[] = {x, one, zero, zero, zero}, *outputs[3];
    hk_graph_node(g, "", "BatchNormalization", NULL, 5, parts,
                  HK_ATTRIBUTES(HK_INT("training_mode", 1), HK_FLOAT32("momentum", 0)), 3, outputs);
    check_values(g, outputs[1], HK_FLOAT, NUMBERS(10000));
    check_values(g, outputs[2], HK_FLOAT, NUMBERS(1));
    hk_value *ones = constant(g, HK_FLOAT, DIMS(4), NUMBERS(1));
    hk_value *y = hk_graph_apply(g, "LayerNormalization", HK_VALUES(x, ones), HK_NO_ATTRIBUTES);
    CHECK(y && fabs(hki_tensor_get_double(y->tensor, 0) + 1) < 1e-4);
    CHECK_OK(hk_graph_status(g));
    hk_graph_free(g);
}

/* ---- A sample's result does not depend on its batch: the same bytes alone and among five. ---- */

#define CHANNELS 20
#define SIDE     9
#define SAMPLE   (CHANNELS * SIDE * SIDE)

typedef hk_value *body_fn(hk_graph *g, hk_value *x);

static hk_value *pool_body(hk_graph *g, hk_value *x)
{
    hk_value *y = hk_graph_apply(g, "MaxPool", HK_VALUES(x), HK_ATTRIBUTES(HK_INTS("kernel_shape", 3, 3)));
    return hk_graph_apply(g, "AveragePool", HK_VALUES(y), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2, 2)));
}

static hk_value *mean_body(hk_graph *g, hk_value *x)
{
    return hki_binary(g, "ReduceMean", x, hki_ints_constant(g, 3, (int64_t[]){1, 2, 3}));
}

static hk_value *global_body(hk_graph *g, hk_value *x)
{
    return hki_unary(g, "GlobalAveragePool", x);
}

static hk_value *softmax_body(hk_graph *g, hk_value *x)
{
    return hk_graph_apply(g, "Softmax", HK_VALUES(x), HK_ATTRIBUTES(HK_INT("axis", 1)));
}

static hk_value *norm_body(hk_graph *g, hk_value *x)
{
    hk_value *ones = constant(g, HK_FLOAT, DIMS(CHANNELS), NUMBERS(1, 0.5, 2)), *parts[] = {x, ones, ones, ones, ones};
    hk_value *y = hk_graph_apply(g, "BatchNormalization", 5, parts, HK_NO_ATTRIBUTES);
    y = hk_graph_apply(g, "GroupNormalization", HK_VALUES(y, ones, ones), HK_ATTRIBUTES(HK_INT("num_groups", 4)));
    hk_value *last = constant(g, HK_FLOAT, DIMS(SIDE), NUMBERS(1, 0.5));
    return hk_graph_apply(g, "LayerNormalization", HK_VALUES(y, last, last), HK_NO_ATTRIBUTES);
}

static hk_tensor *run_batch(body_fn *body, int64_t n, float *data)
{
    hk_graph *g = NULL;
    hk_session *session = NULL;
    hk_tensor *x = NULL, *y = NULL;
    const hk_tensor *in[1];
    CHECK_OK(hk_graph_create(&g, "batch"));
    hk_graph_output(g, "y", body(g, hk_graph_input(g, "x", HK_FLOAT, DIMS(n, CHANNELS, SIDE, SIDE))));
    CHECK_OK(hk_graph_status(g));
    CHECK_OK(hk_session_create(&session, g, NULL));
    CHECK_OK(hk_tensor_wrap(&x, data, HK_FLOAT, DIMS(n, CHANNELS, SIDE, SIDE)));
    in[0] = x;
    if (session && x)
        CHECK_OK(hk_session_run(session, in, &y));
    hk_tensor_free(x);
    hk_session_free(session);
    hk_graph_free(g);
    return y;
}

TEST(independence_of_the_batch)
{
    static float data[5 * SAMPLE];
    body_fn *const bodies[] = {pool_body, mean_body, global_body, softmax_body, norm_body};
    for (int i = 0; i < 5 * SAMPLE; i++)
        data[i] = (float)(i * 7919 % 1013) * 1e-2f;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        hk_tensor *all = run_batch(bodies[i], 5, data);
        for (int n = 0; n < 5 && all; n++) {
            hk_tensor *one = run_batch(bodies[i], 1, data + n * SAMPLE);
            if (one)
                CHECK_BYTES((char *)all->data + (size_t)n * hk_tensor_size(one), one->data, hk_tensor_size(one));
            hk_tensor_free(one);
        }
        hk_tensor_free(all);
    }
}

/* ---- Older opsets: a rule on a draft. ---- */

static hk_value *upgraded(hk_graph *g, const char *op, int since, int input_count, hk_value **inputs,
                          int attribute_count, hk_attribute *attributes, int output_count)
{
    static const char *names[] = {"y", "a", "b", "c", "d"};
    hki_draft d = {.graph = g,
                   .op = op,
                   .name = "old",
                   .input_count = input_count,
                   .inputs = inputs,
                   .output_count = output_count,
                   .output_names = names,
                   .attribute_count = attribute_count,
                   .attributes = attributes};
    for (const char *current = NULL; current != d.op;) {
        current = d.op;
        const hki_version *v = hki_op_find("", current)->versions;
        for (int i = 0; i < HKI_MAX_VERSIONS && v[i].since && current == d.op; i++) {
            d.version = v[i].since;
            if ((i + 1 == HKI_MAX_VERSIONS || !v[i + 1].since || v[i + 1].since > since) && v[i].upgrade)
                CHECK_OK(v[i].upgrade(&d));
        }
    }
    hk_value *outputs[5] = {NULL};
    hk_graph_node(g, "", d.op, NULL, d.input_count, d.inputs, d.attribute_count, d.attributes, d.output_count, outputs);
    CHECK_OK(hk_graph_status(g));
    return outputs[0];
}

TEST(old_softmax_flattens)
{
    hk_graph *g = eager();
    hk_value *x[] = {constant(g, HK_FLOAT, DIMS(1, 2, 2), NUMBERS(0, 0, 0, 0))};
    hk_attribute axis[] = {HK_INT("axis", 1)};
    check_values(g, upgraded(g, "Softmax", 1, 1, x, 0, NULL, 1), HK_FLOAT, NUMBERS(0.25, 0.25, 0.25, 0.25));
    x[0] = constant(g, HK_FLOAT, DIMS(1, 2, 2), NUMBERS(0, 1, 5, 0));
    check_values(g, upgraded(g, "Hardmax", 11, 1, x, 1, axis, 1), HK_FLOAT, NUMBERS(0, 0, 1, 0));
    hk_graph_free(g);
}

TEST(old_reductions_have_axes)
{
    hk_graph *g = eager();
    hk_value *x[] = {constant(g, HK_FLOAT, DIMS(2, 2), NUMBERS(1, 2, 3, 4))};
    hk_attribute axes[] = {HK_INTS("axes", 1)};
    check_values(g, upgraded(g, "ReduceSum", 1, 1, x, 1, axes, 1), HK_FLOAT, NUMBERS(3, 7));
    x[0] = constant(g, HK_FLOAT, DIMS(2, 2), NUMBERS(1, 2, 3, 4));
    hk_attribute again[] = {HK_INTS("axes", 0)};
    check_values(g, upgraded(g, "ReduceMax", 13, 1, x, 1, again, 1), HK_FLOAT, NUMBERS(3, 4));
    hk_graph_free(g);
}

TEST(old_batch_normalization)
{
    hk_graph *g = eager();
    hk_value *one = constant(g, HK_FLOAT, DIMS(1), NUMBERS(1)), *zero = constant(g, HK_FLOAT, DIMS(1), NUMBERS(0));
    hk_value *x = constant(g, HK_FLOAT, DIMS(2, 1, 1), NUMBERS(1, 3)), *inputs[] = {x, one, zero, zero, one};
    hk_attribute old[] = {HK_INT("is_test", 1), HK_INTS("consumed_inputs", 0, 0), HK_INT("spatial", 1),
                          HK_FLOAT32("epsilon", 0)};
    check_values(g, upgraded(g, "BatchNormalization", 1, 5, inputs, 4, old, 1), HK_FLOAT, NUMBERS(1, 3));
    hk_value *train[] = {x, one, zero, zero, one};
    hk_attribute epsilon[] = {HK_FLOAT32("epsilon", 0)};
    check_values(g, upgraded(g, "BatchNormalization", 9, 5, train, 1, epsilon, 5), HK_FLOAT, NUMBERS(-1, 1));
    hk_value *mean = constant(g, HK_FLOAT, DIMS(1, 2), NUMBERS(1, 2)),
             *ones = constant(g, HK_FLOAT, DIMS(1, 2), NUMBERS(1));
    hk_value *maps = constant(g, HK_FLOAT, DIMS(2, 1, 2), NUMBERS(1, 2, 3, 4)),
             *each[] = {maps, ones, mean, mean, ones};
    hk_attribute spatial[] = {HK_INT("spatial", 0), HK_FLOAT32("epsilon", 0)};
    check_values(g, upgraded(g, "BatchNormalization", 7, 5, each, 2, spatial, 1), HK_FLOAT, NUMBERS(1, 2, 3, 4));
    hk_graph_free(g);
}

TEST(old_group_normalization_and_lp_pool)
{
    hk_graph *g = eager();
    hk_value *x = constant(g, HK_FLOAT, DIMS(1, 4, 1), NUMBERS(1, 3, 5, 9));
    hk_value *inputs[] = {x, constant(g, HK_FLOAT, DIMS(2), NUMBERS(1, 2)),
                          constant(g, HK_FLOAT, DIMS(2), NUMBERS(0, 1))};
    hk_attribute groups[] = {HK_INT("num_groups", 2), HK_FLOAT32("epsilon", 0)};
    check_values(g, upgraded(g, "GroupNormalization", 18, 3, inputs, 2, groups, 1), HK_FLOAT, NUMBERS(-1, 1, -1, 3));
    hk_value *y[] = {constant(g, HK_FLOAT, DIMS(1, 1, 2), NUMBERS(3, 4))};
    hk_attribute p[] = {HK_FLOAT32("p", 2), HK_INTS("kernel_shape", 2)};
    check_values(g, upgraded(g, "LpPool", 1, 1, y, 2, p, 1), HK_FLOAT, NUMBERS(5));
    hk_graph_free(g);
}

/* ---- Losses. ---- */

TEST(smoothed_cross_entropy)
{
    hk_graph *g = eager();
    double values[] = {0.5, -1, 2, 1, 0, 0.25}, weights[] = {1, 2, 0.5}, expected = 0, weight = 0;
    const int labels[] = {2, 1};
    for (int n = 0; n < 2; n++) {
        double sum = 0, smooth = 0;
        for (int c = 0; c < 3; c++)
            sum += exp(values[3 * n + c]);
        for (int c = 0; c < 3; c++)
            smooth += weights[c] * (log(sum) - values[3 * n + c]);
        expected += 0.9 * weights[labels[n]] * (log(sum) - values[3 * n + labels[n]]) + 0.1 / 3 * smooth;
        weight += weights[labels[n]];
    }
    hk_value *x = constant(g, HK_FLOAT, DIMS(3, 3), NUMBERS(0.5, -1, 2, 1, 0, 0.25, 7, 8, 9));
    hk_value *y = constant(g, HK_INT32, DIMS(3), NUMBERS(2, 1, -100)), *w = constant(g, HK_FLOAT, DIMS(3), 3, weights);
    hk_attribute attributes[] = {HK_FLOAT32("label_smoothing", 0.1f), HK_INT("ignore_index", -100)};
    expected /= weight;
    check_values(g, hk_graph_apply(g, "halka.CrossEntropy", HK_VALUES(x, y, w), 2, attributes), HK_FLOAT, 1, &expected);
    hk_graph_free(g);
}

static void expect_failure(const char *op, int input_count, hk_value *const *inputs, int attribute_count,
                           const hk_attribute *attributes, hk_code code, const char *part)
{
    hk_graph *g = inputs[0]->graph;
    hk_graph_apply(g, op, input_count, inputs, attribute_count, attributes);
    CHECK_FAILS(hk_graph_status(g), code, part);
}

TEST(bad_input)
{
    hk_graph *g = eager();
    hk_value *x = constant(g, HK_FLOAT, DIMS(2, 3), NUMBERS(1)),
             *map = constant(g, HK_FLOAT, DIMS(1, 3, 4), NUMBERS(1));
    hk_value *labels = constant(g, HK_INT64, DIMS(2), NUMBERS(0, 3)),
             *three = constant(g, HK_INT64, DIMS(3), NUMBERS(0));
    hk_value *ones = constant(g, HK_FLOAT, DIMS(3), NUMBERS(1)), *two = constant(g, HK_FLOAT, DIMS(2), NUMBERS(1));
    hk_value *axis = constant(g, HK_INT64, DIMS(1), NUMBERS(5));
    expect_failure("SoftmaxCrossEntropyLoss", HK_VALUES(x, labels), HK_NO_ATTRIBUTES, HK_INVALID_DATA, "label 1 is 3");
    expect_failure("SoftmaxCrossEntropyLoss", HK_VALUES(x, three), HK_NO_ATTRIBUTES, HK_INVALID_SHAPE, "labels");
    expect_failure("NegativeLogLikelihoodLoss", HK_VALUES(x, labels), HK_ATTRIBUTES(HK_TEXT("reduction", "max")),
                   HK_INVALID_ARGUMENT, "'max'");
    expect_failure("ReduceSum", HK_VALUES(x, axis), HK_NO_ATTRIBUTES, HK_INVALID_ARGUMENT, "5");
    expect_failure("Softmax", HK_VALUES(x), HK_ATTRIBUTES(HK_INT("axis", 2)), HK_INVALID_ARGUMENT, "axis 2");
    expect_failure("MaxPool", HK_VALUES(x), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2)), HK_INVALID_SHAPE, "rank 2");
    expect_failure("MaxPool", HK_VALUES(map), HK_ATTRIBUTES(HK_INTS("kernel_shape", 5)), HK_INVALID_SHAPE,
                   "window of 5");
    expect_failure("MaxPool", HK_VALUES(map), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2, 2)), HK_INVALID_ARGUMENT,
                   "kernel_shape");
    expect_failure("AveragePool", HK_VALUES(map), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2), HK_INTS("strides", 0)),
                   HK_INVALID_ARGUMENT, "strides");
    expect_failure("BatchNormalization", HK_VALUES(map, ones, ones, two, ones), HK_NO_ATTRIBUTES, HK_INVALID_SHAPE,
                   "input_mean");
    expect_failure("LayerNormalization", HK_VALUES(x, two), HK_NO_ATTRIBUTES, HK_UNSUPPORTED, "normalized shape");
    expect_failure("GroupNormalization", HK_VALUES(map, ones, ones), HK_ATTRIBUTES(HK_INT("num_groups", 2)),
                   HK_INVALID_ARGUMENT, "2 groups");
    expect_failure("LRN", HK_VALUES(map), HK_ATTRIBUTES(HK_INT("size", 0)), HK_INVALID_ARGUMENT, "size");
    hk_graph_free(g);
}

TEST_MAIN()
