/* Writing of tensors and types. Raw data starts at multiples of 64 bytes, counted from the start of the graph message
 * (whose own place the model's writer sees to); the room before is filled by the documentation string, which readers
 * ignore. */
#include <stdio.h>
#include <string.h>

#include "formats/onnx_write.h"

enum { ALIGN_FROM = 256 }; /* bytes of a tensor from which on alignment is worth its padding */

static const char blanks[HKI_ONNX_ALIGNMENT + 2] = "                                                                 ";

static void put_header(hki_pb_writer *message, const char *name, const hk_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++)
        hki_pb_put_int(message, 1, tensor->dims[i]);
    hki_pb_put_int(message, 2, tensor->dtype);
    if (name && *name)
        hki_pb_put_text(message, 8, name);
}

void hki_onnx_put_tensor_fields(hki_pb_writer *message, const char *name, const hk_tensor *tensor)
{
    put_header(message, name, tensor);
    hki_pb_put_reference(message, 9, tensor->data, hk_tensor_size(tensor));
}

/* Fills up so that raw data after it starts aligned. `start`: total when the message began, after its key. A
 * documentation string of n characters takes n + 2 bytes. */
static void put_padding(hki_pb_writer *message, uint64_t start, size_t size)
{
    uint64_t header = message->total - start, behind = 1 + hki_pb_varint_size(size);
    for (size_t pad = 0; pad < HKI_ONNX_ALIGNMENT + 2; pad++) {
        uint64_t length = header + pad + behind + size;
        uint64_t at = start + hki_pb_varint_size(length) + header + pad + behind;
        if (pad == 1 || at % HKI_ONNX_ALIGNMENT)
            continue;
        if (pad)
            hki_pb_put_bytes(message, 12, blanks, pad - 2);
        return;
    }
}

static void put_entry(hki_pb_writer *message, const char *key, const char *value)
{
    hki_pb_mark mark = hki_pb_begin(message, 13);
    hki_pb_put_text(message, 1, key);
    hki_pb_put_text(message, 2, value);
    hki_pb_end(message, mark);
}

static void put_external(hki_onnx_writer *w, const hk_tensor *tensor)
{
    static const char zeros[HKI_ONNX_PAGE];
    char number[32];
    size_t size = hk_tensor_size(tensor), rest = hki_writer_offset(w->external) % HKI_ONNX_PAGE;
    if (rest)
        hki_writer_write(w->external, zeros, HKI_ONNX_PAGE - rest);
    put_entry(&w->message, "location", w->external_name);
    snprintf(number, sizeof number, "%llu", (unsigned long long)hki_writer_offset(w->external));
    put_entry(&w->message, "offset", number);
    snprintf(number, sizeof number, "%zu", size);
    put_entry(&w->message, "length", number);
    hki_pb_put_int(&w->message, 14, 1);
    hki_writer_write(w->external, tensor->data, size);
}

void hki_onnx_put_tensor(hki_onnx_writer *w, uint32_t field, const char *name, const hk_tensor *tensor,
                         bool may_be_external)
{
    hki_pb_writer *message = &w->message;
    hki_pb_mark mark = hki_pb_begin(message, field);
    size_t size = hk_tensor_size(tensor);
    put_header(message, name, tensor);
    if (may_be_external && w->external && size >= w->external_threshold) {
        put_external(w, tensor);
    } else {
        if (may_be_external && size >= ALIGN_FROM)
            put_padding(message, mark.total, size);
        hki_pb_put_reference(message, 9, tensor->data, size);
    }
    hki_pb_end(message, mark);
}

static void put_shape(hki_pb_writer *message, const hk_graph *graph, const hki_type *type)
{
    hki_pb_mark shape = hki_pb_begin(message, 2);
    for (int i = 0; i < type->rank; i++) {
        hki_pb_mark dim = hki_pb_begin(message, 1);
        if (type->dims[i] >= 0)
            hki_pb_put_int(message, 1, type->dims[i]);
        else if (type->dims[i] != HKI_DIM_UNKNOWN)
            hki_pb_put_text(message, 2, hk_graph_symbol_name(graph, type->dims[i]));
        hki_pb_end(message, dim);
    }
    hki_pb_end(message, shape);
}

void hki_onnx_put_value(hki_pb_writer *message, uint32_t field, const char *name, const hk_graph *graph,
                        const hki_type *type)
{
    hki_pb_mark value = hki_pb_begin(message, field);
    hki_pb_put_text(message, 1, name);
    if (type->dtype) {
        hki_pb_mark outer = hki_pb_begin(message, 2), tensor = hki_pb_begin(message, 1);
        hki_pb_put_int(message, 1, type->dtype);
        if (type->rank >= 0)
            put_shape(message, graph, type);
        hki_pb_end(message, tensor);
        hki_pb_end(message, outer);
    }
    hki_pb_end(message, value);
}
