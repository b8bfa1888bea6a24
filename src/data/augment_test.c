/* Augmentation: each change by itself on small pictures, independence from everything but seed, epoch and sample, known
 * bytes. */
#include "data/augment.h"
#include "harness/test.h"

static hki_dataset bytes_hw(int64_t height, int64_t width)
{
    return (hki_dataset){
        .name = "test", .x_dtype = HK_UINT8, .x_rank = 2, .x_dims = {height, width}, .layout = HKI_SAMPLE_HW};
}

static hki_dataset rgb(hk_dtype dtype, hki_sample_layout layout, int64_t height, int64_t width)
{
    hki_dataset d = {.name = "test", .x_dtype = dtype, .x_rank = 3, .x_dims = {height, width, 3}, .layout = layout};
    if (layout == HKI_SAMPLE_CHW) {
        d.x_dims[0] = 3;
        d.x_dims[1] = height;
        d.x_dims[2] = width;
    }
    return d;
}

enum { SEED = 12 };

/* In the order in which the tests read best. */
static void apply(void *out, const void *in, const hki_dataset *d, const hki_augment *o, int64_t epoch, int64_t sample)
{
    hki_augment_apply(out, in, o, d, SEED, (uint64_t)epoch, (uint64_t)sample);
}

TEST(flips)
{
    hki_dataset d = bytes_hw(2, 3);
    uint8_t in[] = {1, 2, 3, 4, 5, 6}, out[6];
    hki_augment o = {.horizontal_flip = 1};
    apply(out, in, &d, &o, 0, 0);
    CHECK_BYTES(out, "\3\2\1\6\5\4", 6);
    o = (hki_augment){.vertical_flip = 1};
    apply(out, in, &d, &o, 0, 0);
    CHECK_BYTES(out, "\4\5\6\1\2\3", 6);
    o = (hki_augment){.horizontal_flip = 0.5};
    int flipped = 0;
    for (int i = 0; i < 1000; i++) {
        apply(out, in, &d, &o, 3, i);
        flipped += out[0] == 3;
    }
    CHECK(flipped > 430 && flipped < 570);
    hki_dataset c = rgb(HK_FLOAT, HKI_SAMPLE_CHW, 1, 2), h = rgb(HK_UINT8, HKI_SAMPLE_HWC, 1, 2);
    float planes[] = {1, 2, 3, 4, 5, 6}, planes_out[6];
    o = (hki_augment){.horizontal_flip = 1};
    apply(planes_out, planes, &c, &o, 0, 0);
    CHECK_BYTES(planes_out, ((float[]){2, 1, 4, 3, 6, 5}), 24);
    apply(out, in, &h, &o, 0, 0);
    CHECK_BYTES(out, "\4\5\6\1\2\3", 6);
}

TEST(crop_shifts_by_all_amounts_and_fills_with_zero)
{
    hki_dataset d = bytes_hw(3, 3);
    uint8_t in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out[9];
    hki_augment o = {.crop_padding = 2, .horizontal_flip = 0.5, .vertical_flip = 0.5};
    int seen[5][5][2][2] = {0};
    for (int i = 0; i < 4000; i++) {
        apply(out, in, &d, &o, 0, i);
        bool found = false;
        for (int code = 0; code < 100 && !found; code++) {
            int down = code % 5 - 2, right = code / 5 % 5 - 2, flip_x = code / 25 % 2, flip_y = code / 50;
            bool same = true;
            for (int y = 0; y < 3; y++)
                for (int x = 0; x < 3; x++) {
                    int sy = (flip_y ? 2 - y : y) + down, sx = (flip_x ? 2 - x : x) + right;
                    bool inside = sy >= 0 && sy < 3 && sx >= 0 && sx < 3;
                    same &= out[3 * y + x] == (inside ? in[3 * sy + sx] : 0);
                }
            if (same) {
                found = true;
                seen[down + 2][right + 2][flip_x][flip_y]++;
            }
        }
        CHECK(found);
    }
    for (int a = 1; a < 4; a++) /* shifts by 2 leave one pixel row, of which flips cannot always be told apart */
        for (int b = 1; b < 4; b++)
            for (int f = 0; f < 4; f++)
                CHECK(seen[a][b][f & 1][f >> 1] > 10);
    o = (hki_augment){.crop_padding = 100};
    for (int i = 0; i < 200; i++)
        apply(out, in, &d, &o, 0, i);
}

