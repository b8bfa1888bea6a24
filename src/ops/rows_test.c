/* Rows of elements: float32 against float64, integers and special values by table, and the broadcasting engine on
 * layouts, types and in place. */
#include "harness/test.h"
#include "harness/isas.h"

#include "ops/broadcast.h"
#include "tensor/number.h"

static const struct row_name {
    const char *name;
    int arity;
} names[] = {
#define ROW_NAME(name, arity) {#name, arity},
    HKK_LANE_ROWS(ROW_NAME) HKK_PLAIN_ROWS(ROW_NAME)
#undef ROW_NAME
};

static const hkk_kernels *plain(void)
{
    return hkk_kernels_get(HKI_ISA_C);
}

#define N 4000

/* Every vector row has a float64 counterpart and agrees with it on moderate numbers. */
TEST(float32_agrees_with_float64)
{
    static float x[4][N], y[N];
    static double wide[4][N], expected[N];
    for (int k = 0; k < 4; k++) {
        test_fill(x[k], N, (uint64_t)k + 11);
        for (int i = 0; i < N; i++) {
            x[k][i] *= i % 4 ? 3.0f : 12.0f;
            wide[k][i] = x[k][i];
        }
    }
    for (int op = 0; op < HKK_LANE_ROW_COUNT; op++) {
        hkk_row_fn *narrow = hki_row_find((hkk_row_op)op, HK_FLOAT, plain());
        hkk_row_fn *reference = hki_row_find((hkk_row_op)op, HK_DOUBLE, plain());
        CHECK(narrow && reference);
        if (!narrow || !reference)
            continue;
        hkk_row row = {.y = y, .n = N, .x = {x[0], x[1], x[2], x[3]}, .p = {0.75, 0.25, 0.5}};
        hkk_row other = {.y = expected, .n = N, .x = {wide[0], wide[1], wide[2], wide[3]}, .p = {0.75, 0.25, 0.5}};
        narrow(&row);
        reference(&other);
        for (int i = 0; i < N; i++) {
            if (isnan(y[i]) && isnan(expected[i]))
                continue;
            if (!(fabs(y[i] - expected[i]) <= 1e-6 * (fabs(expected[i]) + fabs(wide[0][i]) + 1))) {
                printf("%s(%g, %g): %.9g, expected %.9g\n", names[op].name, (double)x[0][i], (double)x[1][i],
                       (double)y[i], expected[i]);
                test_failures++;
                break;
            }
        }
    }
}

/* Near zero, where e^x - 1 cancels. */
TEST(elu_keeps_small_numbers)
{
    float x[] = {-1e-7f, -1e-4f, -0.3f, -0.339f, -0.341f, -1.0f, -20.0f}, y[7];
    hkk_row row = {.y = y, .n = 7, .x = {x}, .p = {1, 1, 1}};
    hki_row_find(HKK_ROW_elu, HK_FLOAT, plain())(&row);
    for (int i = 0; i < 7; i++)
        CHECK(fabs(y[i] - expm1(x[i])) <= 4e-7 * fabs(expm1(x[i])));
}

static float one(hkk_row_op op, float a, float b)
{
    float y;
    hkk_row row = {.y = &y, .n = 1, .x = {&a, &b, &b}, .p = {1, 1, 1}};
    hki_row_find(op, HK_FLOAT, plain())(&row);
    return y;
}

