/* The thread pool: threads that take blocks of one job from a shared counter.
 *
 * A job is published by opening a gate. Workers enter while it is open, take blocks until there are none, and leave;
 * the caller takes blocks too, closes the gate and waits until nobody is inside. A worker that wakes too late finds the
 * gate closed and goes back to sleep, so nobody waits for it, and a job with few blocks does not need everybody.
 *
 * Sleeping follows one pattern on both sides: the sleeper announces itself and then looks again, the waker changes the
 * gate and then looks for sleepers, all sequentially consistent; one of the two sees the other. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define SPIN_SECONDS 100e-6 /* longer than the gap between two operators, shorter than anybody notices */
#define THREAD_LIMIT 1024

/* The gate: bit 0 says open, bits 1..31 count the workers inside, the rest numbers the jobs. */
#define GATE_OPEN      ((uint64_t)1)
#define GATE_ONE       ((uint64_t)2)
#define GATE_JOB       ((uint64_t)1 << 32)
#define GATE_INSIDE(g) ((g) & (GATE_JOB - GATE_ONE))

typedef struct worker {
    struct hki_pool *pool;
    pthread_t thread;
    int index; /* 1 .. threads-1; the caller is worker 0 */
    int cpu;   /* where it is pinned; touched by the caller only */
} worker;

struct hki_pool {
    _Alignas(64) atomic_uint_fast64_t gate;
    _Alignas(64) _Atomic int64_t next_block; /* the counter from which blocks are taken */
    _Alignas(64) int64_t blocks;             /* the job; written while the gate is closed and nobody is inside */
    hki_block_fn *fn;
    void *context;
    double spin_seconds;
    int threads, started;
    bool pinned;
    int free_cpu; /* pinned: an allowed processor on which no worker is */
    atomic_int sleepers;
    atomic_bool caller_sleeps, stopping;
    pthread_mutex_t mutex; /* only for sleeping and waking */
    pthread_cond_t job_ready, all_left;
    worker workers[]; /* threads - 1 */
};

/* The pool whose block this thread is running, and as which worker: finds nested calls. */
static _Thread_local const hki_pool *running_pool;
static _Thread_local int running_worker;

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_serial(int64_t blocks, hki_block_fn *fn, void *context, int worker_index)
{
    for (int64_t block = 0; block < blocks; block++)
        fn(context, block, worker_index);
}

/* Takes blocks of the published job until there are none left. */
static void take_blocks(hki_pool *pool, int worker_index)
{
    const hki_pool *outer_pool = running_pool;
    int outer_worker = running_worker;
    running_pool = pool;
    running_worker = worker_index;
    int64_t blocks = pool->blocks;
    for (;;) {
        int64_t block = atomic_fetch_add_explicit(&pool->next_block, 1, memory_order_relaxed);
        if (block >= blocks)
            break;
        pool->fn(pool->context, block, worker_index);
    }
    running_pool = outer_pool;
    running_worker = outer_worker;
}

/* Enters the gate unless it is closed or this job was already worked on. Sets *seen to the job it entered. */
static bool enter(hki_pool *pool, uint64_t *seen)
{
    uint64_t gate = atomic_load(&pool->gate);
    while ((gate & GATE_OPEN) && gate / GATE_JOB != *seen) {
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + GATE_ONE)) {
            *seen = gate / GATE_JOB;
            return true;
        }
    }
    return false;
}

