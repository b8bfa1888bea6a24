/* Any bytes as a JPEG or PNG picture: pixels, as they are and resized, or a status. Large pictures are left out: they
 * are slow without being wrong. */
#include "formats/image.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t dims[3];
    hk_status status = hki_image_size(dims, data, size, "fuzz.png");
    if (!status && dims[0] * dims[1] <= 1 << 16) {
        hk_tensor *tensor;
        uint8_t small[5 * 4 * 3];
        hki_scratch scratch = {0};
        hk_status_free(hki_image_parse(&tensor, data, size, "fuzz.png"));
        hk_tensor_free(tensor);
        hk_status_free(hki_image_decode(small, (int64_t[]){5, 4, 3}, data, size, "fuzz.png", &scratch));
        hk_status_free(hki_image_decode(small, (int64_t[]){4, 5, 1}, data, size, "fuzz.png", &scratch));
        hki_free(scratch.data);
    }
    hk_status_free(status);
    return 0;
}
