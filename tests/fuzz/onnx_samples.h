/* Small ONNX models and tensors that together use every part of the format halka reads. */
#ifndef TESTS_FUZZ_ONNX_SAMPLES_H
#define TESTS_FUZZ_ONNX_SAMPLES_H

#include "formats/protobuf.h"

typedef struct onnx_sample {
    const char *name;
    void (*make)(hki_pb_writer *w);
} onnx_sample;

extern const onnx_sample onnx_models[]; /* end with name NULL */
extern const onnx_sample onnx_tensors[];

#endif
