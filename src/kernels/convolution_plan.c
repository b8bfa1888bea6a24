/* How convolutions are cut: by their shape alone, the same for every ISA and number of threads. */
#include "kernels/convolution_layout.h"

void hkk_convolution_prepare(hkk_convolution *s)
{
    s->taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    s->group_c = s->C / s->groups;
    s->group_m = s->M / s->groups;
    s->in_pixels = s->in[0] * s->in[1] * s->in[2];
    s->out_pixels = s->out[0] * s->out[1] * s->out[2];
    s->depthwise = s->groups > 1 && s->group_c == 1 && s->group_m == 1;
}

int64_t hkk_convolution_packed_size(const hkk_convolution *s, hkk_convolution_direction direction)
{
    if (s->depthwise)
        return s->taps * s->C;
    return s->groups * hkk_gemm_packed_size(s->taps * hkk_pass_k(s, direction), hkk_pass_n(s, direction));
}

int64_t hkk_convolution_pack_blocks(const hkk_convolution *s, hkk_convolution_direction direction)
{
    return s->depthwise ? hkk_ceil_div(s->C, 64) : s->groups * hkk_ceil_div(hkk_pass_n(s, direction), HKK_PANEL);
}

static void plan_depthwise(hkk_convolution_pass *p)
{
    const hkk_convolution *s = p->shape;
    const int64_t *to = p->direction == HKK_CONVOLUTION_FORWARD ? s->out : s->in;
    int64_t row_work = to[2] * s->C * s->taps;
    p->block_pixels = row_work > 0 && row_work < 1 << 18 ? (1 << 18) / row_work : 1; /* rows of the image */
    p->blocks = row_work > 0 ? hkk_ceil_div(s->batch * to[0] * to[1], p->block_pixels) : 0;
    p->block_columns = 0;
    p->gather = false;
    p->scratch = 8 * s->taps; /* a list of taps, 32 bytes each */
}

void hkk_convolution_plan(hkk_convolution_pass *p)
{
    const hkk_convolution *s = p->shape;
    if (s->depthwise) {
        plan_depthwise(p);
        return;
    }
    int64_t phases = hkk_pass_phases(s, p->direction), most = 0, grid[3], begin[3];
    for (int64_t phase = 0; phase < phases; phase++) {
        int64_t pixels = hkk_pass_grid(grid, begin, s, p->direction, phase);
        most = pixels > most ? pixels : most;
    }
    int64_t k = hkk_pass_k(s, p->direction), n = hkk_pass_n(s, p->direction);
    p->gather = k <= HKK_GATHER_CHANNELS && s->taps > 1 && phases == 1;
    /* At most 120 pixels, and at most 64 KB of row pointers. */
    int64_t strips = s->taps < 64 ? 10 : s->taps < 640 ? 640 / s->taps : 1;
    int64_t pixel_blocks = most > 0 ? hkk_ceil_div(most, 12 * strips) : 1;
    p->block_pixels = hkk_ceil_div(hkk_ceil_div(most > 0 ? most : 1, pixel_blocks), 12) * 12;
    int64_t tiles = s->groups * hkk_ceil_div(n, 64);
    p->block_columns = tiles < 4 ? tiles : 4;
    while (p->block_columns > 1 && phases * pixel_blocks * hkk_ceil_div(tiles, p->block_columns) < 16)
        p->block_columns /= 2;
    p->blocks = 0;
    for (int64_t phase = 0; phase < phases && n > 0; phase++)
        p->blocks += hkk_ceil_div(hkk_pass_grid(grid, begin, s, p->direction, phase), p->block_pixels) * hkk_ceil_div(tiles, p->block_columns);
    int64_t from_channels = p->direction == HKK_CONVOLUTION_FORWARD ? s->C : s->M;
    p->scratch = hkk_round_line(from_channels) + hkk_round_line(2 * p->block_pixels * s->taps) + hkk_round_line(2 * p->block_pixels) +
                 hkk_round_line(8 * s->taps) + hkk_round_line(2 * s->taps) +
                 (p->gather ? hkk_round_line(p->block_pixels * s->taps * k) : 0);
}

