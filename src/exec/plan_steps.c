/* Planning, second pass: walks the nodes in order, decides the layout of every tensor, and writes down steps over
 * places.
 *
 * The walk is greedy: a convolution makes its output channels-last, elementwise operators pass that on, and a
 * plain-only operator gets a reorder in front. Each value is reordered at most once, and a tensor whose two layouts are
 * the same bytes is never moved. */
#include <limits.h>
#include <string.h>

#include "exec/plan.h"

static hk_status new_storage(hki_storage **out, hki_plan *plan, hki_storage_kind kind, size_t size)
{
    HK_TRY(hki_array_grow(&plan->storages, &plan->storages_capacity, (size_t)plan->storage_count + 1,
                          sizeof *plan->storages));
    hki_storage *storage = hki_arena_alloc(plan->memory, sizeof *storage);
    if (!storage)
        return hki_out_of_memory();
    storage->kind = kind;
    storage->size = size;
    storage->first = INT_MAX;
    storage->last = -1;
    plan->storages[plan->storage_count++] = storage;
    *out = storage;
    return NULL;
}

/* A place for a value in a layout, over `storage` (NULL: a new one in the arena). */
static hk_status new_place(hki_place **out, hki_plan *plan, const hk_value *value, hki_layout layout,
                           hki_storage *storage)
{
    HK_TRY(hki_array_grow(&plan->places, &plan->places_capacity, (size_t)plan->place_count + 1, sizeof *plan->places));
    hki_place *place = hki_arena_alloc(plan->memory, sizeof *place);
    if (!place)
        return hki_out_of_memory();
    const hki_type *type = &plan->types[value->index];
    place->tensor = (hk_tensor){.dtype = type->dtype, .layout = layout, .rank = type->rank};
    memcpy(place->tensor.dims, type->dims, sizeof place->tensor.dims);
    if (!storage)
        HK_TRY(new_storage(&storage, plan, HKI_IN_ARENA, hk_tensor_size(&place->tensor)));
    place->storage = storage;
    plan->places[plan->place_count++] = place;
    (layout == HKI_PLAIN ? plan->plain : plan->channels_last)[value->index] = place;
    *out = place;
    return NULL;
}

static hk_status new_step(hki_step **out, hki_plan *plan, const hk_node *node, int inputs, int outputs)
{
    HK_TRY(hki_array_grow(&plan->steps, &plan->steps_capacity, (size_t)plan->step_count + 1, sizeof *plan->steps));
    hki_arena *memory = plan->memory;
    hki_step *step = hki_arena_alloc(memory, sizeof *step);
    if (!step)
        return hki_out_of_memory();
    step->node = node;
    step->input_count = inputs;
    step->output_count = outputs;
    step->in = hki_arena_array(memory, (size_t)inputs + 1, sizeof *step->in);
    step->out = hki_arena_array(memory, (size_t)outputs + 1, sizeof *step->out);
    step->in_tensors = hki_arena_array(memory, (size_t)inputs + 1, sizeof *step->in_tensors);
    step->out_tensors = hki_arena_array(memory, (size_t)outputs + 1, sizeof *step->out_tensors);
    if (!step->in || !step->out || !step->in_tensors || !step->out_tensors)
        return hki_out_of_memory();
    plan->steps[plan->step_count++] = step;
    *out = step;
    return NULL;
}

static hk_status copy_step(hki_plan *plan, hki_place *from, hki_place *to)
{
    hki_step *step;
    HK_TRY(new_step(&step, plan, NULL, 1, 1));
    step->in[0] = from;
    step->out[0] = to;
    return NULL;
}

/* Plain and channels-last are the same bytes with one channel or one pixel. */
static bool layouts_coincide(const hki_type *type)
{
    return type->rank < 3 || type->dims[1] == 1 || hki_shape_count(type->dims, 2, type->rank) == 1;
}

/* A constant in channels-last layout is reordered now, once. */
static hk_status place_constant(hki_place **out, hki_plan *plan, const hk_value *value, hki_layout layout)
{
    hk_tensor *tensor = plan->known[value->index];
    if (layout == HKI_CHANNELS_LAST && !layouts_coincide(&plan->types[value->index])) {
        hk_tensor *copy;
        HK_TRY(hk_tensor_create(&copy, tensor->dtype, tensor->rank, tensor->dims));
        copy->layout = HKI_CHANNELS_LAST;
        hki_tensor_copy_elements(copy, tensor);
        hk_status status = hki_array_grow(&plan->folded, &plan->folded_capacity, (size_t)plan->folded_count + 1,
                                          sizeof *plan->folded);
        if (status) {
            hk_tensor_free(copy);
            return status;
        }
        plan->folded[plan->folded_count++] = tensor = copy;
    }
    hki_storage *storage;
    HK_TRY(new_storage(&storage, plan, HKI_IN_CONSTANT, hk_tensor_size(tensor)));
    storage->base = tensor->data;
    return new_place(out, plan, value, layout, storage);
}

