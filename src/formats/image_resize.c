/* Resizing pictures: a separable triangle filter (bilinear where it enlarges, a weighted mean over the covered pixels
 * where it shrinks), first along rows, then along columns. Weights are fixed-point numbers made with + - * / of doubles
 * only. */
#include <string.h>

#include "formats/image.h"

#define WEIGHT_BITS 15

/* The weights with which source pixels make one target pixel: from pixel `first` on, `count` of them. */
typedef struct span {
    int64_t first, count;
    int32_t *weights;
} span;

static double triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

static int64_t floor_int(double x)
{
    int64_t i = (int64_t)x;
    return i - (x < (double)i);
}

/* Fills the weights of target pixel i; they sum to 1 << WEIGHT_BITS exactly. */
static void make_span(span *s, int64_t i, int64_t to, int64_t from)
{
    double scale = (double)from / (double)to, support = scale > 1 ? scale : 1;
    double center = ((double)i + 0.5) * scale;
    int64_t first = floor_int(center - support + 0.5), last = floor_int(center + support + 0.5);
    first = first < 0 ? 0 : first;
    last = last > from ? from : last;
    double total = 0;
    for (int64_t k = first; k < last; k++)
        total += triangle(((double)k + 0.5 - center) / support);
    int32_t sum = 0;
    int64_t largest = 0;
    s->first = first;
    s->count = last - first;
    for (int64_t k = 0; k < s->count; k++) {
        double weight = triangle(((double)(first + k) + 0.5 - center) / support) / total;
        s->weights[k] = (int32_t)(weight * (1 << WEIGHT_BITS) + 0.5);
        sum += s->weights[k];
        if (s->weights[k] > s->weights[largest])
            largest = k;
    }
    s->weights[largest] += (1 << WEIGHT_BITS) - sum; /* what rounding lost or added */
}

static uint8_t to_pixel(int64_t sum)
{
    int64_t value = (sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void resize_rows(uint8_t *to, int64_t to_width, const uint8_t *from, int64_t height, int64_t width,
                        int64_t channels, span *s)
{
    for (int64_t x = 0; x < to_width; x++) {
        make_span(s, x, to_width, width);
        for (int64_t y = 0; y < height; y++)
            for (int64_t c = 0; c < channels; c++) {
                const uint8_t *pixel = from + (y * width + s->first) * channels + c;
                int64_t sum = 0;
                for (int64_t k = 0; k < s->count; k++)
                    sum += (int64_t)s->weights[k] * pixel[k * channels];
                to[(y * to_width + x) * channels + c] = to_pixel(sum);
            }
    }
}

static void resize_columns(uint8_t *to, int64_t to_height, const uint8_t *from, int64_t height, int64_t row, span *s)
{
    for (int64_t y = 0; y < to_height; y++) {
        make_span(s, y, to_height, height);
        for (int64_t x = 0; x < row; x++) {
            const uint8_t *pixel = from + s->first * row + x;
            int64_t sum = 0;
            for (int64_t k = 0; k < s->count; k++)
                sum += (int64_t)s->weights[k] * pixel[k * row];
            to[y * row + x] = to_pixel(sum);
        }
    }
}

/* Most weights that one target pixel can have. */
static size_t span_limit(int64_t to, int64_t from)
{
    return (size_t)(from / to) * 2 + 4;
}

hk_status hki_image_resize(uint8_t *to, int64_t to_height, int64_t to_width, const uint8_t *from, int64_t height,
                           int64_t width, int64_t channels, hki_scratch *scratch)
{
    size_t rows = span_limit(to_width, width), columns = span_limit(to_height, height);
    size_t weights = (rows > columns ? rows : columns) * sizeof(int32_t);
    HK_TRY(hki_scratch_reserve(scratch, weights + (size_t)(height * to_width * channels)));
    span s = {.weights = scratch->data};
    uint8_t *between = (uint8_t *)scratch->data + weights;
    resize_rows(between, to_width, from, height, width, channels, &s);
    resize_columns(to, to_height, between, height, to_width * channels, &s);
    return NULL;
}
