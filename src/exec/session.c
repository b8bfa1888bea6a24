/* Sessions: a graph of its own, a context, and a cache of plans by input shapes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exec/profile.h"
#include "passes/passes.h"

struct hk_session {
    hk_graph *graph;
    hki_context *context;
    hki_plan_cache plans;
    hki_type *types; /* per graph input: of the call at hand */
    void **outputs;  /* per graph output: memory of the call at hand */
};

static hk_status open_session(hk_session *session, const hk_graph *graph, const hk_session_options *options)
{
    HK_TRY(hk_graph_copy(&session->graph, graph));
    for (hk_node *node = session->graph->first, *next; node; node = next) {
        next = node->next;
        if (!node->op->run)
            HK_TRY(hki_node_expand(node));
    }
    if (options->optimize)
        HK_TRY(hki_graph_optimize(session->graph));
    HK_TRY(hki_context_create(&session->context, options));
    HK_TRY(hki_plan_cache_create(&session->plans, session->graph, session->context, options->plans, options->profile));
    session->types = hki_alloc_array((size_t)session->graph->input_count + 1, sizeof *session->types);
    session->outputs = hki_alloc_array((size_t)session->graph->output_count + 1, sizeof *session->outputs);
    return session->types && session->outputs ? NULL : hki_out_of_memory();
}

hk_status hk_session_create(hk_session **out, const hk_graph *graph, const hk_session_options *options)
{
    *out = NULL;
    hk_session_options defaults = hk_session_defaults();
    hk_session *session = hki_alloc_array(1, sizeof *session);
    if (!session)
        return hki_out_of_memory();
    hk_status status = open_session(session, graph, options ? options : &defaults);
    if (status) {
        hk_session_free(session);
        return status;
    }
    *out = session;
    return NULL;
}

void hk_session_free(hk_session *session)
{
    if (!session)
        return;
    hki_plan_cache_clear(&session->plans);
    hki_free(session->types);
    hki_free(session->outputs);
    hki_context_free(session->context);
    hk_graph_free(session->graph);
    hki_free(session);
}

const hk_graph *hk_session_graph(const hk_session *session)
{
    return session->graph;
}

/* ---- Running. ---- */

/* The declared type with names for symbolic dims: "float32[N,784]". */
static const char *declared_text(char *out, const hk_graph *graph, const hki_type *type)
{
    size_t length = (size_t)snprintf(out, HKI_SHAPE_TEXT, "%s[", hk_dtype_name(type->dtype));
    for (int i = 0; i < type->rank && length < HKI_SHAPE_TEXT; i++) {
        const char *comma = i ? "," : "";
        length += (size_t)(type->dims[i] >= 0
                               ? snprintf(out + length, HKI_SHAPE_TEXT - length, "%s%" PRId64, comma, type->dims[i])
                               : snprintf(out + length, HKI_SHAPE_TEXT - length, "%s%s", comma,
                                          hk_graph_symbol_name(graph, type->dims[i])));
    }
    if (length < HKI_SHAPE_TEXT)
        snprintf(out + length, HKI_SHAPE_TEXT - length, "]");
    return out;
}

/* Checks a given type against the declared one and remembers it. */
static hk_status set_input_type(hk_session *session, int i, hk_dtype dtype, int rank, const int64_t *dims)
{
    const hk_value *input = session->graph->inputs[i];
    const hki_type *want = &input->type;
    bool fits = want->rank < 0 || want->rank == rank;
    for (int d = 0; d < rank && fits && want->rank >= 0; d++)
        fits = want->dims[d] < 0 || want->dims[d] == dims[d];
    char expected[HKI_SHAPE_TEXT], found[HKI_SHAPE_TEXT];
    if (want->dtype && dtype != want->dtype)
        return HK_ERR(HK_INVALID_TYPE, "input '%s': expected %s, found %s", input->name, hk_dtype_name(want->dtype),
                      hk_dtype_name(dtype));
    if (!fits)
        return HK_ERR(HK_INVALID_SHAPE, "input '%s': expected %s, found %s", input->name,
                      declared_text(expected, session->graph, want), hki_shape_text(found, dtype, rank, dims));
    hki_type_set(&session->types[i], dtype, rank, dims);
    return NULL;
}

static hk_status set_input_types(hk_session *session, const hk_tensor *const *inputs)
{
    for (int i = 0; i < session->graph->input_count; i++) {
        const hk_tensor *t = inputs[i];
        session->types[i] = (hki_type){.rank = -1};
        if (t)
            HK_TRY(set_input_type(session, i, t->dtype, t->rank, t->dims));
        else if (!session->graph->inputs[i]->tensor)
            return HK_ERR(HK_INVALID_ARGUMENT, "input '%s' was not given and has no default",
                          session->graph->inputs[i]->name);
    }
    return NULL;
}

hk_status hk_session_run(hk_session *session, const hk_tensor *const *inputs, hk_tensor **outputs)
{
    int count = session->graph->output_count;
    memset(outputs, 0, (size_t)count * sizeof *outputs);
    HK_TRY(set_input_types(session, inputs));
    hki_plan *plan;
    HK_TRY(hki_plan_cache_find(&plan, &session->plans, session->types));
    hk_status status = NULL;
    if (plan->facts.is_dynamic) {
        status = hki_plan_run_dynamic(plan, inputs, outputs);
    } else {
        for (int i = 0; i < count && !status; i++) {
            const hki_type *type = hki_plan_output_type(plan, i);
            status = hk_tensor_create(&outputs[i], type->dtype, type->rank, type->dims);
            session->outputs[i] = status ? NULL : outputs[i]->data;
        }
        if (!status)
            status = hki_plan_run(plan, inputs, session->outputs);
    }
    for (int i = 0; i < count && status; i++) {
        hk_tensor_free(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

hk_status hk_session_plan(hk_session_memory *out, hk_session *session, const int64_t *const *dims)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < session->graph->input_count; i++) {
        const hk_value *input = session->graph->inputs[i];
        session->types[i] = (hki_type){.rank = -1};
        const int64_t *wanted = dims && dims[i] ? dims[i] : input->type.dims;
        if (!(dims && dims[i]) && input->tensor)
            continue;
        if (input->type.rank < 0)
            return HK_ERR(HK_INVALID_SHAPE, "input '%s' has no known rank", input->name);
        for (int d = 0; d < input->type.rank; d++)
            if (wanted[d] < 0)
                return HK_ERR(HK_INVALID_SHAPE, "input '%s': dimension %d (%s) is open; give a shape", input->name, d,
                              hk_graph_symbol_name(session->graph, wanted[d]));
        HK_TRY(set_input_type(session, i, input->type.dtype, input->type.rank, wanted));
    }
    hki_plan *plan;
    HK_TRY(hki_plan_cache_find(&plan, &session->plans, session->types));
    *out = plan->facts;
    return NULL;
}

/* ---- Profile. ---- */

hk_status hk_session_write_trace(const hk_session *session, const char *path)
{
    if (!session->plans.profile)
        return HK_ERR(HK_INVALID_ARGUMENT, "the session was created without options.profile");
    return hki_profile_write_trace(&session->plans, path);
}

int hk_session_profile(const hk_session *session, hk_profile_row *rows, int capacity)
{
    return session->plans.count ? hki_profile_table(session->plans.plans[0].plan, rows, capacity) : 0;
}
