/* The facts of a run, put into words for the report. */
#include "train/run_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/file.h"

#define FACTS 16

typedef struct fact_list {
    hki_arena *arena;
    hki_fact facts[FACTS];
    int count;
    bool failed;
} fact_list;

static void add(fact_list *l, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(fact_list *l, const char *name, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *value = hki_arena_strdup(l->arena, text);
    if (!value || l->count == FACTS)
        l->failed = true;
    else
        l->facts[l->count++] = (hki_fact){name, value};
}

static int64_t parameters_of(const hki_space *space)
{
    int64_t count = 0;
    for (int i = 0; i < space->count; i++)
        count += space->segments[i].count;
    return count;
}

static void list_facts(fact_list *l, const hki_run_facts *f)
{
    const hki_config *c = f->trainer->config;
    char cpu[80];
    hki_cpu_name(cpu, sizeof cpu);
    add(l, "Model", "%s", c->model_name ? c->model_name : c->model_file);
    add(l, "Trained parameters", "%" PRId64, parameters_of(&f->trainer->graph.parameters));
    add(l, "Training samples", "%" PRId64, f->data->train_count);
    if (f->data->validation_count)
        add(l, "Validation samples", "%" PRId64, f->data->validation_count);
    if (f->data->test)
        add(l, "Test samples", "%" PRId64, f->data->test->count);
    add(l, "Epochs, steps", "%" PRId64 ", %" PRId64, f->folder->epoch_count, f->folder->step_count);
    if (f->state->best_epoch)
        add(l, "Best epoch", "%" PRId64, f->state->best_epoch);
    add(l, "Batch, micro-batch", "%" PRId64 ", %" PRId64, c->train_batch_size, c->micro_batch_size);
    add(l, "Training time", "%.1f s", f->state->seconds);
    add(l, "Peak memory", "%.0f MB", (double)hki_memory_peak() / 1e6);
    add(l, "Threads, instruction set", "%d, %s", hki_pool_threads(f->trainer->context->pool),
        hki_isa_name(f->trainer->context->k->isa));
    add(l, "Processor", "%s", cpu);
    add(l, "Seed", "%" PRIu64, c->seed);
    add(l, "halka", "%s", HALKA_VERSION);
}

static hk_status write(char **out_path, fact_list *l, const hki_run_facts *f)
{
    const hki_config *c = f->trainer->config;
    list_facts(l, f);
    if (l->failed)
        return hki_out_of_memory();
    *out_path = hki_path_join(f->folder->path, "report.html");
    if (!*out_path)
        return hki_out_of_memory();
    hki_report report = {.title = c->name ? c->name : c->model_name ? c->model_name : "run",
                         .facts = l->facts,
                         .fact_count = l->count,
                         .epochs = f->folder->epochs,
                         .epoch_count = f->folder->epoch_count,
                         .steps = f->folder->steps,
                         .step_count = f->folder->step_count,
                         .evaluation = f->test ? f->test : f->validation,
                         .evaluation_name = f->test ? "test" : "validation",
                         .classes = f->data->train->class_names,
                         .wrong = f->wrong,
                         .wrong_count = f->wrong_count,
                         .config = c->effective};
    return hki_report_write(*out_path, &report);
}

hk_status hki_run_report(char **out_path, const hki_run_facts *facts)
{
    fact_list l = {0};
    *out_path = NULL;
    HK_TRY(hki_arena_create(&l.arena));
    hk_status status = write(out_path, &l, facts);
    hki_arena_free(l.arena);
    if (status) {
        hki_free(*out_path);
        *out_path = NULL;
    }
    return status;
}
