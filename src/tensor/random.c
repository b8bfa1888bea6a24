/* Philox 4x32-10 and what is derived from it. Integer arithmetic and + - * / sqrt of doubles only, each rounded once by
 * IEEE 754, so every machine gets the same bytes; no function of libm that may differ. */
#include "tensor/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): spreads nearby seeds and streams over all keys. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

hki_key hki_key_create(uint64_t seed, uint64_t stream)
{
    uint64_t bits = mix(mix(seed) + stream);
    return (hki_key){{(uint32_t)bits, (uint32_t)(bits >> 32)}};
}

/* The constants and the order of words are those of Random123's philox.h. */
void hki_philox(uint32_t out[4], hki_key key, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * a, p1 = (uint64_t)0xcd9e8d57u * c;
        a = (uint32_t)(p1 >> 32) ^ b ^ k0;
        b = (uint32_t)p1;
        c = (uint32_t)(p0 >> 32) ^ d ^ k1;
        d = (uint32_t)p0;
        k0 += 0x9e3779b9u; /* golden ratio */
        k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

void hki_philox64(uint32_t out[4], hki_key key, uint64_t high, uint64_t low)
{
    hki_philox(out, key, (uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
}

float hki_uniform_float(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

double hki_uniform_double(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

/* 1/1, 1/3, ... 1/13 */
static const double odd_reciprocal[] = {1, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13};
/* -1/(n (n-1)) and -1/(n (n+1)) for n = 2, 4 .. 12: from one term of Taylor's series of cosine and sine to the next */
static const double cosine_step[] = {-1.0 / 2, -1.0 / 12, -1.0 / 30, -1.0 / 56, -1.0 / 90, -1.0 / 132};
static const double sine_step[] = {-1.0 / 6, -1.0 / 20, -1.0 / 42, -1.0 / 72, -1.0 / 110, -1.0 / 156};

/* Natural logarithm of x in [2^-32, 1], error below 1e-12: x = m 2^e with m in [sqrt(1/2), sqrt(2)),
 * log m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172. */
static double log_unit(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), z = s * s, series = 0;
    for (int i = 6; i >= 0; i--)
        series = series * z + odd_reciprocal[i];
    return exponent * 0.6931471805599453 + 2 * s * series;
}

/* Cosine and sine of the angle 2 pi word / 2^32, error below 1e-11: quarter turns exactly, the rest, at most an eighth
 * of a turn, by Taylor's series. */
static void cosine_sine(double *out_cosine, double *out_sine, uint32_t word)
{
    uint32_t quarter = (word + (1u << 29)) >> 30;
    int32_t rest = (int32_t)(word - (quarter << 30)); /* [-2^29, 2^29) */
    double x = rest * (1.5707963267948966 / 1073741824.0), z = x * x, cosine = 1, sine = 1;
    for (int i = 5; i >= 0; i--) {
        cosine = 1 + cosine * z * cosine_step[i];
        sine = 1 + sine * z * sine_step[i];
    }
    sine *= x;
    *out_cosine = quarter == 0 ? cosine : quarter == 1 ? -sine : quarter == 2 ? -cosine : sine;
    *out_sine = quarter == 0 ? sine : quarter == 1 ? cosine : quarter == 2 ? -sine : -cosine;
}

void hki_normal_words(double out[4], const uint32_t word[4])
{
    for (int k = 0; k < 4; k += 2) { /* Box and Muller, 1958; (word + 1) / 2^32 is never 0 */
        double radius = sqrt(-2 * log_unit(((double)word[k] + 1) * 0x1p-32)), cosine, sine;
        cosine_sine(&cosine, &sine, word[k + 1]);
        out[k] = radius * cosine;
        out[k + 1] = radius * sine;
    }
}

void hki_normal_fill(float *out, int64_t count, hki_key key, float mean, float deviation)
{
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t word[4];
        double normal[4];
        hki_philox64(word, key, 0, (uint64_t)i / 4);
        hki_normal_words(normal, word);
        for (int k = 0; k < 4 && i + k < count; k++)
            out[i + k] = mean + deviation * (float)normal[k];
    }
}

void hki_uniform_fill(float *out, int64_t count, hki_key key, float low, float high)
{
    float range = high - low;
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t word[4];
        hki_philox64(word, key, 0, (uint64_t)i / 4);
        for (int k = 0; k < 4 && i + k < count; k++)
            out[i + k] = low + range * hki_uniform_float(word[k]);
    }
}

uint64_t hki_permute(uint64_t index, uint64_t count, hki_key key)
{
    int bits = 1;
    while (bits < 64 && (count - 1) >> bits)
        bits++;
    /* The number is cut in two parts; a round replaces (left, right) by (right, left ^ f(right)), so the parts swap
     * their widths, and after an even number of rounds they are as before. What lands beyond count walks on. */
    do {
        int left_bits = bits / 2, right_bits = bits - left_bits;
        uint64_t right = index & (((uint64_t)1 << right_bits) - 1), left = index >> right_bits;
        for (uint32_t round = 0; round < 8; round++) {
            uint32_t word[4];
            hki_philox(word, key, (uint32_t)right, (uint32_t)(right >> 32), round, (uint32_t)bits);
            uint64_t mixed = (left ^ word[0]) & (((uint64_t)1 << left_bits) - 1);
            left = right;
            right = mixed;
            int width = left_bits;
            left_bits = right_bits;
            right_bits = width;
        }
        index = left << right_bits | right;
    } while (index >= count);
    return index;
}
