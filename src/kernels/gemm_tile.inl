/* The innermost product over lanes. Contract: kernels/gemm_tile.h.
 *
 * Sums stay in registers from the first k to the epilogue. AVX-512 holds 6 rows x 4 vectors (fewest instructions per
 * FMA: one broadcast serves four), 6 x 3 or 6 x 2 at an edge and 12 x 1 at a narrow one; AVX2 and C hold 6 rows x 16
 * columns. Six row pointers fit into registers, twelve do not: 12 x 2 ran at 81 % of the peak where 6 x 2 has 96 %. */
#include "kernels/gemm_tile.h"

#if defined(HKK_ISA_AVX512)
#define HKK_TILE_VECTORS 4
#else
#define HKK_TILE_VECTORS 1
#endif

/* Loads or stores vector v of V; the last one may have fewer columns than 16. */
#define HKK_TILE_LOAD(p, v)     ((v) < V - 1 || whole ? hkk_load(p) : hkk_load_n(p, last_columns))
#define HKK_TILE_EACH_ROW       _Pragma("GCC unroll 12") for (int i = 0; i < R; i++)
#define HKK_TILE_EACH_VECTOR    _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)

/* The epilogue, on the sums in registers; each step is rounded by itself. */
HKK_INLINE void HKK_NAME(tile_finish)(hkk_f32x16 sum[12][4], const hkk_gemm_tile *t, int row, int column, const int R,
                                      const int V, int last_columns)
{
    bool whole = last_columns >= 16;
    if (t->bias_n) {
        HKK_TILE_EACH_VECTOR
        {
            hkk_f32x16 bias = HKK_TILE_LOAD(t->bias_n + column + 16 * v, v);
            HKK_TILE_EACH_ROW sum[i][v] = hkk_add(sum[i][v], bias);
        }
    }
    if (t->bias_m) {
        HKK_TILE_EACH_ROW
        {
            hkk_f32x16 bias = hkk_set1(t->bias_m[row + i]);
            HKK_TILE_EACH_VECTOR sum[i][v] = hkk_add(sum[i][v], bias);
        }
    }
    if (t->residual) {
        HKK_TILE_EACH_ROW
        {
            const float *residual = t->residual[row + i] + column;
            HKK_TILE_EACH_VECTOR sum[i][v] = hkk_add(sum[i][v], HKK_TILE_LOAD(residual + 16 * v, v));
        }
    }
    if (t->clamp) {
        hkk_f32x16 lo = hkk_set1(t->lo), hi = hkk_set1(t->hi);
        HKK_TILE_EACH_ROW
        {
            HKK_TILE_EACH_VECTOR sum[i][v] = hkk_min(hi, hkk_max(lo, sum[i][v]));
        }
    }
}

HKK_INLINE void HKK_NAME(tile_store)(hkk_f32x16 sum[12][4], float *const *to, int column, const int R, const int V,
                                     int last_columns)
{
    if (last_columns >= 16) {
        HKK_TILE_EACH_ROW
        {
            float *c = to[i] + column;
            HKK_TILE_EACH_VECTOR hkk_store(c + 16 * v, sum[i][v]);
        }
        return;
    }
    HKK_TILE_EACH_ROW
    {
        float *c = to[i] + column;
        HKK_TILE_EACH_VECTOR
        {
            if (v < V - 1)
                hkk_store(c + 16 * v, sum[i][v]);
            else
                hkk_store_n(c + 16 * v, sum[i][v], last_columns);
        }
    }
}

