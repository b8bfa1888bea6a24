/* Shared by the benchmarks: clock, medians, aligned buffers, the FMA peak of this machine. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline double bench_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Sorts and returns the median. */
static inline double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/** Allocates n floats, 64-byte aligned, filled with small numbers. */
static inline float *bench_floats(int64_t n)
{
    void *block = NULL;
    if (posix_memalign(&block, 64, ((size_t)n + 16) * sizeof(float)))
        exit(1);
    float *x = block;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i * 7919 % 1013) * 1e-3f - 0.5f;
    return x;
}

typedef void bench_fn(void *context);

/** Calls fn at least once and until `seconds` have passed; returns seconds per call. */
static inline double bench_time(bench_fn *fn, void *context, double seconds)
{
    double start = bench_clock(), now;
    int64_t calls = 0;
    do {
        fn(context);
        calls++;
        now = bench_clock();
    } while (now - start < seconds);
    return (now - start) / (double)calls;
}

#if defined(__x86_64__)
#define BENCH_PEAK_FN(name, target_name, type, set1, fma, width)                          \
    __attribute__((target(target_name))) static inline double name(void)                  \
    {                                                                                     \
        type x[12], a = set1(0.999f), b = set1(1e-3f);                                    \
        for (int i = 0; i < 12; i++)                                                      \
            x[i] = set1((float)i);                                                        \
        double start = bench_clock();                                                     \
        for (int n = 0; n < 2000000; n++) {                                               \
            _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) x[i] = fma(x[i], a, b); \
        }                                                                                 \
        double seconds = bench_clock() - start;                                           \
        for (int i = 0; i < 12; i++)                                                      \
            __asm__ volatile("" ::"m"(x[i]));                                             \
        return 2e6 * 12 * 2 * width / seconds * 1e-9;                                     \
    }
BENCH_PEAK_FN(bench_peak_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, 16)
BENCH_PEAK_FN(bench_peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, 8)
#endif

/** Measures the peak of one core in GFLOP/s: fused multiply-adds in registers only. */
static inline double bench_peak(void)
{
    double best = 0;
#if defined(__x86_64__)
    for (int i = 0; i < 5; i++) {
        double x = __builtin_cpu_supports("avx512f") ? bench_peak_avx512()
                   : __builtin_cpu_supports("fma")   ? bench_peak_avx2()
                                                     : 0;
        best = x > best ? x : best;
    }
#endif
    return best;
}

#endif
