/* Any bytes as an ONNX tensor file: a tensor or a status. All its bytes are read. */
#include "fuzz.h"
#include "halka/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_tensor *tensor;
    hk_status status = hk_tensor_load_pb_memory(&tensor, data, size);
    if (!status) {
        const uint8_t *bytes = hk_tensor_const_data(tensor);
        volatile uint8_t sum = 0;
        for (size_t i = 0; i < hk_tensor_size(tensor); i++)
            sum = (uint8_t)(sum + bytes[i]);
        hk_tensor_free(tensor);
    }
    hk_status_free(status);
    return 0;
}
