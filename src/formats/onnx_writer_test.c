/* The ONNX writer: what goes out must come back, byte for byte; what cannot be expressed is refused by name. */
#include "harness/onnx_bytes.h"
#include "harness/test.h"
#include "tensor/tensor.h"

#define FILE_A TEST_BINARY_DIR "/onnx_writer_a.onnx"
#define FILE_B TEST_BINARY_DIR "/onnx_writer_b.onnx"

static hk_tensor *make_ramp(int rank, const int64_t *dims)
{
    hk_tensor *t = NULL;
    hk_status status = hk_tensor_create(&t, HK_FLOAT, rank, dims);
    if (status)
        return NULL;
    for (int64_t i = 0; i < hk_tensor_count(t); i++)
        hki_tensor_set_double(t, i, (double)i / 8);
    return t;
}

/* Transposes, joins, reshapes: two inputs, a large and a small constant, metadata, a symbol. */
static hk_status make_graph(hk_graph **out)
{
    hk_graph *g;
    hk_status status = hk_graph_create(&g, "sample");
    if (status)
        return status;
    int64_t x_dims[] = {hk_graph_symbol(g, "N"), 40}, w_dims[] = {40, 30}, small_dims[] = {1};
    hk_tensor *w = make_ramp(2, w_dims), *small = make_ramp(1, small_dims);
    hk_value *x = hk_graph_input(g, "x", HK_FLOAT, 2, x_dims);
    hk_value *weight = hk_graph_constant(g, "w", w), *other = hk_graph_constant(g, "small", small);
    int64_t perm[] = {1, 0};
    hk_attribute attribute = {"perm", HK_ATTRIBUTE_INTS, 2, {.ints = perm}};
    hk_value *turned = hk_graph_apply(g, "Transpose", HK_VALUES(weight), 1, &attribute);
    hk_value *joined = hk_graph_apply(g, "Concat", HK_VALUES(x, turned), HK_ATTRIBUTES(HK_INT("axis", 0)));
    hk_graph_output(g, "joined", joined);
    hk_graph_output(g, "joined_again", joined);
    hk_graph_output(g, "small", other);
    hk_graph_output(g, "x_out", x);
    hk_tensor_free(w);
    hk_tensor_free(small);
    status = hk_graph_status(g);
    if (!status)
        status = hk_graph_set_metadata(g, "halka.labels", "one\ntwo");
    if (status)
        hk_graph_free(g);
    else
        *out = g;
    return status;
}

