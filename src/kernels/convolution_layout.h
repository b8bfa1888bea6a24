/* How the scratch of a convolution is laid out: shared by the plan, which asks for it, and the kernels, which use it.
 */
#ifndef HKI_KERNELS_CONVOLUTION_LAYOUT_H
#define HKI_KERNELS_CONVOLUTION_LAYOUT_H

#include "kernels/convolution.h"

#define HKK_GATHER_CHANNELS 8 /* up to so many channels the rows of the implicit matrix are gathered */

static inline int64_t hkk_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t hkk_minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** Rounds a number of floats up to a cache line. */
static inline int64_t hkk_round_line(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/** Takes `floats` from a scratch pointer. */
static inline float *hkk_take(float **scratch, int64_t floats)
{
    float *taken = *scratch;
    *scratch += hkk_round_line(floats);
    return taken;
}

/** As hkk_take, for `count` pointers or int64. */
static inline void *hkk_take_words(float **scratch, int64_t count)
{
    return hkk_take(scratch, 2 * count);
}

/** Channels of a group that the pass sums over, and channels of a group that it computes. */
static inline int64_t hkk_pass_k(const hkk_convolution *s, hkk_convolution_direction direction)
{
    return direction == HKK_CONVOLUTION_FORWARD ? s->group_c : s->group_m;
}
static inline int64_t hkk_pass_n(const hkk_convolution *s, hkk_convolution_direction direction)
{
    return direction == HKK_CONVOLUTION_FORWARD ? s->group_m : s->group_c;
}

/** Positions of the result in one dimension, and those of `from`. */
static inline int64_t hkk_to_size(const hkk_convolution *s, hkk_convolution_direction direction, int d)
{
    return direction == HKK_CONVOLUTION_FORWARD ? s->out[d] : s->in[d];
}
static inline int64_t hkk_from_size(const hkk_convolution *s, hkk_convolution_direction direction, int d)
{
    return direction == HKK_CONVOLUTION_FORWARD ? s->in[d] : s->out[d];
}

/** A stretch of positions begin, begin + step ... of the result, in one dimension, that are reached by the same taps.
 */
typedef struct hkk_stretch {
    int64_t begin, step, count;
    int64_t tap, tap_step, taps;       /* taps tap, tap + tap_step ... of the kernel */
    int64_t from, from_step, from_tap; /* source of the first position under the first tap; per position; per tap */
} hkk_stretch;

/** Steps to the next stretch of dimension d; start with {0}. False after the last. Backward data has some for each
 * residue of the position by the stride, as only every stride-th tap reaches a position. */
bool hkk_next_stretch(hkk_stretch *stretch, const hkk_convolution *s, hkk_convolution_direction direction, int d);

/** A region: pixels of the result that are reached by the same taps, one stretch per dimension. Its pixels, over the
 * batch, are cut in strips of 12. */
typedef struct hkk_region {
    hkk_stretch at[3];
    int64_t pixels, strips; /* over the batch */
} hkk_region;

/** Steps to the next region; start with {0}. False after the last. */
bool hkk_next_region(hkk_region *region, const hkk_convolution *s, hkk_convolution_direction direction);

/** Pixels and output rows in a chunk of the backward weights, at most. */
static inline int64_t hkk_chunk_row_count(const hkk_convolution_weights_pass *p)
{
    return p->chunk_rows ? p->chunk_rows : p->chunk_samples * p->shape->out[0] * p->shape->out[1];
}

#endif
