/* npy: headers of all versions, both orders, all types there and back, damage, truncation at every offset. */
#include "base/file.h"
#include "formats/npy.h"
#include "harness/test.h"

/* Makes a version 1 file from a dictionary and elements; returns its size. */
static size_t make(unsigned char *out, const char *dictionary, const void *data, size_t size)
{
    size_t length = strlen(dictionary);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)length;
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, dictionary, length);
    memcpy(out + 10 + length, data, size);
    return 10 + length + size;
}

/* Parses a copy that ends at the end of its heap block. */
static hk_status parse(hk_tensor **out, const void *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    hk_status status = hki_npy_parse(out, copy, size, "a.npy");
    free(copy);
    return status;
}

static hk_status parse_dictionary(hk_tensor **out, const char *dictionary, size_t size)
{
    unsigned char file[1024];
    static const unsigned char data[256];
    return parse(out, file, make(file, dictionary, data, size));
}

TEST(header_is_numpys)
{
    hki_text text = {0};
    CHECK_OK(hki_npy_header(&text, HK_FLOAT, 2, (int64_t[]){2, 3}));
    CHECK_EQ(text.length, 128);
    CHECK_BYTES(text.data, "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     ",
                74);
    CHECK_EQ(text.data[127], '\n');
    hki_text_free(&text);
    CHECK_OK(hki_npy_header(&text, HK_BOOL, 1, (int64_t[]){70000}));
    CHECK_BYTES(text.data + 10, "{'descr': '|b1', 'fortran_order': False, 'shape': (70000,), } ", 62);
    hki_text_free(&text);
    CHECK_OK(hki_npy_header(&text, HK_UINT8, 0, NULL));
    CHECK_BYTES(text.data + 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (), } ", 56);
    hki_text_free(&text);
}

TEST(there_and_back)
{
    const char *path = TEST_BINARY_DIR "/npy_test.npy";
    for (int dtype = HK_FLOAT; dtype <= HK_BFLOAT16; dtype++) {
        if (dtype == HK_STRING)
            continue;
        hk_tensor *t, *back, *mapped;
        REQUIRE_OK(hk_tensor_create(&t, (hk_dtype)dtype, 3, (int64_t[]){2, 3, 2}));
        for (size_t i = 0; i < hk_tensor_size(t); i++)
            ((unsigned char *)t->data)[i] = (unsigned char)(dtype == HK_BOOL ? i % 2 : i * 37);
        REQUIRE_OK(hki_npy_save(path, t));
        REQUIRE_OK(hki_npy_load(&back, path));
        REQUIRE_OK(hki_npy_map(&mapped, path));
        CHECK_EQ(back->dtype, dtype);
        CHECK(hki_shape_equal(t->rank, t->dims, back->rank, back->dims));
        CHECK_BYTES(back->data, t->data, hk_tensor_size(t));
        CHECK_BYTES(mapped->data, t->data, hk_tensor_size(t));
        hk_tensor_free(t);
        hk_tensor_free(back);
        hk_tensor_free(mapped);
    }
    CHECK_OK(hki_file_remove(path));
}

TEST(orders)
{
    unsigned char file[512];
    hk_tensor *t;
    static const uint8_t fortran[] = {1, 4, 2, 5, 3, 6}; /* [[1, 2, 3], [4, 5, 6]] by columns */
    size_t size = make(file, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}\n", fortran, 6);
    REQUIRE_OK(parse(&t, file, size));
    CHECK_BYTES(t->data, "\1\2\3\4\5\6", 6);
    hk_tensor_free(t);
    size = make(file, "{\"shape\": (2, 1L,), 'fortran_order':False, 'descr':'>i2',}", "\1\2\xff\xfe", 4);
    REQUIRE_OK(parse(&t, file, size));
    CHECK(((int16_t *)t->data)[0] == 0x102 && ((int16_t *)t->data)[1] == -2);
    hk_tensor_free(t);
    uint8_t cube[24];
    for (int a = 0, n = 0; a < 4; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 2; c++) /* Fortran order of (2, 3, 4): the first index is the fastest */
                cube[n++] = (uint8_t)(c * 12 + b * 4 + a);
    size = make(file, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", cube, 24);
    REQUIRE_OK(parse(&t, file, size));
    for (int i = 0; i < 24; i++)
        CHECK_EQ(((uint8_t *)t->data)[i], i);
    hk_tensor_free(t);
}

TEST(versions)
{
    hk_tensor *t;
    REQUIRE_OK(parse(&t, "\x93NUMPY\2\0\x39\0\0\0{'descr': '|u1', 'fortran_order': False, 'shape': (2,) }\nab",
                     12 + 0x39 + 2));
    CHECK_BYTES(t->data, "ab", 2);
    hk_tensor_free(t);
    REQUIRE_OK(parse(&t, "\x93NUMPY\3\0\x39\0\0\0{'descr': '|u1', 'fortran_order': False, 'shape': (2,) }\nab",
                     12 + 0x39 + 2));
    hk_tensor_free(t);
    CHECK_FAILS(parse(&t, "\x93NUMPY\4\0\x39\0\0\0{'descr'", 20), HK_INVALID_FILE,
                "expected npy version 1.0, 2.0 or 3.0, found 4.0");
}

TEST(damage_is_named)
{
    hk_tensor *t;
    CHECK_FAILS(parse(&t, "PK\3\4xxxxxxxxxx", 14), HK_INVALID_FILE, "a.npy: expected an npy file");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7), HK_INVALID_FILE,
                "expected 8 bytes for float32[2], found 7 (truncated)");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9), HK_INVALID_FILE,
                "found 9");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<U4', 'fortran_order': False, 'shape': (2,)}", 32), HK_UNSUPPORTED,
                "numpy type '<U4' (objects or strings)");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 16), HK_UNSUPPORTED,
                "'|O'");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8),
                HK_UNSUPPORTED, "structured array");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'shape': (2,)}", 8), HK_INVALID_FILE, "expected the keys");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'descr': '<f4'}", 8), HK_INVALID_FILE, "found 'descr' again");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8), HK_INVALID_FILE,
                "True or False");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 8), HK_INVALID_FILE,
                "',' in a tuple");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8), HK_INVALID_FILE,
                "a dimension");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4),
                HK_INVALID_FILE, "at most 8 dimensions");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0),
                HK_INVALID_SHAPE, "a.npy: too many elements");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 0),
                HK_INVALID_FILE, "below 2^63");
    CHECK_FAILS(parse_dictionary(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8), HK_INVALID_FILE,
                "found 'x'");
}

TEST(truncated_and_flipped_at_every_offset)
{
    unsigned char file[256], copy[256];
    hk_tensor *t;
    size_t size = make(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n", "abcdefgh", 8);
    for (size_t n = 0; n < size; n++)
        CHECK_FAILS(parse(&t, file, n), HK_INVALID_FILE, "a.npy: ");
    for (size_t i = 0; i < 8 * size; i++) {
        memcpy(copy, file, size);
        copy[i / 8] ^= (unsigned char)(1 << i % 8);
        hk_status_free(parse(&t, copy, size));
        hk_tensor_free(t);
    }
}

TEST(unwritable)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 1, (int64_t[]){3}));
    CHECK_FAILS(hki_npy_save("/no/such/directory/a.npy", t), HK_NOT_FOUND, "/no/such/directory/a.npy");
    hk_tensor_free(t);
}

TEST_MAIN()
