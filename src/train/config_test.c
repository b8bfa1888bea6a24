/* The run file: defaults, DeepSpeed's batch rule, overrides, a named DeepSpeed file, and an error with place and
 * nearest name for everything that is wrong. */
#include "harness/test.h"

#include "train/config.h"

static hk_status parse_with(hki_config **out, const char *text, const char *const *overrides, int count)
{
    return hki_config_parse(out, text, strlen(text), "run.json", overrides, count);
}

static hk_status parse(const char *text)
{
    hki_config *config;
    hk_status status = parse_with(&config, text, NULL, 0);
    hki_config_free(config);
    return status;
}

TEST(defaults_are_deepspeeds)
{
    hki_config *c;
    REQUIRE_OK(parse_with(&c, "{\"train_batch_size\": 64}", NULL, 0));
    CHECK_EQ(c->train_batch_size, 64);
    CHECK_EQ(c->micro_batch_size, 64);
    CHECK_EQ(c->accumulation_steps, 1);
    CHECK_EQ(c->optimizer.type, HKI_OPTIMIZER_ADAM);
    CHECK(c->optimizer.adam_w_mode);
    CHECK_CLOSE(c->optimizer.lr, 1e-3, 0);
    CHECK_CLOSE(c->optimizer.betas[1], 0.999, 0);
    CHECK_CLOSE(c->gradient_clipping, 1, 0);
    CHECK_EQ(c->schedule.type, HKI_SCHEDULE_CONSTANT);
    CHECK_EQ(c->loss.type, HKI_LOSS_CROSS_ENTROPY);
    CHECK_EQ(c->seed, 1234);
    hki_config_free(c);
}

TEST(batch_rule)
{
    hki_config *c;
    REQUIRE_OK(parse_with(&c, "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 16}", NULL, 0));
    CHECK_EQ(c->accumulation_steps, 4);
    hki_config_free(c);
    REQUIRE_OK(parse_with(&c, "{\"train_micro_batch_size_per_gpu\": 16, \"gradient_accumulation_steps\": 3}", NULL, 0));
    CHECK_EQ(c->train_batch_size, 48);
    hki_config_free(c);
    CHECK_FAILS(parse("{\"train_batch_size\": 100, \"train_micro_batch_size_per_gpu\": 32}"), HK_INVALID_CONFIG,
                "train_batch_size 100 is not train_micro_batch_size_per_gpu 32 x gradient_accumulation_steps 3");
    CHECK_FAILS(parse("{\"train_batch_size\": 100, \"gradient_accumulation_steps\": 3}"), HK_INVALID_CONFIG, "100");
    CHECK_FAILS(parse("{}"), HK_INVALID_CONFIG, "give train_batch_size");
}

TEST(errors_name_the_place)
{
    CHECK_FAILS(parse("{\n  \"train_batch_sze\": 64\n}"), HK_INVALID_CONFIG, "run.json:2:");
    CHECK_FAILS(parse("{\n  \"train_batch_sze\": 64\n}"), HK_INVALID_CONFIG, "train_batch_size");
    CHECK_FAILS(parse("{\"train_batch_size\": \"64\"}"), HK_INVALID_CONFIG, "train_batch_size");
    CHECK_FAILS(parse("{\"train_batch_size\": 0}"), HK_INVALID_CONFIG, "train_batch_size");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"Adm\"}}"), HK_INVALID_CONFIG, "'Adam'");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"Muon\"}}"), HK_UNSUPPORTED, "Muon");
    CHECK_FAILS(parse("{\"train_batch_size\": 8,\n\"optimizer\": {\"type\": \"Adam\", \"params\": {\"lrr\": 1}}}"),
                HK_INVALID_CONFIG, "optimizer.params.lrr");
    CHECK_FAILS(
        parse("{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"SGD\", \"params\": {\"max_grad_norm\": 1}}}"),
        HK_INVALID_CONFIG, "gradient_clipping");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"loss\": \"crossentropy\"}"), HK_INVALID_CONFIG, "cross_entropy");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"train_batch_size\": 9}"), HK_INVALID_FILE, "");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"data\": {\"train\": {\"images\": \"a\"}}}"), HK_INVALID_CONFIG,
                "data.train");
    CHECK_FAILS(parse("[]"), HK_INVALID_CONFIG, "");
}

TEST(known_keys_of_deepspeed)
{
    CHECK_OK(parse("{\"train_batch_size\": 8, \"fp16\": {\"enabled\": false}, \"zero_optimization\": {\"stage\": 0}}"));
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"fp16\": {\"enabled\": true}}"), HK_UNSUPPORTED, "fp16");
    CHECK_FAILS(parse("{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 2}}"), HK_UNSUPPORTED,
                "zero_optimization");
}

TEST(overrides)
{
    static const char *const overrides[] = {"optimizer.params.lr=0.5", "epochs=7", "data.validation=0.1", "name=hello"};
    hki_config *c;
    REQUIRE_OK(parse_with(&c, "{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"SGD\"}}", overrides, 4));
    CHECK_CLOSE(c->optimizer.lr, 0.5, 0);
    CHECK_EQ(c->epochs, 7);
    CHECK_CLOSE(c->data.validation_fraction, 0.1, 0);
    CHECK_STR(c->name, "hello");
    hki_config_free(c);
    static const char *const bad[] = {"epochs"};
    CHECK_FAILS(parse_with(&c, "{\"train_batch_size\": 8}", bad, 1), HK_INVALID_ARGUMENT, "epochs");
    static const char *const unknown[] = {"epoch=3"};
    CHECK_FAILS(parse_with(&c, "{\"train_batch_size\": 8}", unknown, 1), HK_INVALID_CONFIG, "\"epochs\"");
}

TEST(effective_config_reads_back_as_itself)
{
    hki_config *first, *second;
    const char *text =
        "{\"train_batch_size\": 8, \"model\": \"cnn\", \"loss\": {\"type\": \"cross_entropy\", "
        "\"label_smoothing\": 0.1, \"class_weights\": [1, 2.5]}, \"data\": {\"train\": {\"csv\": \"a.csv\", "
        "\"label\": \"y\"}, \"validation\": 0.2}, \"scheduler\": {\"type\": \"WarmupCosineLR\"}}";
    REQUIRE_OK(parse_with(&first, text, NULL, 0));
    REQUIRE_OK(parse_with(&second, first->effective, NULL, 0));
    CHECK_STR(second->effective, first->effective);
    hki_config_free(first);
    hki_config_free(second);
}

TEST_MAIN()
