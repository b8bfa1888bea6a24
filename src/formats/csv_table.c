/* CSV: tables of numbers. One pass over the records; features grow in one block that then becomes the tensor's memory.
 * Class labels are numbered in the order of their first appearance and renumbered at the end, in the order of their
 * names, so that the numbers do not depend on the order of the rows. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/csv.h"
#include "formats/decimal.h"

typedef struct class_entry {
    const char *name;
    int64_t number;
    bool whole; /* the name is a whole number >= 0 */
} class_entry;

typedef struct builder {
    const hki_csv_options *options;
    hki_csv csv;
    hki_arena *arena;
    const char **names; /* of all columns */
    int64_t width;      /* all columns */
    int64_t label;      /* index of the label column, -1: none */
    bool *skip;         /* columns that are no features */
    int64_t features;
    int64_t rows;
    float *values;
    size_t value_capacity;
    float *targets;
    size_t target_capacity;
    int64_t *labels;
    size_t label_capacity;
    class_entry *classes;
    size_t class_count, class_capacity;
    int64_t *slots; /* hash table over classes: index + 1, 0 is free */
    size_t slot_count;
} builder;

/* What a message shows of a cell: at most 40 bytes. */
static int shown(const hki_csv_cell *cell)
{
    return (int)(cell->length < 40 ? cell->length : 40);
}

static void trim(hki_csv_cell *cell)
{
    while (cell->length && (*cell->text == ' ' || *cell->text == '\t')) {
        cell->text++;
        cell->length--;
    }
    while (cell->length && (cell->text[cell->length - 1] == ' ' || cell->text[cell->length - 1] == '\t'))
        cell->length--;
}

static hk_status cell_error(const builder *b, int64_t column, const char *expected)
{
    const hki_csv_cell *cell = &b->csv.cells[column];
    if (!cell->length)
        return HK_ERR(HK_INVALID_DATA, "%s:%" PRId64 ": column '%s': expected %s, found an empty cell", b->csv.name,
                      b->csv.line, b->names[column], expected);
    return HK_ERR(HK_INVALID_DATA, "%s:%" PRId64 ": column '%s': expected %s, found '%.*s'", b->csv.name, b->csv.line,
                  b->names[column], expected, shown(cell), cell->text);
}

/* Reads "nan", "inf", "infinity" in any case, with a sign. */
static bool read_special(float *out, const hki_csv_cell *cell)
{
    static const struct {
        const char *text;
        float value;
    } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}, {"na", NAN}};
    bool sign = cell->length && (*cell->text == '-' || *cell->text == '+');
    const char *text = cell->text + sign;
    size_t length = cell->length - sign;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == length && !strncasecmp(words[i].text, text, length)) {
            *out = sign && *cell->text == '-' ? -words[i].value : words[i].value;
            return true;
        }
    return false;
}

static hk_status read_number(float *out, const builder *b, int64_t column)
{
    hki_csv_cell *cell = &b->csv.cells[column];
    trim(cell);
    hki_decimal decimal;
    if (cell->length && hki_decimal_read(&decimal, cell->text, cell->length) == cell->length) {
        *out = (float)decimal.value;
        return isinf(*out) ? cell_error(b, column, "a number within float32") : NULL;
    }
    float value = NAN;
    bool special = !cell->length || read_special(&value, cell);
    if (special && b->options->allow_not_finite) {
        *out = value;
        return NULL;
    }
    return cell_error(b, column, special ? "a finite number" : "a number");
}

static size_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the slot of a class name, free or taken. */
static int64_t *find_slot(const builder *b, const char *text, size_t length)
{
    size_t mask = b->slot_count - 1, i = hash_text(text, length) & mask;
    for (; b->slots[i]; i = (i + 1) & mask) {
        const char *name = b->classes[b->slots[i] - 1].name;
        if (!strncmp(name, text, length) && !name[length])
            break;
    }
    return &b->slots[i];
}

