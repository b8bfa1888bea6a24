/* The ONNX reader on models made by hand: what must be read, and what must be refused with a message that helps. */
#include "harness/onnx_bytes.h"

#include "harness/test.h"

static const int64_t dims23[] = {2, 3}, dims32[] = {3, 2}, dims6[] = {6}, dims2[] = {2};
static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t shape32[] = {3, 2};

/* ---- Graphs. ---- */

TEST(nodes_in_any_order)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17);
    put_node(&w, "second", "Transpose", "a", "y");
    put_node(&w, "first", "Transpose", "x", "a");
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "y", 1, 2, dims23);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    CHECK_EQ(hk_graph_node_count(graph), 2);
    CHECK_STR(hk_node_name(hk_graph_first(graph)), "first");
    hk_value *y = hk_graph_output_at(graph, 0);
    CHECK_STR(hk_value_name(y), "y");
    CHECK_EQ(hk_value_dims(y)[0], 2);
    hk_graph_free(graph);
}

TEST(cycle)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17);
    put_node(&w, "one", "Concat", "x,b", "a");
    put_node(&w, "two", "Transpose", "a", "b");
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "b", 1, -1, NULL);
    hk_graph *graph = NULL;
    CHECK_FAILS(end_model(&graph, &w, g), HK_INVALID_FILE, "cycle: node 'one'");
    CHECK(!graph);
}

TEST(names_defined_twice_or_never)
{
    static const struct {
        const char *input, *initializer, *node_input, *node_output, *second_output, *output, *message;
    } cases[] = {
        {"x", "w", "x", "y", "y", "y", "'y' is made twice: by node 'n' (Transpose) and by node 'm' (Transpose)"},
        {"x", "w", "w", "x", "z", "x", "'x' is defined twice"},
        {"x", "w", "x", "w", "z", "w", "'w' is defined twice"},
        {"x", "w", "nothing", "y", "z", "y", "node 'n' (Transpose): input 'nothing' is not defined"},
        {"x", "w", "x", "y", "z", "lost", "output 'lost' is not defined"},
        {"x", "", "x", "y", "z", "y", "an initializer has no name"},
        {"", "w", "w", "y", "z", "y", "input 0 has no name"},
        {"x", "w", "x", "", "z", "z", NULL}, /* an output that nobody wants */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hki_pb_writer w = {0};
        hki_pb_mark g = begin_model(&w, 17);
        put_node(&w, "n", "Transpose", cases[i].node_input, cases[i].node_output);
        put_node(&w, "m", "Transpose", "w", cases[i].second_output);
        if (!*cases[i].initializer)
            put_initializer(&w, "w", 1, 2, dims23, numbers, sizeof numbers);
        put_initializer(&w, cases[i].initializer, 1, 2, dims23, numbers, sizeof numbers);
        put_info(&w, 11, cases[i].input, 1, 2, dims23);
        put_info(&w, 12, cases[i].output, 1, -1, NULL);
        hk_graph *graph = NULL;
        if (cases[i].message) {
            CHECK_FAILS(end_model(&graph, &w, g), HK_INVALID_FILE, cases[i].message);
        } else {
            CHECK_OK(end_model(&graph, &w, g));
            hk_graph_free(graph);
        }
    }
}

TEST(default_of_an_input)
{
    for (int ir = 3; ir <= 4; ir++) {
        hki_pb_writer w = {0};
        hki_pb_put_int(&w, 1, ir);
        put_opset(&w, 8, "ai.onnx", 9);
        hki_pb_mark g = hki_pb_begin(&w, 7);
        put_node(&w, "n", "Transpose", "w", "y");
        put_initializer(&w, "w", 1, 2, dims23, numbers, sizeof numbers);
        put_info(&w, 11, "w", 1, -1, NULL);
        put_info(&w, 12, "y", 1, -1, NULL);
        hk_graph *graph = NULL;
        REQUIRE_OK(end_model(&graph, &w, g));
        CHECK_EQ(hk_graph_input_count(graph), ir == 3 ? 0 : 1); /* up to IR 3 it is simply a constant */
        CHECK_EQ(hk_graph_constant_count(graph), 1);
        CHECK_EQ(hk_value_rank(hk_graph_find(graph, "w")), 2);
        CHECK_EQ(hk_value_dims(hk_graph_output_at(graph, 0))[0], 3);
        hk_graph_free(graph);
    }
}

