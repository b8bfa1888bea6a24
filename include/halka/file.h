/* Files of tensors: numpy's npy and the IDX of MNIST. ONNX's own tensor files (.pb) are in model.h. */
#ifndef HALKA_FILE_H
#define HALKA_FILE_H

#include "halka/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

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
