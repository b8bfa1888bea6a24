/* Convolution forward, backward data and backward weights against oneDNN in the layouts it likes best, in interleaved
 * rounds of one process.
 *
 *     taskset -c 1 bench_convolution 1 [rounds]
 *     OMP_PROC_BIND=true OMP_WAIT_POLICY=active bench_convolution 2 [rounds]
 *
 * halka's figures include packing the weights, as training must; oneDNN's exclude all reordering. Columns: GFLOP/s,
 * median over the rounds, of halka and oneDNN, and their ratio, for the three passes. */
#include "base/pool.h"
#include "bench.h"
#include "kernels/kernels.h"

#ifdef BENCH_ONEDNN
#include <dnnl.h>
#include <omp.h>
#endif

#define MAX_ROUNDS 101

typedef struct layer {
    const char *name;
    int64_t batch, C, M, groups, size, kernel, stride, pad;
} layer;

enum { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS, PASSES };

typedef struct job {
    const hkk_convolution_kernels *kernels;
    hki_pool *pool;
    hkk_convolution shape;
    hkk_convolution_pass pass[2];
    hkk_convolution_weights_pass weights;
    float *x, *y, *w, *packed, *scratch;
    int64_t worker_size;
    int current;
#ifdef BENCH_ONEDNN
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive[PASSES];
    dnnl_memory_t memory[PASSES][3]; /* src, weights, dst */
#endif
} job;

static void pack_block(void *context, int64_t block, int worker)
{
    job *j = context;
    (void)worker;
    j->kernels->pack(j->packed, j->w, &j->shape, (hkk_convolution_direction)j->current, block);
}

static void pass_block(void *context, int64_t block, int worker)
{
    job *j = context;
    j->kernels->run_block(&j->pass[j->current], block, j->scratch + worker * j->worker_size);
}

static void weights_block(void *context, int64_t block, int worker)
{
    job *j = context;
    j->kernels->weights_block(&j->weights, block, j->scratch + worker * j->worker_size);
}

static void finish_block(void *context, int64_t block, int worker)
{
    job *j = context;
    (void)worker;
    j->kernels->weights_finish(&j->weights, block);
}

static void run_halka(void *context)
{
    job *j = context;
    if (j->current == BACKWARD_WEIGHTS) {
        hki_pool_run(j->pool, j->weights.blocks, weights_block, j);
        hki_pool_run(j->pool, j->weights.finish_blocks, finish_block, j);
        return;
    }
    hki_pool_run(j->pool, hkk_convolution_pack_blocks(&j->shape, (hkk_convolution_direction)j->current), pack_block, j);
    hki_pool_run(j->pool, j->pass[j->current].blocks, pass_block, j);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void prepare_halka(job *j, const layer *l, int threads)
{
    hkk_convolution *s = &j->shape;
    int64_t out = (l->size + 2 * l->pad - l->kernel) / l->stride + 1;
    *s = (hkk_convolution){.batch = l->batch,
                           .C = l->C,
                           .M = l->M,
                           .groups = l->groups,
                           .in = {1, l->size, l->size},
                           .out = {1, out, out},
                           .kernel = {1, l->kernel, l->kernel},
                           .stride = {1, l->stride, l->stride},
                           .dilation = {1, 1, 1},
                           .pad = {0, l->pad, l->pad}};
    hkk_convolution_prepare(s);
    j->x = bench_floats(s->batch * s->in_pixels * s->C);
    j->y = bench_floats(s->batch * s->out_pixels * s->M);
    j->w = bench_floats(s->M * s->group_c * s->taps);
    j->packed = bench_floats(larger(hkk_convolution_packed_size(s, HKK_CONVOLUTION_FORWARD),
                                    hkk_convolution_packed_size(s, HKK_CONVOLUTION_BACKWARD_DATA)));
    for (int d = 0; d < 2; d++) {
        j->pass[d] = (hkk_convolution_pass){.shape = s,
                                            .direction = (hkk_convolution_direction)d,
                                            .from = d ? j->y : j->x,
                                            .weights = j->packed,
                                            .to = d ? j->x : j->y};
        hkk_convolution_plan(&j->pass[d]);
    }
    j->weights = (hkk_convolution_weights_pass){.shape = s, .x = j->x, .dy = j->y, .dw = j->w};
    hkk_convolution_weights_plan(&j->weights);
    j->weights.partial = bench_floats(j->weights.partial_size);
    j->worker_size = larger(larger(j->pass[0].scratch, j->pass[1].scratch), j->weights.scratch) / 16 * 16 + 64;
    j->scratch = bench_floats(threads * j->worker_size);
}

static void release_halka(job *j)
{
    free(j->x);
    free(j->y);
    free(j->w);
    free(j->packed);
    free(j->scratch);
    free(j->weights.partial);
}

#ifdef BENCH_ONEDNN
static void check_dnnl(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN failed: %d\n", (int)status);
        exit(1);
    }
}

