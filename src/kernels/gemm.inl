/* The matrix product over tiles; compiled once per ISA. Contract: kernels/gemm.h. */
#include "kernels/gemm_tile.inl"

static int64_t minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns B's columns from `column` on and sets its strides. A last, narrow piece of an unpacked B is copied, as tiles
 * read whole vectors. */
static const float *HKK_NAME(point_b)(hkk_gemm_tile *t, const hkk_gemm *g, float *copy, int64_t column, int64_t k_begin)
{
    if (!g->b_unpacked) {
        t->b_step = HKK_PANEL;
        t->b_panel = g->K * HKK_PANEL;
        return g->b + (column / HKK_PANEL * g->K + k_begin) * HKK_PANEL + column % HKK_PANEL;
    }
    const float *b = g->b + k_begin * g->b_ld + column;
    t->b_step = g->b_ld;
    t->b_panel = HKK_PANEL;
    if (t->columns % 16 == 0)
        return b;
    int whole = (t->columns + 15) / 16 * 16;
    for (int64_t k = 0; k < t->K; k++) {
        memcpy(copy + k * HKK_TILE_COLUMNS, b + k * g->b_ld, (size_t)t->columns * sizeof(float));
        memset(copy + k * HKK_TILE_COLUMNS + t->columns, 0, (size_t)(whole - t->columns) * sizeof(float));
    }
    t->b_step = HKK_TILE_COLUMNS;
    return copy;
}

/* All row tiles of a block, while their part of B stays in the first-level cache (AVX2) or second-level cache, against
 * columns column .. column + t->columns - 1. */
static void HKK_NAME(run_columns)(hkk_gemm_tile *t, const hkk_gemm *g, int64_t row_begin, int64_t rows, int64_t column,
                                  int64_t k_begin)
{
    const float *a[HKK_TILE_ROWS], *residual[HKK_TILE_ROWS];
    float *c[HKK_TILE_ROWS];
    t->a = a;
    t->c = c;
    t->bias_n = g->epilogue.bias_n ? g->epilogue.bias_n + column : NULL;
    t->residual = g->epilogue.residual ? residual : NULL;
    for (int64_t row = 0; row < rows; row += HKK_TILE_ROWS) {
        t->rows = (int)minimum(rows - row, HKK_TILE_ROWS);
        for (int i = 0; i < t->rows; i++) {
            a[i] = g->a + (row_begin + row + i) * g->a_row + k_begin * g->a_step;
            c[i] = g->c + (row_begin + row + i) * g->c_ld + column;
            if (t->residual)
                residual[i] = g->epilogue.residual + (row_begin + row + i) * g->epilogue.residual_ld + column;
        }
        t->bias_m = g->epilogue.bias_m ? g->epilogue.bias_m + row_begin + row : NULL;
        HKK_NAME(hkk_gemm_tile_run)(t);
    }
}

static void HKK_NAME(hkk_gemm_run_block)(const hkk_gemm *g, int64_t block, float *scratch)
{
    int64_t row_blocks = (g->M + g->block_rows - 1) / g->block_rows;
    int64_t row_begin = block % row_blocks * g->block_rows, rows = minimum(g->M - row_begin, g->block_rows);
    int64_t begin = block / row_blocks * g->block_columns, end = minimum(g->N, begin + g->block_columns);
    static const int64_t whole = 0;
    hkk_gemm_tile t = {.taps = 1,
                       .a_step = g->a_step,
                       .a_tap = &whole,
                       .b_tap = &whole,
                       .clamp = g->epilogue.clamp,
                       .lo = g->epilogue.lo,
                       .hi = g->epilogue.hi};
    int64_t k = 0;
    do { /* once also for K = 0, which gives the epilogue of 0 */
        t.K = minimum(g->K - k, g->block_k);
        t.accumulate = k > 0 || g->accumulate;
        t.finish = k + t.K == g->K;
        for (int64_t column = begin; column < end; column += 16 * HKK_TILE_VECTORS) {
            t.columns = (int)minimum(end - column, 16 * HKK_TILE_VECTORS);
            t.b = HKK_NAME(point_b)(&t, g, scratch, column, k);
            HKK_NAME(run_columns)(&t, g, row_begin, rows, column, k);
        }
        k += t.K;
    } while (k < g->K);
}

