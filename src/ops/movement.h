/* Movement: copies between strided views of any element size, the engine below every operator that only moves data.
 *
 * A move is a list of dimensions, each with a stride on both sides. Running it drops and joins dimensions, chooses a
 * loop (rows by memcpy, fills, 16x16 tiles for transpositions, single elements), and cuts the work in fixed blocks on
 * the pool. Offsets of the two sides are put into `to` and `from` by the caller; from-strides may be 0 (broadcast) or
 * negative. */
#ifndef HKI_OPS_MOVEMENT_H
#define HKI_OPS_MOVEMENT_H

#include "base/pool.h"
#include "tensor/tensor.h"

#define HKI_MOVE_RANK (2 * HK_MAX_RANK) /* Tile and DepthToSpace split dimensions */

typedef struct hki_move {
    void *to;
    const void *from;
    size_t element_size; /* 1, 2, 4 or 8 bytes */
    int rank;
    int64_t dims[HKI_MOVE_RANK];
    int64_t to_strides[HKI_MOVE_RANK]; /* in elements */
    int64_t from_strides[HKI_MOVE_RANK];
} hki_move;

/** Appends a dimension (outermost first). */
void hki_move_add(hki_move *move, int64_t dim, int64_t to_stride, int64_t from_stride);
/** Copies. No two elements of `to` may be the same place. The move is changed. */
void hki_move_run(hki_move *move, hki_pool *pool);

/** Writes row-major strides of dims. */
void hki_row_major(int64_t *out_strides, int rank, const int64_t *dims);
/** Copies `count` elements that lie side by side; nothing if to == from. */
void hki_copy(void *to, const void *from, int64_t count, size_t element_size, hki_pool *pool);
/** Sets `count` elements to the one at `value`. */
void hki_fill(void *to, const void *value, int64_t count, size_t element_size, hki_pool *pool);

/** Number of blocks in which `count` items of `bytes` bytes each are cut, with the items per block in *out_step:
 * depends on the work alone. */
int64_t hki_blocks(int64_t *out_step, int64_t count, int64_t bytes);

#endif
