/* Convolutions: every ISA against plain loops that follow the order of summation stated in convolution.h, by bytes. */
#include "harness/test.h"
#include "harness/isas.h"

typedef struct test_case_shape {
    int64_t batch, C, M, groups, in[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
} test_case_shape;

typedef struct buffers {
    hkk_convolution s;
    float *x, *w, *y, *dx, *dw, *bias, *residual, *packed;
    int64_t x_size, y_size, w_size;
} buffers;

static float *allocate(int64_t n)
{
    void *block = NULL;
    if (posix_memalign(&block, 64, (size_t)(n + 16) * sizeof(float)))
        exit(2);
    float *floats = block;
    for (int i = 0; i < 16; i++)
        floats[n + i] = 77.0f; /* a fence */
    return floats;
}

static bool fence_holds(const float *x, int64_t n)
{
    for (int i = 0; i < 16; i++)
        if (x[n + i] != 77.0f)
            return false;
    return true;
}

/* Calls visit for all output pixels and taps: input pixel -1 in the padding. */
typedef struct place {
    int64_t sample, out, tap, in;
} place;

static place locate(const hkk_convolution *s, int64_t sample, int64_t out, int64_t tap)
{
    int64_t o[3] = {out / (s->out[1] * s->out[2]), out / s->out[2] % s->out[1], out % s->out[2]};
    int64_t k[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};
    int64_t in = 0;
    for (int d = 0; d < 3; d++) {
        int64_t i = o[d] * s->stride[d] + k[d] * s->dilation[d] - s->pad[d];
        if (i < 0 || i >= s->in[d])
            return (place){sample, out, tap, -1};
        in = in * s->in[d] + i;
    }
    return (place){sample, out, tap, in};
}

static void reference_forward(float *y, const buffers *b, bool bias, bool residual, bool clamp)
{
    const hkk_convolution *s = &b->s;
    for (int64_t i = 0; i < s->batch * s->out_pixels; i++)
        for (int64_t m = 0; m < s->M; m++) {
            int64_t group = m / s->group_m;
            float sum = 0;
            for (int64_t tap = 0; tap < s->taps; tap++) {
                place p = locate(s, i / s->out_pixels, i % s->out_pixels, tap);
                for (int64_t c = 0; c < s->group_c && p.in >= 0; c++)
                    sum = fmaf(b->x[(p.sample * s->in_pixels + p.in) * s->C + group * s->group_c + c],
                               b->w[(m * s->group_c + c) * s->taps + tap], sum);
            }
            if (bias)
                sum += b->bias[m];
            if (residual)
                sum += b->residual[i * s->M + m];
            if (clamp)
                sum = sum > 0 ? sum : 0;
            y[i * s->M + m] = sum;
        }
}

/* Scatters instead of gathering, which visits the taps of an input pixel in the same order only if the tap loop is
 * outermost. */
static void reference_backward_data(float *dx, const buffers *b)
{
    const hkk_convolution *s = &b->s;
    memset(dx, 0, (size_t)b->x_size * sizeof(float));
    for (int64_t tap = 0; tap < s->taps; tap++)
        for (int64_t i = 0; i < s->batch * s->out_pixels; i++) {
            place p = locate(s, i / s->out_pixels, i % s->out_pixels, tap);
            for (int64_t c = 0; c < s->C && p.in >= 0; c++)
                for (int64_t m = 0; m < s->group_m; m++) {
                    float *to = &dx[(p.sample * s->in_pixels + p.in) * s->C + c];
                    int64_t channel = c / s->group_c * s->group_m + m;
                    *to = fmaf(b->y[i * s->M + channel], b->w[(channel * s->group_c + c % s->group_c) * s->taps + tap],
                               *to);
                }
        }
}

static float chunk_sum(const buffers *b, int64_t begin, int64_t end, int64_t m, int64_t c, int64_t tap)
{
    const hkk_convolution *s = &b->s;
    float sum = 0;
    for (int64_t i = begin; i < end; i++) {
        place p = locate(s, i / s->out_pixels, i % s->out_pixels, tap);
        if (p.in >= 0)
            sum = fmaf(b->x[(p.sample * s->in_pixels + p.in) * s->C + m / s->group_m * s->group_c + c],
                       b->y[i * s->M + m], sum);
    }
    return sum;
}

static float tree_sum(const float *parts, int64_t n)
{
    int64_t half = 1;
    if (n == 1)
        return parts[0];
    while (2 * half < n)
        half *= 2;
    return tree_sum(parts, half) + tree_sum(parts + half, n - half);
}

static void reference_weights(float *dw, const buffers *b, const hkk_convolution_weights_pass *pass)
{
    const hkk_convolution *s = &b->s;
    int64_t rows = s->out[0] * s->out[1];
    float *parts = allocate(pass->chunks);
    for (int64_t i = 0; i < b->w_size; i++) {
        for (int64_t chunk = 0; chunk < pass->chunks; chunk++) {
            int64_t begin, end;
            if (pass->chunk_rows) {
                int64_t per_sample = (rows + pass->chunk_rows - 1) / pass->chunk_rows,
                        first = chunk % per_sample * pass->chunk_rows;
                begin = chunk / per_sample * rows + first;
                end = begin + (rows - first < pass->chunk_rows ? rows - first : pass->chunk_rows);
            } else {
                begin = chunk * pass->chunk_samples * rows;
                end = begin + pass->chunk_samples * rows < s->batch * rows ? begin + pass->chunk_samples * rows
                                                                           : s->batch * rows;
            }
            parts[chunk] = chunk_sum(b, begin * s->out[2], end * s->out[2], i / (s->group_c * s->taps),
                                     i / s->taps % s->group_c, i % s->taps);
        }
        dw[i] = pass->chunks ? tree_sum(parts, pass->chunks) : 0;
    }
    free(parts);
}

static void compare(const char *what, int isa, const hkk_convolution *s, const float *expected, const float *found,
                    int64_t n)
{
    int64_t at = test_first_difference(expected, found, n);
    if (at >= 0)
        printf("     %s, isa %d: C %d M %d groups %d kernel %dx%dx%d: element %d is %.9g, expected %.9g\n", what, isa,
               (int)s->C, (int)s->M, (int)s->groups, (int)s->kernel[0], (int)s->kernel[1], (int)s->kernel[2], (int)at,
               found[at], expected[at]);
    CHECK_EQ(at, -1);
    CHECK(fence_holds(found, n));
}

static void run_pass(const hkk_convolution_kernels *kernels, buffers *b, hkk_convolution_pass *pass)
{
    for (int64_t i = hkk_convolution_pack_blocks(&b->s, pass->direction) - 1; i >= 0; i--)
        kernels->pack(b->packed, b->w, &b->s, pass->direction, i);
    CHECK(fence_holds(b->packed, hkk_convolution_packed_size(&b->s, pass->direction)));
    hkk_convolution_plan(pass);
    float *scratch = allocate(pass->scratch);
    for (int64_t i = pass->blocks - 1; i >= 0; i--)
        kernels->run_block(pass, i, scratch);
    CHECK(fence_holds(scratch, pass->scratch));
    free(scratch);
}

static void run_weights(const hkk_convolution_kernels *kernels, hkk_convolution_weights_pass *pass)
{
    float *scratch = allocate(pass->scratch);
    pass->partial = allocate(pass->partial_size);
    for (int64_t i = pass->blocks - 1; i >= 0; i--)
        kernels->weights_block(pass, i, scratch);
    CHECK(fence_holds(scratch, pass->scratch));
    CHECK(fence_holds(pass->partial, pass->partial_size));
    for (int64_t i = pass->finish_blocks - 1; i >= 0; i--)
        kernels->weights_finish(pass, i);
    free(scratch);
    free(pass->partial);
}

static void check_forward(buffers *b, bool bias, bool residual, bool clamp)
{
    float *expected = allocate(b->y_size), *y = allocate(b->y_size);
    reference_forward(expected, b, bias, residual, clamp);
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        if (!kernels)
            continue;
        b->packed = allocate(hkk_convolution_packed_size(&b->s, HKK_CONVOLUTION_FORWARD));
        hkk_convolution_pass pass = {
            .shape = &b->s, .direction = HKK_CONVOLUTION_FORWARD, .from = b->x, .weights = b->packed, .to = y};
        pass.epilogue = (hkk_gemm_epilogue){.bias_n = bias ? b->bias : NULL,
                                            .residual = residual ? b->residual : NULL,
                                            .clamp = clamp,
                                            .lo = 0,
                                            .hi = INFINITY};
        memset(y, 0x55, (size_t)b->y_size * sizeof(float));
        run_pass(kernels->convolution, b, &pass);
        compare("forward", isa, &b->s, expected, y, b->y_size);
        free(b->packed);
    }
    free(expected);
    free(y);
}

