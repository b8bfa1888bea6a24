/* Einsum: y[output labels] = sum over the other labels of the product of the inputs.
 *
 * The gradient of input i contracts dy with the other inputs; it is summed where x was broadcast, repeated over labels
 * that only x has, and put on the diagonal where x has a label twice. halka EinsumGrad does that; its own gradients are
 * an Einsum and EinsumGrads. */
#include <inttypes.h>
#include <string.h>

#include "ops/einsum_plan.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "tensor/number.h"

#define EINSUM_TYPES HKI_NUMERIC

/* Parses for operands in[first ...], which must all be there. */
static hk_status parse_infer(hki_einsum *e, bool *known, const hki_infer *c, int first)
{
    for (int i = first; i < c->input_count; i++)
        if (!c->in[i])
            return HK_ERR(HK_INVALID_ARGUMENT, "input %d of the list is absent", i);
    return hki_einsum_parse(e, known, hki_attribute_text(c->node, "equation"), c->input_count - first, c->in + first);
}

static hk_status infer(hki_infer *c)
{
    hki_einsum e;
    bool known;
    HK_TRY(parse_infer(&e, &known, c, 0));
    c->out[0].rank = e.out.rank;
    for (int d = 0; d < e.out.rank; d++)
        c->out[0].dims[d] = known ? e.extents[e.out.labels[d]] : HKI_DIM_UNKNOWN;
    return NULL;
}

/* Parses for a run whose operands are in[first ...]. */
static hk_status parse_run(hki_einsum *e, const hki_run *r, int first)
{
    hki_type types[HKI_EINSUM_OPERANDS];
    const hki_type *pointers[HKI_EINSUM_OPERANDS];
    bool known;
    int count = r->input_count - first;
    for (int i = 0; i < count && i < HKI_EINSUM_OPERANDS; i++) {
        hki_type_set(&types[i], r->in[first + i]->dtype, r->in[first + i]->rank, r->in[first + i]->dims);
        pointers[i] = &types[i];
    }
    return hki_einsum_parse(e, &known, hki_attribute_text(r->node, "equation"), count, pointers);
}

/* Writes the last `size` bytes of int64 elements, or converts floats. */
static void store(const hki_einsum_work *w, hk_tensor *to, hki_move *move)
{
    size_t size = hk_dtype_size(to->dtype);
    if (w->type == HK_INT64) { /* wrapping: the low bytes, wherever they lie */
        static const uint16_t one = 1;
        bool little = *(const uint8_t *)&one == 1;
        move->from = (const char *)move->from + (little ? 0 : sizeof(int64_t) - size);
        for (int i = 0; i < move->rank; i++)
            move->from_strides[i] *= (int64_t)(sizeof(int64_t) / size);
    }
    move->element_size = size;
    hki_move_run(move, w->run->pool);
}

/* Writes a factor to a tensor with the labels of `term`. */
static hk_status write_result(hki_einsum_work *w, const hki_factor *f, const hki_term *term, hk_tensor *to)
{
    int64_t strides[HK_MAX_RANK], count = hki_shape_count(to->dims, 0, to->rank);
    bool half = w->type == HK_FLOAT && to->dtype != HK_FLOAT;
    void *target = half ? (char *)w->memory + w->used : to->data; /* float16: laid out in float32 first */
    uint64_t seen = 0, zero = 0;
    hki_move move = {.from = f->data};
    hki_row_major(strides, to->rank, to->dims);
    for (int d = 0; d < term->rank; d++) {
        int label = term->labels[d];
        int64_t stride = 0;
        if (seen >> label & 1)
            continue;
        seen |= (uint64_t)1 << label;
        for (int e = d; e < term->rank; e++)
            stride += term->labels[e] == label ? strides[e] : 0;
        hki_move_add(&move, to->dims[d], stride, f->labels >> label & 1 ? f->strides[label] : 0);
    }
    move.to = target;
    if (move.rank < term->rank)
        hki_fill(target, &zero, count, half ? sizeof(float) : hk_dtype_size(to->dtype), w->run->pool);
    if (!half) {
        store(w, to, &move);
        return NULL;
    }
    move.element_size = sizeof(float);
    hki_move_run(&move, w->run->pool);
    return hki_convert(to->data, to->dtype, target, HK_FLOAT, count);
}

