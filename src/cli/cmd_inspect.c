/* halka inspect: what is in a model, what a run of it costs. */
#include "cli/cli.h"
#include "halka/model.h"

/* ---- The dims of all inputs for a plan. ---- */

typedef struct input_dims {
    int64_t (*dims)[HK_MAX_RANK];
    const int64_t **pointers; /* NULL: as declared or default */
    int count;
} input_dims;

static void input_dims_free(input_dims *in)
{
    free(in->dims);
    free(in->pointers);
}

/* Declared dims; what is not known becomes 1. */
static int input_dims_start(input_dims *in, const hk_graph *graph)
{
    in->count = hk_graph_input_count(graph);
    in->dims = calloc((size_t)in->count + 1, sizeof *in->dims);
    in->pointers = calloc((size_t)in->count + 1, sizeof *in->pointers);
    if (!in->dims || !in->pointers)
        return cli_no_memory();
    for (int i = 0; i < in->count; i++) {
        const hk_value *value = hk_graph_input_at(graph, i);
        if (hk_value_tensor(value) || hk_value_rank(value) < 0)
            continue;
        for (int d = 0; d < hk_value_rank(value); d++)
            in->dims[i][d] = hk_value_dims(value)[d] < 0 ? 1 : hk_value_dims(value)[d];
        in->pointers[i] = in->dims[i];
    }
    return 0;
}

static int input_dims_read(input_dims *in, const hk_graph *graph, const cli_call *call)
{
    const char *text;
    for (int k = 0; (text = cli_nth(call, "shape", k)); k++) {
        int index, rank;
        int64_t dims[HK_MAX_RANK];
        int code = cli_shape_option(&index, &rank, dims, graph, text);
        if (code)
            return code;
        int declared = hk_value_rank(hk_graph_input_at(graph, index));
        if (declared >= 0 && declared != rank)
            return cli_error(HK_INVALID_SHAPE, "--shape %s: input '%s' has rank %d, not %d", text,
                             hk_value_name(hk_graph_input_at(graph, index)), declared, rank);
        memcpy(in->dims[index], dims, sizeof dims);
        in->pointers[index] = in->dims[index];
    }
    return 0;
}

/* ---- What is shown. ---- */

typedef struct op_count {
    const char *name;
    int count;
} op_count;

static int by_count(const void *a, const void *b)
{
    const op_count *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : strcmp(x->name, y->name);
}

/* Counts nodes by operator into at most `capacity` rows, most frequent first. */
static int count_ops(op_count *rows, int capacity, const hk_graph *graph)
{
    int used = 0;
    for (const hk_node *node = hk_graph_first(graph); node; node = hk_node_next(node)) {
        int i = 0;
        while (i < used && strcmp(rows[i].name, hk_node_op(node)))
            i++;
        if (i == capacity)
            continue;
        if (i == used)
            rows[used++] = (op_count){hk_node_op(node), 0};
        rows[i].count++;
    }
    qsort(rows, (size_t)used, sizeof *rows, by_count);
    return used;
}

static void nodes_table(const hk_graph *graph)
{
    printf("\n%-32s %-22s %s\n", "node", "operator", "outputs");
    for (const hk_node *node = hk_graph_first(graph); node; node = hk_node_next(node)) {
        printf("%-32s %-22s", hk_node_name(node), hk_node_op(node));
        for (int i = 0; i < hk_node_output_count(node); i++)
            if (hk_node_output(node, i))
                printf(" %s", cli_type(graph, hk_node_output(node, i)));
        putchar('\n');
    }
}

static void parameters_table(const hk_graph *graph)
{
    printf("\n%-44s %s\n", "initializer", "type");
    int count = hk_graph_constant_count(graph);
    for (int i = 0; i < count; i++) {
        const hk_value *value = hk_graph_constant_at(graph, i);
        printf("%-44s %s\n", hk_value_name(value), cli_type(graph, value));
    }
}

