/* halka model list, halka model create: the built-in architectures. */
#include "cli/cli.h"
#include "halka/architecture.h"
#include "halka/digest.h"
#include "halka/model.h"

int cmd_model_list(cli_call *call)
{
    if (call->json)
        json_open(NULL, '[');
    for (int i = 0; i < hk_architecture_count(); i++) {
        const hk_architecture_info *info = hk_architecture_at(i);
        int64_t sample[] = {info->channels, info->height, info->width};
        if (call->json) {
            json_open(NULL, '{');
            json_text("name", info->name);
            json_text("doc", info->doc);
            json_dims("sample", 3, sample);
            json_integer("classes", info->classes);
            json_close();
        } else {
            char shape[64];
            snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)sample[0], (long long)sample[1],
                     (long long)sample[2]);
            printf("%-16s %-11s %5lld  %s\n", info->name, shape, (long long)info->classes, info->doc);
        }
    }
    if (call->json)
        json_close();
    else
        printf("\nColumns: name, sample (channels x height x width), classes. `halka model create NAME -o FILE` makes "
               "one.\n");
    return 0;
}

/* ---- create ---- */

/* What the options point to. */
typedef struct lists {
    int64_t widths[64];
    float mean[64], deviation[64];
} lists;

static int read_floats(float *out, int *out_count, const cli_call *call, const char *option)
{
    double numbers[64];
    const char *text = cli_text(call, option, NULL);
    *out_count = 0;
    if (!text)
        return 0;
    int count = cli_numbers(numbers, 64, text);
    if (count < 0)
        return cli_error(HK_INVALID_ARGUMENT, "--%s takes numbers such as 0.485,0.456,0.406, not '%s'", option, text);
    for (int i = 0; i < count; i++)
        out[i] = (float)numbers[i];
    *out_count = count;
    return 0;
}

/* "uint8:HW": how samples are stored. */
static int read_input(hk_architecture_options *o, const char *text)
{
    static const char *const layouts[] = {"CHW", "HWC", "HW", "VECTOR"};
    char type[32];
    size_t length = strcspn(text, ":");
    snprintf(type, sizeof type, "%.*s", (int)length, text);
    o->input_dtype = hk_dtype_find(type);
    if (o->input_dtype != HK_FLOAT && o->input_dtype != HK_UINT8)
        return cli_error(HK_INVALID_ARGUMENT, "--input takes uint8 or float32 and a layout, such as uint8:HW, not '%s'",
                         text);
    if (!text[length])
        return 0;
    for (int i = 0; i < 4; i++)
        if (!strcmp(text + length + 1, layouts[i])) {
            o->layout = (hk_pixel_layout)i;
            return 0;
        }
    return cli_error(HK_INVALID_ARGUMENT, "--input: the layout is CHW, HWC, HW or VECTOR, not '%s'", text + length + 1);
}

/* "1x28x28", or "13" features. */
static int read_sample(hk_architecture_options *o, const char *text)
{
    int64_t dims[HK_MAX_RANK];
    int rank = cli_dims(dims, text);
    if (rank != 3 && !(rank == 1 && o->layout == HK_PIXELS_VECTOR))
        return cli_error(HK_INVALID_ARGUMENT,
                         "--sample takes CHANNELSxHEIGHTxWIDTH, or a number of features with --input float32:VECTOR, "
                         "not '%s'",
                         text);
    o->channels = dims[0];
    o->height = rank == 3 ? dims[1] : 1;
    o->width = rank == 3 ? dims[2] : 1;
    return 0;
}

static int read_options(hk_architecture_options *o, lists *l, const cli_call *call)
{
    int code = 0;
    *o = hk_architecture_defaults();
    o->classes = cli_integer(call, "classes", 0);
    o->seed = (uint64_t)cli_integer(call, "seed", 0);
    o->dropout = cli_number(call, "dropout", -1);
    o->width_multiplier = cli_number(call, "width", 0);
    o->scale = cli_number(call, "scale", 0);
    o->probabilities = cli_has(call, "probabilities");
    if (cli_has(call, "input"))
        code = read_input(o, cli_text(call, "input", NULL));
    if (!code && cli_has(call, "sample"))
        code = read_sample(o, cli_text(call, "sample", NULL));
    if (!code)
        code = read_floats(l->mean, &o->mean_count, call, "mean");
    if (!code)
        code = read_floats(l->deviation, &o->deviation_count, call, "deviation");
    o->mean = l->mean;
    o->deviation = l->deviation;
    const char *widths = cli_text(call, "widths", NULL);
    double numbers[64];
    if (!code && widths) {
        int count = cli_numbers(numbers, 64, widths);
        for (int i = 0; i < count; i++)
            l->widths[i] = (int64_t)numbers[i];
        if (count < 0)
            code = cli_error(HK_INVALID_ARGUMENT, "--widths takes numbers such as 256,128, not '%s'", widths);
        o->widths = l->widths;
        o->width_count = count;
    }
    return code;
}

int cmd_model_create(cli_call *call)
{
    hk_architecture_options options;
    lists l;
    const char *path = cli_text(call, "output", NULL);
    if (!path)
        return cli_error(HK_INVALID_ARGUMENT, "model create: name the file to write with -o FILE");
    int code = read_options(&options, &l, call);
    if (code)
        return code;
    hk_graph *graph;
    CLI_TRY(hk_architecture_create(&graph, cli_argument_at(call, 0), &options));
    hk_digest digest;
    hk_status status = hk_model_save(graph, path, NULL);
    if (!status)
        status = hk_digest_graph(&digest, graph);
    int64_t parameters = cli_parameter_count(graph);
    if (!status && call->json) {
        json_open(NULL, '{');
        json_text("file", path);
        json_text("architecture", cli_argument_at(call, 0));
        json_integer("parameters", parameters);
        json_text("sha256", digest.text);
        json_close();
    } else if (!status) {
        printf("%s: %s, %s parameters, %s in, %s out\n", path, cli_argument_at(call, 0), cli_grouped(parameters),
               cli_type(graph, hk_graph_input_at(graph, 0)), cli_type(graph, hk_graph_output_at(graph, 0)));
    }
    hk_graph_free(graph);
    return cli_status(status);
}
