/* The innermost product over lanes. Contract: kernels/gemm_tile.h.
 *
 * Accumulators stay in registers for the whole sum. AVX-512 holds 6 rows x 4 vectors (fewest instructions per FMA: one
 * broadcast serves four) or 12 x 2 at a narrow edge; AVX2 6 rows x 16 columns; C the same as AVX2. */
#include "kernels/gemm_tile.h"

#if defined(HKK_ISA_AVX512)
#define HKK_TILE_VECTORS 4
#else
#define HKK_TILE_VECTORS 1
#endif

/* R rows from `row` on, V vectors from vector `first` on; R and V are constants at every call, so all loops unroll. */
HKK_INLINE void HKK_NAME(tile_body)(const hkk_gemm_tile *t, int row, int first, const int R, const int V)
{
    hkk_f32x16 sum[12][4];
    int last_columns = t->columns - 16 * (first + V - 1); /* of the last vector */
#pragma GCC unroll 12
    for (int i = 0; i < R; i++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) {
            const float *c = t->c[row + i] + 16 * (first + v);
            sum[i][v] = !t->accumulate ? hkk_zero() : v < V - 1 || last_columns >= 16 ? hkk_load(c) : hkk_load_n(c, last_columns);
        }
    int64_t step = t->a_step, b_step = t->b_step;
    const float *b = t->b + (first < 2 ? 16 * first : t->b_panel + 16 * (first - 2));
    const float *a[12];
#pragma GCC unroll 12
    for (int i = 0; i < R; i++)
        a[i] = t->a[row + i];
    for (int64_t tap = 0; tap < t->taps; tap++) {
        int64_t index = t->a_tap[tap] + t->a_offset;
        const float *left = b + t->b_tap[tap];
        const float *right = left + t->b_panel; /* of vectors 2 and 3 */
        for (int64_t k = t->K; k > 0; k--) {
            /* Hides the index, so that the compiler addresses [row + index] and does not advance every row pointer. */
            __asm__("" : "+r"(index));
            hkk_f32x16 y[4];
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
                y[v] = hkk_load((v < 2 ? left : right) + 16 * (v & 1));
#pragma GCC unroll 12
            for (int i = 0; i < R; i++) {
                hkk_f32x16 x = hkk_set1(a[i][index]);
#pragma GCC unroll 4
                for (int v = 0; v < V; v++)
                    sum[i][v] = hkk_fma(x, y[v], sum[i][v]);
            }
            index += step;
            left += b_step;
            if (V > 2)
                right += b_step;
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < R; i++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) {
            float *c = t->c[row + i] + 16 * (first + v);
            if (v < V - 1 || last_columns >= 16)
                hkk_store(c, sum[i][v]);
            else
                hkk_store_n(c, sum[i][v], last_columns);
        }
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
HKK_TILE_FNS_12(2)
HKK_TILE_FNS_6(3)
HKK_TILE_FNS_6(4)
/* [vectors - 1][rows - 1] */
static tile_fn *const tile_fns[4][12] = {{HKK_TILE_NAMES_6(1), HKK_TILE_NAMES_12(1)},
                                         {HKK_TILE_NAMES_6(2), HKK_TILE_NAMES_12(2)},
                                         {HKK_TILE_NAMES_6(3)},
                                         {HKK_TILE_NAMES_6(4)}};
#else
static tile_fn *const tile_fns[1][6] = {{HKK_TILE_NAMES_6(1)}};
#endif

/* The epilogue over the finished tile, which is still in the first-level cache. */
static void HKK_NAME(tile_finish)(const hkk_gemm_tile *t)
{
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->columns; j += 16) {
            int n = t->columns - j < 16 ? t->columns - j : 16;
            float *c = t->c[i] + j;
            hkk_f32x16 x = n == 16 ? hkk_load(c) : hkk_load_n(c, n);
            if (t->bias_n)
                x = hkk_add(x, n == 16 ? hkk_load(t->bias_n + j) : hkk_load_n(t->bias_n + j, n));
            if (t->bias_m)
                x = hkk_add(x, hkk_set1(t->bias_m[i]));
            if (t->residual)
                x = hkk_add(x, n == 16 ? hkk_load(t->residual[i] + j) : hkk_load_n(t->residual[i] + j, n));
            if (t->clamp)
                x = hkk_min(hkk_set1(t->hi), hkk_max(hkk_set1(t->lo), x));
            if (n == 16)
                hkk_store(c, x);
            else
                hkk_store_n(c, x, n);
        }
}

void HKK_NAME(hkk_gemm_tile_run)(const hkk_gemm_tile *t)
{
    int vectors = (t->columns + 15) / 16;
    for (int first = 0; first < vectors; first += HKK_TILE_VECTORS) {
        int V = vectors - first < HKK_TILE_VECTORS ? vectors - first : HKK_TILE_VECTORS;
        int rows = HKK_TILE_VECTORS == 4 && V <= 2 ? 12 : 6;
        for (int row = 0; row < t->rows; row += rows)
            tile_fns[V - 1][(t->rows - row < rows ? t->rows - row : rows) - 1](t, row, first);
    }
    if (t->finish && (t->bias_n || t->bias_m || t->residual || t->clamp))
        HKK_NAME(tile_finish)(t);
}
