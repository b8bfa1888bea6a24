/* Tensors of ONNX files: every typed list, raw bytes with and without alignment, sparse ones, external data and attacks
 * through it. */
#include <sys/stat.h>
#include <unistd.h>

#include "harness/onnx_bytes.h"
#include "harness/test.h"
#include "tensor/tensor.h"

/* ---- TensorProto. ---- */

static hk_status load_pb(hk_tensor **out, hki_pb_writer *w)
{
    hk_status status = hk_tensor_load_pb_memory(out, w->data, w->size);
    hki_pb_free(w);
    return status;
}

/* Two numbers, 1 and 3, in field `field`; form 'i' varints, 'f' floats, 'd' doubles; packed or not. */
static hk_status load_list(hk_tensor **out, int dtype, uint32_t field, char form, bool packed, int count)
{
    static const float f[] = {1, 3, 5, 7, 9};
    static const double d[] = {1, 3, 5, 7, 9};
    hki_pb_writer w = {0};
    hki_pb_put_int(&w, 1, 2);
    hki_pb_put_int(&w, 2, dtype);
    if (packed && form != 'i') {
        hki_pb_put_bytes(&w, field, form == 'f' ? (const void *)f : d, (size_t)count * (form == 'f' ? 4 : 8));
    } else if (packed) {
        hki_pb_mark mark = hki_pb_begin(&w, field);
        for (int i = 0; i < count; i++)
            hki_pb_put_varint(&w, (uint64_t)(2 * i + 1));
        hki_pb_end(&w, mark);
    } else {
        for (int i = 0; i < count; i++)
            if (form == 'i') {
                hki_pb_put_int(&w, field, 2 * i + 1);
            } else if (form == 'f') {
                hki_pb_put_float(&w, field, f[i]);
            } else {
                hki_pb_put_varint(&w, field << 3 | HKI_WIRE_64);
                for (size_t k = 0; k < 8; k++)
                    hki_pb_put_varint(&w, 0); /* eight zero bytes: 0.0 */
            }
    }
    return load_pb(out, &w);
}

TEST(typed_lists)
{
    static const struct {
        int dtype;
        uint32_t field;
        char form;
    } cases[] = {{HK_FLOAT, 4, 'f'},  {HK_DOUBLE, 10, 'd'}, {HK_INT32, 5, 'i'},  {HK_INT16, 5, 'i'},
                 {HK_INT8, 5, 'i'},   {HK_UINT8, 5, 'i'},   {HK_UINT16, 5, 'i'}, {HK_INT64, 7, 'i'},
                 {HK_UINT32, 11, 'i'}, {HK_UINT64, 11, 'i'}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int packed = 0; packed < 2; packed++) {
            hk_tensor *t = NULL;
            CHECK_FAILS(load_list(&t, cases[i].dtype, cases[i].field, cases[i].form, packed, 1), HK_INVALID_FILE,
                        "expected 2 numbers, found 1");
            CHECK_FAILS(load_list(&t, cases[i].dtype, cases[i].field, cases[i].form, packed, 3), HK_INVALID_FILE,
                        "expected 2 numbers, found 3");
            REQUIRE_OK(load_list(&t, cases[i].dtype, cases[i].field, cases[i].form, packed, 2));
            bool zeros = cases[i].form == 'd' && !packed;
            CHECK_EQ(hk_tensor_dtype(t), cases[i].dtype);
            CHECK_CLOSE(hki_tensor_get_double(t, 0), zeros ? 0 : 1, 0);
            CHECK_CLOSE(hki_tensor_get_double(t, 1), zeros ? 0 : 3, 0);
            hk_tensor_free(t);
        }
}

