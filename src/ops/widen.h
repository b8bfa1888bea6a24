/* Running an operator in a wider type: rare types (float16, bfloat16, small integers) are converted to one that has
 * kernels, and back. */
#ifndef HKI_OPS_WIDEN_H
#define HKI_OPS_WIDEN_H

#include "graph/op.h"

typedef hk_status hki_run_fn(hki_run *r);
typedef size_t hki_scratch_fn(const hki_run *r);

/** Runs `run` on copies, of type `to`, of all inputs and outputs that have the type of input 0 or another floating type
 * than `to`; the rest is handed through. The run sees scratch of its own behind the copies. */
hk_status hki_run_widened(hki_run *r, hk_dtype to, hki_run_fn *run) HK_MUST_USE;
/** Returns the scratch that this takes; `scratch` (may be NULL) says what the run itself needs. */
size_t hki_widened_scratch(const hki_run *r, hk_dtype to, hki_scratch_fn *scratch);

/** Runs `run` directly for float32 and float64, else in float64. */
hk_status hki_run_float(hki_run *r, hki_run_fn *run) HK_MUST_USE;
size_t hki_float_scratch(const hki_run *r, hki_scratch_fn *scratch);
/** Runs `run` in float32 where input 0 is float16 or bfloat16, else directly. */
hk_status hki_run_half(hki_run *r, hki_run_fn *run) HK_MUST_USE;
size_t hki_half_scratch(const hki_run *r, hki_scratch_fn *scratch);

/** Adds sizes and products of scratch; shapes were checked, so that these do not overflow. Rounds up to the alignment
 * of scratch. */
size_t hki_scratch_size(int64_t count, size_t element_size);

#endif