TEST(symbolic_and_missing_dims)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17);
    hki_pb_mark value = hki_pb_begin(&w, 11);
    hki_pb_put_text(&w, 1, "x");
    hki_pb_mark type = hki_pb_begin(&w, 2), tensor = hki_pb_begin(&w, 1), shape = hki_pb_begin(&w, 2);
    for (int i = 0; i < 4; i++) {
        hki_pb_mark dim = hki_pb_begin(&w, 1);
        if (i == 0)
            hki_pb_put_text(&w, 2, "N");
        else if (i == 1)
            hki_pb_put_int(&w, 1, -5); /* old exporters: unknown */
        else if (i == 2)
            hki_pb_put_text(&w, 2, "");
        else
            hki_pb_put_int(&w, 1, 3);
        hki_pb_end(&w, dim);
    }
    hki_pb_end(&w, shape);
    hki_pb_put_int(&w, 1, 1);
    hki_pb_end(&w, tensor);
    hki_pb_end(&w, type);
    hki_pb_end(&w, value);
    put_info(&w, 12, "x", 1, -1, NULL);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    const int64_t *dims = hk_value_dims(hk_graph_input_at(graph, 0));
    CHECK_STR(hk_graph_symbol_name(graph, dims[0]), "N");
    CHECK_EQ(dims[1], -1);
    CHECK_EQ(dims[2], -1);
    CHECK_EQ(dims[3], 3);
    hk_graph_free(graph);
}

/* An upgrade rule makes a helper value; should the file use that very name later, the file's name wins. */
TEST(helpers_give_way_to_names_of_the_file)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 4); /* Reshape had its shape as an attribute */
    hki_pb_mark n = begin_node(&w, 1, "constant", "Reshape", "x", "r");
    put_ints(&w, "shape", 7, 2, shape32);
    hki_pb_end(&w, n);
    put_node(&w, "t", "Transpose", "r", "constant");
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "constant", 1, -1, NULL);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    hk_value *y = hk_graph_output_at(graph, 0);
    CHECK_STR(hk_value_name(y), "constant");
    CHECK_EQ(hk_value_dims(y)[0], 2);
    CHECK_EQ(hk_node_input_count(hk_graph_first(graph)), 2);
    CHECK_EQ(hk_graph_constant_count(graph), 1);
    hk_graph_free(graph);
}

/* ---- Versions and operators. ---- */

TEST(versions_of_the_format)
{
    for (int ir = 1; ir <= 14; ir++) {
        hki_pb_writer w = {0};
        hki_pb_put_int(&w, 1, ir);
        put_opset(&w, 8, "", 13);
        put_opset(&w, 8, "com.never.used", 1);
        hki_pb_mark g = hki_pb_begin(&w, 7);
        put_info(&w, 11, "x", 1, 2, dims23);
        put_info(&w, 12, "x", 1, 2, dims23);
        hk_graph *graph = NULL;
        if (ir < 3 || ir > 13) {
            CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "IR version");
        } else {
            CHECK_OK(end_model(&graph, &w, g));
        }
        hk_graph_free(graph);
    }
}

TEST(unknown_operators_are_listed)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 19);
    hki_pb_mark n = begin_node(&w, 1, "first", "Foo", "x", "a");
    hki_pb_put_text(&w, 7, "bar");
    hki_pb_end(&w, n);
    put_node(&w, "again", "NoSuchThing", "a", "b");
    put_node(&w, "again2", "NoSuchThing", "b", "c");
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "c", 1, -1, NULL);
    hk_graph *graph = NULL;
    CHECK_FAILS(
        end_model(&graph, &w, g), HK_UNSUPPORTED,
        "node 'first': operator Foo of domain 'bar' (opset 0) is not known; node 'again': operator NoSuchThing of "
        "domain 'ai.onnx' (opset 19) is not known");
}

TEST(many_unknown_operators)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 19);
    for (int i = 0; i < 20; i++) {
        char op[32], out[32];
        snprintf(op, sizeof op, "Unknown%d", i);
        snprintf(out, sizeof out, "y%d", i);
        put_node(&w, "", op, "x", out);
    }
    put_info(&w, 11, "x", 1, 2, dims23);
    hk_graph *graph = NULL;
    CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "and 12 more");
}

TEST(newer_opset)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 99);
    put_node(&w, "n", "Transpose", "x", "y");
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "y", 1, -1, NULL);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    hk_graph_free(graph);
    w = (hki_pb_writer){0};
    g = begin_model(&w, 99);
    put_node(&w, "n", "FromTheFuture", "x", "y");
    put_info(&w, 11, "x", 1, 2, dims23);
    graph = NULL;
    CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "uses opset 99");
}

/* ---- Constants, functions, branches. ---- */

static void put_constant_node(hki_pb_writer *w, uint32_t field, const char *output, const char *form,
                              uint32_t value_field, int type)
{
    hki_pb_mark n = begin_node(w, field, "", "Constant", NULL, output), a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, form);
    if (value_field == 2 || value_field == 7)
        hki_pb_put_float(w, value_field, 2.5f);
    else if (value_field == 3 || value_field == 8)
        hki_pb_put_int(w, value_field, -3);
    hki_pb_put_int(w, 20, type);
    hki_pb_end(w, a);
    hki_pb_end(w, n);
}

