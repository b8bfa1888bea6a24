/* Open addressing with linear probing, at most half full; see onnx_names.h. */
#include "formats/onnx_names.h"

#include <string.h>

/* FNV-1a, mixed once more so that the low bits depend on all. */
static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = (hash ^ *c) * 0x100000001b3u;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static struct hki_onnx_name *find_slot(const hki_onnx_names *names, const char *name, uint64_t hash)
{
    size_t mask = names->capacity - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct hki_onnx_name *slot = &names->slots[i];
        if (!slot->name || (slot->hash == hash && !strcmp(slot->name, name)))
            return slot;
    }
}

int64_t hki_onnx_names_find(const hki_onnx_names *names, const char *name)
{
    if (!names->capacity)
        return -1;
    const struct hki_onnx_name *slot = find_slot(names, name, hash_name(name));
    return slot->name ? slot->number : -1;
}

static hk_status grow(hki_onnx_names *names)
{
    size_t capacity = names->capacity ? names->capacity * 2 : 64;
    hki_onnx_names bigger = {hki_alloc_array(capacity, sizeof *bigger.slots), capacity, names->count};
    if (!bigger.slots)
        return hki_out_of_memory();
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].name)
            *find_slot(&bigger, names->slots[i].name, names->slots[i].hash) = names->slots[i];
    hki_free(names->slots);
    *names = bigger;
    return NULL;
}

hk_status hki_onnx_names_add(hki_onnx_names *names, const char *name, int64_t number, int64_t *out_old)
{
    if (2 * (names->count + 1) > names->capacity)
        HK_TRY(grow(names));
    uint64_t hash = hash_name(name);
    struct hki_onnx_name *slot = find_slot(names, name, hash);
    if (out_old)
        *out_old = slot->name ? slot->number : -1;
    if (slot->name)
        return NULL;
    *slot = (struct hki_onnx_name){name, hash, number};
    names->count++;
    return NULL;
}

void hki_onnx_names_free(hki_onnx_names *names)
{
    hki_free(names->slots);
    *names = (hki_onnx_names){0};
}
