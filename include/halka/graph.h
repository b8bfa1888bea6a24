/* Graph: a model as ONNX sees it - nodes that apply operators to values.
 *
 *     hk_graph *g;
 *     hk_graph_create(&g, "mlp");
 *     int64_t dims[] = {hk_graph_symbol(g, "N"), 784};
 *     hk_value *x = hk_graph_input(g, "x", HK_FLOAT, 2, dims);
 *     hk_value *w = hk_graph_constant(g, "w", weight);                 // a tensor; shared, not copied
 *     hk_value *y = hk_graph_apply(g, "MatMul", HK_VALUES(x, w), HK_NO_ATTRIBUTES);
 *     y = hk_graph_apply(g, "Softmax", HK_VALUES(y), HK_ATTRIBUTES(HK_INT("axis", -1)));
 *     hk_graph_output(g, "y", y);
 *     hk_status s = hk_graph_status(g);                               // the first failure of all of the above
 *
 * Building functions return NULL after a failure and accept NULL values, so that one check at the end is enough.
 * Everything in a graph belongs to it and is freed with it. A graph must not be changed by two threads at a time. */
#ifndef HALKA_GRAPH_H
#define HALKA_GRAPH_H

#include <stdbool.h>

#include "halka/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_graph hk_graph;
typedef struct hk_node hk_node;
typedef struct hk_value hk_value;

/** Kinds of attribute values, with ONNX AttributeProto numbers. */
typedef enum hk_attribute_kind {
    HK_ATTRIBUTE_FLOAT = 1,
    HK_ATTRIBUTE_INT = 2,
    HK_ATTRIBUTE_STRING = 3,
    HK_ATTRIBUTE_TENSOR = 4,
    HK_ATTRIBUTE_GRAPH = 5,
    HK_ATTRIBUTE_FLOATS = 6,
    HK_ATTRIBUTE_INTS = 7,
    HK_ATTRIBUTE_STRINGS = 8,
} hk_attribute_kind;

/** One attribute of a node: a plain struct, made with the macros below. */
typedef struct hk_attribute {
    const char *name;
    hk_attribute_kind kind;
    int64_t count; /* of the list kinds */
    union {
        float f;
        int64_t i;
        const char *s;
        hk_tensor *tensor;
        hk_graph *graph;
        const float *floats;
        const int64_t *ints;
        const char *const *strings;
    } as;
} hk_attribute;

#define HK_INT(attribute_name, value) {attribute_name, HK_ATTRIBUTE_INT, 0, {.i = (value)}}
#define HK_FLOAT32(attribute_name, value) {attribute_name, HK_ATTRIBUTE_FLOAT, 0, {.f = (value)}}
#define HK_TEXT(attribute_name, value) {attribute_name, HK_ATTRIBUTE_STRING, 0, {.s = (value)}}
#define HK_TENSOR(attribute_name, value) {attribute_name, HK_ATTRIBUTE_TENSOR, 0, {.tensor = (value)}}
#define HK_INTS(attribute_name, ...)                                                          \
    {                                                                                         \
        attribute_name, HK_ATTRIBUTE_INTS, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
        {                                                                                     \
            .ints = (int64_t[]){__VA_ARGS__}                                                  \
        }                                                                                     \
    }
#define HK_VALUES(...) (int)(sizeof((hk_value *[]){__VA_ARGS__}) / sizeof(hk_value *)), (hk_value *[]){__VA_ARGS__}
#define HK_ATTRIBUTES(...) \
    (int)(sizeof((hk_attribute[]){__VA_ARGS__}) / sizeof(hk_attribute)), (hk_attribute[]){__VA_ARGS__}
#define HK_NO_ATTRIBUTES 0, NULL

/** Creates an empty graph. Caller frees with hk_graph_free. */
HK_API hk_status hk_graph_create(hk_graph **out, const char *name) HK_MUST_USE;
/** Creates a deep copy; tensors are shared. */
HK_API hk_status hk_graph_copy(hk_graph **out, const hk_graph *graph) HK_MUST_USE;
HK_API void hk_graph_free(hk_graph *graph);
/** Returns the first failure of the building functions since the last call, and clears it; the caller owns it. */
HK_API hk_status hk_graph_status(hk_graph *graph) HK_MUST_USE;

/** Returns a code (negative) for a symbolic dimension such as "N"; equal names give equal codes. */
HK_API int64_t hk_graph_symbol(hk_graph *graph, const char *name);
/** Returns the name of a symbolic dimension, "?" for an unknown one. */
HK_API const char *hk_graph_symbol_name(const hk_graph *graph, int64_t code);