static bool same_files(const char *a, const char *b)
{
    char *bytes[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    hk_status_free(hki_file_read(&bytes[0], &sizes[0], a));
    hk_status_free(hki_file_read(&bytes[1], &sizes[1], b));
    bool same = bytes[0] && bytes[1] && sizes[0] == sizes[1] && !memcmp(bytes[0], bytes[1], sizes[0]);
    hki_free(bytes[0]);
    hki_free(bytes[1]);
    return same;
}

TEST(same_bytes_after_a_round_trip)
{
    hk_graph *graph = NULL, *back = NULL;
    REQUIRE_OK(make_graph(&graph));
    REQUIRE_OK(hk_model_save(graph, FILE_A, NULL));
    REQUIRE_OK(hk_model_save(graph, FILE_B, NULL));
    CHECK(same_files(FILE_A, FILE_B));
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    REQUIRE_OK(hk_model_save(back, FILE_B, NULL));
    CHECK(same_files(FILE_A, FILE_B));
    CHECK_EQ(hk_graph_input_count(back), 1);
    CHECK_EQ(hk_graph_output_count(back), 4);
    CHECK_EQ(hk_graph_constant_count(back), 2);
    CHECK_STR(hk_graph_metadata(back, "halka.labels"), "one\ntwo");
    CHECK_STR(hk_graph_symbol_name(back, hk_value_dims(hk_graph_input_at(back, 0))[0]), "N");
    CHECK_EQ(hk_graph_node_count(back), 4); /* two Identity nodes: a second name, and an input that is an output */
    hk_graph_free(graph);
    hk_graph_free(back);
}

/* Saving a graph over the file that it came from, whose bytes its weights still are. */
TEST(saved_over_its_own_file)
{
    hk_graph *graph = NULL, *back = NULL;
    REQUIRE_OK(make_graph(&graph));
    REQUIRE_OK(hk_model_save(graph, FILE_A, NULL));
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    REQUIRE_OK(hk_model_save(back, FILE_A, NULL));
    REQUIRE_OK(hk_model_save(back, FILE_B, NULL));
    CHECK(same_files(FILE_A, FILE_B));
    hk_graph_free(graph);
    hk_graph_free(back);
}

TEST(weights_are_aligned_and_not_copied)
{
    hk_graph *graph = NULL, *back = NULL;
    hki_map map;
    REQUIRE_OK(make_graph(&graph));
    REQUIRE_OK(hk_model_save(graph, FILE_A, NULL));
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    const hk_tensor *w = hk_value_tensor(hk_graph_find(back, "w"));
    CHECK_EQ((uintptr_t)hk_tensor_const_data(w) % 64, 0);
    REQUIRE_OK(hki_map_open(&map, FILE_A));
    bool found = false; /* the weights stand in the file at a multiple of 64 */
    for (size_t at = 0; at + hk_tensor_size(w) <= map.size; at += 64)
        found |= !memcmp(map.data + at, hk_tensor_const_data(w), hk_tensor_size(w));
    CHECK(found);
    hki_map_close(&map);
    hk_graph_free(graph);
    hk_graph_free(back);
}

TEST(external_data)
{
    hk_graph *graph = NULL, *back = NULL;
    const char *data = TEST_BINARY_DIR "/weights.bin";
    hk_model_save_options options = {.external_threshold = 1024, .external_name = "weights.bin"};
    REQUIRE_OK(make_graph(&graph));
    REQUIRE_OK(hk_model_save(graph, FILE_A, &options));
    hki_map map;
    REQUIRE_OK(hki_map_open(&map, data));
    CHECK_EQ(map.size, 40 * 30 * 4);
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    CHECK_BYTES(hk_tensor_const_data(hk_value_tensor(hk_graph_find(back, "w"))), map.data, map.size);
    REQUIRE_OK(hk_model_save(back, FILE_B, &options)); /* over the data file that is mapped */
    CHECK(same_files(FILE_A, FILE_B));
    hk_graph_free(back);
    hki_map_close(&map);
    options.external_name = NULL;
    REQUIRE_OK(hk_model_save(graph, FILE_A, &options));
    CHECK(hki_path_exists(FILE_A ".data"));
    CHECK_OK(hki_file_remove(FILE_A ".data"));
    options.external_name = "../weights.bin";
    CHECK_FAILS(hk_model_save(graph, FILE_A, &options), HK_INVALID_ARGUMENT, "plain file name");
    options.external_name = "onnx_writer_a.onnx";
    CHECK_FAILS(hk_model_save(graph, FILE_A, &options), HK_INVALID_ARGUMENT, "the model itself");
    hk_graph_free(graph);
}

TEST(opset)
{
    hk_graph *graph = NULL;
    hk_model_save_options options = {.opset = 12};
    REQUIRE_OK(make_graph(&graph));
    CHECK_FAILS(hk_model_save(graph, FILE_A, &options), HK_UNSUPPORTED, "needs opset");
    options.opset = 18;
    CHECK_OK(hk_model_save(graph, FILE_A, &options));
    hki_map map;
    REQUIRE_OK(hk_model_save(graph, FILE_A, NULL));
    REQUIRE_OK(hki_map_open(&map, FILE_A));
    CHECK_EQ(map.data[1], 8); /* IR version 8 goes with opset 17: nothing here needs a newer one */
    hki_map_close(&map);
    hk_graph_free(graph);
}

TEST(halka_nodes_are_refused)
{
    hk_graph *g = NULL, *back = NULL;
    int64_t dims[] = {2, 3}, small[] = {3};
    REQUIRE_OK(hk_graph_create(&g, "g"));
    hk_value *x = hk_graph_input(g, "x", HK_FLOAT, 2, dims), *y = hk_graph_input(g, "y", HK_FLOAT, 1, small);
    hk_value *z = NULL;
    hk_graph_node(g, "halka", "SumToShape", "inner", HK_VALUES(x, y), HK_NO_ATTRIBUTES, 1, &z);
    hk_graph_output(g, "z", z);
    REQUIRE_OK(hk_graph_status(g));
    CHECK_FAILS(hk_model_save(g, FILE_A, NULL), HK_UNSUPPORTED, "node 'inner' (SumToShape): domain 'halka'");
    hk_model_save_options options = {.keep_halka_nodes = true};
    REQUIRE_OK(hk_model_save(g, FILE_A, &options));
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    CHECK_STR(hk_node_domain(hk_graph_first(back)), "halka");
    hk_graph_free(g);
    hk_graph_free(back);
}

TEST(output_names)
{
    hk_graph *g = NULL, *back = NULL;
    int64_t dims[] = {2, 3};
    REQUIRE_OK(hk_graph_create(&g, "g"));
    hk_value *x = hk_graph_input(g, "x", HK_FLOAT, 2, dims);
    hk_value *a = hk_graph_apply(g, "Transpose", HK_VALUES(x), HK_NO_ATTRIBUTES);
    hk_value *b = hk_graph_apply(g, "Transpose", HK_VALUES(a), HK_NO_ATTRIBUTES);
    hk_graph_output(g, hk_value_name(a), b); /* the names of two values crossed */
    hk_graph_output(g, hk_value_name(b), a);
    REQUIRE_OK(hk_graph_status(g));
    REQUIRE_OK(hk_model_save(g, FILE_A, NULL));
    REQUIRE_OK(hk_model_load(&back, FILE_A));
    CHECK_EQ(hk_value_dims(hk_graph_output_at(back, 0))[0], 2);
    CHECK_EQ(hk_value_dims(hk_graph_output_at(back, 1))[0], 3);
    hk_graph_free(back);
    hk_graph_output(g, "x", b);
    CHECK_FAILS(hk_model_save(g, FILE_A, NULL), HK_INVALID_ARGUMENT, "output 'x' has the name of an input");
    hk_graph_free(g);
}

TEST(text)
{
    hk_graph *graph = NULL;
    char *text = NULL;
    REQUIRE_OK(make_graph(&graph));
    REQUIRE_OK(hk_graph_text(&text, graph));
    CHECK(strstr(text, "input x float32[N,40]\n"));
    CHECK(strstr(text, "constant small float32[1] = (0)\n"));
    CHECK(strstr(text, " = Transpose(w) perm=[1,0] # "));
    CHECK(strstr(text, "output x_out = x\n"));
    hk_text_free(text);
    hk_graph_free(graph);
}

TEST_MAIN()
