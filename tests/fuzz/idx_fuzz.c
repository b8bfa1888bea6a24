/* Any bytes as an IDX file, plain or gzip: a tensor or a status. */
#include "formats/idx.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_tensor *tensor;
    hk_status status = hki_idx_parse(&tensor, data, size, "fuzz.idx");
    hk_tensor_free(tensor);
    hk_status_free(status);
    return 0;
}
