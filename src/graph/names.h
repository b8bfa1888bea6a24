/* The name table of a graph: a hash table from name to value, and a counter for fresh names. */
#ifndef HKI_GRAPH_NAMES_H
#define HKI_GRAPH_NAMES_H

#include "graph/graph.h"

typedef struct hki_names hki_names;

hk_status hki_names_create(hki_names **out) HK_MUST_USE;
void hki_names_free(hki_names *names);
hk_value *hki_names_find(const hki_names *names, const char *name);
/** Adds a value under its name, which must be free. */
hk_status hki_names_add(hki_names *names, hk_value *value) HK_MUST_USE;
void hki_names_remove(hki_names *names, const hk_value *value);
/** Returns 2, 3, ... on successive calls, for making fresh names. */
int64_t hki_names_next_number(hki_names *names);

#endif
