/* Depthwise convolution, forward and backward data: lanes run over channels, sums stay in registers over the taps.
 *
 * Per row of the result (and, for backward data, per phase of the stride) a list of the taps that reach it is made;
 * each knows for which positions of the row it stays inside. */

typedef struct depthwise_tap {
    const float *from; /* source of position 0, channel 0; may lie outside the row */
    const float *weight;
    int64_t low, high; /* positions low .. high-1 are inside */
} depthwise_tap;

typedef struct depthwise_row {
    const hkk_convolution_pass *pass;
    depthwise_tap *taps, *edge; /* edge: room for the taps of one position */
    int64_t count;
    bool triples, triples_back; /* taps come in threes that are neighbours, upwards or downwards */
    int64_t positions, low, high; /* all taps are inside for low .. high-1 */
    int64_t from_step, to_step;   /* floats between positions */
    float *to;                    /* position 0, channel 0 */
} depthwise_row;

HKK_INLINE hkk_f32x16 HKK_NAME(load_lanes)(const float *p, int lanes)
{
    return lanes == 16 ? hkk_load(p) : hkk_load_n(p, lanes);
}

HKK_INLINE void HKK_NAME(depthwise_store)(const depthwise_row *r, hkk_f32x16 sum, int64_t position, int64_t c,
                                          int lanes)
{
    const hkk_gemm_epilogue *e = &r->pass->epilogue;
    float *to = r->to + position * r->to_step + c;
    if (e->bias_n)
        sum = hkk_add(sum, HKK_NAME(load_lanes)(e->bias_n + c, lanes));
    if (e->residual)
        sum = hkk_add(sum, HKK_NAME(load_lanes)(e->residual + (to - r->pass->to), lanes));
    if (e->clamp)
        sum = hkk_min(hkk_set1(e->hi), hkk_max(hkk_set1(e->lo), sum));
    if (lanes == 16)
        hkk_store(to, sum);
    else
        hkk_store_n(to, sum, lanes);
}

/* Three neighbouring taps of a kernel row, whose sources are neighbouring positions too (or, going down, with `back`):
 * P + 2 loads serve 3 P products. */
HKK_INLINE void HKK_NAME(depthwise_three)(hkk_f32x16 sum[4], const depthwise_tap *taps, int64_t offset, int64_t step,
                                          int64_t c, int lanes, const bool back, const int P)
{
    hkk_f32x16 x[6];
    const float *from = (back ? taps[2].from : taps[0].from) + offset;
#pragma GCC unroll 6
    for (int i = 0; i < P + 2; i++)
        x[i] = HKK_NAME(load_lanes)(from + i * step, lanes);
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++) {
        hkk_f32x16 w = HKK_NAME(load_lanes)(taps[j].weight + c, lanes);
#pragma GCC unroll 4
        for (int i = 0; i < P; i++)
            sum[i] = hkk_fma(x[back ? i + 2 - j : i + j], w, sum[i]);
    }
}

/* P positions from `position` on, all inside, for the channels from c on. */
HKK_INLINE void HKK_NAME(depthwise_inner)(const depthwise_row *r, const depthwise_tap *taps, int64_t count,
                                          int64_t position, int64_t c, int lanes, const int P)
{
    hkk_f32x16 sum[4];
    int64_t offset = position * r->from_step + c;
#pragma GCC unroll 4
    for (int i = 0; i < P; i++)
        sum[i] = hkk_zero();
    for (int64_t t = 0; t < count;) {
        if (P > 1 && r->triples) {
            HKK_NAME(depthwise_three)(sum, taps + t, offset, r->from_step, c, lanes, false, P);
            t += 3;
            continue;
        }
        if (P > 1 && r->triples_back) {
            HKK_NAME(depthwise_three)(sum, taps + t, offset, r->from_step, c, lanes, true, P);
            t += 3;
            continue;
        }
        hkk_f32x16 w = HKK_NAME(load_lanes)(taps[t].weight + c, lanes);
        const float *from = taps[t].from + offset;
#pragma GCC unroll 4
        for (int i = 0; i < P; i++)
            sum[i] = hkk_fma(HKK_NAME(load_lanes)(from + i * r->from_step, lanes), w, sum[i]);
        t++;
    }
#pragma GCC unroll 4
    for (int i = 0; i < P; i++)
        HKK_NAME(depthwise_store)(r, sum[i], position + i, c, lanes);
}

/* All channels of P positions. */
HKK_INLINE void HKK_NAME(depthwise_positions)(const depthwise_row *r, const depthwise_tap *taps, int64_t count,
                                              int64_t position, const int P)
{
    int64_t C = r->pass->shape->C, c = 0;
    for (; c + 16 <= C; c += 16)
        HKK_NAME(depthwise_inner)(r, taps, count, position, c, 16, P);
    if (c < C)
        HKK_NAME(depthwise_inner)(r, taps, count, position, c, (int)(C - c), P);
}

