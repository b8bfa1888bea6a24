/* CSV: RFC 4180, tables with labels of all kinds, every bad cell named by line and column, damage at every offset. */
#include "formats/csv.h"
#include "harness/test.h"

/* Joins all cells: cells by '|', records by '/'. */
static hk_status join(char *out, const char *text, char separator)
{
    hki_csv csv;
    bool more = true;
    hk_status status = NULL;
    hki_csv_start(&csv, text, strlen(text), "a.csv", separator);
    *out = '\0';
    while (!status && more) {
        status = hki_csv_next(&csv, &more);
        for (size_t i = 0; !status && i < csv.count; i++) {
            sprintf(out + strlen(out), "%s%.*s", i ? "|" : "", (int)csv.cells[i].length, csv.cells[i].text);
        }
        if (!status && more)
            strcat(out, "/");
    }
    hki_csv_stop(&csv);
    return status;
}

TEST(records)
{
    char out[256];
    CHECK_OK(join(out, "a,b\n1,2", 0));
    CHECK_STR(out, "a|b/1|2/");
    CHECK_OK(join(out,
                  "\xef\xbb\xbf"
                  "a,,b,\r\n\r\n\n1,\"x,\"\"y\"\"\r\nz\"\r2\n",
                  0));
    CHECK_STR(out, "a||b|/1|x,\"y\"\r\nz/2/");
    CHECK_OK(join(out, "\"\",\"\"\"\"\n", 0));
    CHECK_STR(out, "|\"/");
    CHECK_OK(join(out, "a;b,c\n", ';'));
    CHECK_STR(out, "a|b,c/");
    CHECK_OK(join(out, "", 0));
    CHECK_STR(out, "");
    CHECK_FAILS(join(out, "a\n\"b\n\n", 0), HK_INVALID_FILE, "a.csv:2: expected '\"' at the end of a quoted cell");
    CHECK_FAILS(join(out, "a\n\"b\"c\n", 0), HK_INVALID_FILE,
                "a.csv:2: expected ',' or the end of the line behind a quoted cell, found 'c'");
    CHECK_FAILS(join(out, "a\nb\"c\n", 0), HK_INVALID_FILE, "a.csv:2: expected quotes around the whole cell");
}

static hk_status parse(hki_csv_table *out, const char *text, const hki_csv_options *options)
{
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    hk_status status = hki_csv_table_parse(out, copy, size, "a.csv", options);
    free(copy);
    return status;
}

TEST(table)
{
    hki_csv_table t;
    hki_csv_options o = {.label = "kind"};
    REQUIRE_OK(parse(&t, "x, kind ,y\n1,cat,2.5\n-1e1, dog,+3\n\"4\",\"ape\",.5\n1,cat,0\n", &o));
    CHECK(t.features->dims[0] == 4 && t.features->dims[1] == 2);
    CHECK_BYTES(t.features->data, ((float[]){1, 2.5f, -10, 3, 4, 0.5f, 1, 0}), 32);
    CHECK_BYTES(t.labels->data, ((int64_t[]){1, 2, 0, 1}), 32);
    CHECK_EQ(t.class_count, 3);
    CHECK_STR(t.classes[0], "ape");
    CHECK_STR(t.classes[2], "dog");
    CHECK(t.column_count == 2);
    CHECK_STR(t.columns[1], "y");
    hki_csv_table_free(&t);
    o = (hki_csv_options){.label = "2", .no_header = true};
    REQUIRE_OK(parse(&t, "1,3\n2,0\n3,3\n", &o));
    CHECK_BYTES(t.labels->data, ((int64_t[]){3, 0, 3}), 24);
    CHECK(t.class_count == 4 && !t.classes);
    hki_csv_table_free(&t);
    o = (hki_csv_options){.label = "y", .label_is_number = true, .ignore = (const char *[]){"id"}, .ignore_count = 1};
    REQUIRE_OK(parse(&t, "id,x,y\na7,1,0.5\nb8,2,1.5\n", &o));
    CHECK(t.labels->dtype == HK_FLOAT && t.features->dims[1] == 1);
    CHECK_BYTES(t.labels->data, ((float[]){0.5f, 1.5f}), 8);
    hki_csv_table_free(&t);
    o = (hki_csv_options){.label = "y", .classes = (const char *[]){"no", "maybe"}, .class_count = 2};
    REQUIRE_OK(parse(&t, "x,y\n1,maybe\n", &o));
    CHECK_EQ(*(int64_t *)t.labels->data, 1);
    hki_csv_table_free(&t);
    REQUIRE_OK(parse(&t, "x,y\n1,1\n2,maybe\n3,0\n", &o)); /* numbers may stand for names */
    CHECK_BYTES(t.labels->data, ((int64_t[]){1, 1, 0}), 24);
    hki_csv_table_free(&t);
    CHECK_FAILS(parse(&t, "x,y\n1,2\n", &o), HK_INVALID_DATA, "expected one of 2 known classes, found '2'");
    CHECK_FAILS(parse(&t, "x,y\n1,maybe\n2,mayb\n", &o), HK_INVALID_DATA,
                "a.csv:3: column 'y': expected one of 2 known classes, found 'mayb'; did you mean 'maybe'?");
}

