/* The context of a run: the threads, the kernels of the ISA in use, scratch memory, and the keys of random operators.
 * One thread uses it at a time. */
#ifndef HKI_EXEC_CONTEXT_H
#define HKI_EXEC_CONTEXT_H

#include "graph/op.h"
#include "halka/session.h"

typedef struct hki_context {
    hki_pool *pool;
    const hkk_kernels *k;
    void *scratch;
    size_t scratch_size;
    uint64_t seed, step, sample;
} hki_context;

/** Creates a context. options NULL: defaults. */
hk_status hki_context_create(hki_context **out, const hk_session_options *options) HK_MUST_USE;
void hki_context_free(hki_context *context);
/** Makes the scratch at least `size` bytes. */
hk_status hki_context_reserve(hki_context *context, size_t size) HK_MUST_USE;

/** Fills a hki_run for a node; scratch stays NULL. */
hki_run hki_context_run(const hki_context *context, const hk_node *node, const hk_tensor *const *in,
                        hk_tensor *const *out, const void *const *packed);
/** Runs one node now: infers from the actual inputs (plain tensors; NULL where absent), allocates the outputs (caller
 * frees; NULL for absent ones), computes. */
hk_status hki_node_run(hk_tensor **out, hki_context *context, const hk_node *node,
                       const hk_tensor *const *in) HK_MUST_USE;

#endif
