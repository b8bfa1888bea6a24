/* JSON (RFC 8259): a strict reader that remembers where everything stood, and a writer.
 *
 * The run file, safetensors headers and server requests are read with it. Every value knows its line and column, so
 * that an error can say "run.json:12:5: optimizer.params.lr: expected a number, found a string". Strict: no comments,
 * no trailing commas, no duplicate keys, valid UTF-8; "\u0000" is refused, so that strings are C strings. Nesting is
 * limited to HKI_JSON_DEPTH. */
#ifndef HKI_FORMATS_JSON_H
#define HKI_FORMATS_JSON_H

#include "base/text.h"

#define HKI_JSON_DEPTH 100

typedef enum hki_json_type {
    HKI_JSON_NULL,
    HKI_JSON_BOOL,
    HKI_JSON_NUMBER,
    HKI_JSON_STRING,
    HKI_JSON_ARRAY,
    HKI_JSON_OBJECT
} hki_json_type;

/** One value. Iterate over an array or object with: for (const hki_json *v = a->first; v; v = v->next). */
typedef struct hki_json hki_json;
struct hki_json {
    hki_json_type type;
    bool boolean;
    bool is_integer;  /* number: `integer` is its exact value; also 5e8 and 2.0 */
    int line, column; /* from 1; columns count characters */
    const char *file; /* name for messages */
    const char *key;  /* of a member of an object; NULL in arrays */
    int64_t index;    /* position in its array or object */
    int64_t integer;
    double number;
    const char *string;
    int64_t count; /* of elements or members */
    hki_json *first, *next, *parent;
    hki_json **slots;  /* large objects: hash table from key to member */
    size_t slot_count; /* power of two */
};

/** Parses `size` bytes. Everything lives in `arena`; `text` is not needed afterwards. file_name is for messages.
 * HK_INVALID_FILE with "run.json:12:5: expected ',' or '}', found 'x'". */
hk_status hki_json_parse(hki_json **out, hki_arena *arena, const char *text, size_t size,
                         const char *file_name) HK_MUST_USE;

/** Finds a member of an object; NULL if absent, or if `object` is no object or NULL. */
const hki_json *hki_json_find(const hki_json *object, const char *key);
/** Returns "an object", "a string", "a whole number" and the like, for messages. */
const char *hki_json_type_name(const hki_json *value);

/** Creates a failure at a value: "file:line:column: path: message". */
hk_status hki_json_error(hk_code code, const hki_json *value, const char *format, ...) HK_MUST_USE
    __attribute__((format(printf, 3, 4)));

/* Typed access. A wrong type or range is HK_INVALID_CONFIG with the place. Strings are borrowed from the arena. */
hk_status hki_json_get_double(double *out, const hki_json *value) HK_MUST_USE;
hk_status hki_json_get_int(int64_t *out, const hki_json *value, int64_t low, int64_t high) HK_MUST_USE;
hk_status hki_json_get_bool(bool *out, const hki_json *value) HK_MUST_USE;
hk_status hki_json_get_string(const char **out, const hki_json *value) HK_MUST_USE;
/** Checks that a value is an array or an object. */
hk_status hki_json_expect(const hki_json *value, hki_json_type type) HK_MUST_USE;
/** Checks that an object has no keys but these; names the nearest known one otherwise. */
hk_status hki_json_check_keys(const hki_json *object, const char *const *known, size_t count) HK_MUST_USE;

/** Writes a value; indented by two spaces per level, each member on its own line. Arrays of plain values stay on one
 * line. */
void hki_json_write(hki_text *text, const hki_json *value);
/** Writes a number so that it reads back as the same double; null if it is not finite (JSON has no such numbers). */
void hki_json_write_double(hki_text *text, double value);

#endif
