/* Data sets from every source; each kind of bad data with its message. */
#include "base/file.h"
#include "data/dataset_store.h"
#include "formats/npy.h"
#include "harness/test.h"

static const char *const folder = TEST_BINARY_DIR "/dataset_test.dir";

/* Writes a file into the test folder and returns its path (one of four static buffers). */
static const char *put(const char *name, const void *data, size_t size)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 512, "%s/%s", folder, name);
    hki_writer *writer;
    hk_status status = hki_directory_create(folder);
    if (!status)
        status = hki_writer_open(&writer, path);
    if (!status) {
        hki_writer_write(writer, data, size);
        status = hki_writer_commit(writer);
    }
    CHECK_OK(status);
    return path;
}

static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 10, 20, 30, 40, 50, 60};
static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 1};

static hk_status open_idx(hki_dataset **out, const char *images_path, const char *labels_path, int classes,
                          int64_t limit)
{
    return hki_dataset_open(
        out,
        &(hki_dataset_files){
            .images = images_path, .labels = labels_path, .classifies = true, .class_count = classes, .limit = limit});
}

static int64_t class_of(const hki_dataset *d, int64_t index)
{
    int64_t label = -1;
    CHECK_OK(d->read(d, index, NULL, &label));
    return label;
}

TEST(idx)
{
    hki_dataset *d;
    const char *x = put("x", images, sizeof images), *y = put("y", labels, sizeof labels);
    REQUIRE_OK(open_idx(&d, x, y, 0, 0));
    CHECK(d->count == 3 && d->layout == HKI_SAMPLE_HW && d->x_dims[0] == 2 && d->x_dims[1] == 1);
    CHECK(d->x_dtype == HK_UINT8 && d->classifies && d->classes == 3 && d->y_rank == 0 && d->y_dtype == HK_INT64);
    uint8_t sample[2];
    int64_t label, counts[3];
    CHECK_OK(d->read(d, 1, sample, &label));
    CHECK(sample[0] == 30 && sample[1] == 40 && label == 0 && class_of(d, 0) == 2);
    float mean, deviation;
    CHECK_EQ(hki_dataset_channels(d), 1);
    CHECK_OK(hki_dataset_statistics(&mean, &deviation, d, NULL, 3));
    CHECK_CLOSE(mean, 35, 1e-7);
    CHECK_CLOSE(deviation, sqrt(1750 / 6.0), 1e-7);
    CHECK_OK(hki_dataset_statistics(&mean, &deviation, d, (int64_t[]){2}, 1));
    CHECK_CLOSE(mean, 55, 1e-7);
    CHECK_OK(hki_dataset_class_counts(counts, d, (int64_t[]){0, 2, 0}, 3));
    CHECK(counts[0] == 0 && counts[1] == 1 && counts[2] == 2);
    hki_dataset_close(d);
    hki_dataset_files named = {.images = x,
                               .labels = y,
                               .classifies = true,
                               .class_names = (const char *[]){"a", "b", "c"},
                               .class_count = 3,
                               .limit = 2};
    REQUIRE_OK(hki_dataset_open(&d, &named));
    CHECK_EQ(d->count, 2);
    CHECK_STR(d->class_names[2], "c");
    hki_dataset_close(d);
}

