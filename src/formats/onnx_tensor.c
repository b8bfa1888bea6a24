/* TensorProto to tensor: raw bytes (as a view if possible), the typed lists, sparse tensors. See onnx_tensor.h. */
#include "formats/onnx_tensor.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ONNX stores numbers little-endian; so does this code");

/* A dense tensor may be this many times as large as the values a sparse one stores; small ones may be anything. */
#define SPARSE_RATIO 1024
#define SPARSE_SMALL ((size_t)64 << 20)

hk_dtype hki_onnx_dtype(int64_t data_type, const char **out_name)
{
    static const char *const others[] = {[8] = "string",      [17] = "float8e4m3fn", [18] = "float8e4m3fnuz",
                                         [19] = "float8e5m2", [20] = "float8e5m2fnuz", [21] = "uint4",
                                         [22] = "int4",       [23] = "float4e2m1",   [24] = "float8e8m0",
                                         [25] = "uint2",      [26] = "int2"};
    hk_dtype dtype = data_type > 0 && data_type <= HK_BFLOAT16 ? (hk_dtype)data_type : HK_UNDEFINED;
    if (!hk_dtype_size(dtype))
        dtype = HK_UNDEFINED;
    const char *other = data_type > 0 && data_type <= 26 ? others[data_type] : NULL;
    if (out_name)
        *out_name = dtype ? hk_dtype_name(dtype) : other ? other : "undefined";
    return dtype;
}

hk_status hki_onnx_source_keep(hki_onnx_source *source, hk_tensor *tensor)
{
    hk_status status =
        hki_array_grow(&source->made, &source->made_capacity, source->made_count + 1, sizeof *source->made);
    if (status)
        hk_tensor_free(tensor);
    else
        source->made[source->made_count++] = tensor;
    return status;
}

/* ---- Raw bytes. ---- */

/* What a C object of the type needs: complex numbers are pairs. */
static size_t alignment_of(hk_dtype dtype)
{
    size_t size = hk_dtype_size(dtype);
    return dtype == HK_COMPLEX64 || dtype == HK_COMPLEX128 ? size / 2 : size;
}

static bool bools_are_clean(hki_span bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        if (bytes.data[i] > 1)
            return false;
    return true;
}

/* A view where the processor and C allow it, else a copy. Bytes of bools other than 0 and 1 are made 1. */
static hk_status take_raw(hk_tensor **out, hki_span bytes, hki_buffer *buffer, hk_dtype dtype, int rank,
                          const int64_t *dims)
{
    bool clean = dtype != HK_BOOL || bools_are_clean(bytes);
    if (clean && bytes.size && (uintptr_t)bytes.data % alignment_of(dtype) == 0)
        return hki_tensor_view(out, buffer, (void *)(uintptr_t)bytes.data, dtype, rank, dims);
    HK_TRY(hk_tensor_from(out, bytes.data, dtype, rank, dims));
    unsigned char *copy = hk_tensor_data(*out);
    for (size_t i = 0; i < bytes.size && !clean; i++)
        copy[i] = copy[i] != 0;
    return NULL;
}

/* ---- Typed lists. ---- */

/* Which field holds a type's numbers, and how one number is coded. */
typedef struct list_form {
    uint32_t field;
    hki_wire wire;
    size_t size; /* bytes of a fixed number */
} list_form;

static list_form form_of(hk_dtype dtype)
{
    switch (dtype) {
    case HK_FLOAT:
    case HK_COMPLEX64:
        return (list_form){4, HKI_WIRE_32, 4};
    case HK_DOUBLE:
    case HK_COMPLEX128:
        return (list_form){10, HKI_WIRE_64, 8};
    case HK_INT64:
        return (list_form){7, HKI_WIRE_VARINT, 0};
    case HK_UINT32:
    case HK_UINT64:
        return (list_form){11, HKI_WIRE_VARINT, 0};
    default:
        return (list_form){5, HKI_WIRE_VARINT, 0};
    }
}

/* Where the numbers of a list go: element i of `size` bytes each, at most `room`; those beyond are only counted. */
typedef struct list_sink {
    unsigned char *data;
    size_t size, room, count;
    bool is_bool;
} list_sink;

