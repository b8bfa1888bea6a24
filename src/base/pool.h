/* The thread pool. Work is cut into blocks whose number depends on the work alone, never on the number of threads;
 * which thread takes which block is open, so a result must not depend on it. */
#ifndef HKI_BASE_POOL_H
#define HKI_BASE_POOL_H

#include "base/memory.h"

typedef struct hki_pool hki_pool;

/** Creates a pool of `threads` threads, the caller included (0: hki_cpu_count()). With `pin`, workers are pinned inside
 * the allowed mask. Workers wait by a short bounded spin, then sleep. */
hk_status hki_pool_create(hki_pool **out, int threads, bool pin) HK_MUST_USE;
void hki_pool_free(hki_pool *pool);
int hki_pool_threads(const hki_pool *pool);

/** One block of work. `worker` is 0 .. threads-1 and names per-thread scratch; no two blocks run with one worker at a
 * time. */
typedef void hki_block_fn(void *context, int64_t block, int worker);

/** Runs fn for every block in 0 .. blocks-1 and returns when all are done. pool NULL: on the calling thread. Only one
 * thread calls this at a time for one pool; a nested call runs on the calling thread. Never allocates. */
void hki_pool_run(hki_pool *pool, int64_t blocks, hki_block_fn *fn, void *context);

#endif
