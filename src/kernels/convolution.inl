/* Convolution as an implicit matrix product: forward and backward data. Contract: kernels/convolution.h.
 *
 * A row of the implicit matrix is one pixel of the result, its columns are (tap, channel). It is never built: a tile
 * holds the sums of 12 pixels in registers and walks over the taps; the source of pixel i under tap t is row[i] +
 * shift[t]. That works because the pixels of a strip all belong to one region, where the same taps stay inside. */
#include "kernels/convolution_layout.h"
#include "kernels/gemm_tile.h"

#define HKK_PIECE 384 /* of k between visits to C, as in the matrix product */

/* Up to 12 pixels of the result. */
typedef struct pixel_strip {
    const float **row; /* [12]: source under the first tap, channel 0 */
    float **to;        /* [12] */
    int pixels;
    int64_t taps;
    int64_t merged; /* neighbouring taps of the kernel in each entry of the lists */
    int64_t *shift; /* [taps]: source of a tap, in floats from the first */
    int64_t *tap;   /* [taps]: number of the tap in the kernel, ascending */
    int64_t done;   /* taps of earlier pieces */
} pixel_strip;

/* The implicit matrix of one block. */
typedef struct implicit {
    const hkk_convolution_pass *pass;
    int64_t k, n; /* channels of a group, in and out */
    int64_t from_channels, to_channels;
    bool merges;    /* taps of a kernel row lie side by side in the source: few channels, no groups, no dilation */
    int64_t *b_tap; /* [taps] */
    int64_t count;
    pixel_strip strips[10];
} implicit;

/* Places of the pixels of a strip: `first` counts the pixels of the region over the batch. */
static void HKK_NAME(place_strip)(pixel_strip *out, const implicit *m, const hkk_region *region, int64_t first)
{
    const hkk_convolution_pass *p = m->pass;
    const hkk_stretch *at = region->at;
    bool reached = at[0].taps && at[1].taps && at[2].taps;
    int64_t index[3], sample = first;
    for (int d = 2; d >= 0; d--) {
        index[d] = sample % at[d].count;
        sample /= at[d].count;
    }
    out->pixels = (int)hkk_minimum(region->pixels - first, 12);
    for (int i = 0; i < out->pixels;) {
        int64_t from_place = sample, to_place = sample; /* once per row of the image, then step by step */
        for (int d = 0; d < 3; d++) {
            from_place =
                from_place * hkk_from_size(p->shape, p->direction, d) + at[d].from + index[d] * at[d].from_step;
            to_place = to_place * hkk_to_size(p->shape, p->direction, d) + at[d].begin + index[d] * at[d].step;
        }
        const float *row = reached ? p->from + from_place * m->from_channels : p->from;
        float *to = p->to + to_place * m->to_channels;
        int end = (int)hkk_minimum(out->pixels, i + at[2].count - index[2]);
        index[2] += end - i;
        for (; i < end;
             i++, row += reached ? at[2].from_step * m->from_channels : 0, to += at[2].step * m->to_channels) {
            out->row[i] = row;
            out->to[i] = to;
        }
        if (index[2] == at[2].count) {
            index[2] = 0;
            if (++index[1] == at[1].count) {
                index[1] = 0;
                if (++index[0] == at[0].count) {
                    index[0] = 0;
                    sample++;
                }
            }
        }
    }
}

/* The taps of a region, in the order of the kernel. Neighbours whose channels lie side by side are one longer tap. */
static void HKK_NAME(list_taps)(pixel_strip *out, const implicit *m, const hkk_region *region)
{
    const hkk_convolution_pass *p = m->pass;
    const hkk_stretch *at = region->at;
    int64_t H = hkk_from_size(p->shape, p->direction, 1), W = hkk_from_size(p->shape, p->direction, 2);
    out->taps = 0;
    out->merged = m->merges && at[2].taps ? at[2].taps : 1;
    for (int64_t d = 0; d < at[0].taps; d++)
        for (int64_t h = 0; h < at[1].taps; h++)
            for (int64_t w = 0; w < at[2].taps; w += out->merged) {
                out->shift[out->taps] =
                    ((d * at[0].from_tap * H + h * at[1].from_tap) * W + w * at[2].from_tap) * m->from_channels;
                out->tap[out->taps++] =
                    ((at[0].tap + d * at[0].tap_step) * p->shape->kernel[1] + at[1].tap + h * at[1].tap_step) *
                        p->shape->kernel[2] +
                    at[2].tap + w * at[2].tap_step;
            }
}

/* Fills the strips begin .. end-1 of the result. */
static void HKK_NAME(list_strips)(implicit *m, int64_t begin, int64_t end, float *scratch)
{
    const hkk_convolution_pass *p = m->pass;
    hkk_region region = {0};
    m->b_tap = hkk_take_words(&scratch, p->shape->taps);
    for (int64_t at = 0; at < end && hkk_next_region(&region, p->shape, p->direction); at += region.strips) {
        const pixel_strip *first = NULL;
        for (int64_t i = begin > at ? begin - at : 0; i < hkk_minimum(region.strips, end - at); i++) {
            pixel_strip *s = &m->strips[m->count++];
            s->row = hkk_take_words(&scratch, 24 + 3 * p->shape->taps);
            s->to = (float **)(s->row + 12);
            s->shift = (int64_t *)(s->to + 12);
            s->tap = s->shift + p->shape->taps;
            HKK_NAME(place_strip)(s, m, &region, 12 * i);
            if (first) { /* the taps are those of the region */
                s->taps = first->taps;
                s->merged = first->merged;
                s->shift = first->shift;
                s->tap = first->tap;
            } else {
                HKK_NAME(list_taps)(s, m, &region);
            }
            first = s;
        }
    }
}

