/* Every operator, over its own cases, in float32: outputs and gradients have the same bytes on every instruction set
 * and for 1 and 3 threads. */
#include "case.h"
#include "exec/context.h"
#include "graph/autodiff.h"

#include <stdio.h>
#include <string.h>

typedef struct record {
    unsigned char *bytes;
    size_t size, capacity;
} record;

static hk_status append(record *r, const hk_tensor *t)
{
    size_t size = hk_tensor_size(t);
    HK_TRY(hki_array_grow(&r->bytes, &r->capacity, r->size + size + 1, 1));
    if (size)
        memcpy(r->bytes + r->size, t->data, size);
    r->size += size;
    return NULL;
}

static hk_status append_gradients(record *r, hk_graph *g, const op_case *c, hk_value *y, hk_value **inputs)
{
    hk_tensor *seed;
    HK_TRY(hk_tensor_create(&seed, HK_FLOAT, y->type.rank, y->type.dims));
    for (int64_t i = 0; i < hk_tensor_count(seed); i++)
        hki_tensor_set_double(seed, i, case_random((uint64_t)i));
    hk_value *dy = hk_graph_constant(g, "seed", seed);
    hk_tensor_free(seed);
    for (int i = 0; i < c->input_count; i++) {
        hk_value *gradient;
        if (!c->inputs[i] || !c->differentiated[i])
            continue;
        HK_TRY(hki_gradients(&gradient, g, y, dy, 1, &inputs[i]));
        HK_TRY(append(r, gradient->tensor));
    }
    return NULL;
}

static hk_status run(record *r, const op_case *c, const char *isa, int threads)
{
    hk_graph *g;
    r->size = 0;
    HK_TRY(hk_graph_create_eager(&g, "case", &(hk_session_options){.threads = threads, .isa = isa}));
    hk_value *inputs[CASE_INPUTS];
    hk_node *node = case_build(inputs, g, c);
    hk_status status = hk_graph_status(g);
    for (int o = 0; o < c->output_count && !status; o++) {
        status = append(r, node->outputs[o]->tensor);
        if (!status && node->outputs[o]->type.dtype == HK_FLOAT && (c->op->grad || c->op->expand))
            status = append_gradients(r, g, c, node->outputs[o], inputs);
    }
    hk_graph_free(g);
    return status;
}

static int check_case(const hki_op *op, const hki_case *text)
{
    static record reference, other;
    op_case c;
    int failures = 0;
    if (!case_open(&c, op, text, HK_FLOAT))
        return 1;
    hk_status status = run(&reference, &c, "c", 1);
    for (int isa = 0; isa <= (int)hki_isa_best() && !status; isa++)
        for (int threads = 1; threads <= 3 && !status; threads += 2) {
            status = run(&other, &c, hki_isa_name((hki_isa)isa), threads);
            if (status || (other.size == reference.size && !memcmp(other.bytes, reference.bytes, other.size)))
                continue;
            printf("FAIL %s \"%s\" \"%s\": %s with %d threads differs from c with 1\n", op->name, text->inputs,
                   text->attributes ? text->attributes : "", hki_isa_name((hki_isa)isa), threads);
            failures++;
        }
    if (status) {
        printf("FAIL %s \"%s\": %s\n", op->name, text->inputs, hk_status_message(status));
        hk_status_free(status);
        failures++;
    }
    case_close(&c);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0, cases = 0;
    for (int i = 0; i < hki_op_count(); i++) {
        const hki_op *op = hki_op_at(i);
        if (argc > 1 && strcmp(argv[1], op->name))
            continue;
        for (const hki_case *text = op->cases; text && text->inputs; text++, cases++)
            failures += check_case(op, text);
    }
    printf("%d cases, %d failures\n", cases, failures);
    return failures || !cases;
}
