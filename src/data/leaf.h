/* Making one leaf: which samples it has, their pixels, augmentation, mixup, labels. */
#ifndef HKI_DATA_LEAF_H
#define HKI_DATA_LEAF_H

#include "data/loader.h"

/** Memory of one thread, kept from leaf to leaf. */
typedef struct hki_leaf_scratch {
    void *sample;   /* one sample before augmentation */
    void *leaf;     /* all samples of a leaf before mixup */
    float *targets; /* all targets of a leaf before mixup */
} hki_leaf_scratch;
void hki_leaf_scratch_free(hki_leaf_scratch *scratch);

/** What leaves are made from. */
typedef struct hki_leaf_source {
    const hki_dataset *dataset;
    const int64_t *indices; /* NULL: all samples */
    hki_sampler sampler;
    hki_augment augment;
    uint64_t seed;
    size_t sample_size;       /* bytes of a sample's x */
    hki_leaf_scratch scratch; /* of the caller's thread, without loader threads */
} hki_leaf_source;

/** A batch with the memory behind it. */
typedef struct hki_leaf_slot {
    hki_batch batch;
    int64_t *ids;
} hki_leaf_slot;

/** Allocates a batch for full leaves. */
hk_status hki_leaf_create(hki_leaf_slot *out, const hki_leaf_source *source) HK_MUST_USE;
void hki_leaf_clear(hki_leaf_slot *leaf);
/** Makes leaf number `number`: a pure function of the source and the number. */
hk_status hki_leaf_fill(hki_leaf_slot *out, const hki_leaf_source *source, int64_t number,
                        hki_leaf_scratch *scratch) HK_MUST_USE;

#endif
