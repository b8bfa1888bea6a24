/* What RNN, GRU and LSTM share: a layer is unrolled into simple operators, one group per step and direction, and so is
 * trained and run like any other graph. The number of steps must be known. */
#ifndef HKI_OPS_RECURRENT_H
#define HKI_OPS_RECURRENT_H

#include "graph/op.h"

typedef struct hki_recurrent hki_recurrent;

/** The state of one direction between steps. `cell` is NULL but for LSTM. */
typedef struct hki_recurrent_state {
    hk_value *hidden, *cell; /* [B, H] */
} hki_recurrent_state;

/** Computes the next state from `x` [B, gates * H], the step's input times W, biases of W added. */
typedef hki_recurrent_state hki_recurrent_step(const hki_recurrent *r, hk_value *x, hki_recurrent_state before);

/** A layer being unrolled; what depends on the direction is set before its steps. */
struct hki_recurrent {
    hk_graph *g;
    const hk_node *node;
    int gates, activations; /* per direction */
    int initial_hidden, initial_cell; /* input numbers; -1: none */
    hki_recurrent_step *step;
    int64_t steps, hidden;
    int direction;         /* 0, or 1 for the second of a bidirectional layer */
    hk_value *r;           /* [H, gates * H]: the recurrence weights, transposed */
    hk_value *r_bias;      /* [gates * H]; NULL: none */
    hk_value *peepholes;   /* [3 * H]; NULL: none */
};

/** Infers all outputs. */
hk_status hki_recurrent_infer(hki_infer *c, int gates) HK_MUST_USE;
/** Builds the layer. */
hk_status hki_recurrent_expand(hki_recurrent *r, hk_value **out) HK_MUST_USE;

/** Applies activation number `index` of the direction (attribute activations, else `usual`), after clipping. */
hk_value *hki_recurrent_activate(const hki_recurrent *r, int index, const char *usual, hk_value *x);
/** Cuts [B, n * H] (or [n * H]) into n parts along the last axis. */
void hki_recurrent_split(hk_value **out, const hki_recurrent *r, int count, hk_value *x);
/** 1 - x. */
hk_value *hki_recurrent_complement(const hki_recurrent *r, hk_value *x);
/** Removes the attribute output_sequence of the first versions, which never had a meaning of its own. */
hk_status hki_recurrent_upgrade(hki_draft *draft) HK_MUST_USE;

#define HKI_RECURRENT_ATTRIBUTES                                                                                   \
    {"activation_alpha", HK_ATTRIBUTE_FLOATS, {0}, false}, {"activation_beta", HK_ATTRIBUTE_FLOATS, {0}, false},   \
        {"activations", HK_ATTRIBUTE_STRINGS, {0}, false}, {"clip", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},          \
        {"direction", HK_ATTRIBUTE_STRING, {.s = "forward"}, false},                                               \
        {"hidden_size", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"layout", HK_ATTRIBUTE_INT, {.i = 0}, false}
#define HKI_RECURRENT_REALS (HKI_BIT(HK_FLOAT) | HKI_BIT(HK_DOUBLE) | HKI_BIT(HK_FLOAT16) | HKI_BIT(HK_BFLOAT16))

#endif
