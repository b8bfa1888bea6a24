/* JSON: typed access to values with errors that name the place, and the writer. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/decimal.h"
#include "formats/json.h"

const char *hki_json_type_name(const hki_json *value)
{
    switch (value->type) {
    case HKI_JSON_NULL:
        return "null";
    case HKI_JSON_BOOL:
        return value->boolean ? "true" : "false";
    case HKI_JSON_NUMBER:
        return "a number";
    case HKI_JSON_STRING:
        return "a string";
    case HKI_JSON_ARRAY:
        return "an array";
    case HKI_JSON_OBJECT:
        return "an object";
    }
    return "nothing";
}

/* Appends the way to a value: "optimizer.params.betas[1]"; nothing for the root. */
static void append_path(hki_text *text, const hki_json *value)
{
    const hki_json *chain[HKI_JSON_DEPTH + 2];
    int depth = 0;
    for (; value->parent && depth < HKI_JSON_DEPTH + 2; value = value->parent)
        chain[depth++] = value;
    for (int i = depth - 1; i >= 0; i--) {
        if (chain[i]->key)
            hki_text_printf(text, "%s%s", i == depth - 1 ? "" : ".", chain[i]->key);
        else
            hki_text_printf(text, "[%" PRId64 "]", chain[i]->index);
    }
    if (depth)
        hki_text_append(text, ": ", 2);
}

hk_status hki_json_error(hk_code code, const hki_json *value, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    hki_text path = {0};
    append_path(&path, value);
    hk_status status = hki_text_status(&path);
    if (!status)
        status = HK_ERR(code, "%s:%d:%d: %s%s", value->file, value->line, value->column, path.data ? path.data : "",
                        message);
    hki_text_free(&path);
    return status;
}

/* The failure of a value of the wrong type; short values are shown. */
static hk_status wrong_type(const hki_json *value, const char *wanted)
{
    char number[HKI_DECIMAL_TEXT];
    if (value->type == HKI_JSON_STRING && strlen(value->string) <= 40)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected %s, found the string \"%s\"", wanted, value->string);
    if (value->type == HKI_JSON_NUMBER)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected %s, found %s", wanted,
                              hki_decimal_text(number, value->number));
    return hki_json_error(HK_INVALID_CONFIG, value, "expected %s, found %s", wanted, hki_json_type_name(value));
}

hk_status hki_json_get_double(double *out, const hki_json *value)
{
    if (value->type != HKI_JSON_NUMBER)
        return wrong_type(value, "a number");
    *out = value->number;
    return NULL;
}

hk_status hki_json_get_int(int64_t *out, const hki_json *value, int64_t low, int64_t high)
{
    if (value->type != HKI_JSON_NUMBER || !value->is_integer)
        return wrong_type(value, "a whole number");
    if (value->integer < low && high == INT64_MAX)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected at least %" PRId64 ", found %" PRId64, low,
                              value->integer);
    if (value->integer < low || value->integer > high)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected %" PRId64 " to %" PRId64 ", found %" PRId64, low,
                              high, value->integer);
    *out = value->integer;
    return NULL;
}

hk_status hki_json_get_bool(bool *out, const hki_json *value)
{
    if (value->type != HKI_JSON_BOOL)
        return wrong_type(value, "true or false");
    *out = value->boolean;
    return NULL;
}

hk_status hki_json_get_string(const char **out, const hki_json *value)
{
    if (value->type != HKI_JSON_STRING)
        return wrong_type(value, "a string");
    *out = value->string;
    return NULL;
}

hk_status hki_json_expect(const hki_json *value, hki_json_type type)
{
    hki_json sample = {.type = type};
    return value->type == type ? NULL : wrong_type(value, hki_json_type_name(&sample));
}

hk_status hki_json_check_keys(const hki_json *object, const char *const *known, size_t count)
{
    HK_TRY(hki_json_expect(object, HKI_JSON_OBJECT));
    for (const hki_json *member = object->first; member; member = member->next) {
        size_t i = 0;
        while (i < count && strcmp(known[i], member->key))
            i++;
        if (i < count)
            continue;
        const char *nearest = hki_nearest_name(member->key, known, count);
        if (nearest)
            return hki_json_error(HK_INVALID_CONFIG, member, "unknown key; did you mean \"%s\"?", nearest);
        return hki_json_error(HK_INVALID_CONFIG, member, "unknown key");
    }
    return NULL;
}

void hki_json_write_double(hki_text *text, double value)
{
    char number[HKI_DECIMAL_TEXT];
    hki_text_printf(text, "%s", isfinite(value) ? hki_decimal_text(number, value) : "null");
}

static void indent(hki_text *text, int level)
{
    hki_text_printf(text, "\n%*s", 2 * level, "");
}

static void write_level(hki_text *text, const hki_json *value, int level);

static void write_items(hki_text *text, const hki_json *list, int level)
{
    bool object = list->type == HKI_JSON_OBJECT, lines = object;
    for (const hki_json *item = list->first; item; item = item->next)
        lines |= item->first != NULL;
    lines &= list->first != NULL;
    hki_text_append(text, object ? "{" : "[", 1);
    for (const hki_json *item = list->first; item; item = item->next) {
        if (item != list->first)
            hki_text_printf(text, lines ? "," : ", ");
        if (lines)
            indent(text, level + 1);
        if (object) {
            hki_text_json(text, item->key);
            hki_text_append(text, ": ", 2);
        }
        write_level(text, item, level + 1);
    }
    if (lines)
        indent(text, level);
    hki_text_append(text, object ? "}" : "]", 1);
}

static void write_level(hki_text *text, const hki_json *value, int level)
{
    switch (value->type) {
    case HKI_JSON_NULL:
    case HKI_JSON_BOOL:
        hki_text_printf(text, "%s", hki_json_type_name(value));
        break;
    case HKI_JSON_NUMBER:
        if (value->is_integer && !(value->integer == 0 && signbit(value->number)))
            hki_text_printf(text, "%" PRId64, value->integer);
        else
            hki_json_write_double(text, value->number);
        break;
    case HKI_JSON_STRING:
        hki_text_json(text, value->string);
        break;
    default:
        write_items(text, value, level);
        break;
    }
}

void hki_json_write(hki_text *text, const hki_json *value)
{
    write_level(text, value, 0);
}
