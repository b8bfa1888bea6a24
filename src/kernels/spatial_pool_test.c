/* Pool kernels: against plain loops on small windows, and the same bytes in every ISA, with NaN and ties. */
#include "harness/test.h"
#include "harness/isas.h"

#define N 6000

static const int64_t channel_counts[] = {1, 3, 15, 16, 17, 33, 64};
#define COUNT (int)(sizeof channel_counts / sizeof channel_counts[0])

/* A window of 2 x 3 at a row of width 7. */
static hkk_pool_taps window(int64_t *taps, int64_t channels)
{
    for (int64_t k = 0; k < 6; k++)
        taps[k] = (k / 3 * 7 + k % 3) * channels;
    return (hkk_pool_taps){taps, 6, 3, 2 * channels, channels, channels, 6, 0};
}

TEST(values)
{
    static float x[N], y[N], z[N], dy[N], dx[N], dz[N];
    int64_t taps[6];
    const hkk_spatial_pool_kernels *k = hkk_kernels_get(HKI_ISA_C)->spatial_pool;
    for (int i = 0; i < COUNT; i++) {
        int64_t c_count = channel_counts[i];
        hkk_pool_taps t = window(taps, c_count);
        test_fill(x, N, 3);
        test_fill(dy, N, 4);
        for (int64_t j = 0; j < N; j++)
            x[j] = floorf(x[j] * 3); /* many ties */
        memset(dx, 0, sizeof dx);
        memset(dz, 0, sizeof dz);
        k->max(y, x, &t);
        k->sum(z, x, &t);
        k->max_grad(dx, dy, x, &t);
        k->sum_grad(dz, dy, &t);
        static float expected_dx[N], expected_dz[N];
        memset(expected_dx, 0, sizeof dx);
        memset(expected_dz, 0, sizeof dz);
        for (int64_t p = 0; p < 3; p++)
            for (int64_t c = 0; c < c_count; c++) {
                int64_t best = 0;
                float sum = 0;
                for (int64_t tap = 0; tap < 6; tap++) {
                    int64_t at = p * t.x_step + taps[tap] + c;
                    sum += x[at];
                    expected_dz[at] += dy[p * c_count + c] / 6;
                    if (x[at] > x[p * t.x_step + taps[best] + c])
                        best = tap;
                }
                expected_dx[p * t.x_step + taps[best] + c] += dy[p * c_count + c];
                CHECK(y[p * c_count + c] == x[p * t.x_step + taps[best] + c]);
                CHECK(z[p * c_count + c] == sum / 6);
            }
        CHECK_BYTES(dx, expected_dx, sizeof dx);
        CHECK_BYTES(dz, expected_dz, sizeof dz);
    }
}

static void run_all(float *out, const hkk_spatial_pool_kernels *k, const float *x, const float *dy, int64_t channels)
{
    int64_t taps[6];
    hkk_pool_taps t = window(taps, channels), none = t, square = t;
    none.tap_count = 0;
    square.tap_count = 4;
    square.disjoint = 1;
    memset(out, 0, 5 * N * sizeof *out);
    k->max(out, x, &t);
    k->sum(out + N, x, &t);
    k->max_grad(out + 2 * N, dy, x, &t);
    k->sum_grad(out + 3 * N, dy, &t);
    k->max(out + 4 * N, x, &none);
    k->sum(out + 4 * N + 1000, x, &none);
    k->max_grad(out + 4 * N + 2000, dy, x, &none);
    k->max_grad(out + 4 * N + 2000, dy, x, &square);
    k->max(out + 4 * N + 5000, x, &square);
}

TEST(bytes)
{
    static float x[N + 1], dy[N + 1], expected[5 * N], y[5 * N];
    for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int i = 0; i < COUNT && kernels; i++)
            for (int special = 0; special < 2; special++) {
                test_fill(x, N + 1, 3);
                test_fill(dy, N + 1, 4);
                if (special)
                    test_strew_special(x, N + 1, 9, 20);
                run_all(expected, hkk_kernels_get(HKI_ISA_C)->spatial_pool, x + 1, dy + 1, channel_counts[i]);
                run_all(y, kernels->spatial_pool, x + 1, dy + 1, channel_counts[i]);
                CHECK_EQ(test_first_difference(expected, y, 5 * N), -1);
            }
    }
}

TEST_MAIN()