static void check_backward(buffers *b)
{
    float *expected = allocate(b->x_size), *expected_dw = allocate(b->w_size);
    b->dx = allocate(b->x_size);
    b->dw = allocate(b->w_size);
    hkk_convolution_weights_pass weights = {.shape = &b->s, .x = b->x, .dy = b->y, .dw = b->dw};
    hkk_convolution_weights_plan(&weights);
    reference_backward_data(expected, b);
    reference_weights(expected_dw, b, &weights);
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        if (!kernels)
            continue;
        b->packed = allocate(hkk_convolution_packed_size(&b->s, HKK_CONVOLUTION_BACKWARD_DATA));
        hkk_convolution_pass pass = {.shape = &b->s,
                                     .direction = HKK_CONVOLUTION_BACKWARD_DATA,
                                     .from = b->y,
                                     .weights = b->packed,
                                     .to = b->dx};
        memset(b->dx, 0x55, (size_t)b->x_size * sizeof(float));
        run_pass(kernels->convolution, b, &pass);
        compare("backward data", isa, &b->s, expected, b->dx, b->x_size);
        memset(b->dw, 0x55, (size_t)b->w_size * sizeof(float));
        run_weights(kernels->convolution, &weights);
        compare("backward weights", isa, &b->s, expected_dw, b->dw, b->w_size);
        free(b->packed);
    }
    free(expected);
    free(expected_dw);
    free(b->dx);
    free(b->dw);
}

