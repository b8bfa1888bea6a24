/* safetensors: named tensors in one file (huggingface.co/docs/safetensors): a 64-bit little-endian header size, a JSON
 * header, the elements.
 *
 * Reading maps the file; tensors are views of it and keep it alive, so the file object may be closed before them. They
 * are read-only. Strict: offsets must cover the data exactly, without holes or overlaps. */
#ifndef HKI_FORMATS_SAFETENSORS_H
#define HKI_FORMATS_SAFETENSORS_H

#include "tensor/tensor.h"

typedef struct hki_safetensors hki_safetensors;

/** Opens a file; caller closes. HK_INVALID_FILE names what is wrong with which tensor. */
hk_status hki_safetensors_open(hki_safetensors **out, const char *path) HK_MUST_USE;
/** As hki_safetensors_open for bytes that outlive the object and its tensors. */
hk_status hki_safetensors_parse(hki_safetensors **out, const unsigned char *data, size_t size,
                                const char *name) HK_MUST_USE;
void hki_safetensors_close(hki_safetensors *file);

/** Returns the number of tensors, and the name of one; in byte order of names. */
int64_t hki_safetensors_count(const hki_safetensors *file);
const char *hki_safetensors_name(const hki_safetensors *file, int64_t index);
/** Returns a tensor, borrowed: alive as long as the object. NULL if there is none of that name. */
const hk_tensor *hki_safetensors_at(const hki_safetensors *file, int64_t index);
const hk_tensor *hki_safetensors_find(const hki_safetensors *file, const char *name);
/** Gives a tensor that outlives the object; caller frees. HK_NOT_FOUND names the file and the nearest name. */
hk_status hki_safetensors_get(hk_tensor **out, const hki_safetensors *file, const char *name) HK_MUST_USE;
/** Returns a text of __metadata__, NULL if absent. */
const char *hki_safetensors_metadata(const hki_safetensors *file, const char *key);

/** One tensor to write. */
typedef struct hki_named_tensor {
    const char *name;
    const hk_tensor *tensor;
} hki_named_tensor;

/** One entry of __metadata__. */
typedef struct hki_named_text {
    const char *key, *value;
} hki_named_text;

/** Writes a file, atomically. The bytes depend on names, tensors and metadata alone, not on their order: elements are
 * sorted by element size, the largest first (so all are aligned), then by name; metadata by key. HK_INVALID_ARGUMENT on
 * a name given twice; HK_INVALID_TYPE for complex128. */
hk_status hki_safetensors_save(const char *path, const hki_named_tensor *tensors, int64_t count,
                               const hki_named_text *metadata, int64_t metadata_count) HK_MUST_USE;

#endif
