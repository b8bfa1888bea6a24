/* Series of double precision after exact range reduction. */
#include "data/portable_math.h"

#include <string.h>

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double bits_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

int64_t hki_portable_floor(double x)
{
    int64_t i = (int64_t)x;
    return i - (x < (double)i);
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.1716. */
double hki_portable_log(double x)
{
    int exponent = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p60;
        exponent = -60;
    }
    uint64_t bits = double_bits(x);
    exponent += (int)(bits >> 52) - 1023;
    double m = bits_double((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), z = s * s, series = 1.0 / 19;
    for (int n = 17; n >= 1; n -= 2)
        series = series * z + 1.0 / n;
    return exponent * 0.693147180369123816490 + (2 * s * series + exponent * 1.90821492927058770002e-10);
}

/* x = k log 2 + r, |r| <= 0.3466; e^r by Taylor's series. */
double hki_portable_exp(double x)
{
    if (!(x > -700))
        return 0;
    x = x > 700 ? 700 : x;
    int64_t k = hki_portable_floor(x * 1.4426950408889634 + 0.5);
    double r = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
    double series = 1;
    for (int n = 15; n >= 1; n--)
        series = 1 + series * r / n;
    return series * bits_double((uint64_t)(k + 1023) << 52);
}

/* Quarter turns exactly, the rest, at most 45 degrees, by Taylor's series. */
void hki_portable_sincos(double *out_sine, double *out_cosine, double degrees)
{
    int64_t quarter = hki_portable_floor(degrees / 90 + 0.5);
    double r = (degrees - 90 * (double)quarter) * 0.017453292519943295, z = r * r;
    double sine = 1, cosine = 1;
    for (int n = 16; n >= 2; n -= 2) {
        sine = 1 - sine * z / (n * (n + 1));
        cosine = 1 - cosine * z / (n * (n - 1));
    }
    sine *= r;
    switch (quarter & 3) {
    case 0:
        *out_sine = sine;
        *out_cosine = cosine;
        break;
    case 1:
        *out_sine = cosine;
        *out_cosine = -sine;
        break;
    case 2:
        *out_sine = -sine;
        *out_cosine = -cosine;
        break;
    default:
        *out_sine = -cosine;
        *out_cosine = sine;
        break;
    }
}
