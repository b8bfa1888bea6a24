/* JPEG through libjpeg. Its integer DCT gives the same bytes with and without SIMD. Errors leave the library by
 * longjmp, so all that must be seen afterwards lives in one struct. */
#include "formats/image_codec.h"

#ifdef HALKA_JPEG
#include <stdio.h>
#include <setjmp.h>
#include <jpeglib.h>
#include <jerror.h>

typedef struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    bool truncated;
    char message[JMSG_LENGTH_MAX];
} reader;

static void on_error(j_common_ptr common)
{
    reader *r = common->client_data;
    common->err->format_message(common, r->message);
    longjmp(r->escape, 1);
}

/* Warnings: a picture that ends too early would be filled with grey. */
static void on_message(j_common_ptr common, int level)
{
    reader *r = common->client_data;
    if (level < 0 && common->err->msg_code == JWRN_JPEG_EOF)
        r->truncated = true;
}

static void start(reader *r, const unsigned char *data, size_t size)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->jpeg.client_data = r;
    jpeg_create_decompress(&r->jpeg);
    jpeg_mem_src(&r->jpeg, data, (unsigned long)size);
    jpeg_read_header(&r->jpeg, TRUE);
}

static hk_status jpeg_failure(const reader *r, const char *name)
{
    return HK_ERR(HK_INVALID_FILE, "%s: expected a valid JPEG picture, found damage: %s", name, r->message);
}

static hk_status read_size(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name)
{
    reader r = {.truncated = false};
    if (setjmp(r.escape)) {
        jpeg_destroy_decompress(&r.jpeg);
        return jpeg_failure(&r, name);
    }
    start(&r, data, size);
    out_dims[0] = r.jpeg.image_height;
    out_dims[1] = r.jpeg.image_width;
    out_dims[2] = r.jpeg.num_components;
    jpeg_destroy_decompress(&r.jpeg);
    if (out_dims[2] == 1 || out_dims[2] == 3)
        return NULL;
    return HK_ERR(HK_UNSUPPORTED, "%s: expected a grey or RGB picture, found %d channels (CMYK?)", name,
                  (int)out_dims[2]);
}

static hk_status decode(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size, const char *name)
{
    reader r = {.truncated = false};
    if (setjmp(r.escape)) {
        jpeg_destroy_decompress(&r.jpeg);
        return jpeg_failure(&r, name);
    }
    start(&r, data, size);
    r.jpeg.out_color_space = dims[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    r.jpeg.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&r.jpeg);
    while (r.jpeg.output_scanline < r.jpeg.output_height) {
        JSAMPROW row = out + (int64_t)r.jpeg.output_scanline * dims[1] * dims[2];
        jpeg_read_scanlines(&r.jpeg, &row, 1);
    }
    jpeg_finish_decompress(&r.jpeg);
    jpeg_destroy_decompress(&r.jpeg);
    return r.truncated ? HK_ERR(HK_INVALID_FILE,
                                "%s: expected a whole JPEG picture, found the end of the file (truncated)", name)
                       : NULL;
}

#else

static hk_status absent(const char *name)
{
    return HK_ERR(HK_UNSUPPORTED,
                  "%s: reading JPEG needs libjpeg, which this build has not (Debian: libjpeg62-turbo-dev)", name);
}

static hk_status read_size(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name)
{
    (void)out_dims;
    (void)data;
    (void)size;
    return absent(name);
}

static hk_status decode(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size, const char *name)
{
    (void)out;
    (void)dims;
    (void)data;
    (void)size;
    return absent(name);
}

#endif

const hki_image_codec hki_jpeg_codec = {read_size, decode};
