/* Sums leaves in a fixed binary tree over their indices: a tree over n leaves splits at the largest power of two below
 * n. The shape depends on n alone, so the sum does not depend on who computed which leaf. Worked like a binary counter,
 * it needs at most log2(n) + 1 arrays at a time. */
#ifndef HKI_TRAIN_ACCUMULATE_H
#define HKI_TRAIN_ACCUMULATE_H

#include "train/vector.h"

#define HKI_TREE_DEPTH 48

typedef struct hki_tree_sum {
    int64_t size;                  /* floats per array */
    float *arrays[HKI_TREE_DEPTH]; /* a stack of partial sums; arrays are kept for the next step */
    int level[HKI_TREE_DEPTH];     /* log2 of the leaves in each */
    int depth;
} hki_tree_sum;

void hki_tree_sum_clear(hki_tree_sum *sum);
/** Starts over; keeps the arrays. */
void hki_tree_sum_start(hki_tree_sum *sum, int64_t size);
/** Returns the array that the next leaf is to be written into (allocated on first use). */
hk_status hki_tree_sum_leaf(float **out, hki_tree_sum *sum) HK_MUST_USE;
/** Takes the leaf in: merges equal subtrees. */
void hki_tree_sum_push(hki_tree_sum *sum, hki_context *context);
/** Folds what is left and returns the sum, valid until the next start. At least one leaf must have been pushed. */
float *hki_tree_sum_finish(hki_tree_sum *sum, hki_context *context);

#endif
