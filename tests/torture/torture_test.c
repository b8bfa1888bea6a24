/* Torture: every allocation and every write of a scenario fails once. The result must be a status that says so - never
 * a crash, a leak (AddressSanitizer watches) or a half-written file: what stood under a name before still stands there,
 * whole. */
#include "harness/test.h"

#include "base/file.h"
#include "halka/architecture.h"
#include "halka/model.h"
#include "train/trainer.h"

#define PATH(name) TEST_BINARY_DIR "/" name

typedef hk_status scenario(void);

/* Runs a scenario with the n-th allocation failing, for n = 1, 2, ... until it gets through untouched. Large scenarios
 * are sampled. */
static void fail_allocations(const char *name, scenario *run, int64_t dense)
{
    int64_t failures = 0;
    for (int64_t n = 1; n < 1000000; n += n < dense ? 1 : 1 + n / 40) {
        int64_t before = hki_memory_count();
        hki_memory_fail_at(n);
        hk_status status = run();
        hki_memory_fail_at(0);
        bool reached = hki_memory_count() - before >= n;
        if (status && hk_status_code(status) != HK_OUT_OF_MEMORY) {
            printf("%s, allocation %lld: %s\n", name, (long long)n, hk_status_message(status));
            test_failures++;
        }
        failures += status != NULL;
        hk_status_free(status);
        if (!reached)
            break;
    }
    printf("     %s: %lld failing allocations\n", name, (long long)failures);
    CHECK(failures > 0);
}

/* ---- Scenarios. ---- */

static hk_status create_model(hk_graph **out)
{
    hk_architecture_options o = hk_architecture_defaults();
    o.channels = 1;
    o.height = o.width = 12;
    o.classes = 3;
    o.widths = (int64_t[]){4, 4, 4};
    o.width_count = 3;
    return hk_architecture_create(out, "cnn", &o);
}

static hk_status build_graph(void)
{
    hk_graph *g;
    HK_TRY(create_model(&g));
    hk_graph *copy;
    hk_status status = hk_graph_copy(&copy, g);
    if (!status)
        hk_graph_free(copy);
    hk_graph_free(g);
    return status;
}

static hk_graph *model; /* made once, untouched */

static hk_status run_session(void)
{
    hk_session_options options = hk_session_defaults();
    options.threads = 1;
    hk_session *session;
    hk_tensor *x, *y[2] = {NULL, NULL};
    HK_TRY(hk_tensor_create(&x, HK_FLOAT, 4, (int64_t[]){2, 1, 12, 12}));
    hk_status status = hk_session_create(&session, model, &options);
    if (!status) {
        const hk_tensor *in[] = {x};
        status = hk_session_run(session, in, y);
        hk_tensor_free(y[0]);
        hk_session_free(session);
    }
    hk_tensor_free(x);
    return status;
}

static hk_status train_steps(void)
{
    hk_session_options options = hk_session_defaults();
    options.threads = 1;
    hk_trainer *t;
    HK_TRY(hk_trainer_create(&t, model, "{\"train_batch_size\": 4, \"train_micro_batch_size_per_gpu\": 2}", &options));
    hk_tensor *x = NULL, *y = NULL;
    hk_status status = hk_tensor_create(&x, HK_FLOAT, 4, (int64_t[]){4, 1, 12, 12});
    if (!status)
        status = hk_tensor_create(&y, HK_INT64, 1, (int64_t[]){4});
    for (int i = 0; i < 2 && !status; i++)
        status = hk_trainer_step(t, x, y, NULL);
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_trainer_free(t);
    return status;
}

static hk_status load_model(void)
{
    hk_graph *g;
    HK_TRY(hk_model_load(&g, PATH("torture.onnx")));
    hk_graph_free(g);
    return NULL;
}

static hk_status save_model(void)
{
    return hk_model_save(model, PATH("torture_saved.onnx"), NULL);
}

static hk_trainer *trainer;

static hk_status save_checkpoint(void)
{
    return hk_trainer_save(trainer, PATH("torture.safetensors"));
}

static hk_status load_checkpoint(void)
{
    return hk_trainer_load(trainer, PATH("torture.safetensors"));
}

TEST(every_allocation_fails_once)
{
    REQUIRE_OK(create_model(&model));
    REQUIRE_OK(hk_model_save(model, PATH("torture.onnx"), NULL));
    REQUIRE_OK(hk_trainer_create(&trainer, model, "{\"train_batch_size\": 4}", NULL));
    REQUIRE_OK(save_checkpoint());
    fail_allocations("build and copy a graph", build_graph, 300);
    fail_allocations("save a model", save_model, 300);
    fail_allocations("load a model", load_model, 300);
    fail_allocations("run a session", run_session, 200);
    fail_allocations("two training steps", train_steps, 200);
    fail_allocations("save a checkpoint", save_checkpoint, 300);
    fail_allocations("load a checkpoint", load_checkpoint, 300);
}

/* ---- Full disk. ---- */

static void fail_writes(const char *name, scenario *run, const char *path)
{
    char *before, *after;
    size_t size_before, size_after;
    int64_t failures = 0;
    REQUIRE_OK(run());
    REQUIRE_OK(hki_file_read(&before, &size_before, path));
    for (int64_t n = 1; n < 10000; n++) {
        hki_file_fail_at(n);
        hk_status status = run();
        hki_file_fail_at(0);
        if (!status)
            break;
        failures++;
        CHECK_EQ(hk_status_code(status), HK_IO);
        CHECK(strstr(hk_status_message(status), "torture") != NULL);
        hk_status_free(status);
        REQUIRE_OK(hki_file_read(&after, &size_after, path));
        CHECK_EQ(size_after, size_before);
        if (size_after == size_before)
            CHECK_BYTES(after, before, size_before);
        hki_free(after);
    }
    printf("     %s: %lld failing writes\n", name, (long long)failures);
    CHECK(failures > 0);
    hki_free(before);
}

TEST(full_disk_leaves_the_old_file)
{
    fail_writes("save a model", save_model, PATH("torture_saved.onnx"));
    fail_writes("save a checkpoint", save_checkpoint, PATH("torture.safetensors"));
    char **names;
    size_t count;
    REQUIRE_OK(hki_directory_list(&names, &count, TEST_BINARY_DIR));
    for (size_t i = 0; i < count; i++)
        CHECK(!strstr(names[i], "torture_saved.onnx.tmp"));
    hki_free(names);
    hk_trainer_free(trainer);
    hk_graph_free(model);
}

TEST_MAIN()
