/* Any bytes as a safetensors file: tensors or a status. All their bytes are read. */
#include "formats/safetensors.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hki_safetensors *file;
    hk_status status = hki_safetensors_parse(&file, data, size, "fuzz.safetensors");
    for (int64_t i = 0; !status && i < hki_safetensors_count(file); i++) {
        const hk_tensor *tensor = hki_safetensors_at(file, i);
        volatile uint8_t sum = (uint8_t)(hki_safetensors_find(file, hki_safetensors_name(file, i)) == tensor);
        for (size_t k = 0; k < hk_tensor_size(tensor); k++)
            sum = (uint8_t)(sum + ((const uint8_t *)tensor->data)[k]);
    }
    hki_safetensors_close(file);
    hk_status_free(status);
    return 0;
}
