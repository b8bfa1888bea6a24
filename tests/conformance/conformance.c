/* Runs the ONNX backend suite and compares its result with the list of expected failures, which may only shrink.
 *
 *     conformance                      all cases; fails if a case fails that is not listed, or passes though listed
 *     conformance PATTERN...           only cases whose name matches (shell pattern, such as 'node/test_conv*'); says
 * why each fails conformance --write              rewrites the list from what happens now
 *
 * Each case runs in a process of its own, so that a crash is one failed case. HALKA_ONNX_TESTDATA names another data
 * directory. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "compare.h"
#include "halka/model.h"
#include "halka/session.h"
#include "tensor/tensor.h"

#define DATA_DEFAULT "/usr/share/libonnx-testdata/data"
enum { MAX_VALUES = 64, PATH = 8192, WHY = 200, CASE_SECONDS = 120, SKIPPED = 77 };
static const double relative = 1e-3, absolute = 1e-7; /* defaults of the suite (onnx/backend/test/runner) */

typedef struct expected {
    char *text; /* the file, cut into lines */
    char **names;
    size_t count, capacity;
    bool *met;
} expected;

/* ---- One case, in the child process. ---- */

typedef struct tensors {
    hk_tensor *list[MAX_VALUES];
    int count;
} tensors;

static void tensors_free(tensors *t)
{
    for (int i = 0; i < t->count; i++)
        hk_tensor_free(t->list[i]);
    t->count = 0;
}

static hk_status load_all(tensors *out, const char *folder, const char *stem)
{
    for (out->count = 0; out->count < MAX_VALUES; out->count++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/%s_%d.pb", folder, stem, out->count);
        if (!hki_path_exists(path))
            return NULL;
        hk_status status = hk_tensor_load_pb(&out->list[out->count], path);
        if (status)
            return status;
    }
    return NULL;
}

/* NumPy has no bfloat16, so the suite stores it as uint16: the bytes are right, the type is not. */
static void restore_bfloat16(tensors *t, int i, hk_dtype wanted)
{
    if (i < t->count && wanted == HK_BFLOAT16 && hk_tensor_dtype(t->list[i]) == HK_UINT16)
        t->list[i]->dtype = HK_BFLOAT16;
}

/* The suite gives one file per input without a default, or one per input. */
static hk_status run_session(hk_tensor **out, hk_session *session, const hk_graph *graph, tensors *in)
{
    const hk_tensor *inputs[MAX_VALUES] = {0};
    int next = 0, count = hk_graph_input_count(graph);
    if (count > MAX_VALUES || hk_graph_output_count(graph) > MAX_VALUES)
        return HK_ERR(HK_UNSUPPORTED, "more than %d inputs or outputs", MAX_VALUES);
    for (int i = 0; i < count; i++) {
        const hk_value *input = hk_graph_input_at(graph, i);
        if (in->count != count && hk_value_tensor(input))
            continue;
        restore_bfloat16(in, next, hk_value_dtype(input));
        inputs[i] = next < in->count ? in->list[next++] : NULL;
    }
    return hk_session_run(session, inputs, out);
}

static hk_status run_set(char *why, const hk_graph *graph, hk_session *session, const char *folder)
{
    tensors in = {0}, want = {0};
    hk_tensor *out[MAX_VALUES] = {0};
    hk_status status = load_all(&in, folder, "input");
    if (!status)
        status = load_all(&want, folder, "output");
    if (!status)
        status = run_session(out, session, graph, &in);
    int count = hk_graph_output_count(graph);
    if (!status && count != want.count)
        snprintf(why, WHY, "%d outputs, expected %d", count, want.count);
    for (int i = 0; i < count && i < want.count && !status && !*why; i++) {
        char what[WHY / 2];
        restore_bfloat16(&want, i, hk_tensor_dtype(out[i]));
        if (!compare_tensors(what, sizeof what, out[i], want.list[i], relative, absolute))
            snprintf(why, WHY, "output %d %s", i, what);
    }
    for (int i = 0; i < MAX_VALUES; i++)
        hk_tensor_free(out[i]);
    tensors_free(&in);
    tensors_free(&want);
    return status;
}

static hk_status run_case(char *why, const char *folder)
{
    char path[PATH];
    hk_graph *graph = NULL;
    hk_session *session = NULL;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    hk_status status = hk_model_load(&graph, path);
    if (!status)
        status = hk_session_create(&session, graph, NULL);
    for (int set = 0; !status && !*why; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, set);
        if (!hki_path_exists(path)) {
            if (!set)
                snprintf(why, WHY, "no data");
            break;
        }
        status = run_set(why, graph, session, path);
    }
    hk_session_free(session);
    hk_graph_free(graph);
    return status;
}

/* ---- The parent. ---- */

