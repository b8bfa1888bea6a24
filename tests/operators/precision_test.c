/* Every operator, over its own cases: outputs and gradients in float32 agree with those in float64 on the same numbers;
 * and elementwise operators give the same bytes whether their tensors lie plain or channels-last. `precision_test OP`
 * checks one operator. */
#include "case.h"
#include "exec/context.h"
#include "graph/autodiff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 3e-5 /* of the largest element of a tensor */

static int failures;

static void complain(const op_case *c, const char *what, int which)
{
    printf("FAIL %s \"%s\" \"%s\": %s %d: ", c->op->name, c->text->inputs,
           c->text->attributes ? c->text->attributes : "", what, which);
    failures++;
}

static void complain_status(const op_case *c, hk_status status)
{
    if (!status)
        return;
    complain(c, "status", (int)hk_status_code(status));
    printf("%s\n", hk_status_message(status));
    hk_status_free(status);
}

static void compare(const op_case *c, const char *what, int which, const hk_tensor *narrow, const hk_tensor *wide)
{
    double largest = 1;
    int64_t count = hk_tensor_count(wide);
    if (hk_tensor_count(narrow) != count) {
        complain(c, what, which);
        printf("%lld elements in float32, %lld in float64\n", (long long)hk_tensor_count(narrow), (long long)count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        if (isfinite(hki_tensor_get_double(wide, i)))
            largest = fmax(largest, fabs(hki_tensor_get_double(wide, i)));
    for (int64_t i = 0; i < count; i++) {
        double found = hki_tensor_get_double(narrow, i), expected = hki_tensor_get_double(wide, i);
        if (found == expected || (isnan(found) && isnan(expected)) || fabs(found - expected) <= TOLERANCE * largest)
            continue;
        complain(c, what, which);
        printf("element %lld is %.9g in float32, expected %.9g\n", (long long)i, found, expected);
        return;
    }
}

/* ---- float32 against float64. ---- */

typedef struct evaluation {
    hk_graph *graph;
    hk_node *node;
    hk_value *inputs[CASE_INPUTS];
} evaluation;

static hk_status evaluate(evaluation *e, const op_case *c)
{
    HK_TRY(hk_graph_create_eager(&e->graph, "case", &(hk_session_options){.threads = 1}));
    e->node = case_build(e->inputs, e->graph, c);
    return hk_graph_status(e->graph);
}

static hk_status gradient(hk_value **out, evaluation *e, int output, int input)
{
    hk_value *y = e->node->outputs[output];
    hk_tensor *seed;
    HK_TRY(hk_tensor_create(&seed, y->type.dtype, y->type.rank, y->type.dims));
    for (int64_t i = 0; i < hk_tensor_count(seed); i++)
        hki_tensor_set_double(seed, i, (float)case_random((uint64_t)i));
    hk_value *dy = hk_graph_constant(e->graph, "seed", seed);
    hk_tensor_free(seed);
    return hki_gradients(out, e->graph, y, dy, 1, &e->inputs[input]);
}

static hk_status compare_gradients(const op_case *c, evaluation *narrow, evaluation *wide, int output)
{
    for (int i = 0; i < c->input_count; i++) {
        hk_value *a, *b;
        if (!c->inputs[i] || !c->differentiated[i])
            continue;
        HK_TRY(gradient(&a, narrow, output, i));
        HK_TRY(gradient(&b, wide, output, i));
        compare(c, "gradient of input", i, a->tensor, b->tensor);
    }
    return NULL;
}

static hk_status compare_types(const op_case *c, const op_case *d)
{
    evaluation narrow = {0}, wide = {0};
    hk_status status = evaluate(&narrow, c);
    if (!status)
        status = evaluate(&wide, d);
    for (int o = 0; o < c->output_count && !status; o++) {
        compare(c, "output", o, narrow.node->outputs[o]->tensor, wide.node->outputs[o]->tensor);
        if (narrow.node->outputs[o]->type.dtype == HK_FLOAT && wide.node->outputs[o]->type.dtype == HK_DOUBLE &&
            (c->op->grad || c->op->expand))
            status = compare_gradients(c, &narrow, &wide, o);
    }
    hk_graph_free(narrow.graph);
    hk_graph_free(wide.graph);
    return status;
}

/* Both cases get the numbers of the float32 one. */
static void share_inputs(op_case *wide, const op_case *narrow)
{
    for (int i = 0; i < narrow->input_count; i++)
        for (int64_t k = 0; narrow->inputs[i] && k < hk_tensor_count(narrow->inputs[i]); k++)
            if (wide->inputs[i]->dtype == HK_DOUBLE)
                hki_tensor_set_double(wide->inputs[i], k, hki_tensor_get_double(narrow->inputs[i], k));
}

/* ---- Layouts. ---- */

static hk_status in_layout(hk_tensor **out, const hk_tensor *t, hki_layout layout)
{
    HK_TRY(hk_tensor_create(out, t->dtype, t->rank, t->dims));
    (*out)->layout = t->rank >= 3 ? layout : HKI_PLAIN;
    hki_tensor_copy_elements(*out, t);
    return NULL;
}

static hk_status run_channels_last(hk_tensor **in, hk_tensor **out, const hk_node *node, hki_context *context)
{
    hki_run run = hki_context_run(context, node, (const hk_tensor *const *)in, out, NULL);
    if (node->op->scratch) {
        HK_TRY(hki_context_reserve(context, node->op->scratch(&run)));
        run.scratch = context->scratch;
    }
    return node->op->run(&run);
}

/* Runs the node of an evaluation again with all tensors channels-last, broadcast ones too if `all`. */
static hk_status compare_layouts(const op_case *c, evaluation *plain, bool all)
{
    hk_tensor *in[CASE_INPUTS] = {0}, *out[CASE_OUTPUTS] = {0}, *back = NULL;
    const hk_node *node = plain->node;
    const hk_tensor *y = node->outputs[0]->tensor;
    hki_context *context = NULL;
    hk_status status = hki_context_create(&context, &(hk_session_options){.threads = 2});
    for (int i = 0; i < node->input_count && !status; i++)
        if (node->inputs[i]) {
            const hk_tensor *t = node->inputs[i]->tensor;
            bool full = hki_shape_equal(t->rank, t->dims, y->rank, y->dims);
            status = in_layout(&in[i], t, full || all ? HKI_CHANNELS_LAST : HKI_PLAIN);
        }
    for (int o = 0; o < node->output_count && !status; o++)
        status = in_layout(&out[o], node->outputs[o]->tensor, HKI_CHANNELS_LAST);
    for (int o = 0; o < node->output_count && !status; o++)
        memset(out[o]->data, 0x55, hk_tensor_size(out[o]));
    if (!status)
        status = run_channels_last(in, out, node, context);
    for (int o = 0; o < node->output_count && !status; o++) {
        status = in_layout(&back, out[o], HKI_PLAIN);
        if (!status && !strcmp(c->op->name, "SumToShape"))
            compare(c, "channels-last output", o, back, y); /* another order of the sum */
        else if (!status && memcmp(back->data, node->outputs[o]->tensor->data, hk_tensor_size(back))) {
            complain(c, "channels-last output", o);
            printf("other bytes than plain\n");
        }
        hk_tensor_free(back);
    }
    for (int i = 0; i < CASE_INPUTS; i++)
        hk_tensor_free(in[i]);
    for (int o = 0; o < CASE_OUTPUTS; o++)
        hk_tensor_free(out[o]);
    hki_context_free(context);
    return status;
}

static int check_layouts(const op_case *c)
{
    evaluation plain = {0};
    hk_status status = NULL;
    int checked = 0;
    if (c->op->layout == HKI_LAYOUT_SAME && c->op->run) {
        status = evaluate(&plain, c);
        if (!status && plain.node->outputs[0]->type.rank >= 3) {
            status = compare_layouts(c, &plain, false);
            if (!status)
                status = compare_layouts(c, &plain, true);
            checked = 1;
        }
        hk_graph_free(plain.graph);
    }
    complain_status(c, status);
    return checked;
}

int main(int argc, char **argv)
{
    int cases = 0, layouts = 0;
    for (int i = 0; i < hki_op_count(); i++) {
        const hki_op *op = hki_op_at(i);
        if (argc > 1 && strcmp(argv[1], op->name))
            continue;
        for (const hki_case *text = op->cases; text && text->inputs; text++, cases++) {
            op_case narrow, wide;
            bool opened = case_open(&narrow, op, text, HK_FLOAT);
            opened = case_open(&wide, op, text, HK_DOUBLE) && opened;
            if (opened) {
                share_inputs(&wide, &narrow);
                complain_status(&narrow, compare_types(&narrow, &wide));
                layouts += check_layouts(&narrow);
            } else {
                failures++;
            }
            case_close(&narrow);
            case_close(&wide);
        }
    }
    printf("%d cases, %d in both layouts, %d failures\n", cases, layouts, failures);
    return failures || !cases;
}
