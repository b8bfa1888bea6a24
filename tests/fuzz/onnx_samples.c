/* See onnx_samples.h. Only operators that move data are used, so that a graph is judged by its format, not its
 * arithmetic. */
#include "onnx_samples.h"

#include "harness/onnx_bytes.h"

static const int64_t dims23[] = {2, 3}, dims32[] = {3, 2}, dims2[] = {2}, perm[] = {1, 0}, axis0[] = {0};
static const float numbers[6] = {1, -2, 3, -4, 5, -6};

static void make_small(hki_pb_writer *w)
{
    hki_pb_mark g = begin_model(w, 17), n = begin_node(w, 1, "t", "Transpose", "x", "a");
    put_ints(w, "perm", 7, 2, perm);
    hki_pb_end(w, n);
    n = begin_node(w, 1, "c", "Concat", "a,w", "y");
    put_ints(w, "axis", 2, 1, axis0);
    hki_pb_end(w, n);
    put_initializer(w, "w", 1, 2, dims32, numbers, sizeof numbers);
    put_info(w, 11, "x", 1, 2, dims23);
    put_info(w, 12, "y", 1, -1, NULL);
    put_info(w, 13, "a", 1, 2, dims32);
    hki_pb_end(w, g);
}

/* Shapes from data: Shape, Gather, Concat, Reshape; an older opset with attributes that became inputs. */
static void make_old(hki_pb_writer *w)
{
    static const int64_t index = 1, minus = -1;
    hki_pb_put_int(w, 1, 3);
    put_opset(w, 8, "ai.onnx", 9);
    put_opset(w, 8, "ai.onnx.ml", 1);
    hki_pb_mark g = hki_pb_begin(w, 7);
    put_node(w, "", "Shape", "x", "s");
    put_node(w, "", "Gather", "s,i", "d");
    hki_pb_mark n = begin_node(w, 1, "", "Unsqueeze", "d", "u");
    put_ints(w, "axes", 7, 1, axis0);
    hki_pb_end(w, n);
    n = begin_node(w, 1, "", "Concat", "m,u", "target");
    put_ints(w, "axis", 2, 1, axis0);
    hki_pb_end(w, n);
    put_node(w, "", "Reshape", "x,target", "r");
    n = begin_node(w, 1, "", "Slice", "r", "y");
    put_ints(w, "starts", 7, 1, axis0);
    put_ints(w, "ends", 7, 1, dims2);
    hki_pb_end(w, n);
    put_initializer(w, "i", 7, 0, NULL, &index, 8);
    hki_pb_mark t = hki_pb_begin(w, 5);
    put_raw_tensor(w, "m", 7, 1, &index, NULL, 0);
    hki_pb_put_int(w, 7, minus);
    hki_pb_end(w, t);
    put_info(w, 11, "i", 7, 0, NULL);
    put_info(w, 11, "x", 1, 2, dims23);
    put_info(w, 12, "y", 1, -1, NULL);
    hki_pb_end(w, g);
}

static void put_reference(hki_pb_writer *w, const char *name, const char *to, int type)
{
    hki_pb_mark a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, name);
    hki_pb_put_text(w, 21, to);
    hki_pb_put_int(w, 20, type);
    hki_pb_end(w, a);
}

static void put_function(hki_pb_writer *w, const char *name, const char *inner, const char *inner_domain)
{
    hki_pb_mark f = hki_pb_begin(w, 25);
    hki_pb_put_text(w, 1, name);
    hki_pb_put_text(w, 4, "p");
    hki_pb_put_text(w, 5, "q");
    hki_pb_mark n = begin_node(w, 7, "n", inner, "p", "h");
    put_reference(w, "perm", "perm", 7);
    hki_pb_put_text(w, 7, inner_domain);
    hki_pb_end(w, n);
    n = begin_node(w, 7, "m", inner, "h", "q");
    hki_pb_put_text(w, 7, inner_domain);
    hki_pb_end(w, n);
    put_opset(w, 9, "", 13);
    put_opset(w, 9, "my", 1);
    hki_pb_put_text(w, 10, "my");
    hki_pb_mark d = hki_pb_begin(w, 11);
    hki_pb_put_text(w, 1, "perm");
    hki_pb_put_int(w, 8, 1);
    hki_pb_put_int(w, 8, 0);
    hki_pb_put_int(w, 20, 7);
    hki_pb_end(w, d);
    hki_pb_end(w, f);
}

static void make_functions(hki_pb_writer *w)
{
    hki_pb_put_int(w, 1, 8);
    put_opset(w, 8, "", 17);
    put_opset(w, 8, "my", 1);
    put_function(w, "Inner", "Transpose", "");
    put_function(w, "Outer", "Inner", "my");
    hki_pb_mark g = hki_pb_begin(w, 7), n = begin_node(w, 1, "call", "Outer", "x", "y");
    put_ints(w, "perm", 7, 2, perm);
    hki_pb_put_text(w, 7, "my");
    hki_pb_end(w, n);
    put_info(w, 11, "x", 1, 2, dims23);
    put_info(w, 12, "y", 1, -1, NULL);
    hki_pb_end(w, g);
}

