/* Profiles. Times are of the calling thread: a step includes its parallel part. */
#include "exec/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const char *step_op(const hki_step *step)
{
    return step->node ? step->node->op->name : "(reorder)";
}

static void trace_step(hki_text *text, const hki_plan *plan, const hki_step *step, int id)
{
    char shape[HKI_SHAPE_TEXT] = "";
    if (step->out_tensors[0])
        hki_shape_text(shape, step->out_tensors[0]->dtype, step->out_tensors[0]->rank, step->out_tensors[0]->dims);
    hki_text_printf(text, "%s\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":",
                    text->data && text->data[text->length - 1] == '}' ? "," : "", id,
                    1e6 * (step->last_start - plan->epoch), 1e6 * step->seconds / (double)step->calls);
    hki_text_json(text, step_op(step));
    hki_text_printf(text, ",\"args\":{\"node\":");
    hki_text_json(text, step->node ? step->node->name : "");
    hki_text_printf(text, ",\"output\":");
    hki_text_json(text, shape);
    hki_text_printf(text, ",\"calls\":%lld,\"flops\":%.0f}}", (long long)step->calls, step->flops);
}

hk_status hki_profile_write_trace(const hki_plan_cache *cache, const char *path)
{
    hki_text text = {0};
    hki_text_printf(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (int p = 0; p < cache->count; p++) {
        const hki_plan *plan = cache->plans[p].plan;
        for (int s = 0; s < plan->step_count; s++)
            if (plan->steps[s]->calls)
                trace_step(&text, plan, plan->steps[s], p + 1);
    }
    hki_text_printf(&text, "\n]}\n");
    hk_status status = hki_text_status(&text);
    hki_writer *writer = NULL;
    if (!status)
        status = hki_writer_open(&writer, path);
    if (!status) {
        hki_writer_write(writer, text.data, text.length);
        status = hki_writer_commit(writer);
    }
    hki_text_free(&text);
    return status;
}

static int slower_first(const void *a, const void *b)
{
    double x = ((const hk_profile_row *)a)->seconds, y = ((const hk_profile_row *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

int hki_profile_table(const hki_plan *plan, hk_profile_row *rows, int capacity)
{
    int count = 0;
    double total = 0;
    for (int s = 0; s < plan->step_count; s++) {
        const hki_step *step = plan->steps[s];
        total += step->seconds;
        int row = 0;
        while (row < count && strcmp(rows[row].op, step_op(step)))
            row++;
        if (row == count) {
            if (count == capacity)
                continue;
            rows[count++] = (hk_profile_row){.op = step_op(step)};
        }
        rows[row].calls += step->calls;
        rows[row].seconds += step->seconds;
        rows[row].gflops += step->flops * (double)step->calls; /* a sum until the end */
    }
    for (int row = 0; row < count; row++) {
        rows[row].share = total > 0 ? rows[row].seconds / total : 0;
        rows[row].gflops = rows[row].seconds > 0 ? rows[row].gflops / rows[row].seconds / 1e9 : 0;
    }
    qsort(rows, (size_t)count, sizeof *rows, slower_first);
    return count;
}
