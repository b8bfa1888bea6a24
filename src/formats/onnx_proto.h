/* The messages of an ONNX file as they stand there: structs made from the bytes, before anything is given a meaning.
 *
 * Everything lives in one arena, except the numbers of tensors: those stay in the file, which must outlive the structs.
 * Field numbers are those of onnx.proto3 (onnx/onnx, version 1.22). Documentation strings are skipped. */
#ifndef HKI_FORMATS_ONNX_PROTO_H
#define HKI_FORMATS_ONNX_PROTO_H

#include "formats/protobuf.h"
#include "tensor/tensor.h"

/** Deepest nesting of graphs in attributes, and of function calls. */
#define HKI_ONNX_MAX_DEPTH 32

typedef struct hki_onnx_graph hki_onnx_graph;

/** TensorProto. The numbers are found by reading `message` again (onnx_tensor.c). */
typedef struct hki_onnx_tensor {
    const char *name;
    int64_t data_type;
    int64_t *dims;
    size_t rank;
    hki_span message, raw;
    bool has_raw, has_segment, external;
    const char *location; /* external data: NULL if not given */
    uint64_t offset, length;
    bool has_length;
    hk_tensor *made; /* once converted: owned by whoever converts (onnx_tensor.h) */
} hki_onnx_tensor;

/** SparseTensorProto: `values` at `indices` of a tensor of `dims`. */
typedef struct hki_onnx_sparse {
    hki_onnx_tensor values, indices;
    int64_t *dims;
    size_t rank;
    hk_tensor *made;
} hki_onnx_sparse;

typedef struct hki_onnx_dim {
    int64_t value;      /* -1: not given */
    const char *symbol; /* NULL: none */
} hki_onnx_dim;

/** ValueInfoProto with its TypeProto. */
typedef struct hki_onnx_value {
    const char *name;
    const char *kind;  /* "tensor", "sequence", "map", "optional", "sparse tensor"; NULL: no type given */
    int64_t data_type; /* of a tensor */
    bool has_shape;
    hki_onnx_dim *dims;
    size_t rank;
} hki_onnx_value;

/** AttributeProto. `type` is AttributeProto.AttributeType (as hk_attribute_kind, and 9 tensors, 10 graphs, 11 sparse
 * tensor, ...). */
typedef struct hki_onnx_attribute {
    const char *name, *reference; /* ref_attr_name: NULL if none */
    int64_t type;
    float f;
    int64_t i;
    const char *s;
    hki_onnx_tensor *tensor;
    hki_onnx_sparse *sparse;
    hki_onnx_graph *graph;
    float *floats;
    int64_t *ints;
    const char **strings;
    size_t count; /* of the list that `type` names */
    size_t float_count, int_count, string_count;
} hki_onnx_attribute;

typedef struct hki_onnx_node {
    const char *name, *op, *domain, *overload; /* "" if not given; domain "ai.onnx" reads as "" */
    const char **inputs, **outputs;
    hki_onnx_attribute *attributes;
    size_t input_count, output_count, attribute_count;
} hki_onnx_node;

struct hki_onnx_graph {
    const char *name;
    hki_onnx_node *nodes;
    hki_onnx_tensor *initializers;
    hki_onnx_sparse *sparse;
    hki_onnx_value *inputs, *outputs, *values;
    size_t node_count, initializer_count, sparse_count, input_count, output_count, value_count;
};

typedef struct hki_onnx_import {
    const char *domain;
    int64_t version;
} hki_onnx_import;

/** FunctionProto. */
typedef struct hki_onnx_function {
    const char *name, *domain, *overload;
    const char **inputs, **outputs;
    hki_onnx_node *nodes;
    hki_onnx_attribute *defaults; /* attribute_proto */
    hki_onnx_import *imports;
    size_t input_count, output_count, node_count, default_count, import_count;
    bool active; /* being inlined: a second time means it calls itself */
} hki_onnx_function;

typedef struct hki_onnx_metadata {
    const char *key, *value;
} hki_onnx_metadata;

typedef struct hki_onnx_model {
    int64_t ir_version;
    hki_onnx_graph *graph;
    hki_onnx_import *imports;
    hki_onnx_function *functions;
    hki_onnx_metadata *metadata;
    size_t import_count, function_count, metadata_count;
} hki_onnx_model;

/** Parses a ModelProto into structs in the arena. HK_INVALID_FILE names the message and field. */
hk_status hki_onnx_parse_model(hki_onnx_model *out, hki_arena *arena, hki_span file) HK_MUST_USE;
/** Parses a TensorProto; `file` is where offsets in errors count from. */
hk_status hki_onnx_parse_tensor(hki_onnx_tensor *out, hki_arena *arena, hki_span message,
                                const unsigned char *file) HK_MUST_USE;
/** Parses a NodeProto (nested graphs included, down to HKI_ONNX_MAX_DEPTH below `depth`). */
hk_status hki_onnx_parse_node(hki_onnx_node *out, hki_arena *arena, hki_span message, const unsigned char *file,
                              int depth) HK_MUST_USE;
hk_status hki_onnx_parse_attribute(hki_onnx_attribute *out, hki_arena *arena, hki_span message,
                                   const unsigned char *file, int depth) HK_MUST_USE;
/** Parses a GraphProto. */
hk_status hki_onnx_parse_graph(hki_onnx_graph *out, hki_arena *arena, hki_span message, const unsigned char *file,
                               int depth) HK_MUST_USE;
hk_status hki_onnx_parse_sparse(hki_onnx_sparse *out, hki_arena *arena, hki_span message,
                                const unsigned char *file) HK_MUST_USE;

/** What every parsing function works with: the message, where it came from, where results go. */
typedef struct hki_onnx_parser {
    hki_pb_reader reader;
    hki_pb_field field; /* the current one */
    hki_arena *arena;
    const char *message; /* name for errors */
    int depth;
} hki_onnx_parser;

hki_onnx_parser hki_onnx_parser_make(hki_arena *arena, hki_span message, const unsigned char *file, const char *name,
                                     int depth);
/** Reads the next field; sets *more = false at the end. */
hk_status hki_onnx_next(hki_onnx_parser *p, bool *more) HK_MUST_USE;
/** The current field as text (never NULL), integer, float, or an error that names message and field. */
hk_status hki_onnx_text(const char **out, const hki_onnx_parser *p, const char *field) HK_MUST_USE;
hk_status hki_onnx_int(int64_t *out, const hki_onnx_parser *p, const char *field) HK_MUST_USE;
hk_status hki_onnx_float(float *out, const hki_onnx_parser *p, const char *field) HK_MUST_USE;
hk_status hki_onnx_message(hki_span *out, const hki_onnx_parser *p, const char *field) HK_MUST_USE;
/** Reads all repeated integers of field `number` (packed or not) of a message. */
hk_status hki_onnx_ints(int64_t **out, size_t *out_count, hki_arena *arena, hki_span message,
                        const unsigned char *file, uint32_t number, const char *field) HK_MUST_USE;
/** An array in the arena for the fields counted: `count` elements, at least one so that it is never NULL. */
hk_status hki_onnx_array(void *out_pointer, hki_arena *arena, size_t count, size_t element_size) HK_MUST_USE;

#endif
