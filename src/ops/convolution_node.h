/* What Conv, ConvTranspose and their gradients share: the shape of a convolution from a node's attributes, and the
 * three passes over tensors of either layout. float32 runs on the kernels, float64 on plain loops in the same order of
 * summation. */
#ifndef HKI_OPS_CONVOLUTION_NODE_H
#define HKI_OPS_CONVOLUTION_NODE_H

#include "graph/op.h"

/** Reads the convolution of x with w (ONNX Conv): attributes auto_pad, dilations, group, kernel_shape, pads, strides.
 * Dims may be unknown; then what follows from them is HKI_DIM_UNKNOWN. HK_INVALID_SHAPE, HK_INVALID_ARGUMENT,
 * HK_UNSUPPORTED (more than 3 spatial dims). */
hk_status hki_convolution_read(hkk_convolution *out, const hk_node *node, int rank, const int64_t *x_dims,
                               const int64_t *w_dims) HK_MUST_USE;
/** Reads a transposed convolution of x with w (ONNX ConvTranspose) as the convolution whose backward pass it is: `out`
 * leads from the transposed convolution's result (in, C) to x (out, M). */
hk_status hki_convolution_read_transposed(hkk_convolution *out, const hk_node *node, int rank, const int64_t *x_dims,
                                          const int64_t *w_dims) HK_MUST_USE;

/** to = forward pass or backward data of `from` under weights w; `bias` (NULL: none) is added per channel of `to`. */
typedef struct hki_convolution_pass {
    const hki_run *run;
    const hkk_convolution *shape;
    hkk_convolution_direction direction;
    const hk_tensor *from, *w, *bias;
    const hk_tensor *to;
    const void *packed; /* w packed before, or NULL */
} hki_convolution_pass;

size_t hki_convolution_scratch(const hki_convolution_pass *pass);
void hki_convolution_run(const hki_convolution_pass *pass, void *scratch);

/** dw = backward weights of x and dy. */
typedef struct hki_convolution_weights {
    const hki_run *run;
    const hkk_convolution *shape;
    const hk_tensor *x, *dy;
    const hk_tensor *dw;
} hki_convolution_weights;

size_t hki_convolution_weights_scratch(const hki_convolution_weights *pass);
void hki_convolution_weights_run(const hki_convolution_weights *pass, void *scratch);

/** Packed form of constant float32 weights; 0 for other types. */
size_t hki_convolution_packed_size(const hkk_convolution *shape, hkk_convolution_direction direction, hk_dtype dtype);
void hki_convolution_pack(void *to, const hki_run *run, const hkk_convolution *shape,
                          hkk_convolution_direction direction, const void *w);

/** Infers a private backward operator: in[0] is dy, in[x] and in[w] say what convolution (or transposed one) it belongs
 * to, the result is like in[2]. dy must have the shape of that convolution's result. */
hk_status hki_convolution_infer_grad(hki_infer *c, int x, int w, bool transposed) HK_MUST_USE;

#endif
