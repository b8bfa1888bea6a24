/* The numbers of an ONNX file: TensorProto in all its forms to hk_tensor and back; external data; .pb files. */
#ifndef HKI_FORMATS_ONNX_TENSOR_H
#define HKI_FORMATS_ONNX_TENSOR_H

#include "formats/onnx_proto.h"

/** A mapped file of external data. */
typedef struct hki_onnx_external {
    const char *location;
    hki_buffer *buffer;
    size_t size;
} hki_onnx_external;

/** Where tensors come from: the file's own memory, and the directory in which external data may lie (NULL: not
 * allowed). */
typedef struct hki_onnx_source {
    hki_span file;
    hki_buffer *buffer; /* keeps `file` alive */
    const char *directory;
    hki_arena *arena;
    hki_onnx_external *externals;
    size_t external_count, external_capacity;
    hk_tensor **made; /* every tensor converted, freed with the source */
    size_t made_count, made_capacity;
} hki_onnx_source;

/** Maps a file into a buffer; *out_file is its bytes. */
hk_status hki_onnx_map(hki_buffer **out, hki_span *out_file, const char *path) HK_MUST_USE;
/** Lets go of everything the source holds. */
void hki_onnx_source_close(hki_onnx_source *source);

/** Converts a tensor: a view of the file's bytes where they are stored raw and aligned, else a copy. Borrowed from the
 * source; the second call for the same message gives the same tensor. HK_INVALID_FILE names tensor, expected and found
 * sizes; HK_UNSUPPORTED for types that halka has not (strings, 4 and 8 bit floats). */
hk_status hki_onnx_tensor_get(hk_tensor **out, hki_onnx_source *source, hki_onnx_tensor *tensor) HK_MUST_USE;
/** As hki_onnx_tensor_get for a sparse tensor, which becomes a dense one. */
hk_status hki_onnx_sparse_get(hk_tensor **out, hki_onnx_source *source, hki_onnx_sparse *sparse) HK_MUST_USE;
/** Adds a tensor to those freed with the source; on failure it is freed at once. */
hk_status hki_onnx_source_keep(hki_onnx_source *source, hk_tensor *tensor) HK_MUST_USE;
/** Finds the bytes of a tensor with external data: inside the directory, within the bounds of the file. */
hk_status hki_onnx_external_get(hki_span *out, hki_buffer **out_buffer, hki_onnx_source *source,
                                const hki_onnx_tensor *tensor, size_t size) HK_MUST_USE;

/** Returns hk_dtype for TensorProto.DataType, HK_UNDEFINED if halka has no such type; *out_name (may be NULL) is ONNX's
 * name of it. */
hk_dtype hki_onnx_dtype(int64_t data_type, const char **out_name);

#endif
