/* Elementwise operators beyond their cases: older opsets, input that must be refused, dropout's numbers, mixed and rare
 * types. */
#include <string.h>

#include "harness/test.h"

#include "halka/session.h"
#include "ops/broadcast.h"

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static hk_graph *eager(void)
{
    hk_graph *g;
    CHECK_OK(hk_graph_create_eager(&g, "test", &(hk_session_options){.threads = 1}));
    return g;
}

/* A constant whose elements are first, first + step, ... */
static hk_value *ladder(hk_graph *g, hk_dtype dtype, double first, double step, int rank, const int64_t *dims)
{
    hk_tensor *t;
    CHECK_OK(hk_tensor_create(&t, dtype, rank, dims));
    for (int64_t i = 0; i < hk_tensor_count(t); i++)
        hki_tensor_set_double(t, i, first + step * (double)i);
    hk_value *value = hk_graph_constant(g, NULL, t);
    hk_tensor_free(t);
    return value;
}

static double at(const hk_value *y, int64_t i)
{
    return y && y->tensor ? hki_tensor_get_double(y->tensor, i) : -1e300;
}

/* ---- Older opsets. ---- */

/* Brings a node of version `since` to the newest and applies it. */
static hk_value *old(hk_graph *g, const char *name, int since, int inputs, hk_value **in, int count,
                     hk_attribute *attributes)
{
    hki_draft d = {.graph = g, .op = name, .name = "old", .input_count = inputs, .inputs = in, .attribute_count = count,
                   .attributes = attributes};
    const hki_op *op = hki_op_find("", name);
    for (int i = 0; i < HKI_MAX_VERSIONS && op->versions[i].since; i++) {
        d.version = op->versions[i].since;
        if (d.version >= since && op->versions[i].upgrade)
            CHECK_OK(op->versions[i].upgrade(&d));
    }
    hk_value *y = hk_graph_apply(g, d.op, d.input_count, d.inputs, d.attribute_count, d.attributes);
    CHECK_OK(hk_graph_status(g));
    return y;
}

TEST(old_broadcasting_has_an_axis)
{
    hk_graph *g = eager();
    hk_value *in[2] = {ladder(g, HK_FLOAT, 0, 0, DIMS(2, 3, 4)), ladder(g, HK_FLOAT, 1, 1, DIMS(3))};
    hk_attribute attributes[3] = {HK_INT("broadcast", 1), HK_INT("axis", 1), HK_INTS("consumed_inputs", 0, 0)};
    hk_value *y = old(g, "Add", 1, 2, in, 3, attributes);
    for (int64_t i = 0; i < 24; i++)
        CHECK(at(y, i) == (double)(i / 4 % 3 + 1));
    hk_value *suffix[2] = {ladder(g, HK_FLOAT, 0, 0, DIMS(2, 3)), ladder(g, HK_FLOAT, 1, 1, DIMS(3))};
    y = old(g, "Sub", 6, 2, suffix, 1, (hk_attribute[]){HK_INT("broadcast", 1)});
    CHECK(at(y, 4) == -2);
    hk_graph_free(g);
}

TEST(old_prelu_has_a_slope_per_channel)
{
    hk_graph *g = eager();
    hk_value *in[2] = {ladder(g, HK_FLOAT, -1, 0, DIMS(1, 2, 2, 2)), ladder(g, HK_FLOAT, 1, 1, DIMS(2))};
    hk_value *y = old(g, "PRelu", 6, 2, in, 0, NULL);
    CHECK(at(y, 3) == -1 && at(y, 4) == -2);
    hk_graph_free(g);
}

TEST(old_attributes_became_inputs)
{
    hk_graph *g = eager();
    hk_value *x[1] = {ladder(g, HK_DOUBLE, -2, 1, DIMS(5))};
    hk_value *y = old(g, "Clip", 6, 1, x, 2, (hk_attribute[]){HK_FLOAT32("min", -1), HK_FLOAT32("max", 0.5f)});
    CHECK(at(y, 0) == -1 && at(y, 2) == 0 && at(y, 4) == 0.5);
    hk_value *top[1] = {ladder(g, HK_FLOAT, -2, 1, DIMS(5))};
    y = old(g, "Clip", 6, 1, top, 1, (hk_attribute[]){HK_FLOAT32("max", 0.5f)});
    CHECK(at(y, 0) == -2 && at(y, 4) == 0.5);
    hk_value *data[1] = {ladder(g, HK_FLOAT, 1, 1, DIMS(4))};
    y = old(g, "Dropout", 6, 1, data, 2, (hk_attribute[]){HK_INT("is_test", 0), HK_FLOAT32("ratio", 0.9f)});
    CHECK(at(y, 0) == 1 && at(y, 3) == 4); /* a loaded model infers */
    hk_value *fraction[1] = {ladder(g, HK_FLOAT, -1.5, 1, DIMS(4))};
    y = old(g, "Cast", 1, 1, fraction, 1, (hk_attribute[]){HK_TEXT("to", "INT32")});
    CHECK(y && y->type.dtype == HK_INT32 && at(y, 0) == -1 && at(y, 3) == 1);
    hk_graph_free(g);
}

