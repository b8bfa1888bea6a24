/* Convolution as an implicit matrix product: forward and backward data. Contract: kernels/convolution.h.
 *
 * A row of the implicit matrix is one pixel of the result, its columns are (tap, channel). It is never built: per pixel and
 * tap a pointer leads to the channels of the source pixel, or to zeros in the padding, and tiles run over the taps with
 * their sums in registers. Only with very few channels are the rows gathered in scratch. */
#include "kernels/convolution_layout.h"
#include "kernels/gemm_tile.h"

#define HKK_PIECE 384 /* of k between visits to C, as in the matrix product */

/* The implicit matrix of one block. */
typedef struct implicit {
    const hkk_convolution_pass *pass;
    int64_t grid[3], begin[3];     /* pixels of the phase; the first one's place in `to` */
    int64_t to_size[3], to_step[3];
    int64_t from_size[3], from_step[3];
    int64_t from_channels, to_channels;
    int64_t k, n;                  /* channels of a group, in and out */
    int64_t taps;                  /* of the phase, at most those of the shape */
    int64_t pixels;                /* in this block */
    const float *zeros;            /* from_channels */
    const float **rows;            /* [strips][taps][12] */
    float **to;                    /* [pixels] */
    int64_t (*offset)[4];          /* [taps]: source place relative to from_step * position; index of the tap in the weights */
    const float **b;               /* [taps] */
    float *gathered;               /* [strips][taps * k][12], or NULL */
} implicit;

/* Lists the taps of a phase: those whose source lies on the grid of `from`. */
static void HKK_NAME(list_taps)(implicit *m)
{
    const hkk_convolution *s = m->pass->shape;
    m->taps = 0;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        int64_t at[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};
        int64_t *offset = m->offset[m->taps];
        bool reached = true;
        for (int d = 0; d < 3; d++) {
            if (m->pass->direction == HKK_CONVOLUTION_FORWARD) {
                offset[d] = at[d] * s->dilation[d] - s->pad[d];
            } else {
                int64_t distance = m->begin[d] + s->pad[d] - at[d] * s->dilation[d];
                reached &= distance % s->stride[d] == 0;
                offset[d] = distance / s->stride[d];
            }
        }
        offset[3] = tap;
        m->taps += reached;
    }
}

/* Row pointers of one strip of up to 12 pixels: base is the address of position + (0, 0, 0), which may lie outside. */
static void HKK_NAME(fill_strip)(const implicit *m, const float **rows, const int64_t place[3][12], const int64_t base[12])
{
    uint64_t D = (uint64_t)m->from_size[0], H = (uint64_t)m->from_size[1], W = (uint64_t)m->from_size[2];
    const float *from = m->pass->from;
    int64_t zeros = (int64_t)((intptr_t)m->zeros - (intptr_t)from);
    for (int64_t tap = 0; tap < m->taps; tap++, rows += 12) {
        const int64_t *o = m->offset[tap];
        int64_t shift = ((o[0] * m->from_size[1] + o[1]) * m->from_size[2] + o[2]) * m->from_channels * (int64_t)sizeof(float);
        for (int i = 0; i < 12; i++) {
            bool inside = ((uint64_t)(place[0][i] + o[0]) < D) & ((uint64_t)(place[1][i] + o[1]) < H) & ((uint64_t)(place[2][i] + o[2]) < W);
            int64_t distance = inside ? base[i] + shift : zeros;
            rows[i] = (const float *)((intptr_t)from + distance);
        }
    }
}

/* Fills the pointer tables for the block's pixels, the first of which is pixel `first` of the phase. */
static void HKK_NAME(fill_rows)(const implicit *m, int64_t first)
{
    int64_t w = first % m->grid[2], h = first / m->grid[2] % m->grid[1], d = first / (m->grid[2] * m->grid[1]) % m->grid[0],
            sample = first / (m->grid[2] * m->grid[1] * m->grid[0]);
    for (int64_t strip = 0; strip < m->pixels; strip += 12) {
        int64_t place[3][12], base[12];
        for (int i = 0; i < 12; i++) {
            if (strip + i < m->pixels) {
                int64_t to_place = ((sample * m->to_size[0] + m->begin[0] + d * m->to_step[0]) * m->to_size[1] + m->begin[1] + h * m->to_step[1]) *
                                       m->to_size[2] + m->begin[2] + w * m->to_step[2];
                m->to[strip + i] = m->pass->to + to_place * m->to_channels;
            }
            place[0][i] = d * m->from_step[0];
            place[1][i] = h * m->from_step[1];
            place[2][i] = w * m->from_step[2];
            base[i] = (((sample * m->from_size[0] + place[0][i]) * m->from_size[1] + place[1][i]) * m->from_size[2] + place[2][i]) *
                      m->from_channels * (int64_t)sizeof(float);
            if (strip + i + 1 < m->pixels && ++w == m->grid[2]) { /* rows beyond the last pixel repeat it and are not used */
                w = 0;
                if (++h == m->grid[1]) {
                    h = 0;
                    if (++d == m->grid[0]) {
                        d = 0;
                        sample++;
                    }
                }
            }
        }
        HKK_NAME(fill_strip)(m, m->rows + strip * m->taps, place, base);
    }
}

