/* Test cases of operators as text (src/graph/op.h, hki_case) turned into tensors, attributes and nodes. */
#ifndef TESTS_OPERATORS_CASE_H
#define TESTS_OPERATORS_CASE_H

#include "graph/op.h"

#define CASE_INPUTS 16
#define CASE_OUTPUTS 8

typedef struct op_case {
    const hki_op *op;
    const hki_case *text;
    int input_count, output_count, attribute_count;
    hk_tensor *inputs[CASE_INPUTS]; /* NULL: absent */
    bool differentiated[CASE_INPUTS];
    hk_attribute attributes[HKI_MAX_ATTRIBUTES];
    int64_t ints[HKI_MAX_ATTRIBUTES][32];
    float floats[HKI_MAX_ATTRIBUTES][32];
    char texts[HKI_MAX_ATTRIBUTES][64];
} op_case;

/** Parses a case; `real` is the float type under test. Returns false (and prints why) if the text is wrong. */
bool case_open(op_case *out, const hki_op *op, const hki_case *text, hk_dtype real);
void case_close(op_case *c);
/** Adds the case's node to an eager graph, its inputs as constants. Returns NULL on failure: see hk_graph_status. */
hk_node *case_build(hk_value **out_inputs, hk_graph *graph, const op_case *c);
/** A pseudo-random number in [-1, 1) from a counter. */
double case_random(uint64_t counter);

#endif