static void check(test_case_shape t)
{
    buffers b = {.s = {.batch = t.batch, .C = t.C, .M = t.M, .groups = t.groups}};
    for (int d = 0; d < 3; d++) {
        b.s.in[d] = t.in[d] ? t.in[d] : 1;
        b.s.kernel[d] = t.kernel[d] ? t.kernel[d] : 1;
        b.s.stride[d] = t.stride[d] ? t.stride[d] : 1;
        b.s.dilation[d] = t.dilation[d] ? t.dilation[d] : 1;
        b.s.pad[d] = t.pad[d];
        b.s.out[d] =
            (b.s.in[d] + t.pad[d] + t.pad_end[d] - ((b.s.kernel[d] - 1) * b.s.dilation[d] + 1)) / b.s.stride[d] + 1;
    }
    hkk_convolution_prepare(&b.s);
    b.x_size = b.s.batch * b.s.in_pixels * b.s.C;
    b.y_size = b.s.batch * b.s.out_pixels * b.s.M;
    b.w_size = b.s.M * b.s.group_c * b.s.taps;
    b.x = allocate(b.x_size);
    b.y = allocate(b.y_size);
    b.w = allocate(b.w_size);
    b.bias = allocate(b.s.M);
    b.residual = allocate(b.y_size);
    test_fill(b.x, b.x_size, 1);
    test_fill(b.y, b.y_size, 2);
    test_fill(b.w, b.w_size, 3);
    test_fill(b.bias, b.s.M, 4);
    test_fill(b.residual, b.y_size, 5);
    check_forward(&b, false, false, false);
    check_forward(&b, true, true, true);
    check_backward(&b);
    float *all[] = {b.x, b.y, b.w, b.bias, b.residual};
    for (int i = 0; i < 5; i++)
        free(all[i]);
}

