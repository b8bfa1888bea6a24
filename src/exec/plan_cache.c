/* The cache of plans. */
#include "exec/plan_cache.h"

#include <string.h>

hk_status hki_plan_cache_create(hki_plan_cache *out, const hk_graph *graph, hki_context *context, int capacity,
                                bool profile)
{
    *out = (hki_plan_cache){graph, context, profile, NULL, 0, capacity > 0 ? capacity : 1};
    out->plans = hki_alloc_array((size_t)out->capacity, sizeof *out->plans);
    return out->plans ? NULL : hki_out_of_memory();
}

static void free_entry(hki_cached_plan *entry)
{
    hki_plan_free(entry->plan);
    hki_free(entry->inputs);
}

void hki_plan_cache_clear(hki_plan_cache *cache)
{
    for (int i = 0; i < cache->count; i++)
        free_entry(&cache->plans[i]);
    hki_free(cache->plans);
    *cache = (hki_plan_cache){0};
}

static bool same_types(const hki_type *a, const hki_type *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i].rank != b[i].rank || a[i].dtype != b[i].dtype ||
            (a[i].rank > 0 && memcmp(a[i].dims, b[i].dims, (size_t)a[i].rank * sizeof *a[i].dims)))
            return false;
    return true;
}

static void move_to_front(hki_plan_cache *cache, int i)
{
    hki_cached_plan entry = cache->plans[i];
    memmove(&cache->plans[1], &cache->plans[0], (size_t)i * sizeof entry);
    cache->plans[0] = entry;
}

static hk_status make_plan(hki_plan_cache *cache, const hki_type *inputs)
{
    size_t count = (size_t)cache->graph->input_count;
    hki_cached_plan entry = {.inputs = hki_alloc_array(count + 1, sizeof *entry.inputs)};
    if (!entry.inputs)
        return hki_out_of_memory();
    memcpy(entry.inputs, inputs, count * sizeof *inputs);
    hk_status status = hki_plan_create(&entry.plan, cache->graph, cache->context, inputs, cache->profile);
    if (status) {
        hki_free(entry.inputs);
        return status;
    }
    if (cache->count == cache->capacity)
        free_entry(&cache->plans[--cache->count]);
    cache->plans[cache->count] = entry;
    move_to_front(cache, cache->count++);
    return NULL;
}

hk_status hki_plan_cache_find(hki_plan **out, hki_plan_cache *cache, const hki_type *inputs)
{
    for (int i = 0; i < cache->count; i++)
        if (same_types(cache->plans[i].inputs, inputs, cache->graph->input_count)) {
            move_to_front(cache, i);
            *out = cache->plans[0].plan;
            return NULL;
        }
    HK_TRY(make_plan(cache, inputs));
    *out = cache->plans[0].plan;
    return NULL;
}
