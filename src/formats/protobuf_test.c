/* The wire format: numbers at their limits, damage of every kind, nesting and references in the writer. */
#include "formats/protobuf.h"

#include "harness/test.h"

static hki_pb_reader read_bytes(const void *data, size_t size)
{
    return hki_pb_read((hki_span){data, size}, data);
}

TEST(varint_round_trip)
{
    static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        hki_pb_writer w = {0};
        uint64_t value = 1;
        hki_pb_put_varint(&w, values[i]);
        CHECK_EQ(w.size, hki_pb_varint_size(values[i]));
        hki_pb_reader r = read_bytes(w.data, w.size);
        CHECK_OK(hki_pb_varint(&value, &r));
        CHECK(value == values[i]);
        CHECK(!hki_pb_more(&r));
        hki_pb_free(&w);
    }
}

TEST(damage)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {"\x80", 1, "cut off"},                                              /* a key that goes on */
        {"\x08", 1, "cut off"},                                              /* a key without its number */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "64 bits"},     /* bit 64 */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "64 bits"}, /* 11 bytes */
        {"\x0d\x01\x02\x03", 4, "cut off"},                                  /* three bytes of four */
        {"\x09\x01\x02\x03\x04\x05\x06\x07", 8, "cut off"},                  /* seven of eight */
        {"\x0a\x05" "abcd", 6, "beyond the end"},                            /* length 5, four there */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "beyond"},      /* length 2^64 - 1 */
        {"\x0b\x0c", 2, "impossible type"},                                  /* a group */
        {"\x0e\x00", 2, "impossible type"},
        {"\x00\x00", 2, "impossible number"},                                /* field 0 */
        {"\x80\x80\x80\x80\x80\x01\x00", 7, "impossible number"},            /* field 2^32 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hki_pb_reader r = read_bytes(cases[i].bytes, cases[i].size);
        hki_pb_field field;
        CHECK_FAILS(hki_pb_next(&field, &r), HK_INVALID_FILE, cases[i].message);
    }
}

TEST(fields)
{
    hki_pb_writer w = {0};
    hki_pb_put_int(&w, 1, -1);
    hki_pb_put_float(&w, 2, 1.5f);
    hki_pb_put_text(&w, 536870911, "halka"); /* the largest field number */
    CHECK_OK(hki_pb_status(&w));
    hki_pb_reader r = read_bytes(w.data, w.size);
    hki_pb_field f;
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.number, 1);
    CHECK(f.value == UINT64_MAX);
    CHECK_FAILS(hki_pb_expect(&f, HKI_WIRE_BYTES, "name"), HK_INVALID_FILE, "'name'");
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.wire, HKI_WIRE_32);
    CHECK_EQ(f.value, 0x3fc00000);
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.number, 536870911);
    CHECK_EQ(f.bytes.size, 5);
    CHECK_BYTES(f.bytes.data, "halka", 5);
    CHECK(!hki_pb_more(&r));
    hki_pb_free(&w);
}

TEST(text_with_nul_is_refused)
{
    hki_arena *arena;
    REQUIRE_OK(hki_arena_create(&arena));
    hki_pb_field f = {.number = 1, .wire = HKI_WIRE_BYTES, .bytes = {(const unsigned char *)"a\0b", 3}};
    const char *text = NULL;
    CHECK_FAILS(hki_pb_text(&text, arena, &f, "name"), HK_INVALID_FILE, "NUL");
    hki_arena_free(arena);
}

/* Nested messages whose lengths need two bytes, with references inside: the flushed file must parse back to the same
 * tree. */
TEST(nesting_and_references)
{
    static unsigned char big[300];
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (unsigned char)i;
    hki_pb_writer w = {0};
    hki_pb_mark outer = hki_pb_begin(&w, 1);
    hki_pb_put_reference(&w, 2, big, sizeof big);
    hki_pb_mark inner = hki_pb_begin(&w, 3);
    hki_pb_put_reference(&w, 4, big, 10);
    hki_pb_put_int(&w, 5, 7);
    hki_pb_end(&w, inner);
    hki_pb_end(&w, outer);
    REQUIRE_OK(hki_pb_status(&w));
    hki_writer *file;
    const char *path = TEST_BINARY_DIR "/protobuf_test.bin";
    REQUIRE_OK(hki_writer_open(&file, path));
    hki_pb_flush(&w, file);
    REQUIRE_OK(hki_writer_commit(file));
    char *bytes;
    size_t size;
    REQUIRE_OK(hki_file_read(&bytes, &size, path));
    CHECK_EQ(size, w.total);
    hki_pb_reader r = read_bytes(bytes, size);
    hki_pb_field f;
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK(!hki_pb_more(&r));
    r = hki_pb_read(f.bytes, f.bytes.data);
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.bytes.size, sizeof big);
    CHECK_BYTES(f.bytes.data, big, sizeof big);
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.number, 3);
    CHECK(!hki_pb_more(&r));
    r = hki_pb_read(f.bytes, f.bytes.data);
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_BYTES(f.bytes.data, big, 10);
    REQUIRE_OK(hki_pb_next(&f, &r));
    CHECK_EQ(f.value, 7);
    hki_free(bytes);
    hki_pb_free(&w);
    CHECK_OK(hki_file_remove(path));
}

TEST_MAIN()
