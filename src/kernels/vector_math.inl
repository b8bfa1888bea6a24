/* The vector_math family over lanes; compiled once per ISA. Contract: kernels/vector_math.h. */
#include "kernels/math.inl"
#include "kernels/vector_math.h"

#define HKK_VECTOR_FN(name, lane_fn)                                                   \
    static void HKK_NAME(name)(float *y, const float *x, int64_t n)                    \
    {                                                                                  \
        int64_t i = 0;                                                                 \
        for (; i + 16 <= n; i += 16)                                                   \
            hkk_store(y + i, lane_fn(hkk_load(x + i)));                                \
        if (i < n)                                                                     \
            hkk_store_n(y + i, lane_fn(hkk_load_n(x + i, (int)(n - i))), (int)(n - i)); \
    }

HKK_VECTOR_FN(hkk_exp_f32, hkk_exp)
HKK_VECTOR_FN(hkk_log_f32, hkk_log)
HKK_VECTOR_FN(hkk_tanh_f32, hkk_tanh)
HKK_VECTOR_FN(hkk_sigmoid_f32, hkk_sigmoid)
HKK_VECTOR_FN(hkk_erf_f32, hkk_erf)
HKK_VECTOR_FN(hkk_softplus_f32, hkk_softplus)

static void HKK_NAME(hkk_pow_f32)(float *z, const float *x, const float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        hkk_store(z + i, hkk_pow(hkk_load(x + i), hkk_load(y + i)));
    if (i < n) {
        int rest = (int)(n - i);
        hkk_store_n(z + i, hkk_pow(hkk_load_n(x + i, rest), hkk_load_n(y + i, rest)), rest);
    }
}

const hkk_vector_math_kernels HKK_NAME(hkk_vector_math) = {
    .exp = HKK_NAME(hkk_exp_f32),
    .log = HKK_NAME(hkk_log_f32),
    .tanh = HKK_NAME(hkk_tanh_f32),
    .sigmoid = HKK_NAME(hkk_sigmoid_f32),
    .erf = HKK_NAME(hkk_erf_f32),
    .softplus = HKK_NAME(hkk_softplus_f32),
    .pow = HKK_NAME(hkk_pow_f32),
};
