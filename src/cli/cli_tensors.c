/* Tensors from files and to files, and outputs as people read them. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "halka/file.h"
#include "halka/model.h"

/* ---- Reading. ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

/* Takes row `row` of a tensor, as a tensor with first dimension 1. */
static int take_row(hk_tensor **tensor, int64_t row, const char *text)
{
    int rank = hk_tensor_rank(*tensor);
    int64_t dims[HK_MAX_RANK], rows = rank ? hk_tensor_dims(*tensor)[0] : 0;
    if (row >= rows)
        return cli_error(HK_INVALID_ARGUMENT, "%s: there are rows 0 to %lld", text, (long long)rows - 1);
    memcpy(dims, hk_tensor_dims(*tensor), (size_t)rank * sizeof *dims);
    dims[0] = 1;
    size_t size = hk_tensor_size(*tensor) / (size_t)rows;
    hk_tensor *to;
    CLI_TRY(hk_tensor_from(&to, (const char *)hk_tensor_const_data(*tensor) + (size_t)row * size,
                           hk_tensor_dtype(*tensor), rank, dims));
    hk_tensor_free(*tensor);
    *tensor = to;
    return 0;
}

int cli_tensor_load(hk_tensor **out, bool *out_is_image, const char *text)
{
    char path[4096];
    const char *colon = strrchr(text, ':');
    int64_t row = -1;
    *out = NULL;
    *out_is_image = false;
    snprintf(path, sizeof path, "%s", text);
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon) < 19) {
        row = strtoll(colon + 1, NULL, 10);
        snprintf(path, sizeof path, "%.*s", (int)(colon - text), text);
    }
    hk_file_kind kind = HK_FILE_UNKNOWN;
    if (ends_with(path, ".pb")) {
        CLI_TRY(hk_tensor_load_pb(out, path));
        if (row >= 0)
            return take_row(out, row, text);
    } else {
        CLI_TRY(row >= 0 ? hk_tensor_load_row(out, &kind, path, row) : hk_tensor_load(out, &kind, path));
    }
    *out_is_image = kind == HK_FILE_IMAGE;
    return 0;
}

/* ---- Showing. ---- */

enum { MOST_TOP = 100, MOST_ROWS = 20, MOST_VALUES = 8 };

/* Indices of the k largest of a row, largest first; the lower index wins ties. */
static int find_top(int64_t *top, int k, const hk_tensor *tensor, int64_t begin, int64_t count)
{
    int used = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = cli_element(tensor, begin + i);
        int at = used < k ? used++ : used;
        if (at == k && !(value > cli_element(tensor, begin + top[k - 1])))
            continue;
        at = at == k ? k - 1 : at;
        while (at > 0 && value > cli_element(tensor, begin + top[at - 1])) {
            top[at] = top[at - 1];
            at--;
        }
        top[at] = i;
    }
    return used;
}

/* Softmax of one element of a row of logits. */
static double probability(const hk_tensor *tensor, int64_t begin, int64_t count, int64_t index)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, cli_element(tensor, begin + i));
    for (int64_t i = 0; i < count; i++)
        sum += exp(cli_element(tensor, begin + i) - largest);
    return exp(cli_element(tensor, begin + index) - largest) / sum;
}

typedef struct shown {
    const char *name;
    const hk_tensor *tensor;
    const cli_labels *labels;
    int top; /* 0: values */
    bool is_logits, json;
} shown;

static void show_top_row(const shown *s, int64_t row, int64_t classes)
{
    int64_t top[MOST_TOP];
    int count = find_top(top, s->top, s->tensor, row * classes, classes);
    if (s->json)
        json_open(NULL, '[');
    else
        printf("  row %lld:\n", (long long)row);
    for (int i = 0; i < count; i++) {
        double value = cli_element(s->tensor, row * classes + top[i]);
        double p = s->is_logits ? probability(s->tensor, row * classes, classes, top[i]) : value;
        const char *label = s->labels->count == classes ? s->labels->names[top[i]] : NULL;
        if (s->json) {
            json_open(NULL, '{');
            json_integer("class", top[i]);
            if (label)
                json_text("label", label);
            json_number("value", value);
            if (s->is_logits)
                json_number("probability", p);
            json_close();
        } else if (s->is_logits) {
            printf("    %5.1f %%  %s%s%lld\n", 100 * p, label ? label : "class ", label ? ", class " : "",
                   (long long)top[i]);
        } else {
            printf("    %9.5g  %s%s%lld\n", value, label ? label : "class ", label ? ", class " : "",
                   (long long)top[i]);
        }
    }
    if (s->json)
        json_close();
}

