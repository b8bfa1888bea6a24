/* Evaluation of the model of a run, and the images it got most wrong. */
#include <math.h>
#include <string.h>

#include "train/run.h"

#define BATCH 256

/* The images with the surest wrong guesses so far, sorted, surest first. */
typedef struct worst {
    hki_wrong_image *images;
    int *count;
    int most;
} worst;

static hk_status keep_image(worst *w, const hki_dataset *data, const hki_wrong_image *image, const void *pixels)
{
    size_t size = (size_t)(image->height * image->width * image->channels);
    uint8_t *copy = hki_alloc(size);
    if (!copy)
        return hki_out_of_memory();
    bool planar = data->layout == HKI_SAMPLE_CHW;
    int64_t plane = image->height * image->width;
    for (size_t i = 0; i < size; i++) {
        int64_t pixel = (int64_t)i / image->channels, channel = (int64_t)i % image->channels;
        copy[i] = ((const uint8_t *)pixels)[planar ? channel * plane + pixel : (int64_t)i];
    }
    int at = *w->count;
    if (at == w->most)
        hki_free((void *)(uintptr_t)w->images[--at].pixels);
    else
        ++*w->count;
    for (; at > 0 && w->images[at - 1].confidence < image->confidence; at--)
        w->images[at] = w->images[at - 1];
    w->images[at] = *image;
    w->images[at].pixels = copy;
    return NULL;
}

static bool shows_images(const hki_dataset *data)
{
    return data->x_dtype == HK_UINT8 && data->layout != HKI_SAMPLE_VECTOR &&
           (hki_dataset_channels(data) == 1 || hki_dataset_channels(data) == 3);
}

static double confidence_of(const float *logits, int64_t classes, int64_t guess)
{
    double sum = 0;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - (double)logits[guess]);
    return 1 / sum;
}

static hk_status collect_wrong(worst *w, const hki_dataset *data, const hki_batch *batch, const hk_tensor *prediction)
{
    const float *logits = prediction->data;
    const unsigned char *pixels = batch->x->data;
    size_t sample = hk_tensor_size(batch->x) / (size_t)batch->samples;
    bool planar = data->layout == HKI_SAMPLE_CHW;
    for (int64_t i = 0; i < batch->samples; i++) {
        int64_t label = hki_tensor_get_int(batch->y, i), guess = hki_arg_max(logits + i * data->classes, data->classes);
        if (guess == label)
            continue;
        hki_wrong_image image = {.height = data->x_dims[planar],
                                 .width = data->x_dims[planar + 1],
                                 .channels = hki_dataset_channels(data),
                                 .index = batch->ids[i],
                                 .label = (int)label,
                                 .guess = (int)guess,
                                 .confidence = confidence_of(logits + i * data->classes, data->classes, guess)};
        if (*w->count < w->most || image.confidence > w->images[*w->count - 1].confidence)
            HK_TRY(keep_image(w, data, &image, pixels + (size_t)i * sample));
    }
    return NULL;
}

static hk_status evaluate_all(hki_metrics *metrics, hk_trainer *trainer, hki_loader *loader, const hki_dataset *data,
                              worst *w)
{
    for (int64_t i = hki_loader_leaves(loader); i > 0; i--) {
        const hki_batch *batch;
        HK_TRY(hki_loader_next(&batch, loader));
        HK_TRY(hki_trainer_infer(trainer, batch->x));
        HK_TRY(hki_metrics_add(metrics, trainer->prediction, batch->y, true));
        if (w->images && metrics->classifies && shows_images(data))
            HK_TRY(collect_wrong(w, data, batch, trainer->prediction));
    }
    return NULL;
}

hk_status hki_run_evaluate(hk_evaluation *out, hk_trainer *trainer, const hki_dataset *dataset, const int64_t *indices,
                           int64_t count, hki_wrong_image *wrong, int *wrong_count, int most)
{
    memset(out, 0, sizeof *out);
    hki_loader_options options = {.indices = indices, .count = count, .batch_size = BATCH, .micro_batch_size = BATCH,
                                  .seed = trainer->config->seed, .workers = (int)trainer->config->data.workers};
    hki_metrics metrics;
    hki_loader *loader;
    double start = hki_clock();
    HK_TRY(hki_metrics_create(&metrics, trainer->graph.classifies ? dataset->classes : 0));
    hk_status status = hki_loader_open(&loader, dataset, &options);
    if (!status) {
        worst w = {wrong, wrong_count, most};
        status = evaluate_all(&metrics, trainer, loader, dataset, &w);
        hki_loader_close(loader);
    }
    if (!status)
        status = hki_metrics_finish(out, &metrics);
    if (!status)
        out->seconds = hki_clock() - start;
    hki_metrics_clear(&metrics);
    return status;
}

void hki_wrong_images_free(hki_wrong_image *wrong, int count)
{
    for (int i = 0; i < count; i++)
        hki_free((void *)(uintptr_t)wrong[i].pixels);
}
