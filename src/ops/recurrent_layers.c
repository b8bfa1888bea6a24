/* RNN, GRU and LSTM: the equations of one step. Gates stand in ONNX's order: z r h for GRU, i o f c for LSTM. */
#include "ops/recurrent.h"

/* H R^T, with the recurrence's bias. */
static hk_value *recur(const hki_recurrent *r, hk_value *hidden)
{
    hk_value *product = hki_binary(r->g, "MatMul", hidden, r->r);
    return r->r_bias ? hki_binary(r->g, "Add", product, r->r_bias) : product;
}

/* ---- RNN: H = f(X W + H R + b). ---- */

static hki_recurrent_state rnn_step(const hki_recurrent *r, hk_value *x, hki_recurrent_state before)
{
    hk_value *sum = hki_binary(r->g, "Add", x, recur(r, before.hidden));
    return (hki_recurrent_state){hki_recurrent_activate(r, 0, "Tanh", sum), NULL};
}

static hk_status rnn_infer(hki_infer *c)
{
    return hki_recurrent_infer(c, 1);
}

static hk_status rnn_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hki_recurrent r = {.g = g, .node = node, .gates = 1, .activations = 1, .initial_hidden = 5, .initial_cell = -1,
                       .step = rnn_step};
    return hki_recurrent_expand(&r, out);
}

static const hki_case rnn_cases[] = {
    {"f[2,3,4] f[1,5,4] f[1,5,5]", "hidden_size=5"},
    {"f[3,2,2] f[2,3,2] f[2,3,3] f[2,6] i32[2]=(3,1) f[2,2,3]", "hidden_size=3 direction=bidirectional"},
    {"f[2,3,2] f[1,2,2] f[1,2,2]", "hidden_size=2 direction=reverse layout=1"},
    {NULL, NULL},
};