/* The place of a value in the wanted layout; adds a reorder if it is only there in the other one. */
static hk_status place_of(hki_place **out, hki_plan *plan, const hk_value *value, hki_layout layout)
{
    hki_place *same = (layout == HKI_PLAIN ? plan->plain : plan->channels_last)[value->index];
    hki_place *other = (layout == HKI_PLAIN ? plan->channels_last : plan->plain)[value->index];
    *out = same;
    if (same)
        return NULL;
    if (plan->known[value->index])
        return place_constant(out, plan, value, layout);
    HK_ASSERT(other);
    if (layouts_coincide(&plan->types[value->index]))
        return new_place(out, plan, value, layout, other->storage);
    HK_TRY(new_place(out, plan, value, layout, NULL));
    return copy_step(plan, other, *out);
}

/* ---- The layout of a node. ---- */

static bool is_channels_last_only(const hki_plan *plan, const hk_value *value)
{
    return plan->channels_last[value->index] && !plan->plain[value->index];
}

static bool same_shape(const hki_plan *plan, const hk_value *a, const hk_value *b)
{
    const hki_type *x = &plan->types[a->index], *y = &plan->types[b->index];
    return hki_shape_equal(x->rank, x->dims, y->rank, y->dims);
}

/* The layout an elementwise node works in: channels-last if an input of the full shape is there in that layout alone.
 */
static hki_layout elementwise_layout(const hki_plan *plan, const hk_node *node)
{
    const hk_value *y = node->outputs[0];
    if (plan->types[y->index].rank < 3)
        return HKI_PLAIN;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && same_shape(plan, node->inputs[i], y) && is_channels_last_only(plan, node->inputs[i]))
            return HKI_CHANNELS_LAST;
    return HKI_PLAIN;
}

static hki_layout input_layout(const hki_plan *plan, const hk_node *node, int i, hki_layout elementwise)
{
    const hk_value *x = node->inputs[i];
    bool wide = plan->types[x->index].rank >= 3;
    switch (node->op->layout) {
    case HKI_LAYOUT_CHANNELS_LAST:
        return wide && (node->op->channels_last_in >> i & 1) ? HKI_CHANNELS_LAST : HKI_PLAIN;
    case HKI_LAYOUT_SAME:
        if (!wide)
            return HKI_PLAIN;
        if (same_shape(plan, x, node->outputs[0]))
            return elementwise;
        return is_channels_last_only(plan, x) ? HKI_CHANNELS_LAST : HKI_PLAIN; /* read by strides: as it is */
    default:
        return HKI_PLAIN;
    }
}

static hki_layout output_layout(const hki_plan *plan, const hk_node *node, int o, hki_layout elementwise)
{
    bool wide = plan->types[node->outputs[o]->index].rank >= 3;
    if (node->op->layout == HKI_LAYOUT_CHANNELS_LAST)
        return wide && (node->op->channels_last_out >> o & 1) ? HKI_CHANNELS_LAST : HKI_PLAIN;
    return node->op->layout == HKI_LAYOUT_SAME && wide ? elementwise : HKI_PLAIN;
}

/* ---- Steps. ---- */

static hk_status pack_constants(hki_plan *plan, hki_step *step)
{
    const hki_op *op = step->node->op;
    if (!op->packed_size)
        return NULL;
    for (int i = 0; i < step->input_count; i++) {
        if (!step->in[i] || step->in[i]->storage->kind != HKI_IN_CONSTANT)
            continue;
        step->in[i]->tensor.data = step->in[i]->storage->base;
        hki_run run = hki_context_run(plan->context, step->node, step->in_tensors, step->out_tensors, NULL);
        size_t size = op->packed_size(&run, i);
        if (!size)
            continue;
        if (!step->packed)
            step->packed = hki_arena_array(plan->memory, (size_t)step->input_count + 1, sizeof *step->packed);
        HK_TRY(hki_array_grow(&plan->packed_blocks, &plan->packed_capacity, (size_t)plan->packed_count + 1,
                              sizeof *plan->packed_blocks));
        void *block = hki_alloc(size);
        if (!block || !step->packed) {
            hki_free(block);
            return hki_out_of_memory();
        }
        plan->packed_blocks[plan->packed_count++] = block;
        plan->facts.packed += size;
        op->pack(&run, i, block);
        step->packed[i] = block;
    }
    return NULL;
}

static hk_status finish_step(hki_plan *plan, hki_step *step)
{
    const hki_op *op = step->node->op;
    for (int i = 0; i < step->input_count; i++)
        step->in_tensors[i] = step->in[i] ? &step->in[i]->tensor : NULL;
    for (int i = 0; i < step->output_count; i++)
        step->out_tensors[i] = step->out[i] ? &step->out[i]->tensor : NULL;
    HK_TRY(pack_constants(plan, step));
    hki_run run = hki_context_run(plan->context, step->node, step->in_tensors, step->out_tensors, step->packed);
    if (op->flops)
        step->flops = op->flops(&run);
    plan->facts.flops += step->flops;
    size_t scratch = op->scratch ? op->scratch(&run) : 0;
    return scratch ? new_storage(&step->scratch, plan, HKI_IN_ARENA, scratch) : NULL;
}

