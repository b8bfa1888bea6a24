/* Every lane function gives the same bits in every ISA, on ordinary and on special values. */
#include "harness/test.h"
#include "harness/isas.h"
#include "lanes_probe.h"

static lanes_probe_fn *const probes[HKI_ISA_COUNT] = {
    [HKI_ISA_C] = lanes_probe__c,
#if defined(__x86_64__)
    [HKI_ISA_AVX2] = lanes_probe__avx2,
    [HKI_ISA_AVX512] = lanes_probe__avx512,
#endif
};

/* Words are equal, or both are NaNs of which only payload and sign are open; half-precision NaNs likewise, two in a
 * word. */
static bool same_word(const float *a, const float *b)
{
    uint16_t x[2], y[2];
    if (!memcmp(a, b, sizeof *a) || (isnan(*a) && isnan(*b)))
        return true;
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (int i = 0; i < 2; i++)
        if (x[i] != y[i] && !((x[i] & 0x7FFF) > 0x7C00 && (y[i] & 0x7FFF) > 0x7C00))
            return false;
    return true;
}

static void check(const float *x, const float *y, const float *z, int n)
{
    static float expected[16 * LANES_PROBE_ROWS], found[16 * LANES_PROBE_ROWS];
    int rows = lanes_probe__c(expected, x, y, z, n);
    CHECK(rows <= LANES_PROBE_ROWS);
    for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
        if (!test_isa_kernels(isa))
            continue;
        CHECK_EQ(probes[isa](found, x, y, z, n), rows);
        for (int i = 0; i < 16 * rows; i++)
            if (!same_word(&expected[i], &found[i])) {
                printf("     isa %d, row %d of the probe, lane %d: %.9g, expected %.9g\n", isa, i / 16, i % 16,
                       found[i], expected[i]);
                CHECK(false);
                return;
            }
    }
}

TEST(ordinary_values)
{
    static const float scales[] = {1, 3, 1e5f, 3e9f, 1e-6f, 1e20f, 1e-38f};
    float x[16], y[16], z[16];
    for (uint64_t round = 0; round < 20000; round++) {
        test_fill(x, 16, 3 * round);
        test_fill(y, 16, 3 * round + 1);
        test_fill(z, 16, 3 * round + 2);
        for (int i = 0; i < 16; i++) {
            x[i] *= scales[round % 7];
            y[i] *= scales[(round / 7 + (uint64_t)i) % 7];
        }
        check(x, y, z, (int)(round % 17));
    }
}

TEST(special_values)
{
    float x[16], y[16], z[16];
    for (uint64_t round = 0; round < 20000; round++) {
        test_fill(x, 16, round);
        test_fill(y, 16, round + 1);
        test_fill(z, 16, round + 2);
        test_strew_special(x, 16, round, 2);
        test_strew_special(y, 16, round + 7, 2);
        test_strew_special(z, 16, round + 13, 3);
        check(x, y, z, (int)(round % 17));
    }
}

/* Halves of integers and their neighbours: where rounding and truncation decide; and the borders of int32. */
TEST(rounding)
{
    float x[16], y[16] = {0};
    for (int base = -40; base < 40; base++) {
        for (int i = 0; i < 16; i++)
            x[i] = nextafterf((float)base * 0.5f, i % 3 == 0 ? -INFINITY : i % 3 == 1 ? INFINITY : (float)base * 0.5f);
        check(x, y, y, 5);
    }
    static const float borders[16] = {
        2147483648.0f, -2147483648.0f, 2147483520.0f, -2147483904.0f, 8388607.5f, 8388608.5f, 16777217.0f, -8388607.5f,
        65519.0f,      65520.0f,       65504.0f,      6.0e-8f,        2.98e-8f,   2.99e-8f,   6.1e-5f,     6.09e-5f};
    check(borders, y, y, 16);
}

TEST_MAIN()