#define ON_IMAGE(h, w) {1, h, w}

TEST(plain_shapes)
{
    static const int64_t channels[][2] = {{1, 32}, {3, 17}, {17, 3}, {64, 70}, {9, 13}, {8, 1}};
    for (int i = 0; i < 6; i++)
        check((test_case_shape){.batch = 2,
                                .C = channels[i][0],
                                .M = channels[i][1],
                                .groups = 1,
                                .in = ON_IMAGE(9, 7),
                                .kernel = ON_IMAGE(3, 3),
                                .pad = {0, 1, 1},
                                .pad_end = {0, 1, 1}});
}

TEST(strides_dilation_and_pads)
{
    for (int64_t stride = 1; stride <= 3; stride++)
        for (int64_t dilation = 1; dilation <= 2; dilation++)
            for (int pads = 0; pads < 3; pads++)
                for (int64_t C = 3; C <= 12; C += 9)
                    check((test_case_shape){.batch = 1,
                                            .C = C,
                                            .M = 18,
                                            .groups = 1,
                                            .in = ON_IMAGE(11, 10),
                                            .kernel = ON_IMAGE(3, 2),
                                            .stride = {1, stride, stride == 3 ? 2 : stride},
                                            .dilation = {1, dilation, 3 - dilation},
                                            .pad = {0, pads, pads == 1 ? 0 : 2},
                                            .pad_end = {0, pads == 2 ? 0 : 1, pads}});
}

TEST(one_and_three_dimensions)
{
    check((test_case_shape){.batch = 3,
                            .C = 12,
                            .M = 20,
                            .groups = 1,
                            .in = {1, 1, 50},
                            .kernel = {1, 1, 5},
                            .stride = {1, 1, 2},
                            .pad = {0, 0, 2}});
    check((test_case_shape){.batch = 2,
                            .C = 10,
                            .M = 6,
                            .groups = 1,
                            .in = {5, 6, 4},
                            .kernel = {3, 2, 3},
                            .stride = {2, 1, 1},
                            .pad = {1, 0, 1},
                            .pad_end = {1, 1, 1}});
    check((test_case_shape){.batch = 1,
                            .C = 4,
                            .M = 4,
                            .groups = 4,
                            .in = {4, 5, 6},
                            .kernel = {2, 3, 3},
                            .stride = {1, 2, 2},
                            .pad = {1, 1, 1}});
}

TEST(pointwise)
{
    check((test_case_shape){
        .batch = 2, .C = 40, .M = 130, .groups = 1, .in = ON_IMAGE(12, 12), .kernel = ON_IMAGE(1, 1)});
    check((test_case_shape){
        .batch = 2, .C = 5, .M = 48, .groups = 1, .in = ON_IMAGE(8, 9), .kernel = ON_IMAGE(1, 1), .stride = {1, 2, 2}});
    /* pixels that no tap reaches, with more channels than one piece of k */
    check((test_case_shape){.batch = 1,
                            .C = 20,
                            .M = 500,
                            .groups = 1,
                            .in = ON_IMAGE(5, 5),
                            .kernel = ON_IMAGE(1, 1),
                            .stride = {1, 2, 2}});
}

TEST(kernel_larger_than_the_image)
{
    check((test_case_shape){.batch = 2,
                            .C = 2,
                            .M = 9,
                            .groups = 1,
                            .in = ON_IMAGE(2, 3),
                            .kernel = ON_IMAGE(5, 5),
                            .pad = {0, 2, 2},
                            .pad_end = {0, 2, 2}});
    check((test_case_shape){.batch = 1,
                            .C = 10,
                            .M = 9,
                            .groups = 1,
                            .in = ON_IMAGE(1, 1),
                            .kernel = ON_IMAGE(3, 7),
                            .pad = {0, 4, 4},
                            .pad_end = {0, 2, 9},
                            .stride = {1, 2, 3}});
    check((test_case_shape){.batch = 1,
                            .C = 10,
                            .M = 10,
                            .groups = 10,
                            .in = ON_IMAGE(2, 2),
                            .kernel = ON_IMAGE(5, 5),
                            .pad = {0, 3, 3},
                            .pad_end = {0, 3, 3}});
}