TEST(rotation)
{
    hki_dataset d = bytes_hw(31, 31);
    uint8_t in[31 * 31], out[31 * 31];
    float real[31 * 31], real_out[31 * 31];
    for (int y = 0; y < 31; y++)
        for (int x = 0; x < 31; x++)
            real[31 * y + x] = in[31 * y + x] = (uint8_t)(3 * x + 4 * y);
    hki_dataset f = d;
    f.x_dtype = HK_FLOAT;
    hki_augment o = {.rotate = 180};
    for (int i = 0; i < 50; i++) {
        apply(out, in, &d, &o, 0, i);
        apply(real_out, real, &f, &o, 0, i);
        CHECK_EQ(out[31 * 15 + 15], 105); /* the centre stays */
        double best = 1e9;                /* a plane stays a plane: 5 times the distance along a direction */
        for (int a = 0; a < 3600; a++) {
            double c = cos(a * M_PI / 1800), s = sin(a * M_PI / 1800), worst = 0;
            for (int y = 10; y < 21; y++)
                for (int x = 10; x < 21; x++)
                    worst = fmax(worst, fabs(105 + 5 * (c * (x - 15) + s * (y - 15)) - real_out[31 * y + x]));
            best = fmin(best, worst);
        }
        CHECK(best < 0.1);
        for (int k = 0; k < 31 * 31; k++)
            CHECK(fabsf(real_out[k] - (float)out[k]) <= 0.5001f);
    }
}

TEST(colors)
{
    hki_dataset d = rgb(HK_UINT8, HKI_SAMPLE_HWC, 1, 2), f = rgb(HK_FLOAT, HKI_SAMPLE_CHW, 1, 2);
    uint8_t in[] = {100, 150, 200, 40, 40, 40}, out[6];
    float planes[] = {100, 40, 150, 40, 200, 40}, planes_out[6];
    hki_augment options[] = {{.brightness = 0.5}, {.contrast = 0.5}, {.saturation = 0.5}};
    for (int i = 0; i < 300; i++) {
        hki_augment *o = &options[i % 3];
        apply(out, in, &d, o, 0, i);
        apply(planes_out, planes, &f, o, 0, i);
        for (int c = 0; c < 3; c++)
            for (int x = 0; x < 2; x++)
                CHECK(fabsf(fminf(planes_out[2 * c + x], 255) - (float)out[3 * x + c]) < 1.6f);
        double grey = 0.299 * 100 + 0.587 * 150 + 0.114 * 200, mean = (grey + 40) / 2, factor;
        if (i % 3 == 0) {
            factor = planes_out[0] / 100;
            CHECK_CLOSE(planes_out[5], 40 * factor, 1e-5);
        } else if (i % 3 == 1) {
            factor = (planes_out[0] - mean) / (100 - mean);
            CHECK_CLOSE(planes_out[5], mean + (40 - mean) * factor, 1e-4);
        } else {
            factor = (planes_out[0] - grey) / (100 - grey);
            CHECK_CLOSE(planes_out[4], grey + (200 - grey) * factor, 1e-4);
            CHECK_CLOSE(planes_out[5], 40, 1e-5); /* grey stays grey */
        }
        CHECK(factor > 0.499 && factor < 1.501);
    }
}

TEST(erasing)
{
    hki_dataset d = bytes_hw(20, 20);
    uint8_t in[400], out[400];
    memset(in, 7, sizeof in);
    hki_augment o = {.erase = 1, .erase_area = {0.1, 0.3}};
    for (int i = 0; i < 200; i++) {
        apply(out, in, &d, &o, 0, i);
        int zeros = 0, top = 20, bottom = -1, left = 20, right = -1;
        for (int k = 0; k < 400; k++)
            if (!out[k]) {
                zeros++;
                top = k / 20 < top ? k / 20 : top;
                bottom = k / 20 > bottom ? k / 20 : bottom;
                left = k % 20 < left ? k % 20 : left;
                right = k % 20 > right ? k % 20 : right;
            }
        CHECK(zeros >= 30 && zeros <= 140);
        CHECK_EQ(zeros, (bottom - top + 1) * (right - left + 1));
    }
    hki_dataset tiny = bytes_hw(1, 1);
    apply(out, in, &tiny, &o, 0, 0);
}

TEST(beta)
{
    static const double alphas[] = {0.01, 0.1, 0.2, 0.5, 1, 1.0001, 1.5, 2, 8, 100};
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
        double sum = 0, square = 0, n = 20000;
        for (int i = 0; i < 20000; i++) {
            double x = hki_beta_draw(alphas[a], SEED, 1, (uint64_t)i);
            CHECK(x >= 0 && x <= 1);
            sum += x;
            square += (x - 0.5) * (x - 0.5);
        }
        double variance = 1 / (4 * (2 * alphas[a] + 1));
        CHECK(fabs(sum / n - 0.5) < 5 * sqrt(variance / n));
        CHECK(fabs(square / n / variance - 1) < 0.05);
    }
}

