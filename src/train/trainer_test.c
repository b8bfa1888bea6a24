/* The trainer on a small classification problem made here: it learns, and the trained bytes do not depend on threads,
 * instruction set, or interruption. */
#include "harness/test.h"

#include "base/file.h"
#include "halka/architecture.h"
#include "tensor/random.h"
#include "train/trainer.h"

#define SAMPLES 48
#define FEATURES 20
#define CLASSES 4

/* Four noisy clusters. */
static void make_data(hk_tensor **x, hk_tensor **y)
{
    CHECK_OK(hk_tensor_create(x, HK_FLOAT, 2, (int64_t[]){SAMPLES, FEATURES}));
    CHECK_OK(hk_tensor_create(y, HK_INT64, 1, (int64_t[]){SAMPLES}));
    float *values = hk_tensor_data(*x);
    hki_normal_fill(values, SAMPLES * FEATURES, hki_key_create(1, 1), 0, 0.5f);
    for (int i = 0; i < SAMPLES; i++) {
        ((int64_t *)hk_tensor_data(*y))[i] = i % CLASSES;
        for (int k = i % CLASSES; k < FEATURES; k += CLASSES)
            values[i * FEATURES + k] += 1;
    }
}

static hk_graph *make_model(void)
{
    hk_architecture_options o = hk_architecture_defaults();
    o.layout = HK_PIXELS_VECTOR;
    o.channels = FEATURES;
    o.classes = CLASSES;
    o.widths = (int64_t[]){32};
    o.width_count = 1;
    hk_graph *model = NULL;
    CHECK_OK(hk_architecture_create(&model, "mlp", &o));
    return model;
}

#define SGD                                                                                                            \
    "{\"train_micro_batch_size_per_gpu\": 10, \"gradient_accumulation_steps\": 5, \"optimizer\": {\"type\": \"SGD\", " \
    "\"params\": {\"lr\": 0.2, \"momentum\": 0.9}}}"
#define ADAM                                                                                                           \
    "{\"train_micro_batch_size_per_gpu\": 10, \"gradient_accumulation_steps\": 5, \"optimizer\": {\"type\": "          \
    "\"Adam\", "                                                                                                       \
    "\"params\": {\"lr\": 0.01, \"weight_decay\": 0.1}}}"
#define LAMB                                                                                                           \
    "{\"train_micro_batch_size_per_gpu\": 10, \"gradient_accumulation_steps\": 5, \"optimizer\": {\"type\": "          \
    "\"Lamb\", "                                                                                                       \
    "\"params\": {\"lr\": 0.05}}}"
#define ADAGRAD                                                                                                        \
    "{\"train_micro_batch_size_per_gpu\": 10, \"gradient_accumulation_steps\": 5, \"optimizer\": {\"type\": "          \
    "\"Adagrad\", "                                                                                                    \
    "\"params\": {\"lr\": 0.05}}}"

static hk_trainer *open_trainer(const char *config, const char *isa, int threads)
{
    hk_graph *model = make_model();
    hk_session_options options = hk_session_defaults();
    options.isa = isa;
    options.threads = threads;
    hk_trainer *t = NULL;
    CHECK_OK(hk_trainer_create(&t, model, config, &options));
    hk_graph_free(model);
    return t;
}

TEST(every_optimizer_learns)
{
    static const char *const configs[] = {SGD, ADAM, LAMB, ADAGRAD};
    hk_tensor *x, *y;
    make_data(&x, &y);
    for (int i = 0; i < 4; i++) {
        hk_trainer *t = open_trainer(configs[i], NULL, 1);
        if (!t)
            continue;
        double first = 0, last = 0;
        CHECK_OK(hk_trainer_step(t, x, y, &first));
        for (int step = 0; step < 40; step++)
            CHECK_OK(hk_trainer_step(t, x, y, &last));
        if (!(last < 0.5 * first))
            printf("config %d: loss from %g to %g\n", i, first, last);
        CHECK(last < 0.5 * first);
        hk_trainer_free(t);
    }
    hk_tensor_free(x);
    hk_tensor_free(y);
}

static void train(hk_trainer *t, const hk_tensor *x, const hk_tensor *y, int steps, double *losses)
{
    for (int i = 0; i < steps; i++)
        CHECK_OK(hk_trainer_step(t, x, y, &losses[i]));
}

TEST(same_bytes_for_threads_and_isas)
{
    hk_tensor *x, *y;
    make_data(&x, &y);
    hk_trainer *reference = open_trainer(ADAM, "c", 1);
    double losses[12], others[12];
    train(reference, x, y, 12, losses);
    for (int isa = 0; isa <= (int)hki_isa_best(); isa++)
        for (int threads = 1; threads <= 4; threads++) {
            hk_trainer *t = open_trainer(ADAM, hki_isa_name((hki_isa)isa), threads);
            train(t, x, y, 12, others);
            size_t size = (size_t)t->graph.parameters.size * sizeof(float);
            CHECK_BYTES(losses, others, sizeof losses);
            CHECK_BYTES(reference->parameters, t->parameters, size);
            CHECK_BYTES(reference->optimizer.state[1], t->optimizer.state[1], size);
            hk_trainer_free(t);
        }
    hk_trainer_free(reference);
    hk_tensor_free(x);
    hk_tensor_free(y);
}