/* Builds the rows of a group with few channels: [strip][tap, channel][12]. */
static void HKK_NAME(gather)(const implicit *m, int64_t group)
{
    float *out = m->gathered;
    for (int64_t strip = 0; strip < m->pixels; strip += 12) {
        const float **rows = m->rows + strip * m->taps;
        for (int64_t tap = 0; tap < m->taps; tap++, rows += 12, out += 12 * m->k)
            for (int i = 0; i < 12; i++)
                for (int64_t c = 0; c < m->k; c++)
                    out[c * 12 + i] = rows[i][group * m->k + c];
    }
}

/* Runs all strips of the block for one piece of k: taps tap .. tap + t->taps - 1, channels from t->a_offset on. */
static void HKK_NAME(run_strips)(const implicit *m, hkk_gemm_tile *t, int64_t to_channel, int64_t tap)
{
    const hkk_convolution_pass *p = m->pass;
    const float *residual[12], *gathered[12];
    float *c[12];
    t->c = c;
    t->residual = p->epilogue.residual ? residual : NULL;
    t->bias_n = p->epilogue.bias_n ? p->epilogue.bias_n + to_channel : NULL;
    for (int64_t strip = 0; strip < m->pixels; strip += 12) {
        t->rows = (int)hkk_minimum(m->pixels - strip, 12);
        for (int i = 0; i < t->rows; i++) {
            c[i] = m->to[strip + i] + to_channel;
            if (t->residual)
                residual[i] = p->epilogue.residual + (c[i] - p->to);
        }
        t->a = m->rows + (strip * m->taps + tap * 12);
        if (m->gathered) {
            for (int i = 0; i < 12; i++)
                gathered[i] = m->gathered + strip * m->taps * m->k + i;
            t->a = gathered;
        }
        HKK_NAME(hkk_gemm_tile_run)(t);
    }
}

/* One column tile over all of k, in pieces whose part of the weights stays in the second-level cache. */
static void HKK_NAME(run_tile_columns)(const implicit *m, int64_t group, int64_t column)
{
    const hkk_convolution_pass *p = m->pass;
    int64_t k_all = p->shape->taps * m->k;
    const float *panel = p->weights + (group * hkk_ceil_div(m->n, HKK_PANEL) * HKK_PANEL + column) * k_all;
    hkk_gemm_tile t = {.a_tap = 12, .a_step = 1, .b = m->b, .b_step = HKK_PANEL, .b_panel = k_all * HKK_PANEL, .clamp = p->epilogue.clamp,
                       .lo = p->epilogue.lo, .hi = p->epilogue.hi, .columns = (int)hkk_minimum(m->n - column, HKK_TILE_COLUMNS)};
    int64_t to_channel = group * m->n + column;
    if (m->gathered) {
        m->b[0] = panel;
        t.taps = 1;
        t.K = k_all;
        t.a_step = 12;
        t.finish = true;
        HKK_NAME(run_strips)(m, &t, to_channel, 0);
        return;
    }
    int64_t channels = hkk_ceil_div(m->k, hkk_ceil_div(m->k, HKK_PIECE)), taps = HKK_PIECE / m->k > 1 ? HKK_PIECE / m->k : 1;
    int64_t tap = 0;
    do { /* once also without taps: the epilogue of 0 */
        t.taps = hkk_minimum(taps, m->taps - tap);
        for (int64_t c = 0; c < m->k; c += channels) {
            t.K = hkk_minimum(channels, m->k - c);
            t.a_offset = group * m->k + c;
            t.accumulate = tap > 0 || c > 0;
            t.finish = tap + t.taps == m->taps && c + t.K == m->k;
            for (int64_t i = 0; i < t.taps; i++)
                m->b[i] = panel + (m->offset[tap + i][3] * m->k + c) * HKK_PANEL;
            HKK_NAME(run_strips)(m, &t, to_channel, tap);
        }
        tap += t.taps;
    } while (tap < m->taps);
}