TEST(small_types_in_int32_data)
{
    hki_pb_writer w = {0};
    hk_tensor *t = NULL;
    hki_pb_put_int(&w, 1, 2);
    hki_pb_put_int(&w, 2, HK_FLOAT16);
    hki_pb_put_int(&w, 5, 0x3c00);
    hki_pb_put_int(&w, 5, 0xc000);
    REQUIRE_OK(load_pb(&t, &w));
    CHECK_CLOSE(hki_tensor_get_double(t, 0), 1, 0);
    CHECK_CLOSE(hki_tensor_get_double(t, 1), -2, 0);
    hk_tensor_free(t);
    w = (hki_pb_writer){0};
    hki_pb_put_int(&w, 1, 3);
    hki_pb_put_int(&w, 2, HK_INT8);
    hki_pb_put_int(&w, 5, -7);
    hki_pb_put_int(&w, 5, 127);
    hki_pb_put_int(&w, 5, -128);
    REQUIRE_OK(load_pb(&t, &w));
    CHECK_EQ(hki_tensor_get_int(t, 0), -7);
    CHECK_EQ(hki_tensor_get_int(t, 2), -128);
    hk_tensor_free(t);
    w = (hki_pb_writer){0};
    hki_pb_put_int(&w, 1, 2);
    hki_pb_put_int(&w, 2, HK_BOOL);
    hki_pb_put_int(&w, 5, 256);
    hki_pb_put_int(&w, 5, 0);
    REQUIRE_OK(load_pb(&t, &w));
    CHECK_EQ(*(const unsigned char *)hk_tensor_const_data(t), 1); /* 256 is true; cut to a byte it would be false */
    hk_tensor_free(t);
    w = (hki_pb_writer){0};
    hki_pb_put_int(&w, 2, HK_COMPLEX64); /* a scalar: two numbers */
    hki_pb_put_float(&w, 4, 1.0f);
    hki_pb_put_float(&w, 4, -1.0f);
    REQUIRE_OK(load_pb(&t, &w));
    CHECK_EQ(hk_tensor_count(t), 1);
    CHECK_CLOSE(((const float *)hk_tensor_const_data(t))[1], -1, 0);
    hk_tensor_free(t);
}

TEST(raw_bytes)
{
    static const int64_t dims[] = {2};
    static const float numbers[] = {1.5f, -2};
    for (int shift = 0; shift < 5; shift++) { /* the name moves the data to every alignment */
        hki_pb_writer w = {0};
        hk_tensor *t = NULL;
        put_raw_tensor(&w, &"abcd"[4 - shift], HK_FLOAT, 1, dims, numbers, sizeof numbers);
        REQUIRE_OK(load_pb(&t, &w));
        CHECK((uintptr_t)hk_tensor_const_data(t) % sizeof(float) == 0);
        CHECK_BYTES(hk_tensor_const_data(t), numbers, sizeof numbers);
        hk_tensor_free(t);
        put_raw_tensor(&w, "short", HK_FLOAT, 1, dims, numbers, 7);
        CHECK_FAILS(load_pb(&t, &w), HK_INVALID_FILE, "tensor 'short': raw_data has 7 bytes, the shape needs 8");
    }
    hki_pb_writer w = {0};
    hk_tensor *t = NULL;
    put_raw_tensor(&w, "flags", HK_BOOL, 1, dims, "\x02\x00", 2);
    REQUIRE_OK(load_pb(&t, &w));
    CHECK_EQ(*(const unsigned char *)hk_tensor_const_data(t), 1);
    hk_tensor_free(t);
}

