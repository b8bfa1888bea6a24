/* What the files of augmentation share. */
#ifndef HKI_DATA_AUGMENT_INTERNAL_H
#define HKI_DATA_AUGMENT_INTERNAL_H

#include "data/augment.h"
#include "data/dataset_store.h"
#include "tensor/random.h"

/** Four random words for one choice (`draw`) about one sample in one epoch. */
void hki_augment_draw(uint32_t words[4], uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t draw);
/** Uniform in [0, 1) with 32 bits. */
double hki_augment_uniform(uint32_t word);
/** Changes brightness, contrast and saturation in place by these factors, in this order. */
void hki_augment_color(void *pixels, const hki_dataset *dataset, const double factors[3]);

#endif