/* Sets up the implicit matrix of a phase; scratch as the plan counted it. */
static void HKK_NAME(prepare_implicit)(implicit *m, float *scratch)
{
    const hkk_convolution_pass *p = m->pass;
    const hkk_convolution *s = p->shape;
    bool forward = p->direction == HKK_CONVOLUTION_FORWARD;
    m->from_channels = forward ? s->C : s->M;
    m->to_channels = forward ? s->M : s->C;
    m->k = hkk_pass_k(s, p->direction);
    m->n = hkk_pass_n(s, p->direction);
    for (int d = 0; d < 3; d++) {
        m->to_size[d] = forward ? s->out[d] : s->in[d];
        m->from_size[d] = forward ? s->in[d] : s->out[d];
        m->to_step[d] = forward ? 1 : s->stride[d];
        m->from_step[d] = forward ? s->stride[d] : 1;
    }
    float *zeros = hkk_take(&scratch, m->from_channels);
    memset(zeros, 0, (size_t)m->from_channels * sizeof(float));
    m->zeros = zeros;
    m->rows = hkk_take_words(&scratch, p->block_pixels * s->taps);
    m->to = hkk_take_words(&scratch, p->block_pixels);
    m->offset = hkk_take_words(&scratch, 4 * s->taps);
    m->b = hkk_take_words(&scratch, s->taps);
    m->gathered = p->gather ? hkk_take(&scratch, p->block_pixels * s->taps * m->k) : NULL;
    HKK_NAME(list_taps)(m);
}

static void HKK_NAME(hkk_depthwise_run_block)(const hkk_convolution_pass *p, int64_t block, float *scratch);

static void HKK_NAME(hkk_convolution_run_block)(const hkk_convolution_pass *p, int64_t block, float *scratch)
{
    const hkk_convolution *s = p->shape;
    if (s->depthwise) {
        HKK_NAME(hkk_depthwise_run_block)(p, block, scratch);
        return;
    }
    int64_t group_tiles = hkk_ceil_div(hkk_pass_n(s, p->direction), HKK_TILE_COLUMNS), tiles = s->groups * group_tiles;
    int64_t column_blocks = hkk_ceil_div(tiles, p->block_columns), phase = 0, pixels, pixel_blocks;
    implicit m = {.pass = p};
    for (;; phase++) {
        pixels = hkk_pass_grid(m.grid, m.begin, s, p->direction, phase);
        pixel_blocks = hkk_ceil_div(pixels, p->block_pixels);
        if (block < pixel_blocks * column_blocks)
            break;
        block -= pixel_blocks * column_blocks;
    }
    int64_t first = block % pixel_blocks * p->block_pixels, tile = block / pixel_blocks * p->block_columns, last_group = -1;
    m.pixels = hkk_minimum(pixels - first, p->block_pixels);
    HKK_NAME(prepare_implicit)(&m, scratch);
    HKK_NAME(fill_rows)(&m, first);
    for (int64_t end = hkk_minimum(tiles, tile + p->block_columns); tile < end; tile++) {
        if (m.gathered && tile / group_tiles != last_group)
            HKK_NAME(gather)(&m, tile / group_tiles);
        last_group = tile / group_tiles;
        HKK_NAME(run_tile_columns)(&m, tile / group_tiles, tile % group_tiles * HKK_TILE_COLUMNS);
    }
}

static void HKK_NAME(hkk_convolution_pack)(float *packed, const float *w, const hkk_convolution *s, hkk_convolution_direction direction,
                                           int64_t block)
{
    if (s->depthwise) { /* [tap][channel] */
        for (int64_t c = 64 * block; c < hkk_minimum(s->C, 64 * block + 64); c++)
            for (int64_t tap = 0; tap < s->taps; tap++)
                packed[tap * s->C + c] = w[c * s->taps + tap];
        return;
    }
    /* Panels of [tap, k][32 columns]; w[m, c, tap] has strides group_c * taps, taps, 1 */
    bool forward = direction == HKK_CONVOLUTION_FORWARD;
    int64_t k = hkk_pass_k(s, direction), n = hkk_pass_n(s, direction), panels = hkk_ceil_div(n, HKK_PANEL);
    int64_t group = block / panels, column = block % panels * HKK_PANEL, columns = hkk_minimum(n - column, HKK_PANEL);
    int64_t k_stride = forward ? s->taps : s->group_c * s->taps, n_stride = forward ? s->group_c * s->taps : s->taps;
    float *out = packed + (group * panels * HKK_PANEL + column) * s->taps * k;
    const float *from = w + group * s->group_m * s->group_c * s->taps + column * n_stride;
    if (columns < HKK_PANEL)
        memset(out, 0, (size_t)(HKK_PANEL * s->taps * k) * sizeof(float));
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < columns; j++) {
            const float *taps = from + i * k_stride + j * n_stride;
            for (int64_t tap = 0; tap < s->taps; tap++)
                out[(tap * k + i) * HKK_PANEL + j] = taps[tap];
        }
}

#include "kernels/convolution_depthwise.inl"
#include "kernels/convolution_weights.inl"

const hkk_convolution_kernels HKK_NAME(hkk_convolution) = {
    .pack = HKK_NAME(hkk_convolution_pack),
    .run_block = HKK_NAME(hkk_convolution_run_block),
    .weights_block = HKK_NAME(hkk_convolution_weights_block),
    .weights_finish = HKK_NAME(hkk_convolution_weights_finish),
};
