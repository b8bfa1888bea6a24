/* Data sets: what all of them share - checks, labels, reading. The openers are in dataset_open.c and dataset_folder.c.
 */
#include "data/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "data/dataset_store.h"
#include "formats/image.h"
#include "tensor/number.h"

#define CLASS_LIMIT 1000000 /* a larger label is taken for a mistake */

static hk_status read_sample(const hki_dataset *d, int64_t index, void *x, void *y)
{
    const hki_store *store = hki_store_of(d);
    HK_ASSERT(index >= 0 && index < d->count);
    if (y && store->y)
        memcpy(y, (const char *)store->y->data + (size_t)index * store->y_size, store->y_size);
    if (!x)
        return NULL;
    if (store->x) {
        memcpy(x, (const char *)store->x->data + (size_t)index * store->x_size, store->x_size);
        return NULL;
    }
    hki_map map;
    hki_scratch scratch = {0};
    HK_TRY(hki_map_open(&map, store->files[index]));
    hk_status status = hki_image_decode(x, d->x_dims, map.data, map.size, store->files[index], &scratch);
    hki_map_close(&map);
    hki_free(scratch.data);
    return status;
}

static void release(hki_dataset *d)
{
    hki_store *store = hki_store_of(d);
    hk_tensor_free(store->x);
    hk_tensor_free(store->y);
    hki_arena_free(store->arena); /* with d and the store itself */
}

hk_status hki_dataset_create(hki_dataset **out, const char *name, const char *label_name)
{
    *out = NULL;
    hki_arena *arena;
    HK_TRY(hki_arena_create(&arena));
    hki_dataset *d = hki_arena_alloc(arena, sizeof *d);
    hki_store *store = hki_arena_alloc(arena, sizeof *store);
    if (d && store) {
        d->name = hki_arena_strdup(arena, name);
        store->label_name = hki_arena_strdup(arena, label_name ? label_name : name);
    }
    if (!d || !store || !d->name || !store->label_name) {
        hki_arena_free(arena);
        return hki_out_of_memory();
    }
    store->arena = arena;
    d->implementation = store;
    d->read = read_sample;
    d->release = release;
    *out = d;
    return NULL;
}

void hki_dataset_close(hki_dataset *dataset)
{
    if (dataset)
        dataset->release(dataset);
}

