/* Any bytes as an npy file: a tensor or a status. What is read is written and read again, and must be the same. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "fuzz.h"

static void check_round_trip(const hk_tensor *tensor)
{
    hki_text text = {0};
    hk_tensor *again;
    hk_status status = hki_npy_header(&text, tensor->dtype, tensor->rank, tensor->dims);
    if (!status)
        hki_text_append(&text, tensor->data, hk_tensor_size(tensor));
    if (status || hki_npy_parse(&again, (const unsigned char *)text.data, text.length, "again.npy"))
        abort();
    if (!hki_shape_equal(tensor->rank, tensor->dims, again->rank, again->dims) || tensor->dtype != again->dtype ||
        memcmp(tensor->data, again->data, hk_tensor_size(tensor)))
        abort();
    hk_tensor_free(again);
    hki_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_tensor *tensor;
    hk_status status = hki_npy_parse(&tensor, data, size, "fuzz.npy");
    if (!status)
        check_round_trip(tensor);
    hk_tensor_free(tensor);
    hk_status_free(status);
    return 0;
}