TEST(constant_nodes_become_initializers)
{
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 13);
    put_constant_node(&w, 1, "a", "value_float", 2, 1);
    put_constant_node(&w, 1, "b", "value_floats", 7, 6);
    put_constant_node(&w, 1, "c", "value_int", 3, 2);
    put_constant_node(&w, 1, "d", "value_ints", 8, 7);
    hki_pb_mark n = begin_node(&w, 1, "", "Constant", NULL, "e"), a = hki_pb_begin(&w, 5);
    hki_pb_put_text(&w, 1, "value");
    hki_pb_mark t = hki_pb_begin(&w, 5);
    put_raw_tensor(&w, "", 1, 2, dims23, numbers, sizeof numbers);
    hki_pb_end(&w, t);
    hki_pb_end(&w, a); /* no type given: it is that of the field */
    hki_pb_end(&w, n);
    put_info(&w, 12, "e", 1, -1, NULL);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    CHECK_EQ(hk_graph_node_count(graph), 0);
    CHECK_EQ(hk_graph_constant_count(graph), 5);
    CHECK_EQ(hk_value_rank(hk_graph_find(graph, "a")), 0);
    CHECK_EQ(hk_value_rank(hk_graph_find(graph, "b")), 1);
    CHECK_CLOSE(*(const float *)hk_tensor_const_data(hk_value_tensor(hk_graph_find(graph, "b"))), 2.5, 0);
    CHECK_EQ(*(const int64_t *)hk_tensor_const_data(hk_value_tensor(hk_graph_find(graph, "c"))), -3);
    CHECK_EQ(hk_value_dtype(hk_graph_find(graph, "d")), HK_INT64);
    CHECK_EQ(hk_value_dims(hk_graph_find(graph, "e"))[1], 3);
    hk_graph_free(graph);
}

/* f(p, q) = Concat(Transpose(p, perm = @order), q) along axis @axis, with a default for axis. */
static void put_function(hki_pb_writer *w, const char *calls)
{
    hki_pb_mark f = hki_pb_begin(w, 25);
    hki_pb_put_text(w, 1, "Turn");
    hki_pb_put_text(w, 4, "p");
    hki_pb_put_text(w, 4, "q");
    hki_pb_put_text(w, 5, "out");
    hki_pb_mark n = begin_node(w, 7, "inner", "Transpose", "p", "turned"), a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, "perm");
    hki_pb_put_text(w, 21, "order");
    hki_pb_put_int(w, 20, 7);
    hki_pb_end(w, a);
    hki_pb_end(w, n);
    n = begin_node(w, 7, "join", calls ? calls : "Concat", "turned,q", "out");
    a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, "axis");
    hki_pb_put_text(w, 21, "axis");
    hki_pb_put_int(w, 20, 2);
    hki_pb_end(w, a);
    if (calls)
        hki_pb_put_text(w, 7, "my");
    hki_pb_end(w, n);
    put_opset(w, 9, "", 13);
    put_opset(w, 9, "my", 1);
    hki_pb_put_text(w, 10, "my");
    hki_pb_mark d = hki_pb_begin(w, 11); /* attribute_proto: the default */
    hki_pb_put_text(w, 1, "axis");
    hki_pb_put_int(w, 3, 0);
    hki_pb_put_int(w, 20, 2);
    hki_pb_end(w, d);
    hki_pb_end(w, f);
}

static hk_status load_function(hk_graph **out, const char *calls)
{
    static const int64_t order[] = {1, 0};
    hki_pb_writer w = {0};
    hki_pb_put_int(&w, 1, 8);
    put_opset(&w, 8, "", 17);
    put_opset(&w, 8, "my", 1);
    put_function(&w, calls);
    hki_pb_mark g = hki_pb_begin(&w, 7);
    hki_pb_mark n = begin_node(&w, 1, "call", "Turn", "x,z", "y");
    put_ints(&w, "order", 7, 2, order);
    hki_pb_put_text(&w, 7, "my");
    hki_pb_end(&w, n);
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 11, "z", 1, 2, dims32);
    put_info(&w, 12, "y", 1, -1, NULL);
    return end_model(out, &w, g);
}

TEST(functions_are_inlined)
{
    hk_graph *graph = NULL;
    REQUIRE_OK(load_function(&graph, NULL));
    CHECK_EQ(hk_graph_node_count(graph), 2);
    hk_node *first = hk_graph_first(graph);
    CHECK_STR(hk_node_name(first), "call/inner");
    CHECK_STR(hk_value_name(hk_node_output(first, 0)), "call/turned");
    hk_value *y = hk_graph_output_at(graph, 0);
    CHECK_STR(hk_value_name(y), "y");
    CHECK_EQ(hk_value_dims(y)[0], 6);
    CHECK_EQ(hk_value_dims(y)[1], 2);
    hk_graph_free(graph);
}

