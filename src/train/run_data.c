/* The data and the model of a run. */
#include <inttypes.h>
#include <string.h>

#include "halka/architecture.h"
#include "halka/model.h"
#include "train/run.h"

hk_status hki_run_dataset_open(hki_dataset **out, const hki_config *config, const hki_data_files *files,
                               hki_known_classes known)
{
    const hki_data_config *data = &config->data;
    hki_dataset_files wanted = {.images = files->images,
                                .labels = files->labels,
                                .csv = files->csv,
                                .label_column = files->label_column,
                                .x = files->x,
                                .y = files->y,
                                .folder = files->folder,
                                .class_names = data->classes ? data->classes : known.names,
                                .class_count = data->classes ? data->class_count : known.count,
                                .classifies = config->loss.type == HKI_LOSS_CROSS_ENTROPY,
                                .limit = data->limit};
    return hki_dataset_open(out, &wanted);
}

/* Validation and test data must look like the training data. */
static hk_status check_alike(const hki_dataset *train, const hki_dataset *other, const char *what)
{
    char a[HKI_SHAPE_TEXT], b[HKI_SHAPE_TEXT];
    if (train->x_dtype != other->x_dtype ||
        !hki_shape_equal(train->x_rank, train->x_dims, other->x_rank, other->x_dims))
        return HK_ERR(HK_INVALID_DATA, "data.%s: samples are %s, those of data.train %s", what,
                      hki_shape_text(a, other->x_dtype, other->x_rank, other->x_dims),
                      hki_shape_text(b, train->x_dtype, train->x_rank, train->x_dims));
    if (other->classes > train->classes)
        return HK_ERR(HK_INVALID_DATA, "data.%s has %d classes, data.train %d", what, other->classes, train->classes);
    return NULL;
}

static hk_status open_part(hki_dataset **out, const hki_config *config, const hki_data_files *files,
                           const hki_dataset *train, const char *what)
{
    if (!files->given)
        return NULL;
    hki_known_classes known = {train->class_names, train->classes}; /* a part may lack a class that the others have */
    HK_TRY_CTX(hki_run_dataset_open(out, config, files, known), "data.%s", what);
    return check_alike(train, *out, what);
}

static hk_status measure(hki_run_data *out, const hki_config *config)
{
    const hki_data_config *data = &config->data;
    out->channels = hki_dataset_channels(out->train);
    out->mean = hki_alloc_array((size_t)out->channels + 1, sizeof *out->mean);
    out->deviation = hki_alloc_array((size_t)out->channels + 1, sizeof *out->deviation);
    if (!out->mean || !out->deviation)
        return hki_out_of_memory();
    if (!data->mean)
        return hki_dataset_statistics(out->mean, out->deviation, out->train, out->train_indices, out->train_count);
    if (data->mean_count != out->channels && data->mean_count != 1)
        return HK_ERR(HK_INVALID_CONFIG, "data.mean has %d values, the data %" PRId64 " channels", data->mean_count,
                      out->channels);
    for (int64_t c = 0; c < out->channels; c++) {
        int from = data->mean_count == 1 ? 0 : (int)c;
        out->mean[c] = (float)data->mean[from];
        out->deviation[c] = (float)data->deviation[from];
    }
    return NULL;
}

static hk_status open_all(hki_run_data *out, const hki_config *config)
{
    const hki_data_config *data = &config->data;
    if (!data->train.given)
        return HK_ERR(HK_INVALID_CONFIG, "%s: data.train is missing", config->source);
    HK_TRY_CTX(hki_run_dataset_open(&out->train, config, &data->train, (hki_known_classes){0}), "data.train");
    out->train_count = out->train->count;
    HK_TRY(open_part(&out->validation, config, &data->validation, out->train, "validation"));
    HK_TRY(open_part(&out->test, config, &data->test, out->train, "test"));
    if (out->validation)
        out->validation_count = out->validation->count;
    else if (data->validation_fraction > 0)
        HK_TRY(hki_split(&out->train_indices, &out->train_count, &out->validation_indices, &out->validation_count,
                         out->train->count, data->validation_fraction, config->seed));
    if (out->train_count < 1)
        return HK_ERR(HK_INVALID_DATA, "data.train: no sample is left to train on");
    return measure(out, config);
}

