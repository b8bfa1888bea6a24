/* Packed matrix product against OpenBLAS's sgemm and oneDNN's matmul with packed weights, in interleaved rounds of one
 * process.
 *
 *     taskset -c 1 bench_gemm 1 [rounds]            OMP_PROC_BIND=true OMP_WAIT_POLICY=active bench_gemm 2 [rounds]
 *
 * Columns: GFLOP/s, median over the rounds (and percent of the FMA peak measured in the same run); then ratios of
 * medians. */
#include "base/pool.h"
#include "bench.h"
#include "kernels/kernels.h"

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_ONEDNN
#include <dnnl.h>
#include <omp.h>
#endif

#define MAX_ROUNDS 101

typedef struct job {
    hkk_gemm gemm;
    const hkk_gemm_kernels *kernels;
    hki_pool *pool;
    float *scratch, *packed, *b;
    bool pack_each; /* packing counted */
#ifdef BENCH_ONEDNN
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t matmul;
    dnnl_memory_t memory[3];
#endif
} job;

static void gemm_block(void *context, int64_t block, int worker)
{
    job *j = context;
    j->kernels->run_block(&j->gemm, block, j->scratch ? j->scratch + worker * (j->gemm.scratch + 64) : NULL);
}

static void pack_block(void *context, int64_t block, int worker)
{
    job *j = context;
    (void)worker;
    j->kernels->pack(j->packed, j->b, j->gemm.N, 1, j->gemm.K, j->gemm.N, block, block + 1);
}

static void run_halka(void *context)
{
    job *j = context;
    if (j->pack_each)
        hki_pool_run(j->pool, (j->gemm.N + 31) / 32, pack_block, j);
    hki_pool_run(j->pool, j->gemm.blocks, gemm_block, j);
}

static void run_halka_packing(void *context)
{
    job *j = context;
    j->pack_each = true;
    run_halka(j);
    j->pack_each = false;
}

#ifdef BENCH_OPENBLAS
static void run_openblas(void *context)
{
    const hkk_gemm *g = &((job *)context)->gemm;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)g->M, (int)g->N, (int)g->K, 1, g->a, (int)g->K,
                ((job *)context)->b, (int)g->N, 0, g->c, (int)g->N);
}
#endif

#ifdef BENCH_ONEDNN
static void check_dnnl(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN failed: %d\n", (int)status);
        exit(1);
    }
}

static void prepare_onednn(job *j)
{
    const hkk_gemm *g = &j->gemm;
    dnnl_dims_t a = {g->M, g->K}, b = {g->K, g->N}, c = {g->M, g->N};
    dnnl_memory_desc_t a_desc, b_any, b_plain, c_desc;
    check_dnnl(dnnl_memory_desc_init_by_tag(&a_desc, 2, a, dnnl_f32, dnnl_ab));
    check_dnnl(dnnl_memory_desc_init_by_tag(&b_any, 2, b, dnnl_f32, dnnl_format_tag_any));
    check_dnnl(dnnl_memory_desc_init_by_tag(&b_plain, 2, b, dnnl_f32, dnnl_ab));
    check_dnnl(dnnl_memory_desc_init_by_tag(&c_desc, 2, c, dnnl_f32, dnnl_ab));
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t primitive_desc, reorder_desc;
    dnnl_primitive_t reorder;
    dnnl_memory_t plain;
    check_dnnl(dnnl_matmul_desc_init(&desc, &a_desc, &b_any, NULL, &c_desc));
    check_dnnl(dnnl_primitive_desc_create(&primitive_desc, &desc, NULL, j->engine, NULL));
    check_dnnl(dnnl_primitive_create(&j->matmul, primitive_desc));
    const dnnl_memory_desc_t *b_desc = dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_weights_md, 0);
    check_dnnl(dnnl_memory_create(&j->memory[0], &a_desc, j->engine, (void *)(uintptr_t)g->a));
    check_dnnl(dnnl_memory_create(&j->memory[1], b_desc, j->engine, DNNL_MEMORY_ALLOCATE));
    check_dnnl(dnnl_memory_create(&j->memory[2], &c_desc, j->engine, g->c));
    check_dnnl(dnnl_memory_create(&plain, &b_plain, j->engine, j->b));
    check_dnnl(dnnl_reorder_primitive_desc_create(&reorder_desc, &b_plain, j->engine, b_desc, j->engine, NULL));
    check_dnnl(dnnl_primitive_create(&reorder, reorder_desc));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, j->memory[1]}};
    check_dnnl(dnnl_primitive_execute(reorder, j->stream, 2, args));
    check_dnnl(dnnl_stream_wait(j->stream));
    dnnl_primitive_destroy(reorder);
    dnnl_memory_destroy(plain);
    dnnl_primitive_desc_destroy(primitive_desc);
    dnnl_primitive_desc_destroy(reorder_desc);
}

