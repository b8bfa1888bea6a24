/* The engine of elementwise operators: walks broadcast operands of any layout, in fixed blocks over the threads, and
 * computes row by row with a kernel of the elementwise family (kernels/elementwise.h) or its counterpart in plain C for
 * other types. */
#ifndef HKI_OPS_BROADCAST_H
#define HKI_OPS_BROADCAST_H

#include "graph/op.h"

/** An operand of the engine. */
typedef struct hki_operand {
    const char *data;
    hk_dtype dtype; /* of the tensor */
    hk_dtype as;    /* what the row function reads; converted where it differs */
    size_t size;    /* bytes of an element of the tensor */
    int64_t strides[HK_MAX_RANK]; /* in elements, of the collapsed dims; 0: broadcast */
    bool dense;     /* element i of the output needs element i of this */
    bool scalar;    /* all strides 0 */
} hki_operand;

/** One elementwise computation. hki_elementwise_plan fills it. */
typedef struct hki_elementwise {
    hkk_row_fn *row;
    double p[3];
    int count;
    hki_operand *in; /* [count] */
    char *out;
    hk_dtype out_dtype, out_as;
    bool fold;       /* y = row(... row(in 0, in 1) ..., in count-1) */
    bool mean;       /* then divided by count */
    bool staged;     /* some operand or the output passes through a buffer */
    int rank;        /* of the collapsed dims, in the memory order of the output */
    int64_t dims[HK_MAX_RANK];
    int64_t total;
} hki_elementwise;

/** Finds the function that computes `op` on elements of a type; NULL if there is none. */
hkk_row_fn *hki_row_find(hkk_row_op op, hk_dtype dtype, const hkk_kernels *kernels);

/** Plans y = row(in...) with broadcasting. Operands hold dtype `as` when the row function sees them; HK_UNDEFINED
 * leaves an operand (or the output) in its own type. `operands` is memory for the plan, one per input; inputs must be
 * given and broadcast to the shape of out. */
void hki_elementwise_plan(hki_elementwise *e, hki_operand *operands, int count, const hk_tensor *const *in,
                          hk_tensor *out, const hk_dtype *as, hk_dtype out_as);
/** Runs a plan. */
void hki_elementwise_run(const hki_elementwise *e, hki_pool *pool);

/** The type an operator computes in for tensors of a type: float32 for float16 and bfloat16. */
hk_dtype hki_compute_type(hk_dtype dtype);

/** Run function of an operator on all its inputs, which have one type: y = op(x...), with up to three parameters. */
hk_status hki_run_row(hki_run *r, hkk_row_op op, double p0, double p1, double p2) HK_MUST_USE;
/** The same on operands given one by one, for an output of the operands' type, or of another one that the row function
 * writes itself (bool). */
hk_status hki_run_row_on(hki_run *r, hkk_row_op op, int count, const hk_tensor *const *in, const double *p) HK_MUST_USE;
/** y = x0 op x1 op x2 ... for any number of inputs, in order; with `mean` divided by their number. Needs
 * hki_fold_scratch bytes of scratch. */
hk_status hki_run_fold(hki_run *r, hkk_row_op op, bool mean) HK_MUST_USE;
size_t hki_fold_scratch(const hki_run *r);

/** Defines the run function NAME_run of an operator without parameters. */
#define HKI_RUN_ROW(name, row)                            \
    static hk_status name##_run(hki_run *r)               \
    {                                                     \
        return hki_run_row(r, HKK_ROW_##row, 0, 0, 0);    \
    }

/** Upgrade rules for old versions: drops `consumed_inputs` (opset 1), and turns the attributes `broadcast` and `axis`
 * (up to opset 6) into an Unsqueeze of the second input. */
hk_status hki_upgrade_drop_consumed(hki_draft *draft) HK_MUST_USE;
hk_status hki_upgrade_broadcast_axis(hki_draft *draft) HK_MUST_USE;

#endif