hk_status hki_run_data_open(hki_run_data *out, const hki_config *config)
{
    memset(out, 0, sizeof *out);
    hk_status status = open_all(out, config);
    if (status)
        hki_run_data_close(out);
    return status;
}

void hki_run_data_close(hki_run_data *data)
{
    hki_dataset_close(data->train);
    hki_dataset_close(data->validation);
    hki_dataset_close(data->test);
    hki_free(data->train_indices);
    hki_free(data->validation_indices);
    hki_free(data->mean);
    hki_free(data->deviation);
    memset(data, 0, sizeof *data);
}

/* ---- The model. ---- */

static void describe_samples(hk_architecture_options *o, const hki_dataset *train)
{
    static const hk_pixel_layout layouts[] = {[HKI_SAMPLE_VECTOR] = HK_PIXELS_VECTOR,
                                              [HKI_SAMPLE_HW] = HK_PIXELS_HW,
                                              [HKI_SAMPLE_HWC] = HK_PIXELS_HWC,
                                              [HKI_SAMPLE_CHW] = HK_PIXELS_CHW};
    const int64_t *d = train->x_dims;
    o->layout = layouts[train->layout];
    o->channels = hki_dataset_channels(train);
    if (train->layout == HKI_SAMPLE_CHW) {
        o->height = d[1];
        o->width = d[2];
    } else if (train->layout != HKI_SAMPLE_VECTOR) {
        o->height = d[0];
        o->width = d[1];
    } else {
        o->channels = hki_shape_count(d, 0, train->x_rank);
    }
}

static int64_t outputs_of(const hki_dataset *train)
{
    return train->classifies ? train->classes : hki_shape_count(train->y_dims, 0, train->y_rank);
}

static hk_status create_model(hk_graph **out, const hki_config *config, const hki_run_data *data)
{
    hk_architecture_options o = hk_architecture_defaults();
    describe_samples(&o, data->train);
    o.classes = outputs_of(data->train);
    o.seed = config->seed;
    o.widths = config->model_widths;
    o.width_count = config->model_width_count;
    o.width_multiplier = config->model_width_multiplier;
    o.dropout = config->model_dropout;
    o.input_dtype = data->train->x_dtype;
    o.scale = 1; /* mean and deviation are of the stored values */
    o.mean = data->mean;
    o.deviation = data->deviation;
    o.mean_count = o.deviation_count = (int)data->channels; /* vectors: one for each feature */
    o.probabilities = data->train->classifies;
    return hk_architecture_create(out, config->model_name, &o);
}

static hk_status name_classes(hk_graph *graph, const hki_dataset *train)
{
    if (!train->class_names || hk_graph_metadata(graph, "halka.labels"))
        return NULL;
    hki_text text = {0};
    for (int i = 0; i < train->classes; i++)
        hki_text_printf(&text, "%s%s", i ? "\n" : "", train->class_names[i]);
    hk_status status = hki_text_status(&text);
    if (!status)
        status = hk_graph_set_metadata(graph, "halka.labels", text.data);
    hki_text_free(&text);
    return status;
}

hk_status hki_run_model(hk_graph **out, const hki_config *config, const hki_run_data *data)
{
    *out = NULL;
    if (!config->model_name && !config->model_file)
        return HK_ERR(HK_INVALID_CONFIG, "%s: model is missing", config->source);
    hk_status status = config->model_file ? hk_model_load(out, config->model_file) : create_model(out, config, data);
    if (!status)
        status = name_classes(*out, data->train);
    if (status) {
        hk_graph_free(*out);
        *out = NULL;
    }
    return status;
}
