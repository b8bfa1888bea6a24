/* Runs from small files made here: what is left in the folder, resume, early stopping, frozen parameters, regression,
 * and every way in which a run can be refused or fail. */
#include "harness/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "halka/model.h"
#include "train/run.h"

#define DIR TEST_BINARY_DIR "/run_test_files"

static void write_file(const char *path, const char *text)
{
    hki_writer *writer = NULL;
    CHECK_OK(hki_writer_open(&writer, path));
    hki_writer_write(writer, text, strlen(text));
    CHECK_OK(hki_writer_commit(writer));
}

/* Three classes along a line, with four features. */
static void write_table(const char *path, int rows)
{
    hki_text text = {0};
    hki_text_printf(&text, "a,b,c,d,kind,value\n");
    for (int i = 0; i < rows; i++) {
        int kind = i % 3;
        hki_text_printf(&text, "%g,%g,%g,1,%d,%g\n", kind + 0.1 * ((i * 7) % 5), 2.0 - kind, 0.01 * i, kind,
                        0.5 * kind + 1);
    }
    CHECK_OK(hki_text_status(&text));
    write_file(path, text.data);
    hki_text_free(&text);
}

static void clean(const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s/runs/%s'", DIR, name);
    CHECK_EQ(system(command), 0);
}

#define CLASSES_DATA "\"data\": {\"train\": {\"csv\": \"" DIR "/table.csv\", \"label\": \"kind\"}, \"validation\": 0.2}"
#define BASE "\"model\": {\"name\": \"mlp\", \"widths\": [8]}, \"output\": \"" DIR "/runs\", \"train_batch_size\": 16, "

static hk_status run_with(hk_run_result *result, const char *name, const char *json, bool resume)
{
    const char *path = DIR "/run.json";
    char set_name[128];
    CHECK_OK(hki_directory_create(DIR));
    write_table(DIR "/table.csv", 90);
    write_file(path, json);
    snprintf(set_name, sizeof set_name, "name=%s", name);
    const char *overrides[] = {set_name};
    hk_run_options options = hk_run_defaults();
    options.resume = resume;
    options.overrides = overrides;
    options.override_count = 1;
    options.session.threads = 1;
    return hk_run_file(result, path, &options);
}

static bool exists(const char *name, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/runs/%s/%s", DIR, name, file);
    return hki_path_exists(path);
}

TEST(a_run_leaves_everything)
{
    hk_run_result r;
    clean("whole");
    REQUIRE_OK(run_with(&r, "whole",
                        "{" BASE CLASSES_DATA ", \"epochs\": 30, \"optimizer\": {\"type\": \"Adam\", \"params\": "
                        "{\"lr\": 0.05}}}",
                        false));
    CHECK(r.best_metric > 0.9);
    CHECK_EQ(r.epochs, 30);
    CHECK(!r.interrupted);
    static const char *const files[] = {"model.onnx", "metrics.csv", "steps.csv", "config.json", "report.html",
                                        "checkpoints/latest", "checkpoints/best.safetensors"};
    for (int i = 0; i < 7; i++)
        CHECK(exists("whole", files[i]));
    hk_run_result_clear(&r);
    CHECK_FAILS(run_with(&r, "whole", "{" BASE CLASSES_DATA "}", false), HK_INVALID_ARGUMENT, "--resume");
    CHECK_FAILS(run_with(&r, "whole", "{" BASE CLASSES_DATA ", \"seed\": 5}", true), HK_INVALID_CONFIG,
                "another run file");
}

TEST(regression)
{
    hk_run_result r;
    clean("values");
    REQUIRE_OK(run_with(&r, "values",
                        "{" BASE "\"data\": {\"train\": {\"csv\": \"" DIR "/table.csv\", \"label\": \"value\"}, "
                        "\"validation\": 0.2}, \"loss\": \"huber\", \"epochs\": 40, \"optimizer\": {\"type\": "
                        "\"Adam\", \"params\": {\"lr\": 0.02}}}",
                        false));
    CHECK(r.loss < 0.1);
    hk_run_result_clear(&r);
}

TEST(early_stopping)
{
    hk_run_result r;
    clean("early");
    REQUIRE_OK(run_with(&r, "early",
                        "{" BASE CLASSES_DATA ", \"epochs\": 500, \"early_stopping\": 3, \"optimizer\": {\"type\": "
                        "\"Adam\", \"params\": {\"lr\": 0.05}}}",
                        false));
    CHECK(r.epochs < 400);
    hk_run_result_clear(&r);
}

