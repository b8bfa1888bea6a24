/* Strings: a growing buffer, and the nearest known name for "did you mean". */
#ifndef HKI_BASE_TEXT_H
#define HKI_BASE_TEXT_H

#include "base/memory.h"

/** A growing string. Start with {0}. After an allocation fails it ignores further writes; ask hki_text_status once. */
typedef struct hki_text {
    char *data; /* NUL-terminated once anything was written; may be NULL */
    size_t length, capacity;
    bool failed;
} hki_text;

void hki_text_printf(hki_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hki_text_append(hki_text *text, const char *data, size_t length);
/** Appends as a JSON string with quotes and escapes. */
void hki_text_json(hki_text *text, const char *string);
/** Appends with &, <, >, " escaped for HTML. */
void hki_text_html(hki_text *text, const char *string);
hk_status hki_text_status(const hki_text *text) HK_MUST_USE;
void hki_text_free(hki_text *text);

/** Returns the name nearest to `name` by edit distance (at most a third of its length, ignoring case), or NULL. */
const char *hki_nearest_name(const char *name, const char *const *names, size_t count);

/** True if `name` matches a pattern with * and ? (whole string). */
bool hki_glob_match(const char *pattern, const char *name);

#endif
