/* Halves: all 65,536 of them both ways, rounding against an oracle in double arithmetic and the compiler's own; casts.
 */
#include "tensor/number.h"

#include "harness/test.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of a half by its definition. */
static double half_value(unsigned half)
{
    int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

TEST(float16_all_values)
{
    for (unsigned half = 0; half < 65536; half++) {
        float value = hki_float16_to_float((uint16_t)half);
        double expected = half_value(half);
        bool nan = expected != expected;
        if (nan ? value == value : (double)value != expected || !!signbit(value) != half >> 15)
            CHECK_EQ(half, -1);
        uint16_t back = hki_float_to_float16(value);
        if (back != (nan ? half | 0x200 : half))
            CHECK_EQ(back, half);
        if (hki_double_to_float16((double)value) != back)
            CHECK_EQ(hki_double_to_float16((double)value), back);
    }
}

TEST(bfloat16_all_values)
{
    for (unsigned half = 0; half < 65536; half++) {
        float value = hki_bfloat16_to_float((uint16_t)half);
        bool nan = (half & 0x7fff) > 0x7f80;
        uint16_t back = hki_float_to_bfloat16(value);
        if (bits_of(value) != half << 16 || back != (nan ? half | 0x40 : half))
            CHECK_EQ(back, half);
    }
}

/* Nearest half, ties to even, found by comparing with the midpoint of two neighbours; exact in double. */
static unsigned oracle(double value)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    if (value != value)
        return sign | 0x7e00;
    value = fabs(value);
    unsigned low = 0, high = 0x7c00; /* the largest half not above value, by bisection */
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (half_value(middle) <= value)
            low = middle;
        else
            high = middle;
    }
    double above = low == 0x7bff ? 65536 : half_value(low + 1), midpoint = (half_value(low) + above) / 2;
    return sign | (low + (value > midpoint || (value == midpoint && (low & 1))));
}

static void check_float(float value)
{
    unsigned got = hki_float_to_float16(value), expected = oracle(value);
    if (value == value ? got != expected : (got & 0x7c00) != 0x7c00 || !(got & 0x3ff))
        CHECK_EQ(got, expected);
    unsigned from_double = hki_double_to_float16((double)value);
    if (from_double != got)
        CHECK_EQ(from_double, got);
#ifdef __FLT16_MAX__
    _Float16 compiler = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &compiler, sizeof bits);
    if (value == value && bits != got)
        CHECK_EQ(got, bits);
#endif
}

TEST(float16_rounds_to_nearest_even)
{
    for (unsigned half = 0; half < 0x7c00; half++) { /* every midpoint and its neighbours, both signs */
        double above = half == 0x7bff ? 65536 : half_value(half + 1);
        float midpoint = (float)((half_value(half) + above) / 2); /* exact in float */
        for (int step = -1; step <= 1; step++) {
            float value = float_of(bits_of(midpoint) + (uint32_t)step);
            check_float(value);
            check_float(-value);
        }
    }
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 65521 / 16)
        check_float(float_of((uint32_t)bits));
    check_float(0x1p-25f);
    check_float(nextafterf(0x1p-25f, 1));
    check_float(INFINITY);
    check_float(-INFINITY);
    check_float(NAN);
}

TEST(double_rounds_once)
{
    double midpoint = 1 + 0x1p-11; /* between 1 and its successor: even is 1 */
    CHECK_EQ(hki_double_to_float16(midpoint), 0x3c00);
    CHECK_EQ(hki_double_to_float16(midpoint + 0x1p-50),
             0x3c01); /* through float it would round to the midpoint, then to 1 */
    CHECK_EQ(hki_double_to_float16(-midpoint - 0x1p-50), 0xbc01);
    CHECK_EQ(hki_double_to_float16(midpoint - 0x1p-50), 0x3c00);
    CHECK_EQ(hki_double_to_float16(65520 - 0x1p-30), 0x7bff);
    CHECK_EQ(hki_double_to_float16(65520), 0x7c00);
    CHECK_EQ(hki_double_to_float16(1e300), 0x7c00);
    CHECK_EQ(hki_double_to_float16(-1e-300), 0x8000);
    CHECK_EQ(hki_double_to_float16(0x1p-25), 0);
    CHECK_EQ(hki_double_to_float16(0x1p-25 + 0x1p-70), 1);
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = ldexp((double)(state >> 11) * 0x1p-53 + 0.5, (int)(state % 50) - 30);
        if (hki_double_to_float16(value) != oracle(value))
            CHECK_EQ(hki_double_to_float16(value), oracle(value));
    }
}

TEST(bfloat16_rounds_to_nearest_even)
{
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x3f808000)), 0x3f80);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x3f818000)), 0x3f82);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x3f808001)), 0x3f81);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x7f7fffff)), 0x7f80);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x7f800001)), 0x7fc0);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0xff800001)), 0xffc0);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x00008000)), 0);
    CHECK_EQ(hki_float_to_bfloat16(float_of(0x00008001)), 1);
}

