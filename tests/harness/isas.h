/* For kernel tests: the ISAs this machine can run, and byte equality of float arrays up to the payload of NaN. */
#ifndef TESTS_HARNESS_ISAS_H
#define TESTS_HARNESS_ISAS_H

#include <stdbool.h>

#include "kernels/kernels.h"

/** Returns the kernels of an ISA, or NULL if this machine or build has none. Use: for (int isa = 0; isa <
 * HKI_ISA_COUNT; isa++). */
static inline const hkk_kernels *test_isa_kernels(int isa)
{
    bool runs = isa == HKI_ISA_C;
#if defined(__x86_64__)
    __builtin_cpu_init();
    runs |= isa == HKI_ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    runs |= isa == HKI_ISA_AVX512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    const hkk_kernels *kernels = hkk_kernels_get((hki_isa)isa);
    return runs && (int)kernels->isa == isa ? kernels : NULL;
}

/** Returns the index of the first element whose bits differ (two NaNs are equal), or -1. */
static inline int64_t test_first_difference(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) && !(a[i] != a[i] && b[i] != b[i]))
            return i;
    return -1;
}

/** A cheap random stream for test data. */
static inline uint32_t test_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/** Fills with values in [-1, 1). */
static inline void test_fill(float *x, int64_t n, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((int32_t)test_random(&state) * 0x1p-31);
}

/** Strews NaN, infinities, zeros of both signs, denormals and extremes over an array: about one in `every`. */
static inline void test_strew_special(float *x, int64_t n, uint64_t seed, uint32_t every)
{
    static const float special[] = {NAN,    INFINITY, -INFINITY,     0.0f,           -0.0f,
                                    1e-40f, -1e-45f,  3.4028235e38f, -3.4028235e38f, 1.17549435e-38f};
    uint64_t state = seed * 2 + 1;
    for (int64_t i = 0; i < n; i++)
        if (test_random(&state) % every == 0)
            x[i] = special[test_random(&state) % (sizeof special / sizeof special[0])];
}

#endif
