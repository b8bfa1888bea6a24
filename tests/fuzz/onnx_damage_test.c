/* Damage to ONNX files: every cut and every flipped bit of small models must give a graph or a status that says
 * something; and hand-made monsters: depth, size, numbers. */
#include "harness/onnx_bytes.h"
#include "harness/test.h"
#include "onnx_samples.h"

/* Loads from a block of exactly the right size. Returns whether it was a model. */
static bool load(const unsigned char *data, size_t size)
{
    unsigned char *exact = malloc(size ? size : 1);
    hk_graph *graph = NULL;
    if (!exact)
        return false;
    if (size)
        memcpy(exact, data, size);
    hk_status status = hk_model_load_memory(&graph, exact, size, NULL);
    free(exact);
    CHECK(!status == (graph != NULL));
    CHECK(!status || strlen(hk_status_message(status)) > 10);
    bool fine = !status;
    hk_status_free(status);
    hk_graph_free(graph);
    return fine;
}

TEST(samples_are_models)
{
    for (const onnx_sample *s = onnx_models; s->name; s++) {
        hki_pb_writer w = {0};
        hk_graph *graph = NULL;
        s->make(&w);
        CHECK_OK(hk_model_load_memory(&graph, w.data, w.size, NULL));
        hk_graph_free(graph);
        hki_pb_free(&w);
    }
}

TEST(every_cut)
{
    for (const onnx_sample *s = onnx_models; s->name; s++) {
        hki_pb_writer w = {0};
        s->make(&w);
        for (size_t size = 0; size < w.size; size++)
            load(w.data, size);
        hki_pb_free(&w);
    }
}

TEST(every_flipped_bit)
{
    for (const onnx_sample *s = onnx_models; s->name; s++) {
        hki_pb_writer w = {0};
        s->make(&w);
        int models = 0;
        for (size_t bit = 0; bit < 8 * w.size; bit++) {
            w.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            models += load(w.data, w.size);
            w.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        CHECK(models > 0); /* a flipped bit of a weight is another model */
        hki_pb_free(&w);
    }
}

/* ---- Torture. ---- */

/* Fails each allocation once; what comes out is a status, and a sanitizer sees no leak. */
TEST(every_allocation_fails_once)
{
    const char *path = TEST_BINARY_DIR "/torture.onnx";
    for (const onnx_sample *s = onnx_models; s->name; s++) {
        hki_pb_writer w = {0};
        s->make(&w);
        bool failed = true;
        for (int64_t n = 1; failed && n < 100000; n++) {
            hk_graph *graph = NULL;
            int64_t before = hki_memory_count();
            hki_memory_fail_at(n);
            hk_status status = hk_model_load_memory(&graph, w.data, w.size, NULL);
            if (!status)
                status = hk_model_save(graph, path, NULL);
            failed = hki_memory_count() - before >= n;
            hki_memory_fail_at(0);
            CHECK_EQ(hk_status_code(status), failed ? HK_OUT_OF_MEMORY : HK_OK);
            hk_status_free(status);
            hk_graph_free(graph);
        }
        hki_pb_free(&w);
    }
    CHECK_OK(hki_file_remove(path));
}

static hk_status load_small(hk_graph **out)
{
    hki_pb_writer w = {0};
    onnx_models[0].make(&w);
    hk_status status = hk_model_load_memory(out, w.data, w.size, NULL);
    hki_pb_free(&w);
    return status;
}

/* Fails each write once: the file of before stays whole. */
TEST(every_write_fails_once)
{
    const char *path = TEST_BINARY_DIR "/torture.onnx";
    hk_model_save_options options = {.external_threshold = 1};
    hk_graph *graph = NULL, *back = NULL;
    REQUIRE_OK(load_small(&graph));
    for (int external = 0; external < 2; external++) {
        REQUIRE_OK(hk_model_save(graph, path, external ? &options : NULL));
        bool failed = true;
        for (int64_t n = 1; failed && n < 1000; n++) {
            hki_file_fail_at(n);
            hk_status status = hk_model_save(graph, path, external ? &options : NULL);
            hki_file_fail_at(0);
            failed = status != NULL;
            hk_status_free(status);
            CHECK_OK(hk_model_load(&back, path));
            hk_graph_free(back);
        }
    }
    hk_graph_free(graph);
    CHECK_OK(hki_file_remove(path));
    CHECK_OK(hki_file_remove(TEST_BINARY_DIR "/torture.onnx.data"));
}

/* ---- Monsters. ---- */

static void put_nested_if(hki_pb_writer *w, int depth)
{
    hki_pb_mark n = begin_node(w, 1, "n", "If", "c", "y"), a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, "then_branch");
    hki_pb_mark g = hki_pb_begin(w, 6);
    if (depth)
        put_nested_if(w, depth - 1);
    else
        put_node(w, "", "Transpose", "x", "y");
    put_info(w, 12, "y", 1, -1, NULL);
    hki_pb_end(w, g);
    hki_pb_put_int(w, 20, 5);
    hki_pb_end(w, a);
    hki_pb_end(w, n);
}

