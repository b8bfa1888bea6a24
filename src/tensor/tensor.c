/* Tensors: a shape over counted, foreign or borrowed memory; element access and change of layout. */
#include "tensor/tensor.h"

#include <string.h>

#include "tensor/number.h"

/* Makes a tensor of a checked shape that has no memory yet. */
static hk_tensor *create_bare(hk_dtype dtype, int rank, const int64_t *dims)
{
    hk_tensor *tensor = hki_alloc_array(1, sizeof *tensor);
    if (!tensor)
        return NULL;
    tensor->dtype = dtype;
    tensor->rank = rank;
    if (rank)
        memcpy(tensor->dims, dims, (size_t)rank * sizeof *dims);
    return tensor;
}

hk_status hk_tensor_create(hk_tensor **out, hk_dtype dtype, int rank, const int64_t *dims)
{
    *out = NULL;
    int64_t count;
    size_t size;
    HK_TRY(hki_shape_check(&count, &size, dtype, rank, dims));
    hk_tensor *tensor = create_bare(dtype, rank, dims);
    if (!tensor)
        return hki_out_of_memory();
    hk_status status = hki_buffer_create(&tensor->buffer, size);
    if (status) {
        hki_free(tensor);
        char text[HKI_SHAPE_TEXT];
        return hki_error_context(status, "tensor %s", hki_shape_text(text, dtype, rank, dims));
    }
    tensor->data = hki_buffer_data(tensor->buffer);
    *out = tensor;
    return NULL;
}

hk_status hki_tensor_view(hk_tensor **out, hki_buffer *buffer, void *data, hk_dtype dtype, int rank,
                          const int64_t *dims)
{
    HK_TRY(hk_tensor_wrap(out, data, dtype, rank, dims));
    (*out)->buffer = hki_buffer_retain(buffer);
    return NULL;
}

hk_status hk_tensor_wrap(hk_tensor **out, void *data, hk_dtype dtype, int rank, const int64_t *dims)
{
    *out = NULL;
    int64_t count;
    size_t size;
    HK_TRY(hki_shape_check(&count, &size, dtype, rank, dims));
    if (!data && count)
        return HK_ERR(HK_INVALID_ARGUMENT, "expected memory for a tensor of %zu bytes, found a NULL pointer", size);
    hk_tensor *tensor = create_bare(dtype, rank, dims);
    if (!tensor)
        return hki_out_of_memory();
    tensor->data = data;
    *out = tensor;
    return NULL;
}

hk_status hk_tensor_from(hk_tensor **out, const void *data, hk_dtype dtype, int rank, const int64_t *dims)
{
    hk_tensor *tensor;
    *out = NULL;
    HK_TRY(hk_tensor_create(&tensor, dtype, rank, dims));
    size_t size = hk_tensor_size(tensor);
    if (!data && size) {
        hk_tensor_free(tensor);
        return HK_ERR(HK_INVALID_ARGUMENT, "expected %zu bytes to copy into a tensor, found a NULL pointer", size);
    }
    if (size)
        memcpy(tensor->data, data, size);
    *out = tensor;
    return NULL;
}

hk_status hk_tensor_copy(hk_tensor **out, const hk_tensor *tensor)
{
    hk_tensor *copy;
    *out = NULL;
    HK_TRY(hk_tensor_create(&copy, tensor->dtype, tensor->rank, tensor->dims));
    hki_tensor_copy_elements(copy, tensor);
    *out = copy;
    return NULL;
}

void hk_tensor_free(hk_tensor *tensor)
{
    if (!tensor)
        return;
    hki_buffer_release(tensor->buffer);
    hki_free(tensor);
}

hk_dtype hk_tensor_dtype(const hk_tensor *tensor)
{
    return tensor->dtype;
}

int hk_tensor_rank(const hk_tensor *tensor)
{
    return tensor->rank;
}

const int64_t *hk_tensor_dims(const hk_tensor *tensor)
{
    return tensor->dims;
}

int64_t hk_tensor_count(const hk_tensor *tensor)
{
    return hki_shape_count(tensor->dims, 0, tensor->rank);
}

size_t hk_tensor_size(const hk_tensor *tensor)
{
    return (size_t)hk_tensor_count(tensor) * hk_dtype_size(tensor->dtype);
}

void *hk_tensor_data(hk_tensor *tensor)
{
    return tensor->data;
}

const void *hk_tensor_const_data(const hk_tensor *tensor)
{
    return tensor->data;
}

#define TILE 16 /* a row of 16 floats is a cache line */

/* y (columns, rows) = transpose of x (rows, columns), in the order of y. Full tiles go through a small buffer, so that
 * each line of x is read once, in one go: walked in place, a tile would throw its own lines out of the cache when the
 * rows are a power of two apart, as in 64 channels of 32 x 32. */
