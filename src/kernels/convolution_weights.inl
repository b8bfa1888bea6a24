/* Backward weights: dw[tap, c, m] = sum over pixels of x[pixel at tap, c] dy[pixel, m]. Contract:
 * kernels/convolution.h.
 *
 * In a chunk of pixels this is a matrix product with A = x read across its rows (one step per pixel), B = dy as it
 * lies, and k = pixels: a stretch of an output row is one "tap" of the tile. Chunks are added in a binary tree, like
 * the carries of a binary counter, so that a span keeps only logarithmically many partial sums. Rows of dw are (tap, c)
 * in strips of 12. */

/* One chunk seen by one strip: `count` stretches of K pixels. */
typedef struct stretches {
    const float *a[12]; /* a pointer into x per row of the strip */
    int64_t *x;         /* [count]: where stretches begin, in floats from there, */
    int64_t *dy;        /* from dy, channel 0 of the group, */
    int64_t *tail;      /* and in the last columns of dy, padded to 16 */
    int64_t count, K;
} stretches;

/* The output rows of a chunk: begin .. end-1 of all rows of the batch. */
static void HKK_NAME(chunk_range)(int64_t *begin, int64_t *end, const hkk_convolution_weights_pass *p, int64_t chunk)
{
    const hkk_convolution *s = p->shape;
    int64_t rows = s->out[0] * s->out[1];
    if (p->chunk_rows) {
        int64_t per_sample = hkk_ceil_div(rows, p->chunk_rows), first = chunk % per_sample * p->chunk_rows;
        *begin = chunk / per_sample * rows + first;
        *end = *begin + hkk_minimum(p->chunk_rows, rows - first);
    } else {
        *begin = chunk * p->chunk_samples * rows;
        *end = hkk_minimum(s->batch, (chunk + 1) * p->chunk_samples) * rows;
    }
}

/* Lists the stretches of output rows that a tap sees inside x; x_channel is the channel of the strip's first row. */
static void HKK_NAME(list_stretches)(stretches *list, const hkk_convolution_weights_pass *p, int64_t begin, int64_t end,
                                     int64_t tap, int64_t x_channel)
{
    const hkk_convolution *s = p->shape;
    int64_t shift[3] = {tap / (s->kernel[1] * s->kernel[2]) * s->dilation[0] - s->pad[0],
                        tap / s->kernel[2] % s->kernel[1] * s->dilation[1] - s->pad[1],
                        tap % s->kernel[2] * s->dilation[2] - s->pad[2]};
    int64_t low = shift[2] < 0 ? hkk_ceil_div(-shift[2], s->stride[2]) : 0;
    int64_t high = shift[2] < s->in[2] ? hkk_minimum(s->out[2], hkk_ceil_div(s->in[2] - shift[2], s->stride[2])) : 0;
    list->count = 0;
    list->K = high - low;
    if (low >= high)
        return;
    for (int64_t row = begin; row < end; row++) {
        int64_t h = row % s->out[1] * s->stride[1] + shift[1],
                d = row / s->out[1] % s->out[0] * s->stride[0] + shift[0];
        if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1])
            continue;
        int64_t sample = row / (s->out[0] * s->out[1]);
        int64_t place = ((sample * s->in[0] + d) * s->in[1] + h) * s->in[2] + low * s->stride[2] + shift[2];
        list->x[list->count] = place * s->C;
        list->dy[list->count] = (row * s->out[2] + low) * s->M;
        list->tail[list->count++] = ((row - begin) * s->out[2] + low) * 16;
    }
    for (int i = 0; i < 12; i++)
        list->a[i] = p->x + x_channel + i;
}

/* The taps of one kernel row for one output row: n floats per pixel that lie side by side in x, at most 16. `w` is the
 * place of the first pixel's first tap, `step` the size of a gathered row. */
