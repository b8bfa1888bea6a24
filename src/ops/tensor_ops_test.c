/* Operators that move data: values that the ONNX suite does not show, shapes with symbols, older opsets, and what bad
 * input says. */
#include "graph/op.h"
#include "halka/session.h"
#include "harness/test.h"

typedef struct bench {
    hk_graph *g;
    hk_value *inputs[8];
    int count;
} bench;

static bench eager(void)
{
    bench b = {0};
    CHECK_OK(hk_graph_create_eager(&b.g, "test", &(hk_session_options){.threads = 2}));
    return b;
}

static void add(bench *b, hk_dtype dtype, int rank, const int64_t *dims, const void *data)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_from(&t, data, dtype, rank, dims));
    b->inputs[b->count++] = hk_graph_constant(b->g, NULL, t);
    hk_tensor_free(t);
}

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define FLOATS(b, dims, ...) add(b, HK_FLOAT, dims, (float[]){__VA_ARGS__})
#define INTS(b, ...)                                                                                                   \
    add(b, HK_INT64, 1, (int64_t[]){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}, (int64_t[]){__VA_ARGS__})

/* Applies op to the inputs and compares the first output; frees the graph. */
static void expect(bench b, const char *op, int attribute_count, const hk_attribute *attributes, int rank,
                   const int64_t *dims, const double *values)
{
    hk_value *y = hk_graph_apply(b.g, op, b.count, b.inputs, attribute_count, attributes);
    CHECK_OK(hk_graph_status(b.g));
    const hk_tensor *t = y ? y->tensor : NULL;
    CHECK(t != NULL);
    if (t) {
        CHECK_EQ(t->rank, rank);
        CHECK(hki_shape_equal(t->rank, t->dims, rank, dims));
        for (int64_t i = 0; i < hk_tensor_count(t) && hki_shape_equal(t->rank, t->dims, rank, dims); i++)
            CHECK_CLOSE(hki_tensor_get_double(t, i), values[i], 1e-5);
    }
    hk_graph_free(b.g);
}

#define VALUES(...)                                                                                                    \
    (double[])                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void expect_failure(bench b, const char *op, int attribute_count, const hk_attribute *attributes, hk_code code,
                           const char *part)
{
    hk_graph_apply(b.g, op, b.count, b.inputs, attribute_count, attributes);
    CHECK_FAILS(hk_graph_status(b.g), code, part);
    hk_graph_free(b.g);
}

/* ---- Values ---- */

TEST(scatter_reductions)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    static const double results[5][3] = {{5, 2, 3}, {7.5, 2, 3}, {7.5, 2, 3}, {1, 2, 3}, {5, 2, 3}};
    for (int i = 0; i < 5; i++) {
        bench b = eager();
        FLOATS(&b, DIMS(3), 1, 2, 3);
        INTS(&b, 0, 0);
        FLOATS(&b, DIMS(2), 1.5f, 5);
        expect(b, "ScatterElements", HK_ATTRIBUTES(HK_TEXT("reduction", names[i])), DIMS(3), results[i]);
        b = eager();
        FLOATS(&b, DIMS(3), 1, 2, 3);
        add(&b, HK_INT64, DIMS(2, 1), (int64_t[]){0, -3});
        FLOATS(&b, DIMS(2), 1.5f, 5);
        expect(b, "ScatterND", HK_ATTRIBUTES(HK_TEXT("reduction", names[i])), DIMS(3), results[i]);
    }
}

TEST(pad_wraps_and_crops)
{
    bench b = eager();
    FLOATS(&b, DIMS(3, 2), 1, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f);
    INTS(&b, 2, 1, 1, 1);
    expect(b, "Pad", HK_ATTRIBUTES(HK_TEXT("mode", "wrap")), DIMS(6, 4),
           VALUES(3.4, 2.3, 3.4, 2.3, 5.7, 4.5, 5.7, 4.5, 1.2, 1, 1.2, 1, 3.4, 2.3, 3.4, 2.3, 5.7, 4.5, 5.7, 4.5, 1.2,
                  1, 1.2, 1));
    b = eager();
    FLOATS(&b, DIMS(4), 1, 2, 3, 4);
    INTS(&b, -1, 2);
    FLOATS(&b, DIMS(1), 9);
    expect(b, "Pad", HK_NO_ATTRIBUTES, DIMS(5), VALUES(2, 3, 4, 9, 9));
}

