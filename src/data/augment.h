/* Augmentation of images as stored (uint8 or float32), sample by sample. Every decision is a function of (seed, epoch,
 * sample index): no state, the same bytes whoever does it. Each choice has its own random numbers, so that turning one
 * option on changes no other. Bytes are computed in fixed point, floats with + - * / alone: the same results on every
 * machine. */
#ifndef HKI_DATA_AUGMENT_H
#define HKI_DATA_AUGMENT_H

#include "data/dataset.h"

typedef struct hki_augment {
    double horizontal_flip, vertical_flip; /* probabilities */
    int64_t crop_padding; /* pad by so many pixels of 0 on each side, then crop back at a random place */
    double rotate;        /* degrees, uniform in -rotate .. rotate, bilinear */
    double brightness, contrast, saturation; /* factors uniform in 1 - v .. 1 + v */
    double erase;                            /* probability of erasing a rectangle (Zhong et al. 2020) */
    double erase_area[2];                    /* of the image */
    double
        mixup; /* alpha of Beta(alpha, alpha) (Zhang et al. 2018); 0: off. Done by the loader: it needs two samples */
} hki_augment;

/** Fails if the data set's samples are no images or the settings make no sense for them. */
hk_status hki_augment_check(const hki_augment *augment, const hki_dataset *dataset) HK_MUST_USE;
/** Augments one sample in place; scratch has room for one sample. */
void hki_augment_sample(void *x, void *scratch, const hki_augment *augment, const hki_dataset *dataset, uint64_t seed,
                        uint64_t epoch, uint64_t sample);
/** As hki_augment_sample, from `in` to `out`, which do not overlap. */
void hki_augment_apply(void *out, const void *in, const hki_augment *augment, const hki_dataset *dataset, uint64_t seed,
                       uint64_t epoch, uint64_t sample);
/** True if anything but mixup is on. */
bool hki_augment_changes_pictures(const hki_augment *augment);

/** Chooses, for the sample at `position` of a leaf of `count` samples, the position of its partner and how much of the
 * sample itself remains, in 1/65536. A leaf of one sample stays as it is. */
void hki_mixup_choose(int64_t *out_partner, uint32_t *out_weight, const hki_augment *augment, uint64_t seed,
                      uint64_t epoch, uint64_t sample, int64_t position, int64_t count);
/** out = (a weight + b (65536 - weight)) / 65536 for `count` elements of uint8 or float32. out may be a. */
void hki_mixup_blend(void *out, const void *a, const void *b, hk_dtype dtype, int64_t count, uint32_t weight);
/** Draws from Beta(alpha, alpha), a pure function of its arguments: Joehnk's method up to alpha 1, Cheng's BB above. */
double hki_beta_draw(double alpha, uint64_t seed, uint64_t epoch, uint64_t sample);

#endif