static void HKK_NAME(gather_runs)(float *to, int64_t step, const float *x, const hkk_convolution *s, int64_t w, int n)
{
    int64_t C = s->C;
    for (int64_t i = 0; i < s->out[2]; i++, w += s->stride[2], to += step) {
        if (w >= 0 && w + s->kernel[2] <= s->in[2]) {
            hkk_store_n(to, hkk_load_n(x + w * C, n), n);
            continue;
        }
        for (int j = 0; j < n; j++) {
            int64_t at = w * C + j;
            to[j] = at >= 0 && at < s->in[2] * C ? x[at] : 0.0f;
        }
    }
}

/* As gather_runs for one tap and any shape. */
static void HKK_NAME(gather_tap)(float *to, int64_t step, const float *x, const hkk_convolution *s, int64_t w)
{
    for (int64_t i = 0; i < s->out[2]; i++, w += s->stride[2], to += step)
        for (int64_t c = 0; c < s->group_c; c++)
            to[c] = w >= 0 && w < s->in[2] ? x[w * s->C + c] : 0.0f;
}

/* Gathers the rows of x for all taps: [pixel][tap, channel], zeros in the padding. */
static void HKK_NAME(gather_pixels)(float *out, const hkk_convolution_weights_pass *p, int64_t begin, int64_t end,
                                    int64_t x_channel)
{
    const hkk_convolution *s = p->shape;
    int64_t step = s->taps * s->group_c, run = s->kernel[2] * s->C;
    bool runs = s->groups == 1 && s->dilation[2] == 1 && run <= 16;
    for (int64_t row = begin; row < end; row++) {
        int64_t sample = row / (s->out[0] * s->out[1]);
        for (int64_t tap = 0; tap < s->taps; tap += runs ? s->kernel[2] : 1) {
            int64_t d = row / s->out[1] % s->out[0] * s->stride[0] +
                        tap / (s->kernel[1] * s->kernel[2]) * s->dilation[0] - s->pad[0];
            int64_t h = row % s->out[1] * s->stride[1] + tap / s->kernel[2] % s->kernel[1] * s->dilation[1] - s->pad[1];
            int64_t w = tap % s->kernel[2] * s->dilation[2] - s->pad[2];
            const float *x = p->x + (((sample * s->in[0] + d) * s->in[1] + h) * s->in[2]) * s->C + x_channel;
            float *to = out + (row - begin) * s->out[2] * step + tap * s->group_c;
            if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1]) {
                for (int64_t i = 0; i < s->out[2]; i++)
                    memset(to + i * step, 0, (size_t)(runs ? run : s->group_c) * sizeof(float));
            } else if (runs) {
                HKK_NAME(gather_runs)(to, step, x, s, w, (int)run);
            } else {
                HKK_NAME(gather_tap)(to, step, x, s, w);
            }
        }
    }
}

/* Copies the last group_m % 16 columns of a chunk of dy into rows of 16: tiles read whole vectors. */
static void HKK_NAME(copy_tail)(float *tail, const hkk_convolution_weights_pass *p, int64_t begin, int64_t end,
                                int64_t y_channel)
{
    const hkk_convolution *s = p->shape;
    int64_t columns = s->group_m % 16;
    const float *dy = p->dy + begin * s->out[2] * s->M + y_channel + s->group_m - columns;
    for (int64_t pixel = 0; columns && pixel < (end - begin) * s->out[2]; pixel++)
        hkk_store(tail + pixel * 16, hkk_load_n(dy + pixel * s->M, (int)columns));
}

/* The tiles of one strip: dw rows to [rows][group_m]. */
static void HKK_NAME(weights_strip)(float *to, const stretches *list, int64_t a_step, const hkk_convolution *s,
                                    int rows, const float *dy, const float *tail)
{
    float *c[12];
    hkk_gemm_tile t = {.a = list->a,
                       .a_tap = list->x,
                       .a_step = a_step,
                       .taps = list->count,
                       .K = list->K,
                       .c = c,
                       .rows = rows,
                       .b_panel = HKK_PANEL};
    int64_t whole = s->group_m / 16 * 16;
    t.b_tap = list->dy;
    t.b_step = s->M;
    for (int64_t column = 0; column < whole; column += HKK_TILE_COLUMNS) {
        t.columns = (int)hkk_minimum(whole - column, HKK_TILE_COLUMNS);
        t.b = dy + column;
        for (int i = 0; i < rows; i++)
            c[i] = to + i * s->group_m + column;
        HKK_NAME(hkk_gemm_tile_run)(&t);
    }
    if (whole < s->group_m) {
        t.columns = (int)(s->group_m - whole);
        t.b = tail;
        t.b_tap = list->tail;
        t.b_step = 16;
        for (int i = 0; i < rows; i++)
            c[i] = to + i * s->group_m + whole;
        HKK_NAME(hkk_gemm_tile_run)(&t);
    }
}