static void show_range(const shown *s)
{
    int64_t count = hk_tensor_count(s->tensor);
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = cli_element(s->tensor, i);
        low = fmin(low, value);
        high = fmax(high, value);
        sum += value;
    }
    if (s->json) {
        json_number("min", low);
        json_number("max", high);
        json_number("mean", sum / (double)count);
        return;
    }
    printf("  %g to %g, mean %g:", low, high, sum / (double)count);
    for (int64_t i = 0; i < count && i < MOST_VALUES; i++)
        printf(" %g", cli_element(s->tensor, i));
    puts(count > MOST_VALUES ? " ..." : "");
}

static void show(const shown *s)
{
    int rank = hk_tensor_rank(s->tensor);
    const int64_t *dims = hk_tensor_dims(s->tensor);
    if (s->json) {
        json_open(NULL, '{');
        json_text("name", s->name);
        json_text("dtype", hk_dtype_name(hk_tensor_dtype(s->tensor)));
        json_dims("dims", rank, dims);
    } else {
        printf("%s %s\n", s->name, cli_tensor_type(s->tensor));
    }
    if (hk_tensor_count(s->tensor) && s->top && rank) {
        int64_t classes = dims[rank - 1], rows = hk_tensor_count(s->tensor) / classes;
        if (s->json)
            json_open("top", '[');
        for (int64_t row = 0; row < rows && (s->json || row < MOST_ROWS); row++)
            show_top_row(s, row, classes);
        if (s->json)
            json_close();
        else if (rows > MOST_ROWS)
            printf("  ... %lld rows more\n", (long long)(rows - MOST_ROWS));
    } else if (hk_tensor_count(s->tensor)) {
        show_range(s);
    }
    if (s->json)
        json_close();
}

int cli_outputs_show(const cli_call *call, const hk_graph *graph, hk_tensor *const *outputs, const cli_labels *labels)
{
    int64_t top = cli_integer(call, "top", labels->count ? 3 : 0);
    if (top > MOST_TOP)
        return cli_error(HK_INVALID_ARGUMENT, "--top takes at most %d", MOST_TOP);
    if (call->json)
        json_open("outputs", '[');
    for (int i = 0; i < hk_graph_output_count(graph); i++) {
        shown s = {hk_graph_output_name(graph, i), outputs[i], labels, (int)top, false, call->json};
        s.is_logits = !strcmp(s.name, "logits");
        if (!cli_has(call, "top") && (hk_tensor_rank(outputs[i]) < 1 ||
                                      hk_tensor_dims(outputs[i])[hk_tensor_rank(outputs[i]) - 1] != labels->count))
            s.top = 0; /* labels do not belong to this output */
        show(&s);
    }
    if (call->json)
        json_close();
    return 0;
}

/* ---- Saving. ---- */

static int save_text(const hk_tensor *tensor, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return cli_error(HK_IO, "%s: %s", path, strerror(errno));
    int rank = hk_tensor_rank(tensor);
    int64_t count = hk_tensor_count(tensor), width = rank ? hk_tensor_dims(tensor)[rank - 1] : 1;
    for (int64_t i = 0; i < count; i++)
        fprintf(file, "%.9g%c", cli_element(tensor, i), (i + 1) % width ? ' ' : '\n');
    bool failed = ferror(file);
    if (fclose(file) || failed)
        return cli_error(HK_IO, "%s: %s", path, strerror(errno));
    return 0;
}

int cli_outputs_save(const cli_call *call, const hk_graph *graph, hk_tensor *const *outputs, const char *folder)
{
    const char *format = cli_text(call, "format", "npy");
    if (mkdir(folder, 0777) && errno != EEXIST)
        return cli_error(HK_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < hk_graph_output_count(graph); i++) {
        const char *name = hk_graph_output_name(graph, i);
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s.%s", folder, name, format);
        if (length >= (int)sizeof path)
            return cli_error(HK_INVALID_ARGUMENT, "%s: the name is too long", folder);
        for (char *at = path + strlen(folder) + 1; *at; at++)
            *at = *at == '/' ? '_' : *at; /* names such as "resnet/logits" */
        if (!strcmp(format, "txt")) {
            int code = save_text(outputs[i], path);
            if (code)
                return code;
        } else {
            CLI_TRY(!strcmp(format, "pb") ? hk_tensor_save_pb(outputs[i], name, path)
                                          : hk_tensor_save_npy(outputs[i], path));
        }
        if (!call->json)
            printf("wrote %s\n", path);
    }
    return 0;
}
