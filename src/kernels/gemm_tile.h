/* The innermost product, shared by the matrix product and the convolutions of one ISA: up to 12 rows times up to 64
 * columns. Include after a lanes header. */
#ifndef HKI_KERNELS_GEMM_TILE_H
#define HKI_KERNELS_GEMM_TILE_H

#include "kernels/gemm.h"

#define HKK_TILE_ROWS    12
#define HKK_TILE_COLUMNS 64

/** A tile. k runs over `taps` x K elements. Of tap t, element k: A of row i is a[i][a_tap[t] + a_offset + k * a_step];
 * B's columns 0 .. 31 lie at b[b_tap[t] + k * b_step], columns 32 .. 63 b_panel behind. Whole vectors of 16 columns are
 * read. */
typedef struct hkk_gemm_tile {
    const float *const *a; /* a pointer per row */
    const int64_t *a_tap;
    int64_t a_offset, a_step;
    const float *b;
    const int64_t *b_tap;
    int64_t b_step, b_panel;
    int64_t taps, K;
    float *const *c; /* a pointer to column 0 of each row */
    int rows, columns; /* 1 .. 12, 1 .. 64 */
    bool accumulate;
    bool finish; /* apply the epilogue below */
    const float *bias_n;           /* at column 0 of the tile, or NULL */
    const float *bias_m;           /* at row 0 of the tile, or NULL */
    const float *const *residual;  /* a pointer to column 0 of each row, or NULL */
    bool clamp;
    float lo, hi;
} hkk_gemm_tile;

/** Computes one tile. */
void HKK_NAME(hkk_gemm_tile_run)(const hkk_gemm_tile *tile);

#endif
