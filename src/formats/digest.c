/* Digests of weights: tensors are collected from a graph or a safetensors file, put in the order of their names, and
 * hashed. */
#include "halka/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "formats/safetensors.h"
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

static item item_of(const char *name, const hk_tensor *t)
{
    item result = {name, hk_dtype_name(t->dtype), t->rank, {0}, hk_tensor_const_data(t), hk_tensor_size(t)};
    memcpy(result.dims, t->dims, sizeof result.dims);
    return result;
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
        else
            items[i] = item_of(hk_value_name(value), t);
    }
    if (!status)
        digest_items(out, items, (size_t)count);
    hki_free(items);
    return status;
}

static hk_status digest_safetensors(hk_digest *out, const char *path)
{
    hki_safetensors *file;
    HK_TRY(hki_safetensors_open(&file, path));
    int64_t count = hki_safetensors_count(file);
    item *items = hki_alloc_array((size_t)count + 1, sizeof *items);
    for (int64_t i = 0; i < count && items; i++)
        items[i] = item_of(hki_safetensors_name(file, i), hki_safetensors_at(file, i));
    if (items)
        digest_items(out, items, (size_t)count);
    hki_free(items);
    hki_safetensors_close(file);
    return items ? NULL : hki_out_of_memory();
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
