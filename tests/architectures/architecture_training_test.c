/* Every architecture trains: the loss of two samples, seen again and again, falls; and the exported graph takes the
 * same input. */
#include "halka/halka.h"

#include "harness/test.h"

static const char config[] = "{\"train_batch_size\": 2, \"gradient_clipping\": 1.0, \"loss\": \"cross_entropy\","
                             " \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 0.0003}}}";

static hk_tensor *samples(int64_t channels, int64_t size)
{
    hk_tensor *x = NULL;
    CHECK_OK(hk_tensor_create(&x, HK_FLOAT, 4, (int64_t[]){2, channels, size, size}));
    float *data = hk_tensor_data(x);
    for (int64_t i = 0; i < hk_tensor_count(x); i++)
        data[i] = (float)((i * 7919 % 1009) - 504) / 300;
    return x;
}

static void check_training(const hk_architecture_info *info)
{
    int64_t size = info->width > 64 ? 64 : info->width, labels[] = {3, 1}, two = 2;
    hk_architecture_options o = hk_architecture_defaults();
    o.height = o.width = size;
    o.classes = 5;
    o.dropout = 0;
    hk_graph *graph, *trained;
    hk_trainer *trainer;
    hk_tensor *x = samples(info->channels, size), *y, *out[1];
    REQUIRE_OK(hk_tensor_from(&y, labels, HK_INT64, 1, &two));
    REQUIRE_OK(hk_architecture_create(&graph, info->name, &o));
    REQUIRE_OK(hk_trainer_create(&trainer, graph, config, NULL));
    double first, loss = 0;
    REQUIRE_OK(hk_trainer_step(trainer, x, y, &first));
    for (int i = 0; i < 6; i++)
        REQUIRE_OK(hk_trainer_step(trainer, x, y, &loss));
    if (!(loss < 0.9 * first))
        printf("%s: loss %g, then %g\n", info->name, first, loss);
    CHECK(loss < 0.9 * first);
    REQUIRE_OK(hk_trainer_predict(trainer, x, out));
    CHECK_EQ(hk_tensor_dims(out[0])[1], 5);
    REQUIRE_OK(hk_trainer_export(trainer, &trained));
    CHECK_EQ(hk_graph_node_count(trained), hk_graph_node_count(graph));
    hk_tensor_free(out[0]);
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_trainer_free(trainer);
    hk_graph_free(graph);
    hk_graph_free(trained);
}

TEST(all)
{
    for (int i = 0; i < hk_architecture_count(); i++)
        check_training(hk_architecture_at(i));
}

TEST_MAIN()
