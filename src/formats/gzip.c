/* gzip streams through zlib, several members in a row included. The checksum is verified by zlib at each member's end.
 */
#include "formats/gzip.h"

#include <string.h>

bool hki_gzip_is(const unsigned char *data, size_t size)
{
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

#ifdef HALKA_ZLIB
#include <zlib.h>

struct hki_gzip {
    z_stream stream;
    const unsigned char *end;
    const char *name;
    bool finished;
};

static void *zlib_alloc(void *opaque, unsigned count, unsigned size)
{
    (void)opaque;
    return hki_alloc_array(count, size);
}

static void zlib_free(void *opaque, void *block)
{
    (void)opaque;
    hki_free(block);
}

hk_status hki_gzip_open(hki_gzip **out, const unsigned char *data, size_t size, const char *name)
{
    *out = NULL;
    hki_gzip *gzip = hki_alloc_array(1, sizeof *gzip);
    if (!gzip)
        return hki_out_of_memory();
    gzip->stream.zalloc = zlib_alloc;
    gzip->stream.zfree = zlib_free;
    gzip->stream.next_in = (unsigned char *)data; /* zlib only reads it */
    gzip->end = data + size;
    gzip->name = name;
    if (inflateInit2(&gzip->stream, 16 + MAX_WBITS) != Z_OK) {
        hki_free(gzip);
        return hki_out_of_memory();
    }
    *out = gzip;
    return NULL;
}

/* Hands zlib the next piece of input; its counters have 32 bits. */
static void feed(hki_gzip *gzip)
{
    size_t left = (size_t)(gzip->end - gzip->stream.next_in), most = (size_t)1 << 30;
    gzip->stream.avail_in = (unsigned)(left < most ? left : most);
}

/* Behind a member's end: begins the next member, or finishes. */
static hk_status next_member(hki_gzip *gzip)
{
    size_t left = (size_t)(gzip->end - gzip->stream.next_in);
    if (!left) {
        gzip->finished = true;
        return NULL;
    }
    if (!hki_gzip_is(gzip->stream.next_in, left))
        return HK_ERR(HK_INVALID_FILE, "%s: expected nothing behind the gzip data, found %zu bytes", gzip->name, left);
    inflateReset(&gzip->stream);
    return NULL;
}

hk_status hki_gzip_read(hki_gzip *gzip, void *to, size_t size, size_t *out_got)
{
    size_t got = 0;
    *out_got = 0;
    while (got < size && !gzip->finished) {
        size_t most = size - got < (size_t)1 << 30 ? size - got : (size_t)1 << 30;
        gzip->stream.next_out = (unsigned char *)to + got;
        gzip->stream.avail_out = (unsigned)most;
        feed(gzip);
        int result = inflate(&gzip->stream, Z_NO_FLUSH);
        got += most - gzip->stream.avail_out;
        if (result == Z_STREAM_END)
            HK_TRY(next_member(gzip));
        else if (result == Z_MEM_ERROR)
            return hki_out_of_memory();
        else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && gzip->stream.avail_out && gzip->stream.next_in == gzip->end))
            return HK_ERR(HK_INVALID_FILE, "%s: expected more compressed data, found the end of the file (truncated)",
                          gzip->name);
        else if (result != Z_OK)
            return HK_ERR(HK_INVALID_FILE, "%s: expected valid gzip data, found %s", gzip->name,
                          gzip->stream.msg ? gzip->stream.msg : "damage");
    }
    *out_got = got;
    return NULL;
}

void hki_gzip_close(hki_gzip *gzip)
{
    if (!gzip)
        return;
    inflateEnd(&gzip->stream);
    hki_free(gzip);
}

#else

hk_status hki_gzip_open(hki_gzip **out, const unsigned char *data, size_t size, const char *name)
{
    (void)data;
    (void)size;
    *out = NULL;
    return HK_ERR(HK_UNSUPPORTED, "%s: reading gzip files needs zlib, which this build has not (Debian: zlib1g-dev)",
                  name);
}

hk_status hki_gzip_read(hki_gzip *gzip, void *to, size_t size, size_t *out_got)
{
    (void)gzip;
    (void)to;
    (void)size;
    *out_got = 0;
    return HK_ERR(HK_UNSUPPORTED, "reading gzip files needs zlib (Debian: zlib1g-dev)");
}

void hki_gzip_close(hki_gzip *gzip)
{
    (void)gzip;
}

#endif