/** Adds a graph input. A dim is >= 0, -1 (unknown) or a code of hk_graph_symbol; rank -1 means unknown. */
HK_API hk_value *hk_graph_input(hk_graph *graph, const char *name, hk_dtype dtype, int rank, const int64_t *dims);
/** Adds an initializer (weight or constant). The tensor's memory is shared; the caller still frees his tensor. */
HK_API hk_value *hk_graph_constant(hk_graph *graph, const char *name, const hk_tensor *tensor);
/** Applies an ONNX operator (newest opset halka knows) and returns its first output. Inputs may be NULL where optional.
 * Types and shapes are inferred and checked at once. */
HK_API hk_value *hk_graph_apply(hk_graph *graph, const char *op, int input_count, hk_value *const *inputs,
                                int attribute_count, const hk_attribute *attributes);
/** As hk_graph_apply with all parts: domain ("" or "halka"), node name (NULL: made up), several outputs. out_outputs
 * may be NULL. */
HK_API hk_node *hk_graph_node(hk_graph *graph, const char *domain, const char *op, const char *name, int input_count,
                              hk_value *const *inputs, int attribute_count, const hk_attribute *attributes,
                              int output_count, hk_value **out_outputs);
/** Declares a value to be an output of the graph under a name. */
HK_API void hk_graph_output(hk_graph *graph, const char *name, hk_value *value);
/** Adds nodes that compute the gradient of the scalar `loss` with respect to each of `wrt`; out_gradients[i] belongs to
 * wrt[i]. A value on which the loss does not depend gets zeros. */
HK_API hk_status hk_graph_gradients(hk_value **out_gradients, hk_graph *graph, hk_value *loss, int count,
                                    hk_value *const *wrt) HK_MUST_USE;

/* Looking at a graph. All pointers are borrowed. */
HK_API const char *hk_graph_name(const hk_graph *graph);
HK_API int hk_graph_input_count(const hk_graph *graph);
HK_API hk_value *hk_graph_input_at(const hk_graph *graph, int index);
HK_API int hk_graph_output_count(const hk_graph *graph);
HK_API hk_value *hk_graph_output_at(const hk_graph *graph, int index);
/** Returns the name under which an output was declared; the value may have another. */
HK_API const char *hk_graph_output_name(const hk_graph *graph, int index);
/** Returns the initializers, in the order in which they were added. */
HK_API int hk_graph_constant_count(const hk_graph *graph);
HK_API hk_value *hk_graph_constant_at(const hk_graph *graph, int index);
HK_API int hk_graph_node_count(const hk_graph *graph);
/** Returns the first node in execution order, and the next after a node; NULL at the end. */
HK_API hk_node *hk_graph_first(const hk_graph *graph);
HK_API hk_node *hk_node_next(const hk_node *node);
HK_API const char *hk_node_name(const hk_node *node);
HK_API const char *hk_node_op(const hk_node *node);
HK_API const char *hk_node_domain(const hk_node *node);
HK_API int hk_node_input_count(const hk_node *node);
HK_API hk_value *hk_node_input(const hk_node *node, int index); /* NULL: absent */
HK_API int hk_node_output_count(const hk_node *node);
HK_API hk_value *hk_node_output(const hk_node *node, int index); /* NULL: absent */
HK_API int hk_node_attribute_count(const hk_node *node);
HK_API const hk_attribute *hk_node_attribute(const hk_node *node, int index);
HK_API const char *hk_value_name(const hk_value *value);
HK_API hk_dtype hk_value_dtype(const hk_value *value);
/** Returns the rank, -1 if unknown. */
HK_API int hk_value_rank(const hk_value *value);
/** Returns rank dims: >= 0, -1 unknown, or a symbol's code. */
HK_API const int64_t *hk_value_dims(const hk_value *value);
/** Returns the tensor of an initializer, NULL for other values. */
HK_API const hk_tensor *hk_value_tensor(const hk_value *value);
/** Finds a value by name; NULL if there is none. */
HK_API hk_value *hk_graph_find(const hk_graph *graph, const char *name);
/** Free-form text kept with the model (ONNX metadata_props), such as "halka.labels". Get returns NULL if absent. */
HK_API hk_status hk_graph_set_metadata(hk_graph *graph, const char *key, const char *value) HK_MUST_USE;
HK_API const char *hk_graph_metadata(const hk_graph *graph, const char *key);

#ifdef __cplusplus
}
#endif
#endif