TEST(deep_nesting)
{
    static const int64_t dims[] = {2, 2};
    for (int depth = 10; depth <= 5000; depth *= 20) {
        hki_pb_writer w = {0};
        hk_graph *graph = NULL;
        hki_pb_mark g = begin_model(&w, 17);
        put_nested_if(&w, depth);
        put_initializer(&w, "c", 9, 0, NULL, "\x01", 1);
        put_info(&w, 11, "x", 1, 2, dims);
        put_info(&w, 12, "y", 1, -1, NULL);
        if (depth == 10) {
            CHECK_OK(end_model(&graph, &w, g));
        } else {
            CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "nested");
        }
        hk_graph_free(graph);
    }
}

/* f0 = Transpose twice, f1 = f0 twice, ... : 2^30 nodes in a kilobyte. */
TEST(functions_that_double)
{
    static const int64_t dims[] = {2, 2};
    hki_pb_writer w = {0};
    hk_graph *graph = NULL;
    hki_pb_put_int(&w, 1, 8);
    put_opset(&w, 8, "", 17);
    put_opset(&w, 8, "my", 1);
    for (int i = 0; i < 30; i++) {
        char name[16], inner[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(inner, sizeof inner, "f%d", i - 1);
        hki_pb_mark f = hki_pb_begin(&w, 25);
        hki_pb_put_text(&w, 1, name);
        hki_pb_put_text(&w, 4, "p");
        hki_pb_put_text(&w, 5, "q");
        for (int k = 0; k < 2; k++) {
            hki_pb_mark n = begin_node(&w, 7, "", i ? inner : "Transpose", k ? "h" : "p", k ? "q" : "h");
            hki_pb_put_text(&w, 7, i ? "my" : "");
            hki_pb_end(&w, n);
        }
        put_opset(&w, 9, "", 17);
        put_opset(&w, 9, "my", 1);
        hki_pb_put_text(&w, 10, "my");
        hki_pb_end(&w, f);
    }
    hki_pb_mark g = hki_pb_begin(&w, 7), n = begin_node(&w, 1, "", "f29", "x", "y");
    hki_pb_put_text(&w, 7, "my");
    hki_pb_end(&w, n);
    put_info(&w, 11, "x", 1, 2, dims);
    put_info(&w, 12, "y", 1, -1, NULL);
    CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "grow the graph beyond");
}

static hk_status load_with_dims(int rank, const int64_t *dims, bool as_input)
{
    hki_pb_writer w = {0};
    hk_graph *graph = NULL;
    hki_pb_mark g = begin_model(&w, 17);
    put_node(&w, "t", "Transpose", "x", "y");
    if (as_input)
        put_info(&w, 11, "x", 1, rank, dims);
    else
        put_initializer(&w, "x", 1, rank, dims, "abcd", 4);
    put_info(&w, 12, "y", 1, -1, NULL);
    hk_status status = end_model(&graph, &w, g);
    hk_graph_free(graph);
    return status;
}

TEST(huge_and_negative_dims)
{
    static const int64_t huge[] = {INT64_MAX, INT64_MAX, 2}, wraps[] = {(int64_t)1 << 32, (int64_t)1 << 32},
                         large[] = {(int64_t)1 << 31, 2}, negative[] = {2, -2}, many[12] = {0};
    CHECK_FAILS(load_with_dims(3, huge, false), HK_INVALID_SHAPE, "too many");
    CHECK_FAILS(load_with_dims(2, wraps, false), HK_INVALID_SHAPE, "too many");
    CHECK_FAILS(load_with_dims(2, large, false), HK_INVALID_FILE, "raw_data has 4 bytes");
    CHECK_FAILS(load_with_dims(2, negative, false), HK_INVALID_SHAPE, "at least 0");
    CHECK_FAILS(load_with_dims(12, many, false), HK_UNSUPPORTED, "rank 12");
    CHECK_FAILS(load_with_dims(3, huge, true), HK_INVALID_SHAPE, "too many");
    CHECK_FAILS(load_with_dims(12, many, true), HK_UNSUPPORTED, "rank 12");
    CHECK_OK(load_with_dims(2, large, true)); /* 16 GiB are a shape like another until somebody asks for the memory */
}

/* A length that says more than 2^31, and one more than the address space. */
TEST(huge_lengths)
{
    static const unsigned char huge[] = {0x08, 0x08, 0x3a, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x0a};
    static const unsigned char two_gigabytes[] = {0x08, 0x08, 0x3a, 0x80, 0x80, 0x80, 0x80, 0x08, 0x0a};
    hk_graph *graph = NULL;
    CHECK_FAILS(hk_model_load_memory(&graph, huge, sizeof huge, NULL), HK_INVALID_FILE, "beyond the end");
    CHECK_FAILS(hk_model_load_memory(&graph, two_gigabytes, sizeof two_gigabytes, NULL), HK_INVALID_FILE,
                "beyond the end");
}

TEST_MAIN()
