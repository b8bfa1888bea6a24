/* Concat and Split along one axis: each the gradient of the other. */
#include <inttypes.h>

#include "ops/movement.h"
#include "ops/shapes.h"

/* Copies a part of a tensor along an axis, or into it: `outer` rows of `run` elements. */
static void copy_part(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t outer, int64_t run,
                      size_t size, hki_pool *pool)
{
    hki_move move = {.to = to, .from = from, .element_size = size};
    hki_move_add(&move, outer, to_stride, from_stride);
    hki_move_add(&move, run, 1, 1);
    hki_move_run(&move, pool);
}

/* ---- Concat ---- */

static hk_status concat_infer(hki_infer *c)
{
    hki_type *y = &c->out[0];
    int axis, rank = -1;
    bool all = true;
    for (int i = 0; i < c->input_count; i++) {
        if (!c->in[i])
            return HK_ERR(HK_INVALID_ARGUMENT, "input %d of the list is absent", i);
        if (c->in[i]->rank >= 0 && rank >= 0 && c->in[i]->rank != rank)
            return HK_ERR(HK_INVALID_SHAPE, "inputs of one rank are expected, found %d and (input %d) %d", rank, i,
                          c->in[i]->rank);
        if (c->in[i]->rank >= 0)
            rank = c->in[i]->rank;
        else
            all = false;
    }
    if (rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), rank));
    y->rank = rank;
    for (int d = 0; d < rank; d++)
        y->dims[d] = HKI_DIM_UNKNOWN;
    int64_t sum = 0;
    for (int i = 0; i < c->input_count; i++)
        for (int d = 0; d < rank && c->in[i]->rank >= 0; d++) {
            if (d == axis)
                sum = c->input_count == 1 ? c->in[i]->dims[d] : hki_dim_add(sum, c->in[i]->dims[d]);
            else
                HK_TRY_CTX(hki_dim_merge(&y->dims[d], y->dims[d], c->in[i]->dims[d]), "input %d, dim %d", i, d);
        }
    if (all)
        y->dims[axis] = sum;
    return NULL;
}

static hk_status concat_run(hki_run *r)
{
    hk_tensor *y = r->out[0];
    int axis;
    size_t size = hk_dtype_size(y->dtype);
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), y->rank));
    int64_t outer = hki_shape_count(y->dims, 0, axis), inner = hki_shape_count(y->dims, axis + 1, y->rank), at = 0;
    for (int i = 0; i < r->input_count; i++) {
        int64_t run = r->in[i]->dims[axis] * inner;
        copy_part((char *)y->data + (size_t)at * size, y->dims[axis] * inner, r->in[i]->data, run, outer, run, size,
                  r->pool);
        at += run;
    }
    return NULL;
}

/* A 1-D value with the lengths of the inputs along the axis. */
static hk_value *concat_lengths(hki_grad *g, int axis)
{
    hk_graph *graph = g->graph;
    int count = g->node->input_count;
    bool known = true;
    for (int i = 0; i < count; i++)
        known = known && g->x[i]->type.rank >= 0 && g->x[i]->type.dims[axis] >= 0;
    size_t bytes;
    if (!hki_size_mul(&bytes, (size_t)count, sizeof(int64_t) + sizeof(hk_value *)))
        return hki_graph_fail(graph, hki_out_of_memory());
    void *memory = hki_arena_alloc(graph->arena, bytes);
    if (!memory)
        return hki_graph_fail(graph, hki_out_of_memory());
    if (known) {
        int64_t *lengths = memory;
        for (int i = 0; i < count; i++)
            lengths[i] = g->x[i]->type.dims[axis];
        return hki_ints_constant(graph, count, lengths);
    }
    hk_value **values = memory;
    for (int i = 0; i < count; i++)
        values[i] = hk_graph_apply(graph, "Shape", HK_VALUES(g->x[i]),
                                   HK_ATTRIBUTES(HK_INT("start", axis), HK_INT("end", axis + 1)));
    return hk_graph_apply(graph, "Concat", count, values, HK_ATTRIBUTES(HK_INT("axis", 0)));
}

