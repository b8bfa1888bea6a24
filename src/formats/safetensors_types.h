/* The element types of safetensors: one table for reader and writer. */
#ifndef HKI_FORMATS_SAFETENSORS_TYPES_H
#define HKI_FORMATS_SAFETENSORS_TYPES_H

#include "halka/tensor.h"

/** Finds a type by its name in the file, such as "BF16"; HK_UNDEFINED if halka does not know it. */
hk_dtype hki_safetensors_dtype(const char *name);
/** Returns the name of a type in the file; NULL if safetensors has no such type. */
const char *hki_safetensors_dtype_name(hk_dtype dtype);

#endif