TEST(same_bytes_after_save_and_load)
{
    hk_tensor *x, *y;
    make_data(&x, &y);
    hk_trainer *whole = open_trainer(SGD, NULL, 1), *first = open_trainer(SGD, NULL, 2),
               *second = open_trainer(SGD, NULL, 1);
    double losses[10];
    train(whole, x, y, 10, losses);
    train(first, x, y, 4, losses);
    const char *path = TEST_BINARY_DIR "/trainer_test.safetensors";
    CHECK_OK(hk_trainer_save(first, path));
    CHECK_OK(hk_trainer_load(second, path));
    CHECK_EQ(hk_trainer_steps(second), 4);
    train(second, x, y, 6, losses);
    CHECK_BYTES(whole->parameters, second->parameters, (size_t)whole->graph.parameters.size * sizeof(float));
    CHECK_BYTES(whole->optimizer.state[0], second->optimizer.state[0],
                (size_t)whole->graph.parameters.size * sizeof(float));
    hk_trainer_free(whole);
    hk_trainer_free(first);
    hk_trainer_free(second);
    hk_tensor_free(x);
    hk_tensor_free(y);
}

TEST(a_step_allocates_nothing_after_the_first)
{
    hk_tensor *x, *y;
    make_data(&x, &y);
    hk_trainer *t = open_trainer(ADAM, NULL, 2);
    double loss;
    CHECK_OK(hk_trainer_step(t, x, y, &loss));
    int64_t before = hki_memory_count();
    for (int i = 0; i < 5; i++)
        CHECK_OK(hk_trainer_step(t, x, y, &loss));
    CHECK_EQ(hki_memory_count(), before);
    hk_trainer_free(t);
    hk_tensor_free(x);
    hk_tensor_free(y);
}

/* The mean of all running means after one step on constant input is known: 0.9 * 0 + 0.1 * batch mean; here it is
 * enough that every statistic moved and that two leaves of the same data give what one gives. */
TEST(statistics_of_batch_normalization_are_averaged_over_leaves)
{
    hk_architecture_options o = hk_architecture_defaults();
    o.channels = 1;
    o.height = o.width = 8;
    o.classes = 2;
    o.dropout = 0;
    hk_graph *model;
    REQUIRE_OK(hk_architecture_create(&model, "cnn", &o));
    hk_tensor *x, *y;
    REQUIRE_OK(hk_tensor_create(&x, HK_FLOAT, 4, (int64_t[]){8, 1, 8, 8}));
    REQUIRE_OK(hk_tensor_create(&y, HK_INT64, 1, (int64_t[]){8}));
    hki_normal_fill(hk_tensor_data(x), 4 * 64, hki_key_create(3, 3), 1, 2);
    memcpy((float *)hk_tensor_data(x) + 4 * 64, hk_tensor_data(x), 4 * 64 * sizeof(float)); /* the same leaf twice */
    hk_trainer *two, *one;
    REQUIRE_OK(hk_trainer_create(&two, model,
                                 "{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 2}", NULL));
    REQUIRE_OK(hk_trainer_create(&one, model, "{\"train_micro_batch_size_per_gpu\": 4}", NULL));
    float *before = hki_space_array(&two->graph.states);
    memcpy(before, two->states, (size_t)two->graph.states.size * sizeof(float));
    CHECK(two->graph.states.count > 0);
    CHECK_OK(hk_trainer_step(two, x, y, NULL));
    x->dims[0] = y->dims[0] = 4;
    CHECK_OK(hk_trainer_step(one, x, y, NULL));
    for (int i = 0; i < two->graph.states.count; i++) {
        const hki_segment *s = &two->graph.states.segments[i];
        size_t size = (size_t)s->count * sizeof(float);
        CHECK(memcmp(before + s->offset, two->states + s->offset, size) != 0);
        for (int64_t k = 0; k < s->count; k++)
            CHECK_CLOSE(two->states[s->offset + k], one->states[s->offset + k], 1e-6);
    }
    hki_free(before);
    hk_trainer_free(two);
    hk_trainer_free(one);
    hk_graph_free(model);
    hk_tensor_free(x);
    hk_tensor_free(y);
}

TEST(bad_batches)
{
    hk_tensor *x, *y;
    make_data(&x, &y);
    hk_trainer *t = open_trainer(SGD, NULL, 1);
    float *values = hk_tensor_data(x);
    values[5] = NAN;
    CHECK_FAILS(hk_trainer_step(t, x, y, NULL), HK_NOT_FINITE, "step 1");
    values[5] = 0;
    ((int64_t *)hk_tensor_data(y))[3] = 99;
    CHECK_FAILS(hk_trainer_step(t, x, y, NULL), HK_INVALID_DATA, "99");
    hk_trainer_free(t);
    hk_tensor_free(x);
    hk_tensor_free(y);
}

TEST(targets_of_another_shape)
{
    hk_tensor *x, *y, *targets;
    make_data(&x, &y);
    hk_graph *model = make_model();
    hk_trainer *t;
    REQUIRE_OK(hk_trainer_create(&t, model, "{\"train_batch_size\": 48, \"loss\": \"mse\"}", NULL));
    CHECK_FAILS(hk_trainer_step(t, x, y, NULL), HK_INVALID_SHAPE, "float32[48]");
    REQUIRE_OK(hk_tensor_create(&targets, HK_FLOAT, 2, (int64_t[]){SAMPLES, CLASSES}));
    CHECK_OK(hk_trainer_step(t, x, targets, NULL));
    hk_tensor_free(targets);
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_trainer_free(t);
    hk_graph_free(model);
}

TEST_MAIN()