/* The whole computation, or (dry) the scratch it needs. */
static hk_status compute(hki_einsum_work *w, const hki_run *r)
{
    hki_einsum e;
    hki_factor factors[HKI_EINSUM_OPERANDS], result;
    uint64_t keep = 0;
    HK_TRY(parse_run(&e, r, 0));
    w->extents = e.extents;
    for (int i = 0; i < e.operands; i++)
        HK_TRY(hki_einsum_factor(&factors[i], w, &e.terms[i], r->in[i]));
    for (int d = 0; d < e.out.rank; d++)
        keep |= (uint64_t)1 << e.out.labels[d];
    hki_einsum_contract(&result, w, e.operands, factors, keep);
    return w->dry ? NULL : write_result(w, &result, &e.out, r->out[0]);
}

static size_t scratch_of(const hki_run *r, hk_status (*how)(hki_einsum_work *, const hki_run *))
{
    const hk_tensor *y = r->out[0];
    hki_einsum_work w = {.run = r, .type = hki_einsum_type(y->dtype), .dry = true};
    hk_status_free(how(&w, r)); /* a failure is found again by the run */
    return w.used + (size_t)hki_shape_count(y->dims, 0, y->rank) * sizeof(float) * (y->dtype != w.type);
}

static size_t scratch(const hki_run *r)
{
    return scratch_of(r, compute);
}

static hk_status run(hki_run *r)
{
    hki_einsum_work w = {.run = r, .type = hki_einsum_type(r->out[0]->dtype), .memory = r->scratch};
    return compute(&w, r);
}

/* ---- The gradient ---- */

static hk_value *gradient_of(hk_graph *g, const hk_node *node, int index, hk_value *dy, hk_value *const *operands,
                             int count)
{
    hk_value *inputs[HKI_EINSUM_OPERANDS + 1] = {dy}, *out = NULL;
    for (int i = 0; i < count; i++)
        inputs[i + 1] = operands[i];
    hk_graph_node(g, "halka", "EinsumGrad", NULL, count + 1, inputs,
                  HK_ATTRIBUTES(HK_TEXT("equation", hki_attribute_text(node, "equation")), HK_INT("index", index)), 1,
                  &out);
    return out;
}

static hk_status grad(hki_grad *g)
{
    for (int i = 0; i < g->node->input_count && g->dy[0]; i++)
        if (g->need[i])
            g->dx[i] = gradient_of(g->graph, g->node, i, g->dy[0], g->x, g->node->input_count);
    return NULL;
}

static const hki_case cases[] = {
    {"f[2,3]", "equation=ij->ji"},
    {"f[2,3]", "equation=ij->i"},
    {"f[2,3]", "equation=ij->"},
    {"f[3,3]", "equation=ii->i"},
    {"f[3,3]", "equation=ii"},
    {"f[2,3] f[3,4]", "equation=ij,jk"},
    {"f[2,3,4] f[2,4,2]", "equation=bij,bjk->bik"},
    {"f[2,3] f[4]", "equation=ij,k->kj"},
    {"f[3] f[3]", "equation=i,i"},
    {"f[2,1,2,3] f[4,3,2]", "equation=...ij,...jk->...ik"},
    {"f[2,3] f[3,2] f[2,4]", "equation=ij,jk,kl->il"},
    {"f[2,2,3] f[3]", "equation=iij,j->i"},
    {"f[1] f[1,2]", "equation=a,aB->Ba"},
    {"f[0,3] f[3,2]", "equation=ij,jk->ik"},
    {NULL, NULL},
};

const hki_op hki_op_einsum = {
    .name = "Einsum",
    .doc = "y[output] = sum of products of the inputs over the labels that are not in the output",
    .inputs = {{"Inputs", "T", EINSUM_TYPES, HKI_VARIADIC}},
    .outputs = {{"Output", "T", EINSUM_TYPES, 0}},
    .attributes = {{"equation", HK_ATTRIBUTE_STRING, {.s = ""}, true}},
    .versions = {{12, NULL}},
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .cases = cases,
};

