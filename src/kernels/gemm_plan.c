/* How a matrix product is cut: by its sizes and strides alone, the same for every ISA and number of threads. */
#include "kernels/gemm.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t hkk_gemm_packed_size(int64_t K, int64_t N)
{
    return K * ceil_div(N, HKK_PANEL) * HKK_PANEL;
}

void hkk_gemm_plan(hkk_gemm *g)
{
    /* A block of A (120 x 384 floats, 180 KB) and two panels of B (96 KB) stay in the second-level cache. */
    const int64_t max_rows = 120, max_k = 384;
    int64_t row_blocks = g->M > 0 ? ceil_div(g->M, max_rows) : 1;
    g->block_rows = ceil_div(ceil_div(g->M > 0 ? g->M : 1, row_blocks), 12) * 12;
    int64_t k_pieces = g->K > 0 ? ceil_div(g->K, max_k) : 1;
    g->block_k = ceil_div(g->K > 0 ? g->K : 1, k_pieces);
    /* Wide blocks reuse A, narrow ones leave enough of them to share out. */
    g->block_columns = 256;
    while (g->block_columns > 64 && row_blocks * ceil_div(g->N, g->block_columns) < 16)
        g->block_columns /= 2;
    g->blocks = g->M > 0 ? row_blocks * ceil_div(g->N, g->block_columns) : 0;
    /* A is read in place, also across its rows: copying a transposed A cost 12 % on Zen 4. */
    g->scratch = g->b_unpacked ? g->block_k * 64 : 0;
}
