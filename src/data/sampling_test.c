/* Split, shuffle, leaves, class weights, and the functions of double they use. */
#include "data/portable_math.h"
#include "data/sampling.h"
#include "harness/test.h"

TEST(portable_functions)
{
    for (int i = -6900; i <= 6900; i++) {
        double x = i * 0.1 + 0.037, y = hki_portable_exp(x);
        CHECK(fabs(y / exp(x) - 1) < 1e-13);
        CHECK(fabs(hki_portable_log(y) - x) <= 1e-13 * fabs(x) + 1e-15);
    }
    CHECK(fabs(hki_portable_log(5e-324) - log(5e-324)) < 1e-10);
    CHECK(fabs(hki_portable_log(0x1p-54) - log(0x1p-54)) < 1e-13 * 40);
    CHECK_EQ(hki_portable_log(1), 0);
    CHECK(hki_portable_exp(-1000) == 0 && hki_portable_exp(0) == 1);
    for (int i = -4000; i <= 4000; i++) {
        double s, c, angle = i * 0.25;
        hki_portable_sincos(&s, &c, angle);
        CHECK(fabs(s - sin(angle * M_PI / 180)) < 1e-13 && fabs(c - cos(angle * M_PI / 180)) < 1e-13);
    }
    double s, c;
    hki_portable_sincos(&s, &c, 90);
    CHECK(s == 1 && c == 0);
    CHECK(hki_portable_floor(-0.5) == -1 && hki_portable_floor(-1) == -1 && hki_portable_floor(1.9) == 1);
}

TEST(split_by_hash)
{
    int64_t *a, *b, *a2, *b2, na, nb, na2, nb2;
    REQUIRE_OK(hki_split(&a, &na, &b, &nb, 10000, 0.1, 7));
    CHECK_EQ(na + nb, 10000);
    CHECK(nb > 900 && nb < 1100);
    REQUIRE_OK(hki_split(&a2, &na2, &b2, &nb2, 20000, 0.1, 7));
    CHECK_BYTES(a, a2, (size_t)na * sizeof *a); /* more samples move none of the old ones */
    CHECK_BYTES(b, b2, (size_t)nb * sizeof *b);
    char seen[10000] = {0};
    for (int64_t i = 0; i < na; i++)
        seen[a[i]]++;
    for (int64_t i = 0; i < nb; i++)
        seen[b[i]]++;
    for (int i = 0; i < 10000; i++)
        CHECK_EQ(seen[i], 1);
    hki_free(a);
    hki_free(b);
    hki_free(a2);
    hki_free(b2);
    CHECK_FAILS(hki_split(&a, &na, &b, &nb, 3, 0.0001, 7), HK_INVALID_DATA,
                "expected samples in both parts, found 3 and 0");
    CHECK_FAILS(hki_split(&a, &na, &b, &nb, 3, 1.5, 7), HK_INVALID_ARGUMENT, "between 0 and 1");
}

TEST(every_epoch_sees_every_sample_once)
{
    hki_sampler s;
    REQUIRE_OK(hki_sampler_create(&s, 103, 20, 10, false, true, 5));
    CHECK(s.batches == 6 && s.leaves == 11 && s.used == 103);
    int differ = 0;
    for (int epoch = 0; epoch < 5; epoch++) {
        char seen[103] = {0};
        for (int i = 0; i < 103; i++) {
            int64_t sample = hki_sampler_sample(&s, epoch, i);
            CHECK(sample >= 0 && sample < 103);
            seen[sample]++;
            differ += sample != hki_sampler_sample(&s, 0, i);
        }
        for (int i = 0; i < 103; i++)
            CHECK_EQ(seen[i], 1);
    }
    CHECK(differ > 350);
    REQUIRE_OK(hki_sampler_create(&s, 103, 20, 10, true, false, 5));
    CHECK(s.used == 100 && s.leaves == 10 && s.batches == 5);
    CHECK_EQ(hki_sampler_sample(&s, 3, 42), 42);
    CHECK_FAILS(hki_sampler_create(&s, 15, 20, 10, true, true, 0), HK_INVALID_CONFIG,
                "expected at least 20 samples, found 15");
    CHECK_FAILS(hki_sampler_create(&s, 0, 20, 10, false, true, 0), HK_INVALID_CONFIG, "found 0, 20 and 10");
    CHECK_FAILS(hki_sampler_create(&s, 5, 20, 0, false, true, 0), HK_INVALID_CONFIG, "found 5, 20 and 0");
}

TEST(leaves_cover_batches_in_order)
{
    static const struct {
        int64_t count, batch, leaf;
        bool drop;
    } rows[] = {{103, 20, 10, false}, {103, 20, 10, true}, {103, 20, 7, false}, {103, 20, 7, true},  {5, 20, 7, false},
                {100, 20, 20, false}, {1, 1, 1, false},    {7, 3, 5, false},    {101, 20, 10, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hki_sampler s;
        REQUIRE_OK(hki_sampler_create(&s, rows[r].count, rows[r].batch, rows[r].leaf, rows[r].drop, false, 0));
        int64_t at = 0, batch = 0, in_batch = 0;
        for (int64_t leaf = 0; leaf < s.leaves; leaf++) {
            hki_leaf_place p = hki_sampler_place(&s, leaf), later = hki_sampler_place(&s, leaf + 4 * s.leaves);
            CHECK(p.epoch == 0 && later.epoch == 4 && later.begin == p.begin && later.samples == p.samples);
            CHECK(p.begin == at && p.batch == batch && p.samples >= 1 && p.samples <= rows[r].leaf);
            if (!in_batch)
                CHECK_EQ(hki_sampler_first_leaf(&s, 2, batch), 2 * s.leaves + leaf);
            at += p.samples;
            in_batch += p.samples;
            CHECK(p.ends_batch == (in_batch == p.batch_samples));
            CHECK(p.batch_samples == rows[r].batch || batch == s.batches - 1);
            if (p.ends_batch) {
                batch++;
                in_batch = 0;
            }
        }
        CHECK(at == s.used && batch == s.batches && in_batch == 0);
    }
}

TEST(class_weights)
{
    double w[4];
    int64_t counts[] = {10, 30, 0, 20};
    hki_class_weights_inverse(w, counts, 4);
    CHECK_CLOSE(w[0], 60 / (3 * 10.0), 1e-15);
    CHECK_CLOSE(w[1], 60 / (3 * 30.0), 1e-15);
    CHECK(w[2] == 0);
    hki_class_weights_effective(w, counts, 4, 0.9);
    double e[] = {0.1 / (1 - pow(0.9, 10)), 0.1 / (1 - pow(0.9, 30)), 0.1 / (1 - pow(0.9, 20))},
           sum = e[0] + e[1] + e[2];
    CHECK_CLOSE(w[0], 3 * e[0] / sum, 1e-12);
    CHECK_CLOSE(w[1], 3 * e[1] / sum, 1e-12);
    CHECK_CLOSE(w[3], 3 * e[2] / sum, 1e-12);
    CHECK(w[2] == 0);
    hki_class_weights_effective(w, counts, 4, 0);
    CHECK(w[0] == 1 && w[1] == 1 && w[2] == 0 && w[3] == 1);
}

TEST_MAIN()
