/* A table from names to numbers, for what a file refers to by name. Names are borrowed. */
#ifndef HKI_FORMATS_ONNX_NAMES_H
#define HKI_FORMATS_ONNX_NAMES_H

#include "base/memory.h"

typedef struct hki_onnx_names {
    struct hki_onnx_name {
        const char *name;
        uint64_t hash;
        int64_t number;
    } *slots;
    size_t capacity, count; /* capacity is a power of two, or 0 */
} hki_onnx_names;

/** Returns the number stored under a name, or -1. */
int64_t hki_onnx_names_find(const hki_onnx_names *names, const char *name);
/** Stores a number (>= 0) under a name. If the name is there, it keeps its number, and *out_old (may be NULL) is set to
 * it, else to -1. */
hk_status hki_onnx_names_add(hki_onnx_names *names, const char *name, int64_t number, int64_t *out_old) HK_MUST_USE;
void hki_onnx_names_free(hki_onnx_names *names);

#endif
