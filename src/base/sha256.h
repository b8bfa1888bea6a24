/* SHA-256 (FIPS 180-4), for digests of weights that anybody can check. */
#ifndef HKI_BASE_SHA256_H
#define HKI_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct hki_sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
} hki_sha256;

/** Starts a digest. */
void hki_sha256_start(hki_sha256 *sha);
/** Adds bytes. */
void hki_sha256_add(hki_sha256 *sha, const void *data, size_t size);
/** Ends the digest and writes it as 64 hexadecimal digits and NUL. */
void hki_sha256_finish(char out[65], hki_sha256 *sha);

#endif