static void run_onednn(void *context)
{
    job *j = context;
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, j->memory[0]}, {DNNL_ARG_WEIGHTS, j->memory[1]}, {DNNL_ARG_DST, j->memory[2]}};
    check_dnnl(dnnl_primitive_execute(j->matmul, j->stream, 3, args));
    check_dnnl(dnnl_stream_wait(j->stream));
}

static void release_onednn(job *j)
{
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(j->memory[i]);
    dnnl_primitive_destroy(j->matmul);
}
#endif

enum { HALKA, HALKA_PACKING, OPENBLAS, ONEDNN, PEERS };

static void measure(job *j, int64_t M, int64_t N, int64_t K, int threads, int rounds, double peak)
{
    hkk_gemm *g = &j->gemm;
    *g = (hkk_gemm){.M = M, .N = N, .K = K, .a_row = K, .a_step = 1, .c_ld = N};
    float *a = bench_floats(M * K), *c = bench_floats(M * N);
    j->b = bench_floats(K * N);
    j->packed = bench_floats(hkk_gemm_packed_size(K, N));
    g->a = a;
    g->b = j->packed;
    g->c = c;
    hkk_gemm_plan(g);
    j->scratch = g->scratch ? bench_floats((g->scratch + 64) * threads) : NULL;
    bench_fn *peers[PEERS] = {run_halka, run_halka_packing};
#ifdef BENCH_OPENBLAS
    peers[OPENBLAS] = run_openblas;
#endif
#ifdef BENCH_ONEDNN
    prepare_onednn(j);
    peers[ONEDNN] = run_onednn;
#endif
    static double rates[PEERS][MAX_ROUNDS];
    double medians[PEERS] = {0}, flops = 2e-9 * (double)M * (double)N * (double)K;
    run_halka_packing(j);
    for (int round = 0; round < rounds; round++)
        for (int p = 0; p < PEERS; p++)
            if (peers[p])
                rates[p][round] = flops / bench_time(peers[p], j, 0.02);
    for (int p = 0; p < PEERS; p++)
        medians[p] = peers[p] ? bench_median(rates[p], rounds) : 0;
    printf("%5d %5d %5d | %6.1f (%3.0f%%) %6.1f %6.1f (%3.0f%%) %6.1f (%3.0f%%) | %5.2f %5.2f\n", (int)M, (int)N,
           (int)K, medians[HALKA], 100 * medians[HALKA] / peak, medians[HALKA_PACKING], medians[OPENBLAS],
           100 * medians[OPENBLAS] / peak, medians[ONEDNN], 100 * medians[ONEDNN] / peak,
           medians[OPENBLAS] ? medians[HALKA] / medians[OPENBLAS] : 0,
           medians[ONEDNN] ? medians[HALKA] / medians[ONEDNN] : 0);
    fflush(stdout);
#ifdef BENCH_ONEDNN
    release_onednn(j);
#endif
    free(a);
    free(c);
    free(j->b);
    free(j->packed);
    free(j->scratch);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 15;
    if (threads < 1 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: %s THREADS [ROUNDS, at most %d]\n", argv[0], MAX_ROUNDS);
        return 2;
    }
    static job j;
    hki_isa isa;
    if (hki_isa_choose(&isa) || (threads > 1 && hki_pool_create(&j.pool, threads, true)))
        return 1;
    j.kernels = hkk_kernels_get(isa)->gemm;
#ifdef BENCH_OPENBLAS
    openblas_set_num_threads(threads);
    printf("OpenBLAS core: %s\n", openblas_get_corename());
#endif
#ifdef BENCH_ONEDNN
    omp_set_num_threads(threads);
    check_dnnl(dnnl_engine_create(&j.engine, dnnl_cpu, 0));
    check_dnnl(dnnl_stream_create(&j.stream, j.engine, dnnl_stream_default_flags));
#endif
    double peak = bench_peak() * threads;
    printf("halka %s, %d thread(s), FMA peak %.1f GFLOP/s, %d rounds\n", hki_isa_name(isa), threads, peak, rounds);
    printf("    M     N     K |  halka        +pack OpenBLAS       oneDNN        | /OpenBLAS /oneDNN\n");
    static const int64_t cubes[] = {64, 128, 256, 384, 512, 768, 1024, 1536, 2048};
    static const int64_t rows[] = {1, 8, 64, 256, 1024};
    for (size_t i = 0; i < sizeof cubes / sizeof cubes[0]; i++)
        measure(&j, cubes[i], cubes[i], cubes[i], threads, rounds, peak);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        measure(&j, rows[i], 768, 768, threads, rounds, peak);
        measure(&j, rows[i], 3072, 768, threads, rounds, peak);
        measure(&j, rows[i], 768, 3072, threads, rounds, peak);
    }
    hki_pool_free(j.pool);
    return 0;
}