TEST(slice_takes_extreme_bounds)
{
    bench b = eager();
    FLOATS(&b, DIMS(4), 1, 2, 3, 4);
    INTS(&b, INT64_MAX);
    INTS(&b, INT64_MIN);
    INTS(&b, 0);
    INTS(&b, -1);
    expect(b, "Slice", HK_NO_ATTRIBUTES, DIMS(4), VALUES(4, 3, 2, 1));
    b = eager();
    FLOATS(&b, DIMS(4), 1, 2, 3, 4);
    INTS(&b, -1);
    INTS(&b, INT64_MIN);
    INTS(&b, 0);
    INTS(&b, INT64_MIN);
    expect(b, "Slice", HK_NO_ATTRIBUTES, DIMS(1), VALUES(4));
}

TEST(top_k_of_nan_and_ties)
{
    bench b = eager();
    FLOATS(&b, DIMS(5), 1, NAN, 3, 3, -0.0f);
    INTS(&b, 3);
    hk_value *y[2];
    hk_graph_node(b.g, "", "TopK", NULL, b.count, b.inputs, HK_NO_ATTRIBUTES, 2, y);
    REQUIRE_OK(hk_graph_status(b.g));
    CHECK(isnan(((float *)y[0]->tensor->data)[0]));
    CHECK_EQ(((int64_t *)y[1]->tensor->data)[0], 1);
    CHECK_EQ(((int64_t *)y[1]->tensor->data)[1], 2);
    CHECK_EQ(((int64_t *)y[1]->tensor->data)[2], 3);
    hk_graph_free(b.g);
}

TEST(einsum_of_integers_and_halves)
{
    bench b = eager();
    add(&b, HK_INT8, DIMS(2, 2), (int8_t[]){100, 100, 1, -1});
    add(&b, HK_INT8, DIMS(2), (int8_t[]){2, 2});
    expect(b, "Einsum", HK_ATTRIBUTES(HK_TEXT("equation", "ij,j->i")), DIMS(2), VALUES(-112, 0)); /* 400 wraps */
    b = eager();
    add(&b, HK_FLOAT16, DIMS(2, 2), (uint16_t[]){0x3c00, 0x4000, 0x4200, 0x4400}); /* 1 2 3 4 */
    expect(b, "Einsum", HK_ATTRIBUTES(HK_TEXT("equation", " i j -> j i ")), DIMS(2, 2), VALUES(1, 3, 2, 4));
}

