/* npy: numpy's file of one array. Versions 1 to 3, both byte orders, C and Fortran order. bfloat16 is '<V2', as the
 * ml_dtypes package writes. */
#ifndef HKI_FORMATS_NPY_H
#define HKI_FORMATS_NPY_H

#include "base/text.h"
#include "tensor/tensor.h"

/** True if the bytes begin with the magic number of npy. */
bool hki_npy_is(const unsigned char *data, size_t size);
/** Parses a whole file into a tensor of its own memory; Fortran order is transposed to row-major. `name` is for
 * messages. */
hk_status hki_npy_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name) HK_MUST_USE;
hk_status hki_npy_load(hk_tensor **out, const char *path) HK_MUST_USE;
/** As hki_npy_load, but the tensor lies over the mapped file where it can: read-only, for data sets larger than memory.
 */
hk_status hki_npy_map(hk_tensor **out, const char *path) HK_MUST_USE;

/** Appends the header of a row-major array, byte for byte as numpy writes it. */
hk_status hki_npy_header(hki_text *text, hk_dtype dtype, int rank, const int64_t *dims) HK_MUST_USE;
/** Writes a tensor, atomically. */
hk_status hki_npy_save(const char *path, const hk_tensor *tensor) HK_MUST_USE;

#endif