#if defined(HKK_ISA_AVX2) || defined(HKK_ISA_AVX512)
/* out[i * HKK_PANEL + j] = in[j * stride + i] for 8 x 8 elements. */
static inline void HKK_NAME(transpose_8x8)(float *out, const float *in, int64_t stride)
{
    __m256 a[8], b[8];
    for (int j = 0; j < 8; j++)
        a[j] = _mm256_loadu_ps(in + j * stride);
    for (int j = 0; j < 8; j += 2) {
        b[j] = _mm256_unpacklo_ps(a[j], a[j + 1]);
        b[j + 1] = _mm256_unpackhi_ps(a[j], a[j + 1]);
    }
    for (int j = 0; j < 8; j += 4) {
        a[j] = _mm256_shuffle_ps(b[j], b[j + 2], 0x44);
        a[j + 1] = _mm256_shuffle_ps(b[j], b[j + 2], 0xEE);
        a[j + 2] = _mm256_shuffle_ps(b[j + 1], b[j + 3], 0x44);
        a[j + 3] = _mm256_shuffle_ps(b[j + 1], b[j + 3], 0xEE);
    }
    for (int j = 0; j < 4; j++) {
        _mm256_storeu_ps(out + j * HKK_PANEL, _mm256_permute2f128_ps(a[j], a[j + 4], 0x20));
        _mm256_storeu_ps(out + (j + 4) * HKK_PANEL, _mm256_permute2f128_ps(a[j], a[j + 4], 0x31));
    }
}
#else
static inline void HKK_NAME(transpose_8x8)(float *out, const float *in, int64_t stride)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            out[i * HKK_PANEL + j] = in[j * stride + i];
}
#endif

/* One panel from a B whose columns are contiguous in k (b_row 1): 16 rows of k at a time, so that both sides stay in
 * cache. */
static void HKK_NAME(pack_transposed)(float *out, const float *b, int64_t b_column, int64_t K, int columns)
{
    int whole = columns / 8 * 8;
    for (int64_t k = 0; k < K; k += 16) {
        int rows = (int)minimum(16, K - k), n = 0;
        for (; rows == 16 && n < whole; n += 8) {
            HKK_NAME(transpose_8x8)(out + k * HKK_PANEL + n, b + n * b_column + k, b_column);
            HKK_NAME(transpose_8x8)(out + (k + 8) * HKK_PANEL + n, b + n * b_column + k + 8, b_column);
        }
        for (; n < columns; n++)
            for (int i = 0; i < rows; i++)
                out[(k + i) * HKK_PANEL + n] = b[n * b_column + k + i];
    }
}

static void HKK_NAME(hkk_gemm_pack)(float *packed, const float *b, int64_t b_row, int64_t b_column, int64_t K,
                                    int64_t N, int64_t panel_begin, int64_t panel_end)
{
    for (int64_t panel = panel_begin; panel < panel_end; panel++) {
        float *out = packed + panel * HKK_PANEL * K;
        const float *from = b + panel * HKK_PANEL * b_column;
        int columns = (int)minimum(HKK_PANEL, N - panel * HKK_PANEL);
        if (columns < HKK_PANEL && K > 0) /* without K there may be no memory */
            memset(out, 0, (size_t)(K * HKK_PANEL) * sizeof(float));
        if (b_row == 1 && b_column != 1) {
            HKK_NAME(pack_transposed)(out, from, b_column, K, columns);
            continue;
        }
        for (int64_t k = 0; k < K; k++, out += HKK_PANEL, from += b_row) {
            if (b_column == 1 && columns == HKK_PANEL) {
                memcpy(out, from, HKK_PANEL * sizeof(float));
            } else {
                for (int n = 0; n < columns; n++)
                    out[n] = from[n * b_column];
            }
        }
    }
}

const hkk_gemm_kernels HKK_NAME(hkk_gemm) = {
    .run_block = HKK_NAME(hkk_gemm_run_block),
    .pack = HKK_NAME(hkk_gemm_pack),
};
