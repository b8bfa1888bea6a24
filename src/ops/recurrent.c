/* Unrolling of recurrent layers; see recurrent.h. Shapes: X [T, B, I], W [D, gates * H, I], R [D, gates * H, H], B [D,
 * 2 * gates * H], sequence_lens [B], states [D, B, H]; Y [T, D, B, H]. With layout 1, B comes first. */
#include "ops/recurrent.h"

#include <inttypes.h>
#include <string.h>

enum { X, W, R, BIAS, LENGTHS, MAX_STEPS = 4096 };

static hk_value *input(const hk_node *node, int i)
{
    return i >= 0 && i < node->input_count ? node->inputs[i] : NULL;
}

static int direction_count(const hk_node *node)
{
    return strcmp(hki_attribute_text(node, "direction"), "bidirectional") ? 1 : 2;
}

/* ---- Inference. ---- */

static hk_status check_rank(const hki_infer *c, int i, int rank, const char *name)
{
    if (!hki_infer_has(c, i) || c->in[i]->rank < 0 || c->in[i]->rank == rank)
        return NULL;
    return HK_ERR(HK_INVALID_SHAPE, "input '%s' has rank %d, expected %d", name, c->in[i]->rank, rank);
}

static hk_status check_dim(const hki_infer *c, int i, int axis, int64_t want, const char *name)
{
    int64_t have = hki_infer_has(c, i) && c->in[i]->rank > axis ? c->in[i]->dims[axis] : HKI_DIM_UNKNOWN;
    if (have < 0 || want < 0 || have == want)
        return NULL;
    return HK_ERR(HK_INVALID_SHAPE, "input '%s' has %" PRId64 " in dimension %d, expected %" PRId64, name, have, axis,
                  want);
}

static hk_status check_inputs(const hki_infer *c, int gates, int64_t directions, int64_t hidden)
{
    static const char *const names[] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c"};
    static const int ranks[] = {3, 3, 3, 2, 1, 3, 3};
    for (int i = 0; i < 7 && i < c->input_count; i++)
        HK_TRY(check_rank(c, i, ranks[i], names[i]));
    for (int i = W; i <= BIAS; i++)
        HK_TRY(check_dim(c, i, 0, directions, names[i]));
    HK_TRY(check_dim(c, W, 1, hki_dim_mul(gates, hidden), "W"));
    HK_TRY(check_dim(c, R, 1, hki_dim_mul(gates, hidden), "R"));
    HK_TRY(check_dim(c, R, 2, hidden, "R"));
    HK_TRY(check_dim(c, BIAS, 1, hki_dim_mul(2 * (int64_t)gates, hidden), "B"));
    if (c->in[X]->rank == 3)
        HK_TRY(check_dim(c, W, 2, c->in[X]->dims[2], "W"));
    return NULL;
}

hk_status hki_recurrent_infer(hki_infer *c, int gates)
{
    const hk_node *node = c->node;
    const char *direction = hki_attribute_text(node, "direction");
    bool batch_first = hki_attribute_int(node, "layout") != 0;
    int64_t directions = direction_count(node), hidden = hki_attribute_int(node, "hidden_size");
    if (strcmp(direction, "forward") && strcmp(direction, "reverse") && strcmp(direction, "bidirectional"))
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'direction' is '%s', expected forward, reverse or bidirectional",
                      direction);
    if (hidden <= 0)
        hidden = c->in[R]->rank == 3 ? c->in[R]->dims[2] : HKI_DIM_UNKNOWN;
    HK_TRY(check_inputs(c, gates, directions, hidden));
    bool known = c->in[X]->rank == 3;
    int64_t steps = known ? c->in[X]->dims[batch_first] : HKI_DIM_UNKNOWN;
    int64_t batch = known ? c->in[X]->dims[!batch_first] : HKI_DIM_UNKNOWN;
    int64_t all[2][4] = {{steps, directions, batch, hidden}, {batch, steps, directions, hidden}};
    int64_t last[2][3] = {{directions, batch, hidden}, {batch, directions, hidden}};
    hki_type_set(&c->out[0], c->in[X]->dtype, 4, all[batch_first]);
    for (int i = 1; i < c->output_count; i++)
        hki_type_set(&c->out[i], c->in[X]->dtype, 3, last[batch_first]);
    return NULL;
}

hk_status hki_recurrent_upgrade(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "output_sequence");
    return NULL;
}