/* ---- What is refused. ---- */

static void refused(const char *op, hk_code code, const char *part, int inputs, hk_value **in, int count,
                    const hk_attribute *attributes)
{
    hk_graph *g = in[0]->graph;
    hk_graph_apply(g, op, inputs, in, count, attributes);
    CHECK_FAILS(hk_graph_status(g), code, part);
}

TEST(bad_input_is_refused)
{
    hk_graph *g = eager();
    hk_value *f = ladder(g, HK_FLOAT, 0, 1, DIMS(2, 3)), *two = ladder(g, HK_FLOAT, 0, 1, DIMS(2));
    hk_value *i = ladder(g, HK_INT64, 0, 1, DIMS(3)), *u = ladder(g, HK_UINT8, 0, 1, DIMS(3));
    hk_value *yes = ladder(g, HK_BOOL, 1, 0, 0, NULL);
    refused("Add", HK_INVALID_SHAPE, "float32[2,3] with float32[2]", 2, (hk_value *[]){f, two}, 0, NULL);
    refused("Add", HK_INVALID_TYPE, "float32 and int64", 2, (hk_value *[]){f, i}, 0, NULL);
    refused("Add", HK_INVALID_ARGUMENT, "at least 2", 1, (hk_value *[]){f}, 0, NULL);
    refused("Mod", HK_INVALID_ARGUMENT, "'fmod'", 2, (hk_value *[]){f, f}, 0, NULL);
    refused("Clip", HK_INVALID_SHAPE, "'min': expected a scalar", 2, (hk_value *[]){f, two}, 0, NULL);
    refused("PRelu", HK_INVALID_SHAPE, "slope", 2, (hk_value *[]){two, ladder(g, HK_FLOAT, 0, 1, DIMS(3, 2))}, 0, NULL);
    refused("Cast", HK_UNSUPPORTED, "type 8 (string)", 1, (hk_value *[]){f}, 1, (hk_attribute[]){HK_INT("to", 8)});
    refused("Cast", HK_UNSUPPORTED, "type 99", 1, (hk_value *[]){f}, 1, (hk_attribute[]){HK_INT("to", 99)});
    refused("Cast", HK_UNSUPPORTED, "type -1", 1, (hk_value *[]){f}, 1, (hk_attribute[]){HK_INT("to", -1)});
    refused("Cast", HK_INVALID_ARGUMENT, "'to' is required", 1, (hk_value *[]){f}, 0, NULL);
    refused("Gelu", HK_INVALID_ARGUMENT, "found 'fast'", 1, (hk_value *[]){f}, 1,
            (hk_attribute[]){HK_TEXT("approximate", "fast")});
    refused("BitShift", HK_INVALID_ARGUMENT, "LEFT or RIGHT", 2, (hk_value *[]){u, u}, 1,
            (hk_attribute[]){HK_TEXT("direction", "UP")});
    refused("Dropout", HK_INVALID_ARGUMENT, "found 1.5", 3,
            (hk_value *[]){f, ladder(g, HK_FLOAT, 1.5, 0, 0, NULL), yes}, 0, NULL);
    refused("Relu", HK_INVALID_ARGUMENT, "unknown attribute 'alpha'", 1, (hk_value *[]){f}, 1,
            (hk_attribute[]){HK_FLOAT32("alpha", 1)});
    hk_graph_free(g);
}

/* ---- Types. ---- */

TEST(powers_of_mixed_types)
{
    hk_graph *g = eager();
    hk_value *whole = ladder(g, HK_INT32, 1, 1, DIMS(4)), *half = ladder(g, HK_FLOAT, 0.5, 0, 0, NULL);
    hk_value *y = hki_binary(g, "Pow", whole, half);
    CHECK_OK(hk_graph_status(g));
    CHECK(y && y->type.dtype == HK_INT32 && at(y, 0) == 1 && at(y, 3) == 2 && at(y, 2) == 1);
    hk_value *small = ladder(g, HK_FLOAT16, 1, 1, DIMS(4)), *two = ladder(g, HK_INT64, 2, 0, DIMS(1));
    y = hki_binary(g, "Pow", small, two);
    CHECK_OK(hk_graph_status(g));
    CHECK(y && y->type.dtype == HK_FLOAT16 && at(y, 3) == 16);
    hk_graph_free(g);
}

/* Every floating type of every operator of one floating input runs, and agrees with float32 to the precision of the
 * type. */
