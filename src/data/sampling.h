/* Which samples, in which order: split, shuffle, leaves. All of it is a pure function of seed and numbers, so a
 * position in training is two integers, and any thread or rank can ask for any part. */
#ifndef HKI_DATA_SAMPLING_H
#define HKI_DATA_SAMPLING_H

#include "base/memory.h"

/** Splits samples 0 .. count-1: each goes to the second part with probability `fraction`, by a hash of (seed, index),
 * so that adding samples moves none of the old ones. Lists are ascending, hki_alloc'ed. HK_INVALID_DATA if a part would
 * be empty. */
hk_status hki_split(int64_t **out_first, int64_t *out_first_count, int64_t **out_second, int64_t *out_second_count,
                    int64_t count, double fraction, uint64_t seed) HK_MUST_USE;

/** Cuts an epoch of `count` samples into batches (optimizer steps), and each batch into leaves (micro-batches), in
 * order. The last batch of an epoch and the last leaf of a batch may be short. */
typedef struct hki_sampler {
    int64_t count; /* samples */
    int64_t batch_size, leaf_size;
    int64_t used;   /* samples of an epoch that are used: `count`, or less with drop_last */
    int64_t leaves; /* of an epoch */
    int64_t batches;
    uint64_t seed;
    bool shuffle;
} hki_sampler;

/** Where a leaf stands. */
typedef struct hki_leaf_place {
    int64_t epoch, batch, begin; /* begin: position in the epoch of its first sample */
    int64_t samples, batch_samples;
    bool ends_batch;
} hki_leaf_place;

/** Makes a sampler. With drop_last, an epoch ends before an incomplete batch. HK_INVALID_CONFIG if nothing is left. */
hk_status hki_sampler_create(hki_sampler *out, int64_t count, int64_t batch_size, int64_t leaf_size, bool drop_last,
                             bool shuffle, uint64_t seed) HK_MUST_USE;
/** Finds the place of a leaf; leaves are counted over all epochs. */
hki_leaf_place hki_sampler_place(const hki_sampler *sampler, int64_t leaf);
/** Returns the number of the first leaf of a batch. */
int64_t hki_sampler_first_leaf(const hki_sampler *sampler, int64_t epoch, int64_t batch);
/** Returns which sample (0 .. count-1) stands at a position (0 .. used-1) of an epoch. */
int64_t hki_sampler_sample(const hki_sampler *sampler, int64_t epoch, int64_t position);

/* Class weights against imbalance, from the samples per class; a class that does not occur gets 0. */
/** Inverse frequency: n / (K n_c), with which all classes weigh alike and the mean over the samples is 1. */
void hki_class_weights_inverse(double *out, const int64_t *counts, int64_t classes);
/** Effective number of samples (Cui et al., CVPR 2019): (1 - beta) / (1 - beta^n_c), scaled to sum to the number of
 * classes. */
void hki_class_weights_effective(double *out, const int64_t *counts, int64_t classes, double beta);

#endif
