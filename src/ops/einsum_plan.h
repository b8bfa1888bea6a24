/* Einsum's equation as labels, and the contraction of a list of factors.
 *
 * Letters are labels 0 .. 51 in ASCII order (A-Z, a-z); the dims of an ellipsis get labels from 52 on, aligned at the
 * right, so that they broadcast. Factors are contracted from left to right: each pair becomes one batched matrix
 * product. */
#ifndef HKI_OPS_EINSUM_PLAN_H
#define HKI_OPS_EINSUM_PLAN_H

#include "graph/op.h"

#define HKI_EINSUM_LABELS   (52 + HK_MAX_RANK)
#define HKI_EINSUM_DISTINCT (2 * HK_MAX_RANK) /* different labels in an equation */
#define HKI_EINSUM_OPERANDS 16

typedef struct hki_term {
    int rank;
    int labels[HK_MAX_RANK];
} hki_term;

typedef struct hki_einsum {
    int operands;
    hki_term terms[HKI_EINSUM_OPERANDS];
    hki_term out;
    int64_t extents[HKI_EINSUM_LABELS]; /* negative: not known */
} hki_einsum;

/** Reads an equation for operands of the given types. If a rank is unknown, *known = false and only out->out.rank may
 * be set (else -1). */
hk_status hki_einsum_parse(hki_einsum *out, bool *known, const char *equation, int operands,
                           const hki_type *const *types) HK_MUST_USE;

/** A tensor whose dims carry labels. */
typedef struct hki_factor {
    const void *data;                   /* of the computing type: see hki_einsum_type */
    uint64_t labels;                    /* bit set */
    int64_t strides[HKI_EINSUM_LABELS]; /* in elements, of the labels in the set */
} hki_factor;

/** Memory and means of a contraction. With `dry`, nothing is computed, and `used` tells how much scratch it takes. */
typedef struct hki_einsum_work {
    const hki_run *run;
    const int64_t *extents;
    hk_dtype type; /* HK_FLOAT, HK_DOUBLE or HK_INT64 */
    bool dry;
    char *memory;
    size_t used;
} hki_einsum_work;

/** float32 for float16, bfloat16 and float32; float64; int64 (with wrapping) for integers. */
hk_dtype hki_einsum_type(hk_dtype dtype);
/** Makes a factor of a tensor; dims that broadcast carry no label. */
hk_status hki_einsum_factor(hki_factor *out, hki_einsum_work *work, const hki_term *term,
                            const hk_tensor *tensor) HK_MUST_USE;
/** Multiplies all factors and sums over the labels that are not in `keep`. */
void hki_einsum_contract(hki_factor *out, hki_einsum_work *work, int count, const hki_factor *factors, uint64_t keep);

#endif
