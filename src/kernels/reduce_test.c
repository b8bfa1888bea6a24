/* Reduce and softmax kernels: values against plain loops in double precision, the same bytes in every ISA, nothing
 * written past the end. */
#include "harness/test.h"
#include "harness/isas.h"

#define MAX_ELEMENTS 20000

static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 100, 127, 128, 129, 1000};
#define SIZE_COUNT (int)(sizeof sizes / sizeof sizes[0])

/* A NaN comes through, as in the kernels. */
static double reduce_double(hkk_reduction op, const float *x, int64_t n, int64_t stride)
{
    double a = op == HKK_PRODUCT                        ? 1
               : op == HKK_MAX || op == HKK_LOG_SUM_EXP ? -INFINITY
               : op == HKK_MIN                          ? INFINITY
                                                        : 0;
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * stride];
        switch (op) {
        case HKK_SUM:
            a += v;
            break;
        case HKK_SUM_ABS:
            a += fabs(v);
            break;
        case HKK_SUM_SQUARE:
            a += v * v;
            break;
        case HKK_PRODUCT:
            a *= v;
            break;
        case HKK_MIN:
            a = isnan(a) || isnan(v) ? NAN : fmin(a, v);
            break;
        default:
            a = isnan(a) || isnan(v) ? NAN : fmax(a, v);
        }
    }
    if (op == HKK_LOG_SUM_EXP && isfinite(a)) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += exp((double)x[i * stride] - a);
        a += log(sum);
    }
    return a;
}

static void check_close(float y, double expected)
{
    if (isinf(expected))
        CHECK((double)y == expected);
    else
        CHECK_CLOSE(y, expected, 2e-5);
}

TEST(reduce_values)
{
    static float x[MAX_ELEMENTS], y[1024];
    const hkk_reduce_kernels *k = hkk_kernels_get(HKI_ISA_C)->reduce;
    for (int op = 0; op < HKK_REDUCTION_COUNT; op++)
        for (int s = 0; s < SIZE_COUNT; s++) {
            int64_t n = sizes[s];
            test_fill(x, MAX_ELEMENTS, 3);
            for (int i = 0; i < MAX_ELEMENTS && op == HKK_PRODUCT; i++)
                x[i] = 1 + x[i] / 64;
            k->rows[op](y, x, 3, n);
            for (int r = 0; r < 3; r++)
                check_close(y[r], reduce_double(op, x + r * n, n, 1));
            k->columns[op](y, x, 17, n + 2, n);
            for (int64_t j = 0; j < n; j++)
                check_close(y[j], reduce_double(op, x + j, 17, n + 2));
        }
}

TEST(reduce_special_values)
{
    static float x[MAX_ELEMENTS], y[1024];
    const hkk_reduce_kernels *k = hkk_kernels_get(HKI_ISA_C)->reduce;
    test_fill(x, MAX_ELEMENTS, 5);
    x[20] = NAN;
    x[70] = INFINITY;
    for (int op = 0; op < HKK_REDUCTION_COUNT; op++) {
        k->rows[op](y, x, 1, 100);
        CHECK(isnan(y[0]));
        k->rows[op](y, x + 30, 1, 67);
        double expected = reduce_double(op, x + 30, 67, 1);
        CHECK(isinf(expected) ? isinf(y[0]) : fabs(y[0] - expected) < 1e-5);
    }
    float low[3] = {-INFINITY, -INFINITY, -INFINITY};
    k->rows[HKK_LOG_SUM_EXP](y, low, 1, 3);
    CHECK(isinf(y[0]) && y[0] < 0);
}

TEST(reduce_bytes)
{
    static float x[MAX_ELEMENTS], expected[1100], y[1100];
    for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        if (!kernels)
            continue;
        for (int special = 0; special < 2; special++)
            for (int op = 0; op < HKK_REDUCTION_COUNT; op++)
                for (int s = 0; s < SIZE_COUNT; s++) {
                    int64_t n = sizes[s];
                    test_fill(x, MAX_ELEMENTS, (uint64_t)s + 1);
                    if (special)
                        test_strew_special(x, MAX_ELEMENTS, 9, 50);
                    memset(y, 0x5A, sizeof y);
                    memset(expected, 0x5A, sizeof y);
                    hkk_kernels_get(HKI_ISA_C)->reduce->rows[op](expected, x + 1, 5, n);
                    kernels->reduce->rows[op](y, x + 1, 5, n);
                    CHECK_EQ(test_first_difference(expected, y, 1100), -1);
                    hkk_kernels_get(HKI_ISA_C)->reduce->columns[op](expected, x + 1, 19, n, n);
                    kernels->reduce->columns[op](y, x + 1, 19, n, n);
                    CHECK_EQ(test_first_difference(expected, y, 1100), -1);
                }
    }
}

/* ---- Softmax. ---- */

