/* Tensors, shapes, buffers: checks, sharing, strides, layouts, element access. */
#include "tensor/tensor.h"

#include "harness/test.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

TEST(dtypes)
{
    CHECK_STR(hk_dtype_name(HK_FLOAT), "float32");
    CHECK_STR(hk_dtype_name(HK_UNDEFINED), "undefined");
    CHECK_STR(hk_dtype_name((hk_dtype)-3), "undefined");
    CHECK_EQ(hk_dtype_size(HK_COMPLEX128), 16);
    CHECK_EQ(hk_dtype_size(HK_STRING), 0);
    CHECK_EQ(hk_dtype_size((hk_dtype)77), 0);
    CHECK_EQ(hk_dtype_find("bfloat16"), HK_BFLOAT16);
    CHECK_EQ(hk_dtype_find("float"), HK_UNDEFINED);
    CHECK(hki_dtype_is_float(HK_FLOAT16) && !hki_dtype_is_float(HK_INT8));
    CHECK(hki_dtype_is_integer(HK_UINT64) && !hki_dtype_is_integer(HK_BOOL));
    CHECK(hki_dtype_is_signed(HK_INT8) && !hki_dtype_is_signed(HK_UINT8) && hki_dtype_is_signed(HK_BFLOAT16));
}

TEST(create_is_zeroed)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_FLOAT, 2, DIMS(2, 3)));
    CHECK_EQ(hk_tensor_count(t), 6);
    CHECK_EQ(hk_tensor_size(t), 24);
    CHECK_EQ(hk_tensor_rank(t), 2);
    CHECK_EQ(hk_tensor_dims(t)[1], 3);
    CHECK_EQ(hk_tensor_dtype(t), HK_FLOAT);
    CHECK_EQ((uintptr_t)hk_tensor_data(t) % 64, 0);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(((const float *)hk_tensor_const_data(t))[i], 0);
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_create(&t, HK_INT64, 0, NULL));
    CHECK_EQ(hk_tensor_count(t), 1);
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_create(&t, HK_INT64, 3, DIMS(4, 0, 5)));
    CHECK_EQ(hk_tensor_count(t), 0);
    hk_tensor_free(t);
    hk_tensor_free(NULL);
}

TEST(bad_shapes)
{
    hk_tensor *t;
    float x[4];
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1)), HK_INVALID_SHAPE, "found 9");
    CHECK(t == NULL);
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, -1, NULL), HK_INVALID_SHAPE, "found -1");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 2, DIMS(3, -4)), HK_INVALID_SHAPE, "float32[3,-4]");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 2, DIMS(INT64_MAX, 2)), HK_INVALID_SHAPE, "too many elements");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 3, DIMS(0, INT64_MAX, 2)), HK_INVALID_SHAPE, "too many elements");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 2, DIMS(INT64_MAX / 2, 2)), HK_INVALID_SHAPE, "too many bytes");
    CHECK_FAILS(hk_tensor_create(&t, HK_STRING, 1, DIMS(2)), HK_INVALID_TYPE, "string");
    CHECK_FAILS(hk_tensor_create(&t, HK_UNDEFINED, 1, DIMS(2)), HK_INVALID_TYPE, "undefined");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 1, NULL), HK_INVALID_ARGUMENT, "NULL");
    CHECK_FAILS(hk_tensor_wrap(&t, NULL, HK_FLOAT, 1, DIMS(2)), HK_INVALID_ARGUMENT, "8 bytes");
    CHECK_FAILS(hk_tensor_from(&t, NULL, HK_FLOAT, 1, DIMS(2)), HK_INVALID_ARGUMENT, "8 bytes");
    CHECK_FAILS(hk_tensor_create(&t, HK_FLOAT, 2, DIMS(1 << 30, 1 << 28)), HK_OUT_OF_MEMORY, "float32[1073741824");
    for (int n = 1; n <= 2; n++) {
        hki_memory_fail_at(n);
        CHECK_FAILS(hk_tensor_from(&t, x, HK_FLOAT, 1, DIMS(4)), HK_OUT_OF_MEMORY, "");
        CHECK(t == NULL);
    }
}

static void count_release(void *context)
{
    ++*(int *)context;
}

TEST(buffers_are_counted)
{
    float memory[6] = {1, 2, 3, 4, 5, 6};
    int released = 0;
    hki_buffer *buffer;
    hk_tensor *a, *b;
    REQUIRE_OK(hki_buffer_foreign(&buffer, memory, sizeof memory, count_release, &released));
    REQUIRE_OK(hki_tensor_view(&a, buffer, memory, HK_FLOAT, 1, DIMS(6)));
    REQUIRE_OK(hki_tensor_view(&b, buffer, memory + 2, HK_FLOAT, 2, DIMS(2, 2)));
    hki_buffer_release(buffer);
    hk_tensor_free(a);
    CHECK_EQ(released, 0);
    CHECK_EQ(((float *)hk_tensor_data(b))[3], 6);
    hk_tensor_free(b);
    CHECK_EQ(released, 1);
    hki_buffer_release(NULL);
}

TEST(copies)
{
    float memory[6] = {1, 2, 3, 4, 5, 6};
    hk_tensor *wrapped, *copy;
    REQUIRE_OK(hk_tensor_wrap(&wrapped, memory, HK_FLOAT, 2, DIMS(2, 3)));
    REQUIRE_OK(hk_tensor_copy(&copy, wrapped));
    memory[0] = 9;
    CHECK_EQ(((float *)hk_tensor_data(copy))[0], 1);
    CHECK_EQ(((float *)hk_tensor_data(wrapped))[0], 9);
    hk_tensor_free(wrapped);
    hk_tensor_free(copy);
}

