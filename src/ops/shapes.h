/* Shapes as operators use them: numbers read from small tensors, lists of axes, and values that hold a shape while a
 * graph is built. */
#ifndef HKI_OPS_SHAPES_H
#define HKI_OPS_SHAPES_H

#include "graph/op.h"

#define HKI_SHAPE_NUMBERS (2 * HK_MAX_RANK) /* pads: two numbers per dimension */

/** Reads a scalar or 1-D integer tensor into out (room for HKI_SHAPE_NUMBERS). `name` is the input's name.
 * HK_INVALID_SHAPE, HK_INVALID_TYPE. */
hk_status hki_numbers_read(int64_t *out, int *out_count, const hk_tensor *tensor, const char *name) HK_MUST_USE;
/** Reads the first number of a tensor with one element. */
hk_status hki_number_read(int64_t *out, const hk_tensor *tensor, const char *name) HK_MUST_USE;
/** Number of elements of a 1-D (or scalar) input, as far as its type tells; -1 if it does not. */
hk_status hki_numbers_count(int *out, const hki_type *type, const char *name) HK_MUST_USE;
/** Normalises axes in place and refuses repeated ones. */
hk_status hki_axes_normalise(int64_t *axes, int count, int rank) HK_MUST_USE;
/** Fails unless input i, where it is known, has rank `rank`. */
hk_status hki_rank_check(const hki_type *type, int rank, const char *name) HK_MUST_USE;
/** Fails with HK_INVALID_SHAPE if a run computed a shape that is not the one the output was made for. */
hk_status hki_output_check(const hk_tensor *out, int rank, const int64_t *dims) HK_MUST_USE;
/** Text such as "[2,N,?]" of known and unknown dims into a buffer of HKI_SHAPE_TEXT bytes; returns it. */
const char *hki_dims_text(char *out, int rank, const int64_t *dims);
/** out = product of dims, unknown if one is (0 if one is 0). */
int64_t hki_dims_product(const int64_t *dims, int begin, int end);

/** The shape of x as a value: a constant where it is known, else a Shape node. */
hk_value *hki_shape_value(hk_graph *g, hk_value *x);
/** Reshapes v to the shape of x; an unknown dimension of x, if it is the only one, is left to Reshape. */
hk_value *hki_reshape_like(hk_graph *g, hk_value *v, hk_value *x);
/** Zeros of the type and shape of x. */
hk_value *hki_zeros_like(hk_graph *g, hk_value *x);

#endif
