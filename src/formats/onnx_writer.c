/* Saving of ONNX models: opset and IR version, external data, the model message around the graph, atomic files. */
#include <string.h>

#include "formats/onnx_write.h"

enum { EXTERNAL_DEFAULT = 1024 }; /* bytes from which weights leave a model that is too large */
#define MESSAGE_LIMIT ((uint64_t)INT32_MAX) /* of protobuf implementations */
#define WEIGHTS_LIMIT ((uint64_t)2000000000)

/* IR version that came with an opset (onnx/onnx docs/Versioning.md). */
static int ir_version(int opset)
{
    return opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : 13;
}

static uint64_t weight_bytes(const hk_graph *graph)
{
    uint64_t total = 0;
    for (int i = 0; i < graph->value_count; i++)
        if (graph->values[i]->tensor && !graph->values[i]->producer)
            total += hk_tensor_size(graph->values[i]->tensor);
    return total;
}

static void put_import(hki_pb_writer *m, const char *domain, int64_t version)
{
    hki_pb_mark mark = hki_pb_begin(m, 8);
    hki_pb_put_text(m, 1, domain);
    hki_pb_put_int(m, 2, version);
    hki_pb_end(m, mark);
}

/* Other domains in the order of their names: the table's own order is none. */
static void put_domains(hki_pb_writer *m, const hki_onnx_names *domains)
{
    const char *last = "";
    for (size_t done = 0; done < domains->count; done++) {
        const struct hki_onnx_name *next = NULL;
        for (size_t i = 0; i < domains->capacity; i++) {
            const struct hki_onnx_name *slot = &domains->slots[i];
            if (slot->name && strcmp(slot->name, last) > 0 && (!next || strcmp(slot->name, next->name) < 0))
                next = slot;
        }
        put_import(m, next->name, next->number);
        last = next->name;
    }
}

/* Everything before the graph's bytes, filled up with blanks (a documentation string) so that they start aligned. */
static hk_status put_model_head(hki_pb_writer *m, const hki_onnx_writer *w, const hk_graph *graph, int opset)
{
    static const char blanks[HKI_ONNX_ALIGNMENT + 2] =
        "                                                                 ";
    hki_pb_put_int(m, 1, ir_version(opset));
    hki_pb_put_text(m, 2, "halka");
    hki_pb_put_text(m, 3, HALKA_VERSION);
    put_import(m, "", opset);
    put_domains(m, &w->domains);
    for (int i = 0; i < graph->metadata_count; i += 2) {
        hki_pb_mark mark = hki_pb_begin(m, 14);
        hki_pb_put_text(m, 1, graph->metadata[i]);
        hki_pb_put_text(m, 2, graph->metadata[i + 1]);
        hki_pb_end(m, mark);
    }
    size_t behind = 1 + hki_pb_varint_size(w->message.total);
    size_t pad = (size_t)(HKI_ONNX_ALIGNMENT - (m->total + behind) % HKI_ONNX_ALIGNMENT) % HKI_ONNX_ALIGNMENT;
    if (pad == 1)
        pad += HKI_ONNX_ALIGNMENT;
    if (pad)
        hki_pb_put_bytes(m, 6, blanks, pad - 2);
    hki_pb_put_varint(m, 7 << 3 | HKI_WIRE_BYTES);
    hki_pb_put_varint(m, w->message.total);
    HK_TRY(hki_pb_status(&w->message));
    if (m->total + w->message.total > MESSAGE_LIMIT)
        return HK_ERR(HK_UNSUPPORTED, "the model without external data has %llu bytes, more than protobuf allows",
                      (unsigned long long)(m->total + w->message.total));
    return hki_pb_status(m);
}

static hk_status write_file(const hki_onnx_writer *w, const hk_graph *graph, int opset, const char *path)
{
    hki_pb_writer head = {0};
    hki_writer *file = NULL;
    hk_status status = put_model_head(&head, w, graph, opset);
    if (!status)
        status = hki_writer_open(&file, path);
    if (!status) {
        hki_pb_flush(&head, file);
        hki_pb_flush(&w->message, file);
        status = hki_writer_commit(file);
    }
    hki_pb_free(&head);
    return status;
}

/* ---- External data. ---- */

static hk_status open_external(hki_onnx_writer *w, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = w->options->external_name;
    if (name && (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")))
        return HK_ERR(HK_INVALID_ARGUMENT, "external_name '%s' must be a plain file name", name);
    w->external_name = name ? name : hki_arena_printf(w->arena, "%s.data", slash ? slash + 1 : path);
    const char *full = w->external_name ? hki_arena_printf(w->arena, "%.*s%s", slash ? (int)(slash + 1 - path) : 0,
                                                           path, w->external_name)
                                        : NULL;
    if (!full)
        return hki_out_of_memory();
    if (!strcmp(full, path))
        return HK_ERR(HK_INVALID_ARGUMENT, "external_name '%s' is the name of the model itself", name);
    return hki_writer_open(&w->external, full);
}

static hk_status save(hki_onnx_writer *w, const hk_graph *graph, const char *path)
{
    w->external_threshold = w->options->external_threshold;
    if (!w->external_threshold && weight_bytes(graph) > WEIGHTS_LIMIT)
        w->external_threshold = EXTERNAL_DEFAULT;
    if (w->external_threshold)
        HK_TRY(open_external(w, path));
    HK_TRY(hki_onnx_put_graph(w, graph));
    if (w->external) {
        hki_writer *external = w->external;
        w->external = NULL;
        HK_TRY(hki_writer_commit(external));
    }
    return write_file(w, graph, w->options->opset ? w->options->opset : w->opset, path);
}

hk_status hk_model_save(const hk_graph *graph, const char *path, const hk_model_save_options *options)
{
    static const hk_model_save_options defaults;
    hki_onnx_writer w = {.options = options ? options : &defaults, .opset = HKI_ONNX_OPSET_LEAST};
    hk_status status = hki_arena_create(&w.arena);
    if (!status)
        status = save(&w, graph, path);
    hki_writer_abandon(w.external);
    hki_pb_free(&w.message);
    hki_onnx_names_free(&w.domains);
    hki_arena_free(w.arena);
    return status ? hki_error_context(status, "%s", path) : NULL;
}

hk_status hk_tensor_save_pb(const hk_tensor *tensor, const char *name, const char *path)
{
    hki_pb_writer message = {0};
    hki_writer *file = NULL;
    hki_onnx_put_tensor_fields(&message, name, tensor);
    hk_status status = hki_pb_status(&message);
    if (!status)
        status = hki_writer_open(&file, path);
    if (!status) {
        hki_pb_flush(&message, file);
        status = hki_writer_commit(file);
    }
    hki_pb_free(&message);
    return status ? hki_error_context(status, "%s", path) : NULL;
}