/* R rows from `row` on, V vectors from vector `first` on; R and V are constants at every call, so all loops unroll. */
HKK_INLINE void HKK_NAME(tile_body)(const hkk_gemm_tile *t, int row, int first, const int R, const int V)
{
    hkk_f32x16 sum[12][4];
    int column = 16 * first, last_columns = t->columns - column - 16 * (V - 1);
    bool whole = last_columns >= 16;
    if (t->accumulate) {
        HKK_TILE_EACH_ROW
        {
            const float *c = t->c[row + i] + column;
            HKK_TILE_EACH_VECTOR sum[i][v] = HKK_TILE_LOAD(c + 16 * v, v);
        }
    } else {
        HKK_TILE_EACH_ROW
        {
            HKK_TILE_EACH_VECTOR sum[i][v] = hkk_zero();
        }
    }
    int64_t step = t->a_step, b_step = t->b_step;
    const float *b = t->b + (first < 2 ? column : t->b_panel + column - HKK_PANEL);
    const float *a[12];
    HKK_TILE_EACH_ROW a[i] = t->a[row + i];
    for (int64_t tap = 0; tap < t->taps; tap++) {
        int64_t index = t->a_tap[tap] + t->a_offset;
        const float *left = b + t->b_tap[tap];
        const float *right = left + t->b_panel; /* of vectors 2 and 3 */
        for (int64_t k = t->K; k > 0; k--) {
            /* Hides the index, so that the compiler addresses [row + index] and does not advance every row pointer. */
            __asm__("" : "+r"(index));
            hkk_f32x16 y[4];
            HKK_TILE_EACH_VECTOR y[v] = hkk_load((v < 2 ? left : right) + 16 * (v & 1));
            HKK_TILE_EACH_ROW
            {
                hkk_f32x16 x = hkk_set1(a[i][index]);
                HKK_TILE_EACH_VECTOR sum[i][v] = hkk_fma(x, y[v], sum[i][v]);
            }
            index += step;
            left += b_step;
            if (V > 2)
                right += b_step;
        }
    }
    if (t->finish)
        HKK_NAME(tile_finish)(sum, t, row, column, R, V, last_columns);
    HKK_NAME(tile_store)(sum, t->c + row, column, R, V, last_columns);
}

#define HKK_TILE_FN(R, V)                                                                       \
    static void HKK_NAME(tile_##R##_##V)(const hkk_gemm_tile *t, int row, int first)            \
    {                                                                                           \
        HKK_NAME(tile_body)(t, row, first, R, V);                                               \
    }
#define HKK_TILE_FNS_6(V) \
    HKK_TILE_FN(1, V) HKK_TILE_FN(2, V) HKK_TILE_FN(3, V) HKK_TILE_FN(4, V) HKK_TILE_FN(5, V) HKK_TILE_FN(6, V)
#define HKK_TILE_FNS_12(V) \
    HKK_TILE_FN(7, V) HKK_TILE_FN(8, V) HKK_TILE_FN(9, V) HKK_TILE_FN(10, V) HKK_TILE_FN(11, V) HKK_TILE_FN(12, V)
#define HKK_TILE_NAMES_6(V) \
    HKK_NAME(tile_1_##V), HKK_NAME(tile_2_##V), HKK_NAME(tile_3_##V), HKK_NAME(tile_4_##V), HKK_NAME(tile_5_##V), \
        HKK_NAME(tile_6_##V)
#define HKK_TILE_NAMES_12(V) \
    HKK_NAME(tile_7_##V), HKK_NAME(tile_8_##V), HKK_NAME(tile_9_##V), HKK_NAME(tile_10_##V), HKK_NAME(tile_11_##V), \
        HKK_NAME(tile_12_##V)

typedef void tile_fn(const hkk_gemm_tile *t, int row, int first);

HKK_TILE_FNS_6(1)
#if HKK_TILE_VECTORS == 4
HKK_TILE_FNS_12(1)
HKK_TILE_FNS_6(2)
HKK_TILE_FNS_6(3)
HKK_TILE_FNS_6(4)
/* [vectors - 1][rows - 1] */
static tile_fn *const tile_fns[4][12] = {
    {HKK_TILE_NAMES_6(1), HKK_TILE_NAMES_12(1)}, {HKK_TILE_NAMES_6(2)}, {HKK_TILE_NAMES_6(3)}, {HKK_TILE_NAMES_6(4)}};
#else
static tile_fn *const tile_fns[1][6] = {{HKK_TILE_NAMES_6(1)}};
#endif

void HKK_NAME(hkk_gemm_tile_run)(const hkk_gemm_tile *t)
{
    int vectors = (t->columns + 15) / 16;
    for (int first = 0; first < vectors; first += HKK_TILE_VECTORS) {
        int V = vectors - first < HKK_TILE_VECTORS ? vectors - first : HKK_TILE_VECTORS;
        int rows = HKK_TILE_VECTORS == 4 && V <= 1 ? 12 : 6;
        for (int row = 0; row < t->rows; row += rows)
            tile_fns[V - 1][(t->rows - row < rows ? t->rows - row : rows) - 1](t, row, first);
    }
}