/* ---- Pieces. ---- */

/* Entry `index` of axis `axis`, without the axis. */
static hk_value *pick(hk_graph *g, hk_value *x, int64_t index, int axis)
{
    hk_tensor *number = NULL;
    if (!x || g->failure)
        return NULL;
    hk_status status = hk_tensor_from(&number, &index, HK_INT64, 0, NULL);
    if (status)
        return hki_graph_fail(g, status);
    hk_value *at = hk_graph_constant(g, NULL, number);
    hk_tensor_free(number);
    return hk_graph_apply(g, "Gather", HK_VALUES(x, at), HK_ATTRIBUTES(HK_INT("axis", axis)));
}

static hk_value *permute(hk_graph *g, hk_value *x, int rank, const int64_t *perm)
{
    hk_attribute attribute = {"perm", HK_ATTRIBUTE_INTS, rank, {.ints = perm}};
    return x ? hk_graph_apply(g, "Transpose", 1, &x, 1, &attribute) : NULL;
}

static hk_value *unsqueeze(hk_graph *g, hk_value *x, int count, const int64_t *axes)
{
    return hki_binary(g, "Unsqueeze", x, hki_ints_constant(g, count, axes));
}

static hk_value *concat(hk_graph *g, int count, hk_value *const *parts, int axis)
{
    return hk_graph_apply(g, "Concat", count, parts, HK_ATTRIBUTES(HK_INT("axis", axis)));
}

void hki_recurrent_split(hk_value **out, const hki_recurrent *r, int count, hk_value *x)
{
    int64_t sizes[8];
    memset(out, 0, (size_t)count * sizeof *out);
    for (int i = 0; i < count; i++)
        sizes[i] = r->hidden;
    hk_value *lengths = x ? hki_ints_constant(r->g, count, sizes) : NULL;
    if (lengths)
        hk_graph_node(r->g, "", "Split", NULL, HK_VALUES(x, lengths), HK_ATTRIBUTES(HK_INT("axis", -1)), count, out);
}

hk_value *hki_recurrent_complement(const hki_recurrent *r, hk_value *x)
{
    return hki_binary(r->g, "Sub", hki_scalar_like(r->g, x, 1), x);
}

/* ---- Activations. ---- */

/* Which numbers an activation takes, and their defaults (ONNX, operator RNN). */
static const struct activation {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta;
} activations[] = {
    {"Affine", true, true, 1, 0},        {"Elu", true, false, 1, 0},
    {"HardSigmoid", true, true, 0.2f, 0.5f}, {"LeakyRelu", true, false, 0.01f, 0},
    {"Relu", false, false, 0, 0},        {"ScaledTanh", true, true, 1, 1},
    {"Sigmoid", false, false, 0, 0},     {"Softplus", false, false, 0, 0},
    {"Softsign", false, false, 0, 0},    {"Tanh", false, false, 0, 0},
    {"ThresholdedRelu", true, false, 1, 0},
};

static const struct activation *find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
        if (!strcmp(activations[i].name, name))
            return &activations[i];
    return NULL;
}

/* Takes alpha and beta from the node's lists, in which only activations that have such a number have an entry. */
static void given_numbers(struct activation *a, const hki_recurrent *r, const hk_attribute *names, int index)
{
    int64_t alpha_count, beta_count, alpha_at = 0, beta_at = 0;
    const float *alphas = hki_attribute_floats(r->node, "activation_alpha", &alpha_count);
    const float *betas = hki_attribute_floats(r->node, "activation_beta", &beta_count);
    for (int i = 0; names && i < index && i < names->count; i++) {
        const struct activation *before = find_activation(names->as.strings[i]);
        alpha_at += before && before->has_alpha;
        beta_at += before && before->has_beta;
    }
    if (a->has_alpha && alpha_at < alpha_count)
        a->alpha = alphas[alpha_at];
    if (a->has_beta && beta_at < beta_count)
        a->beta = betas[beta_at];
}