TEST(bad_idx)
{
    hki_dataset *d;
    const char *x = put("x", images, sizeof images), *y = put("y", labels, sizeof labels);
    CHECK_FAILS(open_idx(&d, x, y, 2, 0), HK_INVALID_DATA,
                "dataset_test.dir/y: row 0: expected a class from 0 to 1, found 2");
    CHECK(d == NULL);
    CHECK_FAILS(open_idx(&d, x, put("y", "\0\0\x08\1\0\0\0\2\1\1", 10), 0, 0), HK_INVALID_DATA,
                "dir/y: expected 3 labels, one for each sample of ");
    CHECK_FAILS(open_idx(&d, x, put("y", "\0\0\x09\1\0\0\0\3\1\xff\1", 11), 0, 0), HK_INVALID_DATA,
                "row 1: expected a class from 0 to 999999, found -1");
    CHECK_FAILS(open_idx(&d, x, x, 0, 0), HK_INVALID_DATA, "expected one class per sample, found labels uint8[3,2,1]");
    CHECK_FAILS(open_idx(&d, x, "/no/such", 0, 0), HK_NOT_FOUND, "/no/such");
    CHECK_FAILS(open_idx(&d, put("z", "\0\0\x08\1\0\0\0\0", 8), y, 0, 0), HK_INVALID_DATA,
                "at least one sample, found uint8[0]");
    CHECK_FAILS(open_idx(&d, x, NULL, 0, 0), HK_INVALID_CONFIG, "expected \"labels\" beside \"images\"");
    CHECK_FAILS(open_idx(&d, NULL, y, 0, 0), HK_INVALID_CONFIG, "expected \"images\" beside \"labels\"");
    CHECK_FAILS(open_idx(&d, NULL, NULL, 0, 0), HK_INVALID_CONFIG, "found 0 of them");
    hki_dataset_files two = {.images = x, .labels = y, .csv = x};
    CHECK_FAILS(hki_dataset_open(&d, &two), HK_INVALID_CONFIG, "found 2 of them");
}

TEST(npy)
{
    hki_dataset *d;
    char x[512], y[512], nan_path[512];
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(y, sizeof y, "%s/y.npy", folder);
    snprintf(nan_path, sizeof nan_path, "%s/nan.npy", folder);
    float values[] = {1, 2, 3, 4, 5, 6};
    double targets[] = {0.5, -1.5};
    hk_tensor *t;
    REQUIRE_OK(hki_directory_create(folder));
    REQUIRE_OK(hk_tensor_wrap(&t, values, HK_FLOAT, 2, (int64_t[]){2, 3}));
    REQUIRE_OK(hki_npy_save(x, t));
    values[4] = NAN;
    REQUIRE_OK(hki_npy_save(nan_path, t));
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_wrap(&t, targets, HK_DOUBLE, 1, (int64_t[]){2}));
    REQUIRE_OK(hki_npy_save(y, t));
    hk_tensor_free(t);
    hki_dataset_files files = {.x = x, .y = y};
    REQUIRE_OK(hki_dataset_open(&d, &files));
    CHECK(!d->classifies && d->classes == 0 && d->y_dtype == HK_FLOAT && d->layout == HKI_SAMPLE_VECTOR);
    CHECK(d->y_rank == 1 && d->y_dims[0] == 1); /* one number per sample has the shape of one output */
    float target, mean[3], deviation[3];
    CHECK_OK(d->read(d, 1, NULL, &target));
    CHECK(target == -1.5f);
    CHECK_EQ(hki_dataset_channels(d), 3);
    CHECK_OK(hki_dataset_statistics(mean, deviation, d, NULL, 2));
    CHECK(mean[0] == 2.5f && mean[2] == 4.5f && deviation[1] == 1.5f);
    CHECK_OK(hki_dataset_statistics(mean, deviation, d, NULL, 1));
    CHECK(deviation[1] == 1);
    CHECK_FAILS(hki_dataset_class_counts(NULL, d, NULL, 2), HK_INVALID_DATA, "expected classes to count");
    hki_dataset_close(d);
    files.x = nan_path;
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA,
                "nan.npy: row 1, column 1: expected a finite number, found nan");
    files = (hki_dataset_files){.x = x, .y = nan_path};
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA,
                "nan.npy: row 1, column 1: expected a finite number, found nan");
    files = (hki_dataset_files){.x = x, .y = y, .classifies = true};
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA, "expected whole numbers as classes, found float64");
    files = (hki_dataset_files){.x = x};
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_CONFIG, "expected \"y\" beside \"x\"");
}