TEST(impossible_shapes)
{
    static const int64_t huge[] = {INT64_MAX, INT64_MAX}, negative[] = {-1}, large[] = {(int64_t)1 << 40},
                         deep[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const struct {
        const int64_t *dims;
        int rank;
        hk_code code;
    } cases[] = {{huge, 2, HK_INVALID_SHAPE}, {negative, 1, HK_INVALID_SHAPE}, {large, 1, HK_INVALID_FILE},
                 {deep, 9, HK_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int raw = 0; raw < 2; raw++) {
            hki_pb_writer w = {0};
            hk_tensor *t = NULL;
            put_raw_tensor(&w, "w", HK_FLOAT, cases[i].rank, cases[i].dims, raw ? "abcd" : NULL, 4);
            CHECK_FAILS(load_pb(&t, &w), cases[i].code, "tensor 'w'");
        }
}

TEST(save_and_load)
{
    static const int64_t dims[] = {2, 2};
    static const int16_t numbers[] = {1, -2, 3, -4};
    const char *path = TEST_BINARY_DIR "/onnx_tensor_test.pb";
    hk_tensor *t = NULL, *back = NULL;
    REQUIRE_OK(hk_tensor_from(&t, numbers, HK_INT16, 2, dims));
    REQUIRE_OK(hk_tensor_save_pb(t, "numbers", path));
    REQUIRE_OK(hk_tensor_load_pb(&back, path));
    CHECK_EQ(hk_tensor_rank(back), 2);
    CHECK_BYTES(hk_tensor_const_data(back), numbers, sizeof numbers);
    hk_tensor_free(t);
    hk_tensor_free(back);
    CHECK_OK(hki_file_remove(path));
}

/* ---- Sparse initializers. ---- */

static hk_status load_sparse(hk_graph **out, int index_rank, const int64_t *indices, int64_t width)
{
    static const float values[] = {5, 7};
    int64_t dims[] = {2, 3}, count = 2, index_dims[] = {2, 2};
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17), s = hki_pb_begin(&w, 15), t = hki_pb_begin(&w, 1);
    put_raw_tensor(&w, "s", HK_FLOAT, 1, &count, values, sizeof values);
    hki_pb_end(&w, t);
    t = hki_pb_begin(&w, 2);
    put_raw_tensor(&w, "", HK_INT64, index_rank, index_dims, indices, (size_t)(index_rank == 1 ? 2 : 4) * 8);
    hki_pb_end(&w, t);
    hki_pb_put_int(&w, 3, dims[0]);
    hki_pb_put_int(&w, 3, width);
    hki_pb_end(&w, s);
    put_info(&w, 12, "s", 1, -1, NULL);
    return end_model(out, &w, g);
}

TEST(sparse_initializers)
{
    static const int64_t linear[] = {1, 5}, pairs[] = {0, 1, 1, 2}, outside[] = {0, 6};
    static const float dense[] = {0, 5, 0, 0, 0, 7};
    hk_graph *graph = NULL;
    for (int rank = 1; rank <= 2; rank++) {
        REQUIRE_OK(load_sparse(&graph, rank, rank == 1 ? linear : pairs, 3));
        CHECK_BYTES(hk_tensor_const_data(hk_value_tensor(hk_graph_find(graph, "s"))), dense, sizeof dense);
        hk_graph_free(graph);
    }
    CHECK_FAILS(load_sparse(&graph, 1, outside, 3), HK_INVALID_FILE, "index 6 of element 1");
    CHECK_FAILS(load_sparse(&graph, 1, linear, (int64_t)1 << 40), HK_UNSUPPORTED, "sparse tensor 's'");
}

/* ---- External data. ---- */

#define FOLDER TEST_BINARY_DIR "/onnx_external"

static void put_text_entry(hki_pb_writer *w, const char *key, const char *value)
{
    hki_pb_mark mark = hki_pb_begin(w, 13);
    hki_pb_put_text(w, 1, key);
    hki_pb_put_text(w, 2, value);
    hki_pb_end(w, mark);
}

static hk_status load_external(hk_graph **out, const char *directory, const char *location, const char *offset,
                               const char *length)
{
    int64_t count = 4;
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17), t = hki_pb_begin(&w, 5);
    put_raw_tensor(&w, "w", HK_FLOAT, 1, &count, NULL, 0);
    if (location)
        put_text_entry(&w, "location", location);
    if (offset)
        put_text_entry(&w, "offset", offset);
    if (length)
        put_text_entry(&w, "length", length);
    hki_pb_put_int(&w, 14, 1);
    hki_pb_end(&w, t);
    put_info(&w, 12, "w", 1, -1, NULL);
    hki_pb_end(&w, g);
    hk_status status = hk_model_load_memory(out, w.data, w.size, directory);
    hki_pb_free(&w);
    return status;
}

