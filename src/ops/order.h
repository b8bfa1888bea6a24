/* Order: numbers of any type as unsigned keys that compare as the numbers do, for operators that rank elements (TopK,
 * Unique). */
#ifndef HKI_OPS_ORDER_H
#define HKI_OPS_ORDER_H

#include "tensor/tensor.h"

/** Key of element i of memory of a numeric dtype or bool: a < b as numbers exactly if key(a) < key(b). -0 equals 0; all
 * NaN are equal and above every number. */
uint64_t hki_order_key(const void *data, hk_dtype dtype, int64_t i);

#endif
