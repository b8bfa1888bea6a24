/* safetensors: there and back for every type, bytes independent of the order of the call, damage named, truncation at
 * every offset. */
#include "base/file.h"
#include "formats/safetensors.h"
#include "harness/test.h"

static const char *const path = TEST_BINARY_DIR "/safetensors_test.safetensors";

/* Makes a file from header and data; returns its size. */
static size_t make(unsigned char *out, const char *header, const void *data, size_t size)
{
    size_t length = strlen(header);
    memset(out, 0, 8);
    out[0] = (unsigned char)length;
    out[1] = (unsigned char)(length >> 8);
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, size);
    return 8 + length + size;
}

/* Parses and closes a copy that ends at the end of its heap block. */
static hk_status parse(const void *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    hki_safetensors *file;
    hk_status status = hki_safetensors_parse(&file, copy, size, "a.st");
    hki_safetensors_close(file);
    free(copy);
    return status;
}

static hk_status parse_header(const char *header, size_t data_size)
{
    unsigned char file[1024];
    static const unsigned char data[64];
    return parse(file, make(file, header, data, data_size));
}

TEST(there_and_back)
{
    hki_named_tensor tensors[32];
    char names[32][24];
    int count = 0;
    for (int dtype = HK_FLOAT; dtype <= HK_BFLOAT16; dtype++) {
        if (dtype == HK_STRING || dtype == HK_COMPLEX128)
            continue;
        hk_tensor *t;
        snprintf(names[count], sizeof names[count], "layer.%d/\"q\"", dtype);
        REQUIRE_OK(hk_tensor_create(&t, (hk_dtype)dtype, 2, (int64_t[]){3, dtype}));
        for (size_t i = 0; i < hk_tensor_size(t); i++)
            ((unsigned char *)t->data)[i] = (unsigned char)(dtype == HK_BOOL ? i % 2 : i * 29 + (size_t)dtype);
        tensors[count] = (hki_named_tensor){names[count], t};
        count++;
    }
    hki_named_text texts[] = {{"step", "7"}, {"format", "h\xc3\xa9"}}, reversed[] = {texts[1], texts[0]};
    REQUIRE_OK(hki_safetensors_save(path, tensors, count, texts, 2));
    char *first, *second;
    size_t first_size, second_size;
    REQUIRE_OK(hki_file_read(&first, &first_size, path));
    for (int i = 0; i < count / 2; i++) {
        hki_named_tensor t = tensors[i];
        tensors[i] = tensors[count - 1 - i];
        tensors[count - 1 - i] = t;
    }
    REQUIRE_OK(hki_safetensors_save(path, tensors, count, reversed, 2));
    REQUIRE_OK(hki_file_read(&second, &second_size, path));
    CHECK_EQ(first_size, second_size);
    CHECK_BYTES(first, second, first_size);
    CHECK_EQ((unsigned char)first[0] % 8, 0);
    hki_free(first);
    hki_free(second);
    hki_safetensors *file;
    REQUIRE_OK(hki_safetensors_open(&file, path));
    CHECK_EQ(hki_safetensors_count(file), count);
    CHECK_STR(hki_safetensors_metadata(file, "format"), "h\xc3\xa9");
    CHECK(hki_safetensors_metadata(file, "absent") == NULL);
    hk_tensor *kept[32];
    for (int i = 0; i < count; i++) {
        REQUIRE_OK(hki_safetensors_get(&kept[i], file, tensors[i].name));
        CHECK(hki_safetensors_find(file, tensors[i].name)->data == kept[i]->data);
        CHECK(!i || strcmp(hki_safetensors_name(file, i - 1), hki_safetensors_name(file, i)) < 0);
    }
    hk_tensor *none;
    CHECK_FAILS(hki_safetensors_get(&none, file, "nix"), HK_NOT_FOUND, "expected a tensor 'nix'");
    hki_safetensors_close(file);
    for (int i = 0; i < count; i++) { /* the tensors outlive the file object */
        const hk_tensor *t = tensors[i].tensor;
        CHECK(kept[i]->dtype == t->dtype && hki_shape_equal(t->rank, t->dims, kept[i]->rank, kept[i]->dims));
        CHECK_BYTES(kept[i]->data, t->data, hk_tensor_size(t));
        hk_tensor_free(kept[i]);
        hk_tensor_free((hk_tensor *)t);
    }
    CHECK_OK(hki_file_remove(path));
}

TEST(writing_refuses)
{
    hk_tensor *t, *c;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 0, NULL));
    REQUIRE_OK(hk_tensor_create(&c, HK_COMPLEX128, 0, NULL));
    hki_named_tensor twice[] = {{"a", t}, {"b", t}, {"a", t}}, complex[] = {{"c", c}};
    CHECK_FAILS(hki_safetensors_save(path, twice, 3, NULL, 0), HK_INVALID_ARGUMENT, "found 'a' again");
    CHECK_FAILS(hki_safetensors_save(path, complex, 1, NULL, 0), HK_INVALID_TYPE,
                "tensor 'c': expected a type that safetensors has");
    CHECK(!hki_path_exists(path));
    CHECK_OK(hki_safetensors_save(path, NULL, 0, NULL, 0));
    hki_safetensors *file;
    REQUIRE_OK(hki_safetensors_open(&file, path));
    CHECK_EQ(hki_safetensors_count(file), 0);
    hki_safetensors_close(file);
    CHECK_OK(hki_file_remove(path));
    hk_tensor_free(t);
    hk_tensor_free(c);
}

