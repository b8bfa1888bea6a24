/* A data set: samples with their labels or targets, as stored - pixels stay uint8, nothing is normalized here. */
#ifndef HKI_DATA_DATASET_H
#define HKI_DATA_DATASET_H

#include "data/sampling.h"
#include "tensor/tensor.h"

/** How the values of one sample are laid out, after the sample dimension. */
typedef enum hki_sample_layout {
    HKI_SAMPLE_VECTOR, /* a row of features */
    HKI_SAMPLE_HW,     /* height, width: one channel (IDX) */
    HKI_SAMPLE_HWC,    /* height, width, channels (picture files) */
    HKI_SAMPLE_CHW,    /* channels, height, width (npy as PyTorch stores it) */
} hki_sample_layout;

typedef struct hki_dataset {
    int64_t count;
    hki_sample_layout layout;
    hk_dtype x_dtype; /* as stored */
    int x_rank;       /* of one sample */
    int64_t x_dims[HK_MAX_RANK];
    bool classifies;                /* y is a class index */
    int classes;                    /* 0 if not */
    const char *const *class_names; /* classes of them, or NULL */
    hk_dtype y_dtype;               /* HK_INT64 for class indices, HK_FLOAT for targets */
    int y_rank; /* of one sample's label: 0 for a class; targets have at least 1 (dims {1}: one number) */
    int64_t y_dims[HK_MAX_RANK];
    const char *name; /* for messages: the file or folder */
    void *implementation;
    /** Writes sample `index`: x in the stored dtype, y as int64 or float32. Thread-safe. */
    hk_status (*read)(const struct hki_dataset *dataset, int64_t index, void *x, void *y);
    void (*release)(struct hki_dataset *dataset);
} hki_dataset;

/* What to open: exactly one of the forms of docs/run-file.md is given. */
typedef struct hki_dataset_files {
    const char *images, *labels; /* IDX, plain or .gz */
    const char *csv, *label_column;
    const char *x, *y;              /* npy */
    const char *folder;             /* one folder of pictures per class */
    const char *const *class_names; /* may be NULL */
    int class_count;
    bool classifies; /* the loss wants class indices; false: targets */
    int64_t limit;   /* use the first samples only; 0: all */
} hki_dataset_files;

/** Opens a data set and checks it: counts agree, labels are in range (class_count, or the largest label + 1), no NaN;
 * errors name file and row. Free with hki_dataset_close. */
hk_status hki_dataset_open(hki_dataset **out, const hki_dataset_files *files) HK_MUST_USE;
void hki_dataset_close(hki_dataset *dataset);

/** Measures mean and standard deviation of the stored values per channel (vector: per feature) over samples
 * indices[0..count) (NULL: the first `count`). `mean` and `deviation` have room for hki_dataset_channels values. Fixed
 * order: the same bytes everywhere. A deviation of 0 becomes 1. */
hk_status hki_dataset_statistics(float *mean, float *deviation, const hki_dataset *dataset, const int64_t *indices,
                                 int64_t count) HK_MUST_USE;
/** Returns the channels of pictures, the number of features of vectors. */
int64_t hki_dataset_channels(const hki_dataset *dataset);
/** Counts samples per class over indices (NULL: the first `count`). */
hk_status hki_dataset_class_counts(int64_t *out, const hki_dataset *dataset, const int64_t *indices,
                                   int64_t count) HK_MUST_USE;

#endif
