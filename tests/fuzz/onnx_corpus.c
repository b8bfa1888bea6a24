/* Writes the corpus of the ONNX fuzz targets: onnx_corpus FOLDER makes FOLDER/onnx_model/... and FOLDER/onnx_tensor/...
 */
#include <stdio.h>

#include "onnx_samples.h"

static hk_status write_samples(const char *folder, const char *kind, const onnx_sample *samples, const char *extension)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, kind);
    hk_status status = hki_directory_create(path);
    for (; samples->name && !status; samples++) {
        hki_pb_writer w = {0};
        hki_writer *file = NULL;
        samples->make(&w);
        snprintf(path, sizeof path, "%s/%s/%s.%s", folder, kind, samples->name, extension);
        status = hki_pb_status(&w);
        if (!status)
            status = hki_writer_open(&file, path);
        if (!status) {
            hki_pb_flush(&w, file);
            status = hki_writer_commit(file);
        }
        hki_pb_free(&w);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    hk_status status = write_samples(argv[1], "onnx_model", onnx_models, "onnx");
    if (!status)
        status = write_samples(argv[1], "onnx_tensor", onnx_tensors, "pb");
    if (status)
        printf("%s\n", hk_status_message(status));
    int code = hk_code_exit(hk_status_code(status));
    hk_status_free(status);
    return code;
}
