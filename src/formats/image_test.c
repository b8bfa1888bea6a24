/* Pictures: known PNG and JPEG files, resizing, damage at every offset, tensor files by their first bytes, class names.
 */
#include "base/file.h"
#include "formats/image.h"
#include "formats/label.h"
#include "formats/npy.h"
#include "halka/file.h"
#include "harness/test.h"

/* 3 x 2 RGB: red, green, blue / white, black, grey 128. */
static const unsigned char png[] = {
    137, 80,  78,  71, 13, 10,  26, 10,  0,   0,   0,   13,  73, 72,  68, 82,  0,  0,   0,   3,   0,   0,   0,  2,
    8,   2,   0,   0,  0,  18,  22, 241, 77,  0,   0,   0,   1,  115, 82, 71,  66, 0,   174, 206, 28,  233, 0,  0,
    0,   26,  73,  68, 65, 84,  8,  153, 5,   193, 129, 1,   0,  32,  8,  192, 32, 236, 114, 189, 124, 129, 16, 122,
    202, 216, 189, 15, 62, 242, 6,  128, 163, 147, 177, 209, 0,  0,   0,  0,   73, 69,  78,  68,  174, 66,  96, 130,
};
/* 8 x 16 grey, all 100. */
static const unsigned char jpeg[] = {
    255, 216, 255, 224, 0, 16, 74, 70, 73, 70,  0,   1,   1, 0,  0,  1, 0, 1,  0, 0,   255, 219, 0,
    67,  0,   1,   1,   1, 1,  1,  1,  1,  1,   1,   1,   1, 1,  1,  1, 1, 1,  1, 1,   1,   1,   1,
    1,   1,   1,   1,   1, 1,  1,  1,  1,  1,   1,   1,   1, 1,  1,  1, 1, 1,  1, 1,   1,   1,   1,
    1,   1,   1,   1,   1, 1,  1,  1,  1,  1,   1,   1,   1, 1,  1,  1, 1, 1,  1, 1,   255, 192, 0,
    11,  8,   0,   8,   0, 16, 1,  1,  17, 0,   255, 196, 0, 21, 0,  1, 1, 0,  0, 0,   0,   0,   0,
    0,   0,   0,   0,   0, 0,  0,  0,  0,  8,   255, 196, 0, 20, 16, 1, 0, 0,  0, 0,   0,   0,   0,
    0,   0,   0,   0,   0, 0,  0,  0,  0,  255, 218, 0,   8, 1,  1,  0, 0, 63, 0, 135, 199, 255, 217,
};

static const uint8_t pixels[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 128, 128, 128};

/* True, after a check of the message, if this build has no library for the picture. */
static bool absent(const unsigned char *data, size_t size, const char *package)
{
    int64_t dims[3];
    hk_status status = hki_image_size(dims, data, size, "a");
    bool is = hk_status_code(status) == HK_UNSUPPORTED;
    if (is)
        CHECK(strstr(hk_status_message(status), package) != NULL);
    hk_status_free(status);
    return is;
}

TEST(png_pixels)
{
    if (absent(png, sizeof png, "libpng-dev"))
        return;
    hk_tensor *t;
    REQUIRE_OK(hki_image_parse(&t, png, sizeof png, "a.png"));
    CHECK(t->rank == 3 && t->dims[0] == 2 && t->dims[1] == 3 && t->dims[2] == 3 && t->dtype == HK_UINT8);
    CHECK_BYTES(t->data, pixels, sizeof pixels);
    hk_tensor_free(t);
    uint8_t grey[6];
    hki_scratch scratch = {0};
    CHECK_OK(hki_image_decode(grey, (int64_t[]){2, 3, 1}, png, sizeof png, "a.png", &scratch));
    CHECK_BYTES(grey, ((uint8_t[]){76, 150, 29, 255, 0, 128}), 6);
    hki_free(scratch.data);
}

TEST(jpeg_pixels)
{
    if (absent(jpeg, sizeof jpeg, "libjpeg62-turbo-dev"))
        return;
    hk_tensor *t;
    REQUIRE_OK(hki_image_parse(&t, jpeg, sizeof jpeg, "a.jpg"));
    CHECK(t->dims[0] == 8 && t->dims[1] == 16 && t->dims[2] == 1);
    for (int i = 0; i < 128; i++)
        CHECK_EQ(((uint8_t *)t->data)[i], 100);
    hk_tensor_free(t);
    uint8_t rgb[27];
    hki_scratch scratch = {0};
    CHECK_OK(hki_image_decode(rgb, (int64_t[]){3, 3, 3}, jpeg, sizeof jpeg, "a.jpg", &scratch));
    for (int i = 0; i < 27; i++)
        CHECK_EQ(rgb[i], 100);
    hki_free(scratch.data);
}

