/* A block of the run file as a table: one row per key says where its value goes, its kind, default and range. From the
 * same rows come reading, checking, the nearest-name error and the effective config, so they cannot disagree. */
#ifndef HKI_TRAIN_CONFIG_FIELDS_H
#define HKI_TRAIN_CONFIG_FIELDS_H

#include <stddef.h>

#include "formats/json.h"

typedef enum hki_field_kind {
    HKI_FIELD_DOUBLE,
    HKI_FIELD_INT,    /* int64_t */
    HKI_FIELD_BOOL,
    HKI_FIELD_STRING, /* NULL if not given */
    HKI_FIELD_CHOICE, /* enum (int): one of the names in `choices` */
    HKI_FIELD_PAIR,   /* double[2] */
    HKI_FIELD_STRINGS, /* const char *const *, followed in the struct by an int count */
    HKI_FIELD_INTS,    /* const int64_t *, followed by an int count */
    HKI_FIELD_DOUBLES, /* const double *, followed by an int count */
} hki_field_kind;

typedef struct hki_field {
    const char *key;
    hki_field_kind kind;
    size_t offset;
    double fallback;          /* number kinds; CHOICE: the index; PAIR: the first */
    double low, high;         /* allowed range, both included; low == high: any */
    const char *const *choices; /* CHOICE: names, ends with NULL */
    double second;            /* PAIR: default of the second */
} hki_field;

/** Sets every field of a block to its default. Rows end with key NULL. */
void hki_fields_defaults(void *block, const hki_field *fields);
/** Reads an object into a block: unknown keys, wrong types and values out of range are errors. Keys in `others`
 * (NULL-terminated; may be NULL) are left to the caller. */
hk_status hki_fields_read(void *block, const hki_field *fields, const char *const *others, hki_arena *arena,
                          const hki_json *object) HK_MUST_USE;
/** Appends the block's keys and values as members of a JSON object, each on a line with this indent; `first` says that
 * none was written yet. */
void hki_fields_write(hki_text *text, const void *block, const hki_field *fields, int indent, bool *first);

#endif
