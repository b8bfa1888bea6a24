/* The loader: the same batches with any number of threads and from any start, each sample once per epoch, errors at
 * their leaf, no allocation once it runs. Run under the thread sanitizer too. */
#include "base/file.h"
#include "data/dataset_store.h"
#include "data/loader.h"
#include "harness/test.h"

enum { SAMPLES = 103, SIDE = 8 };

static hki_dataset *make_pictures(bool targets)
{
    static uint8_t pixels[SAMPLES * SIDE * SIDE];
    static int64_t labels[SAMPLES];
    static float numbers[SAMPLES * 2];
    for (int i = 0; i < SAMPLES * SIDE * SIDE; i++)
        pixels[i] = (uint8_t)(i * 31 + i / 64);
    for (int i = 0; i < SAMPLES; i++) {
        labels[i] = i % 10;
        numbers[2 * i] = (float)i;
        numbers[2 * i + 1] = (float)-i;
    }
    hk_tensor *x, *y;
    hki_dataset *d = NULL;
    CHECK_OK(hk_tensor_wrap(&x, pixels, HK_UINT8, 3, (int64_t[]){SAMPLES, SIDE, SIDE}));
    if (targets)
        CHECK_OK(hk_tensor_wrap(&y, numbers, HK_FLOAT, 2, (int64_t[]){SAMPLES, 2}));
    else
        CHECK_OK(hk_tensor_wrap(&y, labels, HK_INT64, 1, (int64_t[]){SAMPLES}));
    CHECK_OK(hki_dataset_open_tensors(&d, x, y, "pictures", &(hki_dataset_files){.classifies = !targets}));
    hk_tensor_free(x);
    hk_tensor_free(y);
    return d;
}

static const hki_augment everything = {.horizontal_flip = 0.5,
                                       .crop_padding = 2,
                                       .rotate = 20,
                                       .brightness = 0.2,
                                       .erase = 0.3,
                                       .erase_area = {0.02, 0.33},
                                       .mixup = 0.4};

static hki_loader_options all_options(int workers)
{
    return (hki_loader_options){.batch_size = 20,
                                .micro_batch_size = 8,
                                .shuffle = true,
                                .seed = 42,
                                .workers = workers,
                                .augment = &everything};
}

static uint64_t digest(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static uint64_t digest_batch(const hki_batch *b)
{
    uint64_t hash = digest(14695981039346656037u, b->ids, (size_t)b->samples * 8);
    hash = digest(hash, b->x->data, hk_tensor_size(b->x));
    hash = digest(hash, b->y->data, hk_tensor_size(b->y));
    if (b->y2) {
        hash = digest(hash, b->y2->data, hk_tensor_size(b->y2));
        hash = digest(hash, b->lambda->data, hk_tensor_size(b->lambda));
    }
    return digest(hash, &b->first, 8);
}

TEST(same_batches_with_any_number_of_threads)
{
    for (int targets = 0; targets < 2; targets++) {
        hki_dataset *d = make_pictures(targets);
        uint64_t expected[48];
        for (int workers = 0; workers < 5; workers++) {
            hki_loader_options o = all_options(workers);
            hki_loader *loader;
            const hki_batch *b;
            REQUIRE_OK(hki_loader_open(&loader, d, &o));
            CHECK_EQ(hki_loader_leaves(loader), 16);
            CHECK_EQ(hki_loader_batches(loader), 6);
            for (int leaf = 0; leaf < 48; leaf++) {
                REQUIRE_OK(hki_loader_next(&b, loader));
                bool last = leaf % 16 == 15;
                CHECK_EQ(b->samples, last ? 3 : leaf % 16 % 3 == 2 ? 4 : 8);
                CHECK(b->ends_batch == (last || leaf % 16 % 3 == 2));
                CHECK_EQ(b->batch, leaf % 16 / 3);
                CHECK_EQ(b->batch_samples, last ? 3 : 20);
                CHECK_EQ(b->x->dims[0], b->samples);
                CHECK_EQ(b->y->dims[0], b->samples);
                CHECK_EQ(b->first, leaf % 16 / 3 * 20 + leaf % 16 % 3 * 8);
                CHECK((b->y2 != NULL) == !targets);
                if (workers)
                    CHECK(digest_batch(b) == expected[leaf]);
                else
                    expected[leaf] = digest_batch(b);
            }
            static const int order[][2] = {{1, 2}, {1, 3}, {1, 3}, {0, 1},
                                           {0, 2}, {2, 5}, {0, 0}, {2, 1}}; /* resuming */
            for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
                REQUIRE_OK(hki_loader_seek(loader, order[i][0], order[i][1]));
                int leaf = order[i][0] * 16 + order[i][1] * 3;
                do {
                    REQUIRE_OK(hki_loader_next(&b, loader));
                    CHECK(digest_batch(b) == expected[leaf++]);
                } while (!b->ends_batch);
            }
            CHECK_FAILS(hki_loader_seek(loader, 0, 6), HK_INVALID_ARGUMENT, "expected a batch from 0 to 5 of an epoch");
            hki_loader_close(loader);
        }
        hki_dataset_close(d);
    }
}

