/* Random numbers: published vectors, distributions, the same bytes everywhere, permutations that are permutations. */
#include "tensor/random.h"

#include "harness/test.h"

static void check_vector(const uint32_t counter[4], const uint32_t key[2], const uint32_t expected[4])
{
    uint32_t out[4];
    hki_philox(out, (hki_key){{key[0], key[1]}}, counter[0], counter[1], counter[2], counter[3]);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(out[i], expected[i]);
}

/* Random123, tests/kat_vectors, "philox4x32 10". */
TEST(known_answers)
{
    uint32_t ones = 0xffffffff;
    check_vector((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0},
                 (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_vector((uint32_t[]){ones, ones, ones, ones}, (uint32_t[]){ones, ones},
                 (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_vector((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, (uint32_t[]){0xa4093822, 0x299f31d0},
                 (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(wide_counters)
{
    uint32_t a[4], b[4];
    hki_key key = hki_key_create(7, 8);
    hki_philox64(a, key, 0x0000000400000003u, 0x0000000200000001u);
    hki_philox(b, key, 1, 2, 3, 4);
    CHECK_BYTES(a, b, sizeof a);
}

TEST(keys_differ)
{
    hki_key keys[200];
    int equal = 0;
    for (int i = 0; i < 200; i++)
        keys[i] = hki_key_create((uint64_t)(i / 20), (uint64_t)(i % 20));
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < i; j++)
            equal += !memcmp(&keys[i], &keys[j], sizeof keys[i]);
    CHECK_EQ(equal, 0);
}

TEST(uniform_ends)
{
    CHECK(hki_uniform_float(0) == 0 && hki_uniform_float(UINT32_MAX) < 1);
    CHECK(hki_uniform_float(UINT32_MAX) == 1 - 0x1p-24f);
    CHECK(hki_uniform_double(0, 0) == 0 && hki_uniform_double(UINT32_MAX, UINT32_MAX) == 1 - 0x1p-53);
}

enum { COUNT = 1000000 };
static float numbers[COUNT];

static void check_moments(double mean, double variance, double third, double fourth)
{
    double sum[5] = {0};
    for (int i = 0; i < COUNT; i++) {
        double x = numbers[i] - mean;
        sum[1] += x;
        sum[2] += x * x;
        sum[3] += x * x * x;
        sum[4] += x * x * x * x;
    }
    CHECK_CLOSE(sum[1] / COUNT, 0, 0.004);
    CHECK_CLOSE(sum[2] / COUNT, variance, 0.005);
    CHECK_CLOSE(sum[3] / COUNT, third, 0.02);
    CHECK_CLOSE(sum[4] / COUNT, fourth, 0.02);
}

TEST(normal_moments)
{
    hki_normal_fill(numbers, COUNT, hki_key_create(1, HKI_STREAM_INIT), 0, 1);
    check_moments(0, 1, 0, 3);
    int beyond = 0;
    double neighbours = 0;
    for (int i = 0; i < COUNT; i++) {
        beyond += fabsf(numbers[i]) > 2;
        neighbours += (double)numbers[i] * (double)numbers[(i + 1) % COUNT];
    }
    CHECK_CLOSE((double)beyond / COUNT, 0.0455, 0.002);
    CHECK_CLOSE(neighbours / COUNT, 0, 0.004);
}

TEST(uniform_moments)
{
    hki_uniform_fill(numbers, COUNT, hki_key_create(2, HKI_STREAM_INIT), -1, 1);
    check_moments(0, 1.0 / 3, 0, 0.2);
    for (int i = 0; i < COUNT; i++)
        if (!(numbers[i] >= -1 && numbers[i] <= 1))
            CHECK(!"out of range");
}

/* Against libm's functions on the same words. */
TEST(normal_is_box_muller)
{
    enum { N = 40000 };
    hki_key key = hki_key_create(3, 4);
    hki_normal_fill(numbers, N, key, 0, 1);
    double worst = 0;
    for (int i = 0; i < N; i += 4) {
        uint32_t word[4];
        hki_philox64(word, key, 0, (uint64_t)i / 4);
        for (int k = 0; k < 4; k += 2) {
            double radius = sqrt(-2 * log((word[k] + 1.0) / 4294967296.0)),
                   angle = 2 * M_PI * word[k + 1] / 4294967296.0;
            worst = fmax(worst, fabs(numbers[i + k] - radius * cos(angle)));
            worst = fmax(worst, fabs(numbers[i + k + 1] - radius * sin(angle)));
        }
    }
    CHECK(worst < 3e-7); /* half a unit in the last place of a float near 4 */
}

static uint64_t digest(const void *data, size_t size)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

TEST(same_bytes_everywhere)
{
    hki_normal_fill(numbers, 10000, hki_key_create(42, HKI_STREAM_INIT), 0.5f, 0.02f);
    CHECK(digest(numbers, 10000 * sizeof *numbers) == 0xb1fb8c453dc413cau);
    hki_uniform_fill(numbers, 10000, hki_key_create(42, HKI_STREAM_INIT), -0.3f, 0.7f);
    CHECK(digest(numbers, 10000 * sizeof *numbers) == 0x3160f6a8319a3fc0u);
}

TEST(element_depends_on_its_index_alone)
{
    float few[7];
    hki_key key = hki_key_create(5, 6);
    hki_normal_fill(numbers, 1000, key, 0, 1);
    for (int n = 0; n <= 7; n++) {
        memset(few, 0, sizeof few);
        hki_normal_fill(few, n, key, 0, 1);
        CHECK_BYTES(few, numbers, (size_t)n * sizeof *few);
        CHECK(n == 7 || few[n] == 0);
    }
}

static void check_permutation(uint64_t count, hki_key key)
{
    unsigned char *seen = calloc(count, 1);
    uint64_t twice = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t to = hki_permute(i, count, key);
        if (to >= count)
            CHECK(!"out of range");
        else
            twice += seen[to]++;
    }
    CHECK_EQ(twice, 0);
    free(seen);
}

TEST(permutations)
{
    hki_key key = hki_key_create(9, HKI_STREAM_SHUFFLE);
    for (uint64_t count = 1; count <= 300; count++)
        check_permutation(count, key);
    check_permutation(4096, key);
    check_permutation(4097, key);
    check_permutation(60000, key);
    check_permutation(65537, hki_key_create(10, HKI_STREAM_SHUFFLE));
    CHECK(hki_permute(12345678901u, (uint64_t)1 << 62, key) < (uint64_t)1 << 62);
    CHECK(hki_permute(12345678901u, UINT64_MAX, key) < UINT64_MAX);
}

/* Over many keys every place is about equally likely, and the order is not the identity. */
TEST(permutations_are_fair)
{
    enum { SIZE = 10, KEYS = 20000 };
    int hits[SIZE][SIZE] = {{0}};
    for (uint64_t k = 0; k < KEYS; k++) {
        hki_key key = hki_key_create(k, HKI_STREAM_SHUFFLE);
        for (uint64_t i = 0; i < SIZE; i++)
            hits[i][hki_permute(i, SIZE, key)]++;
    }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            CHECK_CLOSE(hits[i][j] / (double)KEYS, 0.1, 0.01);
}

TEST_MAIN()
