/* Optimizer updates: ten steps of each against the same formula in float64 (PyTorch's and DeepSpeed's, written out in
 * full), the same bytes in every ISA and for every cut of the range, and nothing written behind it. */
#include "harness/test.h"
#include "harness/isas.h"

#include "kernels/optimizer_update.h"

#define N     83
#define STEPS 10

enum { W, M, V, U, STATES };

typedef struct arrays {
    float a[STATES][N + 1];
} arrays;

/* What one step needs: the number of the step, gradients, and a range. */
typedef void step_fn(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n);
typedef void reference_fn(double *w, double *m, double *v, double *u, double g, int t);

static const hkk_optimizer_kernels *plain(void)
{
    return hkk_kernels_get(HKI_ISA_C)->optimizer;
}

static void sgd_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_sgd p = {.lr = 0.1f, .decay = 0.01f, .scale = 0.5f};
    (void)t;
    k->sgd(s->a[W] + begin, NULL, grad + begin, n, &p);
}

static void sgd_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)m, (void)v, (void)u, (void)t;
    *w -= 0.1 * (0.5 * g + 0.01 * *w);
}

static void momentum_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_sgd p = {.lr = 0.1f, .momentum = 0.9f, .dampening = 0.25f, .decay = 0.01f, .scale = 1, .first = t == 1};
    k->sgd(s->a[W] + begin, s->a[M] + begin, grad + begin, n, &p);
}

static void momentum_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)v, (void)u;
    g += 0.01 * *w;
    *m = t == 1 ? g : 0.9 * *m + 0.75 * g;
    *w -= 0.1 * *m;
}

static void nesterov_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_sgd p = {.lr = 0.1f, .momentum = 0.9f, .scale = 1, .nesterov = true, .first = t == 1};
    k->sgd(s->a[W] + begin, s->a[M] + begin, grad + begin, n, &p);
}

static void nesterov_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)v, (void)u;
    *m = t == 1 ? g : 0.9 * *m + g;
    *w -= 0.1 * (g + 0.9 * *m);
}

static hkk_adam adam_numbers(int t, bool decoupled)
{
    double lr = 0.05, decay = 0.1;
    return (hkk_adam){.beta1 = 0.9f,
                      .beta2 = 0.99f,
                      .one_minus_beta1 = 0.1f,
                      .one_minus_beta2 = 0.01f,
                      .eps = 1e-3f,
                      .step = (float)(lr / (1 - pow(0.9, t))),
                      .root = (float)(1 / sqrt(1 - pow(0.99, t))),
                      .lr_decay = (float)(lr * decay),
                      .decay = (float)decay,
                      .scale = 1,
                      .decoupled = decoupled};
}

static void adam_update(double *w, double *m, double *v, double g, int t)
{
    *m = 0.9 * *m + 0.1 * g;
    *v = 0.99 * *v + 0.01 * g * g;
    *w -= 0.05 * (*m / (1 - pow(0.9, t))) / (sqrt(*v / (1 - pow(0.99, t))) + 1e-3);
}

static void adam_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_adam p = adam_numbers(t, false);
    k->adam(s->a[W] + begin, s->a[M] + begin, s->a[V] + begin, grad + begin, n, &p);
}

static void adam_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)u;
    adam_update(w, m, v, g + 0.1 * *w, t);
}

static void adamw_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_adam p = adam_numbers(t, true);
    k->adam(s->a[W] + begin, s->a[M] + begin, s->a[V] + begin, grad + begin, n, &p);
}

static void adamw_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)u;
    *w -= 0.05 * 0.1 * *w;
    adam_update(w, m, v, g, t);
}

static void adagrad_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_adagrad p = {.lr = 0.1f, .eps = 1e-3f, .decay = 0.01f, .scale = 2};
    (void)t;
    k->adagrad(s->a[W] + begin, s->a[V] + begin, grad + begin, n, &p);
}

static void adagrad_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    (void)m, (void)u, (void)t;
    g = 2 * g + 0.01 * *w;
    *v += g * g;
    *w -= 0.1 * g / (sqrt(*v) + 1e-3);
}