TEST(bad_cells_are_named)
{
    hki_csv_table t;
    hki_csv_options o = {0};
    CHECK_FAILS(parse(&t, "age,\"in come\"\n1,2\n3,old\n", &o), HK_INVALID_DATA,
                "a.csv:3: column 'in come': expected a number, found 'old'");
    CHECK_FAILS(parse(&t, "a,b\n1,\n", &o), HK_INVALID_DATA,
                "a.csv:2: column 'b': expected a finite number, found an empty cell");
    CHECK_FAILS(parse(&t, "a,b\n1,NaN\n", &o), HK_INVALID_DATA,
                "a.csv:2: column 'b': expected a finite number, found 'NaN'");
    CHECK_FAILS(parse(&t, "a,b\n-inf,1\n", &o), HK_INVALID_DATA, "column 'a': expected a finite number, found '-inf'");
    CHECK_FAILS(parse(&t, "a,b\n1e39,1\n", &o), HK_INVALID_DATA,
                "column 'a': expected a number within float32, found '1e39'");
    CHECK_FAILS(parse(&t, "a,b\n1,2,3\n", &o), HK_INVALID_DATA,
                "a.csv:2: expected 2 cells as in the first line, found 3");
    CHECK_FAILS(parse(&t, "a,b\n\"1\n\",2\n\n1\n", &o), HK_INVALID_DATA, "a.csv:2: column 'a': expected a number");
    CHECK_FAILS(parse(&t, "a,b\n\n\n1\n", &o), HK_INVALID_DATA,
                "a.csv:4: expected 2 cells as in the first line, found 1");
    CHECK_FAILS(parse(&t, "a,b\n1,1 2\n", &o), HK_INVALID_DATA, "found '1 2'");
    CHECK_FAILS(parse(&t, "a,b\n1,0x10\n", &o), HK_INVALID_DATA, "found '0x10'");
    CHECK_FAILS(parse(&t, "a,b\n", &o), HK_INVALID_DATA, "expected at least one row");
    CHECK_FAILS(parse(&t, "", &o), HK_INVALID_DATA, "found an empty file");
    o.label = "labl";
    CHECK_FAILS(parse(&t, "a,label\n1,2\n", &o), HK_INVALID_DATA,
                "a.csv: expected a column 'labl', found none of that name; did you mean 'label'?");
    o.label = "a";
    CHECK_FAILS(parse(&t, "a\n1\n", &o), HK_INVALID_DATA, "expected at least one feature column");
    CHECK_FAILS(parse(&t, "a,b\n,1\n", &o), HK_INVALID_DATA, "column 'a': expected a class, found an empty cell");
    CHECK(t.features == NULL && t.arena == NULL);
    o = (hki_csv_options){.allow_not_finite = true};
    REQUIRE_OK(parse(&t, "a,b\n-inf,\nnan,+Infinity\n", &o));
    const float *x = t.features->data;
    CHECK(x[0] == -INFINITY && isnan(x[1]) && isnan(x[2]) && x[3] == INFINITY);
    hki_csv_table_free(&t);
}

TEST(many_rows_and_classes)
{
    size_t size = 0, room = (size_t)1 << 20;
    char *text = malloc(room);
    size += (size_t)sprintf(text, "v,c\n");
    for (int i = 0; i < 20000; i++)
        size += (size_t)sprintf(text + size, "%d.25,k%d\n", i, i % 700);
    hki_csv_table t;
    hki_csv_options o = {.label = "c"};
    REQUIRE_OK(hki_csv_table_parse(&t, text, size, "a.csv", &o));
    CHECK(t.features->dims[0] == 20000 && t.class_count == 700);
    for (int i = 0; i < 20000; i += 13) {
        char name[16];
        sprintf(name, "k%d", i % 700);
        CHECK_STR(t.classes[((int64_t *)t.labels->data)[i]], name);
        CHECK(((float *)t.features->data)[i] == (float)i + 0.25f);
    }
    hki_csv_table_free(&t);
    free(text);
}

static const char sample[] = "x,kind,\"y\"\n1,cat,2.5\n-1e1,\"do\"\"g\",3\n";

TEST(truncated_and_flipped_at_every_offset)
{
    hki_csv_table t;
    hki_csv_options o = {.label = "kind"};
    for (size_t n = 0; n < sizeof sample; n++) {
        char copy[sizeof sample] = {0};
        memcpy(copy, sample, n);
        hk_status_free(parse(&t, copy, &o));
        hki_csv_table_free(&t);
    }
    for (size_t i = 0; i < 8 * (sizeof sample - 1); i++) {
        char copy[sizeof sample];
        memcpy(copy, sample, sizeof sample);
        copy[i / 8] ^= (char)(1 << i % 8);
        hk_status_free(parse(&t, copy, &o));
        hki_csv_table_free(&t);
    }
}

TEST(memory_exhausted)
{
    hki_csv_options o = {.label = "kind"};
    for (int n = 1; n < 30; n++) {
        hki_csv_table t;
        hki_memory_fail_at(n);
        hk_status status = parse(&t, sample, &o);
        hki_memory_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY);
        hk_status_free(status);
        hki_csv_table_free(&t);
    }
}

TEST_MAIN()