/* Runs one strip for one piece of k: its taps below `tap_end`, `channels` channels from channel c on. */
static void HKK_NAME(run_strip)(const implicit *m, pixel_strip *s, hkk_gemm_tile *t, int64_t to_channel,
                                int64_t tap_end, int64_t c, int64_t channels)
{
    bool last_channels = c + channels == m->k;
    const hkk_convolution_pass *p = m->pass;
    const float *residual[12];
    float *to[12];
    int64_t taps = 0;
    while (s->done + taps < s->taps && s->tap[s->done + taps] < tap_end) {
        m->b_tap[taps] = (s->tap[s->done + taps] * m->k + c) * HKK_PANEL;
        taps++;
    }
    bool is_last = s->done + taps == s->taps && last_channels;
    bool is_first = s->taps == 0 || (s->done == 0 && c == 0);
    if (taps == 0 && (s->taps > 0 || !(is_last && tap_end == p->shape->taps)))
        return; /* but a strip without taps is the epilogue of 0, written with the last piece */
    for (int i = 0; i < s->pixels; i++) {
        to[i] = s->to[i] + to_channel;
        residual[i] = p->epilogue.residual ? p->epilogue.residual + (to[i] - p->to) : NULL;
    }
    t->a = s->row;
    t->a_tap = s->shift + s->done;
    t->b_tap = m->b_tap;
    t->taps = taps;
    t->K = channels * s->merged;
    t->c = to;
    t->rows = s->pixels;
    t->residual = p->epilogue.residual ? residual : NULL;
    t->accumulate = !is_first;
    t->finish = is_last;
    HKK_NAME(hkk_gemm_tile_run)(t);
    if (last_channels)
        s->done += taps;
}

/* One column tile over all of k, in pieces whose part of the weights stays in the second-level cache. */
static void HKK_NAME(run_tile_columns)(implicit *m, int64_t group, int64_t column)
{
    const hkk_convolution_pass *p = m->pass;
    int64_t k_all = p->shape->taps * m->k, to_channel = group * m->n + column;
    hkk_gemm_tile t = {.a_step = 1,
                       .b = p->weights + (group * hkk_ceil_div(m->n, HKK_PANEL) * HKK_PANEL + column) * k_all,
                       .b_step = HKK_PANEL,
                       .b_panel = k_all * HKK_PANEL,
                       .clamp = p->epilogue.clamp,
                       .lo = p->epilogue.lo,
                       .hi = p->epilogue.hi,
                       .bias_n = p->epilogue.bias_n ? p->epilogue.bias_n + to_channel : NULL,
                       .columns = (int)hkk_minimum(m->n - column, HKK_TILE_COLUMNS)};
    int64_t channels = hkk_ceil_div(m->k, hkk_ceil_div(m->k, HKK_PIECE)), width = m->merges ? p->shape->kernel[2] : 1;
    int64_t taps = HKK_PIECE / (m->k * width) > 1 ? HKK_PIECE / (m->k * width) * width : width;
    for (int64_t i = 0; i < m->count; i++)
        m->strips[i].done = 0;
    for (int64_t tap = 0; tap < p->shape->taps; tap += taps)
        for (int64_t c = 0; c < m->k; c += channels) {
            t.a_offset = group * m->k + c;
            for (int64_t i = 0; i < m->count; i++)
                HKK_NAME(run_strip)(m, &m->strips[i], &t, to_channel, hkk_minimum(tap + taps, p->shape->taps), c,
                                    hkk_minimum(channels, m->k - c));
        }
}

static void HKK_NAME(hkk_depthwise_run_block)(const hkk_convolution_pass *p, int64_t block, float *scratch);

static void HKK_NAME(hkk_convolution_run_block)(const hkk_convolution_pass *p, int64_t block, float *scratch)
{
    const hkk_convolution *s = p->shape;
    bool forward = p->direction == HKK_CONVOLUTION_FORWARD;
    if (s->depthwise) {
        HKK_NAME(hkk_depthwise_run_block)(p, block, scratch);
        return;
    }
    implicit m = {.pass = p, .k = hkk_pass_k(s, p->direction), .n = hkk_pass_n(s, p->direction)};
    m.from_channels = forward ? s->C : s->M;
    m.to_channels = forward ? s->M : s->C;
    m.merges = forward && s->groups == 1 && s->dilation[2] == 1 && m.k * s->kernel[2] <= HKK_PIECE;
    int64_t group_tiles = hkk_ceil_div(m.n, HKK_TILE_COLUMNS), tiles = s->groups * group_tiles;
    int64_t strip_blocks = hkk_ceil_div(p->strips, p->block_strips), first = block % strip_blocks * p->block_strips;
    HKK_NAME(list_strips)(&m, first, hkk_minimum(p->strips, first + p->block_strips), scratch);
    int64_t tile = block / strip_blocks * p->block_columns;
    for (int64_t end = hkk_minimum(tiles, tile + p->block_columns); tile < end; tile++)
        HKK_NAME(run_tile_columns)(&m, tile / group_tiles, tile % group_tiles * HKK_TILE_COLUMNS);
}

static void HKK_NAME(hkk_convolution_pack)(float *packed, const float *w, const hkk_convolution *s,
                                           hkk_convolution_direction direction, int64_t block)
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
    for (int64_t first = 0; first < k; first += 8) /* pieces that keep both sides in the first-level cache */
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = first; i < hkk_minimum(k, first + 8); i++) {
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
