/* Pictures inside the report: PNG with stored (not compressed) deflate blocks, as a data: URI. */
#ifndef HKI_TRAIN_REPORT_PICTURE_H
#define HKI_TRAIN_REPORT_PICTURE_H

#include "base/text.h"

/** Appends "data:image/png;base64,..." of 8-bit pixels (height x width x channels; channels 1 or 3). Pictures larger
 * than 128 pixels are shrunk by a whole factor. HK_INVALID_SHAPE if the sizes are not of a picture. */
hk_status hki_picture_uri(hki_text *out, const uint8_t *pixels, int64_t height, int64_t width,
                          int64_t channels) HK_MUST_USE;
/** Appends bytes in base64 (RFC 4648, with padding). */
void hki_base64(hki_text *out, const uint8_t *bytes, size_t size);

#endif