TEST(stride_larger_than_the_kernel)
{
    check((test_case_shape){.batch = 1,
                            .C = 12,
                            .M = 4,
                            .groups = 1,
                            .in = ON_IMAGE(10, 11),
                            .kernel = ON_IMAGE(2, 1),
                            .stride = {1, 3, 4}});
    check((test_case_shape){.batch = 1,
                            .C = 20,
                            .M = 20,
                            .groups = 20,
                            .in = ON_IMAGE(10, 11),
                            .kernel = ON_IMAGE(2, 1),
                            .stride = {1, 3, 4}});
}

TEST(groups)
{
    check((test_case_shape){.batch = 2,
                            .C = 24,
                            .M = 36,
                            .groups = 2,
                            .in = ON_IMAGE(6, 7),
                            .kernel = ON_IMAGE(3, 3),
                            .pad = {0, 1, 1},
                            .pad_end = {0, 1, 1}});
    check((test_case_shape){
        .batch = 1, .C = 6, .M = 12, .groups = 6, .in = ON_IMAGE(6, 5), .kernel = ON_IMAGE(3, 3), .pad = {0, 1, 0}});
    check((test_case_shape){.batch = 1,
                            .C = 40,
                            .M = 200,
                            .groups = 2,
                            .in = ON_IMAGE(5, 5),
                            .kernel = ON_IMAGE(3, 3),
                            .stride = {1, 2, 2}});
}

TEST(depthwise)
{
    static const int64_t channels[] = {2, 16, 33, 50, 96};
    for (int i = 0; i < 5; i++)
        for (int64_t stride = 1; stride <= 2; stride++)
            for (int64_t kernel = 1; kernel <= 5; kernel += 2)
                check((test_case_shape){.batch = 2,
                                        .C = channels[i],
                                        .M = channels[i],
                                        .groups = channels[i],
                                        .in = ON_IMAGE(9, 13),
                                        .kernel = ON_IMAGE(kernel, kernel),
                                        .stride = {1, stride, stride},
                                        .pad = {0, kernel / 2, 1},
                                        .pad_end = {0, kernel / 2, kernel / 2},
                                        .dilation = {1, 1, stride == 1 ? 2 : 1}});
}

/* Enough pixels for several chunks, spans and pieces of k. */
TEST(many_chunks)
{
    check((test_case_shape){.batch = 5,
                            .C = 12,
                            .M = 20,
                            .groups = 1,
                            .in = ON_IMAGE(40, 50),
                            .kernel = ON_IMAGE(3, 3),
                            .pad = {0, 1, 1},
                            .pad_end = {0, 1, 1}});
    check(
        (test_case_shape){.batch = 37, .C = 3, .M = 7, .groups = 1, .in = ON_IMAGE(24, 24), .kernel = ON_IMAGE(3, 3)});
    check((test_case_shape){
        .batch = 35, .C = 34, .M = 34, .groups = 34, .in = ON_IMAGE(24, 24), .kernel = ON_IMAGE(3, 3)});
    check((test_case_shape){.batch = 70,
                            .C = 130,
                            .M = 66,
                            .groups = 1,
                            .in = ON_IMAGE(4, 4),
                            .kernel = ON_IMAGE(3, 3),
                            .pad = {0, 1, 1},
                            .pad_end = {0, 1, 1}});
    check(
        (test_case_shape){.batch = 1, .C = 500, .M = 33, .groups = 1, .in = ON_IMAGE(3, 3), .kernel = ON_IMAGE(2, 2)});
}

TEST(empty_batch)
{
    check((test_case_shape){.batch = 0, .C = 4, .M = 5, .groups = 1, .in = ON_IMAGE(4, 4), .kernel = ON_IMAGE(3, 3)});
}

TEST_MAIN()