static void store(list_sink *sink, uint64_t value)
{
    if (sink->count++ >= sink->room)
        return;
    if (sink->is_bool)
        value = value != 0;
    memcpy(sink->data + (sink->count - 1) * sink->size, &value, sink->size); /* little-endian: the low bytes */
}

static hk_status store_packed(list_sink *sink, hki_span bytes, list_form form, const unsigned char *file)
{
    if (form.wire == HKI_WIRE_VARINT) {
        hki_pb_reader reader = hki_pb_read(bytes, file);
        while (hki_pb_more(&reader)) {
            uint64_t value;
            HK_TRY(hki_pb_varint(&value, &reader));
            store(sink, value);
        }
        return NULL;
    }
    if (bytes.size % form.size)
        return HK_ERR(HK_INVALID_FILE, "a list of %zu byte numbers has %zu bytes", form.size, bytes.size);
    size_t count = bytes.size / form.size, room = sink->room - sink->count;
    if (sink->count < sink->room && count)
        memcpy(sink->data + sink->count * form.size, bytes.data, (count < room ? count : room) * form.size);
    sink->count += count;
    return NULL;
}

static hk_status read_list(list_sink *sink, const hki_onnx_tensor *t, list_form form, const unsigned char *file)
{
    hki_pb_reader reader = hki_pb_read(t->message, file);
    while (hki_pb_more(&reader)) {
        hki_pb_field field;
        HK_TRY(hki_pb_next(&field, &reader));
        if (field.number != form.field)
            continue;
        if (field.wire == HKI_WIRE_BYTES) {
            HK_TRY(store_packed(sink, field.bytes, form, file));
        } else {
            HK_TRY(hki_pb_expect(&field, form.wire, "..._data"));
            store(sink, field.value);
        }
    }
    return NULL;
}

/* The shape was checked; but memory is only taken for what the message could hold, so a few bytes cannot ask for
 * gigabytes. */
static hk_status take_list(hk_tensor **out, const hki_onnx_tensor *t, hk_dtype dtype, int64_t count,
                           const unsigned char *file)
{
    bool complex_type = dtype == HK_COMPLEX64 || dtype == HK_COMPLEX128;
    size_t numbers = (size_t)count * (complex_type ? 2 : 1);
    list_sink sink = {NULL, hk_dtype_size(dtype) / (complex_type ? 2 : 1), numbers, 0, dtype == HK_BOOL};
    if (numbers > t->message.size)
        return HK_ERR(HK_INVALID_FILE, "expected %" PRId64 " numbers, found a message of %zu bytes", count,
                      t->message.size);
    hk_tensor *tensor;
    HK_TRY(hk_tensor_create(&tensor, dtype, (int)t->rank, t->dims));
    sink.data = hk_tensor_data(tensor);
    hk_status status = read_list(&sink, t, form_of(dtype), file);
    if (!status && sink.count != numbers)
        status = HK_ERR(HK_INVALID_FILE, "expected %zu numbers, found %zu", numbers, sink.count);
    if (status) {
        hk_tensor_free(tensor);
        return status;
    }
    *out = tensor;
    return NULL;
}

/* ---- Both. ---- */

static hk_status check_header(hk_dtype *out, int64_t *out_count, size_t *out_size, const hki_onnx_tensor *t)
{
    const char *name;
    *out = hki_onnx_dtype(t->data_type, &name);
    if (!*out)
        return HK_ERR(HK_UNSUPPORTED, "element type %s (%" PRId64 ") is not supported", name, t->data_type);
    if (t->rank > HK_MAX_RANK)
        return HK_ERR(HK_UNSUPPORTED, "rank %zu, at most %d is supported", t->rank, HK_MAX_RANK);
    if (t->has_segment)
        return HK_ERR(HK_UNSUPPORTED, "tensors in segments are not supported");
    return hki_shape_check(out_count, out_size, *out, (int)t->rank, t->dims);
}