static void text(const cli_call *call, const hk_graph *graph, const hk_session_memory *m, const input_dims *in)
{
    printf("%s: %s\n\n", cli_argument_at(call, 0), hk_graph_name(graph));
    for (int i = 0; i < hk_graph_input_count(graph); i++) {
        const hk_value *value = hk_graph_input_at(graph, i);
        printf("input         %s %s%s\n", hk_value_name(value), cli_type(graph, value),
               hk_value_tensor(value) ? " (has a default)" : "");
    }
    for (int i = 0; i < hk_graph_output_count(graph); i++)
        printf("output        %s %s\n", hk_graph_output_name(graph, i), cli_type(graph, hk_graph_output_at(graph, i)));
    op_count rows[64];
    int used = count_ops(rows, 64, graph);
    printf("nodes         %d:", hk_graph_node_count(graph));
    for (int i = 0; i < used; i++)
        printf("%s %d %s", i ? "," : "", rows[i].count, rows[i].name);
    printf("\nparameters    %s\n", cli_grouped(cli_parameter_count(graph)));
    if (cli_has(call, "nodes"))
        nodes_table(graph);
    if (cli_has(call, "parameters"))
        parameters_table(graph);
    if (!m)
        return;
    printf("\nFor ");
    for (int i = 0; i < in->count; i++) {
        const hk_value *value = hk_graph_input_at(graph, i);
        if (!in->pointers[i])
            continue;
        printf("%s%s ", i ? ", " : "", hk_value_name(value));
        for (int d = 0; d < hk_value_rank(value); d++)
            printf("%s%lld", d ? "x" : "", (long long)in->dims[i][d]);
    }
    printf(":\noperations    %sFLOP\nweights       %s\npacked        %s\nactivations   %s (lower bound %s)%s\n",
           cli_scaled(m->flops), cli_bytes((double)m->constants), cli_bytes((double)m->packed),
           cli_bytes((double)m->arena), cli_bytes((double)m->lower_bound),
           m->is_dynamic ? "; some shapes depend on data" : "");
}

static void json_value(const char *name, const hk_graph *graph, const hk_value *value)
{
    json_open(NULL, '{');
    json_text("name", name);
    json_text("dtype", hk_dtype_name(hk_value_dtype(value)));
    json_open("dims", '[');
    for (int d = 0; d < hk_value_rank(value); d++) {
        int64_t dim = hk_value_dims(value)[d];
        if (dim >= 0)
            json_integer(NULL, dim);
        else
            json_text(NULL, hk_graph_symbol_name(graph, dim));
    }
    json_close();
    json_close();
}

static void json(const cli_call *call, const hk_graph *graph, const hk_session_memory *m)
{
    json_open(NULL, '{');
    json_text("file", cli_argument_at(call, 0));
    json_text("name", hk_graph_name(graph));
    json_open("inputs", '[');
    for (int i = 0; i < hk_graph_input_count(graph); i++)
        json_value(hk_value_name(hk_graph_input_at(graph, i)), graph, hk_graph_input_at(graph, i));
    json_close();
    json_open("outputs", '[');
    for (int i = 0; i < hk_graph_output_count(graph); i++)
        json_value(hk_graph_output_name(graph, i), graph, hk_graph_output_at(graph, i));
    json_close();
    json_integer("nodes", hk_graph_node_count(graph));
    op_count rows[64];
    int used = count_ops(rows, 64, graph);
    json_open("operators", '{');
    for (int i = 0; i < used; i++)
        json_integer(rows[i].name, rows[i].count);
    json_close();
    json_integer("parameters", cli_parameter_count(graph));
    if (m) {
        json_number("flops", m->flops);
        json_integer("weight_bytes", (int64_t)m->constants);
        json_integer("packed_bytes", (int64_t)m->packed);
        json_integer("activation_bytes", (int64_t)m->arena);
        json_integer("activation_lower_bound", (int64_t)m->lower_bound);
        json_bool("is_dynamic", m->is_dynamic);
    }
    json_close();
}

static int plan(hk_session_memory *m, const cli_call *call, const hk_graph *graph, const input_dims *in)
{
    hk_session_options options = cli_session_options(call);
    hk_session *session;
    CLI_TRY(hk_session_create(&session, graph, &options));
    hk_status status = hk_session_plan(m, session, in->pointers);
    hk_session_free(session);
    return cli_status(status);
}

int cmd_inspect(cli_call *call)
{
    hk_graph *graph;
    hk_session_memory memory, *m = NULL;
    input_dims in = {0};
    CLI_TRY(hk_model_load(&graph, cli_argument_at(call, 0)));
    int code = input_dims_start(&in, graph);
    if (!code)
        code = input_dims_read(&in, graph, call);
    if (!code && !cli_has(call, "no-plan")) {
        code = plan(&memory, call, graph, &in);
        m = &memory;
    }
    if (!code && call->json)
        json(call, graph, m);
    else if (!code)
        text(call, graph, m, &in);
    input_dims_free(&in);
    hk_graph_free(graph);
    return code;
}
