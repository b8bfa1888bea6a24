/* Mixup: partners within a leaf, weights from a Beta distribution, blending. A leaf is the same on any number of ranks,
 * so a partner is never elsewhere. */
#include <math.h>

#include "data/augment_internal.h"
#include "data/portable_math.h"

enum { DRAW_PARTNER = 2, DRAW_BETA = 64, BETA_TRIES = 1000 };

/* Two numbers in (0, 1) for one try. */
static void draw_pair(double *u, double *v, uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t try)
{
    uint32_t words[4];
    hki_augment_draw(words, seed, epoch, sample, DRAW_BETA + try);
    *u = hki_uniform_double(words[0], words[1]) + 0x1p-54;
    *v = hki_uniform_double(words[2], words[3]) + 0x1p-54;
}

/* Joehnk, 1964: X = U^(1/alpha), Y = V^(1/alpha), accepted where X + Y <= 1; X / (X + Y). In logarithms, so that a
 * small alpha does not end in 0 / 0. */
static bool joehnk(double *out, double alpha, double u, double v)
{
    double log_x = hki_portable_log(u) / alpha, log_y = hki_portable_log(v) / alpha;
    if (hki_portable_exp(log_x) + hki_portable_exp(log_y) > 1)
        return false;
    double largest = log_x > log_y ? log_x : log_y;
    double x = hki_portable_exp(log_x - largest), y = hki_portable_exp(log_y - largest);
    *out = x / (x + y);
    return true;
}

/* Cheng's algorithm BB ("Generating beta variates with nonintegral shape parameters", CACM 21, 1978) for two equal
 * parameters. */
static bool cheng(double *out, double alpha, double u, double v)
{
    double sum = 2 * alpha, beta = sqrt((sum - 2) / (2 * alpha * alpha - sum)), gamma = alpha + 1 / beta;
    double log_odds = beta * hki_portable_log(u / (1 - u)), w = alpha * hki_portable_exp(log_odds), z = u * u * v;
    double r = gamma * log_odds - 1.3862943611198906, s = alpha + r - w; /* log 4 */
    *out = w / (alpha + w);
    if (s + 2.6094379124341003 >= 5 * z) /* 1 + log 5 */
        return true;
    double t = hki_portable_log(z);
    return s >= t || r + sum * hki_portable_log(sum / (alpha + w)) >= t;
}

double hki_beta_draw(double alpha, uint64_t seed, uint64_t epoch, uint64_t sample)
{
    double u, v, value;
    for (uint32_t i = 0; i < BETA_TRIES; i++) {
        draw_pair(&u, &v, seed, epoch, sample, i);
        if (alpha > 1 ? cheng(&value, alpha, u, v) : joehnk(&value, alpha, u, v))
            return value;
    }
    return 0.5; /* with half of the tries accepted or more, as both methods have it, this is never reached */
}

void hki_mixup_choose(int64_t *out_partner, uint32_t *out_weight, const hki_augment *o, uint64_t seed, uint64_t epoch,
                      uint64_t sample, int64_t position, int64_t count)
{
    *out_partner = position;
    *out_weight = 1 << 16;
    if (count < 2)
        return;
    uint32_t words[4];
    hki_augment_draw(words, seed, epoch, sample, DRAW_PARTNER);
    int64_t step = 1 + (int64_t)(words[0] * (uint64_t)(count - 1) >> 32); /* 1 .. count-1: never the sample itself */
    *out_partner = (position + step) % count;
    *out_weight = (uint32_t)hki_portable_floor(hki_beta_draw(o->mixup, seed, epoch, sample) * 65536 + 0.5);
}

void hki_mixup_blend(void *out, const void *a, const void *b, hk_dtype dtype, int64_t count, uint32_t weight)
{
    if (dtype == HK_UINT8) {
        const uint8_t *x = a, *y = b;
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)out)[i] = (uint8_t)((x[i] * weight + y[i] * (65536 - weight) + 32768) >> 16);
        return;
    }
    const float *x = a, *y = b;
    float share = (float)weight * 0x1p-16f, rest = (float)(65536 - weight) * 0x1p-16f;
    for (int64_t i = 0; i < count; i++)
        ((float *)out)[i] = x[i] * share + y[i] * rest;
}