TEST(each_sample_once_per_epoch)
{
    hki_dataset *d = make_pictures(false);
    int64_t subset[] = {5, 7, 9, 11, 50, 100, 102};
    hki_loader_options o = {.indices = subset,
                            .count = 7,
                            .batch_size = 3,
                            .micro_batch_size = 3,
                            .shuffle = true,
                            .seed = 1,
                            .workers = 2};
    hki_loader *loader;
    const hki_batch *b;
    REQUIRE_OK(hki_loader_open(&loader, d, &o));
    for (int epoch = 0; epoch < 4; epoch++) {
        int seen[SAMPLES] = {0};
        for (int leaf = 0; leaf < 3; leaf++) {
            REQUIRE_OK(hki_loader_next(&b, loader));
            for (int64_t i = 0; i < b->samples; i++) {
                seen[b->ids[i]]++;
                uint8_t pixels[64];
                CHECK_OK(d->read(d, b->ids[i], pixels, NULL));
                CHECK_EQ(((int64_t *)b->y->data)[i], b->ids[i] % 10);
                CHECK_BYTES((uint8_t *)b->x->data + i * 64, pixels, 64);
            }
        }
        for (int i = 0; i < 7; i++)
            CHECK_EQ(seen[subset[i]], 1);
    }
    hki_loader_close(loader);
    hki_dataset_close(d);
}

TEST(mixup_agrees_with_its_labels)
{
    static const hki_augment mixup = {.mixup = 1};
    hki_dataset *d = make_pictures(true), *c = make_pictures(false);
    hki_loader_options o = {.batch_size = 8, .micro_batch_size = 8, .seed = 1, .workers = 1, .augment = &mixup};
    hki_loader *targets, *classes;
    const hki_batch *b, *m;
    REQUIRE_OK(hki_loader_open(&targets, d, &o));
    REQUIRE_OK(hki_loader_open(&classes, c, &o));
    for (int leaf = 0; leaf < 12; leaf++) {
        REQUIRE_OK(hki_loader_next(&b, targets));
        REQUIRE_OK(hki_loader_next(&m, classes));
        const float *y = b->y->data, *lambda = m->lambda->data;
        const int64_t *y1 = m->y->data, *y2 = m->y2->data;
        for (int64_t i = 0; i < b->samples; i++) { /* the targets are the sample's number and its opposite */
            CHECK_CLOSE(y[2 * i], -y[2 * i + 1], 1e-6);
            CHECK_EQ(y1[i], m->ids[i] % 10);
            int64_t partner = leaf * 8;
            while (partner % 10 != y2[i])
                partner++;
            CHECK(partner < leaf * 8 + 8 && partner != m->ids[i]);
            CHECK_CLOSE(y[2 * i], lambda[i] * (float)m->ids[i] + (1 - lambda[i]) * (float)partner, 1e-5);
        }
    }
    hki_loader_close(targets);
    hki_loader_close(classes);
    hki_dataset_close(d);
    hki_dataset_close(c);
}

