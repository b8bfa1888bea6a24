/* Brightness, contrast, saturation, as torchvision's ColorJitter defines them: a blend with black, with the mean grey,
 * with the pixel's own grey. Bytes in fixed point of 16 bits, rounded and limited after each step; floats are not
 * limited. A fourth channel stays as it is. */
#include "data/augment_internal.h"
#include "data/portable_math.h"

/* How the channels of pixel i are found: element i * pixel + c * channel. */
typedef struct grid {
    int64_t count, pixel, channel, colors; /* colors: 1 or 3 */
} grid;

static uint8_t limit(int64_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* base + (v - base) factor, with factor in 1/65536 */
static uint8_t blend(int64_t v, int64_t base, int64_t factor)
{
    return limit(base + (((v - base) * factor + (1 << 15)) >> 16));
}

/* Luma of ITU-R BT.601 */
static int64_t grey_byte(const uint8_t *p, const grid *g)
{
    if (g->colors == 1)
        return p[0];
    return (19595 * (int64_t)p[0] + 38470 * (int64_t)p[g->channel] + 7471 * (int64_t)p[2 * g->channel] + 32768) >> 16;
}

static void color_bytes(uint8_t *pixels, const grid *g, const double factors[3])
{
    int64_t fixed[3], sum = 0;
    for (int i = 0; i < 3; i++)
        fixed[i] = hki_portable_floor(factors[i] * 65536 + 0.5);
    for (int64_t i = 0; i < g->count; i++) {
        uint8_t *p = pixels + i * g->pixel;
        for (int64_t c = 0; c < g->colors; c++)
            p[c * g->channel] = blend(p[c * g->channel], 0, fixed[0]);
        sum += grey_byte(p, g);
    }
    int64_t mean = (sum + g->count / 2) / g->count;
    for (int64_t i = 0; i < g->count; i++) {
        uint8_t *p = pixels + i * g->pixel;
        for (int64_t c = 0; c < g->colors; c++)
            p[c * g->channel] = blend(p[c * g->channel], mean, fixed[1]);
        int64_t grey = grey_byte(p, g);
        for (int64_t c = 0; c < g->colors && g->colors == 3; c++)
            p[c * g->channel] = blend(p[c * g->channel], grey, fixed[2]);
    }
}

static float grey_float(const float *p, const grid *g)
{
    if (g->colors == 1)
        return p[0];
    return 0.299f * p[0] + 0.587f * p[g->channel] + 0.114f * p[2 * g->channel];
}

static void color_floats(float *pixels, const grid *g, const double factors[3])
{
    float bright = (float)factors[0], contrast = (float)factors[1], saturation = (float)factors[2];
    double sum = 0;
    for (int64_t i = 0; i < g->count; i++) {
        float *p = pixels + i * g->pixel;
        for (int64_t c = 0; c < g->colors; c++)
            p[c * g->channel] *= bright;
        sum += grey_float(p, g);
    }
    float mean = (float)(sum / (double)g->count);
    for (int64_t i = 0; i < g->count; i++) {
        float *p = pixels + i * g->pixel;
        for (int64_t c = 0; c < g->colors; c++)
            p[c * g->channel] = mean + (p[c * g->channel] - mean) * contrast;
        float grey = grey_float(p, g);
        for (int64_t c = 0; c < g->colors && g->colors == 3; c++)
            p[c * g->channel] = grey + (p[c * g->channel] - grey) * saturation;
    }
}

void hki_augment_color(void *pixels, const hki_dataset *d, const double factors[3])
{
    hki_picture p = hki_dataset_picture(d);
    bool planes = d->layout == HKI_SAMPLE_CHW;
    int64_t count = p.height * p.width;
    grid g = {count, planes ? 1 : p.channels, planes ? count : 1, p.channels >= 3 ? 3 : 1};
    if (d->x_dtype == HK_UINT8)
        color_bytes(pixels, &g, factors);
    else
        color_floats(pixels, &g, factors);
}
