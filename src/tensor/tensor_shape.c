/* Element types and shapes: names, sizes, checks, text, strides. Knows no memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

static const struct dtype_row {
    const char *text;
    int bits;
} dtype_table[] = {
#define DTYPE_ROW(name, number, bits, text) [number] = {text, bits},
    HK_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

enum { DTYPE_COUNT = sizeof dtype_table / sizeof dtype_table[0] };

static bool known(hk_dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT && dtype_table[dtype].text;
}

const char *hk_dtype_name(hk_dtype dtype)
{
    return known(dtype) ? dtype_table[dtype].text : "undefined";
}

size_t hk_dtype_size(hk_dtype dtype)
{
    return known(dtype) ? (size_t)dtype_table[dtype].bits / 8 : 0;
}

hk_dtype hk_dtype_find(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (dtype_table[i].text && !strcmp(dtype_table[i].text, name))
            return (hk_dtype)i;
    return HK_UNDEFINED;
}

bool hki_dtype_is_float(hk_dtype dtype)
{
    return dtype == HK_FLOAT || dtype == HK_DOUBLE || dtype == HK_FLOAT16 || dtype == HK_BFLOAT16;
}

static bool is_signed_integer(hk_dtype dtype)
{
    return dtype == HK_INT8 || dtype == HK_INT16 || dtype == HK_INT32 || dtype == HK_INT64;
}

bool hki_dtype_is_integer(hk_dtype dtype)
{
    return is_signed_integer(dtype) || dtype == HK_UINT8 || dtype == HK_UINT16 || dtype == HK_UINT32 ||
           dtype == HK_UINT64;
}

bool hki_dtype_is_signed(hk_dtype dtype)
{
    return is_signed_integer(dtype) || hki_dtype_is_float(dtype);
}

hk_status hki_shape_check(int64_t *out_count, size_t *out_size, hk_dtype dtype, int rank, const int64_t *dims)
{
    char text[HKI_SHAPE_TEXT];
    size_t element_size = hk_dtype_size(dtype);
    if (!element_size)
        return HK_ERR(HK_INVALID_TYPE, "expected a numeric or bool element type, found %s", hk_dtype_name(dtype));
    if (rank < 0 || rank > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "expected a rank of 0 to %d, found %d", HK_MAX_RANK, rank);
    if (rank && !dims)
        return HK_ERR(HK_INVALID_ARGUMENT, "expected %d dimensions, found a NULL pointer", rank);
    int64_t count = 1, strides = 1; /* strides: the product with 0 read as 1, so that strides fit as well */
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return HK_ERR(HK_INVALID_SHAPE, "expected dimensions of at least 0, found %s",
                          hki_shape_text(text, dtype, rank, dims));
        if (__builtin_mul_overflow(strides, dims[i] ? dims[i] : 1, &strides))
            return HK_ERR(HK_INVALID_SHAPE, "too many elements: %s", hki_shape_text(text, dtype, rank, dims));
        count *= dims[i];
    }
    int64_t size;
    if (__builtin_mul_overflow(strides, (int64_t)element_size, &size) || size > PTRDIFF_MAX)
        return HK_ERR(HK_INVALID_SHAPE, "too many bytes: %s", hki_shape_text(text, dtype, rank, dims));
    *out_count = count;
    *out_size = (size_t)count * element_size;
    return NULL;
}

int64_t hki_shape_count(const int64_t *dims, int begin, int end)
{
    int64_t count = 1;
    for (int i = begin; i < end; i++)
        count *= dims[i];
    return count;
}

bool hki_shape_equal(int rank_a, const int64_t *a, int rank_b, const int64_t *b)
{
    if (rank_a != rank_b)
        return false;
    for (int i = 0; i < rank_a; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

const char *hki_shape_text(char *out, hk_dtype dtype, int rank, const int64_t *dims)
{
    /* 8 dims of up to 20 characters, commas, brackets and a type name stay below HKI_SHAPE_TEXT */
    int length = snprintf(out, HKI_SHAPE_TEXT, "%s[", dtype == HK_UNDEFINED ? "" : hk_dtype_name(dtype));
    for (int i = 0; i < rank && i < HK_MAX_RANK; i++)
        length += snprintf(out + length, HKI_SHAPE_TEXT - (size_t)length, "%s%" PRId64, i ? "," : "", dims[i]);
    snprintf(out + length, HKI_SHAPE_TEXT - (size_t)length, rank > HK_MAX_RANK ? ",...]" : "]");
    return out;
}

void hki_tensor_strides(int64_t *out_strides, const hk_tensor *tensor)
{
    int rank = tensor->rank;
    bool channels_last = tensor->layout == HKI_CHANNELS_LAST && rank >= 3;
    int64_t stride = 1;
    if (channels_last) {
        out_strides[1] = 1;
        stride = tensor->dims[1];
    }
    for (int i = rank - 1; i >= 0; i--) {
        if (channels_last && i == 1)
            continue;
        out_strides[i] = stride;
        stride *= tensor->dims[i];
    }
}

void hki_broadcast_strides(int64_t *out_strides, int rank, const int64_t *dims, const hk_tensor *b)
{
    int64_t strides[HK_MAX_RANK];
    hki_tensor_strides(strides, b);
    int missing = rank - b->rank;
    HK_ASSERT(missing >= 0);
    for (int i = 0; i < rank; i++) {
        bool spread = i < missing || (b->dims[i - missing] == 1 && dims[i] != 1);
        out_strides[i] = spread ? 0 : strides[i - missing];
    }
}