/* A position that some taps miss. */
static void HKK_NAME(depthwise_edge)(const depthwise_row *r, int64_t position)
{
    int64_t count = 0;
    for (int64_t t = 0; t < r->count; t++)
        if (position >= r->taps[t].low && position < r->taps[t].high)
            r->edge[count++] = r->taps[t];
    HKK_NAME(depthwise_positions)(r, r->edge, count, position, 1);
}

static void HKK_NAME(depthwise_run_row)(const depthwise_row *r)
{
    int64_t i = 0;
    for (; i < r->low; i++)
        HKK_NAME(depthwise_edge)(r, i);
    for (; i + 4 <= r->high; i += 4)
        HKK_NAME(depthwise_positions)(r, r->taps, r->count, i, 4);
    for (; i < r->high; i++)
        HKK_NAME(depthwise_positions)(r, r->taps, r->count, i, 1);
    for (; i < r->positions; i++)
        HKK_NAME(depthwise_edge)(r, i);
}

/* Source place of position 0 under a tap in one dimension, and whether the tap is on the grid of the phase. */
static bool HKK_NAME(depthwise_source)(int64_t *source, const hkk_convolution *s, bool forward, int d, int64_t position,
                                       int64_t tap)
{
    if (forward) {
        *source = position * s->stride[d] + tap * s->dilation[d] - s->pad[d];
        return true;
    }
    int64_t distance = position + s->pad[d] - tap * s->dilation[d];
    *source = distance / s->stride[d];
    return distance % s->stride[d] == 0;
}

/* True if the taps come in threes whose sources are `distance` floats apart. */
static bool HKK_NAME(depthwise_in_threes)(const depthwise_row *r, int64_t distance)
{
    for (int64_t t = 0; t < r->count; t += 3)
        if (t + 2 >= r->count || r->taps[t + 1].from - r->taps[t].from != distance ||
            r->taps[t + 2].from - r->taps[t + 1].from != distance)
            return false;
    return true;
}

/* Lists the taps of one row and phase; `at` is the place of position 0 in `to`. */
static void HKK_NAME(depthwise_list)(depthwise_row *r, int64_t sample, const int64_t at[3])
{
    const hkk_convolution *s = r->pass->shape;
    bool forward = r->pass->direction == HKK_CONVOLUTION_FORWARD;
    const int64_t *from_size = forward ? s->in : s->out;
    int64_t step = forward ? s->stride[2] : 1;
    r->count = 0;
    r->low = 0;
    r->high = r->positions;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        int64_t index[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]},
                source[3];
        bool reached = true;
        for (int d = 0; d < 3; d++)
            reached &= HKK_NAME(depthwise_source)(&source[d], s, forward, d, at[d], index[d]);
        if (!reached || source[0] < 0 || source[0] >= from_size[0] || source[1] < 0 || source[1] >= from_size[1])
            continue;
        int64_t low = source[2] < 0 ? hkk_ceil_div(-source[2], step) : 0;
        int64_t high = source[2] < from_size[2] ? hkk_ceil_div(from_size[2] - source[2], step) : 0;
        high = hkk_minimum(high, r->positions);
        if (low >= high)
            continue;
        int64_t row = (sample * from_size[0] + source[0]) * from_size[1] + source[1];
        r->taps[r->count++] = (depthwise_tap){.from = r->pass->from + (row * from_size[2] + source[2]) * s->C,
                                              .weight = r->pass->weights + tap * s->C, .low = low, .high = high};
        r->low = low > r->low ? low : r->low;
        r->high = high < r->high ? high : r->high;
    }
    if (r->low >= r->high)
        r->low = r->high = 0;
    r->triples = HKK_NAME(depthwise_in_threes)(r, r->from_step);
    r->triples_back = HKK_NAME(depthwise_in_threes)(r, -r->from_step);
}

static void HKK_NAME(hkk_depthwise_run_block)(const hkk_convolution_pass *p, int64_t block, float *scratch)
{
    const hkk_convolution *s = p->shape;
    bool forward = p->direction == HKK_CONVOLUTION_FORWARD;
    const int64_t *to_size = forward ? s->out : s->in;
    int64_t phases = forward ? 1 : s->stride[2], rows = s->batch * to_size[0] * to_size[1];
    depthwise_row r = {.pass = p, .taps = (depthwise_tap *)scratch, .edge = (depthwise_tap *)scratch + s->taps,
                       .from_step = (forward ? s->stride[2] : 1) * s->C, .to_step = phases * s->C};
    for (int64_t row = block * p->block_strips; row < hkk_minimum(rows, (block + 1) * p->block_strips); row++)
        for (int64_t phase = 0; phase < hkk_minimum(phases, to_size[2]); phase++) {
            int64_t at[3] = {row / to_size[1] % to_size[0], row % to_size[1], phase};
            r.positions = hkk_ceil_div(to_size[2] - phase, phases);
            r.to = p->to + (row * to_size[2] + phase) * s->C;
            HKK_NAME(depthwise_list)(&r, row / (to_size[0] * to_size[1]), at);
            HKK_NAME(depthwise_run_row)(&r);
        }
}
