/* The pool: every block once, workers apart, nested and repeated runs, more threads than processors. */
#include "base/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/system.h"
#include "harness/test.h"

enum { MOST_THREADS = 9, MOST_BLOCKS = 2000 };

typedef struct job {
    hki_pool *pool;
    atomic_int runs[MOST_BLOCKS];
    atomic_int busy[MOST_THREADS];
    atomic_int wrong;
    int64_t sums[MOST_THREADS]; /* per worker, not atomic: must not be shared */
} job;

static void count_block(void *context, int64_t block, int worker)
{
    job *j = context;
    if (worker < 0 || worker >= MOST_THREADS || atomic_fetch_add(&j->busy[worker], 1))
        atomic_fetch_add(&j->wrong, 1);
    atomic_fetch_add(&j->runs[block], 1);
    j->sums[worker] += block;
    atomic_fetch_sub(&j->busy[worker], 1);
}

static void check_run(hki_pool *pool, int64_t blocks)
{
    static job j;
    memset(&j, 0, sizeof j);
    hki_pool_run(pool, blocks, count_block, &j);
    int64_t sum = 0;
    for (int i = 0; i < MOST_THREADS; i++)
        sum += j.sums[i];
    CHECK_EQ(sum, blocks * (blocks - 1) / 2);
    CHECK_EQ(atomic_load(&j.wrong), 0);
    for (int64_t i = 0; i < blocks; i++)
        if (atomic_load(&j.runs[i]) != 1)
            CHECK(!"a block did not run exactly once");
}

TEST(every_block_once)
{
    check_run(NULL, 7);
    for (int threads = 1; threads <= MOST_THREADS; threads += threads < 4 ? 1 : 5) {
        hki_pool *pool;
        REQUIRE_OK(hki_pool_create(&pool, threads, true));
        CHECK_EQ(hki_pool_threads(pool), threads);
        check_run(pool, 0);
        for (int round = 0; round < 200; round++)
            check_run(pool, round % 7);
        check_run(pool, MOST_BLOCKS);
        usleep(2000); /* long enough for all to fall asleep */
        check_run(pool, 2);
        usleep(2000);
        check_run(pool, MOST_BLOCKS);
        hki_pool_free(pool);
    }
    hki_pool_free(NULL);
}

static void bump(void *context, int64_t block, int worker)
{
    (void)worker;
    ((int64_t *)context)[block]++; /* block-owned memory, no atomics: the run must order it before the caller */
}

TEST(many_small_runs)
{
    hki_pool *pool;
    int64_t counts[4] = {0};
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    int64_t allocations = hki_memory_count();
    for (int i = 0; i < 20000; i++)
        hki_pool_run(pool, 4, bump, counts);
    CHECK_EQ(hki_memory_count(), allocations);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(counts[i], 20000);
    hki_pool_free(pool);
}

static void slow_block(void *context, int64_t block, int worker)
{
    (void)worker;
    usleep(block == 0 ? 100 : 3000); /* whoever takes block 0 has to wait, past its spinning, for the others */
    ((int64_t *)context)[block]++;
}

TEST(caller_sleeps_until_the_last_block)
{
    hki_pool *pool;
    int64_t counts[3] = {0};
    REQUIRE_OK(hki_pool_create(&pool, 3, false));
    for (int i = 0; i < 20; i++)
        hki_pool_run(pool, 3, slow_block, counts);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(counts[i], 20);
    hki_pool_free(pool);
}

typedef struct nest {
    hki_pool *pool, *other;
    atomic_int inner;
    atomic_int wrong;
} nest;

typedef struct level {
    nest *nest;
    int worker;
} level;

static void inner_block(void *context, int64_t block, int worker)
{
    (void)block;
    level *l = context;
    atomic_fetch_add(&l->nest->inner, 1);
    if (worker != l->worker)
        atomic_fetch_add(&l->nest->wrong, 1);
}

static void outer_block(void *context, int64_t block, int worker)
{
    (void)block;
    nest *n = context;
    level same = {n, worker}, other = {n, 0};
    hki_pool_run(n->pool, 5, inner_block, &same);
    hki_pool_run(n->other, 5, inner_block, &other);
    hki_pool_run(NULL, 5, inner_block, &other);
}

TEST(nested_runs_stay_on_their_thread)
{
    nest n = {0};
    REQUIRE_OK(hki_pool_create(&n.pool, 4, false));
    REQUIRE_OK(hki_pool_create(&n.other, 2, false));
    for (int blocks = 0; blocks < 40; blocks++) {
        atomic_store(&n.inner, 0);
        hki_pool_run(n.pool, blocks, outer_block, &n);
        CHECK_EQ(atomic_load(&n.inner), 15 * blocks);
    }
    CHECK_EQ(atomic_load(&n.wrong), 0);
    hki_pool_free(n.pool);
    hki_pool_free(n.other);
}

TEST(create_and_free_at_once)
{
    hki_pool *pool;
    for (int i = 0; i < 50; i++) {
        REQUIRE_OK(hki_pool_create(&pool, 1 + i % 4, i % 2));
        hki_pool_free(pool);
    }
    REQUIRE_OK(hki_pool_create(&pool, 0, true));
    CHECK_EQ(hki_pool_threads(pool), hki_cpu_count());
    hki_pool_free(pool);
    CHECK_EQ(hki_pool_threads(NULL), 1);
}

TEST(refusals)
{
    hki_pool *pool;
    CHECK_FAILS(hki_pool_create(&pool, -1, false), HK_INVALID_ARGUMENT, "found -1");
    CHECK(pool == NULL);
    CHECK_FAILS(hki_pool_create(&pool, 100000, false), HK_INVALID_ARGUMENT, "found 100000");
    hki_memory_fail_at(2); /* the first is for the affinity mask */
    hk_status status = hki_pool_create(&pool, 3, false);
    hki_memory_fail_at(0);
    if (!status)
        hki_pool_free(pool);
    hk_status_free(status);
}

static void note_mask(void *context, int64_t block, int worker)
{
    (void)block;
    cpu_set_t mask;
    if (!sched_getaffinity(0, sizeof mask, &mask))
        ((atomic_int *)context)[worker] = CPU_COUNT(&mask);
    usleep(300);
}

TEST(pinning)
{
    hki_pool *pool;
    int processors = hki_cpu_count(), threads = processors < MOST_THREADS ? processors : MOST_THREADS;
    cpu_set_t before, after;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int pin = 0; pin < 3; pin++) { /* off, on, on but refused by the environment */
        atomic_int sizes[MOST_THREADS] = {0};
        if (pin == 2)
            setenv("HALKA_PIN", "0", 1);
        REQUIRE_OK(hki_pool_create(&pool, threads, pin > 0));
        hki_pool_run(pool, 50, note_mask, sizes);
        hki_pool_free(pool);
        unsetenv("HALKA_PIN");
        for (int i = 1; i < threads; i++) /* a worker that got no block says nothing */
            CHECK(!sizes[i] || sizes[i] == CPU_COUNT(&before) || (pin == 1 && sizes[i] == 1));
    }
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after)); /* the caller's own mask is not touched */
}

TEST_MAIN()
