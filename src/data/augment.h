/* Augmentation of images as stored (uint8 or float32), sample by sample. Every decision is a function of (seed, epoch,
 * sample index): no state, the same bytes whoever does it. */
#ifndef HKI_DATA_AUGMENT_H
#define HKI_DATA_AUGMENT_H

#include "data/dataset.h"

typedef struct hki_augment {
    double horizontal_flip, vertical_flip; /* probabilities */
    int64_t crop_padding; /* pad by so many pixels of 0 on each side, then crop back at a random place */
    double rotate;                         /* degrees, uniform in -rotate .. rotate, bilinear */
    double brightness, contrast, saturation; /* factors uniform in 1 - v .. 1 + v */
    double erase;                          /* probability of erasing a rectangle (Zhong et al. 2020) */
    double erase_area[2];                  /* of the image */
    double
        mixup; /* alpha of Beta(alpha, alpha) (Zhang et al. 2018); 0: off. Done by the loader: it needs two samples */
} hki_augment;

/** Fails if the data set's samples are no images or the settings make no sense for them. */
hk_status hki_augment_check(const hki_augment *augment, const hki_dataset *dataset) HK_MUST_USE;
/** Augments one sample in place; scratch has room for one sample. */
void hki_augment_sample(void *x, void *scratch, const hki_augment *augment, const hki_dataset *dataset, uint64_t seed,
                        uint64_t epoch, uint64_t sample);

#endif
