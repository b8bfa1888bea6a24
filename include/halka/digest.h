/* Digest: one short text that tells whether two sets of weights are the same bytes.
 *
 * It is the SHA-256 over all tensors in the order of their names (bytewise): the name, the type ("float32"), the dims
 * ("64,3,7,7"), each ended by a zero byte, then the elements, row-major and little-endian. How a file stores them does
 * not matter. */
#ifndef HALKA_DIGEST_H
#define HALKA_DIGEST_H

#include "halka/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_digest {
    char text[65];   /* 64 hexadecimal digits */
    int64_t tensors; /* how many went in */
    size_t bytes;    /* of their elements */
} hk_digest;

/** Digests the initializers of a graph. HK_UNSUPPORTED: strings among them. */
HK_API hk_status hk_digest_graph(hk_digest *out, const hk_graph *graph) HK_MUST_USE;
/** Digests the weights in a model (.onnx) or the tensors in a checkpoint (.safetensors). */
HK_API hk_status hk_digest_file(hk_digest *out, const char *path) HK_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