static void lamb_step(arrays *s, const hkk_optimizer_kernels *k, int t, const float *grad, int begin, int n)
{
    hkk_adam p = adam_numbers(t, false);
    p.step = (float)(1 / (1 - pow(0.9, t)));
    k->lamb_direction(s->a[U] + begin, s->a[W] + begin, s->a[M] + begin, s->a[V] + begin, grad + begin, n, &p);
    k->add_scaled(s->a[W] + begin, s->a[U] + begin, -0.02f, n);
}

static void lamb_reference(double *w, double *m, double *v, double *u, double g, int t)
{
    *m = 0.9 * *m + 0.1 * g;
    *v = 0.99 * *v + 0.01 * g * g;
    *u = *m / (1 - pow(0.9, t)) / (sqrt(*v / (1 - pow(0.99, t))) + 1e-3) + 0.1 * *w;
    *w -= 0.02 * *u;
}

static void gradients(float *grad, int t)
{
    test_fill(grad, N + 1, 100 + (uint64_t)t);
    for (int i = 0; i < N; i += 7)
        grad[i] = 0;
}

/* STEPS steps in cuts of `cut` elements. */
static void run(arrays *s, const hkk_optimizer_kernels *k, step_fn *step, int cut)
{
    float grad[N + 1];
    memset(s, 0, sizeof *s);
    test_fill(s->a[W], N, 1);
    for (int a = 0; a < STATES; a++)
        s->a[a][N] = 777; /* canary */
    for (int t = 1; t <= STEPS; t++) {
        gradients(grad, t);
        for (int begin = 0; begin < N; begin += cut)
            step(s, k, t, grad, begin, N - begin < cut ? N - begin : cut);
    }
    for (int a = 0; a < STATES; a++)
        CHECK(s->a[a][N] == 777);
}

static void check(const char *name, step_fn *step, reference_fn *reference)
{
    static arrays expected, found;
    float start[N], grad[N + 1];
    run(&expected, plain(), step, N);
    test_fill(start, N, 1);
    for (int i = 0; i < N; i++) {
        double x[STATES] = {start[i]};
        for (int t = 1; t <= STEPS; t++) {
            gradients(grad, t);
            reference(&x[W], &x[M], &x[V], &x[U], grad[i], t);
        }
        for (int a = 0; a < STATES; a++)
            if (!(fabs(expected.a[a][i] - x[a]) <= 5e-6 * (1 + fabs(x[a])))) {
                printf("%s: array %d element %d is %.9g, expected %.9g\n", name, a, i, (double)expected.a[a][i], x[a]);
                test_failures++;
            }
    }
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int cut = 1; kernels && cut <= 17; cut += 4) {
            run(&found, kernels->optimizer, step, cut);
            if (memcmp(&found, &expected, sizeof found)) {
                printf("%s: %s in cuts of %d differs\n", name, hki_isa_name((hki_isa)isa), cut);
                test_failures++;
            }
        }
    }
}

TEST(updates)
{
    check("sgd", sgd_step, sgd_reference);
    check("momentum", momentum_step, momentum_reference);
    check("nesterov", nesterov_step, nesterov_reference);
    check("adam", adam_step, adam_reference);
    check("adamw", adamw_step, adamw_reference);
    check("adagrad", adagrad_step, adagrad_reference);
    check("lamb", lamb_step, lamb_reference);
}

TEST(sums_and_scales)
{
    static float x[5000], y[5000], expected[5000];
    test_fill(x, 5000, 3);
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int n = 0; kernels && n <= 5000; n += 1 + n) {
            double exact = 0, sum = plain()->sum_squares(x, n), other = kernels->optimizer->sum_squares(x, n);
            for (int i = 0; i < n; i++)
                exact += (double)x[i] * x[i];
            CHECK_BYTES(&sum, &other, sizeof sum);
            CHECK_CLOSE(sum, exact, 1e-6);
            test_fill(y, 5000, 4);
            memcpy(expected, y, sizeof y);
            kernels->optimizer->add(y, x, n);
            kernels->optimizer->scale(y, 0.5f, n);
            for (int i = 0; i < n; i++)
                expected[i] = (expected[i] + x[i]) * 0.5f;
            CHECK_BYTES(y, expected, sizeof y);
        }
    }
}

TEST_MAIN()
