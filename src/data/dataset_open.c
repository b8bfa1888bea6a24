/* Opening data sets: which kind of files, and IDX, npy, CSV and tensors. */
#include "data/dataset_store.h"
#include "formats/csv.h"
#include "formats/idx.h"
#include "formats/npy.h"

typedef hk_status load_fn(hk_tensor **out, const char *path);

/* Opens a pair of files with one tensor each. */
static hk_status open_pair(hki_dataset **out, load_fn *load_x, const char *x_path, load_fn *load_y, const char *y_path,
                           const hki_dataset_files *files)
{
    hki_dataset *dataset;
    hk_tensor *x, *y;
    HK_TRY(hki_dataset_create(&dataset, x_path, y_path));
    hk_status status = load_x(&x, x_path);
    if (!status) {
        status = load_y(&y, y_path);
        if (status)
            hk_tensor_free(x);
    }
    if (!status)
        status = hki_dataset_finish(dataset, x, y, files);
    if (status) {
        hki_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return NULL;
}

/* Hands the tensors of the table over to the data set. */
static hk_status take_table(hki_dataset *dataset, hki_csv_table *table, const hki_dataset_files *files)
{
    HK_TRY(hki_dataset_copy_names(&hki_store_of(dataset)->columns, dataset, table->columns, table->column_count));
    hki_dataset_files labels = *files;
    if (table->classes) {
        const char **names;
        HK_TRY(hki_dataset_copy_names(&names, dataset, table->classes, table->class_count));
        dataset->class_names = names;
        labels.class_count = (int)table->class_count;
    }
    hk_tensor *x = table->features, *y = table->labels;
    table->features = table->labels = NULL;
    return hki_dataset_finish(dataset, x, y, &labels);
}

static hk_status open_csv(hki_dataset **out, const hki_dataset_files *files)
{
    hki_csv_options csv = {.label = files->label_column, .label_is_number = !files->classifies};
    if (files->class_names) {
        csv.classes = files->class_names;
        csv.class_count = files->class_count;
    }
    hki_dataset *dataset;
    hki_csv_table table;
    HK_TRY(hki_dataset_create(&dataset, files->csv, NULL));
    hk_status status = hki_csv_table_load(&table, files->csv, &csv);
    if (!status)
        status = take_table(dataset, &table, files);
    hki_csv_table_free(&table);
    if (status) {
        hki_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return NULL;
}

/* Labels are needed wherever a run file names data. */
static hk_status missing(const char *key, const char *beside, const char *value)
{
    return HK_ERR(HK_INVALID_CONFIG, "expected \"%s\" beside \"%s\": \"%s\", found none", key, beside, value);
}

hk_status hki_dataset_open(hki_dataset **out, const hki_dataset_files *files)
{
    *out = NULL;
    int forms =
        (files->images || files->labels) + (files->csv != NULL) + (files->x || files->y) + (files->folder != NULL);
    if (forms != 1)
        return HK_ERR(HK_INVALID_CONFIG,
                      "expected exactly one of \"images\" with \"labels\", \"csv\" with \"label\", \"x\" with \"y\", "
                      "\"folder\", found %d of them",
                      forms);
    if (files->images)
        return files->labels ? open_pair(out, hki_idx_load, files->images, hki_idx_load, files->labels, files)
                             : missing("labels", "images", files->images);
    if (files->csv)
        return files->label_column ? open_csv(out, files) : missing("label", "csv", files->csv);
    if (files->x)
        return files->y ? open_pair(out, hki_npy_map, files->x, hki_npy_load, files->y, files)
                        : missing("y", "x", files->x);
    if (files->folder)
        return hki_dataset_open_folder(out, files->folder, files);
    return files->labels ? missing("images", "labels", files->labels) : missing("x", "y", files->y);
}

hk_status hki_dataset_open_tensors(hki_dataset **out, const hk_tensor *x, const hk_tensor *y, const char *name,
                                   const hki_dataset_files *files)
{
    *out = NULL;
    hki_dataset *dataset;
    hk_tensor *own_x, *own_y = NULL;
    HK_TRY(hki_dataset_create(&dataset, name, NULL));
    hk_status status = hki_tensor_view(&own_x, x->buffer, x->data, x->dtype, x->rank, x->dims);
    if (!status && y) {
        status = hki_tensor_view(&own_y, y->buffer, y->data, y->dtype, y->rank, y->dims);
        if (status)
            hk_tensor_free(own_x);
    }
    if (!status)
        status = hki_dataset_finish(dataset, own_x, own_y, files);
    if (status) {
        hki_dataset_close(dataset);
        return status;
    }
    *out = dataset;
    return NULL;
}
