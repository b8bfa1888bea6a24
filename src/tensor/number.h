/* Half-precision numbers in software, exact and the same everywhere: round to nearest even, NaN stays NaN. */
#ifndef HKI_TENSOR_NUMBER_H
#define HKI_TENSOR_NUMBER_H

#include "tensor/tensor.h"

float hki_float16_to_float(uint16_t half);
uint16_t hki_float_to_float16(float value);
uint16_t hki_double_to_float16(double value); /* rounds once */
float hki_bfloat16_to_float(uint16_t half);
uint16_t hki_float_to_bfloat16(float value);

/** Converts count elements as ONNX Cast does: float to integer truncates (saturating, NaN to 0), to bool is != 0.
 * Numeric types and bool only. */
hk_status hki_convert(void *to, hk_dtype to_dtype, const void *from, hk_dtype from_dtype, int64_t count) HK_MUST_USE;

#endif
