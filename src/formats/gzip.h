/* gzip: a stream of bytes out of compressed memory. Needs zlib (feature HALKA_ZLIB); without it, opening says so. */
#ifndef HKI_FORMATS_GZIP_H
#define HKI_FORMATS_GZIP_H

#include "base/memory.h"

#define HKI_GZIP_RATIO 1032 /* deflate cannot expand more than this; guards against headers that promise too much */

/** True if the bytes begin as a gzip file does. */
bool hki_gzip_is(const unsigned char *data, size_t size);

typedef struct hki_gzip hki_gzip;

/** Opens compressed bytes, which must outlive the stream. `name` is for messages and must too. HK_UNSUPPORTED without
 * zlib. */
hk_status hki_gzip_open(hki_gzip **out, const unsigned char *data, size_t size, const char *name) HK_MUST_USE;
/** Reads up to `size` bytes; *out_got is less only at the end. HK_INVALID_FILE if the stream is damaged or truncated.
 */
hk_status hki_gzip_read(hki_gzip *gzip, void *to, size_t size, size_t *out_got) HK_MUST_USE;
void hki_gzip_close(hki_gzip *gzip);

#endif