/* An If with a constant condition, nested once; its branch has a constant and reads a value from outside. */
static void put_branch(hki_pb_writer *w, const char *name, int depth)
{
    hki_pb_mark a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, name);
    hki_pb_mark g = hki_pb_begin(w, 6);
    if (depth) {
        hki_pb_mark n = begin_node(w, 1, "deeper", "If", "c", "r");
        put_branch(w, "then_branch", depth - 1);
        put_branch(w, "else_branch", 0);
        hki_pb_end(w, n);
    } else {
        put_node(w, "", "Transpose", "x", "r");
        put_initializer(w, "k", 1, 2, dims32, numbers, sizeof numbers);
    }
    put_info(w, 12, "r", 1, -1, NULL);
    hki_pb_end(w, g);
    hki_pb_put_int(w, 20, 5);
    hki_pb_end(w, a);
}

static void make_branches(hki_pb_writer *w)
{
    hki_pb_mark g = begin_model(w, 16), n = begin_node(w, 1, "choose", "If", "c", "y");
    put_branch(w, "then_branch", 1);
    put_branch(w, "else_branch", 0);
    hki_pb_end(w, n);
    put_initializer(w, "c", 9, 0, NULL, "\x01", 1);
    put_info(w, 11, "x", 1, 2, dims23);
    put_info(w, 12, "y", 1, -1, NULL);
    hki_pb_end(w, g);
}

/* Constants in all forms, a sparse initializer, external data (refused: there is no directory), metadata. */
static void make_constants(hki_pb_writer *w)
{
    static const int64_t indices[] = {1, 4};
    hki_pb_mark m = hki_pb_begin(w, 14);
    hki_pb_put_text(w, 1, "key");
    hki_pb_put_text(w, 2, "value");
    hki_pb_end(w, m);
    hki_pb_mark g = begin_model(w, 13), n = begin_node(w, 1, "", "Constant", NULL, "a");
    put_ints(w, "value_ints", 7, 2, dims32);
    hki_pb_end(w, n);
    n = begin_node(w, 1, "", "Constant", NULL, "b");
    hki_pb_mark a = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, "value");
    hki_pb_mark t = hki_pb_begin(w, 5);
    put_raw_tensor(w, "", 1, 2, dims23, NULL, 0);
    hki_pb_put_bytes(w, 4, numbers, sizeof numbers);
    hki_pb_end(w, t);
    hki_pb_put_int(w, 20, 4);
    hki_pb_end(w, a);
    hki_pb_end(w, n);
    put_node(w, "", "Reshape", "b,a", "y");
    hki_pb_mark s = hki_pb_begin(w, 15);
    t = hki_pb_begin(w, 1);
    put_raw_tensor(w, "s", 1, 1, dims2, numbers, 8);
    hki_pb_end(w, t);
    t = hki_pb_begin(w, 2);
    put_raw_tensor(w, "", 7, 1, dims2, indices, 16);
    hki_pb_end(w, t);
    hki_pb_put_int(w, 3, 2);
    hki_pb_put_int(w, 3, 3);
    hki_pb_end(w, s);
    put_info(w, 12, "y", 1, -1, NULL);
    put_info(w, 12, "s", 1, -1, NULL);
    hki_pb_end(w, g);
}

const onnx_sample onnx_models[] = {{"small", make_small},       {"old", make_old},
                                   {"functions", make_functions}, {"branches", make_branches},
                                   {"constants", make_constants}, {NULL, NULL}};

/* ---- Tensors. ---- */

static void make_raw(hki_pb_writer *w)
{
    put_raw_tensor(w, "raw", 1, 2, dims23, numbers, sizeof numbers);
}

static void make_floats(hki_pb_writer *w)
{
    put_raw_tensor(w, "floats", 1, 2, dims23, NULL, 0);
    hki_pb_put_bytes(w, 4, numbers, sizeof numbers);
}

static void make_halves(hki_pb_writer *w)
{
    put_raw_tensor(w, "halves", 10, 1, dims2, NULL, 0);
    hki_pb_put_int(w, 5, 0x3c00);
    hki_pb_put_int(w, 5, 0xfbff);
}

static void make_int64(hki_pb_writer *w)
{
    put_raw_tensor(w, "int64", 7, 1, dims2, NULL, 0);
    hki_pb_mark packed = hki_pb_begin(w, 7);
    hki_pb_put_varint(w, UINT64_MAX);
    hki_pb_put_varint(w, 300);
    hki_pb_end(w, packed);
}

static void make_external(hki_pb_writer *w)
{
    put_raw_tensor(w, "external", 1, 1, dims2, NULL, 0);
    hki_pb_mark e = hki_pb_begin(w, 13);
    hki_pb_put_text(w, 1, "location");
    hki_pb_put_text(w, 2, "weights.bin");
    hki_pb_end(w, e);
    hki_pb_put_int(w, 14, 1);
}

const onnx_sample onnx_tensors[] = {{"raw", make_raw},     {"floats", make_floats},     {"halves", make_halves},
                                    {"int64", make_int64}, {"external", make_external}, {NULL, NULL}};
