/* Class names in a text file, one per line. */
#ifndef HKI_FORMATS_LABEL_H
#define HKI_FORMATS_LABEL_H

#include "base/memory.h"

/** Reads names into the arena; spaces at both ends are cut, empty lines at the end ignored. HK_INVALID_FILE names the
 * line of an empty or repeated name. */
hk_status hki_labels_load(const char ***out, int64_t *out_count, hki_arena *arena, const char *path) HK_MUST_USE;
/** As hki_labels_load from memory; `name` is for messages. */
hk_status hki_labels_parse(const char ***out, int64_t *out_count, hki_arena *arena, const char *text, size_t size,
                           const char *name) HK_MUST_USE;

#endif
