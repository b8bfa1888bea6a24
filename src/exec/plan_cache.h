/* A bounded cache of plans of one graph by input types; the least recently used goes first. */
#ifndef HKI_EXEC_PLAN_CACHE_H
#define HKI_EXEC_PLAN_CACHE_H

#include "exec/plan.h"

typedef struct hki_cached_plan {
    hki_plan *plan;
    hki_type *inputs; /* per graph input: the types it was made for */
} hki_cached_plan;

typedef struct hki_plan_cache {
    const hk_graph *graph;
    hki_context *context;
    bool profile;
    hki_cached_plan *plans; /* most recently used first */
    int count, capacity;
} hki_plan_cache;

hk_status hki_plan_cache_create(hki_plan_cache *out, const hk_graph *graph, hki_context *context, int capacity,
                                bool profile) HK_MUST_USE;
void hki_plan_cache_clear(hki_plan_cache *cache);
/** Returns the plan for these input types (one per graph input), from the cache or new; borrowed until the next call.
 */
hk_status hki_plan_cache_find(hki_plan **out, hki_plan_cache *cache, const hki_type *inputs) HK_MUST_USE;

#endif
