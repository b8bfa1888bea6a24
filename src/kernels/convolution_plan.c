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
    p->block_strips = row_work > 0 && row_work < 1 << 18 ? (1 << 18) / row_work : 1;
    p->blocks = row_work > 0 ? hkk_ceil_div(s->batch * to[0] * to[1], p->block_strips) : 0;
    p->strips = p->block_columns = 0;
    p->scratch = 2 * 8 * s->taps; /* two lists of taps, 32 bytes each */
}

/* The taps that reach one position. */
static void reach(hkk_stretch *out, const hkk_convolution *s, hkk_convolution_direction direction, int d,
                  int64_t position)
{
    bool forward = direction == HKK_CONVOLUTION_FORWARD;
    int64_t from = hkk_from_size(s, direction, d), first = 0, step = 1;
    if (!forward) { /* the first tap on the grid of `from`, and the distance to the next one */
        while (first < s->kernel[d] && (position + s->pad[d] - first * s->dilation[d]) % s->stride[d] != 0)
            first++;
        while (step < s->stride[d] && step * s->dilation[d] % s->stride[d] != 0)
            step++;
    }
    int64_t taps = first < s->kernel[d] ? hkk_ceil_div(s->kernel[d] - first, step) : 0, low, high;
    int64_t source =
        forward ? position * s->stride[d] - s->pad[d] : (position + s->pad[d] - first * s->dilation[d]) / s->stride[d];
    int64_t per_tap = forward ? s->dilation[d] : step * s->dilation[d] / s->stride[d];
    if (forward) { /* taps low .. high-1 have their source inside */
        low = source < 0 ? hkk_ceil_div(-source, per_tap) : 0;
        high = source < from ? hkk_minimum(taps, hkk_ceil_div(from - source, per_tap)) : 0;
    } else {
        low = source >= from ? (source - from) / per_tap + 1 : 0;
        high = source >= 0 ? hkk_minimum(taps, source / per_tap + 1) : 0;
        per_tap = -per_tap;
    }
    low = hkk_minimum(low, high);
    *out = (hkk_stretch){.begin = position,
                         .step = forward ? 1 : s->stride[d],
                         .count = 1,
                         .tap = first + low * step,
                         .tap_step = step,
                         .taps = high - low,
                         .from = source + low * per_tap,
                         .from_step = forward ? s->stride[d] : 1,
                         .from_tap = per_tap};
    int64_t left = hkk_ceil_div(hkk_to_size(s, direction, d) - position, out->step);
    if (taps > 0 && high - low == taps) { /* inside: as far as the foremost source stays so */
        int64_t foremost = forward ? source + (taps - 1) * per_tap : source;
        out->count = hkk_minimum(left, (from - 1 - foremost) / out->from_step + 1);
    }
}

bool hkk_next_stretch(hkk_stretch *stretch, const hkk_convolution *s, hkk_convolution_direction direction, int d)
{
    int64_t to = hkk_to_size(s, direction, d), step = direction == HKK_CONVOLUTION_FORWARD ? 1 : s->stride[d];
    int64_t next = stretch->count ? stretch->begin + stretch->count * step : 0;
    if (next >= to) {
        next = stretch->count ? stretch->begin % step + 1 : to;
        if (next >= hkk_minimum(step, to))
            return false;
    }
    reach(stretch, s, direction, d, next);
    for (next += stretch->count * step; next < to; next += step) {
        hkk_stretch other;
        reach(&other, s, direction, d, next);
        if (other.taps != stretch->taps || (other.taps && other.tap != stretch->tap))
            break;
        stretch->count++;
    }
    return true;
}

bool hkk_next_region(hkk_region *region, const hkk_convolution *s, hkk_convolution_direction direction)
{
    bool found = region->at[0].count ? hkk_next_stretch(&region->at[2], s, direction, 2)
                                     : hkk_next_stretch(&region->at[0], s, direction, 0) &&
                                           hkk_next_stretch(&region->at[1], s, direction, 1) &&
                                           hkk_next_stretch(&region->at[2], s, direction, 2);
    for (int d = 1; d >= 0 && !found && region->at[2].count; d--) { /* the odometer's wheels */
        if (!hkk_next_stretch(&region->at[d], s, direction, d))
            continue;
        found = true;
        for (int e = d + 1; e < 3; e++) {
            region->at[e] = (hkk_stretch){0};
            hkk_next_stretch(&region->at[e], s, direction, e);
        }
    }
    region->pixels = s->batch * region->at[0].count * region->at[1].count * region->at[2].count;
    region->strips = hkk_ceil_div(region->pixels, 12);
    return found;
}

void hkk_convolution_plan(hkk_convolution_pass *p)
{
    const hkk_convolution *s = p->shape;
    if (s->depthwise) {
        plan_depthwise(p);
        return;
    }
    hkk_region region = {0};
    p->strips = 0;
    while (hkk_next_region(&region, s, p->direction))
        p->strips += region.strips;
    int64_t tiles = s->groups * hkk_ceil_div(hkk_pass_n(s, p->direction), 64);
    /* At most 10 strips, so that a block of A stays in the second-level cache; at most 64 KB for its lists of taps. */
    int64_t most = s->taps < 400 ? 10 : s->taps < 2000 ? 4000 / s->taps : 1, blocks = hkk_ceil_div(p->strips, most);
    p->block_strips = p->strips > 0 ? hkk_ceil_div(p->strips, blocks) : 1;
    p->block_columns = tiles < 4 ? tiles : 4;
    while (p->block_columns > 1 && blocks * hkk_ceil_div(tiles, p->block_columns) < 16)
        p->block_columns /= 2;
    p->blocks = tiles > 0 ? hkk_ceil_div(p->strips, p->block_strips) * hkk_ceil_div(tiles, p->block_columns) : 0;
    /* Per strip: 12 source and 12 result pointers, three numbers per tap; and a list of places in the weights. */
    p->scratch = p->block_strips * hkk_round_line(2 * (24 + 3 * s->taps)) + hkk_round_line(2 * s->taps);
}

/* A chunk has about 512 to 1,024 pixels: long enough that adding up chunks costs little, short enough for the caches.
 */
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
    while (p->chunks > p->chunks_per_span && (hkk_ceil_div(p->chunks, p->chunks_per_span) > 16 ||
                                              sets * hkk_ceil_div(p->chunks, p->chunks_per_span) > 32))
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
    p->scratch = span_levels(p) * hkk_round_line(p->set_strips * 12 * s->group_m) + 3 * hkk_round_line(2 * segments) +
                 hkk_round_line(16 * pixels) + (p->gather ? hkk_round_line(pixels * rows) : 0);
    p->partial_size = p->spans * s->groups * rows * s->group_m;
}
