/* Kernel family: convolution in float32 on channels-last data, with groups, strides, dilation and any padding.
 *
 * Shapes: x [batch, in[0..2], C], y and dy [batch, out[0..2], M], weights as ONNX has them [M, C/groups, kernel[0..2]].
 * One- and two-dimensional convolutions have leading dimensions of 1. Padding at the end follows from `out`.
 *
 * Order of summation, the same for every blocking, ISA and thread:
 * - forward: y is one chain of fused multiply-adds from 0 over kernel taps (in memory order), then channels of the
 * group;
 * - backward data: dx likewise over the taps that reach it, then output channels of the group. In both, a tap that
 * falls into the padding is left out;
 * - backward weights: the output pixels are cut into chunks (hkk_convolution_chunks: by shape without the batch); in a
 * chunk, one chain over its pixels in memory order; chunks are added in a binary tree over their index: aligned pairs
 * first, a rest without a partner moves up.
 *
 * Weights are packed before each pass (`pack`); the operator keeps packed weights that are constant. */
#ifndef HKI_KERNELS_CONVOLUTION_H
#define HKI_KERNELS_CONVOLUTION_H

#include "kernels/gemm.h"

/** The shape of a convolution; d, h, w in that order. Fill it, then call hkk_convolution_prepare. */
typedef struct hkk_convolution {
    int64_t batch, C, M, groups;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3]; /* pad: at the beginning, may be negative */
    /* Set by hkk_convolution_prepare. */
    int64_t taps, group_c, group_m; /* kernel size, channels of a group */
    int64_t in_pixels, out_pixels;  /* of one sample */
    bool depthwise;                 /* one channel in and out per group: lanes run over channels */
} hkk_convolution;

void hkk_convolution_prepare(hkk_convolution *shape);

typedef enum hkk_convolution_direction {
    HKK_CONVOLUTION_FORWARD,
    HKK_CONVOLUTION_BACKWARD_DATA
} hkk_convolution_direction;

/** Returns how many floats the packed weights of a pass take. */
int64_t hkk_convolution_packed_size(const hkk_convolution *shape, hkk_convolution_direction direction);
/** Returns how many blocks hkk_convolution_kernels.pack has. */
int64_t hkk_convolution_pack_blocks(const hkk_convolution *shape, hkk_convolution_direction direction);

/** Forward pass or backward data: `to` = weights applied to `from`. Fill the upper part, then call
 * hkk_convolution_plan. */
typedef struct hkk_convolution_pass {
    const hkk_convolution *shape;
    hkk_convolution_direction direction;
    const float *from;    /* x, or dy */
    const float *weights; /* packed for this direction */
    float *to;            /* y, or dx */
    hkk_gemm_epilogue
        epilogue; /* bias_n has one entry per channel of `to`, residual the shape of `to` (residual_ld unused) */
    /* Set by hkk_convolution_plan. */
    int64_t blocks;        /* for hki_pool_run */
    int64_t scratch;       /* floats per worker, 64-byte aligned */
    int64_t strips;        /* of up to 12 pixels, in all */
    int64_t block_strips;  /* in a block; in depthwise, rows of the image */
    int64_t block_columns; /* column tiles of 64 in a block */
} hkk_convolution_pass;

void hkk_convolution_plan(hkk_convolution_pass *pass);

/** Backward weights: dw = sum over pixels of x and dy. Fill the upper part, then call hkk_convolution_weights_plan.
 * First all `blocks` run, then all `finish_blocks`. */
typedef struct hkk_convolution_weights_pass {
    const hkk_convolution *shape;
    const float *x, *dy;
    float *dw;      /* [M, C/groups, kernel...], overwritten */
    float *partial; /* partial_size floats, 64-byte aligned */
    /* Set by hkk_convolution_weights_plan. */
    int64_t blocks, finish_blocks, scratch, partial_size;
    int64_t chunk_samples, chunk_rows; /* a chunk: that many samples, or output rows of one sample (the other is 0) */
    int64_t chunks, chunks_per_span;   /* a span, a power of two of chunks, is summed by one block */
    int64_t spans;
    int64_t set_strips, sets; /* of 12 rows of dw, per group; of channels in depthwise */
    bool gather;
} hkk_convolution_weights_pass;

void hkk_convolution_weights_plan(hkk_convolution_weights_pass *pass);

typedef struct hkk_convolution_kernels {
    /** Packs block 0 .. hkk_convolution_pack_blocks-1 of the weights [M, C/groups, kernel...]. */
    void (*pack)(float *packed, const float *weights, const hkk_convolution *shape, hkk_convolution_direction direction,
                 int64_t block);
    void (*run_block)(const hkk_convolution_pass *pass, int64_t block, float *scratch);
    void (*weights_block)(const hkk_convolution_weights_pass *pass, int64_t block, float *scratch);
    void (*weights_finish)(const hkk_convolution_weights_pass *pass, int64_t block);
} hkk_convolution_kernels;

extern const hkk_convolution_kernels hkk_convolution__c, hkk_convolution__avx2, hkk_convolution__avx512;

#endif
