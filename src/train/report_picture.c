/* PNG (ISO/IEC 15948) without a library: zlib's stored blocks (RFC 1950, 1951), CRC-32, Adler-32, base64. */
#include "train/report_picture.h"

#include <string.h>

#define LARGEST      128
#define STORED_BLOCK 65535

void hki_base64(hki_text *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= n > 2 ? (uint32_t)bytes[i + 2] : 0;
        char text[4];
        for (size_t d = 0; d < 4; d++)
            text[d] = d <= n ? digits[group >> (18 - 6 * d) & 63] : '=';
        hki_text_append(out, text, 4);
    }
}

static void append_byte(hki_text *out, unsigned byte)
{
    char c = (char)(byte & 255);
    hki_text_append(out, &c, 1);
}

static void append_big_endian(hki_text *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        append_byte(out, value >> shift);
}

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void append_chunk(hki_text *png, const char *type, const char *data, size_t size)
{
    append_big_endian(png, (uint32_t)size);
    size_t start = png->length;
    hki_text_append(png, type, 4);
    hki_text_append(png, data, size);
    if (!png->failed)
        append_big_endian(png, crc32_of((const uint8_t *)png->data + start, png->length - start));
}

/* Lines of pixels, each after a filter byte of 0, in stored blocks. */
static void append_stored(hki_text *zlib, const hki_text *lines)
{
    uint32_t a = 1, b = 0;
    append_byte(zlib, 0x78);
    append_byte(zlib, 0x01);
    for (size_t at = 0; at < lines->length;) {
        size_t n = lines->length - at < STORED_BLOCK ? lines->length - at : STORED_BLOCK;
        append_byte(zlib, at + n == lines->length);
        append_byte(zlib, (unsigned)n);
        append_byte(zlib, (unsigned)n >> 8);
        append_byte(zlib, ~(unsigned)n);
        append_byte(zlib, ~(unsigned)n >> 8);
        hki_text_append(zlib, lines->data + at, n);
        at += n;
    }
    for (size_t i = 0; i < lines->length; i++) {
        a = (a + (uint8_t)lines->data[i]) % 65521;
        b = (b + a) % 65521;
    }
    append_big_endian(zlib, b << 16 | a);
}

/* Mean of a factor x factor block of one channel. */
static unsigned mean_of(const uint8_t *pixels, int64_t width, int64_t channels, int64_t factor)
{
    uint64_t sum = 0;
    for (int64_t y = 0; y < factor; y++)
        for (int64_t x = 0; x < factor; x++)
            sum += pixels[(y * width + x) * channels];
    uint64_t n = (uint64_t)(factor * factor);
    return (unsigned)((sum + n / 2) / n);
}

hk_status hki_picture_uri(hki_text *out, const uint8_t *pixels, int64_t height, int64_t width, int64_t channels)
{
    if (height < 1 || width < 1 || height > 1 << 20 || width > 1 << 20 || (channels != 1 && channels != 3))
        return HK_ERR(HK_INVALID_SHAPE, "expected a picture with 1 or 3 channels, found %lld x %lld x %lld",
                      (long long)height, (long long)width, (long long)channels);
    int64_t longest = height > width ? height : width, shortest = height < width ? height : width;
    int64_t factor = (longest + LARGEST - 1) / LARGEST;
    if (factor > shortest)
        factor = shortest;
    int64_t rows = height / factor, columns = width / factor;
    hki_text lines = {0}, zlib = {0}, png = {0};
    for (int64_t y = 0; y < rows; y++) {
        append_byte(&lines, 0);
        for (int64_t x = 0; x < columns; x++)
            for (int64_t c = 0; c < channels; c++)
                append_byte(&lines, mean_of(pixels + (y * width + x) * factor * channels + c, width, channels, factor));
    }
    if (!lines.failed)
        append_stored(&zlib, &lines);
    const char size[13] = {(char)(columns >> 24),
                           (char)(columns >> 16),
                           (char)(columns >> 8),
                           (char)columns,
                           (char)(rows >> 24),
                           (char)(rows >> 16),
                           (char)(rows >> 8),
                           (char)rows,
                           8,
                           channels == 3 ? 2 : 0,
                           0,
                           0,
                           0};
    hki_text_append(&png, "\x89PNG\r\n\x1a\n", 8);
    append_chunk(&png, "IHDR", size, sizeof size);
    append_chunk(&png, "IDAT", zlib.data, zlib.length);
    append_chunk(&png, "IEND", "", 0);
    bool failed = lines.failed || zlib.failed || png.failed;
    if (!failed) {
        hki_text_printf(out, "data:image/png;base64,");
        hki_base64(out, (const uint8_t *)png.data, png.length);
    }
    hki_text_free(&lines);
    hki_text_free(&zlib);
    hki_text_free(&png);
    return failed ? hki_out_of_memory() : hki_text_status(out);
}