static hk_status convert(hk_tensor **out, hki_onnx_source *source, const hki_onnx_tensor *t)
{
    hk_dtype dtype;
    int64_t count;
    size_t size;
    HK_TRY(check_header(&dtype, &count, &size, t));
    int rank = (int)t->rank;
    if (t->external) {
        hki_span bytes;
        hki_buffer *buffer;
        HK_TRY(hki_onnx_external_get(&bytes, &buffer, source, t, size));
        return take_raw(out, bytes, buffer, dtype, rank, t->dims);
    }
    if (!t->has_raw)
        return take_list(out, t, dtype, count, source->file.data);
    if (t->raw.size != size)
        return HK_ERR(HK_INVALID_FILE, "raw_data has %zu bytes, the shape needs %zu", t->raw.size, size);
    return take_raw(out, t->raw, source->buffer, dtype, rank, t->dims);
}

hk_status hki_onnx_tensor_get(hk_tensor **out, hki_onnx_source *source, hki_onnx_tensor *t)
{
    *out = NULL;
    if (!t->made) {
        hk_tensor *tensor = NULL;
        HK_TRY_CTX(convert(&tensor, source, t), "tensor '%s'", t->name);
        HK_TRY(hki_onnx_source_keep(source, tensor));
        t->made = tensor;
    }
    *out = t->made;
    return NULL;
}

/* ---- Sparse tensors. ---- */

/* Element k stands at indices[k] (linear) or at coordinates indices[k][0..rank). */
static hk_status scatter(hk_tensor *dense, const hk_tensor *values, const hk_tensor *indices)
{
    int64_t stored = hk_tensor_count(values), count = hk_tensor_count(dense);
    bool linear = indices->rank == 1;
    int64_t width = linear ? 1 : dense->rank;
    if (indices->dtype != HK_INT64 || values->rank != 1 || indices->rank < 1 || indices->rank > 2 ||
        indices->dims[0] != stored || (!linear && indices->dims[1] != width))
        return HK_ERR(HK_INVALID_FILE, "expected values [n] with int64 indices [n] or [n, %d]", dense->rank);
    size_t size = hk_dtype_size(values->dtype);
    const int64_t *index = indices->data;
    for (int64_t k = 0; k < stored; k++) {
        int64_t at = 0;
        for (int64_t d = 0; d < width; d++) {
            int64_t i = index[k * width + d], limit = linear ? count : dense->dims[d];
            if (i < 0 || i >= limit)
                return HK_ERR(HK_INVALID_FILE, "index %" PRId64 " of element %" PRId64 " is out of range", i, k);
            at = linear ? i : at * dense->dims[d] + i;
        }
        memcpy((char *)dense->data + (size_t)at * size, (const char *)values->data + (size_t)k * size, size);
    }
    return NULL;
}

static hk_status make_dense(hk_tensor **out, hki_onnx_source *source, hki_onnx_sparse *s)
{
    hk_tensor *values, *indices, *dense;
    HK_TRY(hki_onnx_tensor_get(&values, source, &s->values));
    HK_TRY(hki_onnx_tensor_get(&indices, source, &s->indices));
    int64_t count;
    size_t size;
    if (s->rank > HK_MAX_RANK)
        return HK_ERR(HK_UNSUPPORTED, "rank %zu, at most %d is supported", s->rank, HK_MAX_RANK);
    HK_TRY(hki_shape_check(&count, &size, values->dtype, (int)s->rank, s->dims));
    if (size > SPARSE_SMALL && size / SPARSE_RATIO > hk_tensor_size(values))
        return HK_ERR(HK_UNSUPPORTED, "a dense form of %zu bytes for %zu bytes of values", size,
                      hk_tensor_size(values));
    HK_TRY(hk_tensor_create(&dense, values->dtype, (int)s->rank, s->dims));
    hk_status status = scatter(dense, values, indices);
    if (status) {
        hk_tensor_free(dense);
        return status;
    }
    *out = dense;
    return NULL;
}

hk_status hki_onnx_sparse_get(hk_tensor **out, hki_onnx_source *source, hki_onnx_sparse *s)
{
    *out = NULL;
    if (!s->made) {
        hk_tensor *dense = NULL;
        HK_TRY_CTX(make_dense(&dense, source, s), "sparse tensor '%s'", s->values.name);
        HK_TRY(hki_onnx_source_keep(source, dense));
        s->made = dense;
    }
    *out = s->made;
    return NULL;
}
