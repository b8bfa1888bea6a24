/* safetensors: writing, and the table of element types. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/bytes.h"
#include "formats/safetensors.h"
#include "formats/safetensors_types.h"

static const struct type_row {
    const char *name;
    hk_dtype dtype;
} types[] = {{"BOOL", HK_BOOL},   {"U8", HK_UINT8},      {"I8", HK_INT8},    {"I16", HK_INT16},    {"U16", HK_UINT16},
             {"F16", HK_FLOAT16}, {"BF16", HK_BFLOAT16}, {"I32", HK_INT32},  {"U32", HK_UINT32},   {"F32", HK_FLOAT},
             {"F64", HK_DOUBLE},  {"I64", HK_INT64},     {"U64", HK_UINT64}, {"C64", HK_COMPLEX64}};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

hk_dtype hki_safetensors_dtype(const char *name)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (!strcmp(types[i].name, name))
            return types[i].dtype;
    return HK_UNDEFINED;
}

const char *hki_safetensors_dtype_name(hk_dtype dtype)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return NULL;
}

static int compare_tensors(const void *a, const void *b)
{
    const hki_named_tensor *x = a, *y = b;
    size_t p = hk_dtype_size(x->tensor->dtype), q = hk_dtype_size(y->tensor->dtype);
    if (p != q)
        return p > q ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_tensor_names(const void *a, const void *b)
{
    return strcmp(((const hki_named_tensor *)a)->name, ((const hki_named_tensor *)b)->name);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const hki_named_text *)a)->key, ((const hki_named_text *)b)->key);
}

/* Refuses names given twice and types that safetensors has not. Sorts by name on the way. */
static hk_status check(hki_named_tensor *sorted, int64_t count)
{
    qsort(sorted, (size_t)count, sizeof *sorted, compare_tensor_names);
    for (int64_t i = 0; i < count; i++) {
        if (!strcmp(sorted[i].name, "__metadata__") || (i && !strcmp(sorted[i].name, sorted[i - 1].name)))
            return HK_ERR(HK_INVALID_ARGUMENT, "expected each tensor name once, found '%s' again", sorted[i].name);
        if (!hki_safetensors_dtype_name(sorted[i].tensor->dtype))
            return HK_ERR(HK_INVALID_TYPE, "tensor '%s': expected a type that safetensors has, found %s",
                          sorted[i].name, hk_dtype_name(sorted[i].tensor->dtype));
    }
    return NULL;
}

static void write_metadata(hki_text *text, const hki_named_text *sorted, int64_t count)
{
    hki_text_printf(text, "\"__metadata__\":{");
    for (int64_t i = 0; i < count; i++) {
        hki_text_printf(text, i ? "," : "");
        hki_text_json(text, sorted[i].key);
        hki_text_append(text, ":", 1);
        hki_text_json(text, sorted[i].value);
    }
    hki_text_append(text, "}", 1);
}

/* Writes the JSON header, padded with spaces so that the elements begin at a multiple of 8. */
static hk_status write_header(hki_text *text, const hki_named_tensor *sorted, int64_t count,
                              const hki_named_text *texts, int64_t text_count)
{
    uint64_t offset = 0;
    hki_text_append(text, "{", 1);
    if (text_count)
        write_metadata(text, texts, text_count);
    for (int64_t i = 0; i < count; i++) {
        const hk_tensor *tensor = sorted[i].tensor;
        hki_text_printf(text, i || text_count ? "," : "");
        hki_text_json(text, sorted[i].name);
        hki_text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", hki_safetensors_dtype_name(tensor->dtype));
        for (int d = 0; d < tensor->rank; d++)
            hki_text_printf(text, "%s%" PRId64, d ? "," : "", tensor->dims[d]);
        uint64_t end = offset + hk_tensor_size(tensor);
        hki_text_printf(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, end);
        offset = end;
    }
    hki_text_append(text, "}", 1);
    hki_text_printf(text, "%*s", (int)((8 - text->length % 8) % 8), "");
    return hki_text_status(text);
}

/* Writes the elements row-major and little-endian. */
static hk_status write_elements(hki_writer *writer, const hk_tensor *tensor)
{
    if (tensor->layout == HKI_PLAIN && !HKI_HOST_BIG) {
        hki_writer_write(writer, tensor->data, hk_tensor_size(tensor));
        return NULL;
    }
    hk_tensor *copy;
    HK_TRY(hk_tensor_copy(&copy, tensor));
    if (HKI_HOST_BIG)
        hki_swap_bytes(copy->data, copy->dtype, hk_tensor_count(copy));
    hki_writer_write(writer, copy->data, hk_tensor_size(copy));
    hk_tensor_free(copy);
    return NULL;
}

static hk_status write_file(const char *path, const hki_text *header, const hki_named_tensor *sorted, int64_t count)
{
    hki_writer *writer;
    HK_TRY(hki_writer_open(&writer, path));
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header->length >> 8 * i);
    hki_writer_write(writer, length, sizeof length);
    hki_writer_write(writer, header->data, header->length);
    for (int64_t i = 0; i < count; i++) {
        hk_status status = write_elements(writer, sorted[i].tensor);
        if (status) {
            hki_writer_abandon(writer);
            return status;
        }
    }
    return hki_writer_commit(writer);
}

hk_status hki_safetensors_save(const char *path, const hki_named_tensor *tensors, int64_t count,
                               const hki_named_text *metadata, int64_t metadata_count)
{
    hki_text header = {0};
    hki_named_tensor *sorted = hki_alloc_array((size_t)count + 1, sizeof *sorted);
    hki_named_text *texts = hki_alloc_array((size_t)metadata_count + 1, sizeof *texts);
    hk_status status = sorted && texts ? NULL : hki_out_of_memory();
    if (!status) {
        if (count)
            memcpy(sorted, tensors, (size_t)count * sizeof *sorted);
        if (metadata_count)
            memcpy(texts, metadata, (size_t)metadata_count * sizeof *texts);
        status = check(sorted, count);
    }
    if (!status) {
        qsort(sorted, (size_t)count, sizeof *sorted, compare_tensors);
        qsort(texts, (size_t)metadata_count, sizeof *texts, compare_texts);
        status = write_header(&header, sorted, count, texts, metadata_count);
    }
    if (status)
        status = hki_error_context(status, "%s", path);
    else
        status = write_file(path, &header, sorted, count);
    hki_text_free(&header);
    hki_free(sorted);
    hki_free(texts);
    return status;
}
