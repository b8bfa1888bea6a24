/* Inside the ONNX writer: messages of parts of a graph. */
#ifndef HKI_FORMATS_ONNX_WRITE_H
#define HKI_FORMATS_ONNX_WRITE_H

#include "formats/onnx_names.h"
#include "formats/protobuf.h"
#include "graph/op.h"
#include "halka/model.h"

/** Where raw data starts in the file, so that a reader may map it: a multiple of this. */
#define HKI_ONNX_ALIGNMENT 64
/** The opset declared even if an older one would do: what runtimes of the last years all read. */
#define HKI_ONNX_OPSET_LEAST 17
/** Offsets in external data files are multiples of a page, as ONNX asks. */
#define HKI_ONNX_PAGE 4096

typedef struct hki_onnx_writer {
    hki_pb_writer message; /* the graph, without key and length */
    const hk_model_save_options *options;
    hki_arena *arena;
    const char **names;        /* per value index: the name in the file */
    size_t external_threshold; /* 0: nothing is external */
    const char *external_name;
    hki_writer *external; /* the data file; NULL: none */
    int opset;            /* smallest for all nodes so far */
    hki_onnx_names domains; /* domain -> version, other than "" */
} hki_onnx_writer;

/** Writes a TensorProto as `field`; `name` may be NULL. If it may be external and is large enough, its bytes go to the
 * data file. */
void hki_onnx_put_tensor(hki_onnx_writer *w, uint32_t field, const char *name, const hk_tensor *tensor,
                         bool may_be_external);
/** Writes the fields of a TensorProto (no key, no length), the bytes as a reference. */
void hki_onnx_put_tensor_fields(hki_pb_writer *message, const char *name, const hk_tensor *tensor);
/** Writes a TypeProto within a ValueInfoProto as `field`. */
void hki_onnx_put_value(hki_pb_writer *message, uint32_t field, const char *name, const hk_graph *graph,
                        const hki_type *type);
/** Writes the fields of a GraphProto. */
hk_status hki_onnx_put_graph(hki_onnx_writer *w, const hk_graph *graph) HK_MUST_USE;

#endif