static void leave(hki_pool *pool)
{
    uint64_t gate = atomic_fetch_sub(&pool->gate, GATE_ONE) - GATE_ONE;
    if ((gate & GATE_OPEN) || GATE_INSIDE(gate) || !atomic_load(&pool->caller_sleeps))
        return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_signal(&pool->all_left);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits for a job and enters it: first spinning, then asleep. False when the pool stops. */
static bool wait_for_job(hki_pool *pool, uint64_t *seen)
{
    if (pool->spin_seconds > 0) {
        double end = hki_clock() + pool->spin_seconds;
        do {
            for (int i = 0; i < 64; i++) {
                if (enter(pool, seen))
                    return true;
                pause_briefly();
            }
        } while (hki_clock() < end);
    }
    bool entered = false;
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!atomic_load(&pool->stopping) && !(entered = enter(pool, seen)))
        pthread_cond_wait(&pool->job_ready, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return entered;
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    hki_pool *pool = self->pool;
    uint64_t seen = 0;
    while (wait_for_job(pool, &seen)) {
        take_blocks(pool, self->index);
        leave(pool);
    }
    return NULL;
}

/* Wakes as many sleepers as the job has blocks for. */
static void wake_workers(hki_pool *pool, int64_t blocks)
{
    int sleepers = atomic_load(&pool->sleepers);
    if (!sleepers)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (blocks - 1 < sleepers)
        for (int64_t i = 0; i < blocks - 1; i++)
            pthread_cond_signal(&pool->job_ready);
    else
        pthread_cond_broadcast(&pool->job_ready);
    pthread_mutex_unlock(&pool->mutex);
}

/* Closes the gate and waits until every worker has finished the block it took. */
static void close_gate(hki_pool *pool)
{
    uint64_t gate = atomic_fetch_and(&pool->gate, ~GATE_OPEN);
    if (!GATE_INSIDE(gate))
        return;
    if (pool->spin_seconds > 0) {
        double end = hki_clock() + pool->spin_seconds;
        do {
            for (int i = 0; i < 64; i++) {
                if (!GATE_INSIDE(atomic_load(&pool->gate)))
                    return;
                pause_briefly();
            }
        } while (hki_clock() < end);
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while (GATE_INSIDE(atomic_load(&pool->gate)))
        pthread_cond_wait(&pool->all_left, &pool->mutex);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
}

static void pin(worker *w, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(w->thread, sizeof one, &one); /* a refusal costs speed, nothing else */
    w->cpu = cpu;
}

/* The system may have moved the caller onto the processor of a pinned worker, which then never gets to run: sends that
 * worker to the free one. */
static void make_way(hki_pool *pool)
{
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu == pool->free_cpu)
        return;
    for (int i = 0; i < pool->threads - 1; i++)
        if (pool->workers[i].cpu == cpu) {
            pin(&pool->workers[i], pool->free_cpu);
            pool->free_cpu = cpu;
            return;
        }
}

void hki_pool_run(hki_pool *pool, int64_t blocks, hki_block_fn *fn, void *context)
{
    if (!pool || running_pool) { /* no threads wanted, or a nested call */
        run_serial(blocks, fn, context, pool && running_pool == pool ? running_worker : 0);
        return;
    }
    if (pool->threads == 1 || blocks <= 1) {
        running_pool = pool;
        running_worker = 0;
        run_serial(blocks, fn, context, 0);
        running_pool = NULL;
        return;
    }
    HK_ASSERT(!(atomic_load(&pool->gate) & GATE_OPEN)); /* one caller at a time */
    if (pool->pinned)
        make_way(pool);
    pool->blocks = blocks;
    pool->fn = fn;
    pool->context = context;
    atomic_store_explicit(&pool->next_block, 0, memory_order_relaxed);
    atomic_fetch_add(&pool->gate, GATE_JOB | GATE_OPEN);
    wake_workers(pool, blocks);
    take_blocks(pool, 0);
    close_gate(pool);
}

int hki_pool_threads(const hki_pool *pool)
{
    return pool ? pool->threads : 1;
}

/* Pins workers to allowed processors, one each, beginning behind the one the caller runs on, which is left to the
 * caller (who is not pinned: the thread belongs to the program). Without effect when there are fewer processors than
 * threads, or a quota that moves processes about: then the scheduler knows better. */
static void pin_workers(hki_pool *pool)
{
    cpu_set_t allowed;
    const char *wish = getenv("HALKA_PIN");
    if ((wish && !strcmp(wish, "0")) || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    int count = CPU_COUNT(&allowed);
    if (count < pool->threads || hki_cpu_count() < count)
        return;
    int cpu = sched_getcpu();
    if (cpu < 0)
        return;
    pool->free_cpu = cpu;
    pool->pinned = true;
    for (int i = 0; i < pool->threads - 1; i++) {
        do
            cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(cpu, &allowed));
        pin(&pool->workers[i], cpu);
    }
}

/* Starts the workers with all signals blocked: they belong to the program's own threads. */
static hk_status start_workers(hki_pool *pool)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = 0;
    for (int i = 0; i < pool->threads - 1 && !error; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->index = i + 1;
        error = pthread_create(&w->thread, NULL, worker_main, w);
        if (error)
            break;
        pool->started++;
        char name[16];
        snprintf(name, sizeof name, "halka-%d", w->index);
        pthread_setname_np(w->thread, name);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        return HK_ERR(HK_IO, "cannot start thread %d of %d: %s", pool->started + 2, pool->threads, strerror(error));
    return NULL;
}

hk_status hki_pool_create(hki_pool **out, int threads, bool pin)
{
    *out = NULL;
    if (threads < 0 || threads > THREAD_LIMIT)
        return HK_ERR(HK_INVALID_ARGUMENT, "expected 0 to %d threads, found %d", THREAD_LIMIT, threads);
    int processors = hki_cpu_count();
    if (!threads)
        threads = processors < THREAD_LIMIT ? processors : THREAD_LIMIT;
    hki_pool *pool = hki_alloc_array(1, sizeof *pool + (size_t)(threads - 1) * sizeof(worker));
    if (!pool)
        return hki_out_of_memory();
    pool->threads = threads;
    pool->spin_seconds =
        threads <= processors ? SPIN_SECONDS : 0; /* who spins takes the processor from one who works */
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->job_ready, NULL);
    pthread_cond_init(&pool->all_left, NULL);
    hk_status status = start_workers(pool);
    if (status) {
        hki_pool_free(pool);
        return status;
    }
    if (pin)
        pin_workers(pool);
    *out = pool;
    return NULL;
}

void hki_pool_free(hki_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->stopping, true);
    pthread_cond_broadcast(&pool->job_ready);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->job_ready);
    pthread_cond_destroy(&pool->all_left);
    pthread_mutex_destroy(&pool->mutex);
    hki_free(pool);
}
