/* Model files: ONNX in, ONNX out.
 *
 *     hk_graph *graph;
 *     hk_status s = hk_model_load(&graph, "resnet.onnx");     // any opset; external data beside it
 *     ...
 *     s = hk_model_save(graph, "resnet.onnx", NULL);          // appears under its name only when complete
 *
 * What is read and written, and what is refused, stands in docs/onnx.md. */
#ifndef HALKA_MODEL_H
#define HALKA_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "halka/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Loads an ONNX model. The file is mapped and its weights are shared with the map where they are aligned, so it must
 * not be changed in place (replacing it by rename is fine) while the graph or a copy of it lives. Older opsets are
 * upgraded. Caller frees with hk_graph_free. HK_NOT_FOUND, HK_IO; HK_INVALID_FILE (damaged, or breaks a rule of ONNX:
 * the message names file, node, value); HK_UNSUPPORTED (names operators or types that halka has not); HK_INVALID_SHAPE
 * and HK_INVALID_TYPE from inference. */
HK_API hk_status hk_model_load(hk_graph **out, const char *path) HK_MUST_USE;
/** As hk_model_load, from `size` bytes, which are copied. External data is looked for in `directory`; NULL refuses it.
 */
HK_API hk_status hk_model_load_memory(hk_graph **out, const void *data, size_t size, const char *directory) HK_MUST_USE;

/** How to save; zero bytes mean the default. */
typedef struct hk_model_save_options {
    int opset;                 /* opset version to declare; 0: the smallest that covers all nodes, at least 17 */
    size_t external_threshold; /* weights of at least so many bytes go to a second file; 0: none, unless the model
                                  exceeds 2 GB (then 1024) */
    const char *external_name; /* name of that file, without directory; NULL: the model's name with ".data" added */
    bool keep_halka_nodes;     /* write nodes of domain "halka" instead of refusing; no other runtime knows them */
} hk_model_save_options;

/** Saves a graph as an ONNX model; the same graph gives the same bytes. options may be NULL. Written beside `path` and
 * renamed. With external data two files are replaced, the data first. HK_UNSUPPORTED names a node that cannot be
 * expressed in the opset, or of domain "halka". */
HK_API hk_status hk_model_save(const hk_graph *graph, const char *path,
                               const hk_model_save_options *options) HK_MUST_USE;

/** Loads an ONNX TensorProto file (.pb). Caller frees. */
HK_API hk_status hk_tensor_load_pb(hk_tensor **out, const char *path) HK_MUST_USE;
/** As hk_tensor_load_pb from `size` bytes, which are copied. */
HK_API hk_status hk_tensor_load_pb_memory(hk_tensor **out, const void *data, size_t size) HK_MUST_USE;
/** Saves a tensor as an ONNX TensorProto file; name may be NULL. */
HK_API hk_status hk_tensor_save_pb(const hk_tensor *tensor, const char *name, const char *path) HK_MUST_USE;

/** Writes a graph as text, one line per input, initializer, node and output; for people and tests. Free with
 * hk_text_free. */
HK_API hk_status hk_graph_text(char **out, const hk_graph *graph) HK_MUST_USE;
HK_API void hk_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
