/* Open addressing with linear probing; at most half full. Removal re-inserts the rest of the cluster, so there are no
 * tombstones. */
#include "graph/names.h"

#include <string.h>

struct hki_names {
    hk_value **slots;
    size_t capacity, count; /* capacity is a power of two */
    int64_t next_number;
};

/* FNV-1a, 64 bit. */
static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static size_t slot_of(hk_value *const *slots, size_t capacity, const char *name)
{
    size_t i = hash(name) & (capacity - 1);
    while (slots[i] && strcmp(slots[i]->name, name))
        i = (i + 1) & (capacity - 1);
    return i;
}

hk_status hki_names_create(hki_names **out)
{
    *out = hki_alloc_array(1, sizeof **out);
    if (!*out)
        return hki_out_of_memory();
    (*out)->capacity = 64;
    (*out)->next_number = 2;
    (*out)->slots = hki_alloc_array(64, sizeof(hk_value *));
    if ((*out)->slots)
        return NULL;
    hki_free(*out);
    *out = NULL;
    return hki_out_of_memory();
}

void hki_names_free(hki_names *names)
{
    if (!names)
        return;
    hki_free(names->slots);
    hki_free(names);
}

hk_value *hki_names_find(const hki_names *names, const char *name)
{
    return names->slots[slot_of(names->slots, names->capacity, name)];
}

static hk_status grow(hki_names *names)
{
    size_t capacity = names->capacity * 2;
    hk_value **slots = hki_alloc_array(capacity, sizeof *slots);
    if (!slots)
        return hki_out_of_memory();
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i])
            slots[slot_of(slots, capacity, names->slots[i]->name)] = names->slots[i];
    hki_free(names->slots);
    names->slots = slots;
    names->capacity = capacity;
    return NULL;
}

hk_status hki_names_add(hki_names *names, hk_value *value)
{
    if (2 * (names->count + 1) > names->capacity)
        HK_TRY(grow(names));
    size_t i = slot_of(names->slots, names->capacity, value->name);
    HK_ASSERT(!names->slots[i]);
    names->slots[i] = value;
    names->count++;
    return NULL;
}

void hki_names_remove(hki_names *names, const hk_value *value)
{
    size_t mask = names->capacity - 1, i = slot_of(names->slots, names->capacity, value->name);
    if (names->slots[i] != value)
        return;
    names->slots[i] = NULL;
    names->count--;
    for (i = (i + 1) & mask; names->slots[i]; i = (i + 1) & mask) {
        hk_value *moved = names->slots[i];
        names->slots[i] = NULL;
        names->slots[slot_of(names->slots, names->capacity, moved->name)] = moved;
    }
}

int64_t hki_names_next_number(hki_names *names)
{
    return names->next_number++;
}
