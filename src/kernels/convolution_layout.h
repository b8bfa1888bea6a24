/* How the scratch of a convolution is laid out: shared by the plan, which asks for it, and the kernels, which use it. */
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

/** Backward data runs in phases, one for each residue of the position by the stride that occurs; forward has one. */
static inline int64_t hkk_dim_phases(const hkk_convolution *s, hkk_convolution_direction direction, int d)
{
    return direction == HKK_CONVOLUTION_FORWARD || s->in[d] < 1 ? 1 : hkk_minimum(s->stride[d], s->in[d]);
}
static inline int64_t hkk_pass_phases(const hkk_convolution *s, hkk_convolution_direction direction)
{
    return hkk_dim_phases(s, direction, 0) * hkk_dim_phases(s, direction, 1) * hkk_dim_phases(s, direction, 2);
}

/** The grid of positions of a phase, and the number of them over the batch. */
static inline int64_t hkk_pass_grid(int64_t grid[3], int64_t begin[3], const hkk_convolution *s, hkk_convolution_direction direction,
                                    int64_t phase)
{
    int64_t pixels = s->batch;
    for (int d = 2; d >= 0; d--) {
        if (direction == HKK_CONVOLUTION_FORWARD) {
            begin[d] = 0;
            grid[d] = s->out[d];
        } else {
            begin[d] = phase % hkk_dim_phases(s, direction, d);
            phase /= hkk_dim_phases(s, direction, d);
            grid[d] = s->in[d] > begin[d] ? hkk_ceil_div(s->in[d] - begin[d], s->stride[d]) : 0;
        }
        pixels *= grid[d];
    }
    return pixels;
}

/** Pixels and output rows in a chunk of the backward weights, at most. */
static inline int64_t hkk_chunk_row_count(const hkk_convolution_weights_pass *p)
{
    return p->chunk_rows ? p->chunk_rows : p->chunk_samples * p->shape->out[0] * p->shape->out[1];
}

#endif