static hk_status grow_slots(builder *b)
{
    size_t count = b->slot_count ? b->slot_count * 2 : 64;
    int64_t *slots = hki_alloc_array(count, sizeof *slots);
    if (!slots)
        return hki_out_of_memory();
    hki_free(b->slots);
    b->slots = slots;
    b->slot_count = count;
    for (size_t i = 0; i < b->class_count; i++)
        *find_slot(b, b->classes[i].name, strlen(b->classes[i].name)) = (int64_t)i + 1;
    return NULL;
}

/* Adds a class; its name is copied. */
static hk_status add_class(builder *b, const char *text, size_t length)
{
    if (b->class_count * 2 >= b->slot_count)
        HK_TRY(grow_slots(b));
    HK_TRY(hki_array_grow(&b->classes, &b->class_capacity, b->class_count + 1, sizeof *b->classes));
    class_entry *entry = &b->classes[b->class_count];
    entry->name = hki_arena_strndup(b->arena, text, length);
    if (!entry->name)
        return hki_out_of_memory();
    hki_decimal decimal;
    entry->whole =
        length && hki_decimal_read(&decimal, text, length) == length && decimal.is_integer && decimal.integer >= 0;
    entry->number = entry->whole ? decimal.integer : 0;
    *find_slot(b, text, length) = (int64_t)++b->class_count;
    return NULL;
}

