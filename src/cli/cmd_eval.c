/* halka eval: metrics of a model on a data set. */
#include <math.h>

#include "cli/cli.h"
#include "halka/model.h"
#include "halka/train.h"

static void number(const char *name, double value, bool json)
{
    if (json)
        json_number(name, value);
    else if (isfinite(value))
        printf("%-16s %.6g\n", name, value);
}

static void classes_table(const hk_evaluation *e, const cli_labels *labels)
{
    printf("\n%-24s %10s %10s %10s %8s\n", "class", "precision", "recall", "f1", "samples");
    for (int c = 0; c < e->classes; c++) {
        char name[32];
        int64_t samples = 0;
        for (int k = 0; e->confusion && k < e->classes; k++)
            samples += e->confusion[(int64_t)c * e->classes + k];
        snprintf(name, sizeof name, "%d", c);
        printf("%-24s %10.4f %10.4f %10.4f %8lld\n", labels->count == e->classes ? labels->names[c] : name,
               e->precision[c], e->recall[c], e->f1[c], (long long)samples);
    }
}

static void classes_json(const hk_evaluation *e, const cli_labels *labels)
{
    json_open("per_class", '[');
    for (int c = 0; c < e->classes; c++) {
        json_open(NULL, '{');
        json_integer("class", c);
        if (labels->count == e->classes)
            json_text("label", labels->names[c]);
        json_number("precision", e->precision[c]);
        json_number("recall", e->recall[c]);
        json_number("f1", e->f1[c]);
        json_close();
    }
    json_close();
    if (!e->confusion)
        return;
    json_open("confusion", '[');
    for (int c = 0; c < e->classes; c++)
        json_dims(NULL, e->classes, e->confusion + (int64_t)c * e->classes);
    json_close();
}

static void show(const cli_call *call, const hk_evaluation *e, const cli_labels *labels)
{
    bool json = call->json;
    if (json) {
        json_open(NULL, '{');
        json_integer("samples", e->samples);
    } else {
        printf("%-16s %lld\n", "samples", (long long)e->samples);
    }
    number("loss", e->loss, json);
    if (e->classes > 0) {
        number("accuracy", e->accuracy, json);
        number("top5", e->top5, json);
        number("macro_precision", e->macro_precision, json);
        number("macro_recall", e->macro_recall, json);
        number("macro_f1", e->macro_f1, json);
    } else {
        number("mse", e->mse, json);
        number("mae", e->mae, json);
        number("r2", e->r2, json);
    }
    number("seconds", e->seconds, json);
    if (e->classes > 0 && e->precision && e->recall && e->f1) {
        if (json)
            classes_json(e, labels);
        else
            classes_table(e, labels);
    }
    if (json)
        json_close();
}

int cmd_eval(cli_call *call)
{
    const char *data = cli_text(call, "data", NULL);
    if (!data)
        return cli_error(HK_INVALID_ARGUMENT, "eval: name the data with --data FILE: a run file, or JSON such as "
                                              "'{\"data\": {\"test\": {\"csv\": \"new.csv\", \"label\": \"class\"}}}'");
    hk_graph *graph;
    cli_labels labels = {0};
    hk_evaluation evaluation;
    hk_run_options options = hk_run_defaults();
    options.session = cli_session_options(call);
    hk_stop_on_signals();
    CLI_TRY(hk_model_load(&graph, cli_argument_at(call, 0)));
    int code = cli_labels_load(&labels, graph, call);
    if (!code)
        code = cli_status(hk_evaluate(&evaluation, graph, data, cli_text(call, "split", "test"), &options));
    if (!code) {
        show(call, &evaluation, &labels);
        hk_evaluation_clear(&evaluation);
    }
    cli_labels_free(&labels);
    hk_graph_free(graph);
    return code;
}
