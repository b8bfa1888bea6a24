/* Transcendental kernels: error bounds against libm in double precision over a sweep of all float32 bit patterns, and
 * the same bytes in every ISA. */
#include "harness/test.h"
#include "harness/isas.h"

typedef double real_fn(double x);

static double sigmoid_double(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double softplus_double(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* The distance of y from the true value in units of the last place of float32 at that value. */
static double ulp_error(float y, double truth)
{
    float nearest = (float)truth;
    if (isnan(truth) || isnan(y))
        return isnan(truth) && isnan(y) ? 0 : INFINITY;
    if (isinf(nearest) || isinf(y)) /* at the border of overflow either neighbour is half a unit away */
        return nearest == y || fabs(truth) > 3.4028234e38 ? 0 : INFINITY;
    int exponent;
    frexp(truth, &exponent);
    return fabs((double)y - truth) / ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

#define SWEEP 4096

static void check_sweep(const char *name, hkk_vector_fn *fn, real_fn *truth, double bound)
{
    static float x[SWEEP], y[SWEEP];
    double worst = 0;
    float worst_at = 0;
    for (uint64_t start = 0; start < 1ull << 32;) {
        for (int i = 0; i < SWEEP; i++, start += 1009) {
            uint32_t bits = (uint32_t)start;
            memcpy(&x[i], &bits, 4);
        }
        fn(y, x, SWEEP);
        for (int i = 0; i < SWEEP; i++) {
            double error = ulp_error(y[i], truth(x[i]));
            if (error > worst) {
                worst = error;
                worst_at = x[i];
            }
        }
    }
    printf("     %s: at most %.3f ulp, at %.9g\n", name, worst, worst_at);
    CHECK(worst <= bound);
}

TEST(error_bounds)
{
    for (int isa = HKI_ISA_COUNT - 1; isa >= 0; isa--) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        if (!kernels)
            continue;
        const hkk_vector_math_kernels *math = kernels->vector_math;
        check_sweep("exp", math->exp, exp, 1.1);
        check_sweep("log", math->log, log, 1.0);
        check_sweep("tanh", math->tanh, tanh, 2.0);
        check_sweep("sigmoid", math->sigmoid, sigmoid_double, 3.0);
        check_sweep("erf", math->erf, erf, 2.0);
        check_sweep("softplus", math->softplus, softplus_double, 3.0);
        break; /* the other ISAs are compared with this one by bytes */
    }
}

TEST(pow_error_bound)
{
    static float x[SWEEP], y[SWEEP], z[SWEEP];
    const hkk_vector_math_kernels *math = hkk_kernels_get(HKI_ISA_C)->vector_math;
    uint64_t state = 7;
    double worst = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < SWEEP; i++) { /* results spread over the whole range of float32 */
            x[i] = expf((float)((int32_t)test_random(&state) * 0x1p-31 * (round % 2 ? 80 : 0.7)));
            y[i] = (float)((int32_t)test_random(&state) * 0x1p-31 * 100) / fabsf(logf(x[i]));
        }
        math->pow(z, x, y, SWEEP);
        for (int i = 0; i < SWEEP; i++)
            worst = fmax(worst, ulp_error(z[i], pow(x[i], y[i])));
    }
    printf("     pow: at most %.3f ulp\n", worst);
    CHECK(worst <= 3.0);
}

TEST(pow_special_values)
{
    static const float special[] = {0.0f,   -0.0f,       1,           -1,           2,      -2,      3,       -3,
                                    0.5f,   -0.5f,       INFINITY,    -INFINITY,    NAN,    1e-40f,  -1e-40f, 1e38f,
                                    -1e38f, 16777215.0f, 16777216.0f, -16777215.0f, 0.999f, -1.001f, 1e-7f,   2.5f};
    enum { COUNT = sizeof special / sizeof special[0] };
    for (int a = 0; a < COUNT; a++) {
        float x[COUNT], z[COUNT];
        for (int b = 0; b < COUNT; b++)
            x[b] = special[a];
        hkk_kernels_get(HKI_ISA_C)->vector_math->pow(z, x, special, COUNT);
        for (int b = 0; b < COUNT; b++) {
            double truth = pow(special[a], special[b]);
            if (ulp_error(z[b], truth) > 3 || (!isnan(truth) && signbit(z[b]) != signbit((float)truth)))
                printf("     pow(%.9g, %.9g) = %.9g, expected %.9g\n", special[a], special[b], z[b], truth);
            CHECK(ulp_error(z[b], truth) <= 3 && (isnan(truth) || signbit(z[b]) == signbit((float)truth)));
        }
    }
}

/* Two arguments for pow, one for the others. */
static void run_all(const hkk_vector_math_kernels *math, float *y, const float *x, int64_t n, int64_t stride)
{
    hkk_vector_fn *fns[] = {math->exp, math->log, math->tanh, math->sigmoid, math->erf, math->softplus};
    for (int f = 0; f < 6; f++)
        fns[f](y + f * stride, x, n);
    math->pow(y + 6 * stride, x, x + 1, n);
}

TEST(same_bytes_in_every_isa)
{
    enum { MAX = 300, STRIDE = 400 };
    static float x[MAX + 32], expected[7 * STRIDE], y[7 * STRIDE];
    static const float scales[] = {1, 10, 100, 1e-30f};
    for (int64_t n = 0; n < MAX; n += n < 40 ? 1 : 37)
        for (int offset = 0; offset < 3; offset++) {
            test_fill(x, MAX + 32, (uint64_t)n);
            for (int i = 0; i < MAX + 32; i++)
                x[i] *= scales[i % 4];
            test_strew_special(x, MAX + 32, (uint64_t)n + 1, 6);
            memset(expected, 0x55, sizeof expected);
            run_all(hkk_kernels_get(HKI_ISA_C)->vector_math, expected + offset, x + offset, n, STRIDE);
            for (int isa = 1; isa < HKI_ISA_COUNT; isa++) {
                const hkk_kernels *kernels = test_isa_kernels(isa);
                if (!kernels)
                    continue;
                memset(y, 0x55, sizeof y); /* so that a write past n shows */
                run_all(kernels->vector_math, y + offset, x + offset, n, STRIDE);
                CHECK_EQ(test_first_difference(expected, y, 7 * STRIDE), -1);
            }
        }
}

TEST_MAIN()
