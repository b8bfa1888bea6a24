/* Matrix product: every ISA against the chain of fused multiply-adds that the contract states, by bytes, over odd
 * sizes, strides, packings, epilogues and special values. */
#include "harness/test.h"
#include "harness/isas.h"

typedef struct shape {
    int64_t M, N, K;
} shape;

typedef struct variant {
    bool transposed_a, transposed_b, unpacked, accumulate, bias_n, bias_m, residual, clamp, special;
} variant;

static float *allocate(int64_t n)
{
    void *block = NULL;
    if (posix_memalign(&block, 64, (size_t)(n + 16) * sizeof(float)))
        exit(2);
    return block;
}

static void reference(float *c, const hkk_gemm *g, const float *b, int64_t b_row, int64_t b_column)
{
    for (int64_t m = 0; m < g->M; m++)
        for (int64_t n = 0; n < g->N; n++) {
            float x = g->accumulate ? c[m * g->c_ld + n] : 0.0f;
            for (int64_t k = 0; k < g->K; k++)
                x = fmaf(g->a[m * g->a_row + k * g->a_step], b[k * b_row + n * b_column], x);
            if (g->epilogue.bias_n)
                x = x + g->epilogue.bias_n[n];
            if (g->epilogue.bias_m)
                x = x + g->epilogue.bias_m[m];
            if (g->epilogue.residual)
                x = x + g->epilogue.residual[m * g->epilogue.residual_ld + n];
            if (g->epilogue.clamp) {
                x = g->epilogue.lo > x ? g->epilogue.lo : x;
                x = g->epilogue.hi < x ? g->epilogue.hi : x;
            }
            c[m * g->c_ld + n] = x;
        }
}

/* Runs the product and checks that nothing beside C and the scratch it asked for is written. */
static void run(const hkk_gemm_kernels *kernels, hkk_gemm *g)
{
    hkk_gemm_plan(g);
    float *scratch = allocate(g->scratch);
    for (int i = 0; i < 16; i++)
        scratch[g->scratch + i] = 77.0f;
    for (int64_t block = g->blocks - 1; block >= 0; block--) /* any order */
        kernels->run_block(g, block, scratch);
    for (int i = 0; i < 16; i++)
        CHECK(scratch[g->scratch + i] == 77.0f);
    free(scratch);
}

static void check(shape s, variant v)
{
    int64_t a_ld = (v.transposed_a ? s.M : s.K) + 3, b_ld = (v.transposed_b ? s.K : s.N) + 5, c_ld = s.N + 7,
            size = s.M * c_ld;
    float *a = allocate((v.transposed_a ? s.K : s.M) * a_ld), *b = allocate((v.transposed_b ? s.N : s.K) * b_ld);
    float *bias = allocate(s.M + s.N), *residual = allocate(size), *expected = allocate(size), *c = allocate(size),
          *start = allocate(size);
    float *packed = allocate(hkk_gemm_packed_size(s.K, s.N));
    test_fill(a, (v.transposed_a ? s.K : s.M) * a_ld, 1);
    test_fill(b, (v.transposed_b ? s.N : s.K) * b_ld, 2);
    test_fill(bias, s.M + s.N, 3);
    test_fill(residual, size, 4);
    test_fill(start, size, 5);
    if (v.special) {
        test_strew_special(a, s.M * s.K, 6, 300);
        test_strew_special(b, s.K * s.N, 7, 300);
    }
    hkk_gemm g = {.M = s.M,
                  .N = s.N,
                  .K = s.K,
                  .a = a,
                  .a_row = v.transposed_a ? 1 : a_ld,
                  .a_step = v.transposed_a ? a_ld : 1,
                  .c = c,
                  .c_ld = c_ld,
                  .accumulate = v.accumulate};
    g.epilogue = (hkk_gemm_epilogue){.bias_n = v.bias_n ? bias : NULL,
                                     .bias_m = v.bias_m ? bias + s.N : NULL,
                                     .residual = v.residual ? residual : NULL,
                                     .residual_ld = c_ld,
                                     .clamp = v.clamp,
                                     .lo = 0,
                                     .hi = 0.5f};
    int64_t b_row = v.transposed_b ? 1 : b_ld, b_column = v.transposed_b ? b_ld : 1;
    memcpy(expected, start, (size_t)size * sizeof(float));
    reference(expected, &g, b, b_row, b_column);
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        if (!kernels)
            continue;
        memcpy(c, start, (size_t)size * sizeof(float));
        g.b = b;
        g.b_unpacked = v.unpacked;
        g.b_ld = b_ld;
        if (!v.unpacked) {
            memset(packed, 0x7F, (size_t)hkk_gemm_packed_size(s.K, s.N) * sizeof(float));
            kernels->gemm->pack(packed, b, b_row, b_column, s.K, s.N, 0, (s.N + 31) / 32);
            g.b = packed;
        }
        run(kernels->gemm, &g);
        int64_t at = test_first_difference(expected, c, size);
        if (at >= 0)
            printf("     isa %d M %d N %d K %d, element %d: %.9g, expected %.9g\n", isa, (int)s.M, (int)s.N, (int)s.K,
                   (int)at, c[at], expected[at]);
        CHECK_EQ(at, -1);
    }
    float *all[] = {a, b, bias, residual, expected, c, start, packed};
    for (int i = 0; i < 8; i++)
        free(all[i]);
}

static const variant variants[] = {
    {0},
    {.bias_n = true, .clamp = true},
    {.transposed_a = true, .residual = true, .bias_m = true},
    {.transposed_b = true, .accumulate = true},
    {.unpacked = true, .accumulate = true, .bias_n = true, .bias_m = true, .residual = true, .clamp = true},
    {.transposed_a = true, .unpacked = true},
    {.special = true, .clamp = true},
};

TEST(every_tile_shape)
{
    for (int64_t M = 1; M <= 13; M++)
        for (int64_t N = 1; N <= 66; N += N % 16 == 0 || N % 16 == 15 || N == 1 ? 1 : 7)
            check((shape){M, N, 1 + (M * 7 + N) % 19},
                  variants[(size_t)(M + N) % (sizeof variants / sizeof variants[0])]);
}

TEST(sizes_and_variants)
{
    static const shape shapes[] = {{1, 1, 1},     {1, 129, 300}, {7, 63, 64},    {25, 33, 513},
                                   {121, 65, 17}, {130, 200, 9}, {37, 300, 100}, {241, 70, 31},
                                   {2, 0, 3},     {0, 4, 3},     {5, 40, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++)
            check(shapes[s], variants[v]);
}

/* Rows and columns of A far apart. */
TEST(wide_strides)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        shape s = {transposed ? 253 : 61, 192, transposed ? 61 : 509};
        variant v = {.transposed_a = transposed, .bias_n = true}; /* leading dimension 256 or 512 */
        check(s, v);
    }
}

TEST_MAIN()
