/* The flat parameter space: every trained tensor is a segment of one array of floats. Gradients, optimizer state,
 * norms, checkpoints (and later buckets and shards) are ranges of it. Batch-norm statistics have a space of their own.
 */
#ifndef HKI_TRAIN_SPACE_H
#define HKI_TRAIN_SPACE_H

#include "graph/graph.h"

#define HKI_SEGMENT_ALIGNMENT 16 /* floats: a cache line */

typedef struct hki_segment {
    const char *name; /* of the initializer */
    int rank;
    int64_t dims[HK_MAX_RANK];
    int64_t offset, count; /* in floats; offset is a multiple of HKI_SEGMENT_ALIGNMENT */
    bool no_decay;
} hki_segment;

typedef struct hki_space {
    hki_segment *segments;
    int count;
    size_t capacity;
    int64_t size; /* floats, gaps (always zero) included */
} hki_space;

/** Adds a segment for a float32 tensor. The name must outlive the space. */
hk_status hki_space_add(hki_space *space, const char *name, int rank, const int64_t *dims) HK_MUST_USE;
/** Returns the segment's index, -1 if there is none of that name. */
int hki_space_find(const hki_space *space, const char *name);
/** Allocates a zeroed array over the space; NULL when memory is exhausted. */
float *hki_space_array(const hki_space *space);
void hki_space_clear(hki_space *space);

#endif
