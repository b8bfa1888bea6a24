/* The tensor as the library sees it. Logical dims never depend on layout: a channels-last tensor of dims (N, C, H, W)
 * keeps these dims and stores its elements in the order N, H, W, C. Only kernels that say so ever see such a tensor;
 * public functions hand out plain ones. */
#ifndef HKI_TENSOR_TENSOR_H
#define HKI_TENSOR_TENSOR_H

#include "base/memory.h"
#include "halka/tensor.h"

typedef enum hki_layout {
    HKI_PLAIN,         /* row-major */
    HKI_CHANNELS_LAST, /* dims (N, C, spatial...) stored as N, spatial..., C; rank >= 3 */
} hki_layout;

/* Counted memory: owned heap memory, or foreign memory with a function that lets go of it (a mapped file). */
typedef struct hki_buffer hki_buffer;
hk_status hki_buffer_create(hki_buffer **out, size_t size) HK_MUST_USE; /* zeroed, 64-aligned */
hk_status hki_buffer_foreign(hki_buffer **out, void *data, size_t size, void (*release)(void *context),
                             void *context) HK_MUST_USE;
hki_buffer *hki_buffer_retain(hki_buffer *buffer);
void hki_buffer_release(hki_buffer *buffer);
void *hki_buffer_data(hki_buffer *buffer);

struct hk_tensor {
    void *data;         /* first element */
    hki_buffer *buffer; /* what keeps data alive; NULL for memory of somebody else (hk_tensor_wrap, plan arena) */
    hk_dtype dtype;
    hki_layout layout;
    int rank;
    int64_t dims[HK_MAX_RANK];
};

/** Creates a tensor over part of a buffer, which it retains. `data` points into it. */
hk_status hki_tensor_view(hk_tensor **out, hki_buffer *buffer, void *data, hk_dtype dtype, int rank,
                          const int64_t *dims) HK_MUST_USE;

/** Checks dims and computes the number of elements and bytes, with overflow checks. */
hk_status hki_shape_check(int64_t *out_count, size_t *out_size, hk_dtype dtype, int rank,
                          const int64_t *dims) HK_MUST_USE;
/** Returns the product of dims[begin..end). The shape was checked before. */
int64_t hki_shape_count(const int64_t *dims, int begin, int end);
bool hki_shape_equal(int rank_a, const int64_t *a, int rank_b, const int64_t *b);

/** Text such as "float32[2,3]" into a buffer of at least HKI_SHAPE_TEXT bytes; returns it. */
#define HKI_SHAPE_TEXT 256
const char *hki_shape_text(char *out, hk_dtype dtype, int rank, const int64_t *dims);

/** Strides in elements of each logical dimension, layout considered. */
void hki_tensor_strides(int64_t *out_strides, const hk_tensor *tensor);
/** Strides with which a tensor of dims b (rank_b) is read as if it had shape `dims` (rank): 0 where it is broadcast.
 * The caller has checked that it broadcasts. */
void hki_broadcast_strides(int64_t *out_strides, int rank, const int64_t *dims, const hk_tensor *b);
/** Copies elements between two tensors of the same dims and dtype and any layouts. */
void hki_tensor_copy_elements(hk_tensor *to, const hk_tensor *from);

/** Reads element i (in memory order) as double / int64, whatever the numeric type. For small tensors: axes, shapes,
 * scalars. */
double hki_tensor_get_double(const hk_tensor *tensor, int64_t i);
int64_t hki_tensor_get_int(const hk_tensor *tensor, int64_t i);
void hki_tensor_set_double(hk_tensor *tensor, int64_t i, double value);

bool hki_dtype_is_float(hk_dtype dtype);    /* float16, bfloat16, float32, float64 */
bool hki_dtype_is_integer(hk_dtype dtype);  /* signed and unsigned, not bool */
bool hki_dtype_is_signed(hk_dtype dtype);   /* signed integers and floats */

#endif