static hk_status write_numbers(const char *path)
{
    static const float numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    hki_writer *file;
    hk_status status = hki_writer_open(&file, path);
    if (status)
        return status;
    hki_writer_write(file, numbers, sizeof numbers);
    return hki_writer_commit(file);
}

TEST(external_data)
{
    hk_graph *graph = NULL;
    REQUIRE_OK(hki_directory_create(FOLDER "/inside/deep"));
    REQUIRE_OK(write_numbers(FOLDER "/inside/deep/weights"));
    REQUIRE_OK(write_numbers(FOLDER "/secret"));
    static const struct {
        const char *location, *offset, *length;
        double first;
    } fine[] = {{"deep/weights", NULL, NULL, 0}, {"deep/weights", "16", "16", 4}, {"./deep/weights", "4", "16", 1}};
    for (size_t i = 0; i < 3; i++) {
        REQUIRE_OK(load_external(&graph, FOLDER "/inside", fine[i].location, fine[i].offset, fine[i].length));
        CHECK_CLOSE(hki_tensor_get_double(hk_value_tensor(hk_graph_find(graph, "w")), 0), fine[i].first, 0);
        hk_graph_free(graph);
    }
    REQUIRE_OK(load_external(&graph, FOLDER "/inside", "deep/weights", "5", "16")); /* misaligned: copied */
    CHECK((uintptr_t)hk_tensor_const_data(hk_value_tensor(hk_graph_find(graph, "w"))) % 4 == 0);
    hk_graph_free(graph);
}

TEST(attacks_through_external_data)
{
    hk_graph *graph = NULL;
    REQUIRE_OK(hki_directory_create(FOLDER "/inside/deep"));
    REQUIRE_OK(write_numbers(FOLDER "/inside/deep/weights"));
    REQUIRE_OK(write_numbers(FOLDER "/secret"));
    unlink(FOLDER "/inside/link");
    unlink(FOLDER "/inside/folder");
    unlink(FOLDER "/inside/good");
    unlink(FOLDER "/inside/pipe");
    CHECK_EQ(symlink("../secret", FOLDER "/inside/link"), 0);
    CHECK_EQ(symlink("..", FOLDER "/inside/folder"), 0);
    CHECK_EQ(symlink("deep/weights", FOLDER "/inside/good"), 0);
    CHECK_EQ(mkfifo(FOLDER "/inside/pipe", 0600), 0);
    static const struct {
        const char *location, *offset, *length;
        hk_code code;
        const char *message;
    } cases[] = {
        {"../secret", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"deep/../../secret", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"deep/..", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"..", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"/etc/passwd", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"..\\secret", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"link", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"folder/secret", NULL, NULL, HK_INVALID_FILE, "leads out"},
        {"deep", NULL, NULL, HK_INVALID_FILE, "not a regular file"},
        {"pipe", NULL, NULL, HK_INVALID_FILE, "not a regular file"},
        {"missing", NULL, NULL, HK_NOT_FOUND, "missing"},
        {"", NULL, NULL, HK_INVALID_FILE, "without a location"},
        {NULL, NULL, NULL, HK_INVALID_FILE, "without a location"},
        {"deep/weights", "17", NULL, HK_INVALID_FILE, "of a file of 32 bytes"},
        {"deep/weights", "18446744073709551615", NULL, HK_INVALID_FILE, "of a file of 32 bytes"},
        {"deep/weights", "18446744073709551616", NULL, HK_INVALID_FILE, "is not a number"},
        {"deep/weights", "-1", NULL, HK_INVALID_FILE, "is not a number"},
        {"deep/weights", "0", "12", HK_INVALID_FILE, "has 12 bytes, the shape needs 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_FAILS(load_external(&graph, FOLDER "/inside", cases[i].location, cases[i].offset, cases[i].length),
                    cases[i].code, cases[i].message);
    CHECK_FAILS(load_external(&graph, NULL, "deep/weights", NULL, NULL), HK_INVALID_FILE, "without a directory");
    REQUIRE_OK(load_external(&graph, FOLDER "/inside", "good", NULL, NULL)); /* a link that stays inside */
    hk_graph_free(graph);
}

TEST_MAIN()
