/* Files of tensors: npy, IDX (plain or gzip), JPEG and PNG pictures. ONNX's own tensor files (.pb) are in model.h. */
#ifndef HALKA_FILE_H
#define HALKA_FILE_H

#include "halka/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of tensor file, told apart by their first bytes. */
typedef enum hk_file_kind {
    HK_FILE_UNKNOWN,
    HK_FILE_NPY,
    HK_FILE_IDX,
    HK_FILE_IMAGE, /* JPEG, PNG */
} hk_file_kind;

/** Loads a tensor from a file; caller frees. Pictures are uint8 (H, W, C) with C 1 or 3. out_kind (may be NULL)
 * receives the kind. HK_NOT_FOUND, HK_INVALID_FILE (damaged, or of an unknown kind), HK_UNSUPPORTED (a library is
 * missing in this build). */
HK_API hk_status hk_tensor_load(hk_tensor **out, hk_file_kind *out_kind, const char *path) HK_MUST_USE;
/** As hk_tensor_load, but only row `row` of the first dimension, which stays with size 1: images (60000, 28, 28) give
 * (1, 28, 28). */
HK_API hk_status hk_tensor_load_row(hk_tensor **out, hk_file_kind *out_kind, const char *path, int64_t row) HK_MUST_USE;

/** Loads an array that numpy saved. Caller frees. HK_NOT_FOUND, HK_IO; HK_INVALID_FILE says what is wrong where. */
HK_API hk_status hk_tensor_load_npy(hk_tensor **out, const char *path) HK_MUST_USE;
/** Saves a tensor for numpy; appears under its name only when complete. */
HK_API hk_status hk_tensor_save_npy(const hk_tensor *tensor, const char *path) HK_MUST_USE;
/** Loads an IDX file, plain or .gz: uint8, int8, int16, int32, float32 or float64. Caller frees. Errors as
 * hk_tensor_load_npy; HK_UNSUPPORTED: a .gz file, and zlib is not built in. */
HK_API hk_status hk_tensor_load_idx(hk_tensor **out, const char *path) HK_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
