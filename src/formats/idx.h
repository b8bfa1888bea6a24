/* IDX: the format of MNIST and its relatives (yann.lecun.com). Two zero bytes, an element type, the rank, big-endian
 * 32-bit dims, big-endian elements. Plain or in gzip. */
#ifndef HKI_FORMATS_IDX_H
#define HKI_FORMATS_IDX_H

#include "tensor/tensor.h"

/** True if the bytes begin as a plain IDX file does. */
bool hki_idx_is(const unsigned char *data, size_t size);
/** Parses a whole file, plain or gzip; `name` is for messages. uint8, int8, int16, int32, float32, float64.
 * HK_INVALID_FILE on a wrong magic number, on dims that the file cannot hold, and on missing or surplus bytes. */
hk_status hki_idx_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name) HK_MUST_USE;
hk_status hki_idx_load(hk_tensor **out, const char *path) HK_MUST_USE;

#endif
