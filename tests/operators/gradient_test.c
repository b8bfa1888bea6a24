/* Every operator with a gradient, over its own cases, in float64: the gradient of a random linear functional of the
 * outputs against central finite differences. Composite operators are checked through their bodies. `gradient_test OP`
 * checks one operator. */
#include "case.h"
#include "exec/context.h"
#include "graph/autodiff.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 2e-6
#define ELEMENTS 24 /* checked per input: all of a small one, a sample of a large one */

static int failures;

static void report(const op_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void report(const op_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL %s \"%s\" \"%s\": ", c->op->name, c->text->inputs, c->text->attributes ? c->text->attributes : "");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    failures++;
}

static void report_status(const op_case *c, hk_status status)
{
    report(c, "%s", hk_status_message(status));
    hk_status_free(status);
}

static double weight(int output, int64_t i)
{
    return case_random(0x5eed0000 + (uint64_t)output * 65536 + (uint64_t)i);
}

/* Sum over outputs of weight * y. */
static hk_status functional(double *out, const op_case *c)
{
    hk_graph *g;
    HK_TRY(hk_graph_create_eager(&g, "case", &(hk_session_options){.threads = 1, .isa = "c"}));
    hk_value *inputs[CASE_INPUTS];
    hk_node *node = case_build(inputs, g, c);
    hk_status status = hk_graph_status(g);
    *out = 0;
    for (int o = 0; o < c->output_count && !status; o++) {
        const hk_tensor *y = node->outputs[o]->tensor;
        for (int64_t i = 0; y->dtype == HK_DOUBLE && i < hk_tensor_count(y); i++)
            *out += weight(o, i) * hki_tensor_get_double(y, i);
    }
    hk_graph_free(g);
    return status;
}

/* The gradient of the functional with respect to input `which`, by the operator's rule, into `out` (count doubles). */
static hk_status analytic(double *out, const op_case *c, int which)
{
    hk_graph *g;
    HK_TRY(hk_graph_create_eager(&g, "case", &(hk_session_options){.threads = 1, .isa = "c"}));
    hk_value *inputs[CASE_INPUTS];
    hk_node *node = case_build(inputs, g, c);
    hk_status status = hk_graph_status(g);
    int64_t count = hk_tensor_count(c->inputs[which]);
    memset(out, 0, (size_t)count * sizeof *out);
    for (int o = 0; o < c->output_count && !status; o++) {
        hk_value *y = node->outputs[o], *gradient;
        if (y->type.dtype != HK_DOUBLE)
            continue;
        hk_tensor *seed;
        status = hk_tensor_create(&seed, HK_DOUBLE, y->type.rank, y->type.dims);
        if (status)
            break;
        for (int64_t i = 0; i < hk_tensor_count(seed); i++)
            hki_tensor_set_double(seed, i, weight(o, i));
        status = hki_gradients(&gradient, g, y, hk_graph_constant(g, "seed", seed), 1, &inputs[which]);
        hk_tensor_free(seed);
        if (status)
            break;
        if (hk_tensor_count(gradient->tensor) != count)
            status = HK_ERR(HK_INVALID_SHAPE, "the gradient of input %d has %lld elements, expected %lld", which,
                            (long long)hk_tensor_count(gradient->tensor), (long long)count);
        for (int64_t i = 0; i < count && !status; i++)
            out[i] += hki_tensor_get_double(gradient->tensor, i);
    }
    hk_graph_free(g);
    return status;
}

static hk_status numeric(double *out, op_case *c, int which, int64_t i)
{
    double x = hki_tensor_get_double(c->inputs[which], i), h = 1e-5 * fmax(1, fabs(x)), above, below;
    hki_tensor_set_double(c->inputs[which], i, x + h);
    hk_status status = functional(&above, c);
    hki_tensor_set_double(c->inputs[which], i, x - h);
    if (!status)
        status = functional(&below, c);
    hki_tensor_set_double(c->inputs[which], i, x);
    if (!status)
        *out = (above - below) / (2 * h);
    return status;
}

static void check_input(op_case *c, int which)
{
    int64_t count = hk_tensor_count(c->inputs[which]);
    double *expected = hki_alloc_array((size_t)count + 1, sizeof *expected);
    hk_status status = analytic(expected, c, which);
    int64_t step = count > ELEMENTS ? count / ELEMENTS : 1;
    for (int64_t i = 0; i < count && !status; i += step) {
        double found;
        status = numeric(&found, c, which, i);
        if (!status && !(fabs(found - expected[i]) <= TOLERANCE * fmax(1, fabs(found)))) {
            report(c, "input %d element %lld: rule %.10g, finite difference %.10g", which, (long long)i, expected[i],
                   found);
            break;
        }
    }
    if (status)
        report_status(c, status);
    hki_free(expected);
}

static int check_case(const hki_op *op, const hki_case *text)
{
    op_case c;
    int checked = 0;
    if (!case_open(&c, op, text, HK_DOUBLE)) {
        failures++;
    } else {
        double value;
        hk_status status = functional(&value, &c);
        if (status)
            report_status(&c, status);
        for (int i = 0; i < c.input_count && !status && (op->grad || op->expand); i++)
            if (c.inputs[i] && c.differentiated[i]) {
                check_input(&c, i);
                checked++;
            }
    }
    case_close(&c);
    return checked;
}

int main(int argc, char **argv)
{
    int operators = 0, cases = 0, gradients = 0;
    for (int i = 0; i < hki_op_count(); i++) {
        const hki_op *op = hki_op_at(i);
        if (argc > 1 && strcmp(argv[1], op->name))
            continue;
        bool is_old = !op->run && !op->expand; /* only a history: becomes another operator at import */
        if (!op->doc || (!op->cases && !op->domain && !is_old)) {
            printf("FAIL %s: an operator needs a doc line and test cases\n", op->name);
            failures++;
        }
        operators++;
        for (const hki_case *text = op->cases; text && text->inputs; text++, cases++)
            gradients += check_case(op, text);
    }
    printf("%d operators, %d cases, %d gradients checked, %d failures\n", operators, cases, gradients, failures);
    return failures || !operators;
}