static hk_value *apply_activation(hk_graph *g, const struct activation *a, hk_value *x)
{
    if (!strcmp(a->name, "Affine"))
        return hki_binary(g, "Add", hki_binary(g, "Mul", x, hki_scalar_like(g, x, a->alpha)),
                          hki_scalar_like(g, x, a->beta));
    if (!strcmp(a->name, "ScaledTanh"))
        return hki_binary(g, "Mul", hki_scalar_like(g, x, a->alpha),
                          hki_unary(g, "Tanh", hki_binary(g, "Mul", x, hki_scalar_like(g, x, a->beta))));
    hk_attribute numbers[2] = {HK_FLOAT32("alpha", a->alpha), HK_FLOAT32("beta", a->beta)};
    return x ? hk_graph_apply(g, a->name, 1, &x, a->has_alpha + a->has_beta, numbers) : NULL;
}

hk_value *hki_recurrent_activate(const hki_recurrent *r, int index, const char *usual, hk_value *x)
{
    hk_graph *g = r->g;
    const hk_attribute *names = hki_attribute_find(r->node, "activations");
    float limit = hki_attribute_float(r->node, "clip");
    int at = r->direction * r->activations + index;
    const char *name = names && at < names->count ? names->as.strings[at] : usual;
    const struct activation *found = find_activation(name);
    if (!found)
        return hki_graph_fail(g, HK_ERR(HK_UNSUPPORTED, "activation '%s' is not known", name));
    struct activation a = *found;
    given_numbers(&a, r, names, at);
    if (limit > 0 && x)
        x = hk_graph_apply(g, "Clip", HK_VALUES(x, hki_scalar_like(g, x, -limit), hki_scalar_like(g, x, limit)),
                           HK_NO_ATTRIBUTES);
    return apply_activation(g, &a, x);
}

/* ---- A direction. ---- */

/* The initial state [B, H] of the direction: an input, or zeros. x is [T, B, I]. */
static hk_value *initial_state(const hki_recurrent *r, int number, hk_value *x, bool batch_first)
{
    hk_graph *g = r->g;
    hk_value *given = input(r->node, number);
    if (given)
        return pick(g, given, r->direction, batch_first);
    hk_value *batch = x ? hk_graph_apply(g, "Shape", 1, &x, HK_ATTRIBUTES(HK_INT("start", 1), HK_INT("end", 2))) : NULL;
    hk_value *parts[2] = {batch, hki_ints_constant(g, 1, &r->hidden)};
    hk_value *zeros = batch ? hki_unary(g, "ConstantOfShape", concat(g, 2, parts, 0)) : NULL;
    return hki_binary(g, "CastLike", zeros, x);
}

/* X times W for all steps at once, with the bias of W: [T, B, gates * H]. Sets the recurrence's weights and bias. */
static hk_value *prepare(hki_recurrent *r, hk_value *x)
{
    static const int64_t turn[] = {1, 0};
    hk_graph *g = r->g;
    int64_t sizes[2] = {r->gates * r->hidden, r->gates * r->hidden};
    hk_value *w = pick(g, r->node->inputs[W], r->direction, 0), *bias = pick(g, input(r->node, BIAS), r->direction, 0);
    hk_value *product = hki_binary(g, "MatMul", x, permute(g, w, 2, turn)), *biases[2] = {NULL, NULL};
    r->r = permute(g, pick(g, r->node->inputs[R], r->direction, 0), 2, turn);
    r->peepholes = pick(g, input(r->node, 7), r->direction, 0);
    r->r_bias = NULL;
    if (!bias)
        return product;
    hk_graph_node(g, "", "Split", NULL, HK_VALUES(bias, hki_ints_constant(g, 2, sizes)),
                  HK_ATTRIBUTES(HK_INT("axis", 0)), 2, biases);
    r->r_bias = biases[1];
    return hki_binary(g, "Add", product, biases[0]);
}

/* Which sequences are still going at step t: bool [B, 1]; NULL if all have full length. */
static hk_value *running(const hki_recurrent *r, int64_t t)
{
    static const int64_t last = 1;
    hk_value *lengths = input(r->node, LENGTHS);
    hk_value *mask = hki_binary(r->g, "Greater", lengths, lengths ? hki_scalar_like(r->g, lengths, (double)t) : NULL);
    return lengths ? unsqueeze(r->g, mask, 1, &last) : NULL;
}

static hk_value *where(hk_graph *g, hk_value *mask, hk_value *a, hk_value *b)
{
    return mask && a && b ? hk_graph_apply(g, "Where", HK_VALUES(mask, a, b), HK_NO_ATTRIBUTES) : NULL;
}

