/* Pictures: which format it is, checks of the size, conversion to the wanted size and channels. */
#include "formats/image.h"

#include <inttypes.h>
#include <string.h>

#include "formats/image_codec.h"

hk_status hki_scratch_reserve(hki_scratch *scratch, size_t size)
{
    if (size <= scratch->size)
        return NULL;
    void *data = hki_alloc(size);
    if (!data)
        return hki_out_of_memory();
    hki_free(scratch->data);
    scratch->data = data;
    scratch->size = size;
    return NULL;
}

/* Returns the codec of the bytes; NULL if they are no picture. */
static const hki_image_codec *find_codec(const unsigned char *data, size_t size)
{
    if (size >= 3 && !memcmp(data, "\xff\xd8\xff", 3))
        return &hki_jpeg_codec;
    if (size >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8))
        return &hki_png_codec;
    return NULL;
}

bool hki_image_is(const unsigned char *data, size_t size)
{
    return find_codec(data, size) != NULL;
}

hk_status hki_image_size(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name)
{
    const hki_image_codec *codec = find_codec(data, size);
    int64_t dims[3];
    if (!codec)
        return HK_ERR(HK_INVALID_FILE, "%s: expected a JPEG or PNG picture, found other bytes", name);
    HK_TRY(codec->size(dims, data, size, name));
    if (dims[0] < 1 || dims[1] < 1 || dims[0] > HKI_IMAGE_PIXELS / dims[1])
        return HK_ERR(HK_INVALID_FILE,
                      "%s: expected a picture of 1 to %" PRId64 " pixels, found %" PRId64 " x %" PRId64, name,
                      HKI_IMAGE_PIXELS, dims[0], dims[1]);
    memcpy(out_dims, dims, sizeof dims);
    return NULL;
}

hk_status hki_image_decode(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size,
                           const char *name, hki_scratch *scratch)
{
    int64_t stored[3];
    HK_TRY(hki_image_size(stored, data, size, name));
    const hki_image_codec *codec = find_codec(data, size);
    if (stored[0] == dims[0] && stored[1] == dims[1])
        return codec->decode(out, dims, data, size, name);
    /* one block: the picture as stored, then what resizing needs */
    int64_t decoded[3] = {stored[0], stored[1], dims[2]};
    size_t bytes = (size_t)(decoded[0] * decoded[1] * decoded[2]);
    uint8_t *pixels = hki_alloc(bytes);
    if (!pixels)
        return hki_out_of_memory();
    hk_status status = codec->decode(pixels, decoded, data, size, name);
    if (!status)
        status = hki_image_resize(out, dims[0], dims[1], pixels, decoded[0], decoded[1], decoded[2], scratch);
    hki_free(pixels);
    return status;
}

hk_status hki_image_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name)
{
    *out = NULL;
    int64_t dims[3];
    HK_TRY(hki_image_size(dims, data, size, name));
    hk_tensor *tensor;
    HK_TRY(hk_tensor_create(&tensor, HK_UINT8, 3, dims));
    hki_scratch scratch = {0};
    hk_status status = hki_image_decode(tensor->data, dims, data, size, name, &scratch);
    hki_free(scratch.data);
    if (status)
        hk_tensor_free(tensor);
    else
        *out = tensor;
    return status;
}
