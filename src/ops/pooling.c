/* See pooling.h. */
#include "ops/pooling.h"

#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/widen.h"

/* ---- Geometry. ---- */

typedef enum auto_pad { PAD_GIVEN, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER } auto_pad;

static hk_status read_auto_pad(auto_pad *out, const hk_node *node)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const char *text = hki_attribute_text(node, "auto_pad");
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, names[i])) {
            *out = (auto_pad)i;
            return NULL;
        }
    return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'auto_pad' is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                  text);
}

static bool has_attribute(const hk_node *node, const char *name)
{
    for (const hki_attribute_spec *spec = node->op->attributes; spec->name; spec++)
        if (!strcmp(spec->name, name))
            return true;
    return false;
}

/* Reads a list of `count` numbers, each >= least; absent: `fallback` everywhere. */
static hk_status read_list(int64_t *out, const hk_node *node, const char *name, int count, int64_t least,
                           int64_t fallback)
{
    int64_t found = 0;
    const int64_t *list = has_attribute(node, name) ? hki_attribute_ints(node, name, &found) : NULL;
    if (list && found != count)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute '%s' has %" PRId64 " numbers, expected %d", name, found, count);
    for (int i = 0; i < count; i++) {
        out[i] = list ? list[i] : fallback;
        if (out[i] < least || out[i] > INT32_MAX)
            return HK_ERR(HK_INVALID_ARGUMENT, "attribute '%s' has %" PRId64 ", expected %" PRId64 " .. %d", name,
                          out[i], least, INT32_MAX);
    }
    return NULL;
}

/* Output size of one dim, and its pads if they are automatic. in may be unknown. */
static hk_status pool_dim(hki_pooling *p, int d, auto_pad pad, bool ceil)
{
    int64_t in = p->in[d], s = p->stride[d], window = (p->kernel[d] - 1) * p->dilation[d] + 1;
    p->out[d] = HKI_DIM_UNKNOWN;
    if (pad != PAD_GIVEN)
        p->begin[d] = p->end[d] = 0;
    if (in < 0)
        return NULL;
    if (pad == PAD_SAME_UPPER || pad == PAD_SAME_LOWER) {
        int64_t out = (in + s - 1) / s, total = (out - 1) * s + window - in;
        total = total > 0 && out ? total : 0;
        p->begin[d] = pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
        p->end[d] = total - p->begin[d];
        p->out[d] = out;
        return NULL;
    }
    int64_t room = in + p->begin[d] + p->end[d] - window;
    if (in > 0 && room < 0)
        return HK_ERR(HK_INVALID_SHAPE,
                      "the window of %" PRId64 " does not fit into dim %d of %" PRId64 " with its pads", window, d + 2,
                      in);
    int64_t out = room < 0 ? 0 : (ceil ? (room + s - 1) / s : room / s) + 1;
    if (ceil && out > 1 &&
        (out - 1) * s >= in + p->begin[d]) /* the last window would see nothing but the end padding */
        out--;
    p->out[d] = in == 0 ? 0 : out;
    return NULL;
}

hk_status hki_pooling_read(hki_pooling *p, const hk_node *node, int rank, const int64_t *dims)
{
    auto_pad pad = PAD_GIVEN;
    int64_t pads[2 * HKI_POOL_DIMS];
    *p = (hki_pooling){.rank = rank - 2, .divides = true};
    if (p->rank < 1)
        return HK_ERR(HK_INVALID_SHAPE, "pooling needs an input (N, C, spatial...), found rank %d", rank);
    HK_TRY(read_auto_pad(&pad, node));
    HK_TRY(read_list(p->kernel, node, "kernel_shape", p->rank, 1, 1));
    HK_TRY(read_list(p->stride, node, "strides", p->rank, 1, 1));
    HK_TRY(read_list(p->dilation, node, "dilations", p->rank, 1, 1));
    HK_TRY(read_list(pads, node, "pads", 2 * p->rank, 0, 0));
    p->counts_pad = has_attribute(node, "count_include_pad") && hki_attribute_int(node, "count_include_pad");
    bool ceil = has_attribute(node, "ceil_mode") && hki_attribute_int(node, "ceil_mode");
    for (int d = 0; d < p->rank; d++) {
        p->in[d] = dims[d + 2];
        p->begin[d] = pads[d];
        p->end[d] = pads[p->rank + d];
        HK_TRY(pool_dim(p, d, pad, ceil));
    }
    return NULL;
}

