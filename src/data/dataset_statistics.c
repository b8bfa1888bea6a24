/* Mean and standard deviation per channel. Bytes are counted exactly; other types are summed in double in the order of
 * the samples, in two passes, so that a large mean costs no digits. */
#include <math.h>
#include <string.h>

#include "data/dataset_store.h"
#include "tensor/number.h"

int64_t hki_dataset_channels(const hki_dataset *d)
{
    return d->layout == HKI_SAMPLE_VECTOR ? hki_shape_count(d->x_dims, 0, d->x_rank) : hki_dataset_picture(d).channels;
}

/* One pass over the samples. */
typedef struct pass {
    const hki_dataset *dataset;
    const int64_t *indices;
    int64_t count, channels, elements;
    int64_t values, step, next; /* per channel of a sample: how many, their distance, that of channels */
    double *mean, *deviation, *numbers;
    void *sample;
    uint64_t *sums;
} pass;

static hk_status read_sample(const pass *p, int64_t i)
{
    return p->dataset->read(p->dataset, p->indices ? p->indices[i] : i, p->sample, NULL);
}

/* Sums of bytes and their squares: exact. */
static hk_status sum_bytes(const pass *p)
{
    const uint8_t *sample = p->sample;
    for (int64_t i = 0; i < p->count; i++) {
        HK_TRY(read_sample(p, i));
        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t k = 0; k < p->values; k++) {
                uint64_t v = sample[c * p->next + k * p->step];
                p->sums[2 * c] += v;
                p->sums[2 * c + 1] += v * v;
            }
    }
    double n = (double)p->count * (double)p->values;
    for (int64_t c = 0; c < p->channels; c++) {
        p->mean[c] = (double)p->sums[2 * c] / n;
        p->deviation[c] = (double)p->sums[2 * c + 1] / n - p->mean[c] * p->mean[c];
    }
    return NULL;
}

/* Adds to each channel its values, or with `shift` the squares of their distances from it. */
static hk_status sum_numbers(double *sums, const pass *p, const double *shift)
{
    double n = (double)p->count * (double)p->values;
    for (int64_t i = 0; i < p->count; i++) {
        HK_TRY(read_sample(p, i));
        HK_TRY(hki_convert(p->numbers, HK_DOUBLE, p->sample, p->dataset->x_dtype, p->elements));
        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t k = 0; k < p->values; k++) {
                double v = p->numbers[c * p->next + k * p->step];
                sums[c] += shift ? (v - shift[c]) * (v - shift[c]) : v;
            }
    }
    for (int64_t c = 0; c < p->channels; c++)
        sums[c] /= n;
    return NULL;
}

static hk_status measure(float *mean, float *deviation, const pass *p)
{
    if (p->dataset->x_dtype == HK_UINT8) {
        HK_TRY(sum_bytes(p));
    } else {
        HK_TRY(sum_numbers(p->mean, p, NULL));
        HK_TRY(sum_numbers(p->deviation, p, p->mean));
    }
    for (int64_t c = 0; c < p->channels; c++) {
        mean[c] = (float)p->mean[c];
        deviation[c] = (float)sqrt(p->deviation[c]); /* sqrt is exact in IEEE 754 */
        if (!(deviation[c] > 0))
            deviation[c] = 1;
    }
    return NULL;
}

hk_status hki_dataset_statistics(float *mean, float *deviation, const hki_dataset *d, const int64_t *indices,
                                 int64_t count)
{
    if (count < 1)
        return HK_ERR(HK_INVALID_DATA, "%s: expected at least one sample to measure, found none", d->name);
    pass p = {.dataset = d, .indices = indices, .count = count, .channels = hki_dataset_channels(d)};
    p.elements = hki_shape_count(d->x_dims, 0, d->x_rank);
    p.values = p.elements / p.channels;
    bool planes = d->layout == HKI_SAMPLE_CHW;
    p.step = planes ? 1 : p.channels;
    p.next = planes ? p.values : 1;
    p.mean = hki_alloc_array((size_t)p.channels, sizeof *p.mean);
    p.deviation = hki_alloc_array((size_t)p.channels, sizeof *p.deviation);
    p.sums = hki_alloc_array((size_t)p.channels, 2 * sizeof *p.sums);
    p.numbers = hki_alloc_array((size_t)p.elements, sizeof *p.numbers);
    p.sample = hki_alloc_array((size_t)p.elements, hk_dtype_size(d->x_dtype));
    bool ready = p.mean && p.deviation && p.sums && p.numbers && p.sample;
    hk_status status = ready ? measure(mean, deviation, &p) : hki_out_of_memory();
    hki_free(p.mean);
    hki_free(p.deviation);
    hki_free(p.sums);
    hki_free(p.numbers);
    hki_free(p.sample);
    return status;
}
