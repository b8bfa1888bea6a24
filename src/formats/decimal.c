/* Decimal numbers as text. Short numbers are converted exactly by one multiplication or division (Clinger, "How to read
 * floating point numbers accurately", 1990); long ones go through strtod in a spelling without a decimal point, which
 * no locale changes. */
#include "formats/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_LIMIT 780 /* halfway points between doubles have at most 767 significant digits */
#define EXACT_POWER 22  /* 10^22 is the last power of ten that is a double */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number taken apart: 0.digits without leading zeros, times a power of ten. */
typedef struct scan {
    int64_t exponent;  /* of ten, behind the last digit kept */
    uint64_t mantissa; /* of the first 19 digits */
    int count;         /* digits kept */
    bool negative, any;
    bool more; /* a digit that was dropped is not 0 */
    char digits[DIGIT_LIMIT + 16];
} scan;

/* Takes one digit; `fraction` is 1 behind the decimal point. */
static void take_digit(scan *s, char c, int fraction)
{
    s->any = true;
    if (s->count == 0 && c == '0') {
        s->exponent -= fraction;
    } else if (s->count < DIGIT_LIMIT) {
        if (s->count < 19)
            s->mantissa = s->mantissa * 10 + (uint64_t)(c - '0');
        s->digits[s->count++] = c;
        s->exponent -= fraction;
    } else {
        s->more |= c != '0';
        s->exponent += 1 - fraction;
    }
}

/* Reads e[+-]digits at `i`, if complete, and returns the position behind it. */
static size_t scan_exponent(scan *s, const char *text, size_t size, size_t i)
{
    size_t start = i;
    if (i >= size || (text[i] != 'e' && text[i] != 'E'))
        return start;
    i++;
    bool negative = i < size && text[i] == '-';
    if (i < size && (text[i] == '-' || text[i] == '+'))
        i++;
    if (i >= size || !is_digit(text[i]))
        return start;
    int64_t exponent = 0;
    for (; i < size && is_digit(text[i]); i++)
        if (exponent < (int64_t)1 << 50)
            exponent = exponent * 10 + (text[i] - '0');
    s->exponent += negative ? -exponent : exponent;
    return i;
}

static double to_double(scan *s)
{
    static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (s->count == 0)
        return 0;
    if (s->count <= 19 && s->mantissa <= (uint64_t)1 << 53 && s->exponent >= -EXACT_POWER && s->exponent <= EXACT_POWER)
        return s->exponent < 0 ? (double)s->mantissa / powers[-s->exponent] : (double)s->mantissa * powers[s->exponent];
    if (s->exponent + s->count > 400)
        return INFINITY;
    if (s->exponent + s->count < -400)
        return 0;
    char *end = s->digits + s->count;
    if (s->more) { /* a last digit that says: a little above */
        *end++ = '1';
        s->exponent--;
    }
    snprintf(end, 12, "e%d", (int)s->exponent);
    return strtod(s->digits, NULL);
}

/* Sets the exact integer, if the number is one. */
static void to_integer(hki_decimal *out, const scan *s)
{
    uint64_t limit = s->negative ? (uint64_t)1 << 63 : (uint64_t)INT64_MAX;
    uint64_t value = s->mantissa;
    int64_t exponent = s->exponent;
    out->integer = 0;
    out->is_integer = s->count == 0;
    if (s->count == 0 || s->count > 19 || exponent > 18)
        return;
    for (; exponent < 0 && value % 10 == 0; exponent++)
        value /= 10;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(value, 10, &value))
            return;
    if (exponent < 0 || value > limit)
        return;
    out->is_integer = true;
    out->integer = s->negative ? (int64_t)(0 - value) : (int64_t)value;
}

size_t hki_decimal_read(hki_decimal *out, const char *text, size_t size)
{
    scan s; /* digits[] stays uninitialised: clearing it would cost more than most numbers */
    s.exponent = 0;
    s.mantissa = 0;
    s.count = 0;
    s.any = s.more = false;
    size_t i = 0;
    s.negative = size && text[0] == '-';
    if (size && (text[0] == '-' || text[0] == '+'))
        i++;
    for (; i < size && is_digit(text[i]); i++)
        take_digit(&s, text[i], 0);
    if (i < size && text[i] == '.')
        for (i++; i < size && is_digit(text[i]); i++)
            take_digit(&s, text[i], 1);
    if (!s.any)
        return 0;
    i = scan_exponent(&s, text, size, i);
    to_integer(out, &s);
    double magnitude = to_double(&s);
    out->value = s.negative ? -magnitude : magnitude;
    return i;
}

const char *hki_decimal_text(char *out, double value)
{
    if (value != value || value == INFINITY || value == -INFINITY)
        {
        snprintf(out, HKI_DECIMAL_TEXT, "%s", value != value ? "nan" : value > 0 ? "inf" : "-inf");
        return out;
    }
    for (int precision = 15; precision <= 17; precision++) {
        char text[HKI_DECIMAL_TEXT];
        snprintf(text, sizeof text, "%.*g", precision, value);
        char *to = out;
        for (const char *from = text; *from; from++) {
            bool plain = is_digit(*from) || *from == '-' || *from == '+' || *from == 'e';
            if (plain)
                *to++ = *from;
            else if (to == out || to[-1] != '.') /* the locale's decimal point, of one byte or more */
                *to++ = '.';
        }
        *to = '\0';
        hki_decimal back;
        if (hki_decimal_read(&back, out, strlen(out)) && back.value == value)
            break;
    }
    return out;
}
