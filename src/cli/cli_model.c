/* What several verbs ask of a model: its inputs by name, how many parameters it has, its class names. */
#include <errno.h>

#include "cli/cli.h"

int cli_input_find(const hk_graph *graph, const char *name)
{
    const char *names[64];
    int count = hk_graph_input_count(graph), listed = 0;
    for (int i = 0; i < count; i++) {
        const char *input = hk_value_name(hk_graph_input_at(graph, i));
        if (!strcmp(input, name))
            return i;
        if (listed < 64)
            names[listed++] = input;
    }
    const char *nearest = cli_nearest(name, names, listed);
    cli_error(HK_NOT_FOUND, "the model has no input '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
              nearest ? nearest : "", nearest ? "'?" : "; `halka inspect` lists them");
    return -1;
}

int cli_shape_option(int *out_index, int *out_rank, int64_t dims[HK_MAX_RANK], const hk_graph *graph, const char *text)
{
    const char *equals = strrchr(text, '='), *shape = equals ? equals + 1 : text;
    *out_index = 0;
    if (equals) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        *out_index = cli_input_find(graph, name);
        if (*out_index < 0)
            return hk_code_exit(HK_NOT_FOUND);
    } else if (!hk_graph_input_count(graph)) {
        return cli_error(HK_INVALID_ARGUMENT, "--shape %s: the model has no inputs", text);
    }
    *out_rank = cli_dims(dims, shape);
    if (*out_rank < 0)
        return cli_error(HK_INVALID_ARGUMENT, "--shape takes NAME=1x3x224x224, not '%s'", text);
    return 0;
}

/* True for running statistics: inputs 3 and 4 of a BatchNormalization. */
static bool is_statistic(const hk_graph *graph, const hk_value *value)
{
    for (const hk_node *node = hk_graph_first(graph); node; node = hk_node_next(node))
        if (!strcmp(hk_node_op(node), "BatchNormalization"))
            for (int i = 3; i < hk_node_input_count(node); i++)
                if (hk_node_input(node, i) == value)
                    return true;
    return false;
}

int64_t cli_parameter_count(const hk_graph *graph)
{
    int64_t total = 0;
    int count = hk_graph_constant_count(graph);
    for (int i = 0; i < count; i++) {
        const hk_value *value = hk_graph_constant_at(graph, i);
        hk_dtype dtype = hk_value_dtype(value);
        bool is_float = dtype == HK_FLOAT || dtype == HK_DOUBLE || dtype == HK_FLOAT16 || dtype == HK_BFLOAT16;
        if (is_float && hk_value_rank(value) > 0 && strncmp(hk_value_name(value), "preprocess.", 11) &&
            !is_statistic(graph, value))
            total += hk_tensor_count(hk_value_tensor(value));
    }
    return total;
}

/* ---- Class names. ---- */

/* Splits a text in place, at line ends if there are any, else at commas. */
static int split_labels(cli_labels *labels)
{
    const char *separators = strchr(labels->text, '\n') ? "\r\n" : ",";
    int capacity = 1;
    for (const char *at = labels->text; *at; at++)
        capacity += strchr(separators, *at) != NULL;
    labels->names = calloc((size_t)capacity, sizeof *labels->names);
    if (!labels->names)
        return cli_no_memory();
    char *rest = NULL;
    for (char *name = strtok_r(labels->text, separators, &rest); name; name = strtok_r(NULL, separators, &rest))
        labels->names[labels->count++] = name;
    return 0;
}

static int read_text(char **out, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return cli_error(errno == ENOENT ? HK_NOT_FOUND : HK_IO, "%s: %s", path, strerror(errno));
    char *text = calloc(1, 1 << 20); /* names of a million bytes are enough */
    size_t size = text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    bool failed = ferror(file);
    fclose(file);
    if (!text)
        return cli_no_memory();
    if (failed || memchr(text, 0, size)) {
        free(text);
        return failed ? cli_error(HK_IO, "%s: %s", path, strerror(errno))
                      : cli_error(HK_INVALID_FILE, "%s: expected text, one name per line", path);
    }
    *out = text;
    return 0;
}

int cli_labels_load(cli_labels *out, const hk_graph *graph, const cli_call *call)
{
    *out = (cli_labels){0};
    const char *path = cli_text(call, "labels", NULL), *metadata = hk_graph_metadata(graph, "halka.labels");
    if (path) {
        int code = read_text(&out->text, path);
        return code ? code : split_labels(out);
    }
    if (!metadata)
        return 0;
    out->text = strdup(metadata);
    return out->text ? split_labels(out) : cli_no_memory();
}

void cli_labels_free(cli_labels *labels)
{
    free(labels->text);
    free(labels->names);
}