TEST(resize_antialias) /* onnx/backend/test/case/node/resize.py */
{
    bench b = eager();
    FLOATS(&b, DIMS(1, 1, 4, 4), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    b.inputs[b.count++] = NULL;
    FLOATS(&b, DIMS(4), 1, 1, 0.6f, 0.6f);
    expect(b, "Resize", HK_ATTRIBUTES(HK_TEXT("mode", "linear"), HK_INT("antialias", 1)), DIMS(1, 1, 2, 2),
           VALUES(2.875, 4.5, 9.375, 11));
    b = eager();
    FLOATS(&b, DIMS(1, 1, 4, 4), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    b.inputs[b.count++] = NULL;
    FLOATS(&b, DIMS(4), 1, 1, 0.6f, 0.6f);
    expect(b, "Resize", HK_ATTRIBUTES(HK_TEXT("mode", "cubic"), HK_INT("antialias", 1)), DIMS(1, 1, 2, 2),
           VALUES(2.5180721, 4.2858863, 9.589329, 11.357142));
}

TEST(resize_keeps_aspect_ratio_over_axes)
{
    bench b = eager();
    FLOATS(&b, DIMS(1, 1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8);
    b.inputs[b.count++] = NULL;
    b.inputs[b.count++] = NULL;
    INTS(&b, 1, 3);
    expect(b, "Resize",
           HK_ATTRIBUTES(HK_TEXT("keep_aspect_ratio_policy", "not_larger"), HK_INTS("axes", 2, 3),
                         HK_TEXT("mode", "nearest")),
           DIMS(1, 1, 1, 2), VALUES(1, 3));
    b = eager();
    add(&b, HK_UINT8, DIMS(1, 2), (uint8_t[]){0, 200});
    b.inputs[b.count++] = NULL;
    b.inputs[b.count++] = NULL;
    INTS(&b, 1, 4);
    expect(b, "Resize", HK_ATTRIBUTES(HK_TEXT("mode", "linear")), DIMS(1, 4), VALUES(0, 50, 150, 200));
}

TEST(random_numbers_depend_on_seed_and_node_only)
{
    float first[1000], second[1000];
    for (int round = 0; round < 2; round++) {
        hk_graph *g;
        REQUIRE_OK(hk_graph_create_eager(&g, "test", &(hk_session_options){.threads = round ? 3 : 1, .seed = 5}));
        hk_value *y = hk_graph_apply(g, "RandomNormal", 0, NULL, HK_ATTRIBUTES(HK_INTS("shape", 1000)));
        hk_value *z =
            hk_graph_apply(g, "RandomUniform", 0, NULL,
                           HK_ATTRIBUTES(HK_INTS("shape", 1000), HK_FLOAT32("low", 2), HK_FLOAT32("high", 3)));
        REQUIRE_OK(hk_graph_status(g));
        double sum = 0, squares = 0;
        for (int i = 0; i < 1000; i++) {
            float a = ((float *)y->tensor->data)[i], u = ((float *)z->tensor->data)[i];
            sum += (double)a;
            squares += (double)a * (double)a;
            CHECK(u >= 2 && u < 3);
        }
        CHECK(fabs(sum / 1000) < 0.1 && fabs(squares / 1000 - 1) < 0.15);
        memcpy(round ? second : first, y->tensor->data, sizeof(first));
        hk_graph_free(g);
    }
    CHECK_BYTES(first, second, sizeof(first));
}

/* ---- Shapes that are not known yet ---- */

typedef struct sketch {
    hk_graph *g;
    int64_t n, t;
} sketch;

static sketch symbolic(void)
{
    sketch s = {0};
    CHECK_OK(hk_graph_create(&s.g, "test"));
    s.n = hk_graph_symbol(s.g, "N");
    s.t = hk_graph_symbol(s.g, "T");
    return s;
}

static void check_dims(sketch s, hk_value *y, int rank, const int64_t *dims)
{
    CHECK_OK(hk_graph_status(s.g));
    CHECK(y != NULL);
    if (!y)
        return;
    CHECK_EQ(hk_value_rank(y), rank);
    for (int i = 0; i < rank && hk_value_rank(y) == rank; i++)
        CHECK_EQ(hk_value_dims(y)[i], dims[i]);
}

static hk_value *ints(sketch s, int64_t count, const int64_t *values)
{
    return hki_ints_constant(s.g, count, values);
}

#define LIST(s, ...)      ints(s, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define APPLY(s, op, ...) hk_graph_apply(s.g, op, HK_VALUES(__VA_ARGS__), HK_NO_ATTRIBUTES)

TEST(symbols_go_through_shapes)
{
    sketch s = symbolic();
    hk_value *x = hk_graph_input(s.g, "x", HK_FLOAT, DIMS(s.n, 64, 7, 7));
    check_dims(s, APPLY(s, "Reshape", x, LIST(s, 0, -1)), DIMS(s.n, 3136));
    check_dims(s, APPLY(s, "Reshape", x, LIST(s, -1, 3136)), DIMS(s.n, 3136));
    check_dims(s, APPLY(s, "Reshape", x, LIST(s, -1, 7)), DIMS(-1, 7));
    check_dims(s, APPLY(s, "Flatten", x), DIMS(s.n, 3136));
    check_dims(s, APPLY(s, "Transpose", x), DIMS(7, 7, 64, s.n));
    check_dims(s, hk_graph_apply(s.g, "Concat", HK_VALUES(x, x), HK_ATTRIBUTES(HK_INT("axis", 1))),
               DIMS(s.n, 128, 7, 7));
    check_dims(s, hk_graph_apply(s.g, "Concat", HK_VALUES(x, x), HK_ATTRIBUTES(HK_INT("axis", 0))), DIMS(-1, 64, 7, 7));
    check_dims(s, APPLY(s, "Slice", x, LIST(s, 0, 2), LIST(s, INT64_MAX, 5), LIST(s, 0, -1)), DIMS(s.n, 64, 7, 3));
    check_dims(s, APPLY(s, "Slice", x, LIST(s, 1), LIST(s, 3)), DIMS(-1, 64, 7, 7));
    check_dims(s, APPLY(s, "Unsqueeze", x, LIST(s, 0, -1)), DIMS(1, s.n, 64, 7, 7, 1));
    check_dims(s, APPLY(s, "Pad", x, LIST(s, 0, 0, 1, 2, 0, 0, 1, 2)), DIMS(s.n, 64, 9, 11));
    check_dims(s, APPLY(s, "Tile", x, LIST(s, 1, 2, 1, 1)), DIMS(s.n, 128, 7, 7));
    check_dims(s, APPLY(s, "Shape", x), DIMS(4));
    check_dims(s, APPLY(s, "Expand", x, LIST(s, 3, 1, 1, 1, 1)), DIMS(3, s.n, 64, 7, 7));
    check_dims(s, APPLY(s, "NonZero", x), DIMS(4, -1));
    check_dims(s, hk_graph_apply(s.g, "DepthToSpace", HK_VALUES(x), HK_ATTRIBUTES(HK_INT("blocksize", 4))),
               DIMS(s.n, 4, 28, 28));
    check_dims(s, hk_graph_apply(s.g, "Einsum", HK_VALUES(x, x), HK_ATTRIBUTES(HK_TEXT("equation", "nchw,ndhw->ncd"))),
               DIMS(s.n, 64, 64));
    hk_value *table = hk_graph_input(s.g, "table", HK_FLOAT, DIMS(1000, 16));
    hk_value *ids = hk_graph_input(s.g, "ids", HK_INT64, DIMS(s.n, s.t));
    check_dims(s, APPLY(s, "Gather", table, ids), DIMS(s.n, s.t, 16));
    check_dims(s, APPLY(s, "Squeeze", APPLY(s, "Unsqueeze", ids, LIST(s, 1)), LIST(s, 1)), DIMS(s.n, s.t));
    hk_graph_free(s.g);
}

TEST(shapes_from_inputs_keep_their_rank)
{
    sketch s = symbolic();
    hk_value *x = hk_graph_input(s.g, "x", HK_FLOAT, DIMS(s.n, 8));
    hk_value *list = hk_graph_input(s.g, "list", HK_INT64, DIMS(3));
    hk_value *two = hk_graph_input(s.g, "two", HK_INT64, DIMS(2));
    hk_value *any = hk_graph_input(s.g, "any", HK_FLOAT, -1, NULL);
    check_dims(s, APPLY(s, "Reshape", x, list), DIMS(-1, -1, -1));
    check_dims(s, APPLY(s, "Expand", x, list), DIMS(-1, -1, 8));
    check_dims(s, APPLY(s, "ConstantOfShape", list), DIMS(-1, -1, -1));
    check_dims(s, APPLY(s, "Tile", x, two), DIMS(-1, -1));
    check_dims(s, APPLY(s, "Slice", x, two, two), DIMS(-1, -1));
    check_dims(s, APPLY(s, "Reshape", any, LIST(s, 2, -1)), DIMS(2, -1));
    check_dims(s, APPLY(s, "Transpose", any), -1, NULL);
    check_dims(s, APPLY(s, "Gather", any, two), -1, NULL);
    check_dims(s, APPLY(s, "Squeeze", any, two), -1, NULL);
    check_dims(s, APPLY(s, "Resize", x, NULL, NULL, two), DIMS(-1, -1));
    hk_graph_free(s.g);
}

/* ---- Bad input ---- */

TEST(bad_indices_are_statuses)
{
    bench b = eager();
    FLOATS(&b, DIMS(2, 2), 1, 2, 3, 4);
    INTS(&b, 0, 2);
    expect_failure(b, "Gather", HK_NO_ATTRIBUTES, HK_INVALID_DATA,
                   "index 2 (element 1 of indices) is outside -2 .. 1 of axis 0");
    b = eager();
    FLOATS(&b, DIMS(2, 2), 1, 2, 3, 4);
    add(&b, HK_INT64, DIMS(1, 2), (int64_t[]){0, -3});
    expect_failure(b, "GatherND", HK_NO_ATTRIBUTES, HK_INVALID_DATA, "index -3");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    INTS(&b, INT64_MIN);
    expect_failure(b, "GatherElements", HK_NO_ATTRIBUTES, HK_INVALID_DATA, "index -9223372036854775808");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    INTS(&b, 5);
    FLOATS(&b, DIMS(1), 1);
    expect_failure(b, "ScatterElements", HK_NO_ATTRIBUTES, HK_INVALID_DATA, "index 5");
    b = eager();
    FLOATS(&b, DIMS(2, 2), 1, 2, 3, 4);
    INTS(&b, 3, 0);
    expect_failure(b, "ReverseSequence", HK_NO_ATTRIBUTES, HK_INVALID_DATA, "length 3 of sequence 0 is outside 0 .. 2");
}

TEST(bad_shapes_say_what_was_expected)
{
    bench b = eager();
    FLOATS(&b, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    INTS(&b, 4, -1);
    expect_failure(b, "Reshape", HK_NO_ATTRIBUTES, HK_INVALID_SHAPE, "6 elements cannot be reshaped");
    b = eager();
    FLOATS(&b, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    INTS(&b, 5);
    expect_failure(b, "Reshape", HK_NO_ATTRIBUTES, HK_INVALID_SHAPE, "6 elements of [2,3] cannot be reshaped to [5]");
    b = eager();
    FLOATS(&b, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    expect_failure(b, "Transpose", HK_ATTRIBUTES(HK_INTS("perm", 0, 0)), HK_INVALID_ARGUMENT, "a second time");
    b = eager();
    FLOATS(&b, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    FLOATS(&b, DIMS(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
    expect_failure(b, "Concat", HK_ATTRIBUTES(HK_INT("axis", 1)), HK_INVALID_SHAPE, "2 and 3 must be equal");
    b = eager();
    FLOATS(&b, DIMS(4), 1, 2, 3, 4);
    INTS(&b, 1, 2);
    hk_graph_node(b.g, "", "Split", NULL, b.count, b.inputs, HK_NO_ATTRIBUTES, 2, (hk_value *[2]){NULL, NULL});
    CHECK_FAILS(hk_graph_status(b.g), HK_INVALID_SHAPE, "add up to 3, expected the dim 4");
    hk_graph_free(b.g);
    b = eager();
    FLOATS(&b, DIMS(4), 1, 2, 3, 4);
    INTS(&b, 0);
    INTS(&b, 4);
    INTS(&b, 0);
    INTS(&b, 0);
    expect_failure(b, "Slice", HK_NO_ATTRIBUTES, HK_INVALID_ARGUMENT, "step 0 is 0");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    INTS(&b, 1000000000000000, 0);
    expect_failure(b, "Pad", HK_NO_ATTRIBUTES, HK_INVALID_ARGUMENT, "out of all proportion");
    b = eager();
    INTS(&b, INT64_MAX, INT64_MAX);
    expect_failure(b, "ConstantOfShape", HK_NO_ATTRIBUTES, HK_INVALID_SHAPE, "");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    INTS(&b, INT64_MAX);
    expect_failure(b, "Tile", HK_NO_ATTRIBUTES, HK_INVALID_SHAPE, "");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    INTS(&b, 3);
    expect_failure(b, "TopK", HK_NO_ATTRIBUTES, HK_INVALID_ARGUMENT, "K is 3, expected 0 .. 2");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    expect_failure(b, "Einsum", HK_ATTRIBUTES(HK_TEXT("equation", "ij->i")), HK_INVALID_SHAPE, "rank 1");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    expect_failure(b, "Einsum", HK_ATTRIBUTES(HK_TEXT("equation", "i->j")), HK_INVALID_ARGUMENT, "'j'");
    b = eager();
    FLOATS(&b, DIMS(2), 1, 2);
    expect_failure(b, "Einsum", HK_ATTRIBUTES(HK_TEXT("equation", "i-")), HK_INVALID_ARGUMENT, "'-'");
}

/* ---- Older opsets: a rule on a draft ---- */

static hki_draft draft_of(hk_graph *g, const char *op, int input_count, hk_value **inputs, int attribute_count,
                          hk_attribute *attributes)
{
    return (hki_draft){.graph = g,
                       .op = op,
                       .name = "old",
                       .input_count = input_count,
                       .inputs = inputs,
                       .attribute_count = attribute_count,
                       .attributes = attributes};
}

/* Runs the rules from version `since` on, as an importer does. */
static void upgrade(hki_draft *d, int since)
{
    const hki_op *op = hki_op_find("", d->op);
    const char *name = d->op;
    for (int i = 0; i < HKI_MAX_VERSIONS && op->versions[i].since && name == d->op; i++) {
        d->version = op->versions[i].since;
        if (d->version >= since && op->versions[i].upgrade)
            CHECK_OK(op->versions[i].upgrade(d));
    }
    if (name != d->op)
        upgrade(d, since);
}

static hk_value *finish(hki_draft *d)
{
    hk_value *y = hk_graph_apply(d->graph, d->op, d->input_count, d->inputs, d->attribute_count, d->attributes);
    CHECK_OK(hk_graph_status(d->graph));
    return y;
}

TEST(attributes_became_inputs)
{
    sketch s = symbolic();
    hk_value *x = hk_graph_input(s.g, "x", HK_FLOAT, DIMS(s.n, 1, 6, 4));
    struct {
        const char *op;
        int since;
        hk_attribute a[3];
        int count;
        int64_t dims[5];
        int rank;
    } olds[] = {
        {"Reshape", 1, {HK_INTS("shape", 0, -1), HK_INTS("consumed_inputs", 0)}, 2, {s.n, 24}, 2},
        {"Squeeze", 1, {HK_INTS("axes", 1)}, 1, {s.n, 6, 4}, 3},
        {"Unsqueeze", 11, {HK_INTS("axes", -1)}, 1, {s.n, 1, 6, 4, 1}, 5},
        {"Slice", 1, {HK_INTS("starts", 1), HK_INTS("ends", 3), HK_INTS("axes", 2)}, 3, {s.n, 1, 2, 4}, 4},
        {"Pad", 1, {HK_INTS("paddings", 0, 0, 1, 0, 0, 0, 0, 2), HK_FLOAT32("value", 1.5f)}, 2, {s.n, 1, 7, 6}, 4},
        {"Pad", 2, {HK_INTS("pads", 0, 0, 1, 0, 0, 0, 0, 2)}, 1, {s.n, 1, 7, 6}, 4},
        {"TopK", 1, {HK_INT("k", 2)}, 1, {s.n, 1, 6, 2}, 4},
        {"Split", 2, {HK_INTS("split", 6), HK_INT("axis", 2)}, 2, {s.n, 1, 6, 4}, 4},
        {"Concat", 1, {HK_INT("axis", 3)}, 1, {s.n, 1, 6, 4}, 4},
        {"Concat", 1, {HK_INT("axis", 1)}, 0, {s.n, 1, 6, 4}, 4},
        {"Upsample", 7, {{"scales", HK_ATTRIBUTE_FLOATS, 4, {.floats = (float[]){1, 1, 2, 2}}}}, 1, {s.n, 1, 12, 8}, 4},
    };
    for (size_t i = 0; i < sizeof(olds) / sizeof(olds[0]); i++) {
        hk_value *inputs[1] = {x};
        hki_draft d = draft_of(s.g, olds[i].op, 1, inputs, olds[i].count, olds[i].a);
        upgrade(&d, olds[i].since);
        check_dims(s, finish(&d), olds[i].rank, olds[i].dims);
    }
    hk_graph_free(s.g);
}

TEST(old_resize_rounds_as_it_did)
{
    bench b = eager();
    FLOATS(&b, DIMS(1, 4), 1, 2, 3, 4);
    FLOATS(&b, DIMS(2), 1, 0.6f);
    hki_draft d = draft_of(b.g, "Resize", 2, b.inputs, 0, NULL);
    upgrade(&d, 10);
    const hk_tensor *y = finish(&d)->tensor;
    CHECK_EQ(hk_tensor_count(y), 2);
    CHECK_CLOSE(hki_tensor_get_double(y, 1), 3, 0);
    hk_graph_free(b.g);
}

TEST(old_tile_has_tiles_and_axis)
{
    bench b = eager();
    FLOATS(&b, DIMS(1, 2), 1, 2);
    FLOATS(&b, DIMS(1), 3);
    FLOATS(&b, DIMS(1), 1);
    hki_draft d = draft_of(b.g, "Tile", 3, b.inputs, 0, NULL);
    upgrade(&d, 1);
    CHECK_EQ(hk_tensor_count(finish(&d)->tensor), 6);
    hk_graph_free(b.g);
}

TEST_MAIN()
