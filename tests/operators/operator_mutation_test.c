/* Every operator, over mutations of its own cases: other attribute values, shapes, types, indices and missing inputs.
 * Nothing may crash, hang or read out of bounds (run it with sanitizers); what is refused must say why.
 * `operator_mutation_test OP [ROUNDS]` takes one operator. */
#include "case.h"
#include "exec/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 24

static uint64_t state = 1;

static uint64_t pick(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static int64_t odd_number(void)
{
    static const int64_t numbers[] = {0, 1,  -1,  2,    -2,        3,         -3,        4, 5,
                                      -5, 7, 100, -100, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 2};
    return numbers[pick(pick(3) ? 11 : sizeof numbers / sizeof *numbers)];
}

static void mutate_values(hk_tensor *t)
{
    int64_t count = hk_tensor_count(t);
    if (!count)
        return;
    int64_t i = (int64_t)pick((uint64_t)count);
    if (t->dtype == HK_INT64)
        ((int64_t *)t->data)[i] = odd_number();
    else if (t->dtype == HK_INT32)
        ((int32_t *)t->data)[i] = (int32_t)odd_number();
    else
        hki_tensor_set_double(t, i, pick(4) ? (double)(int)pick(9) - 4 : pick(2) ? 1e30 : 0.0 / 0.0);
}

/* Replaces an input by one of another shape or type, with small values. */
static void mutate_shape(op_case *c, int i)
{
    static const hk_dtype types[] = {HK_FLOAT, HK_DOUBLE, HK_INT64, HK_INT32, HK_UINT8, HK_BOOL, HK_FLOAT16, HK_INT16};
    hk_tensor *old = c->inputs[i], *t;
    int64_t dims[HK_MAX_RANK];
    int rank = old->rank;
    memcpy(dims, old->dims, sizeof dims);
    hk_dtype dtype = old->dtype;
    switch (pick(4)) {
    case 0:
        if (rank)
            dims[pick((uint64_t)rank)] = (int64_t)pick(5);
        break;
    case 1:
        rank = (int)pick(6);
        for (int d = 0; d < rank; d++)
            dims[d] = (int64_t)pick(4);
        break;
    case 2:
        rank -= rank > 0;
        break;
    default:
        dtype = types[pick(sizeof types / sizeof *types)];
    }
    hk_status status = hk_tensor_create(&t, dtype, rank, dims);
    if (status) {
        hk_status_free(status);
        return;
    }
    for (int64_t k = 0; k < hk_tensor_count(t); k++)
        hki_tensor_set_double(t, k, (double)pick(4));
    hk_tensor_free(old);
    c->inputs[i] = t;
}

static void mutate_attribute(op_case *c)
{
    static const char *const words[] = {"",    "nearest", "linear", "constant", "SAME_UPPER",
                                        "add", "sum",     "ij->ji", "i,j"};
    hk_attribute *a = &c->attributes[pick((uint64_t)c->attribute_count)];
    if (a->kind == HK_ATTRIBUTE_INT)
        a->as.i = odd_number();
    else if (a->kind == HK_ATTRIBUTE_FLOAT)
        a->as.f = (float)odd_number();
    else if (a->kind == HK_ATTRIBUTE_STRING)
        a->as.s = words[pick(sizeof words / sizeof *words)];
    else if (a->kind == HK_ATTRIBUTE_INTS && a->count && pick(2))
        c->ints[a - c->attributes][pick((uint64_t)a->count)] = odd_number();
    else if (a->kind == HK_ATTRIBUTE_INTS || a->kind == HK_ATTRIBUTE_FLOATS)
        a->count = (int64_t)pick(10);
}

static void mutate(op_case *c)
{
    for (uint64_t changes = 1 + pick(2); changes > 0; changes--) {
        int i = c->input_count ? (int)pick((uint64_t)c->input_count) : -1;
        uint64_t what = pick(8);
        if (what < 3 && i >= 0 && c->inputs[i]) {
            mutate_values(c->inputs[i]);
        } else if (what < 6 && i >= 0 && c->inputs[i]) {
            mutate_shape(c, i);
        } else if (what == 6 && i >= 0 && pick(3) == 0) {
            hk_tensor_free(c->inputs[i]);
            c->inputs[i] = NULL;
        } else if (c->attribute_count) {
            mutate_attribute(c);
        }
    }
}

/* Returns false if a failure came without a message. */
static bool run(const op_case *c)
{
    hk_graph *g;
    hk_status status = hk_graph_create_eager(&g, "mutation", &(hk_session_options){.threads = 1});
    if (status) {
        hk_status_free(status);
        return false;
    }
    hk_value *inputs[CASE_INPUTS];
    case_build(inputs, g, c);
    status = hk_graph_status(g);
    bool good = !status || strlen(hk_status_message(status)) > 20;
    if (!good)
        printf("FAIL %s \"%s\": %s\n", c->op->name, c->text->inputs, hk_status_message(status));
    hk_status_free(status);
    hk_graph_free(g);
    return good;
}

int main(int argc, char **argv)
{
    int count = 0, failures = 0, rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    for (int i = 0; i < hki_op_count(); i++) {
        const hki_op *op = hki_op_at(i);
        if (argc > 1 && strcmp(argv[1], op->name))
            continue;
        for (const hki_case *text = op->cases; text && text->inputs; text++)
            for (int round = 0; round < rounds; round++) {
                op_case c;
                state = (uint64_t)count * 1000003 + 17;
                if (case_open(&c, op, text, HK_FLOAT)) {
                    mutate(&c);
                    if (argc > 3)
                        printf("%s \"%s\" round %d\n", op->name, text->inputs, round), fflush(stdout);
                    failures += !run(&c);
                    count++;
                }
                case_close(&c);
            }
    }
    printf("%d mutations, %d failures\n", count, failures);
    return failures || !count;
}
