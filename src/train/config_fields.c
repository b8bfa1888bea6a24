/* Blocks of the run file by table. */
#include "train/config_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void *at(void *block, const hki_field *field)
{
    return (char *)block + field->offset;
}

static const void *const_at(const void *block, const hki_field *field)
{
    return (const char *)block + field->offset;
}

/* A list field: a pointer, and an int that counts it right behind. */
typedef struct list {
    const void *elements;
    int count;
} list;

void hki_fields_defaults(void *block, const hki_field *fields)
{
    for (; fields->key; fields++) {
        void *to = at(block, fields);
        switch (fields->kind) {
        case HKI_FIELD_DOUBLE:
            *(double *)to = fields->fallback;
            break;
        case HKI_FIELD_PAIR:
            ((double *)to)[0] = fields->fallback;
            ((double *)to)[1] = fields->second;
            break;
        case HKI_FIELD_INT:
            *(int64_t *)to = (int64_t)fields->fallback;
            break;
        case HKI_FIELD_BOOL:
            *(bool *)to = fields->fallback != 0;
            break;
        case HKI_FIELD_CHOICE:
            *(int *)to = (int)fields->fallback;
            break;
        case HKI_FIELD_STRING:
            *(const char **)to = NULL;
            break;
        default:
            *(list *)to = (list){NULL, 0};
        }
    }
}

/* ---- Reading. ---- */

static hk_status check_range(const hki_field *field, const hki_json *value, double number)
{
    if (!isfinite(number) || (field->low < field->high && (number < field->low || number > field->high)))
        return hki_json_error(HK_INVALID_CONFIG, value, "expected a number from %g to %g, found %g", field->low,
                              field->high, number);
    return NULL;
}

static hk_status read_double(double *out, const hki_field *field, const hki_json *value)
{
    HK_TRY(hki_json_get_double(out, value));
    return check_range(field, value, *out);
}

static hk_status read_choice(int *out, const hki_field *field, const hki_json *value)
{
    const char *name;
    HK_TRY(hki_json_get_string(&name, value));
    size_t count = 0;
    for (; field->choices[count]; count++)
        if (!strcmp(field->choices[count], name)) {
            *out = (int)count;
            return NULL;
        }
    const char *nearest = hki_nearest_name(name, field->choices, count);
    hki_text all = {0};
    for (size_t i = 0; i < count; i++)
        hki_text_printf(&all, "%s%s", i ? ", " : "", field->choices[i]);
    hk_status status = hki_text_status(&all);
    if (!status)
        status =
            nearest
                ? hki_json_error(HK_INVALID_CONFIG, value, "unknown value '%s'; did you mean '%s'?", name, nearest)
                : hki_json_error(HK_INVALID_CONFIG, value, "unknown value '%s'; expected one of %s", name, all.data);
    hki_text_free(&all);
    return status;
}

static hk_status read_element(void *to, int64_t i, const hki_field *field, const hki_json *value)
{
    if (field->kind == HKI_FIELD_STRINGS)
        return hki_json_get_string(&((const char **)to)[i], value);
    if (field->kind == HKI_FIELD_INTS) {
        int64_t low = field->low < field->high ? (int64_t)field->low : INT64_MIN;
        return hki_json_get_int(&((int64_t *)to)[i], value, low, INT64_MAX);
    }
    return read_double(&((double *)to)[i], field, value);
}

static hk_status read_list(list *out, const hki_field *field, hki_arena *arena, const hki_json *value)
{
    HK_TRY(hki_json_expect(value, HKI_JSON_ARRAY));
    void *elements = hki_arena_array(arena, (size_t)value->count + 1, 8);
    if (!elements)
        return hki_out_of_memory();
    int64_t i = 0;
    for (const hki_json *element = value->first; element; element = element->next)
        HK_TRY(read_element(elements, i++, field, element));
    *out = (list){elements, (int)value->count};
    return NULL;
}