TEST(special_numbers)
{
    CHECK(isnan(one(HKK_ROW_max, NAN, 1)) && isnan(one(HKK_ROW_max, 1, NAN)));
    CHECK(isnan(one(HKK_ROW_min, NAN, 1)) && isnan(one(HKK_ROW_min, 1, NAN)));
    CHECK(isnan(one(HKK_ROW_relu, NAN, 0)) && isnan(one(HKK_ROW_sign, NAN, 0)) && isnan(one(HKK_ROW_sigmoid, NAN, 0)));
    CHECK(isnan(one(HKK_ROW_mish, NAN, 0)) && isnan(one(HKK_ROW_elu, NAN, 0)) && isnan(one(HKK_ROW_gelu, NAN, 0)));
    CHECK(one(HKK_ROW_relu, -INFINITY, 0) == 0 && one(HKK_ROW_relu, INFINITY, 0) == INFINITY);
    CHECK(one(HKK_ROW_mish, 1e30f, 0) == 1e30f && one(HKK_ROW_swish, 1e30f, 0) == 1e30f);
    CHECK(one(HKK_ROW_gelu, 1e30f, 0) == 1e30f && one(HKK_ROW_gelu_tanh, 1e30f, 0) == 1e30f);
    CHECK(one(HKK_ROW_softplus, 1e30f, 0) == 1e30f && one(HKK_ROW_softplus, -INFINITY, 0) == 0);
    CHECK(one(HKK_ROW_relu_grad, NAN, 0) == 0); /* a dropped gradient is 0, whatever came in */
    CHECK(one(HKK_ROW_round, 2.5f, 0) == 2 && one(HKK_ROW_round, -3.5f, 0) == -4);
}

/* ---- Integers. ---- */

static int64_t whole(hkk_row_op op, hk_dtype dtype, int64_t a, int64_t b)
{
    int64_t x0 = 0, x1 = 0, y = 0, result;
    hkk_row row = {.y = &y, .n = 1, .x = {&x0, &x1}};
    hk_status_free(hki_convert(&x0, dtype, &a, HK_INT64, 1));
    hk_status_free(hki_convert(&x1, dtype, &b, HK_INT64, 1));
    hki_row_find(op, dtype, plain())(&row);
    hk_status_free(hki_convert(&result, HK_INT64, &y, dtype, 1));
    return result;
}

