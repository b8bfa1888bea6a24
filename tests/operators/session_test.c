/* Every operator over its own cases, outputs and gradients: a session, which plans layouts, fuses and reuses memory,
 * against eager execution in plain layout. `session_test OP` checks one operator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "graph/autodiff.h"
#include "halka/session.h"

#define RESULTS (CASE_OUTPUTS + CASE_INPUTS)

typedef struct results {
    int count;
    hk_tensor *tensors[RESULTS];
} results;

static void free_results(results *r)
{
    for (int i = 0; i < r->count; i++)
        hk_tensor_free(r->tensors[i]);
    r->count = 0;
}

static hk_tensor *seed_like(const hki_type *type)
{
    hk_tensor *seed = NULL;
    if (!hki_type_known(type) || hk_tensor_create(&seed, type->dtype, type->rank, type->dims))
        return NULL;
    for (int64_t i = 0; i < hk_tensor_count(seed); i++)
        hki_tensor_set_double(seed, i, case_random((uint64_t)i));
    return seed;
}

/* Adds the gradients of output 0 with respect to what the case differentiates. */
static hk_status add_gradients(hk_value **values, int *count, hk_graph *g, const op_case *c, hk_value *y,
                               hk_value *const *inputs, const hki_type *type)
{
    bool has_rule = c->op->grad || c->op->expand;
    if (!has_rule || type->dtype != HK_FLOAT)
        return NULL;
    hk_tensor *seed = seed_like(type);
    hk_value *dy = seed ? hk_graph_constant(g, "seed", seed) : NULL;
    hk_tensor_free(seed);
    for (int i = 0; i < c->input_count && dy; i++)
        if (c->inputs[i] && c->differentiated[i]) {
            HK_TRY(hki_gradients(&values[*count], g, y, dy, 1, &inputs[i]));
            ++*count;
        }
    return NULL;
}

static hk_status run_eager(results *out, hki_type *first, const op_case *c)
{
    hk_graph *g;
    hk_value *inputs[CASE_INPUTS], *values[RESULTS];
    int count = 0;
    HK_TRY(hk_graph_create_eager(&g, "case", &(hk_session_options){.threads = 1, .isa = "c"}));
    hk_node *node = case_build(inputs, g, c);
    hk_status status = hk_graph_status(g);
    for (int i = 0; i < c->output_count && !status; i++)
        values[count++] = node->outputs[i];
    if (!status) {
        *first = node->outputs[0]->type;
        status = add_gradients(values, &count, g, c, node->outputs[0], inputs, first);
    }
    for (int i = 0; i < count && !status; i++) {
        status = hk_tensor_copy(&out->tensors[out->count], values[i]->tensor);
        out->count += !status;
    }
    hk_graph_free(g);
    return status;
}

/* The case's node with floating inputs as graph inputs, the rest as constants; gradients are outputs too. */
static hk_status build(hk_graph *g, const op_case *c, const hki_type *first)
{
    hk_value *inputs[CASE_INPUTS], *values[RESULTS];
    int count = c->output_count;
    for (int i = 0; i < c->input_count; i++) {
        const hk_tensor *t = c->inputs[i];
        char name[] = {'i', (char)('a' + i), 0};
        if (!t)
            inputs[i] = NULL;
        else if (hki_dtype_is_float(t->dtype))
            inputs[i] = hk_graph_input(g, name, t->dtype, t->rank, t->dims);
        else
            inputs[i] = hk_graph_constant(g, name, t);
    }
    hk_graph_node(g, c->op->domain, c->op->name, "tested", c->input_count, inputs, c->attribute_count, c->attributes,
                  c->output_count, values);
    HK_TRY(hk_graph_status(g));
    HK_TRY(add_gradients(values, &count, g, c, values[0], inputs, first));
    for (int i = 0; i < count; i++)
        hk_graph_output(g, NULL, values[i]);
    return hk_graph_status(g);
}

static hk_status run_session(results *out, const op_case *c, const hki_type *first)
{
    hk_graph *g;
    hk_session *session = NULL;
    const hk_tensor *in[CASE_INPUTS];
    int count = 0;
    HK_TRY(hk_graph_create(&g, "case"));
    hk_status status = build(g, c, first);
    hk_session_options options = hk_session_defaults();
    options.threads = 2;
    options.pin = false;
    if (!status)
        status = hk_session_create(&session, g, &options);
    for (int i = 0; i < c->input_count; i++)
        if (c->inputs[i] && hki_dtype_is_float(c->inputs[i]->dtype))
            in[count++] = c->inputs[i];
    if (!status)
        status = hk_session_run(session, in, out->tensors);
    if (!status)
        out->count = hk_graph_output_count(g);
    hk_session_free(session);
    hk_graph_free(g);
    return status;
}

/* Layouts may change the order of sums: compared relative to the largest element. */
static bool same(const hk_tensor *a, const hk_tensor *b)
{
    double largest = 1;
    if (a->dtype != b->dtype || !hki_shape_equal(a->rank, a->dims, b->rank, b->dims))
        return false;
    for (int64_t i = 0; i < hk_tensor_count(a); i++) {
        double v = fabs(hki_tensor_get_double(a, i));
        largest = isfinite(v) && v > largest ? v : largest;
    }
    for (int64_t i = 0; i < hk_tensor_count(a); i++) {
        double x = hki_tensor_get_double(a, i), y = hki_tensor_get_double(b, i);
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= 4e-6 * largest))
            return false;
    }
    return true;
}

static int check_case(const hki_op *op, const hki_case *text)
{
    results eager = {0}, session = {0};
    hki_type first;
    op_case c;
    int failures = 0;
    if (!case_open(&c, op, text, HK_FLOAT))
        return 1;
    hk_status status = run_eager(&eager, &first, &c);
    if (!status)
        status = run_session(&session, &c, &first);
    if (!status && eager.count != session.count)
        status = HK_ERR(HK_INTERNAL, "%d results, expected %d", session.count, eager.count);
    for (int i = 0; i < eager.count && !status; i++)
        if (!same(eager.tensors[i], session.tensors[i])) {
            printf("FAIL %s \"%s\" \"%s\": %s %d differs\n", op->name, text->inputs,
                   text->attributes ? text->attributes : "", i < c.output_count ? "output" : "gradient",
                   i < c.output_count ? i : i - c.output_count);
            failures++;
        }
    if (status) {
        printf("FAIL %s \"%s\" \"%s\": %s\n", op->name, text->inputs, text->attributes ? text->attributes : "",
               hk_status_message(status));
        hk_status_free(status);
        failures++;
    }
    free_results(&eager);
    free_results(&session);
    case_close(&c);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0, cases = 0;
    for (int i = 0; i < hki_op_count(); i++) {
        const hki_op *op = hki_op_at(i);
        if ((argc > 1 && strcmp(argv[1], op->name)) || (op->flags & HKI_OP_RANDOM))
            continue;
        for (const hki_case *text = op->cases; text && text->inputs; text++, cases++)
            failures += check_case(op, text);
    }
    printf("%d cases, %d failures\n", cases, failures);
    return failures || !cases;
}
