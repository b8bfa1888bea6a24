/* Pictures: JPEG (feature HALKA_JPEG) and PNG (HALKA_PNG) to uint8 pixels H x W x C, and resizing.
 *
 * Transparency is dropped, 16 bits become 8, palettes become RGB. A build without the library says which Debian package
 * to install. */
#ifndef HKI_FORMATS_IMAGE_H
#define HKI_FORMATS_IMAGE_H

#include "tensor/tensor.h"

#define HKI_IMAGE_PIXELS ((int64_t)1 << 28) /* larger pictures are refused */

/** Memory that is kept from picture to picture. Start with {0}; free data with hki_free. */
typedef struct hki_scratch {
    void *data;
    size_t size;
} hki_scratch;
/** Makes room for `size` bytes; what was there is lost. */
hk_status hki_scratch_reserve(hki_scratch *scratch, size_t size) HK_MUST_USE;

/** True if the bytes begin as a JPEG or PNG file does. */
bool hki_image_is(const unsigned char *data, size_t size);
/** Reads height, width and channels (1 or 3) from the header. */
hk_status hki_image_size(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name) HK_MUST_USE;
/** Decodes into `out`, uint8 H x W x C for dims (H, W, C), C 1 or 3: converted and resized where the picture differs.
 */
hk_status hki_image_decode(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size,
                           const char *name, hki_scratch *scratch) HK_MUST_USE;
/** Loads a picture as it is: uint8 (H, W, C). `name` is for messages. */
hk_status hki_image_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name) HK_MUST_USE;

/** Resizes uint8 H x W x C pixels with a triangle filter that widens when it shrinks (no aliasing), in fixed point: the
 * same bytes on every machine. `to` may not overlap `from`. */
hk_status hki_image_resize(uint8_t *to, int64_t to_height, int64_t to_width, const uint8_t *from, int64_t height,
                           int64_t width, int64_t channels, hki_scratch *scratch) HK_MUST_USE;

#endif