/* A chunk has about 512 to 1,024 pixels: long enough that adding up chunks costs little, short enough for the caches. */
static void plan_chunks(hkk_convolution_weights_pass *p)
{
    const hkk_convolution *s = p->shape;
    int64_t rows = s->out[0] * s->out[1];
    if (s->out_pixels >= 512) {
        int64_t pieces = hkk_ceil_div(s->out_pixels, 1024);
        p->chunk_samples = 0;
        p->chunk_rows = hkk_ceil_div(rows, pieces);
        p->chunks = s->batch * hkk_ceil_div(rows, p->chunk_rows);
    } else {
        p->chunk_rows = 0;
        p->chunk_samples = s->out_pixels > 0 ? hkk_ceil_div(512, s->out_pixels) : 1;
        p->chunks = s->out_pixels > 0 ? hkk_ceil_div(s->batch, p->chunk_samples) : 0;
    }
}

/* Spans: enough blocks to share out, but at most 16 partial sums. */
static void plan_spans(hkk_convolution_weights_pass *p, int64_t sets)
{
    p->chunks_per_span = 1;
    while (p->chunks > p->chunks_per_span &&
           (hkk_ceil_div(p->chunks, p->chunks_per_span) > 16 || sets * hkk_ceil_div(p->chunks, p->chunks_per_span) > 32))
        p->chunks_per_span *= 2;
    p->spans = p->chunks > 0 ? hkk_ceil_div(p->chunks, p->chunks_per_span) : 0;
}

static int64_t span_levels(const hkk_convolution_weights_pass *p)
{
    int64_t levels = 0;
    while ((int64_t)1 << levels < p->chunks_per_span)
        levels++;
    return levels;
}

void hkk_convolution_weights_plan(hkk_convolution_weights_pass *p)
{
    const hkk_convolution *s = p->shape;
    plan_chunks(p);
    if (s->depthwise) { /* sets of 32 channels */
        p->gather = false;
        p->set_strips = 0;
        p->sets = hkk_ceil_div(s->C, 32);
        plan_spans(p, p->sets);
        p->blocks = p->sets * p->spans;
        p->finish_blocks = p->sets;
        p->scratch = span_levels(p) * hkk_round_line(s->taps * 32);
        p->partial_size = p->spans * p->sets * 32 * s->taps;
        return;
    }
    p->gather = s->group_c <= HKK_GATHER_CHANNELS && s->taps > 1;
    int64_t rows = s->taps * s->group_c;
    int64_t strips = p->gather ? hkk_ceil_div(rows, 12) : s->taps * hkk_ceil_div(s->group_c, 12);
    p->set_strips = 65536 / (12 * s->group_m) > 0 ? 65536 / (12 * s->group_m) : 1;
    p->set_strips = hkk_minimum(p->set_strips, strips);
    while (p->set_strips > 1 && s->groups * hkk_ceil_div(strips, p->set_strips) * hkk_minimum(p->chunks, 16) < 16)
        p->set_strips = hkk_ceil_div(p->set_strips, 2);
    p->sets = hkk_ceil_div(strips, p->set_strips);
    plan_spans(p, s->groups * p->sets);
    p->blocks = s->groups * p->sets * p->spans;
    p->finish_blocks = s->groups * hkk_ceil_div(s->group_c, 16);
    int64_t segments = hkk_chunk_row_count(p), pixels = segments * s->out[2];
    p->scratch = span_levels(p) * hkk_round_line(p->set_strips * 12 * s->group_m) + hkk_round_line(2 * 12 * segments) +
                 2 * hkk_round_line(2 * segments) + hkk_round_line(16 * pixels) + (p->gather ? hkk_round_line(pixels * rows) : 0);
    p->partial_size = p->spans * s->groups * rows * s->group_m;
}
