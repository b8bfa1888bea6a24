/* Normalization kernels: moments and gradients against double precision, also far from zero; the same bytes in every
 * ISA. */
#include "harness/test.h"
#include "harness/isas.h"

#define N 20000

static const int64_t widths[] = {1, 2, 15, 16, 17, 63, 64, 65, 100, 129};
#define COUNT (int)(sizeof widths / sizeof widths[0])

static void moments_double(double *mean, double *m2, const float *x, int64_t n, int64_t stride)
{
    *mean = *m2 = 0;
    for (int64_t i = 0; i < n; i++)
        *mean += x[i * stride] / (double)n;
    for (int64_t i = 0; i < n; i++)
        *m2 += (x[i * stride] - *mean) * (x[i * stride] - *mean);
}

TEST(moments)
{
    static float x[N], mean[200], m2[200], mean_b[200], m2_b[200];
    const hkk_normalize_kernels *k = hkk_kernels_get(HKI_ISA_C)->normalize;
    for (int far = 0; far < 2; far++)
        for (int i = 0; i < COUNT; i++) {
            int64_t c_count = widths[i], rows = 90;
            test_fill(x, N, 3);
            for (int64_t j = 0; j < N; j++)
                x[j] += far ? 1000 : 0;
            k->moments_columns(mean, m2, x, 64, c_count);
            k->moments_columns(mean_b, m2_b, x + 64 * c_count, rows - 64, c_count);
            k->merge_moments(mean, m2, mean_b, m2_b, 64, rows - 64, c_count);
            for (int64_t c = 0; c < c_count; c++) {
                double expected, squares;
                moments_double(&expected, &squares, x + c, rows, c_count);
                CHECK_CLOSE(mean[c], expected, 1e-6);
                CHECK_CLOSE(m2[c], squares, far ? 2e-4 : 1e-5);
            }
            double expected, squares;
            moments_double(&expected, &squares, x, c_count * rows, 1);
            k->moments_row(mean, m2, x, c_count * rows);
            CHECK_CLOSE(mean[0], expected, 1e-5);
            CHECK_CLOSE(m2[0], squares, far ? 2e-4 : 1e-5);
        }
}

TEST(layer_norm)
{
    static float x[N], y[N], scale[200], bias[200], mean[20], inv_std[20], dy[N], dx[N], dscale[200], dbias[200];
    const hkk_normalize_kernels *k = hkk_kernels_get(HKI_ISA_C)->normalize;
    test_fill(x, N, 3);
    test_fill(dy, N, 4);
    test_fill(scale, 200, 5);
    test_fill(bias, 200, 6);
    for (int centered = 0; centered < 2; centered++)
        for (int i = 0; i < COUNT; i++) {
            int64_t n = widths[i], rows = 7;
            k->layer_norm_rows(y, mean, inv_std, x, scale, bias, rows, n, 0.01f, centered);
            memset(dscale, 0, sizeof dscale);
            memset(dbias, 0, sizeof dbias);
            k->layer_norm_grad_rows(dx, dscale, dbias, dy, x, scale, mean, inv_std, rows, n, centered);
            for (int64_t r = 0; r < rows; r++) {
                double m, m2, sum = 0, product = 0;
                moments_double(&m, &m2, x + r * n, n, 1);
                if (!centered) {
                    m2 += (double)n * m * m;
                    m = 0;
                }
                double s = 1 / sqrt(m2 / (double)n + 0.01f);
                for (int64_t j = r * n; j < r * n + n; j++) {
                    sum += dy[j] * scale[j - r * n];
                    product += dy[j] * scale[j - r * n] * (x[j] - m);
                }
                for (int64_t j = r * n; j < r * n + n; j++) {
                    double g = dy[j] * scale[j - r * n] - (centered ? sum / (double)n : 0);
                    CHECK_CLOSE(y[j], (x[j] - m) * s * scale[j - r * n] + bias[j - r * n], 1e-5);
                    CHECK_CLOSE(dx[j], s * (g - (x[j] - m) * s * s * product / (double)n), 1e-5);
                }
            }
            for (int64_t j = 0; j < n; j++) {
                double a = 0, b = 0;
                for (int64_t r = 0; r < rows; r++) {
                    a += dy[r * n + j] * (x[r * n + j] - (double)mean[r]) * inv_std[r];
                    b += dy[r * n + j];
                }
                CHECK_CLOSE(dscale[j], a, 1e-5);
                CHECK_CLOSE(dbias[j], b, 1e-5);
            }
        }
}

/* Every kernel on a matrix of 7 rows; results one after the other in out. */
static float *run_all(float *out, const hkk_normalize_kernels *k, const float *x, const float *dy, const float *v,
                      int64_t c)
{
    float *mean = out, *m2 = mean + c, *next = m2 + c;
    k->moments_columns(mean, m2, x, 7, c);
    k->merge_moments(mean, m2, v, v + c, 7, 5, c);
    for (int relu = 0; relu < 2; relu++) {
        const float *bias = relu ? v + 3 * c : NULL;
        k->apply_columns(next, x, mean, v, v + c, 7, c, relu);
        next += 7 * c;
        k->grad_sums_columns(next, next + c, dy, x, mean, v, bias, 7, c);
        next += 2 * c;
        k->grad_columns(next, dy, x, mean, v, v + c, v + 2 * c, bias, 7, c);
        next += 7 * c;
        k->moments_row(next, next + 1, x, 7 * c);
        k->grad_sums_row(next + 2, next + 3, dy, x, 7 * c, 0.25f, 1.5f, 0.2f, relu);
        k->apply_row(next + 4, x, c, 0.25f, 1.5f, -0.125f, relu);
        k->grad_row(next + 4 + c, dy, x, c, 0.25f, 1.5f, -0.125f, 0.3f, 0.2f, relu);
        next += 4 + 2 * c;
    }
    k->layer_norm_rows(next, next + 7 * c, next + 7 * c + 7, x, v, v + c, 7, c, 1e-5f, 1);
    float *moments = next + 7 * c;
    next += 7 * c + 14;
    memset(next, 0, 2 * (size_t)c * sizeof *next);
    k->layer_norm_grad_rows(next + 2 * c, next, next + c, dy, x, v, moments, moments + 7, 7, c, 1);
    return next + 9 * c;
}

TEST(bytes)
{
    static float x[N], dy[N], v[1000], expected[N], y[N];
    for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int i = 0; i < COUNT && kernels; i++)
            for (int special = 0; special < 2; special++) {
                test_fill(x, N, 3);
                test_fill(dy, N, 4);
                test_fill(v, 1000, 5);
                if (special)
                    test_strew_special(x, N, 9, 200);
                memset(y, 0x5A, sizeof y);
                memset(expected, 0x5A, sizeof expected);
                run_all(expected, hkk_kernels_get(HKI_ISA_C)->normalize, x + 1, dy + 1, v + 1, widths[i]);
                float *end = run_all(y, kernels->normalize, x + 1, dy + 1, v + 1, widths[i]);
                CHECK(end < y + N);
                CHECK_EQ(test_first_difference(expected, y, N), -1);
            }
    }
}

TEST_MAIN()
