/* What image.c asks of one picture format. */
#ifndef HKI_FORMATS_IMAGE_CODEC_H
#define HKI_FORMATS_IMAGE_CODEC_H

#include "base/memory.h"

typedef struct hki_image_codec {
    /** Reads height, width and stored channels (1 or 3). */
    hk_status (*size)(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name);
    /** Decodes to `channels` (1 or 3) and exactly the height and width that size() gave. */
    hk_status (*decode)(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size, const char *name);
} hki_image_codec;

extern const hki_image_codec hki_jpeg_codec, hki_png_codec;

#endif