/* One chunk of one set of strips: writes rows x group_m floats and returns rows. */
static int64_t HKK_NAME(weights_chunk)(float *to, const hkk_convolution_weights_pass *p, int64_t chunk, int64_t group,
                                       int64_t set, float *scratch)
{
    const hkk_convolution *s = p->shape;
    int64_t segments = hkk_chunk_row_count(p), k = s->taps * s->group_c, begin, end, done = 0;
    stretches list;
    list.x = hkk_take_words(&scratch, segments);
    list.dy = hkk_take_words(&scratch, segments);
    list.tail = hkk_take_words(&scratch, segments);
    float *tail = hkk_take(&scratch, 16 * segments * s->out[2]);
    HKK_NAME(chunk_range)(&begin, &end, p, chunk);
    HKK_NAME(copy_tail)(tail, p, begin, end, group * s->group_m);
    if (p->gather)
        HKK_NAME(gather_pixels)(scratch, p, begin, end, group * s->group_c);
    int64_t tap_strips = hkk_ceil_div(s->group_c, 12), strips = p->gather ? hkk_ceil_div(k, 12) : s->taps * tap_strips;
    for (int64_t strip = set * p->set_strips; strip < hkk_minimum(strips, (set + 1) * p->set_strips); strip++) {
        int rows;
        if (p->gather) {
            rows = (int)hkk_minimum(k - strip * 12, 12);
            for (int i = 0; i < 12; i++)
                list.a[i] = scratch + strip * 12 + i;
            list.x[0] = list.tail[0] = 0;
            list.dy[0] = begin * s->out[2] * s->M;
            list.count = 1;
            list.K = (end - begin) * s->out[2];
        } else {
            int64_t c = strip % tap_strips * 12;
            rows = (int)hkk_minimum(s->group_c - c, 12);
            HKK_NAME(list_stretches)(&list, p, begin, end, strip / tap_strips, group * s->group_c + c);
        }
        HKK_NAME(weights_strip)(to + done * s->group_m, &list, p->gather ? k : s->stride[2] * s->C, s, rows,
                                p->dy + group * s->group_m, tail);
        done += rows;
    }
    return done;
}

static void HKK_NAME(add_into)(float *to, const float *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        hkk_store(to + i, hkk_add(hkk_load(to + i), hkk_load(from + i)));
    if (i < n)
        hkk_store_n(to + i, hkk_add(hkk_load_n(to + i, (int)(n - i)), hkk_load_n(from + i, (int)(n - i))),
                    (int)(n - i));
}

/* The first row (tap, c) of a set. */
static int64_t HKK_NAME(set_row)(const hkk_convolution_weights_pass *p, int64_t set)
{
    const hkk_convolution *s = p->shape;
    int64_t strip = set * p->set_strips, tap_strips = hkk_ceil_div(s->group_c, 12);
    return p->gather ? strip * 12 : strip / tap_strips * s->group_c + strip % tap_strips * 12;
}

static int64_t HKK_NAME(depthwise_weights_chunk)(float *to, const hkk_convolution_weights_pass *p, int64_t chunk,
                                                 int64_t set);