static hk_status concat_grad(hki_grad *g)
{
    if (!g->dy[0])
        return NULL;
    int count = g->node->input_count, axis, rank = g->y[0]->type.rank;
    if (count == 1) {
        g->dx[0] = g->dy[0];
        return NULL;
    }
    if (rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "the gradient of Concat needs inputs of known rank");
    HK_TRY(hki_axis(&axis, hki_attribute_int(g->node, "axis"), rank));
    hk_value *lengths = concat_lengths(g, axis);
    hk_value **parts = hki_arena_array(g->graph->arena, (size_t)count, sizeof(*parts));
    if (!parts)
        return hki_out_of_memory();
    hk_graph_node(g->graph, "", "Split", NULL, HK_VALUES(g->dy[0], lengths), HK_ATTRIBUTES(HK_INT("axis", axis)), count,
                  parts);
    for (int i = 0; i < count; i++)
        g->dx[i] = g->need[i] ? parts[i] : NULL;
    return NULL;
}

/* Until opset 4 the axis could be left out and was 1. */
static hk_status concat_from_1(hki_draft *draft)
{
    hk_attribute axis = HK_INT("axis", 1);
    if (hki_draft_attribute(draft, "axis"))
        return NULL;
    return hki_draft_set_attribute(draft, &axis);
}

static const hki_case concat_cases[] = {
    {"f[2,3] f[2,1]", "axis=1"},
    {"f[1,2] f[3,2] f[2,2]", "axis=0"},
    {"f[2,3,1] f[2,3,4]", "axis=-1"},
    {"f[2,2,2] f[2,0,2]", "axis=1"},
    {"f[3]", "axis=0"},
    {"f[0,2] f[0,2]", "axis=0"},
    {"f[2,3,2] f[2,3,2]", "axis=-2"},
    {NULL, NULL},
};

const hki_op hki_op_concat = {
    .name = "Concat",
    .doc = "y is the inputs one after the other along axis",
    .inputs = {{"inputs", "T", HKI_ANY, HKI_VARIADIC}},
    .outputs = {{"concat_result", "T", HKI_ANY, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, true}},
    .versions = {{1, concat_from_1}, {4, NULL}, {11, NULL}, {13, NULL}},
    .infer = concat_infer,
    .run = concat_run,
    .grad = concat_grad,
    .cases = concat_cases,
};

/* ---- Split ---- */

/* The length of output i where neither `split` nor symbols leave it open. */
static hk_status split_length(int64_t *out, int i, int outputs, int64_t dim, const hk_tensor *split,
                              const hk_node *node)
{
    const hk_attribute *given = hki_attribute_find(node, "num_outputs");
    if (split) {
        *out = hki_tensor_get_int(split, i);
        if (*out < 0)
            return HK_ERR(HK_INVALID_SHAPE, "length %d of split is %" PRId64 ", expected 0 or more", i, *out);
        return NULL;
    }
    if (given && given->as.i != outputs)
        return HK_ERR(HK_INVALID_ARGUMENT, "num_outputs is %" PRId64 ", but the node has %d outputs", given->as.i,
                      outputs);
    if (dim < 0) {
        *out = outputs == 1 ? dim : HKI_DIM_UNKNOWN;
        return NULL;
    }
    if (!given && dim % outputs)
        return HK_ERR(HK_INVALID_SHAPE, "a dim of %" PRId64 " cannot be split into %d equal parts", dim, outputs);
    int64_t part = (dim + outputs - 1) / outputs, left = dim - part * i;
    *out = left < 0 ? 0 : left < part ? left : part;
    return NULL;
}

static hk_status split_check(const hk_tensor *split, int outputs, int64_t dim)
{
    int64_t sum = 0;
    if (split->rank != 1 || split->dims[0] != outputs) {
        char text[HKI_SHAPE_TEXT];
        return HK_ERR(HK_INVALID_SHAPE, "split must hold a length for each of the %d outputs, found %s", outputs,
                      hki_shape_text(text, split->dtype, split->rank, split->dims));
    }
    for (int i = 0; i < outputs; i++)
        sum = hki_dim_add(sum, hki_tensor_get_int(split, i));
    if (dim >= 0 && sum != dim)
        return HK_ERR(HK_INVALID_SHAPE, "the lengths of split add up to %" PRId64 ", expected the dim %" PRId64, sum,
                      dim);
    return NULL;
}