static hk_status backward_infer(hki_infer *c)
{
    int64_t index = hki_attribute_int(c->node, "index");
    if (index < 0 || index >= c->input_count - 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "index must be that of one of %d operands, found %" PRId64,
                      c->input_count - 1, index);
    hki_einsum e;
    bool known;
    HK_TRY(parse_infer(&e, &known, c, 1));
    HK_TRY(known ? hki_rank_check(c->in[0], e.out.rank, "dy") : NULL);
    for (int d = 0; known && d < c->in[0]->rank; d++) {
        int64_t dim;
        HK_TRY_CTX(hki_dim_merge(&dim, c->in[0]->dims[d], e.extents[e.out.labels[d]]), "dim %d of dy", d);
    }
    hki_type_copy(&c->out[0], c->in[index + 1]);
    return NULL;
}

static hk_status backward_compute(hki_einsum_work *w, const hki_run *r)
{
    int index = (int)hki_attribute_int(r->node, "index"), count = 0;
    hki_einsum e;
    hki_factor factors[HKI_EINSUM_OPERANDS], result;
    uint64_t keep = 0;
    HK_TRY(parse_run(&e, r, 1));
    w->extents = e.extents;
    HK_TRY(hki_einsum_factor(&factors[count++], w, &e.out, r->in[0]));
    for (int i = 0; i < e.operands; i++)
        if (i != index)
            HK_TRY(hki_einsum_factor(&factors[count++], w, &e.terms[i], r->in[i + 1]));
    const hki_term *term = &e.terms[index];
    for (int d = 0; d < term->rank; d++)
        if (r->out[0]->dims[d] == e.extents[term->labels[d]]) /* else it was broadcast, and is summed */
            keep |= (uint64_t)1 << term->labels[d];
    hki_einsum_contract(&result, w, count, factors, keep);
    return w->dry ? NULL : write_result(w, &result, term, r->out[0]);
}

static size_t backward_scratch(const hki_run *r)
{
    return scratch_of(r, backward_compute);
}

static hk_status backward_run(hki_run *r)
{
    hki_einsum_work w = {.run = r, .type = hki_einsum_type(r->out[0]->dtype), .memory = r->scratch};
    return backward_compute(&w, r);
}

/* dx_i is linear in dy and in every operand but i: putting ddx in the place of x_i gives the product to differentiate.
 */
static hk_status backward_grad(hki_grad *g)
{
    int index = (int)hki_attribute_int(g->node, "index"), count = g->node->input_count - 1;
    hk_value *operands[HKI_EINSUM_OPERANDS];
    if (!g->dy[0])
        return NULL;
    for (int i = 0; i < count; i++)
        operands[i] = i == index ? g->dy[0] : g->x[i + 1];
    if (g->need[0])
        g->dx[0] = hk_graph_apply(g->graph, "Einsum", count, operands,
                                  HK_ATTRIBUTES(HK_TEXT("equation", hki_attribute_text(g->node, "equation"))));
    for (int i = 0; i < count; i++)
        if (i != index && g->need[i + 1])
            g->dx[i + 1] = gradient_of(g->graph, g->node, i, g->x[0], operands, count);
    return NULL;
}

static const hki_case backward_cases[] = {
    {"f[2,4] f[2,3]! f[3,4]", "equation=ij,jk->ik index=0"},
    {"f[2] f[2,2,3] f[3]!", "equation=iij,j->i index=1"},
    {NULL, NULL},
};

const hki_op hki_op_einsum_grad = {
    .name = "EinsumGrad",
    .domain = "halka",
    .doc = "gradient of Einsum for operand `index`, from dy and all operands",
    .inputs = {{"dy", "T", HKI_FLOATS, 0}, {"operands", "T", HKI_FLOATS, HKI_VARIADIC}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"equation", HK_ATTRIBUTE_STRING, {.s = ""}, true}, {"index", HK_ATTRIBUTE_INT, {.i = 0}, true}},
    .infer = backward_infer,
    .run = backward_run,
    .scratch = backward_scratch,
    .grad = backward_grad,
    .cases = backward_cases,
};