void hki_pooling_global(hki_pooling *p, int rank, const int64_t *dims)
{
    *p = (hki_pooling){.rank = rank - 2, .divides = true};
    for (int d = 0; d < p->rank; d++) {
        p->in[d] = p->kernel[d] = dims[d + 2];
        p->out[d] = p->stride[d] = p->dilation[d] = 1;
    }
}

hk_status hki_pooling_infer(hki_type *y, const hk_node *node, const hki_type *x)
{
    hki_pooling p;
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_pooling_read(&p, node, x->rank, x->dims));
    y->rank = x->rank;
    y->dims[0] = x->dims[0];
    y->dims[1] = x->dims[1];
    memcpy(y->dims + 2, p.out, (size_t)p.rank * sizeof *p.out);
    return NULL;
}

/* ---- The walk. ---- */

/* Which k of a window at output o see the input: [first, end), and how many count when padding does. */
typedef struct window {
    int64_t start, first, end, counted;
} window;

static window window_at(const hki_pooling *p, int d, int64_t o)
{
    int64_t start = o * p->stride[d] - p->begin[d], dilation = p->dilation[d];
    int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    int64_t left = p->in[d] - start, end = left <= 0 ? 0 : (left + dilation - 1) / dilation;
    int64_t padded = left + p->end[d], counted = padded <= 0 ? 0 : (padded + dilation - 1) / dilation;
    end = end < p->kernel[d] ? end : p->kernel[d];
    counted = counted < p->kernel[d] ? counted : p->kernel[d];
    return (window){start, first, end < first ? first : end, counted};
}

/* Writes the offsets of all taps of the windows, in order, into taps. */
static int64_t write_taps(int64_t *taps, const hki_pooling *p, const window *w, int64_t pixel_stride)
{
    int64_t at[HKI_POOL_DIMS], count = 0;
    for (int d = 0; d < p->rank; d++) {
        at[d] = w[d].first;
        if (w[d].first == w[d].end)
            return 0;
    }
    for (;;) {
        int64_t pixel = 0;
        for (int d = 0; d < p->rank; d++)
            pixel = pixel * p->in[d] + w[d].start + at[d] * p->dilation[d];
        taps[count++] = pixel * pixel_stride;
        int d = p->rank - 1;
        while (d >= 0 && ++at[d] == w[d].end) {
            at[d] = w[d].first;
            d--;
        }
        if (d < 0)
            return count;
    }
}

static double divisor_of(const hki_pooling *p, const window *w)
{
    double count = 1;
    for (int d = 0; d < p->rank; d++)
        count *= (double)(p->counts_pad ? w[d].counted : w[d].end - w[d].first);
    return p->divides && count > 0 ? count : 1;
}

/* Output pixels of one row (the last dim): alone at the borders, together where all taps are inside. */
static void walk_row(const hki_pool_walk *walk, int64_t sample, int64_t row, int64_t channel, int64_t channels,
                     int64_t *taps)
{
    const hki_pooling *p = walk->pooling;
    window w[HKI_POOL_DIMS];
    int last = p->rank - 1;
    int64_t rest = row, x_sample = hki_shape_count(p->in, 0, p->rank) * walk->x->dims[1];
    int64_t y_sample = hki_shape_count(p->out, 0, p->rank) * walk->x->dims[1];
    for (int d = last - 1; d >= 0; d--) {
        w[d] = window_at(p, d, rest % p->out[d]);
        rest /= p->out[d];
    }
    int64_t reach = (p->kernel[last] - 1) * p->dilation[last] + 1, s = p->stride[last];
    int64_t inner_end = p->in[last] + p->begin[last] < reach ? 0 : (p->in[last] + p->begin[last] - reach) / s + 1;
    int64_t inner_first = (p->begin[last] + s - 1) / s;
    inner_end = inner_end < p->out[last] ? inner_end : p->out[last];
    for (int64_t o = 0; o < p->out[last];) {
        bool inner = o >= inner_first && o < inner_end;
        w[last] = window_at(p, last, o);
        hkk_pool_taps t = {.taps = taps, .pixels = inner ? inner_end - o : 1, .channels = channels};
        t.tap_count = write_taps(taps, p, w, walk->pixel_stride);
        t.x_step = s * walk->pixel_stride;
        t.y_step = walk->pixel_stride;
        t.divisor = divisor_of(p, w);
        t.disjoint = walk->sets && walk->disjoint;
        int64_t pixel = row * p->out[last] + o;
        walk->visit(walk, &t, sample * x_sample + channel * walk->x_channel_stride,
                    sample * y_sample + channel * walk->y_channel_stride + pixel * walk->pixel_stride);
        o += t.pixels;
    }
}