TEST(csv)
{
    hki_dataset *d;
    static const char text[] = "a,b,kind\n1,2,cat\n3,4,ant\n5,6,cat\n";
    hki_dataset_files files = {.csv = put("t.csv", text, sizeof text - 1), .label_column = "kind", .classifies = true};
    REQUIRE_OK(hki_dataset_open(&d, &files));
    CHECK(d->count == 3 && d->x_rank == 1 && d->x_dims[0] == 2 && d->classes == 2);
    CHECK_STR(d->class_names[0], "ant");
    CHECK_STR(hki_store_of(d)->columns[1], "b");
    CHECK(class_of(d, 0) == 1 && class_of(d, 1) == 0);
    hki_dataset_close(d);
    files = (hki_dataset_files){.csv = put("n.csv", "a,b\n1,0.5\n", 10), .label_column = "b"};
    float target;
    REQUIRE_OK(hki_dataset_open(&d, &files));
    CHECK_OK(d->read(d, 0, NULL, &target));
    CHECK(d->classes == 0 && target == 0.5f);
    hki_dataset_close(d);
    files.csv = put("n.csv", "a,b\ncat,1\n", 10);
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA, "n.csv:2: column 'a': expected a number, found 'cat'");
    files = (hki_dataset_files){.csv = put("n.csv", "a,b\n1,cat\n", 10),
                                .label_column = "b",
                                .classifies = true,
                                .class_names = (const char *[]){"dog", "cat"},
                                .class_count = 2};
    REQUIRE_OK(hki_dataset_open(&d, &files));
    CHECK(class_of(d, 0) == 1 && d->classes == 2);
    CHECK_STR(d->class_names[0], "dog");
    hki_dataset_close(d);
}

/* 3 x 2 RGB: red, green, blue / white, black, grey 128. */
static const unsigned char png[] = {
    137, 80,  78,  71, 13, 10,  26, 10,  0,   0,   0,   13,  73, 72,  68, 82,  0,  0,   0,   3,   0,   0,   0,  2,
    8,   2,   0,   0,  0,  18,  22, 241, 77,  0,   0,   0,   1,  115, 82, 71,  66, 0,   174, 206, 28,  233, 0,  0,
    0,   26,  73,  68, 65, 84,  8,  153, 5,   193, 129, 1,   0,  32,  8,  192, 32, 236, 114, 189, 124, 129, 16, 122,
    202, 216, 189, 15, 62, 242, 6,  128, 163, 147, 177, 209, 0,  0,   0,  0,   73, 69,  78,  68,  174, 66,  96, 130,
};

TEST(folder_of_pictures)
{
    hki_dataset *d;
    char root[512];
    snprintf(root, sizeof root, "%s/pictures", folder);
    CHECK_OK(hki_directory_create(TEST_BINARY_DIR "/dataset_test.dir/pictures/zebra"));
    CHECK_OK(hki_directory_create(TEST_BINARY_DIR "/dataset_test.dir/pictures/ant"));
    put("pictures/zebra/1.PNG", png, sizeof png);
    put("pictures/zebra/notes.txt", "x", 1);
    put("pictures/ant/b.png", png, sizeof png);
    put("pictures/ant/a.png", png, sizeof png);
    hki_dataset_files files = {.folder = root, .classifies = true};
    hk_status status = hki_dataset_open(&d, &files);
    if (hk_status_code(status) == HK_UNSUPPORTED) { /* a build without libpng */
        hk_status_free(status);
        return;
    }
    REQUIRE_OK(status);
    CHECK(d->count == 3 && d->classes == 2 && d->layout == HKI_SAMPLE_HWC && d->x_dims[0] == 2 && d->x_dims[1] == 3);
    CHECK_STR(d->class_names[0], "ant");
    CHECK(class_of(d, 1) == 0 && class_of(d, 2) == 1);
    uint8_t sample[18];
    CHECK_OK(d->read(d, 2, sample, NULL));
    CHECK_BYTES(sample, ((uint8_t[]){255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 128, 128, 128}), 18);
    float mean[3], deviation[3];
    CHECK_OK(hki_dataset_statistics(mean, deviation, d, NULL, 3));
    CHECK_CLOSE(mean[0], (255 + 255 + 128) / 6.0, 1e-7);
    put("pictures/ant/b.png", png, sizeof png / 2);
    CHECK_FAILS(d->read(d, 1, sample, NULL), HK_INVALID_FILE, "pictures/ant/b.png: expected a valid PNG picture");
    hki_dataset_close(d);
    files.class_names = (const char *[]){"zebra", "bee"};
    files.class_count = 2;
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA, "expected folders named as the 2 classes, found 'ant'");
    CHECK_OK(hki_directory_create(TEST_BINARY_DIR "/dataset_test.dir/empty/class"));
    snprintf(root, sizeof root, "%s/empty", folder);
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA, "found 'class'");
    files.class_names = NULL;
    CHECK_FAILS(hki_dataset_open(&d, &files), HK_INVALID_DATA, "empty/class: expected at least one picture");
}

