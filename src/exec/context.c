/* Contexts, and running a single node: what eager graphs and data-dependent plans are made of. */
#include "exec/context.h"

#include <string.h>

hk_session_options hk_session_defaults(void)
{
    return (hk_session_options){.pin = true, .optimize = true, .plans = 8};
}

static hk_status choose_isa(hki_isa *out, const char *name)
{
    if (!name)
        return hki_isa_choose(out);
    if (!hki_isa_find(out, name))
        return HK_ERR(HK_INVALID_ARGUMENT, "unknown instruction set '%s': expected c, avx2 or avx512", name);
    if (*out > hki_isa_best())
        return HK_ERR(HK_UNSUPPORTED, "instruction set '%s' is not available here; the best is '%s'", name,
                      hki_isa_name(hki_isa_best()));
    return NULL;
}

hk_status hki_context_create(hki_context **out, const hk_session_options *options)
{
    *out = NULL;
    hk_session_options defaults = hk_session_defaults();
    options = options ? options : &defaults;
    hki_isa isa;
    HK_TRY(choose_isa(&isa, options->isa));
    hki_context *context = hki_alloc_array(1, sizeof *context);
    if (!context)
        return hki_out_of_memory();
    hk_status status = hki_pool_create(&context->pool, options->threads, options->pin);
    if (status) {
        hki_free(context);
        return status;
    }
    context->k = hkk_kernels_get(isa);
    context->seed = options->seed;
    *out = context;
    return NULL;
}

void hki_context_free(hki_context *context)
{
    if (!context)
        return;
    hki_pool_free(context->pool);
    hki_free(context->scratch);
    hki_free(context);
}

hk_status hki_context_reserve(hki_context *context, size_t size)
{
    if (size <= context->scratch_size)
        return NULL;
    void *scratch = hki_alloc(size);
    if (!scratch)
        return hki_out_of_memory();
    hki_free(context->scratch);
    context->scratch = scratch;
    context->scratch_size = size;
    return NULL;
}

hki_run hki_context_run(const hki_context *context, const hk_node *node, const hk_tensor *const *in,
                        hk_tensor *const *out, const void *const *packed)
{
    return (hki_run){.node = node,
                     .input_count = node->input_count,
                     .output_count = node->output_count,
                     .in = in,
                     .out = out,
                     .packed = packed,
                     .pool = context->pool,
                     .threads = hki_pool_threads(context->pool),
                     .k = context->k,
                     .seed = context->seed,
                     .step = context->step,
                     .sample = context->sample};
}

static hk_status allocate_outputs(hk_tensor **out, const hk_node *node, const hki_type *types)
{
    for (int i = 0; i < node->output_count; i++) {
        if (!node->outputs[i])
            continue;
        if (!hki_type_known(&types[i]))
            return HK_ERR(HK_INTERNAL, "the shape of output %d is not known although all inputs are", i);
        HK_TRY(hk_tensor_create(&out[i], types[i].dtype, types[i].rank, types[i].dims));
    }
    return NULL;
}

static hk_status infer_from_tensors(hki_type *types, const hk_node *node, const hk_tensor *const *in)
{
    size_t count = (size_t)node->input_count + 1;
    hki_type *in_types = hki_alloc_array(count, sizeof *in_types);
    const hki_type **pointers = hki_alloc_array(count, sizeof *pointers);
    hk_status status = in_types && pointers ? NULL : hki_out_of_memory();
    for (int i = 0; i < node->input_count && !status; i++)
        if (in[i]) {
            hki_type_set(&in_types[i], in[i]->dtype, in[i]->rank, in[i]->dims);
            pointers[i] = &in_types[i];
        }
    if (!status)
        status = hki_node_infer(types, node, pointers, in);
    hki_free(in_types);
    hki_free(pointers);
    return status;
}

static hk_status compute(hki_context *context, const hk_node *node, const hk_tensor *const *in, hk_tensor *const *out)
{
    hki_run run = hki_context_run(context, node, in, out, NULL);
    if (node->op->scratch) {
        HK_TRY(hki_context_reserve(context, node->op->scratch(&run)));
        run.scratch = context->scratch;
    }
    return node->op->run(&run);
}

/* ---- Layouts. A node that prefers channels-last gets it here too, so that a sum has the same order in a plan and node
 * by node. ---- */

static bool goes_channels_last(unsigned ports, int i, const hk_tensor *t)
{
    return t && t->rank >= 3 && (ports >> i & 1);
}

/* Makes a copy in the other layout. */
static hk_status reorder(hk_tensor **out, const hk_tensor *from, hki_layout layout)
{
    HK_TRY(hk_tensor_create(out, from->dtype, from->rank, from->dims));
    (*out)->layout = layout;
    hki_tensor_copy_elements(*out, from);
    return NULL;
}

/* Computes on channels-last copies of the inputs, then makes the outputs plain again. */
static hk_status compute_channels_last(hki_context *context, const hk_node *node, const hk_tensor *const *in,
                                       hk_tensor **out)
{
    const hki_op *op = node->op;
    const hk_tensor **wanted = hki_alloc_array((size_t)node->input_count + 1, sizeof *wanted);
    hk_tensor **copies = hki_alloc_array((size_t)node->input_count + 1, sizeof *copies);
    hk_status status = wanted && copies ? NULL : hki_out_of_memory();
    for (int i = 0; i < node->input_count && !status; i++) {
        wanted[i] = in[i];
        if (goes_channels_last(op->channels_last_in, i, in[i])) {
            status = reorder(&copies[i], in[i], HKI_CHANNELS_LAST);
            wanted[i] = copies[i];
        }
    }
    for (int o = 0; o < node->output_count && !status; o++)
        if (goes_channels_last(op->channels_last_out, o, out[o]))
            out[o]->layout = HKI_CHANNELS_LAST;
    if (!status)
        status = compute(context, node, wanted, out);
    for (int o = 0; o < node->output_count && !status; o++)
        if (out[o] && out[o]->layout == HKI_CHANNELS_LAST) {
            hk_tensor *plain;
            status = reorder(&plain, out[o], HKI_PLAIN);
            if (status)
                break;
            hk_tensor_free(out[o]);
            out[o] = plain;
        }
    for (int i = 0; i < node->input_count && copies; i++)
        hk_tensor_free(copies[i]);
    hki_free(copies);
    hki_free(wanted);
    return status;
}

hk_status hki_node_run(hk_tensor **out, hki_context *context, const hk_node *node, const hk_tensor *const *in)
{
    memset(out, 0, (size_t)node->output_count * sizeof *out);
    hki_type *types = hki_alloc_array((size_t)node->output_count + 1, sizeof *types);
    if (!types)
        return hki_out_of_memory();
    hk_status status = infer_from_tensors(types, node, in);
    if (!status)
        status = allocate_outputs(out, node, types);
    if (!status)
        status = node->op->layout == HKI_LAYOUT_CHANNELS_LAST ? compute_channels_last(context, node, in, out)
                                                              : compute(context, node, in, out);
    hki_free(types);
    if (!status)
        return NULL;
    for (int i = 0; i < node->output_count; i++) {
        hk_tensor_free(out[i]);
        out[i] = NULL;
    }
    return hki_error_context(status, HKI_NODE_FORMAT, HKI_NODE_ARGUMENTS(node));
}