TEST(a_learning_rate_that_explodes)
{
    hk_run_result r;
    clean("boom");
    CHECK_FAILS(
        run_with(&r, "boom",
                 "{" BASE CLASSES_DATA ", \"loss\": {\"type\": \"cross_entropy\"}, \"gradient_clipping\": 0, "
                 "\"epochs\": 50, \"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 1e9, \"momentum\": 0.9}}}",
                 false),
        HK_NOT_FINITE, "step ");
    CHECK(exists("boom", "steps.csv"));
    CHECK(!exists("boom", "model.onnx"));
}

TEST(frozen_parameters_stay)
{
    hk_run_result r;
    hk_graph *trained;
    clean("frozen");
    CHECK_FAILS(run_with(&r, "frozen", "{" BASE CLASSES_DATA ", \"frozen\": [\"*\"]}", false), HK_INVALID_ARGUMENT,
                "no float32 parameter");
    clean("frozen");
    REQUIRE_OK(run_with(&r, "frozen", "{" BASE CLASSES_DATA ", \"epochs\": 2, \"frozen\": [\"*.bias\"]}", false));
    REQUIRE_OK(hk_model_load(&trained, r.model_path));
    int biases = 0;
    for (int i = 0; i < hk_graph_constant_count(trained); i++) {
        const hk_value *value = hk_graph_constant_at(trained, i);
        if (hki_glob_match("*.bias", hk_value_name(value)))
            biases++;
    }
    CHECK(biases > 0);
    hk_graph_free(trained);
    hk_run_result_clear(&r);
}

TEST(bad_input)
{
    hk_run_result r;
    CHECK_FAILS(run_with(&r, "bad", "{" BASE "\"epochs\": 1}", false), HK_INVALID_CONFIG, "data.train");
    CHECK_FAILS(run_with(&r, "bad", "{\"train_batch_size\": 8, " CLASSES_DATA "}", false), HK_INVALID_CONFIG, "model");
    CHECK_FAILS(
        run_with(&r, "bad", "{" BASE "\"data\": {\"train\": {\"csv\": \"/nowhere.csv\", \"label\": \"kind\"}}}", false),
        HK_NOT_FOUND, "/nowhere.csv");
    CHECK_FAILS(run_with(&r, "bad", "{\"model\": \"resnt20\", \"train_batch_size\": 8, " CLASSES_DATA "}", false),
                HK_NOT_FOUND, "resnet20");
    CHECK_FAILS(run_with(&r, "bad", "{" BASE CLASSES_DATA ", \"output\": \"/dev/null/x\"}", false), HK_INVALID_FILE,
                "");
    CHECK_FAILS(
        run_with(&r, "bad",
                 "{\"model\": {\"name\": \"mlp\"}, \"output\": \"/dev/null/x\", \"train_batch_size\": 8, " CLASSES_DATA
                 "}",
                 false),
        HK_IO, "/dev/null");
}

/* Saves checkpoints without end until it is killed. */
static void save_forever(hk_trainer *trainer, const char *folder)
{
    hki_run_state state = {0};
    for (;;) {
        trainer->steps++;
        hk_status_free(hki_checkpoints_add(folder, 2, trainer, &state));
    }
}

TEST(killed_while_saving)
{
    hk_graph *model;
    hk_trainer *trainer;
    clean("crash");
    hk_run_result r;
    REQUIRE_OK(run_with(&r, "crash", "{" BASE CLASSES_DATA "}", false));
    REQUIRE_OK(hk_model_load(&model, r.model_path));
    REQUIRE_OK(hk_trainer_create(&trainer, model, "{\"train_batch_size\": 16}", &(hk_session_options){.threads = 1}));
    const char *folder = DIR "/runs/crash/killed";
    for (int round = 0; round < 20; round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            save_forever(trainer, folder);
        usleep((useconds_t)(3000 + 2711 * round % 20000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        char *latest;
        REQUIRE_OK(hki_checkpoints_latest(&latest, folder));
        if (latest)
            CHECK_OK(hki_checkpoint_load(latest, trainer, NULL, false));
        else
            CHECK(round == 0);
        hki_free(latest);
    }
    CHECK(hk_trainer_steps(trainer) > 0);
    hk_trainer_free(trainer);
    hk_graph_free(model);
    hk_run_result_clear(&r);
}

TEST_MAIN()