const hki_op hki_op_rnn = {
    .name = "RNN",
    .doc = "H = f(X W + H R + b), step by step",
    .inputs = {{"X", "T", HKI_RECURRENT_REALS, 0},
               {"W", "T", HKI_RECURRENT_REALS, 0},
               {"R", "T", HKI_RECURRENT_REALS, 0},
               {"B", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
               {"sequence_lens", "T1", HKI_BIT(HK_INT32), HKI_OPTIONAL},
               {"initial_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}, {"Y_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .attributes = {HKI_RECURRENT_ATTRIBUTES},
    .versions = {{1, hki_recurrent_upgrade}, {7, NULL}, {14, NULL}, {22, NULL}},
    .infer = rnn_infer,
    .expand = rnn_expand,
    .cases = rnn_cases,
};

/* ---- GRU. ---- */

/* h~ is computed from (r * H) R_h, or, with linear_before_reset, from r * (H R_h). H = (1 - z) * h~ + z * H. */
static hki_recurrent_state gru_step(const hki_recurrent *r, hk_value *x, hki_recurrent_state before)
{
    hk_graph *g = r->g;
    hk_value *in[3], *weights[3], *biases[3] = {NULL, NULL, NULL}, *gate[2], *inner;
    hki_recurrent_split(in, r, 3, x);
    hki_recurrent_split(weights, r, 3, r->r);
    if (r->r_bias)
        hki_recurrent_split(biases, r, 3, r->r_bias);
    for (int i = 0; i < 2; i++) {
        hk_value *sum = hki_binary(g, "Add", in[i], hki_binary(g, "MatMul", before.hidden, weights[i]));
        gate[i] = hki_recurrent_activate(r, 0, "Sigmoid", biases[i] ? hki_binary(g, "Add", sum, biases[i]) : sum);
    }
    bool linear = hki_attribute_int(r->node, "linear_before_reset") != 0;
    hk_value *state = linear ? before.hidden : hki_binary(g, "Mul", gate[1], before.hidden);
    inner = hki_binary(g, "MatMul", state, weights[2]);
    if (biases[2])
        inner = hki_binary(g, "Add", inner, biases[2]);
    if (linear)
        inner = hki_binary(g, "Mul", gate[1], inner);
    inner = hki_recurrent_activate(r, 1, "Tanh", hki_binary(g, "Add", in[2], inner));
    hk_value *fresh = hki_binary(g, "Mul", hki_recurrent_complement(r, gate[0]), inner);
    return (hki_recurrent_state){hki_binary(g, "Add", fresh, hki_binary(g, "Mul", gate[0], before.hidden)), NULL};
}

static hk_status gru_infer(hki_infer *c)
{
    return hki_recurrent_infer(c, 3);
}

static hk_status gru_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hki_recurrent r = {.g = g, .node = node, .gates = 3, .activations = 2, .initial_hidden = 5, .initial_cell = -1,
                       .step = gru_step};
    return hki_recurrent_expand(&r, out);
}

static const hki_case gru_cases[] = {
    {"f[2,2,3] f[1,6,3] f[1,6,2]", "hidden_size=2"},
    {"f[2,2,3] f[1,6,3] f[1,6,2] f[1,12]", "hidden_size=2 linear_before_reset=1"},
    {"f[3,2,2] f[2,6,2] f[2,6,2] f[2,12] i32[2]=(2,3) f[2,2,2]", "hidden_size=2 direction=bidirectional"},
    {NULL, NULL},
};

const hki_op hki_op_gru = {
    .name = "GRU",
    .doc = "H = (1 - z) h~ + z H with gates z, r from X and H, step by step",
    .inputs = {{"X", "T", HKI_RECURRENT_REALS, 0},
               {"W", "T", HKI_RECURRENT_REALS, 0},
               {"R", "T", HKI_RECURRENT_REALS, 0},
               {"B", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
               {"sequence_lens", "T1", HKI_BIT(HK_INT32), HKI_OPTIONAL},
               {"initial_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}, {"Y_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .attributes = {HKI_RECURRENT_ATTRIBUTES, {"linear_before_reset", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, hki_recurrent_upgrade}, {3, hki_recurrent_upgrade}, {7, NULL}, {14, NULL}, {22, NULL}},
    .infer = gru_infer,
    .expand = gru_expand,
    .cases = gru_cases,
};

/* ---- LSTM. ---- */

/* x + peephole * cell, if there are peepholes. */
static hk_value *peep(const hki_recurrent *r, hk_value *x, hk_value *peephole, hk_value *cell)
{
    return peephole ? hki_binary(r->g, "Add", x, hki_binary(r->g, "Mul", peephole, cell)) : x;
}

/* C = f * C + i * c~, H = o * h(C); peepholes stand in the order i o f. */
static hki_recurrent_state lstm_step(const hki_recurrent *r, hk_value *x, hki_recurrent_state before)
{
    hk_graph *g = r->g;
    hk_value *gate[4], *hole[3] = {NULL, NULL, NULL};
    hki_recurrent_split(gate, r, 4, hki_binary(g, "Add", x, recur(r, before.hidden)));
    if (r->peepholes)
        hki_recurrent_split(hole, r, 3, r->peepholes);
    hk_value *in = hki_recurrent_activate(r, 0, "Sigmoid", peep(r, gate[0], hole[0], before.cell));
    hk_value *forget = hki_attribute_int(r->node, "input_forget")
                           ? hki_recurrent_complement(r, in)
                           : hki_recurrent_activate(r, 0, "Sigmoid", peep(r, gate[2], hole[2], before.cell));
    hk_value *fresh = hki_recurrent_activate(r, 1, "Tanh", gate[3]);
    hk_value *cell = hki_binary(g, "Add", hki_binary(g, "Mul", forget, before.cell), hki_binary(g, "Mul", in, fresh));
    hk_value *out = hki_recurrent_activate(r, 0, "Sigmoid", peep(r, gate[1], hole[1], cell));
    return (hki_recurrent_state){hki_binary(g, "Mul", out, hki_recurrent_activate(r, 2, "Tanh", cell)), cell};
}

static hk_status lstm_infer(hki_infer *c)
{
    return hki_recurrent_infer(c, 4);
}

static hk_status lstm_expand(hk_graph *g, const hk_node *node, hk_value **out)
{
    hki_recurrent r = {.g = g, .node = node, .gates = 4, .activations = 3, .initial_hidden = 5, .initial_cell = 6,
                       .step = lstm_step};
    return hki_recurrent_expand(&r, out);
}

static const hki_case lstm_cases[] = {
    {"f[2,2,3] f[1,8,3] f[1,8,2]", "hidden_size=2"},
    {"f[2,2,3] f[1,8,3] f[1,8,2] f[1,16] - f[1,2,2] f[1,2,2] f[1,6]", "hidden_size=2"},
    {"f[3,2,2] f[2,8,2] f[2,8,2] f[2,16] i32[2]=(2,3)", "hidden_size=2 direction=bidirectional"},
    {"f[2,2,3] f[1,8,3] f[1,8,2]", "hidden_size=2 layout=1 input_forget=1"},
    {NULL, NULL},
};

const hki_op hki_op_lstm = {
    .name = "LSTM",
    .doc = "C = f C + i c~, H = o tanh(C) with gates i, o, f, c~ from X and H, step by step",
    .inputs = {{"X", "T", HKI_RECURRENT_REALS, 0},
               {"W", "T", HKI_RECURRENT_REALS, 0},
               {"R", "T", HKI_RECURRENT_REALS, 0},
               {"B", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
               {"sequence_lens", "T1", HKI_BIT(HK_INT32), HKI_OPTIONAL},
               {"initial_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
               {"initial_c", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
               {"P", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
                {"Y_h", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL},
                {"Y_c", "T", HKI_RECURRENT_REALS, HKI_OPTIONAL}},
    .attributes = {HKI_RECURRENT_ATTRIBUTES, {"input_forget", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, hki_recurrent_upgrade}, {7, NULL}, {14, NULL}, {22, NULL}},
    .infer = lstm_infer,
    .expand = lstm_expand,
    .cases = lstm_cases,
};
