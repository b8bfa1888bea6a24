/* Data sets of pictures: one folder per class. Only names are read when it is opened; pictures are decoded by the
 * loader's threads. Classes and files are taken in byte order of their names, so that the order does not depend on the
 * file system. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "data/dataset_store.h"
#include "formats/image.h"

/* The files found so far. */
typedef struct listing {
    const char **files;
    size_t file_capacity;
    int64_t *labels;
    size_t label_capacity;
    size_t count;
    const char **names; /* of the classes */
    size_t name_capacity, name_count;
} listing;

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg") || !strcasecmp(dot, ".png"));
}

static hk_status add_file(listing *list, hki_dataset *d, const char *folder, const char *name, int64_t label)
{
    HK_TRY(hki_array_grow(&list->files, &list->file_capacity, list->count + 1, sizeof *list->files));
    HK_TRY(hki_array_grow(&list->labels, &list->label_capacity, list->count + 1, sizeof *list->labels));
    list->files[list->count] = hki_arena_printf(hki_store_of(d)->arena, "%s/%s", folder, name);
    if (!list->files[list->count])
        return hki_out_of_memory();
    list->labels[list->count++] = label;
    return NULL;
}

/* Adds the pictures of one class's folder. */
static hk_status add_class(listing *list, hki_dataset *d, const char *folder, int64_t label)
{
    char **names;
    size_t count;
    HK_TRY(hki_directory_list(&names, &count, folder));
    hk_status status = NULL;
    size_t before = list->count;
    for (size_t i = 0; i < count && !status; i++)
        if (is_picture(names[i]))
            status = add_file(list, d, folder, names[i], label);
    hki_free(names);
    if (!status && list->count == before)
        status = HK_ERR(HK_INVALID_DATA, "%s: expected at least one picture (.jpg, .jpeg, .png), found none", folder);
    return status;
}

/* Returns the class of a folder's name: its place in the given list, or the next number. */
static hk_status class_of(int64_t *out, listing *list, hki_dataset *d, const char *name, const hki_dataset_files *files)
{
    if (!files->class_names) {
        HK_TRY(hki_array_grow(&list->names, &list->name_capacity, list->name_count + 1, sizeof *list->names));
        *out = (int64_t)list->name_count;
        list->names[list->name_count++] = hki_arena_strdup(hki_store_of(d)->arena, name);
        return list->names[*out] ? NULL : hki_out_of_memory();
    }
    for (*out = 0; *out < files->class_count; ++*out)
        if (!strcmp(files->class_names[*out], name))
            return NULL;
    return HK_ERR(HK_INVALID_DATA, "%s: expected folders named as the %d classes, found '%s'", d->name,
                  files->class_count, name);
}

static hk_status list_classes(listing *list, hki_dataset *d, const hki_dataset_files *files)
{
    char **names;
    size_t count;
    HK_TRY(hki_directory_list(&names, &count, d->name));
    hk_status status = NULL;
    for (size_t i = 0; i < count && !status; i++) {
        int64_t label;
        const char *folder = hki_arena_printf(hki_store_of(d)->arena, "%s/%s", d->name, names[i]);
        if (!folder)
            status = hki_out_of_memory();
        else if (names[i][0] != '.' && hki_path_is_directory(folder)) {
            status = class_of(&label, list, d, names[i], files);
            if (!status)
                status = add_class(list, d, folder, label);
        }
    }
    hki_free(names);
    if (!status && !list->count)
        status = HK_ERR(HK_INVALID_DATA, "%s: expected one folder of pictures per class, found none", d->name);
    return status;
}

/* All samples get the size of the first picture. */
static hk_status set_size(hki_dataset *d, const char *first)
{
    int64_t dims[3];
    hki_map map;
    HK_TRY(hki_map_open(&map, first));
    hk_status status = hki_image_size(dims, map.data, map.size, first);
    hki_map_close(&map);
    HK_TRY(status);
    HK_TRY(hki_dataset_set_sample(d, HK_UINT8, 3, dims));
    d->layout = HKI_SAMPLE_HWC; /* whatever the numbers look like */
    return NULL;
}

static hk_status fill(hki_dataset *d, listing *list, const hki_dataset_files *files)
{
    hki_store *store = hki_store_of(d);
    HK_TRY(list_classes(list, d, files));
    d->count = files->limit > 0 && files->limit < (int64_t)list->count ? files->limit : (int64_t)list->count;
    HK_TRY(set_size(d, list->files[0]));
    store->files = hki_arena_array(store->arena, list->count, sizeof *store->files);
    if (!store->files)
        return hki_out_of_memory();
    memcpy(store->files, list->files, list->count * sizeof *store->files);
    hki_dataset_files labels = *files;
    if (!files->class_names) {
        const char **names;
        HK_TRY(hki_dataset_copy_names(&names, d, list->names, (int64_t)list->name_count));
        d->class_names = names;
        labels.class_count = (int)list->name_count;
    }
    hk_tensor *y;
    HK_TRY(hk_tensor_wrap(&y, list->labels, HK_INT64, 1, &d->count));
    hk_status status = hki_dataset_set_labels(d, y, &labels);
    hk_tensor_free(y);
    return status;
}

hk_status hki_dataset_open_folder(hki_dataset **out, const char *path, const hki_dataset_files *files)
{
    *out = NULL;
    hki_dataset *dataset;
    listing list = {0};
    HK_TRY(hki_dataset_create(&dataset, path, NULL));
    hk_status status = fill(dataset, &list, files);
    hki_free(list.files);
    hki_free(list.labels);
    hki_free(list.names);
    if (status) {
        hki_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return NULL;
}
