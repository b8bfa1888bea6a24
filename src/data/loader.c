/* The loader: a ring of preallocated batches. Threads claim leaf numbers in ascending order and fill slot (leaf mod
 * slots) once the consumer is done with the leaf that was there before. All shared state is behind one mutex; filling
 * happens outside. */
#include "data/loader.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "data/leaf.h"

typedef enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_READY } slot_state;

typedef struct slot {
    slot_state state;
    int64_t leaf;
    hk_status status; /* of a leaf that could not be made */
    hki_leaf_slot data;
} slot;

struct hki_loader {
    hki_leaf_source source;
    slot *slots;
    int64_t slot_count;
    pthread_t *threads;
    int thread_count; /* started */
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* a slot became free, or stop */
    pthread_cond_t ready; /* a slot became ready, or a thread became idle */
    int64_t claim;        /* the next leaf that a thread takes */
    int64_t wanted;       /* the leaf that the consumer gets next */
    int busy;             /* threads that are filling */
    bool stop, pause;     /* pause: no thread claims a leaf */
    slot *held;           /* what the consumer holds, or NULL */
};

/* Fills slots until told to stop. */
static void *run_thread(void *context)
{
    hki_loader *loader = context;
    hki_leaf_scratch scratch = {0};
    pthread_mutex_lock(&loader->mutex);
    while (!loader->stop) {
        int64_t leaf = loader->claim;
        slot *s = &loader->slots[leaf % loader->slot_count];
        if (s->state != SLOT_FREE || loader->pause) {
            pthread_cond_wait(&loader->work, &loader->mutex);
            continue;
        }
        s->state = SLOT_BUSY;
        s->leaf = leaf;
        loader->claim++;
        loader->busy++;
        pthread_mutex_unlock(&loader->mutex);
        hk_status status = hki_leaf_fill(&s->data, &loader->source, leaf, &scratch);
        pthread_mutex_lock(&loader->mutex);
        s->status = status;
        s->state = SLOT_READY;
        loader->busy--;
        pthread_cond_broadcast(&loader->ready);
    }
    pthread_mutex_unlock(&loader->mutex);
    hki_leaf_scratch_free(&scratch);
    return NULL;
}

static hk_status create_slots(hki_loader *loader, const hki_loader_options *options)
{
    loader->slot_count = 1;
    if (options->workers > 0) /* one that the consumer holds, and two for each thread, at least four */
        loader->slot_count = 1 + (options->workers > 2 ? 2 * options->workers : 4);
    loader->slots = hki_alloc_array((size_t)loader->slot_count, sizeof *loader->slots);
    if (!loader->slots)
        return hki_out_of_memory();
    for (int64_t i = 0; i < loader->slot_count; i++)
        HK_TRY(hki_leaf_create(&loader->slots[i].data, &loader->source));
    return NULL;
}

static hk_status start_threads(hki_loader *loader, int count)
{
    if (count <= 0)
        return NULL;
    loader->threads = hki_alloc_array((size_t)count, sizeof *loader->threads);
    if (!loader->threads)
        return hki_out_of_memory();
    for (; loader->thread_count < count; loader->thread_count++)
        if (pthread_create(&loader->threads[loader->thread_count], NULL, run_thread, loader))
            return HK_ERR(HK_IO, "expected to start %d data-loading threads, the system gave %d", count,
                          loader->thread_count);
    return NULL;
}

static hk_status set_source(hki_leaf_source *source, const hki_dataset *dataset, const hki_loader_options *options)
{
    source->dataset = dataset;
    source->indices = options->indices;
    source->seed = options->seed;
    source->sample_size =
        hk_dtype_size(dataset->x_dtype) * (size_t)hki_shape_count(dataset->x_dims, 0, dataset->x_rank);
    if (options->augment) {
        source->augment = *options->augment;
        HK_TRY(hki_augment_check(&source->augment, dataset));
    }
    int64_t count = options->count || options->indices ? options->count : dataset->count;
    if (!options->indices && count > dataset->count)
        return HK_ERR(HK_INVALID_ARGUMENT, "%s: expected at most %" PRId64 " samples, found a request for %" PRId64,
                      dataset->name, dataset->count, count);
    return hki_sampler_create(&source->sampler, count, options->batch_size, options->micro_batch_size,
                              options->drop_last, options->shuffle, options->seed);
}

