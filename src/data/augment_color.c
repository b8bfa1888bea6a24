/* Brightness, contrast, saturation, as torchvision's ColorJitter defines them: a blend with black, with the mean grey,
 * with the pixel's own grey. Bytes in fixed point of 16 bits, rounded and limited after each step; floats are not
 * limited. A fourth channel stays as it is. */
#include "data/augment_internal.h"
#include "data/portable_math.h"

/* How the channels of pixel i are found: element i * pixel + c * channel. */
typedef struct grid {
    int64_t count, pixel, channel, colors; /* colors: 1 or 3 */
} grid;

enum { ONE = 1 << 16 }; /* a factor of 1 */

static uint8_t limit(int32_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* base + (v - base) factor, with factor in 1/65536 and at most 2 */
static uint8_t blend(int32_t v, int32_t base, int32_t factor)
{
    return limit(base + (((v - base) * factor + ONE / 2) >> 16));
}

/* Luma of ITU-R BT.601 */
static int32_t grey_byte(const uint8_t *p, const grid *g)
{
    if (g->colors == 1)
        return p[0];
    return (19595 * p[0] + 38470 * p[g->channel] + 7471 * p[2 * g->channel] + ONE / 2) >> 16;
}

/* Replaces every byte by what stands for it in the table. */
static void map_bytes(uint8_t *pixels, const grid *g, int32_t base, int32_t factor)
{
    uint8_t table[256];
    if (factor == ONE)
        return;
    for (int32_t v = 0; v < 256; v++)
        table[v] = blend(v, base, factor);
    for (int64_t i = 0; i < g->count; i++)
        for (int64_t c = 0; c < g->colors; c++) {
            uint8_t *p = pixels + i * g->pixel + c * g->channel;
            *p = table[*p];
        }
}

static void color_bytes(uint8_t *pixels, const grid *g, const double factors[3])
{
    int32_t fixed[3];
    for (int i = 0; i < 3; i++)
        fixed[i] = (int32_t)hki_portable_floor(factors[i] * ONE + 0.5);
    map_bytes(pixels, g, 0, fixed[0]);
    if (fixed[1] != ONE) {
        int64_t sum = 0;
        for (int64_t i = 0; i < g->count; i++)
            sum += grey_byte(pixels + i * g->pixel, g);
        map_bytes(pixels, g, (int32_t)((sum + g->count / 2) / g->count), fixed[1]);
    }
    if (fixed[2] == ONE || g->colors == 1)
        return;
    for (int64_t i = 0; i < g->count; i++) {
        uint8_t *p = pixels + i * g->pixel;
        int32_t grey = grey_byte(p, g);
        for (int64_t c = 0; c < 3; c++)
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