TEST(function_that_calls_itself)
{
    hk_graph *graph = NULL;
    CHECK_FAILS(load_function(&graph, "Turn"), HK_INVALID_FILE, "calls itself");
}

static void put_branch(hki_pb_writer *w, const char *name, const char *op)
{
    hki_pb_mark a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, name);
    hki_pb_mark g = hki_pb_begin(w, 6);
    put_node(w, "b", op, "x", "result");
    put_info(w, 12, "result", 1, -1, NULL);
    hki_pb_end(w, g);
    hki_pb_put_int(w, 20, 5);
    hki_pb_end(w, a);
}

static hk_status load_if(hk_graph **out, bool constant, bool condition)
{
    unsigned char byte = condition;
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17);
    hki_pb_mark n = begin_node(&w, 1, "choose", "If", "c", "y");
    put_branch(&w, "then_branch", "Transpose");
    put_branch(&w, "else_branch", "NoSuchThing");
    hki_pb_end(&w, n);
    if (constant)
        put_initializer(&w, "c", 9, 0, NULL, &byte, 1);
    else
        put_info(&w, 11, "c", 9, 0, NULL);
    put_info(&w, 11, "x", 1, 2, dims23);
    put_info(&w, 12, "y", 1, -1, NULL);
    return end_model(out, &w, g);
}

TEST(branches)
{
    hk_graph *graph = NULL;
    CHECK_FAILS(load_if(&graph, false, true), HK_UNSUPPORTED,
                "node 'choose' (If): the condition 'c' is not a constant");
    CHECK_FAILS(load_if(&graph, true, false), HK_UNSUPPORTED, "NoSuchThing");
    REQUIRE_OK(load_if(&graph, true, true));
    CHECK_EQ(hk_graph_node_count(graph), 1);
    CHECK_STR(hk_node_name(hk_graph_first(graph)), "choose/b");
    CHECK_STR(hk_value_name(hk_graph_output_at(graph, 0)), "y");
    CHECK_EQ(hk_value_dims(hk_graph_output_at(graph, 0))[0], 3);
    hk_graph_free(graph);
}

TEST(metadata)
{
    hki_pb_writer w = {0};
    hki_pb_mark m = hki_pb_begin(&w, 14);
    hki_pb_put_text(&w, 1, "halka.labels");
    hki_pb_put_text(&w, 2, "cat,dog");
    hki_pb_end(&w, m);
    hki_pb_mark g = begin_model(&w, 17);
    put_info(&w, 11, "x", 1, 1, dims6);
    put_info(&w, 12, "x", 1, 1, dims6);
    hk_graph *graph = NULL;
    REQUIRE_OK(end_model(&graph, &w, g));
    CHECK_STR(hk_graph_metadata(graph, "halka.labels"), "cat,dog");
    hk_graph_free(graph);
}

/* ---- What halka has not. ---- */

TEST(types_that_are_not_supported)
{
    static const struct {
        int dtype;
        const char *message;
    } cases[] = {{8, "string"}, {17, "float8e4m3fn"}, {22, "int4"}, {99, "undefined (99)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hki_pb_writer w = {0};
        hki_pb_mark g = begin_model(&w, 17);
        put_info(&w, 11, "x", cases[i].dtype, 1, dims2);
        put_info(&w, 12, "x", cases[i].dtype, 1, dims2);
        hk_graph *graph = NULL;
        CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, cases[i].message);
    }
    hki_pb_writer w = {0};
    hki_pb_mark g = begin_model(&w, 17), value = hki_pb_begin(&w, 11);
    hki_pb_put_text(&w, 1, "list");
    hki_pb_mark type = hki_pb_begin(&w, 2), sequence = hki_pb_begin(&w, 4);
    hki_pb_end(&w, sequence);
    hki_pb_end(&w, type);
    hki_pb_end(&w, value);
    hk_graph *graph = NULL;
    CHECK_FAILS(end_model(&graph, &w, g), HK_UNSUPPORTED, "'list' is a sequence");
}

TEST(not_a_model)
{
    hk_graph *graph = NULL;
    CHECK_FAILS(hk_model_load_memory(&graph, "", 0, NULL), HK_INVALID_FILE, "no graph");
    CHECK_FAILS(hk_model_load_memory(&graph, "PK\3\4hello", 9, NULL), HK_INVALID_FILE, "not an ONNX model");
    CHECK_FAILS(hk_model_load(&graph, TEST_BINARY_DIR "/there/is/none.onnx"), HK_NOT_FOUND, "none.onnx");
}

TEST_MAIN()
