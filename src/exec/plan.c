/* Planning, first pass: concrete types for every value, and the values that are known before the run (constants and
 * what follows from them or from shapes). */
#include "exec/plan.h"

#include <string.h>

static hk_status remember_folded(hki_plan *plan, hk_tensor *tensor)
{
    hk_status status = hki_array_grow(&plan->folded, &plan->folded_capacity, (size_t)plan->folded_count + 1,
                                      sizeof *plan->folded);
    if (status) {
        hk_tensor_free(tensor);
        return status;
    }
    plan->folded[plan->folded_count++] = tensor;
    return NULL;
}

/* Folding pays if the result is small, or no larger than what it is made from. */
static bool worth_folding(const hki_plan *plan, const hk_node *node)
{
    if ((node->op->flags & HKI_OP_RANDOM) || !node->op->run)
        return false;
    size_t in = 4096, out = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (!node->inputs[i])
            continue;
        const hk_tensor *known = plan->known[node->inputs[i]->index];
        const hki_port *port = &node->op->inputs[0];
        for (int p = 0; p < i && p < HKI_MAX_PORTS - 1 && port[1].name; p++)
            port++;
        if (!known && (node->op->inputs[0].name && !(port->flags & HKI_SHAPE_ONLY)))
            return false;
        if (known)
            in += hk_tensor_size(known);
        else if (!hki_type_known(&plan->types[node->inputs[i]->index]))
            return false;
    }
    for (int i = 0; i < node->output_count; i++) {
        const hki_type *type = &plan->types[node->outputs[i]->index];
        int64_t count;
        size_t size;
        hk_status status = hki_shape_check(&count, &size, type->dtype, type->rank, type->dims);
        if (status) {
            hk_status_free(status);
            return false;
        }
        out += size;
    }
    return out <= in;
}

/* Stand-in for an input of which only the shape is read. */
static hk_tensor shape_stand_in(const hki_type *type)
{
    hk_tensor tensor = {.dtype = type->dtype, .rank = type->rank};
    memcpy(tensor.dims, type->dims, sizeof tensor.dims);
    return tensor;
}

static hk_status fold(hki_plan *plan, const hk_node *node)
{
    size_t count = (size_t)node->input_count + 1;
    const hk_tensor **in = hki_arena_array(plan->memory, count, sizeof *in);
    hk_tensor *stand_ins = hki_arena_array(plan->memory, count, sizeof *stand_ins);
    hk_tensor **out = hki_arena_array(plan->memory, (size_t)node->output_count + 1, sizeof *out);
    if (!in || !stand_ins || !out)
        return hki_out_of_memory();
    for (int i = 0; i < node->input_count; i++) {
        if (!node->inputs[i])
            continue;
        in[i] = plan->known[node->inputs[i]->index];
        if (!in[i]) {
            stand_ins[i] = shape_stand_in(&plan->types[node->inputs[i]->index]);
            in[i] = &stand_ins[i];
        }
    }
    HK_TRY(hki_node_run(out, plan->context, node, in));
    hk_status status = NULL;
    for (int i = 0; i < node->output_count; i++) {
        if (status) {
            hk_tensor_free(out[i]);
            continue;
        }
        status = remember_folded(plan, out[i]);
        if (!status)
            plan->known[node->outputs[i]->index] = out[i];
    }
    return status;
}

static hk_status infer_node(hki_plan *plan, const hk_node *node)
{
    const hki_type **in = hki_arena_array(plan->memory, (size_t)node->input_count + 1, sizeof *in);
    const hk_tensor **data = hki_arena_array(plan->memory, (size_t)node->input_count + 1, sizeof *data);
    hki_type *out = hki_arena_array(plan->memory, (size_t)node->output_count + 1, sizeof *out);
    if (!in || !data || !out)
        return hki_out_of_memory();
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]) {
            in[i] = &plan->types[node->inputs[i]->index];
            data[i] = plan->known[node->inputs[i]->index];
        }
    HK_TRY_CTX(hki_node_infer(out, node, in, data), HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
    bool known = true;
    for (int i = 0; i < node->output_count; i++) {
        if (!node->outputs[i])
            continue;
        plan->types[node->outputs[i]->index] = out[i];
        known &= hki_type_known(&out[i]);
    }
    if (!known) {
        plan->facts.is_dynamic = true;
        return NULL;
    }
    return worth_folding(plan, node) ? fold(plan, node) : NULL;
}

