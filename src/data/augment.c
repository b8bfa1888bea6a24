/* Augmentation: choosing what happens, and moving pixels. Colours are in augment_color.c, mixup in mixup.c. */
#include "data/augment.h"

#include <math.h>
#include <string.h>

#include "data/augment_internal.h"
#include "data/portable_math.h"

enum { DRAW_PLACE = 0, DRAW_COLOR = 1, DRAW_ERASE = 16, ERASE_TRIES = 10 };

bool hki_augment_changes_pictures(const hki_augment *o)
{
    return o->horizontal_flip > 0 || o->vertical_flip > 0 || o->crop_padding > 0 || o->rotate > 0 ||
           o->brightness > 0 || o->contrast > 0 || o->saturation > 0 || o->erase > 0;
}

static hk_status check_range(const char *what, double value, double most)
{
    if (value >= 0 && value <= most)
        return NULL;
    return HK_ERR(HK_INVALID_CONFIG, "augmentation: expected %s from 0 to %g, found %g", what, most, value);
}

hk_status hki_augment_check(const hki_augment *o, const hki_dataset *d)
{
    HK_TRY(check_range("flip", o->horizontal_flip, 1));
    HK_TRY(check_range("vertical_flip", o->vertical_flip, 1));
    HK_TRY(check_range("crop", (double)o->crop_padding, 1 << 20));
    HK_TRY(check_range("rotate", o->rotate, 180));
    HK_TRY(check_range("brightness", o->brightness, 1));
    HK_TRY(check_range("contrast", o->contrast, 1));
    HK_TRY(check_range("saturation", o->saturation, 1));
    HK_TRY(check_range("erase", o->erase, 1));
    HK_TRY(check_range("erase_area", o->erase_area[1], 1));
    HK_TRY(check_range("erase_area", o->erase_area[0], o->erase_area[1]));
    HK_TRY(check_range("mixup", o->mixup, 1000));
    bool pictures = hki_augment_changes_pictures(o), vector = d->layout == HKI_SAMPLE_VECTOR;
    bool type = d->x_dtype == HK_FLOAT || (d->x_dtype == HK_UINT8 && !vector);
    char text[HKI_SHAPE_TEXT];
    hki_shape_text(text, d->x_dtype, d->x_rank, d->x_dims);
    if (pictures && vector)
        return HK_ERR(HK_INVALID_DATA,
                      "%s: augmentation: expected pictures (H x W, H x W x C or C x H x W), found samples %s", d->name,
                      text);
    if ((pictures || o->mixup > 0) && !type)
        return HK_ERR(HK_INVALID_DATA, "%s: augmentation: expected samples of uint8 pixels or float32, found %s",
                      d->name, text);
    return NULL;
}

void hki_augment_draw(uint32_t words[4], uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t draw)
{
    hki_key key = hki_key_create(seed, HKI_STREAM_AUGMENT);
    hki_philox(words, key, (uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)epoch, draw);
}

double hki_augment_uniform(uint32_t word)
{
    return (double)word * 0x1p-32;
}

/* Where pixels come from: output (y, x) is input (y + down, x + right), mirrored, turned. */
typedef struct placement {
    bool mirror_x, mirror_y;
    int64_t down, right;
    double sine, cosine; /* 0 and 1: not turned */
} placement;

/* A picture as planes of pixels: HWC is one plane of C-element pixels, CHW is C planes. */
typedef struct picture {
    int64_t planes, height, width, elements; /* elements per pixel */
} picture;

static picture describe(const hki_dataset *d)
{
    bool planes = d->layout == HKI_SAMPLE_CHW;
    hki_picture p = hki_dataset_picture(d);
    return (picture){planes ? p.channels : 1, p.height, p.width, planes ? 1 : p.channels};
}

static placement choose_place(const hki_augment *o, uint64_t seed, uint64_t epoch, uint64_t sample)
{
    uint32_t words[4], more[4];
    hki_augment_draw(words, seed, epoch, sample, DRAW_PLACE);
    hki_augment_draw(more, seed, epoch, sample, DRAW_COLOR);
    uint64_t shifts = 2 * (uint64_t)o->crop_padding + 1;
    placement p = {.cosine = 1};
    p.mirror_x = hki_augment_uniform(words[0]) < o->horizontal_flip;
    p.mirror_y = hki_augment_uniform(words[1]) < o->vertical_flip;
    p.down = (int64_t)(words[2] * shifts >> 32) - o->crop_padding;
    p.right = (int64_t)(words[3] * shifts >> 32) - o->crop_padding;
    if (o->rotate > 0)
        hki_portable_sincos(&p.sine, &p.cosine, o->rotate * (2 * hki_augment_uniform(more[0]) - 1));
    return p;
}

