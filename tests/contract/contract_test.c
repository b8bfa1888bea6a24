/* The numerical contract on the quickstart network with dropout and augmentation: weights, optimizer state and loss log
 * of a run have the same bytes for any number of threads, any instruction set and any number of data-loading threads,
 * and after a kill at any of three points and a resume.
 *
 *     contract_test            threads 1 and 3 on every instruction set, one data-loading variant, kills: in `make
 * test` contract_test deep       the whole matrix with larger batches: in `make test-deep`
 *     contract_test brief      a few steps on one instruction set: under sanitizers */
#include "harness/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/system.h"
#include "formats/safetensors.h"
#include "halka/train.h"

#define DATA "/usr/share/datasets/fashion-mnist/"

static bool deep, brief;

/* One way to do the same run. */
typedef struct variant {
    const char *isa;
    int threads, workers;
    int64_t kill_at[3]; /* stop hard after these steps, then resume */
} variant;

static int64_t kill_step; /* the process ends itself after this step; 0: never */

static void on_progress(void *context, const hk_progress *progress)
{
    (void)context;
    if (kill_step && progress->step >= kill_step)
        raise(SIGKILL);
}

static const char *run_file(void)
{
    static char path[512];
    static const char *const format =
        "{\"model\": \"cnn\", \"output\": \"" TEST_BINARY_DIR "/runs\", \"max_steps\": %d, \"epochs\": 9,\n"
        " \"train_batch_size\": %d, \"train_micro_batch_size_per_gpu\": %d, \"checkpoint\": {\"every\": 7},\n"
        " \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 0.002, \"weight_decay\": 0.01}}, "
        "\"gradient_clipping\": 1,\n"
        " \"scheduler\": {\"type\": \"WarmupCosineLR\", \"params\": {\"warmup_num_steps\": 10}},\n"
        " \"data\": {\"train\": {\"images\": \"%strain-images-idx3-ubyte.gz\", \"labels\": "
        "\"%strain-labels-idx1-ubyte.gz\"},\n"
        "  \"limit\": %d, \"validation\": 0.1, \"augment\": {\"flip\": 0.5, \"crop\": 2, \"rotate\": 10, \"erase\": "
        "0.3}}}\n";
    int batch = deep ? 32 : 16;
    snprintf(path, sizeof path, "%s/contract_%d.json", TEST_BINARY_DIR, batch);
    hki_writer *writer = NULL;
    CHECK_OK(hki_writer_open(&writer, path));
    if (writer) {
        hki_writer_printf(writer, format, brief ? 12 : 50, batch, batch / 4, DATA, DATA, batch * 20 + 5);
        CHECK_OK(hki_writer_commit(writer));
    }
    return path;
}