TEST(damage_is_named)
{
#define F32(begin, end) "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
    CHECK_OK(parse_header("{\"a\":{" F32(0, 8) "}", 8));
    CHECK_OK(parse_header("{\"a\":{" F32(8, 16) ",\"b\":{" F32(0, 8) "}  ", 16));
    CHECK_FAILS(parse_header("{\"a\":{" F32(0, 8) "}", 7), HK_INVALID_FILE,
                "a.st:1:48: a.data_offsets: expected offsets up to 7, found 8");
    CHECK_FAILS(parse_header("{\"a\":{" F32(0, 8) "}", 9), HK_INVALID_FILE, "expected 8 bytes of elements, found 9");
    CHECK_FAILS(parse_header("{\"a\":{" F32(0, 8) ",\"b\":{" F32(4, 12) "}", 12), HK_INVALID_FILE,
                "tensor 'b': expected its bytes to begin at offset 8, found 4 (overlap)");
    CHECK_FAILS(parse_header("{\"a\":{" F32(4, 12) "}", 12), HK_INVALID_FILE, "(hole)");
    CHECK_FAILS(parse_header("{\"a\":{" F32(8, 0) "}", 8), HK_INVALID_FILE, "0 <= begin <= end");
    CHECK_FAILS(parse_header("{\"a\":{" F32(0, 4) "}", 4), HK_INVALID_FILE,
                "expected 8 bytes for float32[2], found offsets of 4");
    CHECK_FAILS(parse_header("{\"a\":{" F32(0, 8) ",\"a\":{" F32(0, 8) "}", 8), HK_INVALID_FILE, "found \"a\" again");
    CHECK_FAILS(parse_header("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2), HK_UNSUPPORTED,
                "found \"F8_E4M3\"");
    CHECK_FAILS(parse_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,2]}}", 2),
                HK_INVALID_SHAPE, "a.st: tensor 'a': too many elements");
    CHECK_FAILS(parse_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,2]}}", 2), HK_INVALID_FILE,
                "a.shape[0]: expected a dimension");
    CHECK_FAILS(parse_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1),
                HK_INVALID_FILE, "at most 8");
    CHECK_FAILS(parse_header("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1), HK_INVALID_FILE,
                "expected \"shape\"");
    CHECK_FAILS(parse_header("{\"a\":3}", 0), HK_INVALID_FILE, "a: expected an object, found a number");
    CHECK_FAILS(parse_header("[]", 0), HK_INVALID_FILE, "expected an object, found an array");
    CHECK_FAILS(parse_header("{\"__metadata__\":{\"a\":1}}", 0), HK_INVALID_FILE, "__metadata__.a: expected a string");
    CHECK_FAILS(parse("\x89PNG\r\n\x1a\n0000", 12), HK_INVALID_FILE, "not a safetensors file?");
    CHECK_FAILS(parse("\x09\0\0\0\0\0\0\0{}", 10), HK_INVALID_FILE,
                "expected a header of 9 bytes, found 2 (truncated)");
}

TEST(unaligned_elements_are_copied)
{
    unsigned char bytes[256];
    size_t size = make(bytes,
                       "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                       "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}",
                       "x\0\0\x80\x3f", 5);
    hki_safetensors *file;
    REQUIRE_OK(hki_safetensors_parse(&file, bytes, size, "a.st"));
    CHECK(*(const float *)hki_safetensors_find(file, "b")->data == 1.0f);
    hki_safetensors_close(file);
}

TEST(truncated_and_flipped_at_every_offset)
{
    unsigned char file[256], copy[256];
    size_t size = make(file, "{\"__metadata__\":{\"k\":\"v\"},\"a\":{" F32(0, 8) ",\"b\":{" F32(8, 16) "}  ",
                       "abcdefghijklmnop", 16);
    CHECK_OK(parse(file, size));
    for (size_t n = 0; n < size; n++)
        CHECK_FAILS(parse(file, n), HK_INVALID_FILE, "a.st:");
    for (size_t i = 0; i < 8 * size; i++) {
        memcpy(copy, file, size);
        copy[i / 8] ^= (unsigned char)(1 << i % 8);
        hk_status_free(parse(copy, size));
    }
}

TEST(full_disk)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 1, (int64_t[]){100000}));
    hki_named_tensor one[] = {{"a", t}};
    for (int n = 1; n < 4; n++) {
        hki_file_fail_at(n);
        hk_status status = hki_safetensors_save(path, one, 1, NULL, 0);
        hki_file_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_IO);
        CHECK(!status || !hki_path_exists(path));
        hk_status_free(status);
    }
    hk_tensor_free(t);
    hk_status_free(hki_file_remove(path));
}

TEST(memory_exhausted)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 1, (int64_t[]){10}));
    hki_named_tensor two[] = {{"b", t}, {"a", t}};
    hki_named_text texts[] = {{"k", "v"}};
    for (int n = 1; n < 30; n++) {
        hki_safetensors *file = NULL;
        hki_memory_fail_at(n);
        hk_status status = hki_safetensors_save(path, two, 2, texts, 1);
        if (!status)
            status = hki_safetensors_open(&file, path);
        hki_memory_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY);
        hk_status_free(status);
        hki_safetensors_close(file);
    }
    hk_tensor_free(t);
    CHECK_OK(hki_file_remove(path));
}

TEST_MAIN()
