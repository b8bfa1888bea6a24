/* Making one leaf. Nothing here knows of threads. */
#include "data/leaf.h"

#include <string.h>

void hki_leaf_scratch_free(hki_leaf_scratch *scratch)
{
    hki_free(scratch->sample);
    hki_free(scratch->leaf);
    hki_free(scratch->targets);
    *scratch = (hki_leaf_scratch){0};
}

static bool mixes(const hki_leaf_source *source)
{
    return source->augment.mixup > 0;
}

static bool has_labels(const hki_dataset *d)
{
    return d->y_dtype != HK_UNDEFINED;
}

/* Numbers of one target. */
static int64_t target_count(const hki_dataset *d)
{
    return hki_shape_count(d->y_dims, 0, d->y_rank);
}

hk_status hki_leaf_create(hki_leaf_slot *out, const hki_leaf_source *source)
{
    const hki_dataset *d = source->dataset;
    hki_batch *b = &out->batch;
    int64_t n = source->sampler.leaf_size, dims[HK_MAX_RANK] = {n};
    memcpy(dims + 1, d->x_dims, (size_t)d->x_rank * sizeof *dims);
    HK_TRY(hk_tensor_create(&b->x, d->x_dtype, d->x_rank + 1, dims));
    if (has_labels(d)) {
        memcpy(dims + 1, d->y_dims, (size_t)d->y_rank * sizeof *dims);
        HK_TRY(hk_tensor_create(&b->y, d->y_dtype, d->y_rank + 1, dims));
    }
    if (mixes(source) && d->classifies) { /* targets are mixed themselves */
        HK_TRY(hk_tensor_create(&b->y2, HK_INT64, 1, &n));
        HK_TRY(hk_tensor_create(&b->lambda, HK_FLOAT, 1, &n));
    }
    out->ids = hki_alloc_array((size_t)n, sizeof *out->ids);
    b->ids = out->ids;
    return out->ids ? NULL : hki_out_of_memory();
}

void hki_leaf_clear(hki_leaf_slot *leaf)
{
    hk_tensor_free(leaf->batch.x);
    hk_tensor_free(leaf->batch.y);
    hk_tensor_free(leaf->batch.y2);
    hk_tensor_free(leaf->batch.lambda);
    hki_free(leaf->ids);
    *leaf = (hki_leaf_slot){0};
}

/* Allocates what this thread needs, once. */
static hk_status prepare(hki_leaf_scratch *scratch, const hki_leaf_source *source)
{
    const hki_dataset *d = source->dataset;
    size_t n = (size_t)source->sampler.leaf_size;
    if (!scratch->sample && !(scratch->sample = hki_alloc(source->sample_size)))
        return hki_out_of_memory();
    if (mixes(source) && !scratch->leaf && !(scratch->leaf = hki_alloc_array(n, source->sample_size)))
        return hki_out_of_memory();
    if (mixes(source) && has_labels(d) && !d->classifies && !scratch->targets)
        if (!(scratch->targets = hki_alloc_array(n, (size_t)target_count(d) * sizeof(float))))
            return hki_out_of_memory();
    return NULL;
}

/* Sets numbers and dims of the batch. */
static void set_place(hki_leaf_slot *leaf, const hki_leaf_source *source, const hki_leaf_place *place)
{
    hki_batch *b = &leaf->batch;
    b->samples = place->samples;
    b->first = (uint64_t)place->begin;
    b->batch = place->batch;
    b->batch_samples = place->batch_samples;
    b->ends_batch = place->ends_batch;
    for (int64_t i = 0; i < b->samples; i++) {
        int64_t sample = hki_sampler_sample(&source->sampler, place->epoch, place->begin + i);
        leaf->ids[i] = source->indices ? source->indices[sample] : sample;
    }
    hk_tensor *tensors[] = {b->x, b->y, b->y2, b->lambda};
    for (int i = 0; i < 4; i++)
        if (tensors[i])
            tensors[i]->dims[0] = b->samples;
}

/* Reads all samples, augmented, one behind the other; labels too. */
static hk_status read_samples(char *x, char *y, const hki_leaf_slot *leaf, const hki_leaf_source *source, int64_t epoch,
                              hki_leaf_scratch *scratch)
{
    const hki_dataset *d = source->dataset;
    bool augment = hki_augment_changes_pictures(&source->augment);
    size_t label_size = has_labels(d) ? hk_dtype_size(d->y_dtype) * (size_t)target_count(d) : 0;
    for (int64_t i = 0; i < leaf->batch.samples; i++, x += source->sample_size) {
        HK_TRY(d->read(d, leaf->ids[i], augment ? scratch->sample : x, y));
        if (augment)
            hki_augment_apply(x, scratch->sample, &source->augment, d, source->seed, (uint64_t)epoch,
                              (uint64_t)leaf->ids[i]);
        y = y ? y + label_size : NULL;
    }
    return NULL;
}

/* Blends samples, and labels or targets, with those of their partners. */
static void mix(hki_leaf_slot *leaf, const hki_leaf_source *source, int64_t epoch, const hki_leaf_scratch *scratch)
{
    const hki_dataset *d = source->dataset;
    hki_batch *b = &leaf->batch;
    int64_t elements = hki_shape_count(d->x_dims, 0, d->x_rank), targets = scratch->targets ? target_count(d) : 0;
    for (int64_t i = 0; i < b->samples; i++) {
        int64_t partner;
        uint32_t weight;
        hki_mixup_choose(&partner, &weight, &source->augment, source->seed, (uint64_t)epoch, (uint64_t)leaf->ids[i], i,
                         b->samples);
        const char *own = (const char *)scratch->leaf + (size_t)i * source->sample_size;
        const char *other = (const char *)scratch->leaf + (size_t)partner * source->sample_size;
        hki_mixup_blend((char *)b->x->data + (size_t)i * source->sample_size, own, other, d->x_dtype, elements, weight);
        if (b->y2) {
            ((int64_t *)b->y2->data)[i] = ((int64_t *)b->y->data)[partner];
            ((float *)b->lambda->data)[i] = (float)weight * 0x1p-16f;
        } else if (targets) {
            hki_mixup_blend((float *)b->y->data + i * targets, scratch->targets + i * targets,
                            scratch->targets + partner * targets, HK_FLOAT, targets, weight);
        }
    }
}

hk_status hki_leaf_fill(hki_leaf_slot *out, const hki_leaf_source *source, int64_t number, hki_leaf_scratch *scratch)
{
    HK_TRY(prepare(scratch, source));
    hki_leaf_place place = hki_sampler_place(&source->sampler, number);
    set_place(out, source, &place);
    void *x = mixes(source) ? scratch->leaf : out->batch.x->data;
    void *y = scratch->targets ? scratch->targets : out->batch.y ? out->batch.y->data : NULL;
    HK_TRY(read_samples(x, y, out, source, place.epoch, scratch));
    if (mixes(source))
        mix(out, source, place.epoch, scratch);
    return NULL;
}
