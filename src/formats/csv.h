/* CSV (RFC 4180): a reader of records, and a table of numbers with an optional label column.
 *
 * Quoted cells may hold separators, line ends and doubled quotes; records end with \n, \r\n or \r; blank lines are
 * skipped; a byte order mark is ignored. The file is mapped, never copied, so its size does not matter. */
#ifndef HKI_FORMATS_CSV_H
#define HKI_FORMATS_CSV_H

#include "tensor/tensor.h"

typedef struct hki_csv_cell {
    const char *text; /* not NUL-terminated */
    size_t length;
    bool quoted, doubled; /* doubled: holds "" for one quote; never true in a record handed out */
} hki_csv_cell;

/** A reader over bytes in memory. */
typedef struct hki_csv {
    const char *at, *end;
    const char *name;
    char separator;
    int64_t next_line; /* line that begins at `at` */
    int64_t line;      /* where the current record begins; from 1 */
    hki_csv_cell *cells;
    size_t count, capacity;
    char *scratch;
    size_t scratch_size;
} hki_csv;

/** Starts reading; data and name must outlive the reader. separator 0 is ','. */
void hki_csv_start(hki_csv *csv, const char *data, size_t size, const char *name, char separator);
/** Reads the next record into csv->cells and count; *out_more is false at the end. Cells are valid until the next call.
 */
hk_status hki_csv_next(hki_csv *csv, bool *out_more) HK_MUST_USE;
void hki_csv_stop(hki_csv *csv);

typedef struct hki_csv_options {
    char separator;             /* 0: ',' */
    bool no_header;             /* the first record is data; columns are named "1", "2", ... */
    bool allow_not_finite;      /* nan and inf are numbers, an empty cell is NaN; otherwise they are errors */
    const char *label;          /* the label column by name; NULL: none */
    bool label_is_number;       /* regression: labels are float32. Otherwise class indices, int64 */
    const char *const *classes; /* known class names: a label that is neither one of them nor the number of one is an
                                   error. NULL: collected from the file */
    int64_t class_count;
    const char *const *ignore; /* columns to leave out */
    int64_t ignore_count;
} hki_csv_options;

typedef struct hki_csv_table {
    hki_arena *arena;     /* holds the names */
    hk_tensor *features;  /* float32 (rows, columns) */
    hk_tensor *labels;    /* (rows), or NULL */
    const char **columns; /* names of the feature columns */
    int64_t column_count;
    const char **classes; /* names of the classes in byte order; NULL if the labels are whole numbers, which are used as
                             they are */
    int64_t class_count;
} hki_csv_table;

/** Reads a whole table. HK_INVALID_DATA on a cell that is no finite number: "a.csv:12: column 'age': expected a number,
 * found 'x'". Free with hki_csv_table_free. */
hk_status hki_csv_table_parse(hki_csv_table *out, const char *data, size_t size, const char *name,
                              const hki_csv_options *options) HK_MUST_USE;
hk_status hki_csv_table_load(hki_csv_table *out, const char *path, const hki_csv_options *options) HK_MUST_USE;
void hki_csv_table_free(hki_csv_table *table);

#endif
