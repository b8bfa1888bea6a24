/* Loading of ONNX models and tensor files: the public functions, and the checks of the model as a whole. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "formats/onnx_import.h"
#include "halka/model.h"

enum { IR_OLDEST = 3, IR_NEWEST = 13 };

static hk_status check_versions(const hki_onnx_model *model)
{
    if (model->ir_version < IR_OLDEST)
        return HK_ERR(model->ir_version > 0 ? HK_UNSUPPORTED : HK_INVALID_FILE,
                      "IR version %" PRId64 ", supported are %d to %d", model->ir_version, IR_OLDEST, IR_NEWEST);
    if (model->ir_version > IR_NEWEST)
        return HK_ERR(HK_UNSUPPORTED, "IR version %" PRId64 ", supported are %d to %d", model->ir_version, IR_OLDEST,
                      IR_NEWEST);
    for (size_t i = 0; i < model->import_count; i++)
        for (size_t k = 0; k < i; k++)
            if (k > 256 || !strcmp(model->imports[i].domain, model->imports[k].domain))
                return HK_ERR(HK_INVALID_FILE, "opset_import of domain '%s' is given twice", model->imports[i].domain);
    return NULL;
}

/* A newer opset usually changes few operators. It is tried; if that fails, the reader should know why it may have. */
static hk_status explain_opset(hk_status status, const hki_onnx_model *model)
{
    for (size_t i = 0; i < model->import_count; i++)
        if (!*model->imports[i].domain && model->imports[i].version > HKI_ONNX_OPSET) {
            if (status)
                return hki_error_context(status, "the model uses opset %" PRId64 ", halka knows up to %d",
                                         model->imports[i].version, HKI_ONNX_OPSET);
            hki_log(HKI_LOG_WARNING, "the model uses opset %" PRId64 ", newer than %d: read with what is known",
                    model->imports[i].version, HKI_ONNX_OPSET);
        }
    return status;
}

static hk_status import(hki_onnx_importer *m)
{
    HK_TRY(hki_onnx_parse_model(&m->model, m->arena, m->source.file));
    HK_TRY(check_versions(&m->model));
    HK_TRY(hk_graph_create(&m->graph, m->model.graph->name));
    return explain_opset(hki_onnx_import_model(m), &m->model);
}

/* Loads from a source, which is closed. */
static hk_status load(hk_graph **out, hki_onnx_source *source)
{
    hki_onnx_importer m = {.source = *source};
    hk_status status = hki_arena_create(&m.arena);
    m.source.arena = m.arena;
    if (!status)
        status = import(&m);
    hki_free(m.values);
    hki_onnx_names_free(&m.infos);
    hki_onnx_names_free(&m.symbols);
    hki_onnx_names_free(&m.functions);
    hki_onnx_source_close(&m.source);
    hki_arena_free(m.arena);
    if (status)
        hk_graph_free(m.graph);
    else
        *out = m.graph;
    return status;
}

hk_status hk_model_load(hk_graph **out, const char *path)
{
    *out = NULL;
    hki_onnx_source source = {0};
    HK_TRY(hki_onnx_map(&source.buffer, &source.file, path));
    char *directory = hki_path_directory(path);
    if (!directory) {
        hki_onnx_source_close(&source);
        return hki_out_of_memory();
    }
    source.directory = directory;
    hk_status status = load(out, &source);
    hki_free(directory);
    return status ? hki_error_context(status, "%s", path) : NULL;
}

static hk_status copy_source(hki_onnx_source *out, const void *data, size_t size)
{
    HK_TRY(hki_buffer_create(&out->buffer, size));
    unsigned char *copy = hki_buffer_data(out->buffer);
    if (size)
        memcpy(copy, data, size);
    out->file = (hki_span){copy, size};
    return NULL;
}

hk_status hk_model_load_memory(hk_graph **out, const void *data, size_t size, const char *directory)
{
    *out = NULL;
    hki_onnx_source source = {.directory = directory};
    HK_TRY(copy_source(&source, data, size));
    return load(out, &source);
}

/* ---- Tensor files. ---- */

static hk_status load_tensor(hk_tensor **out, hki_onnx_source *source)
{
    hki_arena *arena = NULL;
    hki_onnx_tensor parsed;
    hk_tensor *tensor = NULL;
    hk_status status = hki_arena_create(&arena);
    source->arena = arena;
    if (!status)
        status = hki_onnx_parse_tensor(&parsed, arena, source->file, source->file.data);
    if (!status)
        status = hki_onnx_tensor_get(&tensor, source, &parsed);
    if (!status)
        status = hki_tensor_view(out, tensor->buffer, tensor->data, tensor->dtype, tensor->rank, tensor->dims);
    hki_onnx_source_close(source);
    hki_arena_free(arena);
    return status;
}

hk_status hk_tensor_load_pb(hk_tensor **out, const char *path)
{
    *out = NULL;
    hki_onnx_source source = {0};
    HK_TRY(hki_onnx_map(&source.buffer, &source.file, path));
    HK_TRY_CTX(load_tensor(out, &source), "%s", path);
    return NULL;
}

hk_status hk_tensor_load_pb_memory(hk_tensor **out, const void *data, size_t size)
{
    *out = NULL;
    hki_onnx_source source = {0};
    HK_TRY(copy_source(&source, data, size));
    return load_tensor(out, &source);
}
