/* Running a plan. */
#include <inttypes.h>
#include <string.h>

#include "exec/plan.h"

static void *address_of(const hki_plan *plan, hki_storage *storage)
{
    storage = hki_storage_root(storage);
    return storage->kind == HKI_IN_ARENA ? plan->arena + storage->offset : storage->base;
}

static void bind(hki_plan *plan, const hk_tensor *const *inputs, void *const *outputs)
{
    for (int i = 0; i < plan->storage_count; i++) {
        hki_storage *storage = plan->storages[i];
        if (storage->kind == HKI_IN_INPUT)
            storage->base = inputs[storage->slot]->data;
        else if (storage->kind == HKI_IN_OUTPUT)
            storage->base = outputs[storage->slot];
    }
    for (int i = 0; i < plan->place_count; i++)
        plan->places[i]->tensor.data = address_of(plan, plan->places[i]->storage);
}

/* ---- Reorders, cut along the batch. ---- */

static void copy_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const hki_step *step = context;
    hk_tensor from = *step->in_tensors[0], to = *step->out_tensors[0];
    size_t stride = from.rank ? hk_tensor_size(&from) / (size_t)from.dims[0] : 0;
    if (from.rank) {
        from.data = (char *)from.data + (size_t)block * stride;
        to.data = (char *)to.data + (size_t)block * stride;
        from.dims[0] = to.dims[0] = 1;
    }
    hki_tensor_copy_elements(&to, &from);
}

static void run_copy(hki_plan *plan, hki_step *step)
{
    const hk_tensor *from = step->in_tensors[0];
    if (from->layout == step->out_tensors[0]->layout)
        memcpy(step->out_tensors[0]->data, from->data, hk_tensor_size(from));
    else if (hk_tensor_count(from))
        hki_pool_run(plan->context->pool, from->dims[0], copy_block, step);
}

static hk_status run_step(hki_plan *plan, hki_step *step)
{
    if (!step->node) {
        run_copy(plan, step);
        return NULL;
    }
    hki_run run = hki_context_run(plan->context, step->node, step->in_tensors, step->out_tensors, step->packed);
    if (step->scratch)
        run.scratch = address_of(plan, step->scratch);
    HK_TRY_CTX(step->node->op->run(&run), HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(step->node));
    return NULL;
}

hk_status hki_plan_run(hki_plan *plan, const hk_tensor *const *inputs, void *const *outputs)
{
    HK_ASSERT(!plan->facts.is_dynamic);
    bind(plan, inputs, outputs);
    for (int s = 0; s < plan->step_count; s++) {
        hki_step *step = plan->steps[s];
        double start = plan->profile ? hki_clock() : 0;
        HK_TRY(run_step(plan, step));
        if (plan->profile) {
            step->last_start = start;
            step->seconds += hki_clock() - start;
            step->calls++;
        }
    }
    return NULL;
}

/* ---- Data-dependent plans. ---- */

/* How many readers each value still has; a tensor is freed after its last one. */
static void count_readers(int *readers, const hk_graph *graph)
{
    for (const hk_node *node = graph->first; node; node = node->next)
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i])
                readers[node->inputs[i]->index]++;
    for (int i = 0; i < graph->output_count; i++)
        readers[graph->outputs[i]->index]++;
}

static hk_status run_node(hki_plan *plan, const hk_node *node, const hk_tensor **values, hk_tensor **owned,
                          int *readers)
{
    const hk_tensor **in = hki_alloc_array((size_t)node->input_count + 1, sizeof *in);
    hk_tensor **out = hki_alloc_array((size_t)node->output_count + 1, sizeof *out);
    hk_status status = in && out ? NULL : hki_out_of_memory();
    for (int i = 0; i < node->input_count && !status; i++)
        in[i] = node->inputs[i] ? values[node->inputs[i]->index] : NULL;
    if (!status)
        status = hki_node_run(out, plan->context, node, in);
    for (int i = 0; i < node->output_count && !status; i++)
        if (node->outputs[i])
            values[node->outputs[i]->index] = owned[node->outputs[i]->index] = out[i];
    for (int i = 0; i < node->input_count && !status; i++) {
        int index = node->inputs[i] ? node->inputs[i]->index : -1;
        if (index >= 0 && --readers[index] == 0 && owned[index]) {
            hk_tensor_free(owned[index]);
            owned[index] = NULL;
        }
    }
    hki_free(in);
    hki_free(out);
    return status;
}

static hk_status run_all(hki_plan *plan, const hk_tensor *const *inputs, hk_tensor **outputs, const hk_tensor **values,
                         hk_tensor **owned, int *readers)
{
    const hk_graph *graph = plan->graph;
    for (int i = 0; i < graph->value_count; i++)
        values[i] = graph->values[i]->tensor;
    for (int i = 0; i < graph->input_count; i++)
        if (inputs[i])
            values[graph->inputs[i]->index] = inputs[i];
    count_readers(readers, graph);
    for (const hk_node *node = graph->first; node; node = node->next)
        HK_TRY(run_node(plan, node, values, owned, readers));
    for (int i = 0; i < graph->output_count; i++)
        HK_TRY(hk_tensor_copy(&outputs[i], values[graph->outputs[i]->index]));
    return NULL;
}

hk_status hki_plan_run_dynamic(hki_plan *plan, const hk_tensor *const *inputs, hk_tensor **outputs)
{
    size_t count = (size_t)plan->graph->value_count + 1;
    const hk_tensor **values = hki_alloc_array(count, sizeof *values);
    hk_tensor **owned = hki_alloc_array(count, sizeof *owned);
    int *readers = hki_alloc_array(count, sizeof *readers);
    hk_status status = values && owned && readers ? run_all(plan, inputs, outputs, values, owned, readers)
                                                  : hki_out_of_memory();
    for (size_t i = 0; i + 1 < count && owned; i++)
        hk_tensor_free(owned[i]);
    hki_free(values);
    hki_free(owned);
    hki_free(readers);
    return status;
}