static void HKK_NAME(hkk_convolution_weights_block)(const hkk_convolution_weights_pass *p, int64_t block,
                                                    float *scratch)
{
    const hkk_convolution *s = p->shape;
    int64_t sets = s->depthwise ? p->sets : s->groups * p->sets;
    int64_t set = block % sets % p->sets, group = block % sets / p->sets, span = block / sets;
    int64_t first = span * p->chunks_per_span, end = hkk_minimum(p->chunks, first + p->chunks_per_span), depth = 0,
            n = 0;
    int64_t size = hkk_round_line(s->depthwise ? s->taps * 32 : p->set_strips * 12 * s->group_m);
    float *stack[64]; /* partial sums of aligned runs of chunks, longest first; the lowest is the result */
    stack[0] =
        p->partial +
        (s->depthwise ? (span * p->sets + set) * s->taps * 32
                      : ((span * s->groups + group) * s->taps * s->group_c + HKK_NAME(set_row)(p, set)) * s->group_m);
    int64_t levels = 1;
    for (int64_t runs = 1; runs < p->chunks_per_span; runs *= 2)
        stack[levels++] = hkk_take(&scratch, size);
    for (int64_t chunk = first; chunk < end; chunk++) {
        n = s->depthwise ? HKK_NAME(depthwise_weights_chunk)(stack[depth], p, chunk, set)
                         : HKK_NAME(weights_chunk)(stack[depth], p, chunk, group, set, scratch) * s->group_m;
        depth++;
        for (int64_t done = chunk - first + 1; done % 2 == 0; done /= 2, depth--)
            HKK_NAME(add_into)(stack[depth - 2], stack[depth - 1], n);
    }
    for (; depth > 1; depth--)
        HKK_NAME(add_into)(stack[depth - 2], stack[depth - 1], n);
}

/* Adds the spans of 16 neighbouring partial sums, in the same tree. */
HKK_INLINE hkk_f32x16 HKK_NAME(add_spans)(const float *partial, int64_t stride, int64_t spans, int lanes)
{
    hkk_f32x16 stack[8];
    int depth = 0;
    for (int64_t span = 0; span < spans; span++) {
        stack[depth++] = HKK_NAME(load_lanes)(partial + span * stride, lanes);
        for (int64_t done = span + 1; done % 2 == 0; done /= 2, depth--)
            stack[depth - 2] = hkk_add(stack[depth - 2], stack[depth - 1]);
    }
    for (; depth > 1; depth--)
        stack[depth - 2] = hkk_add(stack[depth - 2], stack[depth - 1]);
    return depth ? stack[0] : hkk_zero();
}

static void HKK_NAME(depthwise_weights_finish)(const hkk_convolution_weights_pass *p, int64_t set)
{
    const hkk_convolution *s = p->shape;
    int64_t stride = p->sets * s->taps * 32;
    for (int64_t tap = 0; tap < s->taps; tap++)
        for (int64_t c = 0; c < hkk_minimum(32, s->C - set * 32); c += 16) {
            float sum[16];
            hkk_store(sum, HKK_NAME(add_spans)(p->partial + (set * s->taps + tap) * 32 + c, stride, p->spans, 16));
            for (int64_t i = 0; i < hkk_minimum(16, s->C - set * 32 - c); i++)
                p->dw[(set * 32 + c + i) * s->taps + tap] = sum[i];
        }
}

/* Channels c0 .. c0 + 15 of a group: from [tap, c][m] to ONNX's [m][c][tap], 16 output channels at a time. */
static void HKK_NAME(hkk_convolution_weights_finish)(const hkk_convolution_weights_pass *p, int64_t block)
{
    const hkk_convolution *s = p->shape;
    if (s->depthwise) {
        HKK_NAME(depthwise_weights_finish)(p, block);
        return;
    }
    int64_t c_blocks = hkk_ceil_div(s->group_c, 16), group = block / c_blocks, c_begin = block % c_blocks * 16;
    int64_t k = s->taps * s->group_c, stride = s->groups * k * s->group_m;
    for (int64_t m = 0; m < s->group_m; m += 16) {
        int lanes = (int)hkk_minimum(16, s->group_m - m);
        for (int64_t c = c_begin; c < hkk_minimum(s->group_c, c_begin + 16); c++)
            for (int64_t tap = 0; tap < s->taps; tap++) {
                const float *partial = p->partial + (group * k + tap * s->group_c + c) * s->group_m + m;
                float sum[16], *to = p->dw + (group * s->group_m + m) * k + c * s->taps + tap;
                hkk_store(sum, HKK_NAME(add_spans)(partial, stride, p->spans, lanes));
                for (int i = 0; i < lanes; i++)
                    to[i * k] = sum[i];
            }
    }
}

