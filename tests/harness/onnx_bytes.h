/* Makes bytes of ONNX models for tests, message by message, right or wrong. */
#ifndef TESTS_HARNESS_ONNX_BYTES_H
#define TESTS_HARNESS_ONNX_BYTES_H

#include <string.h>

#include "formats/protobuf.h"
#include "halka/model.h"

/** Adds a ValueInfoProto (field 11 input, 12 output, 13 value_info) of a tensor type. A dim of -1 has neither value nor
 * name. */
static inline void put_info(hki_pb_writer *w, uint32_t field, const char *name, int dtype, int rank,
                            const int64_t *dims)
{
    hki_pb_mark value = hki_pb_begin(w, field);
    hki_pb_put_text(w, 1, name);
    hki_pb_mark type = hki_pb_begin(w, 2), tensor = hki_pb_begin(w, 1);
    hki_pb_put_int(w, 1, dtype);
    if (rank >= 0) {
        hki_pb_mark shape = hki_pb_begin(w, 2);
        for (int i = 0; i < rank; i++) {
            hki_pb_mark dim = hki_pb_begin(w, 1);
            if (dims[i] >= 0)
                hki_pb_put_int(w, 1, dims[i]);
            hki_pb_end(w, dim);
        }
        hki_pb_end(w, shape);
    }
    hki_pb_end(w, tensor);
    hki_pb_end(w, type);
    hki_pb_end(w, value);
}

/** Adds the fields of a TensorProto with raw data. */
static inline void put_raw_tensor(hki_pb_writer *w, const char *name, int dtype, int rank, const int64_t *dims,
                                  const void *data, size_t size)
{
    for (int i = 0; i < rank; i++)
        hki_pb_put_int(w, 1, dims[i]);
    hki_pb_put_int(w, 2, dtype);
    hki_pb_put_text(w, 8, name);
    if (data)
        hki_pb_put_bytes(w, 9, data, size);
}

/** Adds an initializer (field 5 of a graph). */
static inline void put_initializer(hki_pb_writer *w, const char *name, int dtype, int rank, const int64_t *dims,
                                   const void *data, size_t size)
{
    hki_pb_mark mark = hki_pb_begin(w, 5);
    put_raw_tensor(w, name, dtype, rank, dims, data, size);
    hki_pb_end(w, mark);
}

/** Begins a node; names are separated by commas, an empty one is absent ("a,,b"). NULL: none. End it with hki_pb_end.
 */
static inline hki_pb_mark begin_node(hki_pb_writer *w, uint32_t field, const char *name, const char *op,
                                     const char *inputs, const char *outputs)
{
    hki_pb_mark mark = hki_pb_begin(w, field);
    const char *lists[2] = {inputs, outputs};
    for (uint32_t k = 0; k < 2; k++)
        for (const char *at = lists[k]; at;) {
            size_t length = strcspn(at, ",");
            hki_pb_put_bytes(w, k + 1, at, length);
            at = at[length] ? at + length + 1 : NULL;
        }
    hki_pb_put_text(w, 3, name);
    hki_pb_put_text(w, 4, op);
    return mark;
}

static inline void put_node(hki_pb_writer *w, const char *name, const char *op, const char *inputs, const char *outputs)
{
    hki_pb_end(w, begin_node(w, 1, name, op, inputs, outputs));
}

/** Adds an attribute of integers (field 5 of a node); type 2 is one, 7 a list. */
static inline void put_ints(hki_pb_writer *w, const char *name, int type, int count, const int64_t *values)
{
    hki_pb_mark mark = hki_pb_begin(w, 5);
    hki_pb_put_text(w, 1, name);
    for (int i = 0; i < count; i++)
        hki_pb_put_int(w, type == 2 ? 3 : 8, values[i]);
    hki_pb_put_int(w, 20, type);
    hki_pb_end(w, mark);
}

static inline void put_opset(hki_pb_writer *w, uint32_t field, const char *domain, int version)
{
    hki_pb_mark mark = hki_pb_begin(w, field);
    hki_pb_put_text(w, 1, domain);
    hki_pb_put_int(w, 2, version);
    hki_pb_end(w, mark);
}

/** Begins a model of an opset with IR version 8, and its graph. */
static inline hki_pb_mark begin_model(hki_pb_writer *w, int opset)
{
    hki_pb_put_int(w, 1, 8);
    put_opset(w, 8, "", opset);
    hki_pb_mark graph = hki_pb_begin(w, 7);
    hki_pb_put_text(w, 2, "test");
    return graph;
}

/** Ends the graph, loads the model and lets go of the bytes. */
static inline hk_status end_model(hk_graph **out, hki_pb_writer *w, hki_pb_mark graph)
{
    hki_pb_end(w, graph);
    hk_status status = hk_model_load_memory(out, w->data, w->size, NULL);
    hki_pb_free(w);
    return status;
}

#endif
