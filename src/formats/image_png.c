/* PNG through libpng, without its colour management: the stored values are what a model gets. Errors leave the library
 * by longjmp, so all that must be seen afterwards lives in one struct. */
#include "formats/image_codec.h"

#ifdef HALKA_PNG
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    png_structp png;
    png_infop info;
    const unsigned char *at;
    size_t left;
    char message[96];
    uint8_t *rows; /* RGB pixels that become grey */
} reader;

static void on_error(png_structp png, png_const_charp message)
{
    reader *r = png_get_error_ptr(png);
    snprintf(r->message, sizeof r->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t size)
{
    reader *r = png_get_io_ptr(png);
    if (size > r->left)
        png_error(png, "the end of the file (truncated)");
    memcpy(to, r->at, size);
    r->at += size;
    r->left -= size;
}

static hk_status png_failure(const reader *r, const char *name)
{
    return HK_ERR(HK_INVALID_FILE, "%s: expected a valid PNG picture, found damage: %s", name, r->message);
}

static hk_status start(reader *r, const unsigned char *data, size_t size)
{
    r->at = data;
    r->left = size;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    return r->info ? NULL : hki_out_of_memory();
}

static void stop(reader *r)
{
    png_destroy_read_struct(&r->png, &r->info, NULL);
    hki_free(r->rows);
}

static int stored_channels(const reader *r)
{
    int type = png_get_color_type(r->png, r->info);
    return type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA ? 1 : 3;
}

static void read_header(reader *r)
{
    png_set_read_fn(r->png, r, on_read);
    png_read_info(r->png, r->info);
}

static hk_status read_size(int64_t out_dims[3], const unsigned char *data, size_t size, const char *name)
{
    reader r = {.png = NULL};
    hk_status status = start(&r, data, size);
    if (!status && setjmp(png_jmpbuf(r.png))) {
        stop(&r);
        return png_failure(&r, name);
    }
    if (!status) {
        read_header(&r);
        out_dims[0] = png_get_image_height(r.png, r.info);
        out_dims[1] = png_get_image_width(r.png, r.info);
        out_dims[2] = stored_channels(&r);
    }
    stop(&r);
    return status;
}

/* Asks for 8 bits, no palette, no alpha, 1 or 3 channels. */
static void set_transforms(reader *r, bool to_rgb)
{
    png_set_expand(r->png);
    png_set_strip_16(r->png);
    png_set_strip_alpha(r->png);
    if (to_rgb)
        png_set_gray_to_rgb(r->png);
}

/* Reads all rows; interlaced pictures need several passes over them. */
static void read_rows(reader *r, uint8_t *to, int64_t height, int64_t stride)
{
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if ((int64_t)png_get_rowbytes(r->png, r->info) != stride)
        png_error(r->png, "rows of an unexpected size");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < height; y++)
            png_read_row(r->png, to + y * stride, NULL);
    png_read_end(r->png, NULL);
}

/* Luma of ITU-R BT.601 in fixed point, as JPEG's Y. */
static void to_grey(uint8_t *out, const uint8_t *rgb, int64_t pixels)
{
    for (int64_t i = 0; i < pixels; i++)
        out[i] = (uint8_t)((19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2] + 32768u) >> 16);
}

static hk_status decode(uint8_t *out, const int64_t dims[3], const unsigned char *data, size_t size, const char *name)
{
    reader r = {.png = NULL};
    hk_status status = start(&r, data, size);
    if (!status && setjmp(png_jmpbuf(r.png))) {
        stop(&r);
        return png_failure(&r, name);
    }
    if (!status) {
        read_header(&r);
        bool grey = dims[2] == 1 && stored_channels(&r) == 3;
        set_transforms(&r, dims[2] == 3);
        if (grey)
            r.rows = hki_alloc_array((size_t)(dims[0] * dims[1]), 3);
        if (grey && !r.rows)
            status = hki_out_of_memory();
        else
            read_rows(&r, grey ? r.rows : out, dims[0], dims[1] * (grey ? 3 : dims[2]));
        if (grey && !status)
            to_grey(out, r.rows, dims[0] * dims[1]);
    }
    stop(&r);
    return status;
}

#else

static hk_status absent(const char *name)
{
    return HK_ERR(HK_UNSUPPORTED, "%s: reading PNG needs libpng, which this build has not (Debian: libpng-dev)", name);
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

const hki_image_codec hki_png_codec = {read_size, decode};
