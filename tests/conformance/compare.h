/* Comparison of a tensor with the one the ONNX suite expects. */
#ifndef TESTS_CONFORMANCE_COMPARE_H
#define TESTS_CONFORMANCE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "halka/tensor.h"

/** True if type and dims agree, integers and bools are equal, and floats are within atol + rtol * |expected|, with NaN
 * equal to NaN. Else `why` says what differs first. */
bool compare_tensors(char *why, size_t why_size, const hk_tensor *found, const hk_tensor *expected, double rtol,
                     double atol);

#endif