static void check_softmax(const hkk_softmax_kernels *k, const float *x, int64_t n, bool rows)
{
    static float y[MAX_ELEMENTS], z[MAX_ELEMENTS], dx[MAX_ELEMENTS], dz[MAX_ELEMENTS], dy[MAX_ELEMENTS];
    int64_t stride = rows ? 1 : 21, count = n * (rows ? 3 : 21);
    test_fill(dy, count, 11);
    if (rows) {
        k->softmax_rows(y, x, 3, n);
        k->log_softmax_rows(z, x, 3, n);
        k->softmax_grad_rows(dx, dy, y, 3, n);
        k->log_softmax_grad_rows(dz, dy, z, 3, n);
    } else {
        k->softmax_columns(y, x, n, stride, 21);
        k->log_softmax_columns(z, x, n, stride, 21);
        k->softmax_grad_columns(dx, dy, y, n, stride, 21);
        k->log_softmax_grad_columns(dz, dy, z, n, stride, 21);
    }
    for (int64_t line = 0; line < (rows ? 3 : 21); line++) {
        int64_t first = rows ? line * n : line;
        double lse = reduce_double(HKK_LOG_SUM_EXP, x + first, n, stride), weighted = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            weighted += dy[first + i * stride] * exp(x[first + i * stride] - lse);
            sum += dy[first + i * stride];
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t at = first + i * stride;
            double p = exp(x[at] - lse);
            CHECK_CLOSE(y[at], p, 1e-6);
            CHECK_CLOSE(z[at], x[at] - lse, 2e-6);
            CHECK_CLOSE(dx[at], p * (dy[at] - weighted), 1e-5);
            CHECK_CLOSE(dz[at], dy[at] - p * sum, 1e-5);
        }
    }
}

TEST(softmax_values)
{
    static float x[MAX_ELEMENTS];
    test_fill(x, MAX_ELEMENTS, 3);
    for (int i = 0; i < MAX_ELEMENTS; i++)
        x[i] = x[i] * 20 + 300; /* e^300 overflows */
    for (int s = 0; s < SIZE_COUNT; s++)
        for (int rows = 0; rows < 2; rows++)
            if (sizes[s] < 500)
                check_softmax(hkk_kernels_get(HKI_ISA_C)->softmax, x, sizes[s], rows);
}

TEST(cross_entropy_values)
{
    static float x[1000], w[1000], dx[1000];
    test_fill(x, 1000, 3);
    test_fill(w, 1000, 4);
    const hkk_softmax_kernels *k = hkk_kernels_get(HKI_ISA_C)->softmax;
    for (int s = 1; s < SIZE_COUNT; s++) {
        int64_t n = sizes[s], label = n / 2;
        double lse = reduce_double(HKK_LOG_SUM_EXP, x, n, 1), smooth = 0, plain = 0;
        for (int64_t i = 0; i < n; i++) {
            smooth += w[i] * (lse - x[i]);
            plain += lse - x[i];
        }
        hkk_cross_entropy part = k->cross_entropy_row(x, n, label, w, 1);
        CHECK_CLOSE(part.loss, lse - x[label], 1e-6);
        CHECK_CLOSE(part.smooth, smooth, 1e-4);
        CHECK_CLOSE(k->cross_entropy_row(x, n, label, NULL, 1).smooth, plain, 1e-4);
        k->cross_entropy_grad_row(dx, x, n, label, w, 1.5f, 0.75f, 0.25f);
        for (int64_t i = 0; i < n; i++)
            CHECK_CLOSE(dx[i], exp(x[i] - lse) * 1.5 - 0.25 * w[i] - (i == label ? 0.75 : 0), 1e-5);
    }
}

/* Runs every softmax kernel on rows and columns of n; results one after the other in out. */
static void run_all(float *out, const hkk_softmax_kernels *k, const float *x, const float *d, int64_t n)
{
    int64_t count = 3 * n;
    k->softmax_rows(out, x, 3, n);
    k->log_softmax_rows(out + count, x, 3, n);
    k->softmax_grad_rows(out + 2 * count, d, x, 3, n);
    k->log_softmax_grad_rows(out + 3 * count, d, x, 3, n);
    k->softmax_columns(out + 4 * count, x, 3, n, n);
    k->log_softmax_columns(out + 5 * count, x, 3, n, n);
    k->softmax_grad_columns(out + 6 * count, d, x, 3, n, n);
    k->log_softmax_grad_columns(out + 7 * count, d, x, 3, n, n);
    if (!n)
        return;
    hkk_cross_entropy part = k->cross_entropy_row(x, n, n - 1, d, 1);
    out[8 * count] = part.loss;
    out[8 * count + 1] = part.smooth;
    k->cross_entropy_grad_row(out + 8 * count + 2, x, n, n - 1, d, 0.5f, 0.25f, 0.125f);
}

TEST(softmax_bytes)
{
    static float x[4000], d[4000], expected[30000], y[30000];
    for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int s = 0; s < SIZE_COUNT && kernels; s++)
            for (int special = 0; special < 2; special++) {
                test_fill(x, 4000, (uint64_t)s + 1);
                test_fill(d, 4000, (uint64_t)s + 77);
                if (special)
                    test_strew_special(x, 4000, 9, 100);
                memset(y, 0x5A, sizeof y);
                memset(expected, 0x5A, sizeof y);
                run_all(expected, hkk_kernels_get(HKI_ISA_C)->softmax, x + 1, d + 3, sizes[s]);
                run_all(y, kernels->softmax, x + 1, d + 3, sizes[s]);
                CHECK_EQ(test_first_difference(expected, y, 30000), -1);
            }
    }
}

TEST_MAIN()