static hk_status infer_all(hki_plan *plan, const hki_type *inputs)
{
    const hk_graph *graph = plan->graph;
    for (int i = 0; i < graph->value_count; i++) {
        const hk_value *value = graph->values[i];
        plan->types[i] = value->type;
        if (value->tensor && !value->producer)
            plan->known[i] = value->tensor;
    }
    for (int i = 0; i < graph->input_count; i++) {
        if (inputs[i].rank < 0)
            continue;
        plan->types[graph->inputs[i]->index] = inputs[i];
        plan->known[graph->inputs[i]->index] = NULL;
    }
    for (const hk_node *node = graph->first; node && !plan->facts.is_dynamic; node = node->next)
        HK_TRY(infer_node(plan, node));
    return NULL;
}

static hk_status allocate(hki_plan *plan)
{
    size_t count = (size_t)plan->graph->value_count + 1;
    plan->types = hki_arena_array(plan->memory, count, sizeof *plan->types);
    plan->known = hki_arena_array(plan->memory, count, sizeof *plan->known);
    plan->plain = hki_arena_array(plan->memory, count, sizeof *plan->plain);
    plan->channels_last = hki_arena_array(plan->memory, count, sizeof *plan->channels_last);
    plan->outputs = hki_arena_array(plan->memory, (size_t)plan->graph->output_count + 1, sizeof *plan->outputs);
    return plan->types && plan->known && plan->plain && plan->channels_last && plan->outputs ? NULL
                                                                                             : hki_out_of_memory();
}

static void count_constants(hki_plan *plan)
{
    for (int i = 0; i < plan->graph->value_count; i++)
        if (plan->known[i] && !plan->graph->values[i]->producer)
            plan->facts.constants += hk_tensor_size(plan->known[i]);
    for (int i = 0; i < plan->folded_count; i++)
        plan->facts.constants += hk_tensor_size(plan->folded[i]);
}

hk_status hki_plan_create(hki_plan **out, const hk_graph *graph, hki_context *context, const hki_type *inputs,
                          bool profile)
{
    *out = NULL;
    hki_plan *plan = hki_alloc_array(1, sizeof *plan);
    if (!plan)
        return hki_out_of_memory();
    plan->graph = graph;
    plan->context = context;
    plan->profile = profile;
    plan->epoch = hki_clock();
    hk_status status = hki_arena_create(&plan->memory);
    if (!status)
        status = allocate(plan);
    if (!status)
        status = infer_all(plan, inputs);
    if (!status && !plan->facts.is_dynamic)
        status = hki_plan_steps(plan);
    if (!status && !plan->facts.is_dynamic)
        status = hki_plan_memory(plan);
    if (status) {
        hki_plan_free(plan);
        return status;
    }
    count_constants(plan);
    *out = plan;
    return NULL;
}

void hki_plan_free(hki_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->folded_count; i++)
        hk_tensor_free(plan->folded[i]);
    for (int i = 0; i < plan->packed_count; i++)
        hki_free(plan->packed_blocks[i]);
    hki_free(plan->folded);
    hki_free(plan->packed_blocks);
    hki_free(plan->steps);
    hki_free(plan->storages);
    hki_free(plan->places);
    hki_free(plan->arena);
    hki_arena_free(plan->memory);
    hki_free(plan);
}

const hki_type *hki_plan_output_type(const hki_plan *plan, int i)
{
    return &plan->types[plan->graph->outputs[i]->index];
}
