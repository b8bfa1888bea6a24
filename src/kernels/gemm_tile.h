/* The innermost product, shared by the matrix product and the convolutions of one ISA: up to 12 rows times up to 64 columns.
 * Include after a lanes header. */
#ifndef HKI_KERNELS_GEMM_TILE_H
#define HKI_KERNELS_GEMM_TILE_H

#include "kernels/gemm.h"

#define HKK_TILE_ROWS    12
#define HKK_TILE_COLUMNS 64

/** A tile. k runs over `taps` x K elements: A of tap t, row i, element k is a[t * a_tap + i][k * a_step]; a row of B follows
 * the other at b_step through all taps. */
typedef struct hkk_gemm_tile {
    const float *const *a; /* row pointers */
    int64_t a_tap;         /* row pointers per tap */
    int64_t a_step;
    int64_t taps, K;
    const float *b;  /* columns 0 .. 31 of row k at b[k * b_step], */
    int64_t b_step;
    int64_t b_panel; /* columns 32 .. 63 at b[b_panel + k * b_step]; 32 floats are readable, 16 if 16 columns or fewer are asked */
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