static hk_status split_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *split = hki_infer_data(c, 1);
    int axis;
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    if (hki_infer_has(c, 1) && hki_attribute_find(c->node, "num_outputs"))
        return HK_ERR(HK_INVALID_ARGUMENT, "either split or num_outputs is expected, found both");
    if (split)
        HK_TRY(split_check(split, c->output_count, x->dims[axis]));
    for (int i = 0; i < c->output_count; i++) {
        hki_type_copy(&c->out[i], x);
        c->out[i].dims[axis] = HKI_DIM_UNKNOWN;
        if (split || !hki_infer_has(c, 1))
            HK_TRY(split_length(&c->out[i].dims[axis], i, c->output_count, x->dims[axis], split, c->node));
    }
    return NULL;
}

static hk_status split_run(hki_run *r)
{
    const hk_tensor *x = r->in[0], *split = r->input_count > 1 ? r->in[1] : NULL;
    int axis;
    size_t size = hk_dtype_size(x->dtype);
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
    if (split)
        HK_TRY(split_check(split, r->output_count, x->dims[axis]));
    int64_t outer = hki_shape_count(x->dims, 0, axis), inner = hki_shape_count(x->dims, axis + 1, x->rank), at = 0;
    for (int i = 0; i < r->output_count; i++) {
        int64_t length;
        HK_TRY(split_length(&length, i, r->output_count, x->dims[axis], split, r->node));
        if (r->out[i]) {
            if (r->out[i]->dims[axis] != length)
                return HK_ERR(HK_INVALID_SHAPE, "output %d has length %" PRId64 ", but was planned with %" PRId64, i,
                              length, r->out[i]->dims[axis]);
            copy_part(r->out[i]->data, length * inner, (const char *)x->data + (size_t)at * size, x->dims[axis] * inner,
                      outer, length * inner, size, r->pool);
        }
        at += length * inner;
    }
    return NULL;
}

static hk_status split_grad(hki_grad *g)
{
    int count = g->node->output_count;
    if (!g->need[0])
        return NULL;
    hk_value **parts = hki_arena_array(g->graph->arena, (size_t)count, sizeof(*parts));
    if (!parts)
        return hki_out_of_memory();
    for (int i = 0; i < count; i++) {
        parts[i] = g->dy[i];
        if (!parts[i] && !g->y[i])
            return HK_ERR(HK_UNSUPPORTED, "the gradient of Split needs all its outputs, output %d is absent", i);
        if (!parts[i])
            parts[i] = hki_zeros_like(g->graph, g->y[i]);
    }
    g->dx[0] = hk_graph_apply(g->graph, "Concat", count, parts,
                              HK_ATTRIBUTES(HK_INT("axis", hki_attribute_int(g->node, "axis"))));
    return NULL;
}

static hk_status split_to_input(hki_draft *draft)
{
    return hki_draft_ints_to_input(draft, "split", 1);
}

static const hki_case split_cases[] = {
    {"f[2,6] i64[3]=(1,2,3)", "axis=1"},
    {"f[4,2] i64[2]=(0,4)", "axis=0"},
    {"f[2,3,4] i64[2]=(2,2)", "axis=-1"},
    {"f[0,3] i64[2]=(1,2)", "axis=1"},
    {NULL, NULL},
};

const hki_op hki_op_split = {
    .name = "Split",
    .doc = "cuts x along axis into parts of the lengths given, or num_outputs equal parts (the last may be smaller)",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"split", "split", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .outputs = {{"outputs", "T", HKI_ANY, HKI_VARIADIC}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"num_outputs", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, NULL}, {2, NULL}, {11, split_to_input}, {13, NULL}, {18, NULL}},
    .infer = split_infer,
    .run = split_run,
    .grad = split_grad,
    .cases = split_cases,
};
