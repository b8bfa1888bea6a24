/* CSV: the reader of records. Cells point into the text; only cells with doubled quotes are copied. */
#include "formats/csv.h"

#include <inttypes.h>
#include <string.h>

void hki_csv_start(hki_csv *csv, const char *data, size_t size, const char *name, char separator)
{
    *csv = (hki_csv){
        .at = data, .end = data + size, .name = name, .separator = separator ? separator : ',', .next_line = 1};
    if (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
        csv->at += 3;
}

void hki_csv_stop(hki_csv *csv)
{
    hki_free(csv->cells);
    hki_free(csv->scratch);
    *csv = (hki_csv){0};
}

static bool line_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Steps over \n, \r\n or \r. */
static void skip_line_end(hki_csv *csv)
{
    if (csv->end - csv->at >= 2 && csv->at[0] == '\r' && csv->at[1] == '\n')
        csv->at++;
    csv->at++;
    csv->next_line++;
}

/* Reads a quoted cell from behind its opening quote on. */
static hk_status read_quoted(hki_csv_cell *cell, hki_csv *csv)
{
    int64_t start_line = csv->next_line;
    cell->quoted = true;
    cell->text = csv->at;
    for (;;) {
        if (csv->at >= csv->end)
            return HK_ERR(HK_INVALID_FILE,
                          "%s:%" PRId64 ": expected '\"' at the end of a quoted cell, found the end of the file",
                          csv->name, start_line);
        if (line_end(*csv->at)) {
            skip_line_end(csv);
            continue;
        }
        if (*csv->at++ != '"')
            continue;
        if (csv->at >= csv->end || *csv->at != '"')
            break;
        cell->doubled = true;
        csv->at++;
    }
    cell->length = (size_t)(csv->at - 1 - cell->text);
    if (csv->at < csv->end && *csv->at != csv->separator && !line_end(*csv->at))
        return HK_ERR(HK_INVALID_FILE,
                      "%s:%" PRId64 ": expected '%c' or the end of the line behind a quoted cell, found '%c'",
                      csv->name, csv->next_line, csv->separator, *csv->at);
    return NULL;
}

static hk_status read_plain(hki_csv_cell *cell, hki_csv *csv)
{
    cell->text = csv->at;
    for (; csv->at < csv->end && *csv->at != csv->separator && !line_end(*csv->at); csv->at++)
        if (*csv->at == '"')
            return HK_ERR(HK_INVALID_FILE,
                          "%s:%" PRId64 ": expected quotes around the whole cell, found '\"' inside it", csv->name,
                          csv->next_line);
    cell->length = (size_t)(csv->at - cell->text);
    return NULL;
}

/* Copies the cells that hold doubled quotes, undoubled, and lets them point to the copies. */
static hk_status undouble(hki_csv *csv)
{
    size_t size = 0;
    for (size_t i = 0; i < csv->count; i++)
        size += csv->cells[i].doubled ? csv->cells[i].length : 0;
    if (!size)
        return NULL;
    HK_TRY(hki_array_grow(&csv->scratch, &csv->scratch_size, size, 1));
    char *to = csv->scratch;
    for (size_t i = 0; i < csv->count; i++) {
        hki_csv_cell *cell = &csv->cells[i];
        if (!cell->doubled)
            continue;
        const char *from = cell->text, *end = from + cell->length;
        cell->text = to;
        while (from < end) {
            *to++ = *from;
            from += *from == '"' ? 2 : 1;
        }
        cell->length = (size_t)(to - cell->text);
        cell->doubled = false;
    }
    return NULL;
}

hk_status hki_csv_next(hki_csv *csv, bool *out_more)
{
    *out_more = false;
    csv->count = 0;
    while (csv->at < csv->end && line_end(*csv->at))
        skip_line_end(csv);
    if (csv->at >= csv->end)
        return NULL;
    csv->line = csv->next_line;
    for (;;) {
        HK_TRY(hki_array_grow(&csv->cells, &csv->capacity, csv->count + 1, sizeof *csv->cells));
        hki_csv_cell *cell = &csv->cells[csv->count];
        *cell = (hki_csv_cell){0};
        if (csv->at < csv->end && *csv->at == '"') {
            csv->at++;
            HK_TRY(read_quoted(cell, csv));
        } else {
            HK_TRY(read_plain(cell, csv));
        }
        csv->count++;
        if (csv->at >= csv->end)
            break;
        if (line_end(*csv->at)) {
            skip_line_end(csv);
            break;
        }
        csv->at++; /* the separator */
    }
    HK_TRY(undouble(csv));
    *out_more = true;
    return NULL;
}
