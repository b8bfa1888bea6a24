/* safetensors: reading. The header is JSON; every number in it is checked against the size of the file before use. */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/bytes.h"
#include "formats/json.h"
#include "formats/safetensors_types.h"

#define HEADER_LIMIT 100000000 /* as the reference implementation */

typedef struct entry {
    const char *name;
    uint64_t begin, end;
    hk_tensor *tensor;
} entry;

struct hki_safetensors {
    hki_arena *arena;
    const char *file;
    entry *entries; /* sorted by name */
    int64_t count;
    const hki_json *metadata;
    hki_buffer *buffer; /* the mapped file; NULL over memory of somebody else */
};

static hk_status read_offsets(entry *e, const hki_json *value, uint64_t limit)
{
    const hki_json *offsets = hki_json_find(value, "data_offsets");
    if (!offsets || offsets->type != HKI_JSON_ARRAY || offsets->count != 2)
        return hki_json_error(HK_INVALID_FILE, value, "expected \"data_offsets\": [begin, end]");
    const hki_json *begin = offsets->first, *end = begin->next;
    if (!begin->is_integer || !end->is_integer || begin->integer < 0 || end->integer < begin->integer)
        return hki_json_error(HK_INVALID_FILE, offsets, "expected two whole numbers, 0 <= begin <= end");
    if ((uint64_t)end->integer > limit)
        return hki_json_error(HK_INVALID_FILE, offsets,
                              "expected offsets up to %" PRIu64 ", found %" PRId64 " (truncated file?)", limit,
                              end->integer);
    e->begin = (uint64_t)begin->integer;
    e->end = (uint64_t)end->integer;
    return NULL;
}

static hk_status read_shape(int *out_rank, int64_t *dims, const hki_json *value)
{
    const hki_json *shape = hki_json_find(value, "shape");
    if (!shape || shape->type != HKI_JSON_ARRAY || shape->count > HK_MAX_RANK)
        return hki_json_error(HK_INVALID_FILE, value, "expected \"shape\": an array of at most %d numbers",
                              HK_MAX_RANK);
    for (const hki_json *dim = shape->first; dim; dim = dim->next) {
        if (!dim->is_integer || dim->integer < 0)
            return hki_json_error(HK_INVALID_FILE, dim, "expected a dimension of at least 0");
        dims[dim->index] = dim->integer;
    }
    *out_rank = (int)shape->count;
    return NULL;
}

/* Makes the tensor over the file's bytes, or over a copy where they are not aligned. */
static hk_status make_tensor(entry *e, const hki_safetensors *file, const unsigned char *data, hk_dtype dtype, int rank,
                             const int64_t *dims)
{
    const unsigned char *begin = data + e->begin;
    size_t size = hk_dtype_size(dtype), align = dtype == HK_COMPLEX64 ? 4 : size;
    if ((uintptr_t)begin % align || (HKI_HOST_BIG && size > 1)) {
        HK_TRY(hk_tensor_from(&e->tensor, begin, dtype, rank, dims));
        if (HKI_HOST_BIG)
            hki_swap_bytes(e->tensor->data, dtype, hk_tensor_count(e->tensor));
        return NULL;
    }
    return hki_tensor_view(&e->tensor, file->buffer, (void *)begin, dtype, rank, dims);
}

static hk_status read_entry(entry *e, const hki_safetensors *file, const hki_json *value, const unsigned char *data,
                            uint64_t limit)
{
    int rank = 0;
    int64_t dims[HK_MAX_RANK], count;
    size_t size;
    char text[HKI_SHAPE_TEXT];
    if (value->type != HKI_JSON_OBJECT)
        return hki_json_error(HK_INVALID_FILE, value, "expected an object, found %s", hki_json_type_name(value));
    const hki_json *type = hki_json_find(value, "dtype");
    if (!type || type->type != HKI_JSON_STRING)
        return hki_json_error(HK_INVALID_FILE, value, "expected \"dtype\": a string");
    hk_dtype dtype = hki_safetensors_dtype(type->string);
    if (!dtype)
        return hki_json_error(HK_UNSUPPORTED, type, "expected a type that halka knows, found \"%.20s\"", type->string);
    HK_TRY(read_shape(&rank, dims, value));
    HK_TRY(read_offsets(e, value, limit));
    HK_TRY_CTX(hki_shape_check(&count, &size, dtype, rank, dims), "%s: tensor '%s'", file->file, value->key);
    if (e->end - e->begin != size)
        return hki_json_error(HK_INVALID_FILE, value, "expected %zu bytes for %s, found offsets of %" PRIu64, size,
                              hki_shape_text(text, dtype, rank, dims), e->end - e->begin);
    e->name = value->key;
    return make_tensor(e, file, data, dtype, rank, dims);
}