/* True if the node does nothing for these shapes. */
static bool is_nothing(const hki_plan *plan, const hk_node *node)
{
    const hki_type *x = &plan->types[node->inputs[0]->index], *y = &plan->types[node->outputs[0]->index];
    return (node->op->flags & HKI_OP_SAME_IF_EQUAL) && node->output_count == 1 && x->dtype == y->dtype &&
           hki_shape_equal(x->rank, x->dims, y->rank, y->dims);
}

/* The output of a node that does nothing: the input's memory, in the layout it is in. */
static hk_status pass_through(hki_plan *plan, const hk_node *node)
{
    const hk_value *x = node->inputs[0], *y = node->outputs[0];
    hki_place *from, *to;
    HK_TRY(place_of(&from, plan, x, is_channels_last_only(plan, x) ? HKI_CHANNELS_LAST : HKI_PLAIN));
    return new_place(&to, plan, y, from->tensor.layout, from->storage);
}

/* Reshape and the like: the output is the input's memory under other dims; no step at all. */
static hk_status alias_node(bool *out_done, hki_plan *plan, const hk_node *node, hki_layout layout)
{
    *out_done = false;
    if (!(node->op->flags & HKI_OP_ALIAS) || !node->outputs[0] || plan->known[node->inputs[0]->index])
        return NULL;
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i])
            return NULL;
    hki_place *from, *to;
    HK_TRY(place_of(&from, plan, node->inputs[0], layout));
    *out_done = true;
    return new_place(&to, plan, node->outputs[0], output_layout(plan, node, 0, layout), from->storage);
}

static hk_status add_node(hki_plan *plan, const hk_node *node)
{
    bool done = true;
    for (int i = 0; i < node->output_count; i++)
        done &= !node->outputs[i] || plan->known[node->outputs[i]->index];
    if (done)
        return NULL;
    if (is_nothing(plan, node))
        return pass_through(plan, node);
    hki_layout elementwise = node->op->layout == HKI_LAYOUT_SAME ? elementwise_layout(plan, node) : HKI_PLAIN;
    HK_TRY(alias_node(&done, plan, node, elementwise));
    if (done)
        return NULL;
    hki_place **in = hki_arena_array(plan->memory, (size_t)node->input_count + 1, sizeof *in);
    if (!in)
        return hki_out_of_memory();
    for (int i = 0; i < node->input_count; i++) /* reorders come before the node's own step */
        if (node->inputs[i])
            HK_TRY(place_of(&in[i], plan, node->inputs[i], input_layout(plan, node, i, elementwise)));
    hki_step *step;
    HK_TRY(new_step(&step, plan, node, node->input_count, node->output_count));
    memcpy(step->in, in, (size_t)node->input_count * sizeof *in);
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i])
            HK_TRY(new_place(&step->out[i], plan, node->outputs[i], output_layout(plan, node, i, elementwise), NULL));
    return finish_step(plan, step);
}

/* Gives each graph output its own memory: the producing storage itself where possible, else a copy at the end. */
static hk_status add_outputs(hki_plan *plan)
{
    const hk_graph *graph = plan->graph;
    for (int i = 0; i < graph->output_count; i++) {
        const hk_value *value = graph->outputs[i];
        hki_place *place;
        HK_TRY(place_of(&place, plan, value, HKI_PLAIN));
        hki_storage *storage = place->storage;
        bool whole = storage->size == hk_tensor_size(&place->tensor);
        if (storage->kind == HKI_IN_ARENA && whole) {
            storage->kind = HKI_IN_OUTPUT;
            storage->slot = i;
        } else {
            hki_place *own;
            HK_TRY(new_storage(&storage, plan, HKI_IN_OUTPUT, hk_tensor_size(&place->tensor)));
            storage->slot = i;
            HK_TRY(new_place(&own, plan, value, HKI_PLAIN, storage));
            HK_TRY(copy_step(plan, place, own));
            plan->plain[value->index] = place;
            place = own;
        }
        plan->outputs[i] = place;
    }
    return NULL;
}

hk_status hki_plan_steps(hki_plan *plan)
{
    const hk_graph *graph = plan->graph;
    for (int i = 0; i < graph->input_count; i++) {
        const hk_value *value = graph->inputs[i];
        if (plan->known[value->index])
            continue; /* the default is used */
        hki_place *place;
        hki_storage *storage;
        int64_t count;
        size_t size;
        const hki_type *type = &plan->types[value->index];
        HK_TRY(hki_shape_check(&count, &size, type->dtype, type->rank, type->dims));
        HK_TRY(new_storage(&storage, plan, HKI_IN_INPUT, size));
        storage->slot = i;
        HK_TRY(new_place(&place, plan, value, HKI_PLAIN, storage));
    }
    for (const hk_node *node = graph->first; node; node = node->next)
        HK_TRY_CTX(add_node(plan, node), HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
    HK_TRY(add_outputs(plan));
    for (int s = 0; s < plan->step_count; s++) { /* copies have no finish_step */
        hki_step *step = plan->steps[s];
        if (step->node)
            continue;
        step->in_tensors[0] = &step->in[0]->tensor;
        step->out_tensors[0] = &step->out[0]->tensor;
    }
    return NULL;
}