/* Writes `count` pixels from `from` backwards; constant sizes let the compiler move whole pixels. */
static void copy_backwards(unsigned char *out, const unsigned char *from, int64_t count, size_t size)
{
    switch (size) {
    case 1:
        for (int64_t x = 0; x < count; x++)
            out[x] = *(from - x);
        break;
    case 3:
        for (int64_t x = 0; x < count; x++)
            memcpy(out + 3 * x, from - 3 * x, 3);
        break;
    case 4:
        for (int64_t x = 0; x < count; x++)
            memcpy(out + 4 * x, from - 4 * x, 4);
        break;
    default:
        for (int64_t x = 0; x < count; x++)
            memcpy(out + (size_t)x * size, from - (size_t)x * size, size);
        break;
    }
}

/* Copies one row of a plane, shifted and perhaps mirrored; `size` bytes per pixel. */
static void copy_row(unsigned char *out, const unsigned char *in, int64_t width, size_t size, const placement *p)
{
    int64_t first = p->mirror_x ? p->right : -p->right; /* output pixels [first, first + width) have a source */
    int64_t begin = first < 0 ? 0 : first, end = first + width < width ? first + width : width;
    if (begin >= end) {
        memset(out, 0, (size_t)width * size);
        return;
    }
    memset(out, 0, (size_t)begin * size);
    memset(out + (size_t)end * size, 0, (size_t)(width - end) * size);
    if (p->mirror_x)
        copy_backwards(out + (size_t)begin * size, in + (size_t)(width - 1 - begin + p->right) * size, end - begin,
                       size);
    else
        memcpy(out + (size_t)begin * size, in + (size_t)(begin + p->right) * size, (size_t)(end - begin) * size);
}

static void move_pixels(unsigned char *out, const unsigned char *in, const picture *pic, size_t element,
                        const placement *p)
{
    size_t size = (size_t)pic->elements * element, row = (size_t)pic->width * size;
    for (int64_t plane = 0; plane < pic->planes; plane++)
        for (int64_t y = 0; y < pic->height; y++, out += row) {
            int64_t from = (p->mirror_y ? pic->height - 1 - y : y) + p->down;
            if (from < 0 || from >= pic->height)
                memset(out, 0, row);
            else
                copy_row(out, in + (size_t)(plane * pic->height + from) * row, pic->width, size, p);
        }
}

/* Rotation walks through the input in steps of 1/2^32 pixel; the weights of the four neighbours have 8 bits each way.
 */
#define STEP_ONE 4294967296.0

typedef struct walk {
    int64_t y, x;           /* where the pixel at hand comes from */
    int64_t step_y, step_x; /* from pixel to pixel of a row */
} walk;

static int64_t to_steps(double pixels)
{
    return hki_portable_floor(pixels * STEP_ONE + 0.5);
}

/* Starts a row of output. */
static walk start_row(const picture *pic, const placement *p, int64_t y)
{
    double half_y = (double)(pic->height - 1) * 0.5, half_x = (double)(pic->width - 1) * 0.5;
    double dy = (double)y - half_y, dx = -half_x;
    double from_y = (p->cosine * dy + p->sine * dx) + half_y, from_x = (p->cosine * dx - p->sine * dy) + half_x;
    from_y = (p->mirror_y ? (double)(pic->height - 1) - from_y : from_y) + (double)p->down;
    from_x = (p->mirror_x ? (double)(pic->width - 1) - from_x : from_x) + (double)p->right;
    return (walk){to_steps(from_y) + (1 << 23), to_steps(from_x) + (1 << 23), /* so that cutting to 8 bits rounds */
                  to_steps(p->mirror_y ? -p->sine : p->sine), to_steps(p->mirror_x ? -p->cosine : p->cosine)};
}

/* The four neighbours of a point and their weights, which sum to 65536; what lies outside has weight 0. */
typedef struct corners {
    int64_t index[4]; /* in pixels of a plane */
    int32_t weight[4];
} corners;

static void find_corners(corners *c, const picture *pic, const walk *w)
{
    int64_t top = w->y >> 32, left = w->x >> 32, at = top * pic->width + left;
    int32_t part_y = (int32_t)(w->y >> 24 & 255), part_x = (int32_t)(w->x >> 24 & 255);
    c->weight[0] = (256 - part_y) * (256 - part_x);
    c->weight[1] = (256 - part_y) * part_x;
    c->weight[2] = part_y * (256 - part_x);
    c->weight[3] = part_y * part_x;
    c->index[0] = at;
    c->index[1] = at + 1;
    c->index[2] = at + pic->width;
    c->index[3] = at + pic->width + 1;
    if (top >= 0 && left >= 0 && top + 1 < pic->height && left + 1 < pic->width)
        return;
    for (int i = 0; i < 4; i++) {
        int64_t y = top + (i >> 1), x = left + (i & 1);
        if (y < 0 || y >= pic->height || x < 0 || x >= pic->width)
            c->index[i] = c->weight[i] = 0;
    }
}

