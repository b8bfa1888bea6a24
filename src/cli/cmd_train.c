/* halka train: runs what a run file names, and shows how it goes. */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "halka/train.h"

typedef struct view {
    bool is_terminal, json;
    bool line_open; /* a line that the next one overwrites stands on the terminal */
    double shown;   /* when that was */
} view;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "1:23:45", "23:45" */
static const char *clock_text(double seconds)
{
    static char text[32];
    long long s = seconds > 0 && seconds < 1e9 ? (long long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
    return text;
}

static void progress(void *context, const hk_progress *p)
{
    view *v = context;
    if (!p->end_of_phase && (v->is_terminal ? now() - v->shown < 0.1 : !p->line_due))
        return;
    if (v->is_terminal)
        fputs("\r\033[K", stderr);
    v->shown = now();
    fprintf(stderr, "epoch %lld/%lld  %-10s", (long long)p->epoch, (long long)p->epochs, p->phase);
    if (!p->end_of_phase)
        fprintf(stderr, " %3d%%", p->epoch_steps > 0 ? (int)(100 * p->epoch_step / p->epoch_steps) : 0);
    fprintf(stderr, "  loss %.4f", p->loss);
    if (isfinite(p->metric) && p->metric_name)
        fprintf(stderr, "  %s %.4f", p->metric_name, p->metric);
    if (p->samples_per_second > 0)
        fprintf(stderr, "  %.0f samples/s", p->samples_per_second);
    if (!strcmp(p->phase, "train"))
        fprintf(stderr, "  lr %.3g", p->learning_rate);
    if (p->seconds_left > 0)
        fprintf(stderr, "  %s left", clock_text(p->seconds_left));
    v->line_open = v->is_terminal && !p->end_of_phase;
    if (!v->line_open)
        fputc('\n', stderr);
    fflush(stderr);
}

static void close_line(view *v)
{
    if (v->line_open)
        fputs("\r\033[K", stderr);
    v->line_open = false;
}

static void message(void *context, const char *line)
{
    view *v = context;
    close_line(v);
    fprintf(v->json ? stderr : stdout, "%s\n", line);
    fflush(stdout);
}

static void result_json(const hk_run_result *r)
{
    json_open(NULL, '{');
    json_text("folder", r->folder);
    json_text("model", r->model_path);
    json_text("report", r->report_path);
    json_integer("steps", r->steps);
    json_integer("epochs", r->epochs);
    json_number("loss", r->loss);
    json_text("metric_name", r->metric_name);
    json_number("metric", r->metric);
    json_number("best_metric", r->best_metric);
    json_number("test_loss", r->test_loss);
    json_number("test_metric", r->test_metric);
    json_number("seconds", r->seconds);
    json_number("samples_per_second", r->samples_per_second);
    json_integer("peak_memory", (int64_t)r->peak_memory);
    json_bool("interrupted", r->interrupted);
    json_close();
}

static void result_text(const hk_run_result *r)
{
    const char *metric = r->metric_name ? r->metric_name : "metric";
    printf("%s after %lld steps, %s, %.0f samples/s, peak memory %s\n", r->interrupted ? "stopped" : "done",
           (long long)r->steps, clock_text(r->seconds), r->samples_per_second, cli_bytes((double)r->peak_memory));
    printf("last training loss %.4f", r->loss);
    if (isfinite(r->metric))
        printf(", validation %s %.4f", metric, r->metric);
    putchar('\n');
    if (isfinite(r->test_loss)) {
        printf("test loss %.4f", r->test_loss);
        if (isfinite(r->test_metric))
            printf(", test %s %.4f", metric, r->test_metric);
        putchar('\n');
    }
    if (r->model_path)
        printf("model:  %s\n", r->model_path);
    if (r->report_path)
        printf("report: %s\n", r->report_path);
    if (r->interrupted)
        printf("everything is saved; the same command with --resume goes on\n");
}

int cmd_train(cli_call *call)
{
    view v = {.is_terminal = isatty(STDERR_FILENO) != 0, .json = call->json};
    hk_run_options options = hk_run_defaults();
    const char **overrides = calloc((size_t)call->given_count + 1, sizeof *overrides);
    if (!overrides)
        return cli_no_memory();
    for (int i = 0; (overrides[i] = cli_nth(call, "set", i)); i++)
        options.override_count = i + 1;
    options.overrides = overrides;
    options.resume = cli_has(call, "resume");
    options.session = cli_session_options(call);
    options.progress = cli_has(call, "quiet") ? NULL : progress;
    options.message = cli_has(call, "quiet") ? NULL : message;
    options.context = &v;
    hk_stop_on_signals();
    hk_run_result result;
    hk_status status = hk_run_file(&result, cli_argument_at(call, 0), &options);
    free(overrides);
    close_line(&v);
    if (status)
        return cli_status(status);
    int code = result.interrupted ? hk_code_exit(HK_INTERRUPTED) : 0;
    if (call->json)
        result_json(&result);
    else
        result_text(&result);
    hk_run_result_clear(&result);
    return code;
}
