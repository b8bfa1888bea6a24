/* Batch normalization with the Relu behind it: fused and not, a training graph gives the same bytes. */
#include "passes/passes.h"

#include "graph/op.h"
#include "halka/session.h"
#include "harness/test.h"

#define CHANNELS 20

static hk_value *input(hk_graph *g, const char *name, int64_t dim)
{
    return hk_graph_input(g, name, HK_FLOAT, 1, &dim);
}

/* x -> BatchNormalization (training) -> Relu -> MaxPool -> mean, with gradients; `twice`: the Relu's input is read by
 * another node too. */
static hk_graph *training_graph(bool twice)
{
    hk_graph *g = NULL;
    hk_value *outputs[3], *gradients[3];
    CHECK_OK(hk_graph_create(&g, "norm"));
    hk_value *x = hk_graph_input(g, "x", HK_FLOAT, 4, (int64_t[]){3, CHANNELS, 6, 5});
    hk_value *parts[] = {x, input(g, "scale", CHANNELS), input(g, "bias", CHANNELS), input(g, "mean", CHANNELS),
                         input(g, "var", CHANNELS)};
    hk_graph_node(g, "", "BatchNormalization", NULL, 5, parts, HK_ATTRIBUTES(HK_INT("training_mode", 1)), 3, outputs);
    hk_value *y = hki_unary(g, "Relu", outputs[0]);
    y = twice ? hki_binary(g, "Add", y, outputs[0]) : y;
    y = hk_graph_apply(g, "MaxPool", HK_VALUES(y), HK_ATTRIBUTES(HK_INTS("kernel_shape", 2, 2)));
    hk_value *loss = hk_graph_apply(g, "ReduceMean", HK_VALUES(hki_binary(g, "Mul", y, y)),
                                    HK_ATTRIBUTES(HK_INT("keepdims", 0)));
    hk_graph_output(g, "loss", loss);
    hk_graph_output(g, "running_mean", outputs[1]);
    CHECK_OK(hk_graph_gradients(gradients, g, loss, 3, parts));
    for (int i = 0; i < 3; i++)
        hk_graph_output(g, NULL, gradients[i]);
    CHECK_OK(hk_graph_status(g));
    return g;
}

static void fill(hk_tensor **tensors)
{
    for (int i = 0; i < 5; i++) {
        int64_t dims[] = {3, CHANNELS, 6, 5}, channels = CHANNELS;
        CHECK_OK(hk_tensor_create(&tensors[i], HK_FLOAT, i ? 1 : 4, i ? &channels : dims));
        for (int64_t k = 0; k < hk_tensor_count(tensors[i]); k++)
            ((float *)tensors[i]->data)[k] = (float)(k * 7919 % 1013) * 1e-3f - (i < 3 ? 0.4f : 0);
    }
}

static int run(hk_tensor **out, const hk_graph *g, bool optimize)
{
    hk_session_options options = hk_session_defaults();
    options.optimize = optimize;
    hk_session *session = NULL;
    hk_tensor *in[5];
    fill(in);
    CHECK_OK(hk_session_create(&session, g, &options));
    if (session)
        CHECK_OK(hk_session_run(session, (const hk_tensor *const *)in, out));
    int nodes = session ? hk_graph_node_count(hk_session_graph(session)) : 0;
    hk_session_free(session);
    for (int i = 0; i < 5; i++)
        hk_tensor_free(in[i]);
    return nodes;
}

static void check_equal(bool twice, int fewer)
{
    hk_tensor *plain[5] = {NULL}, *fused[5] = {NULL};
    hk_graph *g = training_graph(twice);
    int nodes = run(plain, g, false);
    CHECK_EQ(run(fused, g, true), nodes - fewer);
    for (int i = 0; i < 5; i++) {
        if (plain[i] && fused[i])
            CHECK_BYTES(fused[i]->data, plain[i]->data, hk_tensor_size(plain[i]));
        else
            CHECK(!"no result");
        hk_tensor_free(plain[i]);
        hk_tensor_free(fused[i]);
    }
    hk_graph_free(g);
}

TEST(same_bytes)
{
    check_equal(false, 2);
}

TEST(not_where_something_else_reads_the_input_of_relu)
{
    check_equal(true, 0);
}

TEST_MAIN()