#define CONVERT(to_type, to_dtype, from_type, from_dtype, value, expected)                      \
    do {                                                                                        \
        from_type from_ = (value);                                                              \
        to_type to_ = 0;                                                                        \
        CHECK_OK(hki_convert(&to_, to_dtype, &from_, from_dtype, 1));                           \
        CHECK(to_ == (to_type)(expected));                                                      \
    } while (0)

TEST(casts)
{
    CONVERT(int8_t, HK_INT8, float, HK_FLOAT, -1.9f, -1);
    CONVERT(int8_t, HK_INT8, float, HK_FLOAT, 300, 127);
    CONVERT(int8_t, HK_INT8, float, HK_FLOAT, -INFINITY, -128);
    CONVERT(uint8_t, HK_UINT8, float, HK_FLOAT, -3, 0);
    CONVERT(uint8_t, HK_UINT8, float, HK_FLOAT, 255.9f, 255);
    CONVERT(int32_t, HK_INT32, float, HK_FLOAT, NAN, 0);
    CONVERT(int32_t, HK_INT32, float, HK_FLOAT, 2147483648.0f, INT32_MAX);
    CONVERT(int64_t, HK_INT64, double, HK_DOUBLE, 1e30, INT64_MAX);
    CONVERT(int64_t, HK_INT64, double, HK_DOUBLE, -1e30, INT64_MIN);
    CONVERT(uint64_t, HK_UINT64, double, HK_DOUBLE, 0x1p64, UINT64_MAX);
    CONVERT(uint64_t, HK_UINT64, double, HK_DOUBLE, 0x1p63, (uint64_t)1 << 63);
    CONVERT(uint8_t, HK_BOOL, float, HK_FLOAT, 0.25f, 1);
    CONVERT(uint8_t, HK_BOOL, float, HK_FLOAT, -0.0f, 0);
    CONVERT(uint8_t, HK_BOOL, float, HK_FLOAT, NAN, 1);
    CONVERT(uint8_t, HK_BOOL, uint8_t, HK_BOOL, 7, 1);
    CONVERT(float, HK_FLOAT, uint8_t, HK_BOOL, 1, 1);
    CONVERT(uint8_t, HK_UINT8, int32_t, HK_INT32, 257, 1);
    CONVERT(int64_t, HK_INT64, uint64_t, HK_UINT64, UINT64_MAX, -1);
    CONVERT(float, HK_FLOAT, int64_t, HK_INT64, 16777217, 16777216);
    CONVERT(float, HK_FLOAT, int64_t, HK_INT64, (int64_t)1 << 62 | (int64_t)1 << 38 | 1, 0x1p62f + 0x1p39f);
    CONVERT(double, HK_DOUBLE, float, HK_FLOAT, 0.1f, (double)0.1f);
    CONVERT(float, HK_FLOAT, double, HK_DOUBLE, 0.1, 0.1f);
    CONVERT(uint16_t, HK_FLOAT16, int32_t, HK_INT32, 2049, 0x6800);
    CONVERT(uint16_t, HK_FLOAT16, int64_t, HK_INT64, INT64_MAX, 0x7c00);
    CONVERT(uint16_t, HK_FLOAT16, uint16_t, HK_BFLOAT16, 0x3f80, 0x3c00);
    CONVERT(uint16_t, HK_BFLOAT16, int64_t, HK_INT64, ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1, 0x5e81);
    CONVERT(uint16_t, HK_BFLOAT16, int64_t, HK_INT64, -((int64_t)1 << 62) - ((int64_t)1 << 54), 0xde80);
    CONVERT(uint16_t, HK_BFLOAT16, uint64_t, HK_UINT64, ((uint64_t)1 << 63) + ((uint64_t)1 << 55) + 1, 0x5f01);
}

TEST(casts_of_many)
{
    enum { N = 1000 };
    int32_t from[N];
    uint16_t half[N];
    double back[N];
    for (int i = 0; i < N; i++)
        from[i] = i - N / 2;
    REQUIRE_OK(hki_convert(half, HK_FLOAT16, from, HK_INT32, N));
    REQUIRE_OK(hki_convert(back, HK_DOUBLE, half, HK_FLOAT16, N));
    for (int i = 0; i < N; i++)
        CHECK_EQ(back[i], from[i]);
    REQUIRE_OK(hki_convert(back, HK_DOUBLE, back, HK_DOUBLE, 0));
    CHECK_FAILS(hki_convert(half, HK_COMPLEX64, from, HK_INT32, 1), HK_INVALID_TYPE, "int32 to complex64");
    CHECK_FAILS(hki_convert(half, HK_INT32, from, HK_STRING, 1), HK_INVALID_TYPE, "string");
}

TEST_MAIN()
