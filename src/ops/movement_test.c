/* The copy engine against one loop over all elements: random dims and strides, every element size, one thread and
 * three. */
#include "ops/movement.h"

#include "harness/test.h"

static uint32_t seed = 1;
static int64_t pick(int64_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)((seed >> 8) % (uint32_t)n);
}

static void naive(const hki_move *m, int dim, int64_t to, int64_t from)
{
    if (dim == m->rank) {
        memcpy((char *)m->to + to * (int64_t)m->element_size, (const char *)m->from + from * (int64_t)m->element_size,
               m->element_size);
        return;
    }
    for (int64_t i = 0; i < m->dims[dim]; i++)
        naive(m, dim + 1, to + i * m->to_strides[dim], from + i * m->from_strides[dim]);
}

/* A move whose `to` is dense in a shuffled order of dims, and whose `from` is a permuted, broadcast or reversed view.
 */
static void random_move(hki_move *m, const char *from, char *to, int64_t largest)
{
    int rank = (int)pick(6), order[6];
    int64_t to_strides[6], from_strides[6], stride = 1;
    *m = (hki_move){.to = to, .from = from, .element_size = (size_t)1 << pick(4)};
    for (int i = 0; i < rank; i++) {
        order[i] = i;
        m->dims[i] = 1 + pick(largest);
    }
    for (int i = rank - 1; i >= 0; i--) {
        to_strides[i] = stride;
        stride *= m->dims[i];
    }
    for (int i = rank - 1; i > 0; i--) {
        int j = pick(3) ? i : (int)pick(i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        bool broadcast = pick(6) == 0;
        from_strides[order[i]] = broadcast ? 0 : stride;
        stride *= broadcast ? 1 : m->dims[order[i]];
    }
    for (int i = 0; i < rank; i++) {
        if (pick(8) == 0) { /* reversed */
            m->from = (const char *)m->from + (m->dims[i] - 1) * from_strides[i] * (int64_t)m->element_size;
            from_strides[i] = -from_strides[i];
        }
        int64_t dim = m->dims[i];
        m->rank = i;
        hki_move_add(m, dim, to_strides[i], from_strides[i]);
    }
}

static void check_moves(hki_pool *pool, int times, int64_t largest, size_t size)
{
    char *from = malloc(size), *to = malloc(size), *expected = malloc(size);
    for (size_t i = 0; i < size; i++)
        from[i] = (char)pick(256);
    for (int t = 0; t < times; t++) {
        hki_move m;
        random_move(&m, from, to, largest);
        memset(to, 0x55, size);
        memset(expected, 0x55, size);
        hki_move copy = m;
        copy.to = expected;
        naive(&copy, 0, 0, 0);
        hki_move_run(&m, pool);
        if (memcmp(to, expected, size)) {
            printf("move %d differs\n", t);
            test_failures++;
            break;
        }
    }
    free(from);
    free(to);
    free(expected);
}

TEST(small_moves)
{
    check_moves(NULL, 3000, 5, 8 * 4 * 5 * 5 * 5 * 5);
}

TEST(large_moves)
{
    hki_pool *pool;
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    check_moves(pool, 60, 20, (size_t)8 * 20 * 20 * 20 * 20 * 20);
    hki_pool_free(pool);
}

TEST(transposes_and_copies_of_awkward_sizes)
{
    static const int64_t sizes[][2] = {{1, 1},     {16, 16},   {17, 31},     {3, 50000},
                                       {50000, 3}, {300, 500}, {1024, 1024}, {15, 4000}};
    hki_pool *pool;
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int64_t n = sizes[i][0], m = sizes[i][1];
        uint32_t *x = malloc((size_t)(n * m) * 4), *y = malloc((size_t)(n * m) * 4);
        int64_t wrong = 0;
        for (int64_t k = 0; k < n * m; k++)
            x[k] = (uint32_t)k;
        hki_move move = {.to = y, .from = x, .element_size = 4};
        hki_move_add(&move, m, n, 1);
        hki_move_add(&move, n, 1, m);
        hki_move_run(&move, pool);
        for (int64_t a = 0; a < m; a++)
            for (int64_t b = 0; b < n; b++)
                wrong += y[a * n + b] != (uint32_t)(b * m + a);
        CHECK_EQ(wrong, 0);
        hki_copy(y, x, n * m, 4, pool);
        CHECK_BYTES(x, y, (size_t)(n * m) * 4);
        uint32_t seven = 7;
        hki_fill(y, &seven, n * m, 4, pool);
        for (int64_t k = 0; k < n * m; k++)
            wrong += y[k] != 7;
        CHECK_EQ(wrong, 0);
        free(x);
        free(y);
    }
    hki_pool_free(pool);
}

TEST(nothing_to_copy)
{
    char byte = 1;
    hki_move move = {.to = &byte, .from = NULL, .element_size = 1};
    hki_move_add(&move, 3, 1, 1);
    hki_move_add(&move, 0, 1, 1);
    hki_move_run(&move, NULL);
    CHECK_EQ(byte, 1);
}

TEST_MAIN()