/* Runs a case in a child; `why` is empty if it passed. */
static void isolate(char *why, const char *folder)
{
    int ends[2], state;
    if (pipe(ends))
        exit(2);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        exit(2);
    if (!child) {
        char text[WHY] = "";
        alarm(CASE_SECONDS);
        hk_status status = run_case(text, folder);
        const char *message = status ? hk_status_message(status) : text;
        const char *start = strstr(message, "model.onnx: ");
        start = start ? start + strlen("model.onnx: ") : message;
        ssize_t written = write(ends[1], start, strnlen(start, WHY - 1));
        hk_status_free(status);
        exit(written < 0);
    }
    close(ends[1]);
    ssize_t size, total = 0;
    while (total < WHY - 1 && (size = read(ends[0], why + total, (size_t)(WHY - 1 - total))) > 0)
        total += size;
    why[total] = 0;
    close(ends[0]);
    waitpid(child, &state, 0);
    if (WIFSIGNALED(state))
        snprintf(why, WHY, "killed by signal %d (%s)", WTERMSIG(state), strsignal(WTERMSIG(state)));
    else if (WEXITSTATUS(state) && !*why)
        snprintf(why, WHY, "exit code %d (sanitizer?)", WEXITSTATUS(state));
    for (char *c = why; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

static void read_expected(expected *e)
{
    size_t size;
    hk_status status = hki_file_read(&e->text, &size, EXPECTED_FAILURES);
    if (status) {
        hk_status_free(status);
        return;
    }
    for (char *line = e->text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (!*line || *line == '#')
            continue;
        line[strcspn(line, " ")] = 0;
        hk_status grown = hki_array_grow(&e->names, &e->capacity, e->count + 1, sizeof *e->names);
        if (grown)
            exit(2);
        e->names[e->count++] = line;
    }
    e->met = calloc(e->count + 1, 1);
}

static bool is_expected(expected *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++)
        if (!strcmp(e->names[i], name)) {
            e->met[i] = true;
            return true;
        }
    return false;
}

typedef struct tally {
    int cases, passed, surprises;
    FILE *list; /* --write */
    char **patterns;
    int pattern_count;
    expected expected;
} tally;

static bool wanted(const tally *t, const char *name)
{
    for (int i = 0; i < t->pattern_count; i++)
        if (hki_glob_match(t->patterns[i], name))
            return true;
    return !t->pattern_count;
}

static void judge(tally *t, const char *name, const char *why)
{
    bool passed = !*why, listed = is_expected(&t->expected, name);
    t->cases++;
    t->passed += passed;
    if (t->list && !passed)
        fprintf(t->list, "%s %s\n", name, why);
    if (t->pattern_count || t->list) {
        printf("%s %s%s%s\n", passed ? "pass" : "FAIL", name, passed ? "" : ": ", why);
        return;
    }
    if (passed == !listed)
        return;
    t->surprises++;
    if (passed)
        printf("passes, though listed as a failure: %s (remove it from the list)\n", name);
    else
        printf("FAIL %s: %s\n", name, why);
}

static void run_kind(tally *t, const char *data, const char *kind)
{
    char folder[PATH / 2], name[1024], why[WHY];
    char **cases;
    size_t count;
    snprintf(folder, sizeof folder, "%s/%s", data, kind);
    hk_status status = hki_directory_list(&cases, &count, folder);
    if (status) {
        printf("%s\n", hk_status_message(status));
        hk_status_free(status);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%s", kind, cases[i]);
        snprintf(folder, sizeof folder, "%s/%s/%s", data, kind, cases[i]);
        char model[PATH];
        snprintf(model, sizeof model, "%s/model.onnx", folder);
        if (!hki_path_exists(model) || !wanted(t, name))
            continue; /* the "real" models are not in the package */
        isolate(why, folder);
        judge(t, name, why);
    }
    hki_free(cases);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    const char *data = getenv("HALKA_ONNX_TESTDATA");
    tally t = {0};
    if (!data)
        data = DATA_DEFAULT;
    if (!hki_path_exists(data)) {
        printf("skipped: %s is not there (Debian: libonnx-testdata)\n", data);
        return SKIPPED;
    }
    bool writing = argc > 1 && !strcmp(argv[1], "--write");
    if (writing) {
        t.list = fopen(EXPECTED_FAILURES, "w");
        if (!t.list)
            return 2;
        fprintf(t.list,
                "# Cases of the ONNX backend suite (1.12) that halka fails, and why. Made by: conformance --write\n");
    } else {
        read_expected(&t.expected);
        t.patterns = argv + 1;
        t.pattern_count = argc - 1;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        run_kind(&t, data, kinds[i]);
    printf("%d of %d cases pass; %zu are listed as expected failures\n", t.passed, t.cases, t.expected.count);
    for (size_t i = 0; i < t.expected.count && !t.pattern_count; i++)
        if (!t.expected.met[i]) {
            printf("listed as a failure, but there is no such case: %s\n", t.expected.names[i]);
            t.surprises++;
        }
    if (t.list && fclose(t.list))
        return 2;
    hki_free(t.expected.text);
    hki_free(t.expected.names);
    free(t.expected.met);
    return t.surprises != 0;
}