static void damage(const unsigned char *data, size_t size)
{
    hk_tensor *t;
    for (size_t n = 0; n + 12 < size; n++) { /* a JPEG may miss its last marker */
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, data, n);
        CHECK_FAILS(hki_image_parse(&t, copy, n, "a"), HK_INVALID_FILE, "a: expected a");
        free(copy);
    }
    for (size_t i = 0; i < size; i++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, data, size);
        copy[i] ^= (unsigned char)(1 << i % 8);
        hk_status_free(hki_image_parse(&t, copy, size, "a"));
        hk_tensor_free(t);
        free(copy);
    }
}

TEST(truncated_and_flipped_at_every_offset)
{
    if (!absent(png, sizeof png, "libpng-dev"))
        damage(png, sizeof png);
    if (!absent(jpeg, sizeof jpeg, "libjpeg62-turbo-dev"))
        damage(jpeg, sizeof jpeg);
}

TEST(resize)
{
    hki_scratch scratch = {0};
    uint8_t from[] = {0, 100, 200, 50}, to[16];
    CHECK_OK(hki_image_resize(to, 1, 2, from, 1, 4, 1, &scratch)); /* triangle of two pixels each way: 3 3 1 of 7 */
    CHECK_EQ(to[0], (0 * 3 + 100 * 3 + 200 * 1 + 3) / 7);
    CHECK_EQ(to[1], (100 * 1 + 200 * 3 + 50 * 3 + 3) / 7);
    CHECK_OK(hki_image_resize(to, 4, 4, from, 2, 2, 1, &scratch));
    CHECK_BYTES(to, ((uint8_t[]){0, 25, 75, 100, 50, 60, 78, 88, 150, 129, 85, 63, 200, 163, 88, 50}), 16);
    CHECK_OK(hki_image_resize(to, 2, 2, from, 2, 2, 1, &scratch));
    CHECK_BYTES(to, from, 4);
    hki_free(scratch.data);
}

TEST(tensor_files)
{
    const char *path = TEST_BINARY_DIR "/image_test.file";
    hk_tensor *t, *row;
    hk_file_kind kind;
    REQUIRE_OK(hk_tensor_create(&t, HK_INT64, 2, (int64_t[]){3, 2}));
    for (int i = 0; i < 6; i++)
        ((int64_t *)t->data)[i] = i;
    REQUIRE_OK(hk_tensor_save_npy(t, path));
    REQUIRE_OK(hk_tensor_load_row(&row, &kind, path, 2));
    CHECK(kind == HK_FILE_NPY && row->dims[0] == 1 && row->dims[1] == 2);
    CHECK_BYTES(row->data, ((int64_t[]){4, 5}), 16);
    hk_tensor_free(row);
    CHECK_FAILS(hk_tensor_load_row(&row, &kind, path, 3), HK_INVALID_ARGUMENT,
                "expected a row within int64[3,2], found 3");
    hk_tensor_free(t);
    hki_writer *writer;
    REQUIRE_OK(hki_writer_open(&writer, path));
    hki_writer_printf(writer, "text");
    REQUIRE_OK(hki_writer_commit(writer));
    CHECK_FAILS(hk_tensor_load(&t, NULL, path), HK_INVALID_FILE, "expected a tensor file");
    CHECK_OK(hki_file_remove(path));
    CHECK_FAILS(hk_tensor_load(&t, NULL, path), HK_NOT_FOUND, path);
}

TEST(class_names)
{
    hki_arena *arena;
    const char **names;
    int64_t count;
    REQUIRE_OK(hki_arena_create(&arena));
    CHECK_OK(hki_labels_parse(&names, &count, arena, "T-shirt/top\r\n Bag \nboot\n\n", 25, "l.txt"));
    CHECK_EQ(count, 3);
    CHECK_STR(names[0], "T-shirt/top");
    CHECK_STR(names[1], "Bag");
    CHECK_OK(hki_labels_parse(&names, &count, arena, "", 0, "l.txt"));
    CHECK_EQ(count, 0);
    CHECK_FAILS(hki_labels_parse(&names, &count, arena, "a\n\nb", 4, "l.txt"), HK_INVALID_FILE,
                "l.txt:2: expected the name of a class");
    CHECK_FAILS(hki_labels_parse(&names, &count, arena, "a\nb\na", 5, "l.txt"), HK_INVALID_FILE,
                "l.txt:3: expected each class once, found 'a' again (first on line 1)");
    hki_arena_free(arena);
}

TEST_MAIN()
