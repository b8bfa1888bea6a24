/* halka run: runs a model on inputs from files or random ones; shows or saves the outputs; measures. */
#include <time.h>

#include "cli/cli.h"
#include "halka/model.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct timing {
    int64_t runs;
    double first, median, best;
} timing;

static void free_outputs(hk_tensor **outputs, int count)
{
    for (int i = 0; i < count; i++) {
        hk_tensor_free(outputs[i]);
        outputs[i] = NULL;
    }
}

/* Runs once, and then as often as --repeat says. The outputs of the last run are kept. */
static int run_all(timing *t, hk_tensor **outputs, hk_session *session, hk_tensor *const *inputs, int output_count,
                   int64_t repeat)
{
    double *seconds = calloc((size_t)repeat + 1, sizeof *seconds);
    if (!seconds)
        return cli_no_memory();
    hk_status status = NULL;
    for (int64_t i = 0; i <= repeat && !status; i++) {
        free_outputs(outputs, output_count);
        double start = now();
        status = hk_session_run(session, (const hk_tensor *const *)inputs, outputs);
        seconds[i] = now() - start;
    }
    *t = (timing){.runs = repeat, .first = seconds[0]};
    if (repeat) {
        qsort(seconds + 1, (size_t)repeat, sizeof *seconds, by_value);
        t->median = seconds[1 + repeat / 2];
        t->best = seconds[1];
    }
    free(seconds);
    return cli_status(status);
}

static void show_profile(const cli_call *call, const hk_session *session)
{
    hk_profile_row rows[64];
    int count = hk_session_profile(session, rows, 64);
    if (call->json) {
        json_open("profile", '[');
        for (int i = 0; i < count; i++) {
            json_open(NULL, '{');
            json_text("operator", rows[i].op);
            json_integer("calls", rows[i].calls);
            json_number("seconds", rows[i].seconds);
            json_number("share", rows[i].share);
            json_number("gflops", rows[i].gflops);
            json_close();
        }
        json_close();
        return;
    }
    printf("\n%-24s %8s %12s %7s %10s\n", "operator", "calls", "ms", "share", "GFLOP/s");
    for (int i = 0; i < count; i++) {
        printf("%-24s %8lld %12.3f %6.1f%%", rows[i].op, (long long)rows[i].calls, 1e3 * rows[i].seconds,
               100 * rows[i].share);
        if (rows[i].gflops > 0)
            printf(" %10.1f", rows[i].gflops);
        putchar('\n');
    }
    printf("wrote %s (open it in chrome://tracing or ui.perfetto.dev)\n", cli_text(call, "profile", NULL));
}

static void show_timing(const cli_call *call, const timing *t)
{
    if (call->json) {
        json_integer("runs", t->runs + 1);
        json_number("first_seconds", t->first);
        if (t->runs)
            json_number("median_seconds", t->median);
    } else if (t->runs) {
        printf("%lld runs: median %.3f ms, best %.3f ms (the first, with planning: %.3f ms)\n", (long long)t->runs,
               1e3 * t->median, 1e3 * t->best, 1e3 * t->first);
    }
}

static int report(const cli_call *call, const hk_graph *graph, const hk_session *session, hk_tensor *const *outputs,
                  const timing *t)
{
    cli_labels labels;
    int code = cli_labels_load(&labels, graph, call);
    const char *folder = cli_text(call, "output", NULL), *trace = cli_text(call, "profile", NULL);
    if (!code && trace)
        code = cli_status(hk_session_write_trace(session, trace));
    if (!code && call->json) {
        if (folder)
            code = cli_outputs_save(call, graph, outputs, folder); /* before the document is begun: it may fail */
        if (!code)
            json_open(NULL, '{');
    }
    if (!code)
        code = cli_outputs_show(call, graph, outputs, &labels);
    if (!code && folder && !call->json)
        code = cli_outputs_save(call, graph, outputs, folder);
    if (!code)
        show_timing(call, t);
    if (!code && cli_has(call, "profile"))
        show_profile(call, session);
    if (!code && call->json)
        json_close();
    cli_labels_free(&labels);
    return code;
}

static int run_session(const cli_call *call, const hk_graph *graph, hk_tensor *const *inputs)
{
    hk_session_options options = cli_session_options(call);
    hk_session *session;
    timing t = {0};
    int count = hk_graph_output_count(graph);
    options.profile = cli_has(call, "profile");
    options.seed = (uint64_t)cli_integer(call, "seed", 0);
    hk_tensor **outputs = calloc((size_t)count + 1, sizeof *outputs);
    if (!outputs)
        return cli_no_memory();
    int code = cli_status(hk_session_create(&session, graph, &options));
    if (!code) {
        code = run_all(&t, outputs, session, inputs, count, cli_integer(call, "repeat", 0));
        if (!code)
            code = report(call, graph, session, outputs, &t);
        free_outputs(outputs, count);
        hk_session_free(session);
    }
    free(outputs);
    return code;
}

int cmd_run(cli_call *call)
{
    hk_graph *graph;
    hk_tensor **inputs = NULL;
    CLI_TRY(hk_model_load(&graph, cli_argument_at(call, 0)));
    int code = cli_inputs_load(&inputs, graph, call);
    if (!code)
        code = run_session(call, graph, inputs);
    cli_inputs_free(inputs, graph);
    hk_graph_free(graph);
    return code;
}