TEST(shape_text)
{
    char text[HKI_SHAPE_TEXT];
    CHECK_STR(hki_shape_text(text, HK_FLOAT, 2, DIMS(2, 3)), "float32[2,3]");
    CHECK_STR(hki_shape_text(text, HK_UNDEFINED, 0, NULL), "[]");
    CHECK_STR(hki_shape_text(text, HK_BOOL, 1, DIMS(-1)), "bool[-1]");
    int64_t dims[9];
    for (int i = 0; i < 9; i++)
        dims[i] = INT64_MIN;
    CHECK(strlen(hki_shape_text(text, HK_COMPLEX128, 9, dims)) < HKI_SHAPE_TEXT);
    CHECK(strstr(text, ",...]") != NULL);
}

TEST(strides)
{
    hk_tensor t = {.rank = 4, .dims = {2, 3, 4, 5}};
    int64_t s[HK_MAX_RANK];
    hki_tensor_strides(s, &t);
    CHECK(s[0] == 60 && s[1] == 20 && s[2] == 5 && s[3] == 1);
    t.layout = HKI_CHANNELS_LAST;
    hki_tensor_strides(s, &t);
    CHECK(s[0] == 60 && s[1] == 1 && s[2] == 15 && s[3] == 3);
    hk_tensor b = {.rank = 2, .dims = {1, 5}};
    hki_broadcast_strides(s, 3, DIMS(7, 4, 5), &b);
    CHECK(s[0] == 0 && s[1] == 0 && s[2] == 1);
    hk_tensor scalar = {.rank = 0};
    hki_broadcast_strides(s, 2, DIMS(4, 5), &scalar);
    CHECK(s[0] == 0 && s[1] == 0);
}

/* Moves a tensor to channels-last and back; each element must be where its strides say. */
static void check_layouts(hk_dtype dtype, int rank, const int64_t *dims)
{
    hk_tensor *plain, *last, *back;
    REQUIRE_OK(hk_tensor_create(&plain, dtype, rank, dims));
    REQUIRE_OK(hk_tensor_create(&last, dtype, rank, dims));
    REQUIRE_OK(hk_tensor_create(&back, dtype, rank, dims));
    size_t size = hk_tensor_size(plain), element = hk_dtype_size(dtype);
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)plain->data)[i] = (unsigned char)(i * 2654435761u >> 13);
    last->layout = HKI_CHANNELS_LAST;
    hki_tensor_copy_elements(last, plain);
    int64_t strides[HK_MAX_RANK], index[HK_MAX_RANK] = {0};
    hki_tensor_strides(strides, last);
    for (int64_t i = 0; i < hk_tensor_count(plain); i++) {
        int64_t offset = 0;
        for (int d = 0; d < rank; d++)
            offset += index[d] * strides[d];
        CHECK_BYTES((char *)plain->data + (size_t)i * element, (char *)last->data + (size_t)offset * element, element);
        for (int d = rank - 1; d >= 0 && ++index[d] == dims[d]; d--)
            index[d] = 0;
    }
    hki_tensor_copy_elements(back, last);
    CHECK_BYTES(plain->data, back->data, size);
    hk_tensor *copy;
    REQUIRE_OK(hk_tensor_copy(&copy, last));
    CHECK_EQ(copy->layout, HKI_PLAIN);
    CHECK_BYTES(plain->data, copy->data, size);
    hk_tensor_free(plain);
    hk_tensor_free(last);
    hk_tensor_free(back);
    hk_tensor_free(copy);
}

TEST(layouts)
{
    check_layouts(HK_FLOAT, 4, DIMS(2, 3, 5, 7));
    check_layouts(HK_FLOAT, 4, DIMS(1, 64, 14, 14));
    check_layouts(HK_UINT8, 4, DIMS(3, 17, 6, 6));
    check_layouts(HK_FLOAT16, 3, DIMS(2, 33, 19));
    check_layouts(HK_DOUBLE, 5, DIMS(2, 3, 2, 3, 4));
    check_layouts(HK_COMPLEX128, 4, DIMS(1, 5, 3, 7));
    check_layouts(HK_FLOAT, 4, DIMS(2, 1, 5, 7));
    check_layouts(HK_FLOAT, 4, DIMS(2, 5, 1, 1));
    check_layouts(HK_FLOAT, 4, DIMS(0, 5, 2, 1));
}

TEST(element_access)
{
    hk_tensor *t;
    REQUIRE_OK(hk_tensor_create(&t, HK_INT8, 1, DIMS(2)));
    hki_tensor_set_double(t, 1, -300.7);
    CHECK_EQ(hki_tensor_get_int(t, 1), -128);
    CHECK_CLOSE(hki_tensor_get_double(t, 1), -128, 0);
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_from(&t, &(uint64_t){UINT64_MAX}, HK_UINT64, 0, NULL));
    CHECK_EQ(hki_tensor_get_int(t, 0), INT64_MAX);
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_from(&t, &(float){2.9f}, HK_FLOAT, 0, NULL));
    CHECK_EQ(hki_tensor_get_int(t, 0), 2);
    CHECK_CLOSE(hki_tensor_get_double(t, 0), 2.9, 1e-7);
    hk_tensor_free(t);
    REQUIRE_OK(hk_tensor_from(&t, &(uint16_t){0x3c00}, HK_FLOAT16, 0, NULL));
    CHECK_CLOSE(hki_tensor_get_double(t, 0), 1, 0);
    hki_tensor_set_double(t, 0, -2);
    CHECK_EQ(*(uint16_t *)t->data, 0xc000);
    hk_tensor_free(t);
}

TEST_MAIN()
