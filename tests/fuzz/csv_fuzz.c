/* Any bytes as a CSV table, read in several ways, and as a list of class names: a result or a status. */
#include <stdlib.h>

#include "formats/csv.h"
#include "formats/label.h"
#include "fuzz.h"

static void read_table(const uint8_t *data, size_t size, const hki_csv_options *options)
{
    hki_csv_table table;
    hk_status status = hki_csv_table_parse(&table, (const char *)data, size, "fuzz.csv", options);
    if (!status && table.classes)
        for (int64_t i = 0; i < table.features->dims[0]; i++) {
            int64_t label = ((const int64_t *)table.labels->data)[i];
            if (label < 0 || label >= table.class_count)
                abort();
        }
    hk_status_free(status);
    hki_csv_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const classes[] = {"cat", "dog"}, *const ignore[] = {"1"};
    static const hki_csv_options ways[] = {
        {.label = "kind"},
        {.label = "kind", .classes = classes, .class_count = 2},
        {.no_header = true, .label = "2", .ignore = ignore, .ignore_count = 1},
        {.separator = ';', .no_header = true, .allow_not_finite = true},
        {.label = "y", .label_is_number = true, .allow_not_finite = true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        read_table(data, size, &ways[i]);
    hki_arena *arena;
    if (hki_arena_create(&arena))
        return 0;
    const char **names;
    int64_t count;
    hk_status_free(hki_labels_parse(&names, &count, arena, (const char *)data, size, "fuzz.txt"));
    hki_arena_free(arena);
    return 0;
}