static void describe(dnnl_memory_desc_t *out, int rank, const int64_t *dims)
{
    dnnl_dims_t all;
    for (int i = 0; i < rank; i++)
        all[i] = dims[i];
    check_dnnl(dnnl_memory_desc_init_by_tag(out, rank, all, dnnl_f32, dnnl_format_tag_any));
}

static void prepare_onednn(job *j)
{
    const hkk_convolution *s = &j->shape;
    dnnl_memory_desc_t x, w, y;
    dnnl_dims_t strides = {s->stride[1], s->stride[2]}, pads = {s->pad[1], s->pad[2]};
    describe(&x, 4, (int64_t[]){s->batch, s->C, s->in[1], s->in[2]});
    describe(&y, 4, (int64_t[]){s->batch, s->M, s->out[1], s->out[2]});
    if (s->groups > 1)
        describe(&w, 5, (int64_t[]){s->groups, s->group_m, s->group_c, s->kernel[1], s->kernel[2]});
    else
        describe(&w, 4, (int64_t[]){s->M, s->C, s->kernel[1], s->kernel[2]});
    dnnl_primitive_desc_t hint = NULL;
    for (int pass = 0; pass < PASSES; pass++) {
        dnnl_convolution_desc_t desc;
        dnnl_primitive_desc_t found;
        if (pass == FORWARD)
            check_dnnl(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &x, &w,
                                                          NULL, &y, strides, pads, pads));
        else if (pass == BACKWARD_DATA)
            check_dnnl(dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &x, &w, &y, strides,
                                                                pads, pads));
        else
            check_dnnl(dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &x, &w, NULL, &y,
                                                                   strides, pads, pads));
        check_dnnl(dnnl_primitive_desc_create(&found, &desc, NULL, j->engine, pass ? hint : NULL));
        check_dnnl(dnnl_primitive_create(&j->primitive[pass], found));
        static const dnnl_query_t queries[PASSES][3] = {
            {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
            {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
            {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
        for (int i = 0; i < 3; i++) {
            check_dnnl(dnnl_memory_create(&j->memory[pass][i], dnnl_primitive_desc_query_md(found, queries[pass][i], 0),
                                          j->engine, DNNL_MEMORY_ALLOCATE));
            void *data;
            check_dnnl(dnnl_memory_get_data_handle(j->memory[pass][i], &data));
            memset(data, 0, dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(found, queries[pass][i], 0)));
        }
        if (pass == FORWARD)
            hint = found;
        else
            dnnl_primitive_desc_destroy(found);
    }
    dnnl_primitive_desc_destroy(hint);
}

static void run_onednn(void *context)
{
    static const int names[PASSES][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                         {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                         {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    job *j = context;
    dnnl_exec_arg_t args[3];
    for (int i = 0; i < 3; i++)
        args[i] = (dnnl_exec_arg_t){names[j->current][i], j->memory[j->current][i]};
    check_dnnl(dnnl_primitive_execute(j->primitive[j->current], j->stream, 3, args));
    check_dnnl(dnnl_stream_wait(j->stream));
}

static void release_onednn(job *j)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < 3; i++)
            dnnl_memory_destroy(j->memory[pass][i]);
        dnnl_primitive_destroy(j->primitive[pass]);
    }
}
#endif

static void measure(job *j, const layer *l, int threads, int rounds, double totals[PASSES][2])
{
    static double ours[MAX_ROUNDS], peers[MAX_ROUNDS];
    prepare_halka(j, l, threads);
#ifdef BENCH_ONEDNN
    prepare_onednn(j);
#endif
    const hkk_convolution *s = &j->shape;
    double flops = 2e-9 * (double)(s->batch * s->out_pixels * s->M * s->group_c * s->taps);
    printf("%-22s |", l->name);
    for (j->current = 0; j->current < PASSES; j->current++) {
        double peer = 0;
        for (int round = 0; round < rounds; round++) {
            ours[round] = bench_time(run_halka, j, 0.02);
#ifdef BENCH_ONEDNN
            peers[round] = bench_time(run_onednn, j, 0.02);
#endif
        }
        double seconds = bench_median(ours, rounds);
#ifdef BENCH_ONEDNN
        peer = bench_median(peers, rounds);
#endif
        totals[j->current][0] += seconds;
        totals[j->current][1] += peer;
        printf(" %6.1f %6.1f %5.2f |", flops / seconds, peer ? flops / peer : 0, peer / seconds);
        fflush(stdout);
    }
    printf("\n");
#ifdef BENCH_ONEDNN
    release_onednn(j);
#endif
    release_halka(j);
}

static const layer layers[] = {
    {"cnn 1-32 28x28", 128, 1, 32, 1, 28, 3, 1, 1},
    {"cnn 32-32 28x28", 128, 32, 32, 1, 28, 3, 1, 1},
    {"cnn 32-64 14x14", 128, 32, 64, 1, 14, 3, 1, 1},
    {"cnn 64-64 14x14", 128, 64, 64, 1, 14, 3, 1, 1},
    {"resnet 3-64 32x32", 64, 3, 64, 1, 32, 3, 1, 1},
    {"resnet 64-64 32x32", 64, 64, 64, 1, 32, 3, 1, 1},
    {"resnet 64-128 /2", 64, 64, 128, 1, 32, 3, 2, 1},
    {"resnet 64-128 1x1 /2", 64, 64, 128, 1, 32, 1, 2, 0},
    {"resnet 128-128 16x16", 64, 128, 128, 1, 16, 3, 1, 1},
    {"resnet 128-256 /2", 64, 128, 256, 1, 16, 3, 2, 1},
    {"resnet 256-256 8x8", 64, 256, 256, 1, 8, 3, 1, 1},
    {"resnet 256-512 /2", 64, 256, 512, 1, 8, 3, 2, 1},
    {"resnet 512-512 4x4", 64, 512, 512, 1, 4, 3, 1, 1},
    {"mobile 144 dw 16x16", 32, 144, 144, 144, 16, 3, 1, 1},
    {"mobile 144 dw /2", 32, 144, 144, 144, 16, 3, 2, 1},
    {"mobile 24-144 1x1", 32, 24, 144, 1, 16, 1, 1, 0},
};

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 9;
    static job j;
    hki_isa isa;
    if (threads < 1 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: %s THREADS [ROUNDS, at most %d]\n", argv[0], MAX_ROUNDS);
        return 2;
    }
    if (hki_isa_choose(&isa) || (threads > 1 && hki_pool_create(&j.pool, threads, true)))
        return 1;
    j.kernels = hkk_kernels_get(isa)->convolution;
#ifdef BENCH_ONEDNN
    omp_set_num_threads(threads);
    check_dnnl(dnnl_engine_create(&j.engine, dnnl_cpu, 0));
    check_dnnl(dnnl_stream_create(&j.stream, j.engine, dnnl_stream_default_flags));
#endif
    printf("halka %s, %d thread(s), FMA peak %.1f GFLOP/s, %d rounds\n", hki_isa_name(isa), threads,
           bench_peak() * threads, rounds);
    printf("GFLOP/s                |  forward: halka oneDNN | data: halka oneDNN    | weights: halka oneDNN |\n");
    double totals[PASSES][2] = {{0}};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        measure(&j, &layers[i], threads, rounds, totals);
    printf("all layers, ratio of the sums of times: forward %.2f, data %.2f, weights %.2f\n",
           totals[0][1] / totals[0][0], totals[1][1] / totals[1][0], totals[2][1] / totals[2][0]);
    hki_pool_free(j.pool);
    return 0;
}