hk_status hki_loader_open(hki_loader **out, const hki_dataset *dataset, const hki_loader_options *options)
{
    *out = NULL;
    hki_loader *loader = hki_alloc_array(1, sizeof *loader);
    if (!loader)
        return hki_out_of_memory();
    pthread_mutex_init(&loader->mutex, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    hk_status status = set_source(&loader->source, dataset, options);
    if (!status)
        status = create_slots(loader, options);
    if (!status)
        status = start_threads(loader, options->workers);
    if (status) {
        hki_loader_close(loader);
        return status;
    }
    *out = loader;
    return NULL;
}

void hki_loader_close(hki_loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->mutex);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->mutex);
    for (int i = 0; i < loader->thread_count; i++)
        pthread_join(loader->threads[i], NULL);
    for (int64_t i = 0; i < loader->slot_count && loader->slots; i++) {
        hki_leaf_clear(&loader->slots[i].data);
        hk_status_free(loader->slots[i].status);
    }
    hki_leaf_scratch_free(&loader->source.scratch);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->mutex);
    hki_free(loader->threads);
    hki_free(loader->slots);
    hki_free(loader);
}

int64_t hki_loader_batches(const hki_loader *loader)
{
    return loader->source.sampler.batches;
}

int64_t hki_loader_leaves(const hki_loader *loader)
{
    return loader->source.sampler.leaves;
}

static void free_slot(slot *s)
{
    hk_status_free(s->status);
    s->status = NULL;
    s->state = SLOT_FREE;
}

/* Throws away what was prepared and lets the threads begin at `leaf`. The mutex is held. */
static void restart(hki_loader *loader, int64_t leaf)
{
    loader->pause = true;
    while (loader->busy)
        pthread_cond_wait(&loader->ready, &loader->mutex);
    for (int64_t i = 0; i < loader->slot_count; i++)
        free_slot(&loader->slots[i]);
    loader->claim = leaf;
    loader->wanted = leaf;
    loader->held = NULL;
    loader->pause = false;
    pthread_cond_broadcast(&loader->work);
}

hk_status hki_loader_seek(hki_loader *loader, int64_t epoch, int64_t batch)
{
    const hki_sampler *sampler = &loader->source.sampler;
    if (epoch < 0 || batch < 0 || batch >= sampler->batches)
        return HK_ERR(HK_INVALID_ARGUMENT,
                      "expected a batch from 0 to %" PRId64 " of an epoch, found batch %" PRId64 " of epoch %" PRId64,
                      sampler->batches - 1, batch, epoch);
    int64_t leaf = hki_sampler_first_leaf(sampler, epoch, batch);
    pthread_mutex_lock(&loader->mutex);
    if (leaf != loader->wanted)
        restart(loader, leaf);
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

/* Waits for the next leaf; what the consumer held becomes free. The mutex is held. */
static hk_status take(hki_loader *loader, const hki_batch **out)
{
    if (loader->held) {
        free_slot(loader->held);
        pthread_cond_broadcast(&loader->work);
    }
    slot *s = &loader->slots[loader->wanted % loader->slot_count];
    while (s->state != SLOT_READY)
        pthread_cond_wait(&loader->ready, &loader->mutex);
    loader->wanted++;
    loader->held = s;
    hk_status status = s->status;
    s->status = NULL;
    *out = status ? NULL : &s->data.batch;
    return status;
}

hk_status hki_loader_next(const hki_batch **out, hki_loader *loader)
{
    *out = NULL;
    if (!loader->thread_count) {
        hki_leaf_slot *leaf = &loader->slots[0].data;
        HK_TRY(hki_leaf_fill(leaf, &loader->source, loader->wanted++, &loader->source.scratch));
        *out = &leaf->batch;
        return NULL;
    }
    pthread_mutex_lock(&loader->mutex);
    hk_status status = take(loader, out);
    pthread_mutex_unlock(&loader->mutex);
    return status;
}
