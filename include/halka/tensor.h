/* Tensor: a typed, shaped block of numbers.
 *
 *     hk_tensor *t;
 *     int64_t dims[] = {2, 3};
 *     hk_status s = hk_tensor_create(&t, HK_FLOAT, 2, dims);      // zeroed
 *     float *x = hk_tensor_data(t);                               // row-major, 2 x 3
 *     hk_tensor_free(t);
 *
 * Memory may be shared between tensors (views, mapped files): it is counted, and freed with the last of them. A tensor
 * may be read by any number of threads; whoever writes must be alone. */
#ifndef HALKA_TENSOR_H
#define HALKA_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "halka/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HK_MAX_RANK 8

/** Element types: name, ONNX TensorProto number, bits of one element, text. */
#define HK_DTYPES(X)                       \
    X(HK_FLOAT, 1, 32, "float32")          \
    X(HK_UINT8, 2, 8, "uint8")             \
    X(HK_INT8, 3, 8, "int8")               \
    X(HK_UINT16, 4, 16, "uint16")          \
    X(HK_INT16, 5, 16, "int16")            \
    X(HK_INT32, 6, 32, "int32")            \
    X(HK_INT64, 7, 64, "int64")            \
    X(HK_STRING, 8, 0, "string")           \
    X(HK_BOOL, 9, 8, "bool")               \
    X(HK_FLOAT16, 10, 16, "float16")       \
    X(HK_DOUBLE, 11, 64, "float64")        \
    X(HK_UINT32, 12, 32, "uint32")         \
    X(HK_UINT64, 13, 64, "uint64")         \
    X(HK_COMPLEX64, 14, 64, "complex64")   \
    X(HK_COMPLEX128, 15, 128, "complex128") \
    X(HK_BFLOAT16, 16, 16, "bfloat16")

typedef enum hk_dtype {
    HK_UNDEFINED = 0,
#define HK_DTYPE_ENUM(name, number, bits, text) name = number,
    HK_DTYPES(HK_DTYPE_ENUM)
#undef HK_DTYPE_ENUM
} hk_dtype;

/** Returns "float32" and the like; "undefined" for what is none. */
HK_API const char *hk_dtype_name(hk_dtype dtype);
/** Returns bytes per element; 0 for strings and what is none. */
HK_API size_t hk_dtype_size(hk_dtype dtype);
/** Finds a type by its name; HK_UNDEFINED if there is none. */
HK_API hk_dtype hk_dtype_find(const char *name);

typedef struct hk_tensor hk_tensor;

/** Creates a zeroed tensor. dims may be NULL if rank is 0 (a scalar). Caller frees. HK_OUT_OF_MEMORY, HK_INVALID_SHAPE
 * (rank over HK_MAX_RANK, negative or overflowing dims), HK_INVALID_TYPE (strings). */
HK_API hk_status hk_tensor_create(hk_tensor **out, hk_dtype dtype, int rank, const int64_t *dims) HK_MUST_USE;
/** Creates a tensor over memory of the caller, who keeps it alive and frees it after the tensor. */
HK_API hk_status hk_tensor_wrap(hk_tensor **out, void *data, hk_dtype dtype, int rank, const int64_t *dims) HK_MUST_USE;
/** Creates a tensor with a copy of `data` (row-major). */
HK_API hk_status hk_tensor_from(hk_tensor **out, const void *data, hk_dtype dtype, int rank,
                                const int64_t *dims) HK_MUST_USE;
/** Creates a deep, row-major copy. */
HK_API hk_status hk_tensor_copy(hk_tensor **out, const hk_tensor *tensor) HK_MUST_USE;
/** Frees the tensor, and its memory if no other tensor shares it. NULL is allowed. */
HK_API void hk_tensor_free(hk_tensor *tensor);

/** Returns the type of the elements. */
HK_API hk_dtype hk_tensor_dtype(const hk_tensor *tensor);
/** Returns the number of dimensions. */
HK_API int hk_tensor_rank(const hk_tensor *tensor);
/** Returns the dimensions, rank of them. Borrowed. */
HK_API const int64_t *hk_tensor_dims(const hk_tensor *tensor);
/** Returns the number of elements (1 for a scalar). */
HK_API int64_t hk_tensor_count(const hk_tensor *tensor);
/** Returns the size of the elements in bytes. */
HK_API size_t hk_tensor_size(const hk_tensor *tensor);
/** Returns the elements, row-major. Borrowed. */
HK_API void *hk_tensor_data(hk_tensor *tensor);
/** As hk_tensor_data, for who only reads. */
HK_API const void *hk_tensor_const_data(const hk_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
