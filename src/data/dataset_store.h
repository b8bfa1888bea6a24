/* Behind a data set: the tensors or files it reads from. Shared by the files of this folder that open data sets. */
#ifndef HKI_DATA_DATASET_STORE_H
#define HKI_DATA_DATASET_STORE_H

#include "data/dataset.h"

typedef struct hki_store {
    hki_arena *arena;       /* holds the data set itself and all names */
    const char *label_name; /* file of the labels, for messages */
    hk_tensor *x;           /* (count, x_dims); NULL: pictures that are decoded when read */
    const char **files;     /* the pictures' paths */
    hk_tensor *y;           /* int64 (count) or float32 (count, y_dims); NULL: no labels */
    size_t x_size, y_size;  /* bytes of one sample */
    const char **columns;   /* CSV: names of the features */
} hki_store;

static inline hki_store *hki_store_of(const hki_dataset *dataset)
{
    return dataset->implementation;
}

/** The sizes of pictures, whatever their layout; zero for vectors. */
typedef struct hki_picture {
    int64_t height, width, channels;
} hki_picture;
hki_picture hki_dataset_picture(const hki_dataset *dataset);

/** Makes an empty data set with its store; names are copied. */
hk_status hki_dataset_create(hki_dataset **out, const char *name, const char *label_name) HK_MUST_USE;
/** Takes over x and y (may be NULL), frees them on failure too, checks everything, converts the labels. */
hk_status hki_dataset_finish(hki_dataset *dataset, hk_tensor *x, hk_tensor *y,
                             const hki_dataset_files *files) HK_MUST_USE;
/** Sets type, dims and layout of one sample. */
hk_status hki_dataset_set_sample(hki_dataset *dataset, hk_dtype dtype, int rank, const int64_t *dims) HK_MUST_USE;
/** Converts the labels y to classes or targets and checks them. Borrows y. */
hk_status hki_dataset_set_labels(hki_dataset *dataset, const hk_tensor *y, const hki_dataset_files *files) HK_MUST_USE;
/** Copies names into the arena of the data set. */
hk_status hki_dataset_copy_names(const char ***out, hki_dataset *dataset, const char *const *names,
                                 int64_t count) HK_MUST_USE;

/** Opens tensors: x (count, ...), y or NULL. Counted memory is shared; borrowed memory must outlive the data set. Of
 * `files` class_names, class_count, classifies and limit count. */
hk_status hki_dataset_open_tensors(hki_dataset **out, const hk_tensor *x, const hk_tensor *y, const char *name,
                                   const hki_dataset_files *files) HK_MUST_USE;
/** Opens a folder with one folder of JPEG and PNG pictures per class. All are brought to the size of the first. */
hk_status hki_dataset_open_folder(hki_dataset **out, const char *path, const hki_dataset_files *files) HK_MUST_USE;

#endif