static hk_status read_field(void *to, const hki_field *field, hki_arena *arena, const hki_json *value)
{
    switch (field->kind) {
    case HKI_FIELD_DOUBLE:
        return read_double(to, field, value);
    case HKI_FIELD_INT:
        return hki_json_get_int(to, value, field->low < field->high ? (int64_t)field->low : INT64_MIN,
                                field->low < field->high && field->high < 9e18 ? (int64_t)field->high : INT64_MAX);
    case HKI_FIELD_BOOL:
        return hki_json_get_bool(to, value);
    case HKI_FIELD_STRING:
        return hki_json_get_string(to, value);
    case HKI_FIELD_CHOICE:
        return read_choice(to, field, value);
    case HKI_FIELD_PAIR:
        if (value->type != HKI_JSON_ARRAY || value->count != 2)
            return hki_json_error(HK_INVALID_CONFIG, value, "expected two numbers, found %s",
                                  hki_json_type_name(value));
        HK_TRY(read_double(&((double *)to)[0], field, value->first));
        return read_double(&((double *)to)[1], field, value->first->next);
    default:
        return read_list(to, field, arena, value);
    }
}

hk_status hki_fields_read(void *block, const hki_field *fields, const char *const *others, hki_arena *arena,
                          const hki_json *object)
{
    HK_TRY(hki_json_expect(object, HKI_JSON_OBJECT));
    const char *known[256];
    size_t count = 0;
    for (const hki_field *field = fields; field->key; field++)
        known[count++] = field->key;
    for (; others && *others; others++)
        known[count++] = *others;
    HK_TRY(hki_json_check_keys(object, known, count));
    for (const hki_field *field = fields; field->key; field++) {
        const hki_json *value = hki_json_find(object, field->key);
        if (value && value->type != HKI_JSON_NULL)
            HK_TRY(read_field(at(block, field), field, arena, value));
    }
    return NULL;
}

/* ---- Writing. ---- */

static void write_list(hki_text *text, const hki_field *field, const list *l)
{
    hki_text_printf(text, "[");
    for (int i = 0; i < l->count; i++) {
        if (i)
            hki_text_printf(text, ", ");
        if (field->kind == HKI_FIELD_STRINGS)
            hki_text_json(text, ((const char *const *)l->elements)[i]);
        else if (field->kind == HKI_FIELD_INTS)
            hki_text_printf(text, "%" PRId64, ((const int64_t *)l->elements)[i]);
        else
            hki_json_write_double(text, ((const double *)l->elements)[i]);
    }
    hki_text_printf(text, "]");
}

static void write_value(hki_text *text, const hki_field *field, const void *from)
{
    const double *numbers = from;
    switch (field->kind) {
    case HKI_FIELD_DOUBLE:
        hki_json_write_double(text, *numbers);
        break;
    case HKI_FIELD_PAIR:
        hki_text_printf(text, "[");
        hki_json_write_double(text, numbers[0]);
        hki_text_printf(text, ", ");
        hki_json_write_double(text, numbers[1]);
        hki_text_printf(text, "]");
        break;
    case HKI_FIELD_INT:
        hki_text_printf(text, "%" PRId64, *(const int64_t *)from);
        break;
    case HKI_FIELD_BOOL:
        hki_text_printf(text, *(const bool *)from ? "true" : "false");
        break;
    case HKI_FIELD_CHOICE:
        hki_text_json(text, field->choices[*(const int *)from]);
        break;
    case HKI_FIELD_STRING:
        hki_text_json(text, *(const char *const *)from);
        break;
    default:
        write_list(text, field, from);
    }
}

/* What was not given and has no value is left out, so that the effective config reads back as itself. */
static bool is_absent(const hki_field *field, const void *from)
{
    if (field->kind == HKI_FIELD_STRING)
        return !*(const char *const *)from;
    if (field->kind == HKI_FIELD_DOUBLE)
        return isnan(*(const double *)from);
    return field->kind >= HKI_FIELD_STRINGS && !((const list *)from)->elements;
}

void hki_fields_write(hki_text *text, const void *block, const hki_field *fields, int indent, bool *first)
{
    for (; fields->key; fields++) {
        const void *from = const_at(block, fields);
        if (is_absent(fields, from))
            continue;
        hki_text_printf(text, "%s\n%*s", *first ? "" : ",", indent, "");
        *first = false;
        hki_text_json(text, fields->key);
        hki_text_printf(text, ": ");
        write_value(text, fields, from);
    }
}