static bool is_channels(int64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

hk_status hki_dataset_set_sample(hki_dataset *d, hk_dtype dtype, int rank, const int64_t *dims)
{
    if (dtype != HK_BOOL && !hki_dtype_is_float(dtype) && !hki_dtype_is_integer(dtype))
        return HK_ERR(HK_INVALID_DATA, "%s: expected samples of a numeric type, found %s", d->name,
                      hk_dtype_name(dtype));
    int64_t count;
    HK_TRY_CTX(hki_shape_check(&count, &hki_store_of(d)->x_size, dtype, rank, dims), "%s", d->name);
    d->x_dtype = dtype;
    d->x_rank = rank;
    memcpy(d->x_dims, dims, (size_t)rank * sizeof *dims);
    d->layout = HKI_SAMPLE_VECTOR;
    if (rank == 2) {
        d->layout = HKI_SAMPLE_HW;
    } else if (rank == 3) { /* where both ends could be channels, bytes are read as pictures, numbers as tensors */
        bool first = is_channels(dims[0]), last = is_channels(dims[2]);
        if (first || last)
            d->layout = last && (!first || dtype == HK_UINT8) ? HKI_SAMPLE_HWC : HKI_SAMPLE_CHW;
    }
    return NULL;
}

hki_picture hki_dataset_picture(const hki_dataset *d)
{
    const int64_t *n = d->x_dims;
    switch (d->layout) {
    case HKI_SAMPLE_HW:
        return (hki_picture){n[0], n[1], 1};
    case HKI_SAMPLE_HWC:
        return (hki_picture){n[0], n[1], n[2]};
    case HKI_SAMPLE_CHW:
        return (hki_picture){n[1], n[2], n[0]};
    default:
        return (hki_picture){0, 0, 0};
    }
}

hk_status hki_dataset_copy_names(const char ***out, hki_dataset *d, const char *const *names, int64_t count)
{
    hki_arena *arena = hki_store_of(d)->arena;
    const char **copy = hki_arena_array(arena, (size_t)count, sizeof *copy);
    for (int64_t i = 0; copy && i < count; i++)
        if (!(copy[i] = hki_arena_strdup(arena, names[i])))
            return hki_out_of_memory();
    *out = copy;
    return copy ? NULL : hki_out_of_memory();
}

static hk_status set_classes(hki_dataset *d, const hk_tensor *y, const hki_dataset_files *files)
{
    hki_store *store = hki_store_of(d);
    char text[HKI_SHAPE_TEXT];
    if (!hki_dtype_is_integer(y->dtype) && y->dtype != HK_BOOL)
        return HK_ERR(HK_INVALID_DATA, "%s: expected whole numbers as classes, found %s", store->label_name,
                      hk_dtype_name(y->dtype));
    if (y->rank < 1 || hk_tensor_count(y) != y->dims[0])
        return HK_ERR(HK_INVALID_DATA, "%s: expected one class per sample, found labels %s", store->label_name,
                      hki_shape_text(text, y->dtype, y->rank, y->dims));
    int64_t limit = files->class_count ? files->class_count : CLASS_LIMIT, largest = 0;
    HK_TRY(hk_tensor_create(&store->y, HK_INT64, 1, &d->count));
    int64_t *labels = store->y->data;
    for (int64_t i = 0; i < d->count; i++) {
        labels[i] = hki_tensor_get_int(y, i);
        if (labels[i] < 0 || labels[i] >= limit)
            return HK_ERR(HK_INVALID_DATA,
                          "%s: row %" PRId64 ": expected a class from 0 to %" PRId64 ", found %" PRId64,
                          store->label_name, i, limit - 1, labels[i]);
        largest = labels[i] > largest ? labels[i] : largest;
    }
    d->classifies = true;
    d->classes = files->class_count ? files->class_count : (int)largest + 1;
    if (d->class_names || !files->class_names || !files->class_count)
        return NULL;
    const char **names;
    HK_TRY(hki_dataset_copy_names(&names, d, files->class_names, files->class_count));
    d->class_names = names;
    return NULL;
}

/* Refuses NaN and infinity among the first `count` rows of a float tensor. */
static hk_status check_finite(const hki_dataset *d, const char *name, const hk_tensor *t)
{
    if (!hki_dtype_is_float(t->dtype))
        return NULL;
    int64_t row = hki_shape_count(t->dims, 1, t->rank);
    double block[256];
    for (int64_t i = 0, count = d->count * row; i < count; i += 256) {
        int64_t n = count - i < 256 ? count - i : 256;
        const char *from = (const char *)t->data + (size_t)i * hk_dtype_size(t->dtype);
        HK_TRY(hki_convert(block, HK_DOUBLE, from, t->dtype, n));
        for (int64_t k = 0; k < n; k++)
            if (block[k] - block[k] != 0)
                return HK_ERR(HK_INVALID_DATA,
                              "%s: row %" PRId64 ", column %" PRId64 ": expected a finite number, found %s", name,
                              (i + k) / row, (i + k) % row, block[k] != block[k] ? "nan" : "infinity");
    }
    return NULL;
}

static hk_status set_targets(hki_dataset *d, const hk_tensor *y)
{
    hki_store *store = hki_store_of(d);
    int64_t dims[HK_MAX_RANK];
    memcpy(dims, y->dims, sizeof dims);
    dims[0] = d->count;
    dims[1] = y->rank > 1 ? dims[1] : 1; /* (count, 1): the shape that a model with one output predicts */
    HK_TRY(hk_tensor_create(&store->y, HK_FLOAT, y->rank > 1 ? y->rank : 2, dims));
    HK_TRY_CTX(hki_convert(store->y->data, HK_FLOAT, y->data, y->dtype, hk_tensor_count(store->y)), "%s",
               store->label_name);
    return check_finite(d, store->label_name, store->y);
}

hk_status hki_dataset_set_labels(hki_dataset *d, const hk_tensor *y, const hki_dataset_files *files)
{
    HK_TRY(files->classifies ? set_classes(d, y, files) : set_targets(d, y));
    hki_store *store = hki_store_of(d);
    d->y_dtype = store->y->dtype;
    d->y_rank = store->y->rank - 1;
    memcpy(d->y_dims, store->y->dims + 1, (size_t)d->y_rank * sizeof *d->y_dims);
    store->y_size = hk_dtype_size(d->y_dtype) * (size_t)hki_shape_count(d->y_dims, 0, d->y_rank);
    return NULL;
}

/* Compares counts and applies the limit. */
static hk_status set_count(hki_dataset *d, const hk_tensor *x, const hk_tensor *y, int64_t limit)
{
    char text[HKI_SHAPE_TEXT];
    if (x->rank < 1 || x->dims[0] < 1 || !hk_tensor_count(x))
        return HK_ERR(HK_INVALID_DATA, "%s: expected at least one sample, found %s", d->name,
                      hki_shape_text(text, x->dtype, x->rank, x->dims));
    if (y && (y->rank < 1 || y->dims[0] != x->dims[0] || !hk_tensor_count(y)))
        return HK_ERR(HK_INVALID_DATA, "%s: expected %" PRId64 " labels, one for each sample of %s, found %s",
                      hki_store_of(d)->label_name, x->dims[0], d->name,
                      hki_shape_text(text, y->dtype, y->rank, y->dims));
    d->count = limit > 0 && limit < x->dims[0] ? limit : x->dims[0];
    return NULL;
}

hk_status hki_dataset_finish(hki_dataset *d, hk_tensor *x, hk_tensor *y, const hki_dataset_files *files)
{
    hki_store_of(d)->x = x;
    hk_status status = set_count(d, x, y, files->limit);
    if (!status)
        status = hki_dataset_set_sample(d, x->dtype, x->rank - 1, x->dims + 1);
    if (!status)
        status = check_finite(d, d->name, x);
    if (!status && y)
        status = hki_dataset_set_labels(d, y, files);
    hk_tensor_free(y);
    return status;
}

hk_status hki_dataset_class_counts(int64_t *out, const hki_dataset *d, const int64_t *indices, int64_t count)
{
    if (!d->classifies)
        return HK_ERR(HK_INVALID_DATA, "%s: expected classes to count, found targets", d->name);
    memset(out, 0, (size_t)d->classes * sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        int64_t label;
        HK_TRY(d->read(d, indices ? indices[i] : i, NULL, &label));
        out[label]++;
    }
    return NULL;
}
