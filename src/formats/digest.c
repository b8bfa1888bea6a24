/* Digests of weights: tensors are collected from a graph or a safetensors file, put in the order of their names, and
 * hashed. */
#include "halka/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sha256.h"
#include "formats/json.h"
#include "halka/model.h"
#include "tensor/tensor.h"

/* One tensor, wherever it lies. */
typedef struct item {
    const char *name, *type;
    int rank;
    int64_t dims[HK_MAX_RANK];
    const void *data;
    size_t size;
} item;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const item *)a)->name, ((const item *)b)->name);
}

static void digest_items(hk_digest *out, item *items, size_t count)
{
    hki_sha256 sha;
    hki_sha256_start(&sha);
    qsort(items, count, sizeof *items, by_name);
    *out = (hk_digest){.tensors = (int64_t)count};
    for (size_t i = 0; i < count; i++) {
        const item *t = &items[i];
        char dims[24 * HK_MAX_RANK] = "";
        int length = 0;
        for (int d = 0; d < t->rank; d++)
            length +=
                snprintf(dims + length, sizeof dims - (size_t)length, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        hki_sha256_add(&sha, t->name, strlen(t->name) + 1);
        hki_sha256_add(&sha, t->type, strlen(t->type) + 1);
        hki_sha256_add(&sha, dims, (size_t)length + 1);
        hki_sha256_add(&sha, t->data, t->size);
        out->bytes += t->size;
    }
    hki_sha256_finish(out->text, &sha);
}

hk_status hk_digest_graph(hk_digest *out, const hk_graph *graph)
{
    int count = hk_graph_constant_count(graph);
    item *items = hki_alloc_array((size_t)count + 1, sizeof *items);
    if (!items)
        return hki_out_of_memory();
    hk_status status = NULL;
    for (int i = 0; i < count && !status; i++) {
        const hk_value *value = hk_graph_constant_at(graph, i);
        const hk_tensor *t = hk_value_tensor(value);
        if (hk_tensor_dtype(t) == HK_STRING)
            status = HK_ERR(HK_UNSUPPORTED, "'%s' holds strings; only numbers are digested", hk_value_name(value));
        items[i] = (item){.name = hk_value_name(value), .type = hk_dtype_name(hk_tensor_dtype(t)), .rank = t->rank};
        memcpy(items[i].dims, t->dims, sizeof items[i].dims);
        items[i].data = hk_tensor_const_data(t);
        items[i].size = hk_tensor_size(t);
    }
    if (!status)
        digest_items(out, items, (size_t)count);
    hki_free(items);
    return status;
}

/* ---- safetensors: 8 bytes length of the header, the header (JSON), the elements. ---- */

static const char *type_name(const char *name)
{
    static const char *const pairs[][2] = {
        {"F32", "float32"}, {"F64", "float64"}, {"F16", "float16"}, {"BF16", "bfloat16"}, {"I64", "int64"},
        {"I32", "int32"},   {"I16", "int16"},   {"I8", "int8"},     {"U64", "uint64"},    {"U32", "uint32"},
        {"U16", "uint16"},  {"U8", "uint8"},    {"BOOL", "bool"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strcmp(pairs[i][0], name))
            return pairs[i][1];
    return name;
}

static hk_status read_item(item *out, const hki_json *entry, const unsigned char *data, size_t size)
{
    const hki_json *shape = hki_json_find(entry, "shape"), *offsets = hki_json_find(entry, "data_offsets");
    const char *type;
    int64_t begin, end;
    if (!shape || shape->type != HKI_JSON_ARRAY || shape->count > HK_MAX_RANK || !offsets || offsets->count != 2 ||
        !hki_json_find(entry, "dtype"))
        return hki_json_error(HK_INVALID_FILE, entry, "expected dtype, shape and data_offsets");
    HK_TRY(hki_json_get_string(&type, hki_json_find(entry, "dtype")));
    HK_TRY(hki_json_get_int(&begin, offsets->first, 0, (int64_t)size));
    HK_TRY(hki_json_get_int(&end, offsets->first->next, begin, (int64_t)size));
    *out = (item){.name = entry->key, .type = type_name(type), .data = data + begin, .size = (size_t)(end - begin)};
    for (const hki_json *dim = shape->first; dim; dim = dim->next)
        HK_TRY(hki_json_get_int(&out->dims[out->rank++], dim, 0, INT64_MAX));
    return NULL;
}

static hk_status digest_header(hk_digest *out, hki_arena *arena, const hki_map *map, size_t header, const char *path)
{
    hki_json *root;
    HK_TRY(hki_json_parse(&root, arena, (const char *)map->data + 8, header, path));
    HK_TRY(hki_json_expect(root, HKI_JSON_OBJECT));
    item *items = hki_arena_array(arena, (size_t)root->count + 1, sizeof *items);
    if (!items)
        return hki_out_of_memory();
    size_t count = 0;
    for (const hki_json *entry = root->first; entry; entry = entry->next)
        if (strcmp(entry->key, "__metadata__"))
            HK_TRY(read_item(&items[count++], entry, map->data + 8 + header, map->size - 8 - header));
    digest_items(out, items, count);
    return NULL;
}

static hk_status digest_safetensors(hk_digest *out, const char *path)
{
    hki_map map;
    hki_arena *arena;
    HK_TRY(hki_map_open(&map, path));
    uint64_t header = 0;
    for (size_t i = 8; map.size >= 8 && i > 0; i--)
        header = header << 8 | map.data[i - 1];
    hk_status status = NULL;
    if (map.size < 8 || header > map.size - 8)
        status = HK_ERR(HK_INVALID_FILE, "%s: expected a safetensors header, the file has %zu bytes", path, map.size);
    if (!status)
        status = hki_arena_create(&arena);
    if (!status) {
        status = digest_header(out, arena, &map, (size_t)header, path);
        hki_arena_free(arena);
    }
    hki_map_close(&map);
    return status;
}

hk_status hk_digest_file(hk_digest *out, const char *path)
{
    const char *suffix = strrchr(path, '.');
    if (suffix && !strcmp(suffix, ".safetensors"))
        return digest_safetensors(out, path);
    hk_graph *graph;
    HK_TRY(hk_model_load(&graph, path));
    hk_status status = hk_digest_graph(out, graph);
    hk_graph_free(graph);
    return status;
}