TEST(integers_wrap_and_never_trap)
{
    CHECK_EQ(whole(HKK_ROW_add, HK_INT8, 127, 1), -128);
    CHECK_EQ(whole(HKK_ROW_mul, HK_INT32, INT32_MAX, INT32_MAX), 1);
    CHECK_EQ(whole(HKK_ROW_mul, HK_UINT16, 65535, 65535), 1);
    CHECK_EQ(whole(HKK_ROW_add, HK_INT64, INT64_MAX, 1), INT64_MIN);
    CHECK_EQ(whole(HKK_ROW_div, HK_INT32, 7, 0), 0);
    CHECK_EQ(whole(HKK_ROW_div, HK_INT64, INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(whole(HKK_ROW_div, HK_INT8, -7, 2), -3);
    CHECK_EQ(whole(HKK_ROW_mod, HK_INT64, INT64_MIN, -1), 0);
    CHECK_EQ(whole(HKK_ROW_mod, HK_INT32, -7, 3), 2);
    CHECK_EQ(whole(HKK_ROW_mod, HK_INT32, 7, -3), -2);
    CHECK_EQ(whole(HKK_ROW_fmod, HK_INT32, -7, 3), -1);
    CHECK_EQ(whole(HKK_ROW_mod, HK_UINT8, 200, 0), 0);
    CHECK_EQ(whole(HKK_ROW_neg, HK_INT64, INT64_MIN, 0), INT64_MIN);
    CHECK_EQ(whole(HKK_ROW_abs, HK_INT8, -128, 0), -128);
    CHECK_EQ(whole(HKK_ROW_pow, HK_INT64, -3, 3), -27);
    CHECK_EQ(whole(HKK_ROW_pow, HK_INT64, 2, -1), 0);
    CHECK_EQ(whole(HKK_ROW_pow, HK_INT64, -1, -3), -1);
    CHECK_EQ(whole(HKK_ROW_shift_left, HK_UINT8, 1, 9), 0);
    CHECK_EQ(whole(HKK_ROW_shift_right, HK_UINT64, -1, 63), 1);
}

/* ---- The engine. ---- */

static hk_tensor *tensor(hk_dtype dtype, hki_layout layout, int rank, const int64_t *dims)
{
    hk_tensor *t;
    CHECK_OK(hk_tensor_create(&t, dtype, rank, dims));
    t->layout = layout;
    return t;
}

/* Fills element with logical indices n, c, h ... by a number of these alone, so that layouts can be compared. */
static void fill_logically(hk_tensor *t, uint64_t seed)
{
    hk_tensor *row_major = tensor(t->dtype, HKI_PLAIN, t->rank, t->dims);
    uint64_t state = seed;
    for (int64_t i = 0; i < hk_tensor_count(t); i++)
        hki_tensor_set_double(row_major, i, (double)(int)(test_random(&state) % 41) - 20);
    hki_tensor_copy_elements(t, row_major);
    hk_tensor_free(row_major);
}

typedef struct shape {
    int rank;
    int64_t dims[4];
} shape;

static hk_tensor *add(hk_dtype dtype, shape sa, hki_layout la, shape sb, hki_layout lb, hki_layout lo, hki_pool *pool)
{
    hk_tensor *a = tensor(dtype, la, sa.rank, sa.dims), *b = tensor(dtype, lb, sb.rank, sb.dims);
    hki_type type = {.dtype = dtype}, ta, tb;
    hki_type_set(&ta, dtype, sa.rank, sa.dims);
    hki_type_set(&tb, dtype, sb.rank, sb.dims);
    CHECK_OK(hki_infer_broadcast(&type, &ta, &tb));
    hk_tensor *y = tensor(dtype, lo, type.rank, type.dims);
    fill_logically(a, 1);
    fill_logically(b, 2);
    const hk_tensor *in[2] = {a, b};
    hki_run run = {.input_count = 2, .output_count = 1, .in = in, .out = &y, .k = plain(), .pool = pool};
    CHECK_OK(hki_run_row(&run, HKK_ROW_add, 0, 0, 0));
    hk_tensor_free(a);
    hk_tensor_free(b);
    return y;
}

static void check_layouts(hk_dtype dtype, shape a, shape b, hki_pool *pool)
{
    hk_tensor *expected = add(dtype, a, HKI_PLAIN, b, HKI_PLAIN, HKI_PLAIN, NULL);
    for (int mix = 1; mix < 8; mix++) {
        hk_tensor *y = add(dtype, a, mix & 1 ? HKI_CHANNELS_LAST : HKI_PLAIN, b,
                           mix & 2 ? HKI_CHANNELS_LAST : HKI_PLAIN, mix & 4 ? HKI_CHANNELS_LAST : HKI_PLAIN, pool);
        hk_tensor *back = tensor(dtype, HKI_PLAIN, y->rank, y->dims);
        hki_tensor_copy_elements(back, y);
        if (memcmp(back->data, expected->data, hk_tensor_size(back))) {
            printf("%s, ranks %d and %d, layouts %d: differs from plain\n", hk_dtype_name(dtype), a.rank, b.rank, mix);
            test_failures++;
        }
        hk_tensor_free(back);
        hk_tensor_free(y);
    }
    hk_tensor_free(expected);
}

TEST(broadcast_over_layouts_and_types)
{
    static const shape pairs[][2] = {
        {{4, {2, 3, 4, 5}}, {4, {2, 3, 4, 5}}}, {{4, {2, 3, 4, 5}}, {3, {3, 1, 1}}},
        {{4, {2, 3, 4, 5}}, {1, {5}}},          {{4, {2, 3, 4, 5}}, {3, {3, 4, 5}}},
        {{4, {2, 3, 1, 5}}, {4, {1, 3, 4, 1}}}, {{4, {2, 80, 3, 3}}, {3, {80, 1, 1}}},
        {{4, {2, 80, 3, 3}}, {0, {0}}},         {{4, {2, 3, 40, 41}}, {4, {1, 3, 1, 1}}},
        {{3, {2, 70, 3}}, {3, {1, 70, 1}}},     {{4, {3, 2, 90, 90}}, {4, {3, 2, 90, 90}}},
        {{4, {1, 1, 1, 1}}, {1, {1}}},          {{4, {0, 3, 2, 2}}, {3, {3, 1, 1}}},
    };
    static const hk_dtype types[] = {HK_FLOAT, HK_DOUBLE, HK_FLOAT16, HK_BFLOAT16, HK_INT8, HK_INT16, HK_INT64};
    hki_pool *pool;
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            check_layouts(types[t], pairs[p][0], pairs[p][1], pool);
    hki_pool_free(pool);
}

/* Against plain indexing, so that the reference is not the engine itself. */
TEST(broadcast_values)
{
    shape a = {4, {2, 1, 4, 5}}, b = {3, {3, 1, 5}};
    hk_tensor *y = add(HK_FLOAT, a, HKI_PLAIN, b, HKI_PLAIN, HKI_PLAIN, NULL);
    hk_tensor *x0 = tensor(HK_FLOAT, HKI_PLAIN, 4, a.dims), *x1 = tensor(HK_FLOAT, HKI_PLAIN, 3, b.dims);
    fill_logically(x0, 1);
    fill_logically(x1, 2);
    const float *p = x0->data, *q = x1->data, *r = y->data;
    for (int n = 0; n < 2; n++)
        for (int c = 0; c < 3; c++)
            for (int h = 0; h < 4; h++)
                for (int w = 0; w < 5; w++)
                    CHECK(r[((n * 3 + c) * 4 + h) * 5 + w] == p[(n * 4 + h) * 5 + w] + q[c * 5 + w]);
    hk_tensor_free(x0);
    hk_tensor_free(x1);
    hk_tensor_free(y);
}

/* float16 is computed in float32 and rounded once. */
TEST(half_precision_rounds_once)
{
    int64_t dims[] = {600};
    hk_tensor *a = tensor(HK_FLOAT16, HKI_PLAIN, 1, dims), *b = tensor(HK_FLOAT16, HKI_PLAIN, 1, dims);
    hk_tensor *c = tensor(HK_FLOAT16, HKI_PLAIN, 1, dims), *y = tensor(HK_FLOAT16, HKI_PLAIN, 1, dims);
    const hk_tensor *in[3] = {a, b, c};
    uint64_t state = 9;
    for (int64_t i = 0; i < dims[0]; i++)
        for (int k = 0; k < 3; k++)
            hki_tensor_set_double((hk_tensor *)(uintptr_t)in[k], i, (int32_t)test_random(&state) * 0x1p-30);
    char scratch[1024];
    hki_run run = {.input_count = 3, .output_count = 1, .in = in, .out = &y, .k = plain(), .scratch = scratch};
    CHECK(hki_fold_scratch(&run) <= sizeof scratch);
    CHECK_OK(hki_run_fold(&run, HKK_ROW_add, true));
    for (int64_t i = 0; i < dims[0]; i++) {
        float sum = (float)hki_tensor_get_double(a, i) + (float)hki_tensor_get_double(b, i);
        sum = (sum + (float)hki_tensor_get_double(c, i)) / 3.0f;
        CHECK_EQ(((uint16_t *)y->data)[i], hki_float_to_float16(sum));
    }
    for (int k = 0; k < 3; k++)
        hk_tensor_free((hk_tensor *)(uintptr_t)in[k]);
    hk_tensor_free(y);
}

/* The output may lie on any input of its shape, also where that input comes again later. */
TEST(fold_in_place)
{
    int64_t dims[] = {3, 700}, row[] = {700};
    hk_tensor *a = tensor(HK_FLOAT, HKI_PLAIN, 2, dims), *b = tensor(HK_FLOAT, HKI_PLAIN, 1, row);
    hk_tensor *y = tensor(HK_FLOAT, HKI_PLAIN, 2, dims);
    char scratch[1024];
    fill_logically(a, 3);
    fill_logically(b, 4);
    const hk_tensor *in[4] = {a, b, a, a};
    hki_run run = {.input_count = 4, .output_count = 1, .in = in, .out = &y, .k = plain(), .scratch = scratch};
    CHECK_OK(hki_run_fold(&run, HKK_ROW_add, false));
    hk_tensor *on_input = a;
    run.out = &on_input;
    CHECK_OK(hki_run_fold(&run, HKK_ROW_add, false));
    CHECK_BYTES(y->data, a->data, hk_tensor_size(y));
    hk_tensor_free(a);
    hk_tensor_free(b);
    hk_tensor_free(y);
}

TEST_MAIN()