TEST(nothing_is_allocated_once_it_runs)
{
    hki_dataset *d = make_pictures(false);
    for (int workers = 0; workers < 3; workers++) {
        hki_loader_options o = all_options(workers);
        hki_loader *loader;
        const hki_batch *b;
        REQUIRE_OK(hki_loader_open(&loader, d, &o));
        for (int leaf = 0; leaf < 60; leaf++)
            REQUIRE_OK(hki_loader_next(&b, loader));
        int64_t before = hki_memory_count();
        for (int leaf = 0; leaf < 60; leaf++)
            REQUIRE_OK(hki_loader_next(&b, loader));
        /* a thread that slept through the first leaves makes its two scratch blocks when it wakes */
        CHECK(hki_memory_count() - before <= (workers > 1 ? 2 : 0));
        hki_loader_close(loader);
    }
    hki_dataset_close(d);
}

static hk_status read_nothing(const hki_dataset *d, int64_t index, void *x, void *y)
{
    (void)x;
    (void)y;
    return index < 10 ? NULL : HK_ERR(HK_NOT_FOUND, "%s: sample %d", d->name, (int)index);
}

TEST(errors_come_with_their_leaf)
{
    hki_dataset d = {
        .count = SAMPLES, .x_dtype = HK_UINT8, .x_rank = 1, .x_dims = {5}, .name = "gone", .read = read_nothing};
    for (int workers = 0; workers < 4; workers++) {
        hki_loader_options o = {.batch_size = 5, .micro_batch_size = 5, .workers = workers};
        hki_loader *loader;
        const hki_batch *b;
        REQUIRE_OK(hki_loader_open(&loader, &d, &o));
        for (int round = 0; round < 3; round++) {
            CHECK_OK(hki_loader_seek(loader, 0, 0));
            CHECK_OK(hki_loader_next(&b, loader));
            CHECK(b && b->y == NULL);
            CHECK_OK(hki_loader_next(&b, loader));
            CHECK_FAILS(hki_loader_next(&b, loader), HK_NOT_FOUND, "gone: sample 10");
            CHECK(b == NULL);
            CHECK_FAILS(hki_loader_next(&b, loader), HK_NOT_FOUND, "gone: sample 15");
        }
        hki_loader_close(loader);
    }
}

TEST(opening_and_closing)
{
    hki_dataset *d = make_pictures(false);
    for (int i = 0; i < 50; i++) { /* closed while threads are at work or not yet started */
        hki_loader_options o = all_options(1 + i % 4);
        hki_loader *loader;
        const hki_batch *b;
        REQUIRE_OK(hki_loader_open(&loader, d, &o));
        for (int leaf = 0; leaf < i % 7; leaf++)
            REQUIRE_OK(hki_loader_next(&b, loader));
        hki_loader_close(loader);
    }
    hki_loader_close(NULL);
    hki_loader *loader;
    hki_loader_options o = {.batch_size = 2};
    CHECK_FAILS(hki_loader_open(&loader, d, &o), HK_INVALID_CONFIG, "micro-batch size");
    o = (hki_loader_options){.batch_size = 200, .micro_batch_size = 2, .drop_last = true};
    CHECK_FAILS(hki_loader_open(&loader, d, &o), HK_INVALID_CONFIG, "expected at least 200 samples, found 103");
    o = (hki_loader_options){.batch_size = 2, .micro_batch_size = 2, .count = 104};
    CHECK_FAILS(hki_loader_open(&loader, d, &o), HK_INVALID_ARGUMENT, "at most 103");
    CHECK(loader == NULL);
    for (int n = 1; n < 40; n++) {
        o = all_options(2);
        hki_memory_fail_at(n);
        hk_status status = hki_loader_open(&loader, d, &o);
        if (!status) {
            const hki_batch *b;
            status = hki_loader_next(&b, loader);
        }
        hki_memory_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY);
        hk_status_free(status);
        hki_loader_close(loader);
    }
    hki_dataset_close(d);
}

TEST_MAIN()