#define TRANSPOSE(name, type)                                                                                      \
    static void name(type *restrict y, const type *restrict x, int64_t rows, int64_t columns)                      \
    {                                                                                                              \
        for (int64_t c0 = 0; c0 < columns; c0 += TILE) {                                                           \
            int64_t c1 = c0 + TILE < columns ? c0 + TILE : columns;                                                \
            for (int64_t r0 = 0; r0 < rows; r0 += TILE) {                                                          \
                if (c1 - c0 < TILE || rows - r0 < TILE) {                                                          \
                    int64_t r1 = r0 + TILE < rows ? r0 + TILE : rows;                                              \
                    for (int64_t c = c0; c < c1; c++)                                                              \
                        for (int64_t r = r0; r < r1; r++)                                                          \
                            y[c * rows + r] = x[r * columns + c];                                                  \
                    continue;                                                                                      \
                }                                                                                                  \
                type tile[TILE][TILE];                                                                             \
                for (int r = 0; r < TILE; r++)                                                                     \
                    for (int c = 0; c < TILE; c++)                                                                 \
                        tile[r][c] = x[(r0 + r) * columns + c0 + c];                                               \
                for (int c = 0; c < TILE; c++)                                                                     \
                    for (int r = 0; r < TILE; r++)                                                                 \
                        y[(c0 + c) * rows + r0 + r] = tile[r][c];                                                  \
            }                                                                                                      \
        }                                                                                                          \
    }

/* Elements are moved as raw bits, whatever type others read them with. */
typedef uint16_t __attribute__((may_alias)) raw2;
typedef uint32_t __attribute__((may_alias)) raw4;
typedef uint64_t __attribute__((may_alias)) raw8;
typedef struct raw16 {
    uint64_t half[2];
} __attribute__((may_alias)) raw16;

TRANSPOSE(transpose1, uint8_t)
TRANSPOSE(transpose2, raw2)
TRANSPOSE(transpose4, raw4)
TRANSPOSE(transpose8, raw8)
TRANSPOSE(transpose16, raw16)

static void transpose(void *y, const void *x, int64_t rows, int64_t columns, size_t element_size)
{
    switch (element_size) {
    case 1:
        transpose1(y, x, rows, columns);
        break;
    case 2:
        transpose2(y, x, rows, columns);
        break;
    case 4:
        transpose4(y, x, rows, columns);
        break;
    case 8:
        transpose8(y, x, rows, columns);
        break;
    default:
        HK_ASSERT(element_size == 16);
        transpose16(y, x, rows, columns);
        break;
    }
}

void hki_tensor_copy_elements(hk_tensor *to, const hk_tensor *from)
{
    HK_ASSERT(to->dtype == from->dtype && hki_shape_equal(to->rank, to->dims, from->rank, from->dims));
    size_t size = hk_tensor_size(from), element_size = hk_dtype_size(from->dtype);
    if (!size)
        return;
    int64_t channels = from->rank >= 3 ? from->dims[1] : 1;
    int64_t spatial = from->rank >= 3 ? hki_shape_count(from->dims, 2, from->rank) : 1;
    if (to->layout == from->layout || channels == 1 || spatial == 1) { /* one order of the elements */
        memcpy(to->data, from->data, size);
        return;
    }
    bool to_plain = to->layout == HKI_PLAIN; /* each sample is a matrix: (C, spatial) plain, (spatial, C) otherwise */
    size_t sample = (size_t)(channels * spatial) * element_size;
    for (int64_t n = 0; n < from->dims[0]; n++)
        transpose((char *)to->data + (size_t)n * sample, (const char *)from->data + (size_t)n * sample,
                  to_plain ? spatial : channels, to_plain ? channels : spatial, element_size);
}

/* Converts element i into `to`; complex numbers and strings count as 0. */
static void read_element(void *to, hk_dtype dtype, const hk_tensor *tensor, int64_t i)
{
    const char *element = (const char *)tensor->data + (size_t)i * hk_dtype_size(tensor->dtype);
    hk_status_free(hki_convert(to, dtype, element, tensor->dtype, 1));
}

double hki_tensor_get_double(const hk_tensor *tensor, int64_t i)
{
    double value = 0;
    read_element(&value, HK_DOUBLE, tensor, i);
    return value;
}

int64_t hki_tensor_get_int(const hk_tensor *tensor, int64_t i)
{
    int64_t value = 0;
    if (tensor->dtype == HK_UINT64 && ((const uint64_t *)tensor->data)[i] > INT64_MAX)
        return INT64_MAX;
    read_element(&value, HK_INT64, tensor, i);
    return value;
}

void hki_tensor_set_double(hk_tensor *tensor, int64_t i, double value)
{
    void *element = (char *)tensor->data + (size_t)i * hk_dtype_size(tensor->dtype);
    hk_status_free(hki_convert(element, tensor->dtype, &value, HK_DOUBLE, 1));
}
