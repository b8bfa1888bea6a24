/* Kernel family: elementwise functions on rows. A row is a run of consecutive elements of the output; an operand is
 * either as long, or one element that is spread over the row. Every element is computed by itself, so a row may be cut
 * anywhere.
 *
 * The list below names all elementwise functions of the library. This family computes the ones of its first part in
 * float32; other types, and what is rare, are plain C in src/ops (their entries in the table are NULL). */
#ifndef HKI_KERNELS_ELEMENTWISE_H
#define HKI_KERNELS_ELEMENTWISE_H

#include <stdint.h>

/** In float32 over lanes: name, number of operands, meaning (a, b, c, d: operands; p0, p1, p2: parameters). */
#define HKK_LANE_ROWS(X)                                                                    \
    X(add, 2)                    /* a + b */                                                \
    X(sub, 2)                    /* a - b */                                                \
    X(mul, 2)                    /* a b */                                                  \
    X(div, 2)                    /* a / b */                                                \
    X(pow, 2)                    /* a^b */                                                  \
    X(min, 2)                    /* NaN if either is; min(-0, 0) is the second */           \
    X(max, 2)                                                                               \
    X(prelu, 2)                  /* a < 0 ? a b : a */                                      \
    X(neg, 1)                                                                               \
    X(abs, 1)                                                                               \
    X(sign, 1)                   /* -1, 0, 1 */                                             \
    X(sqrt, 1)                                                                              \
    X(exp, 1)                                                                               \
    X(log, 1)                                                                               \
    X(reciprocal, 1)             /* 1 / a */                                                \
    X(floor, 1)                                                                             \
    X(ceil, 1)                                                                              \
    X(round, 1)                  /* ties to even */                                         \
    X(erf, 1)                                                                               \
    X(square, 1)                 /* a a */                                                  \
    X(clip, 3)                   /* min(c, max(b, a)), NaN stays */                         \
    X(relu, 1)                   /* max(0, a), NaN and -0 stay */                           \
    X(leaky_relu, 1)             /* a < 0 ? p0 a : a */                                     \
    X(thresholded_relu, 1)       /* a > p0 ? a : 0 */                                       \
    X(elu, 1)                    /* a > 0 ? p0 a : p1 (exp(p2 a) - 1): Elu, Selu, Celu */   \
    X(gelu, 1)                   /* a (1 + erf(a / sqrt 2)) / 2 */                          \
    X(gelu_tanh, 1)              /* a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2 */    \
    X(sigmoid, 1)                                                                           \
    X(hard_sigmoid, 1)           /* min(1, max(0, p0 a + p1)) */                            \
    X(hard_swish, 1)             /* a min(1, max(0, a / 6 + 1 / 2)) */                      \
    X(tanh, 1)                                                                              \
    X(softplus, 1)               /* log(1 + exp(a)) */                                      \
    X(softsign, 1)               /* a / (1 + |a|) */                                        \
    X(mish, 1)                   /* a tanh(softplus(a)) */                                  \
    X(swish, 1)                  /* a sigmoid(p0 a) */                                      \
    X(relu_grad, 2)              /* the gradients: a is dy; b is y */                       \
    X(sigmoid_grad, 2)                                                                      \
    X(tanh_grad, 2)                                                                         \
    X(clip_grad, 4)              /* in those below b is x; c, d: the limits */              \
    X(leaky_relu_grad, 2)                                                                   \
    X(thresholded_relu_grad, 2)                                                             \
    X(elu_grad, 2)               /* p1: the product of the forward p1 and p2 */             \
    X(gelu_grad, 2)                                                                         \
    X(gelu_tanh_grad, 2)                                                                    \
    X(hard_sigmoid_grad, 2)                                                                 \
    X(hard_swish_grad, 2)                                                                   \
    X(softplus_grad, 2)                                                                     \
    X(softsign_grad, 2)                                                                     \
    X(mish_grad, 2)                                                                         \
    X(swish_grad, 2)

/** In plain C only. */
#define HKK_PLAIN_ROWS(X)       \
    X(mod, 2)                   /* sign of the divisor, as in Python */                     \
    X(fmod, 2)                  /* sign of the dividend, as in C */                         \
    X(sin, 1)                   \
    X(cos, 1)                   \
    X(tan, 1)                   \
    X(asin, 1)                  \
    X(acos, 1)                  \
    X(atan, 1)                  \
    X(sinh, 1)                  \
    X(cosh, 1)                  \
    X(asinh, 1)                 \
    X(acosh, 1)                 \
    X(atanh, 1)                 \
    X(equal, 2)                 /* to bool, as all that follow up to is_inf */              \
    X(less, 2)                  \
    X(less_equal, 2)            \
    X(greater, 2)               \
    X(greater_equal, 2)         \
    X(is_nan, 1)                \
    X(is_inf, 1)                /* p0: -Inf counts, p1: +Inf counts */                      \
    X(logical_and, 2)           \
    X(logical_or, 2)            \
    X(logical_xor, 2)           \
    X(logical_not, 1)           \
    X(bit_and, 2)               \
    X(bit_or, 2)                \
    X(bit_xor, 2)               \
    X(bit_not, 1)               \
    X(shift_left, 2)            \
    X(shift_right, 2)           \
    X(shrink, 1)                /* a < -p0 ? a + p1 : a > p0 ? a - p1 : 0 */                \
    X(where, 3)                 /* a ? b : c, by the size of b and c */

typedef enum hkk_row_op {
#define HKK_ROW_ENUM(name, arity) HKK_ROW_##name,
    HKK_LANE_ROWS(HKK_ROW_ENUM) HKK_LANE_ROW_COUNT,
    HKK_ROW_BEFORE_PLAIN = HKK_LANE_ROW_COUNT - 1,
    HKK_PLAIN_ROWS(HKK_ROW_ENUM) HKK_ROW_COUNT
#undef HKK_ROW_ENUM
} hkk_row_op;

#define HKK_ROW_OPERANDS 4

/** One row to be computed. */
typedef struct hkk_row {
    void *y;                              /* [n]; may be an operand that is not spread */
    const void *x[HKK_ROW_OPERANDS];      /* [n], or one element if spread[k] */
    unsigned char spread[HKK_ROW_OPERANDS];
    int64_t n;
    double p[3];
} hkk_row;

typedef void hkk_row_fn(const hkk_row *row);

typedef struct hkk_elementwise_kernels {
    hkk_row_fn *f32[HKK_ROW_COUNT]; /* NULL: none here */
} hkk_elementwise_kernels;

extern const hkk_elementwise_kernels hkk_elementwise__c, hkk_elementwise__avx2, hkk_elementwise__avx512;

#endif