TEST(rare_types_agree_with_float32)
{
    static const char *const names[] = {"Neg",    "Abs",       "Sign",        "Exp",       "Erf",      "Sin",
                                        "Tanh",   "Relu",      "Sigmoid",     "Gelu",      "Mish",     "Elu",
                                        "Selu",   "LeakyRelu", "HardSigmoid", "HardSwish", "Softplus", "Softsign",
                                        "Shrink", "Identity",  "Swish",       "Atan",      "Floor",    "Round"};
    static const hk_dtype types[] = {HK_FLOAT16, HK_BFLOAT16, HK_DOUBLE};
    hk_graph *g = eager();
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            hk_value *x = ladder(g, types[t], -2, 0.125, DIMS(3, 11)),
                     *wide = ladder(g, HK_FLOAT, -2, 0.125, DIMS(3, 11));
            hk_value *y = hki_unary(g, names[n], x), *expected = hki_unary(g, names[n], wide);
            CHECK_OK(hk_graph_status(g));
            CHECK(y && y->type.dtype == types[t]);
            for (int64_t i = 0; i < 33; i++)
                CHECK_CLOSE(at(y, i), at(expected, i),
                            types[t] == HK_BFLOAT16  ? 4e-3
                            : types[t] == HK_FLOAT16 ? 5e-4
                                                     : 1e-6);
        }
    hk_graph_free(g);
}

/* ---- Dropout. ---- */

typedef struct drop {
    hk_graph *graph;
    hk_node *node;
    hk_tensor *x, *y, *ratio, *training;
} drop;

static void drop_open(drop *d, int rank, const int64_t *dims, hki_layout layout)
{
    CHECK_OK(hk_graph_create(&d->graph, "dropout"));
    hk_value *in[3] = {hk_graph_input(d->graph, "x", HK_FLOAT, rank, dims),
                       ladder(d->graph, HK_FLOAT, 0.25, 0, 0, NULL), ladder(d->graph, HK_BOOL, 1, 0, 0, NULL)};
    d->node = hk_graph_node(d->graph, "", "Dropout", NULL, 3, in, HK_NO_ATTRIBUTES, 1, NULL);
    CHECK_OK(hk_graph_status(d->graph));
    d->ratio = in[1]->tensor;
    d->training = in[2]->tensor;
    CHECK_OK(hk_tensor_create(&d->x, HK_FLOAT, rank, dims));
    CHECK_OK(hk_tensor_create(&d->y, HK_FLOAT, rank, dims));
    d->x->layout = d->y->layout = layout;
    for (int64_t i = 0; i < hk_tensor_count(d->x); i++)
        hki_tensor_set_double(d->x, i, 1);
}

static void drop_close(drop *d)
{
    hk_tensor_free(d->x);
    hk_tensor_free(d->y);
    hk_graph_free(d->graph);
}

static void drop_run(drop *d, uint64_t seed, uint64_t step, uint64_t sample, hki_pool *pool)
{
    const hk_tensor *in[3] = {d->x, d->ratio, d->training};
    hki_run run = {.node = d->node,
                   .input_count = 3,
                   .output_count = 1,
                   .in = in,
                   .out = &d->y,
                   .seed = seed,
                   .step = step,
                   .sample = sample,
                   .k = hkk_kernels_get(HKI_ISA_C),
                   .pool = pool};
    CHECK_OK(d->node->op->run(&run));
}

TEST(dropout_keeps_the_share_it_should)
{
    drop d;
    drop_open(&d, DIMS(4, 50000), HKI_PLAIN);
    drop_run(&d, 1, 2, 3, NULL);
    int64_t kept = 0;
    const float *y = d.y->data;
    for (int64_t i = 0; i < 200000; i++) {
        CHECK(y[i] == 0 || y[i] == 1 / 0.75f);
        kept += y[i] != 0;
    }
    CHECK(kept > 149000 && kept < 151000); /* 150,000, deviation 194 */
    drop_close(&d);
}

TEST(dropout_depends_on_seed_and_step_and_sample)
{
    drop d;
    float first[512];
    drop_open(&d, DIMS(2, 256), HKI_PLAIN);
    drop_run(&d, 1, 2, 3, NULL);
    memcpy(first, d.y->data, sizeof first);
    CHECK(memcmp(first, first + 256, sizeof first / 2));
    for (int k = 0; k < 3; k++) {
        drop_run(&d, 1 + (k == 0), 2 + (uint64_t)(k == 1), 3 + 10 * (uint64_t)(k == 2), NULL);
        CHECK(memcmp(first, d.y->data, sizeof first));
    }
    drop_run(&d, 1, 2, 4, NULL); /* the sample after the first is the second of before */
    CHECK_BYTES(d.y->data, first + 256, sizeof first / 2);
    drop_close(&d);
}

TEST(dropout_depends_on_neither_threads_nor_layout)
{
    static const int64_t shapes[][4] = {{3, 5, 7, 9}, {2, 64, 33, 17}, {2, 1, 5, 5}, {4, 16, 1, 1}};
    hki_pool *pool;
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    for (int rank = 3; rank <= 4; rank++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            drop a, b;
            drop_open(&a, rank, shapes[s], HKI_PLAIN);
            drop_open(&b, rank, shapes[s], HKI_CHANNELS_LAST);
            drop_run(&a, 1, 2, 3, NULL);
            drop_run(&b, 1, 2, 3, pool);
            hki_tensor_copy_elements(a.x, b.y); /* into plain order */
            CHECK_BYTES(a.x->data, a.y->data, hk_tensor_size(a.y));
            drop_close(&a);
            drop_close(&b);
        }
    hki_pool_free(pool);
}

TEST_MAIN()
