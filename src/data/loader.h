/* The loader: leaves (micro-batches) of epochs, prepared ahead by background threads. What a leaf holds is a pure
 * function of (epoch, leaf) and the options; the number of threads changes nothing. After the first leaves nothing is
 * allocated. */
#ifndef HKI_DATA_LOADER_H
#define HKI_DATA_LOADER_H

#include "data/augment.h"
#include "data/dataset.h"

typedef struct hki_loader_options {
    const int64_t *indices;   /* the samples to use (borrowed); NULL: all of the data set */
    int64_t count;            /* of indices; or dataset->count */
    int64_t batch_size;       /* of an optimizer step; the last of an epoch may be short */
    int64_t micro_batch_size; /* of a leaf: a batch is cut into leaves in order, the last may be short */
    bool drop_last;           /* leave out the last short batch */
    bool shuffle;             /* a fresh permutation each epoch (hki_permute, HKI_STREAM_SHUFFLE) */
    uint64_t seed;
    const hki_augment *augment; /* NULL: none */
    int workers;                /* background threads; 0: load in the calling thread */
} hki_loader_options;

/* One leaf. All tensors belong to the loader and are valid until the next call of hki_loader_next. */
typedef struct hki_batch {
    hk_tensor *x;          /* (n, sample dims), stored dtype */
    hk_tensor *y;          /* (n) int64, or (n, target dims) float32 */
    hk_tensor *y2;         /* mixup: labels of the partners; else NULL */
    hk_tensor *lambda;     /* mixup: (n) float32 weight of y; else NULL */
    int64_t samples;       /* n */
    uint64_t first;        /* position in the epoch's order of the first sample: the key of dropout */
    const int64_t *ids;    /* n indices in the data set */
    int64_t batch;         /* which batch of the epoch */
    int64_t batch_samples; /* samples of the whole batch: the leaf's share is samples / batch_samples */
    bool ends_batch;       /* the last leaf of its batch */
} hki_batch;

typedef struct hki_loader hki_loader;

/** Opens a loader; the data set must outlive it. */
hk_status hki_loader_open(hki_loader **out, const hki_dataset *dataset, const hki_loader_options *options) HK_MUST_USE;
void hki_loader_close(hki_loader *loader);
/** Batches and leaves per epoch. */
int64_t hki_loader_batches(const hki_loader *loader);
int64_t hki_loader_leaves(const hki_loader *loader);
/** Goes to the first leaf of batch `batch` of `epoch`; what was prefetched for elsewhere is dropped. */
hk_status hki_loader_seek(hki_loader *loader, int64_t epoch, int64_t batch) HK_MUST_USE;
/** Returns the next leaf, running on into the next epoch. An error of a background thread surfaces at the leaf it
 * belongs to. */
hk_status hki_loader_next(const hki_batch **out, hki_loader *loader) HK_MUST_USE;

#endif
