/* Split by hash, stateless shuffle, leaves, class weights. */
#include "data/sampling.h"

#include <inttypes.h>

#include "data/portable_math.h"
#include "tensor/random.h"

/* True if the sample belongs to the second part. */
static bool second_part(hki_key key, int64_t index, double fraction)
{
    uint32_t words[4];
    hki_philox64(words, key, 0, (uint64_t)index);
    return hki_uniform_double(words[0], words[1]) < fraction;
}

hk_status hki_split(int64_t **out_first, int64_t *out_first_count, int64_t **out_second, int64_t *out_second_count,
                    int64_t count, double fraction, uint64_t seed)
{
    *out_first = *out_second = NULL;
    if (!(fraction > 0 && fraction < 1))
        return HK_ERR(HK_INVALID_ARGUMENT, "expected a fraction between 0 and 1, found %g", fraction);
    hki_key key = hki_key_create(seed, HKI_STREAM_SPLIT);
    int64_t counts[2] = {0, 0};
    for (int64_t i = 0; i < count; i++)
        counts[second_part(key, i, fraction)]++;
    if (!counts[0] || !counts[1])
        return HK_ERR(HK_INVALID_DATA,
                      "a split of %" PRId64
                      " samples by the fraction %g: expected samples in both parts, found %" PRId64 " and %" PRId64,
                      count, fraction, counts[0], counts[1]);
    int64_t *lists[2] = {hki_alloc_array((size_t)counts[0], sizeof(int64_t)),
                         hki_alloc_array((size_t)counts[1], sizeof(int64_t))};
    if (!lists[0] || !lists[1]) {
        hki_free(lists[0]);
        hki_free(lists[1]);
        return hki_out_of_memory();
    }
    int64_t at[2] = {0, 0};
    for (int64_t i = 0; i < count; i++) {
        int part = second_part(key, i, fraction);
        lists[part][at[part]++] = i;
    }
    *out_first = lists[0];
    *out_second = lists[1];
    *out_first_count = counts[0];
    *out_second_count = counts[1];
    return NULL;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

hk_status hki_sampler_create(hki_sampler *out, int64_t count, int64_t batch_size, int64_t leaf_size, bool drop_last,
                             bool shuffle, uint64_t seed)
{
    if (count < 1 || batch_size < 1 || leaf_size < 1)
        return HK_ERR(HK_INVALID_CONFIG,
                      "expected samples, a batch size and a micro-batch size of at least 1, found %" PRId64 ", %" PRId64
                      " and %" PRId64,
                      count, batch_size, leaf_size);
    leaf_size = smaller(leaf_size, batch_size);
    int64_t used = drop_last ? count - count % batch_size : count;
    if (!used)
        return HK_ERR(HK_INVALID_CONFIG,
                      "dropping the last short batch leaves none: expected at least %" PRId64
                      " samples, found %" PRId64,
                      batch_size, count);
    *out = (hki_sampler){.count = count,
                         .batch_size = batch_size,
                         .leaf_size = leaf_size,
                         .used = used,
                         .seed = seed,
                         .shuffle = shuffle};
    out->batches = divide_up(used, batch_size);
    out->leaves = used / batch_size * divide_up(batch_size, leaf_size) + divide_up(used % batch_size, leaf_size);
    return NULL;
}

hki_leaf_place hki_sampler_place(const hki_sampler *s, int64_t leaf)
{
    int64_t per_batch = divide_up(s->batch_size, s->leaf_size);
    hki_leaf_place p = {.epoch = leaf / s->leaves};
    leaf %= s->leaves;
    p.batch = leaf / per_batch;
    int64_t offset = leaf % per_batch * s->leaf_size;
    p.begin = p.batch * s->batch_size + offset;
    p.batch_samples = smaller(s->batch_size, s->used - p.batch * s->batch_size);
    p.samples = smaller(s->leaf_size, p.batch_samples - offset);
    p.ends_batch = offset + p.samples == p.batch_samples;
    return p;
}

int64_t hki_sampler_first_leaf(const hki_sampler *s, int64_t epoch, int64_t batch)
{
    return epoch * s->leaves + batch * divide_up(s->batch_size, s->leaf_size);
}

int64_t hki_sampler_sample(const hki_sampler *s, int64_t epoch, int64_t position)
{
    if (!s->shuffle)
        return position;
    uint32_t words[4];
    hki_philox64(words, hki_key_create(s->seed, HKI_STREAM_SHUFFLE), 0, (uint64_t)epoch);
    hki_key key = {{words[0], words[1]}}; /* one permutation per epoch */
    return (int64_t)hki_permute((uint64_t)position, (uint64_t)s->count, key);
}

/* Scales the weights so that they sum to the number of classes that occur. */
static void normalise(double *weights, int64_t classes)
{
    double sum = 0, present = 0;
    for (int64_t i = 0; i < classes; i++) {
        sum += weights[i];
        present += weights[i] > 0;
    }
    for (int64_t i = 0; i < classes && sum > 0; i++)
        weights[i] = weights[i] * present / sum;
}

void hki_class_weights_inverse(double *out, const int64_t *counts, int64_t classes)
{
    double samples = 0, present = 0;
    for (int64_t i = 0; i < classes; i++) {
        samples += (double)counts[i];
        present += counts[i] > 0;
    }
    for (int64_t i = 0; i < classes; i++)
        out[i] = counts[i] > 0 ? samples / (present * (double)counts[i]) : 0;
}

void hki_class_weights_effective(double *out, const int64_t *counts, int64_t classes, double beta)
{
    double log_beta = beta > 0 ? hki_portable_log(beta) : 0;
    for (int64_t i = 0; i < classes; i++) {
        double n = (double)counts[i];
        double power = beta > 0 ? hki_portable_exp(n * log_beta) : 0;
        double number = beta >= 1 ? n : (1 - power) / (1 - beta); /* as beta goes to 1, the number itself */
        out[i] = counts[i] > 0 ? 1 / number : 0;
    }
    normalise(out, classes);
}