/* T neighbouring taps of a kernel row, 32 channels: one chain per tap over the pixels of a chunk. */
HKK_INLINE void HKK_NAME(depthwise_weights_taps)(float *to, const hkk_convolution_weights_pass *p, int64_t begin,
                                                 int64_t end, int64_t tap, int64_t channel, int lanes_0, int lanes_1,
                                                 const int T)
{
    const hkk_convolution *s = p->shape;
    int64_t shift[3] = {tap / (s->kernel[1] * s->kernel[2]) * s->dilation[0] - s->pad[0],
                        tap / s->kernel[2] % s->kernel[1] * s->dilation[1] - s->pad[1],
                        tap % s->kernel[2] * s->dilation[2] - s->pad[2]};
    hkk_f32x16 sum[4][2];
#pragma GCC unroll 4
    for (int i = 0; i < T; i++)
        sum[i][0] = sum[i][1] = hkk_zero();
    for (int64_t row = begin; row < end; row++) {
        int64_t h = row % s->out[1] * s->stride[1] + shift[1],
                d = row / s->out[1] % s->out[0] * s->stride[0] + shift[0];
        if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1])
            continue;
        int64_t sample = row / (s->out[0] * s->out[1]);
        const float *x = p->x + ((sample * s->in[0] + d) * s->in[1] + h) * s->in[2] * s->C + channel;
        const float *dy = p->dy + row * s->out[2] * s->M + channel;
        for (int64_t i = 0, w = shift[2]; i < s->out[2]; i++, w += s->stride[2], dy += s->M) {
            hkk_f32x16 y0 = HKK_NAME(load_lanes)(dy, lanes_0),
                       y1 = lanes_1 ? HKK_NAME(load_lanes)(dy + 16, lanes_1) : hkk_zero();
            bool inside = w >= 0 && w + (T - 1) * s->dilation[2] < s->in[2];
#pragma GCC unroll 4
            for (int j = 0; j < T; j++) {
                int64_t at = w + j * s->dilation[2];
                if (!inside && (at < 0 || at >= s->in[2]))
                    continue;
                sum[j][0] = hkk_fma(HKK_NAME(load_lanes)(x + at * s->C, lanes_0), y0, sum[j][0]);
                if (lanes_1)
                    sum[j][1] = hkk_fma(HKK_NAME(load_lanes)(x + at * s->C + 16, lanes_1), y1, sum[j][1]);
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < T; i++) {
        hkk_store(to + (tap + i) * 32, sum[i][0]);
        hkk_store(to + (tap + i) * 32 + 16, sum[i][1]);
    }
}

/* One chunk of 32 channels: [tap][32]. */
static int64_t HKK_NAME(depthwise_weights_chunk)(float *to, const hkk_convolution_weights_pass *p, int64_t chunk,
                                                 int64_t set)
{
    const hkk_convolution *s = p->shape;
    int64_t begin, end, channel = set * 32, left = s->C - channel;
    HKK_NAME(chunk_range)(&begin, &end, p, chunk);
    int lanes_0 = (int)hkk_minimum(16, left), lanes_1 = left > 16 ? (int)hkk_minimum(16, left - 16) : 0;
    for (int64_t tap = 0; tap < s->taps;) {
        int64_t in_row = s->kernel[2] - tap % s->kernel[2];
        if (in_row >= 3) {
            if (left >= 32)
                HKK_NAME(depthwise_weights_taps)(to, p, begin, end, tap, channel, 16, 16, 3);
            else
                HKK_NAME(depthwise_weights_taps)(to, p, begin, end, tap, channel, lanes_0, lanes_1, 3);
            tap += 3;
        } else {
            HKK_NAME(depthwise_weights_taps)(to, p, begin, end, tap, channel, lanes_0, lanes_1, 1);
            tap += 1;
        }
    }
    return s->taps * 32;
}