/* Does part of a run in a child process, so that it can be killed. Returns the child's wait status. */
static int run_child(const char *name, const variant *v, bool resume, int64_t kill_after)
{
    const char *path = run_file();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char set_name[128], set_workers[64];
        snprintf(set_name, sizeof set_name, "name=\"%s\"", name);
        snprintf(set_workers, sizeof set_workers, "data.workers=%d", v->workers);
        const char *const overrides[] = {set_name, set_workers};
        hk_run_options options = hk_run_defaults();
        options.resume = resume;
        options.overrides = overrides;
        options.override_count = 2;
        options.session.threads = v->threads;
        options.session.isa = v->isa;
        options.progress = on_progress;
        kill_step = kill_after;
        hk_run_result result;
        hk_status status = hk_run_file(&result, path, &options);
        if (status)
            printf("%s: %s\n", name, hk_status_message(status));
        fflush(stdout);
        _exit(status != NULL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void remove_run(const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s/runs/%s'", TEST_BINARY_DIR, name);
    CHECK_EQ(system(command), 0);
}

static void run_variant(const char *name, const variant *v)
{
    remove_run(name);
    bool resume = false;
    for (int i = 0; i < 3 && v->kill_at[i]; i++, resume = true) {
        int status = run_child(name, v, resume, v->kill_at[i]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    int status = run_child(name, v, resume, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void compare_file(const char *a, const char *b, const char *file)
{
    char path_a[512], path_b[512], *text_a, *text_b;
    size_t size_a, size_b;
    snprintf(path_a, sizeof path_a, "%s/runs/%s/%s", TEST_BINARY_DIR, a, file);
    snprintf(path_b, sizeof path_b, "%s/runs/%s/%s", TEST_BINARY_DIR, b, file);
    REQUIRE_OK(hki_file_read(&text_a, &size_a, path_a));
    hk_status status = hki_file_read(&text_b, &size_b, path_b);
    CHECK_OK(status);
    if (!status) {
        bool same = size_a == size_b && !memcmp(text_a, text_b, size_a);
        if (!same)
            printf("%s: %s differs from that of %s\n", b, file, a);
        CHECK(same);
        hki_free(text_b);
    }
    hki_free(text_a);
}

static hki_safetensors *open_checkpoint(const char *name)
{
    char path[512];
    hki_safetensors *file = NULL;
    snprintf(path, sizeof path, "%s/runs/%s/checkpoints/step-00000000%d.safetensors", TEST_BINARY_DIR, name,
             brief ? 12 : 50);
    CHECK_OK(hki_safetensors_open(&file, path));
    return file;
}

/* Checkpoints hold the time spent in their metadata, so their tensors are compared one by one. */
static void compare_checkpoints(const char *a, const char *b)
{
    hki_safetensors *x = open_checkpoint(a), *y = open_checkpoint(b);
    CHECK(x && y && hki_safetensors_count(x) > 0 && hki_safetensors_count(x) == hki_safetensors_count(y));
    for (int64_t i = 0; x && y && i < hki_safetensors_count(x); i++) {
        const hk_tensor *t = hki_safetensors_at(x, i), *u = hki_safetensors_find(y, hki_safetensors_name(x, i));
        CHECK(u && hk_tensor_size(t) == hk_tensor_size(u) && !memcmp(t->data, u->data, hk_tensor_size(t)));
    }
    if (x)
        hki_safetensors_close(x);
    if (y)
        hki_safetensors_close(y);
}

static void compare(const char *a, const char *b)
{
    compare_file(a, b, "model.onnx");
    compare_file(a, b, "steps.csv");
    compare_checkpoints(a, b);
}

TEST(threads_isas_and_loaders)
{
    variant reference = {brief ? hki_isa_name(hki_isa_best()) : "c", 1, 0, {0}};
    run_variant("reference", &reference);
    for (int isa = brief ? (int)hki_isa_best() : 0; isa <= (int)hki_isa_best(); isa++)
        for (int threads = 1; threads <= 4; threads++) {
            bool wanted = deep || threads == 3 || (threads == 1 && isa == (int)hki_isa_best());
            if (!wanted)
                continue;
            variant v = {hki_isa_name((hki_isa)isa), threads, threads, {0}};
            char name[64];
            snprintf(name, sizeof name, "%s-%d", v.isa, threads);
            run_variant(name, &v);
            compare("reference", name);
        }
}

TEST(kill_and_resume)
{
    variant v = {hki_isa_name(hki_isa_best()), 2, 1, {5, 23, 41}};
    if (brief)
        memcpy(v.kill_at, (int64_t[]){3, 6, 9}, sizeof v.kill_at);
    run_variant("killed", &v);
    compare("reference", "killed");
}

int main(int argc, char **argv)
{
    deep = argc > 1 && !strcmp(argv[1], "deep");
    brief = argc > 1 && !strcmp(argv[1], "brief");
    for (int i = 0; i < test_count; i++) {
        int before = test_failures;
        test_list[i].run();
        printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", test_list[i].name);
    }
    return test_failures != 0;
}