static void zero_group(const hki_pool_walk *walk, int64_t sample, int64_t channel, int64_t channels)
{
    int64_t pixels = hki_shape_count(walk->pooling->in, 0, walk->pooling->rank), all = walk->x->dims[1];
    size_t size = hk_dtype_size(walk->x->dtype);
    char *dx = (char *)walk->x->data + (size_t)(sample * pixels * all + channel * walk->x_channel_stride) * size;
    if (walk->x->layout == HKI_PLAIN || channels == all) {
        memset(dx, 0, (size_t)(pixels * channels) * size);
        return;
    }
    for (int64_t i = 0; i < pixels; i++)
        memset(dx + (size_t)(i * all) * size, 0, (size_t)channels * size);
}

/* Forward: some rows of a sample, all channels. Gradient: all rows of a sample, a group of channels. */
static void walk_block(void *context, int64_t block, int worker)
{
    const hki_pool_walk *walk = context;
    int64_t *taps = walk->taps + worker * walk->max_taps, all = walk->x->dims[1];
    int64_t sample = block / walk->blocks_per_sample, part = block % walk->blocks_per_sample;
    int64_t first = 0, end = walk->rows, channel = 0, channels = all;
    if (walk->scatters) {
        channel = part * walk->group;
        channels = all - channel < walk->group ? all - channel : walk->group;
        if (!walk->sets || !walk->disjoint || !walk->covers)
            zero_group(walk, sample, channel, channels);
    } else {
        first = part * walk->rows_per_block;
        end = first + walk->rows_per_block < end ? first + walk->rows_per_block : end;
    }
    for (int64_t row = first; row < end; row++)
        walk_row(walk, sample, row, channel, channels, taps);
}

static int64_t max_taps(const hki_pooling *p)
{
    int64_t count = 1;
    for (int d = 0; d < p->rank; d++)
        count *= p->kernel[d] < p->in[d] ? p->kernel[d] : p->in[d];
    return count;
}

/* Whether windows are apart from each other, and whether together they cover all of x. */
static void see_overlap(hki_pool_walk *walk)
{
    const hki_pooling *p = walk->pooling;
    walk->disjoint = walk->covers = true;
    for (int d = 0; d < p->rank; d++) {
        int64_t reach = (p->kernel[d] - 1) * p->dilation[d] + 1, s = p->stride[d];
        int64_t end = (p->out[d] - 1) * s - p->begin[d] + reach; /* of the last window */
        walk->disjoint &= s >= reach || p->out[d] == 1;
        walk->covers &= p->dilation[d] == 1 && s <= reach && end >= p->in[d];
    }
}

hk_status hki_pool_walk_run(hki_pool_walk *walk)
{
    const hki_pooling *p = walk->pooling;
    const hk_tensor *x = walk->x;
    if (x->layout != walk->y->layout)
        return HK_ERR(HK_INTERNAL, "pooling found tensors of different layouts");
    int64_t pixels = hki_shape_count(p->in, 0, p->rank);
    walk->taps = walk->run->scratch;
    walk->max_taps = max_taps(p);
    walk->x_channel_stride = x->layout == HKI_PLAIN ? pixels : 1;
    walk->y_channel_stride = x->layout == HKI_PLAIN ? hki_shape_count(p->out, 0, p->rank) : 1;
    walk->pixel_stride = x->layout == HKI_PLAIN ? 1 : x->dims[1];
    walk->rows = hki_shape_count(p->out, 0, p->rank - 1);
    walk->group = x->dims[1] < 64 ? x->dims[1] : 64;
    see_overlap(walk);
    if (!x->dims[0] || !x->dims[1] || (!walk->scatters && !walk->rows))
        return NULL;
    int64_t row_bytes = x->dims[1] * p->out[p->rank - 1] * 4 * (int64_t)hk_dtype_size(x->dtype);
    int64_t row_blocks = hki_blocks(&walk->rows_per_block, walk->rows, row_bytes);
    walk->blocks_per_sample = walk->scatters ? (x->dims[1] + walk->group - 1) / walk->group : row_blocks;
    hki_pool_run(walk->run->pool, x->dims[0] * walk->blocks_per_sample, walk_block, walk);
    return NULL;
}

size_t hki_pool_scratch(const hki_pooling *pooling, int threads)
{
    return hki_scratch_size((max_taps(pooling) + 8) * (threads > 0 ? threads : 1), sizeof(int64_t));
}
