/* Operator versions: which version of an operator a file means, how it becomes the newest, and the message about
 * operators that are not known. The rules themselves stand beside the operators (hki_op.versions). */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "formats/onnx_import.h"

enum { MAX_RENAMES = 8, MAX_REPORTED = 8 };

int64_t hki_onnx_opset(const hki_onnx_scope *scope, const char *domain)
{
    for (size_t i = 0; i < scope->import_count; i++)
        if (!strcmp(scope->imports[i].domain, domain))
            return scope->imports[i].version;
    return 0;
}

/* The row of the history that opset means: the newest not above it. -1: the operator is younger than the opset. */
static int find_row(const hki_op *op, int64_t opset)
{
    int row = -1;
    for (int i = 0; i < HKI_MAX_VERSIONS && op->versions[i].since && op->versions[i].since <= opset; i++)
        row = i;
    return row;
}

static hk_status run_rules(bool *out_renamed, hki_draft *draft, const hki_op *op, int row)
{
    const char *name = draft->op;
    for (; row < HKI_MAX_VERSIONS && op->versions[row].since; row++) {
        const hki_version *version = &op->versions[row];
        if (!version->upgrade)
            continue;
        draft->version = version->since;
        HK_TRY_CTX(version->upgrade(draft), "upgrade from version %d", version->since);
        HK_TRY(hk_graph_status(draft->graph));
        *out_renamed = strcmp(name, draft->op) != 0;
        if (*out_renamed)
            return NULL;
    }
    return NULL;
}

hk_status hki_onnx_upgrade(hki_draft *draft, const char *domain, int64_t opset)
{
    for (int round = 0; round < MAX_RENAMES; round++) {
        const hki_op *op = hki_op_find(domain, draft->op);
        if (!op)
            return HK_ERR(HK_UNSUPPORTED, "operator %s is not known", draft->op);
        if (!op->versions[0].since)
            return NULL;
        int row = find_row(op, opset);
        if (row < 0 && !round)
            return HK_ERR(HK_UNSUPPORTED, "operator %s is known from opset %d on, the file uses %" PRId64, draft->op,
                          op->versions[0].since, opset);
        bool renamed = false;
        HK_TRY(run_rules(&renamed, draft, op, row < 0 ? 0 : row)); /* renamed to a younger operator: its first form */
        if (!renamed)
            return NULL;
    }
    return HK_ERR(HK_INTERNAL, "operator %s is renamed in circles", draft->op);
}

/* ---- What is not known. ---- */

typedef struct report {
    hki_onnx_importer *importer;
    hki_text text;
    hki_onnx_names seen; /* "domain op" */
    int count;
} report;

static hk_status report_node(report *r, const hki_onnx_scope *scope, const hki_onnx_node *node)
{
    int64_t opset = hki_onnx_opset(scope, node->domain), old;
    if (!opset && !*node->domain)
        return HK_ERR(HK_INVALID_FILE, "node '%s' (%s): the model imports no opset of domain 'ai.onnx'", node->name,
                      node->op);
    const hki_op *op = hki_op_find(node->domain, node->op);
    if (op && op->domain && *op->domain && !op->cases) /* its shapes are not checked as those of a stranger must be */
        return HK_ERR(HK_UNSUPPORTED, "node '%.100s': halka.%s is private to gradients and not taken from files",
                      node->name, op->name);
    if (op && (!op->versions[0].since || find_row(op, opset) >= 0))
        return NULL;
    const char *key = hki_arena_printf(r->importer->arena, "%s %s", node->domain, node->op);
    if (!key)
        return hki_out_of_memory();
    HK_TRY(hki_onnx_names_add(&r->seen, key, 0, &old));
    if (old >= 0 || ++r->count > MAX_REPORTED)
        return NULL;
    const char *label = *node->name ? node->name : node->output_count ? node->outputs[0] : "";
    hki_text_printf(&r->text, "%snode '%.100s': operator %.100s of domain '%.100s' (opset %" PRId64 ") is not known",
                    r->count > 1 ? "; " : "", label, node->op, *node->domain ? node->domain : "ai.onnx", opset);
    if (op)
        hki_text_printf(&r->text, " (only from opset %d on)", op->versions[0].since);
    return NULL;
}

/* Looks through nodes and the functions they call, each function once. Branches of If are left out: only one of them
 * will be built. */
static hk_status report_nodes(report *r, const hki_onnx_scope *scope, const hki_onnx_node *nodes, size_t count,
                              int depth)
{
    if (depth > HKI_ONNX_MAX_DEPTH)
        return HK_ERR(HK_UNSUPPORTED, "functions call each other more than %d deep", HKI_ONNX_MAX_DEPTH);
    for (size_t i = 0; i < count; i++) {
        const hki_onnx_node *node = &nodes[i];
        hki_onnx_function *function = hki_onnx_function_find(r->importer, node);
        if (function && !function->active) {
            hki_onnx_scope body = {.imports = function->imports, .import_count = function->import_count};
            function->active = true; /* seen; reset by the caller */
            HK_TRY_CTX(report_nodes(r, &body, function->nodes, function->node_count, depth + 1), "function '%s'",
                       function->name);
        } else if (!function && (*node->domain || (strcmp(node->op, "Constant") && strcmp(node->op, "If")))) {
            HK_TRY(report_node(r, scope, node));
        }
    }
    return NULL;
}

hk_status hki_onnx_check_operators(hki_onnx_importer *m)
{
    report r = {.importer = m};
    hki_onnx_scope scope = {.imports = m->model.imports, .import_count = m->model.import_count};
    hk_status status = report_nodes(&r, &scope, m->model.graph->nodes, m->model.graph->node_count, 0);
    for (size_t i = 0; i < m->model.function_count; i++)
        m->model.functions[i].active = false;
    if (!status && r.count > MAX_REPORTED)
        hki_text_printf(&r.text, "; and %d more", r.count - MAX_REPORTED);
    if (!status)
        status = hki_text_status(&r.text);
    if (!status && r.count)
        status = HK_ERR(HK_UNSUPPORTED, "%s", r.text.data);
    hki_text_free(&r.text);
    hki_onnx_names_free(&r.seen);
    return status;
}