TEST(mixup)
{
    hki_augment o = {.mixup = 1};
    int partners[5] = {0};
    int64_t partner;
    uint32_t weight;
    for (int i = 0; i < 1000; i++) {
        hki_mixup_choose(&partner, &weight, &o, SEED, 0, i, 2, 5);
        CHECK(partner >= 0 && partner < 5 && partner != 2 && weight <= 65536);
        partners[partner]++;
    }
    for (int i = 0; i < 5; i++)
        CHECK(i == 2 || partners[i] > 150);
    hki_mixup_choose(&partner, &weight, &o, SEED, 0, 9, 0, 1);
    CHECK(partner == 0 && weight == 65536);
    uint8_t a[] = {0, 255, 100}, b[] = {255, 255, 50}, out[3];
    hki_mixup_blend(out, a, b, HK_UINT8, 3, 16384);
    CHECK_BYTES(out, ((uint8_t[]){191, 255, 63}), 3);
    hki_mixup_blend(out, a, b, HK_UINT8, 3, 65536);
    CHECK_BYTES(out, a, 3);
    hki_mixup_blend(out, a, b, HK_UINT8, 3, 0);
    CHECK_BYTES(out, b, 3);
    float x[] = {1, 2}, y[] = {3, -2};
    hki_mixup_blend(x, x, y, HK_FLOAT, 2, 32768);
    CHECK(x[0] == 2 && x[1] == 0);
}

TEST(what_does_not_fit_is_refused)
{
    hki_augment o = {.horizontal_flip = 0.5};
    hki_dataset d = {.name = "t.csv", .x_dtype = HK_FLOAT, .x_rank = 1, .x_dims = {4}};
    CHECK_FAILS(hki_augment_check(&o, &d), HK_INVALID_DATA,
                "t.csv: augmentation: expected pictures (H x W, H x W x C or C x H x W), found samples float32[4]");
    d = bytes_hw(3, 3);
    d.x_dtype = HK_INT16;
    CHECK_FAILS(hki_augment_check(&o, &d), HK_INVALID_DATA,
                "expected samples of uint8 pixels or float32, found int16[3,3]");
    o = (hki_augment){.mixup = 0.2};
    d = (hki_dataset){.name = "t.csv", .x_dtype = HK_FLOAT, .x_rank = 1, .x_dims = {4}};
    CHECK_OK(hki_augment_check(&o, &d));
    o.erase = 1.5;
    CHECK_FAILS(hki_augment_check(&o, &d), HK_INVALID_CONFIG, "augmentation: expected erase from 0 to 1, found 1.5");
    o = (hki_augment){.rotate = NAN};
    CHECK_FAILS(hki_augment_check(&o, &d), HK_INVALID_CONFIG, "expected rotate from 0 to 180, found nan");
    o = (hki_augment){.erase_area = {0.5, 0.2}};
    CHECK_FAILS(hki_augment_check(&o, &d), HK_INVALID_CONFIG, "expected erase_area from 0 to 0.2, found 0.5");
}

TEST(in_place)
{
    hki_dataset d = bytes_hw(2, 3);
    uint8_t pixels[] = {1, 2, 3, 4, 5, 6}, scratch[6];
    hki_augment o = {.horizontal_flip = 1};
    hki_augment_sample(pixels, scratch, &o, &d, SEED, 0, 0);
    CHECK_BYTES(pixels, "\3\2\1\6\5\4", 6);
    o = (hki_augment){.mixup = 1};
    hki_augment_sample(pixels, scratch, &o, &d, SEED, 0, 0);
    CHECK_BYTES(pixels, "\3\2\1\6\5\4", 6);
}

static uint64_t digest(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

/* The bytes are part of the contract: a change here changes what every seed trains. */
TEST(known_bytes)
{
    hki_augment o = {.horizontal_flip = 0.5,
                     .vertical_flip = 0.2,
                     .crop_padding = 3,
                     .rotate = 15,
                     .brightness = 0.2,
                     .contrast = 0.2,
                     .saturation = 0.3,
                     .erase = 0.5,
                     .erase_area = {0.02, 0.33}};
    static uint8_t in[32 * 24 * 3], out[32 * 24 * 3];
    static float real[32 * 24 * 3], real_out[32 * 24 * 3];
    for (int i = 0; i < 32 * 24 * 3; i++) {
        in[i] = (uint8_t)(i * 7 + i / 24 * 3);
        real[i] = (float)in[i] / 256 - 0.25f;
    }
    hki_dataset h = rgb(HK_UINT8, HKI_SAMPLE_HWC, 32, 24), c = rgb(HK_FLOAT, HKI_SAMPLE_CHW, 32, 24);
    uint64_t bytes = 14695981039346656037u, floats = bytes, beta = bytes;
    for (int i = 0; i < 40; i++) {
        apply(out, in, &h, &o, i % 3, i * 1000003);
        apply(real_out, real, &c, &o, i % 3, i * 1000003);
        double draws[2] = {hki_beta_draw(0.2, SEED, 0, (uint64_t)i), hki_beta_draw(2.5, SEED, 0, (uint64_t)i)};
        bytes = digest(bytes, out, sizeof out);
        floats = digest(floats, real_out, sizeof real_out);
        beta = digest(beta, draws, sizeof draws);
    }
    CHECK_EQ(bytes, 5291009092945796350);
    CHECK_EQ(floats, 5857390595557851454);
    CHECK_EQ(beta, 7676626696531568449);
}

TEST_MAIN()
