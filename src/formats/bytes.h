/* Bytes of elements: big- and little-endian numbers in file headers, and turning element bytes around. */
#ifndef HKI_FORMATS_BYTES_H
#define HKI_FORMATS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "halka/tensor.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HKI_HOST_BIG true
#else
#define HKI_HOST_BIG false
#endif

static inline uint32_t hki_read_big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t hki_read_little32(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint64_t hki_read_little64(const unsigned char *p)
{
    return (uint64_t)hki_read_little32(p + 4) << 32 | hki_read_little32(p);
}

/** Turns around the bytes of `count` elements in place; complex numbers by half. */
static inline void hki_swap_bytes(void *data, hk_dtype dtype, int64_t count)
{
    size_t size = hk_dtype_size(dtype);
    if (dtype == HK_COMPLEX64 || dtype == HK_COMPLEX128) {
        size /= 2;
        count *= 2;
    }
    unsigned char *p = data;
    if (size < 2)
        return;
    for (int64_t i = 0; i < count; i++, p += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

#endif