/* Runs through the steps, backwards for a reverse direction. y[t] becomes [1, 1, B, H]. A sequence that is over (or,
 * backwards, has not yet begun) keeps its state and puts out zeros. */
static hki_recurrent_state run_steps(hki_recurrent *r, hk_value **y, hk_value *x, hki_recurrent_state state)
{
    static const int64_t front[] = {0, 1};
    hk_graph *g = r->g;
    bool backwards = r->direction || !strcmp(hki_attribute_text(r->node, "direction"), "reverse");
    hk_value *product = prepare(r, x);
    for (int64_t i = 0; i < r->steps && !g->failure; i++) {
        int64_t t = backwards ? r->steps - 1 - i : i;
        hki_recurrent_state next = r->step(r, pick(g, product, t, 0), state);
        hk_value *out = next.hidden, *mask = running(r, t);
        if (mask) {
            out = where(g, mask, next.hidden, hki_scalar_like(g, next.hidden, 0));
            next.hidden = where(g, mask, next.hidden, state.hidden);
            next.cell = state.cell ? where(g, mask, next.cell, state.cell) : NULL;
        }
        state = next;
        y[t] = unsqueeze(g, out, 2, front);
    }
    return state;
}

/* ---- The layer. ---- */

/* Joins the directions of a final state to [D, B, H]. */
static hk_value *join_states(const hki_recurrent *r, int count, hk_value *const *states, bool batch_first)
{
    static const int64_t first = 0, turn[] = {1, 0, 2};
    hk_value *parts[2] = {NULL, NULL};
    for (int d = 0; d < count; d++)
        parts[d] = unsqueeze(r->g, states[d], 1, &first);
    hk_value *joined = concat(r->g, count, parts, 0);
    return batch_first ? permute(r->g, joined, 3, turn) : joined;
}

static hk_status unroll(hki_recurrent *r, hk_value **out, hk_value **y)
{
    static const int64_t batch_first_turn[] = {1, 0, 2}, back[] = {2, 0, 1, 3};
    hk_graph *g = r->g;
    bool batch_first = hki_attribute_int(r->node, "layout") != 0;
    int directions = direction_count(r->node);
    hk_value *x = batch_first ? permute(g, r->node->inputs[X], 3, batch_first_turn) : r->node->inputs[X];
    hk_value *all[2], *hidden[2], *cell[2];
    for (r->direction = 0; r->direction < directions; r->direction++) {
        int d = r->direction;
        hki_recurrent_state state = {initial_state(r, r->initial_hidden, x, batch_first), NULL};
        if (r->initial_cell >= 0)
            state.cell = initial_state(r, r->initial_cell, x, batch_first);
        state = run_steps(r, y, x, state);
        HK_TRY(hk_graph_status(g));
        all[d] = concat(g, (int)r->steps, y, 0);
        hidden[d] = state.hidden;
        cell[d] = state.cell;
    }
    out[0] = concat(g, directions, all, 1);
    if (batch_first)
        out[0] = permute(g, out[0], 4, back);
    if (r->node->output_count > 1)
        out[1] = join_states(r, directions, hidden, batch_first);
    if (r->node->output_count > 2)
        out[2] = join_states(r, directions, cell, batch_first);
    return hk_graph_status(g);
}

hk_status hki_recurrent_expand(hki_recurrent *r, hk_value **out)
{
    const hki_type *x = &r->node->inputs[X]->type, *recurrence = &r->node->inputs[R]->type;
    bool batch_first = hki_attribute_int(r->node, "layout") != 0;
    r->steps = x->rank == 3 ? x->dims[batch_first] : HKI_DIM_UNKNOWN;
    r->hidden = recurrence->rank == 3 ? recurrence->dims[2] : HKI_DIM_UNKNOWN;
    if (r->steps < 1 || r->hidden < 1)
        return HK_ERR(HK_UNSUPPORTED,
                      "the number of steps and the hidden size must be known and positive, found %" PRId64
                      " and %" PRId64 " (-1 and below: unknown)",
                      r->steps, r->hidden);
    if (r->steps > MAX_STEPS)
        return HK_ERR(HK_UNSUPPORTED, "%" PRId64 " steps, at most %d are supported", r->steps, MAX_STEPS);
    hk_value **y = hki_alloc_array((size_t)r->steps, sizeof *y);
    if (!y)
        return hki_out_of_memory();
    hk_status status = unroll(r, out, y);
    hki_free(y);
    return status;
}
