/* IDX: every element type, damage of every kind, truncation at every offset, gzip, and Fashion-MNIST where it is
 * installed. */
#include "base/file.h"
#include "formats/gzip.h"
#include "formats/idx.h"
#include "harness/test.h"

static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 10, 20, 30, 40, 50, 60};

/* The same as a gzip file: one stored block, written by hand. */
static size_t make_gzip(unsigned char *out)
{
    static const unsigned char start[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, sizeof images, 0, 255 - sizeof images,
                                          255};
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < sizeof images; i++) {
        crc ^= images[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    unsigned char end[] = {(unsigned char)crc,
                           (unsigned char)(crc >> 8),
                           (unsigned char)(crc >> 16),
                           (unsigned char)(crc >> 24),
                           sizeof images,
                           0,
                           0,
                           0};
    memcpy(out, start, sizeof start);
    memcpy(out + sizeof start, images, sizeof images);
    memcpy(out + sizeof start + sizeof images, end, sizeof end);
    return sizeof start + sizeof images + sizeof end;
}

/* Parses a copy that ends at the end of its heap block. */
static hk_status parse(hk_tensor **out, const void *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    hk_status status = hki_idx_parse(out, copy, size, "a.idx");
    free(copy);
    return status;
}

TEST(plain)
{
    hk_tensor *t;
    REQUIRE_OK(parse(&t, images, sizeof images));
    CHECK_EQ(t->dtype, HK_UINT8);
    CHECK_EQ(t->rank, 3);
    CHECK(t->dims[0] == 2 && t->dims[1] == 1 && t->dims[2] == 3);
    CHECK_BYTES(t->data, images + 16, 6);
    hk_tensor_free(t);
}

TEST(element_types)
{
    hk_tensor *t;
    static const unsigned char floats[] = {0, 0, 0x0d, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0};
    REQUIRE_OK(parse(&t, floats, sizeof floats));
    CHECK(t->dtype == HK_FLOAT && ((float *)t->data)[0] == 1.0f && ((float *)t->data)[1] == -2.5f);
    hk_tensor_free(t);
    static const unsigned char doubles[] = {0, 0, 0x0e, 1, 0, 0, 0, 1, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
    REQUIRE_OK(parse(&t, doubles, sizeof doubles));
    CHECK(t->dtype == HK_DOUBLE && ((double *)t->data)[0] == 3.141592653589793);
    hk_tensor_free(t);
    static const unsigned char shorts[] = {0, 0, 0x0b, 1, 0, 0, 0, 1, 0xff, 0xfe};
    REQUIRE_OK(parse(&t, shorts, sizeof shorts));
    CHECK(t->dtype == HK_INT16 && ((int16_t *)t->data)[0] == -2);
    hk_tensor_free(t);
    static const unsigned char ints[] = {0, 0, 0x0c, 1, 0, 0, 0, 1, 0, 1, 0, 2};
    REQUIRE_OK(parse(&t, ints, sizeof ints));
    CHECK(t->dtype == HK_INT32 && ((int32_t *)t->data)[0] == 65538);
    hk_tensor_free(t);
    static const unsigned char chars[] = {0, 0, 9, 1, 0, 0, 0, 1, 0xff};
    REQUIRE_OK(parse(&t, chars, sizeof chars));
    CHECK(t->dtype == HK_INT8 && ((int8_t *)t->data)[0] == -1);
    hk_tensor_free(t);
}

TEST(damage_is_named)
{
    hk_tensor *t;
    CHECK_FAILS(parse(&t, "\x89PNG", 4), HK_INVALID_FILE,
                "a.idx: expected an IDX file (0, 0, type 8 to 14, rank), found the bytes 137, 80");
    CHECK_FAILS(parse(&t, "\0\0\x0a\1\0\0\0\1x", 9), HK_INVALID_FILE, "found the bytes 0, 0, 10, 1");
    CHECK_FAILS(parse(&t, "\0\0\x08\0", 4), HK_INVALID_FILE, "expected 1 to 8 dimensions, found 0");
    CHECK_FAILS(parse(&t, "\0\0\x08\x09", 4), HK_INVALID_FILE, "expected 1 to 8 dimensions, found 9");
    CHECK_FAILS(parse(&t, "\0\0\x08\1\0\0\0\1xy", 10), HK_INVALID_FILE, "found more bytes");
    CHECK_FAILS(parse(&t, "\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff", 12), HK_INVALID_SHAPE, "a.idx: too many");
    CHECK_FAILS(parse(&t, "\0\0\x0e\2\x7f\xff\xff\xff\x7f\xff\xff\xff", 12), HK_INVALID_SHAPE, "a.idx: too many bytes");
    CHECK_FAILS(parse(&t, "\0\0\x08\2\x00\xff\xff\xff\x00\xff\xff\xff", 12), HK_INVALID_FILE,
                "a file that cannot hold more than 12");
    CHECK(t == NULL);
}

TEST(truncated_and_flipped_at_every_offset)
{
    hk_tensor *t;
    for (size_t size = 0; size < sizeof images; size++)
        CHECK_FAILS(parse(&t, images, size), HK_INVALID_FILE, "truncated");
    unsigned char copy[sizeof images];
    for (size_t i = 0; i < 8 * sizeof images; i++) {
        memcpy(copy, images, sizeof images);
        copy[i / 8] ^= (unsigned char)(1 << i % 8);
        hk_status_free(parse(&t, copy, sizeof copy));
        hk_tensor_free(t);
    }
}

TEST(gzip)
{
    unsigned char file[100];
    size_t size = make_gzip(file);
    hk_tensor *t;
    hki_gzip *probe;
    hk_status without = hki_gzip_open(&probe, file, size, "a.idx");
    hki_gzip_close(probe);
    if (without) { /* a build without zlib says what to install */
        CHECK_FAILS(without, HK_UNSUPPORTED, "zlib1g-dev");
        CHECK_FAILS(parse(&t, file, size), HK_UNSUPPORTED, "zlib1g-dev");
        return;
    }
    REQUIRE_OK(parse(&t, file, size));
    CHECK_BYTES(t->data, images + 16, 6);
    hk_tensor_free(t);
    for (size_t n = 2; n < size; n++)
        CHECK_FAILS(parse(&t, file, n), HK_INVALID_FILE, "a.idx: expected");
    for (size_t i = 16; i < 8 * size; i++) {
        unsigned char copy[100];
        memcpy(copy, file, size);
        copy[i / 8] ^= (unsigned char)(1 << i % 8);
        hk_status_free(parse(&t, copy, size));
        hk_tensor_free(t);
    }
    file[size - 6] ^= 1; /* the checksum */
    CHECK_FAILS(parse(&t, file, size), HK_INVALID_FILE, "incorrect data check");
}

TEST(fashion_mnist)
{
    const char *path = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
    if (!hki_path_exists(path))
        return;
    hk_tensor *t;
    hk_status status = hki_idx_load(&t, path);
    if (hk_status_code(status) == HK_UNSUPPORTED) { /* a build without zlib */
        hk_status_free(status);
        return;
    }
    REQUIRE_OK(status);
    int64_t counts[10] = {0};
    for (int64_t i = 0; i < t->dims[0]; i++)
        counts[((uint8_t *)t->data)[i] % 10]++;
    CHECK_EQ(t->dims[0], 10000);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(counts[i], 1000);
    hk_tensor_free(t);
    CHECK_FAILS(hki_idx_load(&t, "/no/such/file"), HK_NOT_FOUND, "/no/such/file");
}

TEST_MAIN()