static hk_status unknown_class(const builder *b, int64_t column)
{
    char text[96];
    const hki_csv_cell *cell = &b->csv.cells[column];
    const char *nearest = NULL;
    if (cell->length < sizeof text) {
        memcpy(text, cell->text, cell->length);
        text[cell->length] = '\0';
        nearest = hki_nearest_name(text, b->options->classes, (size_t)b->options->class_count);
    }
    return HK_ERR(HK_INVALID_DATA,
                  "%s:%" PRId64 ": column '%s': expected one of %" PRId64 " known classes, found '%.*s'%s%s%s",
                  b->csv.name, b->csv.line, b->names[column], b->options->class_count, shown(cell), cell->text,
                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* With a given list of classes, a whole number may stand for a name: true if the cell is one in range. */
static bool read_index(int64_t *out, const builder *b, const hki_csv_cell *cell)
{
    hki_decimal decimal;
    if (hki_decimal_read(&decimal, cell->text, cell->length) != cell->length || !decimal.is_integer)
        return false;
    *out = decimal.integer;
    return decimal.integer >= 0 && decimal.integer < b->options->class_count;
}

/* Stores the class of this row: for now its index in the order of appearance, which is that of a given list. */
static hk_status read_class(builder *b)
{
    hki_csv_cell *cell = &b->csv.cells[b->label];
    if (!cell->quoted)
        trim(cell);
    if (!cell->length)
        return cell_error(b, b->label, "a class");
    if (memchr(cell->text, 0, cell->length))
        return HK_ERR(HK_INVALID_DATA, "%s:%" PRId64 ": column '%s': expected text, found a NUL byte", b->csv.name,
                      b->csv.line, b->names[b->label]);
    int64_t label = *find_slot(b, cell->text, cell->length) - 1;
    if (label < 0 && !b->options->classes) {
        HK_TRY(add_class(b, cell->text, cell->length));
        label = (int64_t)b->class_count - 1;
    } else if (label < 0 && !read_index(&label, b, cell)) {
        return unknown_class(b, b->label);
    }
    HK_TRY(hki_array_grow(&b->labels, &b->label_capacity, (size_t)b->rows + 1, sizeof *b->labels));
    b->labels[b->rows] = label;
    return NULL;
}

static hk_status read_row(builder *b)
{
    if ((int64_t)b->csv.count != b->width)
        return HK_ERR(HK_INVALID_DATA, "%s:%" PRId64 ": expected %" PRId64 " cells as in the first line, found %zu",
                      b->csv.name, b->csv.line, b->width, b->csv.count);
    size_t needed;
    if (!hki_size_mul(&needed, (size_t)b->rows + 1, (size_t)b->features))
        return hki_out_of_memory();
    HK_TRY(hki_array_grow(&b->values, &b->value_capacity, needed, sizeof *b->values));
    float *to = b->values + b->rows * b->features;
    for (int64_t i = 0; i < b->width; i++)
        if (!b->skip[i])
            HK_TRY(read_number(to++, b, i));
    if (b->label >= 0 && b->options->label_is_number) {
        HK_TRY(hki_array_grow(&b->targets, &b->target_capacity, (size_t)b->rows + 1, sizeof *b->targets));
        HK_TRY(read_number(&b->targets[b->rows], b, b->label));
    } else if (b->label >= 0) {
        HK_TRY(read_class(b));
    }
    b->rows++;
    return NULL;
}

/* Finds a column by name; -1 if there is none. */
static int64_t find_column(const builder *b, const char *name)
{
    for (int64_t i = 0; i < b->width; i++)
        if (!strcmp(b->names[i], name))
            return i;
    return -1;
}

static hk_status no_column(const builder *b, const char *name)
{
    const char *nearest = hki_nearest_name(name, b->names, (size_t)b->width);
    return HK_ERR(HK_INVALID_DATA, "%s: expected a column '%s', found none of that name%s%s%s", b->csv.name, name,
                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Names the columns and decides what each is for. */
static hk_status read_columns(builder *b)
{
    b->width = (int64_t)b->csv.count;
    b->names = hki_arena_array(b->arena, b->csv.count, sizeof *b->names);
    b->skip = hki_arena_array(b->arena, b->csv.count, sizeof *b->skip);
    if (!b->names || !b->skip)
        return hki_out_of_memory();
    for (int64_t i = 0; i < b->width; i++) {
        hki_csv_cell *cell = &b->csv.cells[i];
        trim(cell);
        b->names[i] = b->options->no_header ? hki_arena_printf(b->arena, "%" PRId64, i + 1)
                                            : hki_arena_strndup(b->arena, cell->text, cell->length);
        if (!b->names[i])
            return hki_out_of_memory();
    }
    b->label = b->options->label ? find_column(b, b->options->label) : -1;
    if (b->options->label && b->label < 0)
        return no_column(b, b->options->label);
    if (b->label >= 0)
        b->skip[b->label] = true;
    for (int64_t i = 0; i < b->options->ignore_count; i++) {
        int64_t column = find_column(b, b->options->ignore[i]);
        if (column < 0)
            return no_column(b, b->options->ignore[i]);
        b->skip[column] = true;
    }
    for (int64_t i = 0; i < b->width; i++)
        b->features += !b->skip[i];
    if (!b->features)
        return HK_ERR(HK_INVALID_DATA, "%s: expected at least one feature column, found none", b->csv.name);
    return NULL;
}

static hk_status read_table(builder *b)
{
    bool more;
    HK_TRY(hki_csv_next(&b->csv, &more));
    if (!more)
        return HK_ERR(HK_INVALID_DATA, "%s: expected a table, found an empty file", b->csv.name);
    HK_TRY(read_columns(b));
    if (b->label >= 0 && !b->options->label_is_number) {
        HK_TRY(grow_slots(b));
        for (int64_t i = 0; i < b->options->class_count && b->options->classes; i++)
            HK_TRY(add_class(b, b->options->classes[i], strlen(b->options->classes[i])));
    }
    if (b->options->no_header)
        HK_TRY(read_row(b));
    for (;;) {
        HK_TRY(hki_csv_next(&b->csv, &more));
        if (!more)
            break;
        HK_TRY(read_row(b));
    }
    return b->rows
               ? NULL
               : HK_ERR(HK_INVALID_DATA, "%s: expected at least one row behind the header, found none", b->csv.name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Gives the labels their final numbers: whole numbers stay what they are, other classes count in the order of their
 * names. */
static hk_status finish_classes(hki_csv_table *out, builder *b)
{
    bool whole = !b->options->classes;
    for (size_t i = 0; i < b->class_count; i++)
        whole &= b->classes[i].whole;
    if (!whole) {
        out->class_count = (int64_t)b->class_count;
        out->classes = hki_arena_array(b->arena, b->class_count, sizeof *out->classes);
        if (!out->classes)
            return hki_out_of_memory();
        for (size_t i = 0; i < b->class_count; i++) {
            out->classes[i] = b->classes[i].name;
            b->classes[i].number = (int64_t)i;
        }
        if (!b->options->classes) { /* a given list has an order of its own */
            qsort(out->classes, b->class_count, sizeof *out->classes, compare_names);
            for (size_t i = 0; i < b->class_count; i++)
                b->classes[*find_slot(b, out->classes[i], strlen(out->classes[i])) - 1].number = (int64_t)i;
        }
    }
    for (size_t i = 0; i < b->class_count && whole; i++)
        if (b->classes[i].number >= out->class_count && b->classes[i].number < INT64_MAX)
            out->class_count = b->classes[i].number + 1;
    for (int64_t i = 0; i < b->rows; i++)
        b->labels[i] = b->classes[b->labels[i]].number;
    return NULL;
}

/* Makes a tensor of a grown block, which it takes over on success. */
static hk_status take_block(hk_tensor **out, void **block, size_t size, hk_dtype dtype, int rank, const int64_t *dims)
{
    hki_buffer *buffer;
    HK_TRY(hki_buffer_foreign(&buffer, *block, size, hki_free, *block));
    void *data = *block;
    *block = NULL;
    hk_status status = hki_tensor_view(out, buffer, data, dtype, rank, dims);
    hki_buffer_release(buffer);
    return status;
}

static hk_status finish(hki_csv_table *out, builder *b)
{
    out->columns = hki_arena_array(b->arena, (size_t)b->features, sizeof *out->columns);
    if (!out->columns)
        return hki_out_of_memory();
    for (int64_t i = 0; i < b->width; i++)
        if (!b->skip[i])
            out->columns[out->column_count++] = b->names[i];
    void *values = b->values, *targets = b->targets, *labels = b->labels;
    b->values = b->targets = NULL;
    hk_status status = NULL;
    if (labels) {
        status = finish_classes(out, b);
        b->labels = NULL;
    }
    if (!status)
        status = take_block(&out->features, &values, b->value_capacity * sizeof(float), HK_FLOAT, 2,
                            (int64_t[]){b->rows, b->features});
    if (!status && targets)
        status = take_block(&out->labels, &targets, b->target_capacity * sizeof(float), HK_FLOAT, 1, &b->rows);
    if (!status && labels)
        status = take_block(&out->labels, &labels, b->label_capacity * sizeof(int64_t), HK_INT64, 1, &b->rows);
    hki_free(values);
    hki_free(targets);
    hki_free(labels);
    return status;
}

hk_status hki_csv_table_parse(hki_csv_table *out, const char *data, size_t size, const char *name,
                              const hki_csv_options *options)
{
    *out = (hki_csv_table){0};
    builder b = {.options = options};
    HK_TRY(hki_arena_create(&out->arena));
    b.arena = out->arena;
    hki_csv_start(&b.csv, data, size, name, options->separator);
    hk_status status = read_table(&b);
    if (!status)
        status = finish(out, &b);
    hki_csv_stop(&b.csv);
    hki_free(b.values);
    hki_free(b.targets);
    hki_free(b.labels);
    hki_free(b.classes);
    hki_free(b.slots);
    if (status)
        hki_csv_table_free(out);
    return status;
}

hk_status hki_csv_table_load(hki_csv_table *out, const char *path, const hki_csv_options *options)
{
    *out = (hki_csv_table){0};
    hki_map map;
    HK_TRY(hki_map_open(&map, path));
    hk_status status = hki_csv_table_parse(out, (const char *)map.data, map.size, path, options);
    hki_map_close(&map);
    return status;
}

void hki_csv_table_free(hki_csv_table *table)
{
    hk_tensor_free(table->features);
    hk_tensor_free(table->labels);
    hki_arena_free(table->arena);
    *table = (hki_csv_table){0};
}