static uint8_t mix_bytes(const corners *c, const uint8_t *plane, int64_t elements)
{
    int32_t sum = 1 << 15;
    for (int i = 0; i < 4; i++)
        sum += c->weight[i] * plane[c->index[i] * elements];
    return (uint8_t)(sum >> 16);
}

static float mix_floats(const corners *c, const float *plane, int64_t elements)
{
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (float)c->weight[i] * 0x1p-16f * plane[c->index[i] * elements];
    return sum;
}

static void turn_pixels(void *out, const void *in, const picture *pic, bool bytes, const placement *p)
{
    int64_t plane = pic->height * pic->width * pic->elements, at = 0;
    corners c;
    for (int64_t y = 0; y < pic->height; y++) {
        walk w = start_row(pic, p, y);
        for (int64_t x = 0; x < pic->width; x++, at += pic->elements, w.y += w.step_y, w.x += w.step_x) {
            find_corners(&c, pic, &w);
            for (int64_t k = 0; k < pic->planes; k++)
                for (int64_t e = k * plane; e < k * plane + pic->elements; e++) {
                    if (bytes)
                        ((uint8_t *)out)[at + e] = mix_bytes(&c, (const uint8_t *)in + e, pic->elements);
                    else
                        ((float *)out)[at + e] = mix_floats(&c, (const float *)in + e, pic->elements);
                }
        }
    }
}

/* Clears a rectangle. Tries a few shapes, as the paper does; a picture too small for all of them stays whole. */
static void erase(unsigned char *out, const picture *pic, size_t element, const hki_augment *o, uint64_t seed,
                  uint64_t epoch, uint64_t sample)
{
    uint32_t words[4];
    size_t size = (size_t)pic->elements * element;
    for (uint32_t i = 0; i < ERASE_TRIES; i++) {
        hki_augment_draw(words, seed, epoch, sample, DRAW_ERASE + 1 + i);
        double share = o->erase_area[0] + (o->erase_area[1] - o->erase_area[0]) * hki_augment_uniform(words[0]);
        double area = share * (double)pic->height * (double)pic->width;
        double log_ratio = 1.1939224684724346 * (2 * hki_augment_uniform(words[1]) - 1); /* log 3.3 */
        double ratio = hki_portable_exp(log_ratio);
        int64_t height = hki_portable_floor(sqrt(area * ratio) + 0.5),
                width = hki_portable_floor(sqrt(area / ratio) + 0.5);
        if (height < 1 || width < 1 || height > pic->height || width > pic->width)
            continue;
        int64_t top = (int64_t)(words[2] * (uint64_t)(pic->height - height + 1) >> 32);
        int64_t left = (int64_t)(words[3] * (uint64_t)(pic->width - width + 1) >> 32);
        for (int64_t plane = 0; plane < pic->planes; plane++)
            for (int64_t y = top; y < top + height; y++)
                memset(out + (size_t)((plane * pic->height + y) * pic->width + left) * size, 0, (size_t)width * size);
        return;
    }
}

void hki_augment_apply(void *out, const void *in, const hki_augment *o, const hki_dataset *d, uint64_t seed,
                       uint64_t epoch, uint64_t sample)
{
    picture pic = describe(d);
    size_t element = hk_dtype_size(d->x_dtype);
    placement p = choose_place(o, seed, epoch, sample);
    if (p.sine != 0)
        turn_pixels(out, in, &pic, d->x_dtype == HK_UINT8, &p);
    else
        move_pixels(out, in, &pic, element, &p);
    uint32_t words[4];
    if (o->brightness > 0 || o->contrast > 0 || o->saturation > 0) {
        hki_augment_draw(words, seed, epoch, sample, DRAW_COLOR);
        double factors[3] = {1 + o->brightness * (2 * hki_augment_uniform(words[1]) - 1),
                             1 + o->contrast * (2 * hki_augment_uniform(words[2]) - 1),
                             1 + o->saturation * (2 * hki_augment_uniform(words[3]) - 1)};
        hki_augment_color(out, d, factors);
    }
    if (o->erase > 0) {
        hki_augment_draw(words, seed, epoch, sample, DRAW_ERASE);
        if (hki_augment_uniform(words[0]) < o->erase)
            erase(out, &pic, element, o, seed, epoch, sample);
    }
}

void hki_augment_sample(void *x, void *scratch, const hki_augment *augment, const hki_dataset *dataset, uint64_t seed,
                        uint64_t epoch, uint64_t sample)
{
    if (!hki_augment_changes_pictures(augment))
        return;
    memcpy(scratch, x, hk_dtype_size(dataset->x_dtype) * (size_t)hki_shape_count(dataset->x_dims, 0, dataset->x_rank));
    hki_augment_apply(x, scratch, augment, dataset, seed, epoch, sample);
}