TEST(layouts)
{
    static const struct {
        hk_dtype dtype;
        int64_t dims[4];
        hki_sample_layout layout;
        int64_t height, channels;
    } rows[] = {{HK_UINT8, {1, 5, 6, 3}, HKI_SAMPLE_HWC, 5, 3},
                {HK_FLOAT, {1, 3, 5, 6}, HKI_SAMPLE_CHW, 5, 3},
                {HK_UINT8, {1, 3, 5, 3}, HKI_SAMPLE_HWC, 3, 3},
                {HK_FLOAT, {1, 3, 5, 3}, HKI_SAMPLE_CHW, 5, 3},
                {HK_FLOAT, {1, 7, 5, 6}, HKI_SAMPLE_VECTOR, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hk_tensor *t;
        hki_dataset *d;
        REQUIRE_OK(hk_tensor_create(&t, rows[i].dtype, 4, rows[i].dims));
        REQUIRE_OK(hki_dataset_open_tensors(&d, t, NULL, "tensors", &(hki_dataset_files){0}));
        hk_tensor_free(t); /* the data set shares its memory */
        hki_picture picture = hki_dataset_picture(d);
        CHECK(d->layout == rows[i].layout && picture.height == rows[i].height && picture.channels == rows[i].channels);
        CHECK(d->y_dtype == HK_UNDEFINED && d->classes == 0);
        hki_dataset_close(d);
    }
}

/* Every allocation of every way to open a data set fails once: the status says so, and nothing leaks. */
TEST(memory_exhausted)
{
    static const char text[] = "a,b,kind\n1,2,cat\n3,4,ant\n5,6,\"c\"\"at\"\n";
    char x[512], root[512];
    snprintf(x, sizeof x, "%s/x.npy", folder);
    snprintf(root, sizeof root, "%s/pictures", folder);
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 2, (int64_t[]){2, 3}));
    REQUIRE_OK(hki_npy_save(x, t));
    hk_tensor_free(t);
    put("pictures/ant/a.png", png, sizeof png);
    const hki_dataset_files forms[] = {
        {.images = put("x", images, sizeof images), .labels = put("y", labels, sizeof labels), .classifies = true},
        {.csv = put("t.csv", text, sizeof text - 1), .label_column = "kind", .classifies = true},
        {.x = x, .y = x},
        {.folder = root, .classifies = true},
    };
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int n = 1; n < 60; n++) {
            hki_dataset *d;
            float mean[3], deviation[3];
            hki_memory_fail_at(n);
            hk_status status = hki_dataset_open(&d, &forms[f]);
            if (!status)
                status = hki_dataset_statistics(mean, deviation, d, NULL, d->count);
            hki_memory_fail_at(0);
            CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY || hk_status_code(status) == HK_UNSUPPORTED ||
                  hk_status_code(status) == HK_INVALID_FILE); /* a picture library reports it as damage */
            hk_status_free(status);
            hki_dataset_close(d);
        }
}

TEST_MAIN()