static int compare_offsets(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* The tensors must cover the data from begin to end, without holes and overlaps. */
static hk_status check_cover(hki_safetensors *file, uint64_t limit)
{
    uint64_t at = 0;
    qsort(file->entries, (size_t)file->count, sizeof(entry), compare_offsets);
    for (int64_t i = 0; i < file->count; i++) {
        if (file->entries[i].begin != at)
            return HK_ERR(HK_INVALID_FILE,
                          "%s: tensor '%s': expected its bytes to begin at offset %" PRIu64 ", found %" PRIu64 " (%s)",
                          file->file, file->entries[i].name, at, file->entries[i].begin,
                          file->entries[i].begin < at ? "overlap" : "hole");
        at = file->entries[i].end;
    }
    if (at != limit)
        return HK_ERR(HK_INVALID_FILE, "%s: expected %" PRIu64 " bytes of elements, found %" PRIu64, file->file, at,
                      limit);
    qsort(file->entries, (size_t)file->count, sizeof(entry), compare_names);
    return NULL;
}

static hk_status read_metadata(hki_safetensors *file, const hki_json *value)
{
    if (value->type != HKI_JSON_OBJECT)
        return hki_json_error(HK_INVALID_FILE, value, "expected an object, found %s", hki_json_type_name(value));
    for (const hki_json *text = value->first; text; text = text->next)
        if (text->type != HKI_JSON_STRING)
            return hki_json_error(HK_INVALID_FILE, text, "expected a string, found %s", hki_json_type_name(text));
    file->metadata = value;
    return NULL;
}

static hk_status read_file(hki_safetensors *file, const unsigned char *data, size_t size)
{
    if (size < 8)
        return HK_ERR(HK_INVALID_FILE, "%s: expected a safetensors file of at least 8 bytes, found %zu (truncated)",
                      file->file, size);
    uint64_t length = hki_read_little64(data);
    if (length > HEADER_LIMIT)
        return HK_ERR(HK_INVALID_FILE,
                      "%s: expected a header of at most %d bytes, found %" PRIu64 " (not a safetensors file?)",
                      file->file, HEADER_LIMIT, length);
    if (length > size - 8)
        return HK_ERR(HK_INVALID_FILE, "%s: expected a header of %" PRIu64 " bytes, found %zu (truncated)", file->file,
                      length, size - 8);
    hki_json *header;
    HK_TRY(hki_json_parse(&header, file->arena, (const char *)data + 8, (size_t)length, file->file));
    if (header->type != HKI_JSON_OBJECT)
        return hki_json_error(HK_INVALID_FILE, header, "expected an object, found %s", hki_json_type_name(header));
    file->entries = hki_arena_array(file->arena, (size_t)header->count, sizeof(entry));
    if (!file->entries)
        return hki_out_of_memory();
    uint64_t limit = size - 8 - length;
    for (const hki_json *value = header->first; value; value = value->next) {
        if (!strcmp(value->key, "__metadata__")) {
            HK_TRY(read_metadata(file, value));
            continue;
        }
        HK_TRY(read_entry(&file->entries[file->count], file, value, data + 8 + length, limit));
        file->count++;
    }
    return check_cover(file, limit);
}

/* Reads from memory; `buffer` (may be NULL) keeps it alive and is retained. */
static hk_status read_from(hki_safetensors **out, hki_buffer *buffer, const unsigned char *data, size_t size,
                           const char *name)
{
    hki_safetensors *file = hki_alloc_array(1, sizeof *file);
    if (!file)
        return hki_out_of_memory();
    file->buffer = hki_buffer_retain(buffer);
    hk_status status = hki_arena_create(&file->arena);
    if (!status) {
        file->file = hki_arena_strdup(file->arena, name);
        status = file->file ? read_file(file, data, size) : hki_out_of_memory();
    }
    if (status) {
        hki_safetensors_close(file);
        return status;
    }
    *out = file;
    return NULL;
}

hk_status hki_safetensors_parse(hki_safetensors **out, const unsigned char *data, size_t size, const char *name)
{
    *out = NULL;
    return read_from(out, NULL, data, size, name);
}

static void release_map(void *context)
{
    hki_map_close(context);
    hki_free(context);
}

hk_status hki_safetensors_open(hki_safetensors **out, const char *path)
{
    *out = NULL;
    hki_map *map = hki_alloc_array(1, sizeof *map);
    if (!map)
        return hki_out_of_memory();
    hk_status status = hki_map_open(map, path);
    if (status) {
        hki_free(map);
        return status;
    }
    hki_buffer *buffer;
    status = hki_buffer_foreign(&buffer, (void *)map->data, map->size, release_map, map);
    if (status) {
        release_map(map);
        return status;
    }
    status = read_from(out, buffer, map->data, map->size, path);
    hki_buffer_release(buffer);
    return status;
}

void hki_safetensors_close(hki_safetensors *file)
{
    if (!file)
        return;
    for (int64_t i = 0; i < file->count; i++)
        hk_tensor_free(file->entries[i].tensor);
    hki_arena_free(file->arena);
    hki_buffer_release(file->buffer);
    hki_free(file);
}

int64_t hki_safetensors_count(const hki_safetensors *file)
{
    return file->count;
}

const char *hki_safetensors_name(const hki_safetensors *file, int64_t index)
{
    return file->entries[index].name;
}

const hk_tensor *hki_safetensors_at(const hki_safetensors *file, int64_t index)
{
    return file->entries[index].tensor;
}

static const entry *find(const hki_safetensors *file, const char *name)
{
    entry key = {.name = name};
    return file->count ? bsearch(&key, file->entries, (size_t)file->count, sizeof(entry), compare_names) : NULL;
}

const hk_tensor *hki_safetensors_find(const hki_safetensors *file, const char *name)
{
    const entry *e = find(file, name);
    return e ? e->tensor : NULL;
}

hk_status hki_safetensors_get(hk_tensor **out, const hki_safetensors *file, const char *name)
{
    *out = NULL;
    const entry *e = find(file, name);
    if (!e)
        return HK_ERR(HK_NOT_FOUND, "%s: expected a tensor '%s', found none of that name among %" PRId64, file->file,
                      name, file->count);
    if (!e->tensor->buffer)
        return hk_tensor_copy(out, e->tensor);
    return hki_tensor_view(out, e->tensor->buffer, e->tensor->data, e->tensor->dtype, e->tensor->rank, e->tensor->dims);
}

const char *hki_safetensors_metadata(const hki_safetensors *file, const char *key)
{
    const hki_json *value = hki_json_find(file->metadata, key);
    return value ? value->string : NULL;
}
