/* See batch_norm.h. Work is cut in segments by the shape alone; moments of segments are merged in a binary tree, sums
 * by the reduction engine. float64 takes plain loops, one channel after the other. Per-channel numbers are handed about
 * as doubles that hold floats for float32. */
#include "ops/batch_norm.h"

#include "ops/movement.h"
#include "ops/reduction.h"
#include "ops/widen.h"

/* Rows of a segment: 64 channels of them stay in the first-level cache for the second pass over the data. */
static int64_t rows_per_segment(int64_t channels)
{
    int64_t width = channels < 64 ? channels : 64, rows = 64;
    while (rows * 2 * width <= 4096)
        rows *= 2;
    return rows;
}

void hki_batch_shape_read(hki_batch_shape *s, const hk_tensor *x)
{
    s->channels = x->rank > 1 ? x->dims[1] : 1;
    s->pixels = hki_shape_count(x->dims, 2, x->rank);
    s->count = x->dims[0] * s->pixels;
    s->by_planes = x->layout == HKI_PLAIN && s->pixels != 1;
    s->segment = s->by_planes ? s->pixels : rows_per_segment(s->channels);
    s->segments = s->by_planes ? x->dims[0] : (s->count + s->segment - 1) / s->segment;
}

size_t hki_batch_scratch(const hki_batch_shape *s, hk_dtype dtype)
{
    if (dtype != HK_FLOAT)
        return 0;
    hki_reduction plan;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, s->segments, 2 * s->channels);
    int64_t vectors = 8 * s->channels + 2 * s->channels * s->segments + plan.scratch_count;
    return hki_scratch_size(vectors, sizeof(float));
}

/* ---- float32: one block per segment (or a few). ---- */

typedef struct batch_work {
    const hki_batch_shape *s;
    const hkk_normalize_kernels *k;
    const float *x, *dy;
    float *y;                              /* dx for gradients */
    const float *mean, *scale, *bias;      /* per channel; scale, bias: of y, or a, d of dx */
    const float *slope;                    /* b of dx */
    const float *relu_bias;                /* of gradients, NULL without relu */
    bool relu;                             /* forward */
    float *partial;                        /* segments x 2 x channels */
    int64_t segments_per_block;
    void (*segment)(const struct batch_work *w, int64_t segment);
} batch_work;

static void block(void *context, int64_t index, int worker)
{
    (void)worker;
    const batch_work *w = context;
    int64_t end = (index + 1) * w->segments_per_block;
    end = end < w->s->segments ? end : w->s->segments;
    for (int64_t i = index * w->segments_per_block; i < end; i++)
        w->segment(w, i);
}

static void run_segments(batch_work *w, const hki_run *r, void (*segment)(const batch_work *w, int64_t segment))
{
    w->segment = segment;
    int64_t blocks = hki_blocks(&w->segments_per_block, w->s->segments, w->s->segment * w->s->channels * 4);
    hki_pool_run(r->pool, blocks, block, w);
}

/* Elements per channel of a segment. */
static int64_t segment_count(const hki_batch_shape *s, int64_t segment)
{
    int64_t left = s->count - segment * s->segment;
    return left < s->segment ? left : s->segment;
}

static int64_t segment_offset(const hki_batch_shape *s, int64_t segment)
{
    return segment * s->segment * s->channels;
}

static void moments_segment(const batch_work *w, int64_t i)
{
    const hki_batch_shape *s = w->s;
    float *mean = w->partial + i * 2 * s->channels, *m2 = mean + s->channels;
    const float *x = w->x + segment_offset(s, i);
    if (!s->by_planes)
        w->k->moments_columns(mean, m2, x, segment_count(s, i), s->channels);
    for (int64_t c = 0; c < s->channels && s->by_planes; c++)
        w->k->moments_row(mean + c, m2 + c, x + c * s->pixels, s->pixels);
}

/* Merges neighbours, then neighbours of neighbours: the tree depends on the number of segments alone. */
static void merge_tree(const batch_work *w)
{
    const hki_batch_shape *s = w->s;
    for (int64_t step = 1; step < s->segments; step *= 2)
        for (int64_t i = 0; i + step < s->segments; i += 2 * step) {
            float *a = w->partial + i * 2 * s->channels, *b = w->partial + (i + step) * 2 * s->channels;
            int64_t middle = (i + step) * s->segment, end = middle + step * s->segment;
            w->k->merge_moments(a, a + s->channels, b, b + s->channels, middle - i * s->segment,
                                (end < s->count ? end : s->count) - middle, s->channels);
        }
}

static void apply_segment(const batch_work *w, int64_t i)
{
    const hki_batch_shape *s = w->s;
    int64_t at = segment_offset(s, i);
    if (!s->by_planes)
        w->k->apply_columns(w->y + at, w->x + at, w->mean, w->scale, w->bias, segment_count(s, i), s->channels,
                            w->relu);
    for (int64_t c = 0; c < s->channels && s->by_planes; c++)
        w->k->apply_row(w->y + at + c * s->pixels, w->x + at + c * s->pixels, s->pixels, w->mean[c], w->scale[c],
                        w->bias[c], w->relu);
}

static void grad_sums_segment(const batch_work *w, int64_t i)
{
    const hki_batch_shape *s = w->s;
    int64_t at = segment_offset(s, i);
    float *sums = w->partial + i * 2 * s->channels, *products = sums + s->channels;
    if (!s->by_planes)
        w->k->grad_sums_columns(sums, products, w->dy + at, w->x + at, w->mean, w->scale, w->relu_bias,
                                segment_count(s, i), s->channels);
    for (int64_t c = 0; c < s->channels && s->by_planes; c++)
        w->k->grad_sums_row(sums + c, products + c, w->dy + at + c * s->pixels, w->x + at + c * s->pixels, s->pixels,
                            w->mean[c], w->scale[c], w->relu_bias ? w->relu_bias[c] : 0, w->relu_bias != NULL);
}

static void grad_segment(const batch_work *w, int64_t i)
{
    const hki_batch_shape *s = w->s;
    int64_t at = segment_offset(s, i);
    if (!s->by_planes)
        w->k->grad_columns(w->y + at, w->dy + at, w->x + at, w->mean, w->scale, w->slope, w->bias,
                           w->relu_bias, segment_count(s, i), s->channels);
    for (int64_t c = 0; c < s->channels && s->by_planes; c++)
        w->k->grad_row(w->y + at + c * s->pixels, w->dy + at + c * s->pixels, w->x + at + c * s->pixels, s->pixels,
                       w->mean[c], w->scale[c], w->slope[c], w->bias[c], w->relu_bias ? w->relu_bias[c] : 0,
                       w->relu_bias != NULL);
}

/* ---- float64: element i of channel c. ---- */

static int64_t element_of(const hki_batch_shape *s, int64_t c, int64_t i)
{
    return s->by_planes ? (i / s->pixels * s->channels + c) * s->pixels + i % s->pixels : i * s->channels + c;
}

static void moments_double(double *mean, double *variance, const hki_batch_shape *s, const double *x)
{
    for (int64_t c = 0; c < s->channels; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < s->count; i++)
            sum += x[element_of(s, c, i)];
        mean[c] = sum / (double)s->count;
        for (int64_t i = 0; i < s->count; i++) {
            double d = x[element_of(s, c, i)] - mean[c];
            squares += d * d;
        }
        variance[c] = squares / (double)s->count;
    }
}

/* ---- What the operators call. ---- */

/* Copies doubles that hold floats into the next vector of the scratch. */
static float *next_vector(float **scratch, const double *from, int64_t n)
{
    float *to = *scratch;
    *scratch += n;
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
    return to;
}

void hki_batch_moments(double *mean, double *variance, const hki_batch_shape *s, const hk_tensor *x, const hki_run *r,
                       void *scratch)
{
    if (x->dtype == HK_DOUBLE || !s->count) {
        moments_double(mean, variance, s, x->data);
        return;
    }
    batch_work w = {.s = s, .k = r->k->normalize, .x = x->data, .partial = scratch};
    run_segments(&w, r, moments_segment);
    merge_tree(&w);
    for (int64_t c = 0; c < s->channels; c++) {
        mean[c] = w.partial[c];
        variance[c] = w.partial[s->channels + c] / (float)s->count;
    }
}

/* relu as ONNX's: NaN comes through. */
static void apply_double(double *y, const hki_batch_shape *s, const double *x, const double *mean,
                         const double *inv_std, const double *scale, const double *bias, bool relu)
{
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t i = 0; i < s->count; i++) {
            int64_t at = element_of(s, c, i);
            double v = (x[at] - mean[c]) * inv_std[c] * scale[c] + bias[c];
            y[at] = relu && v < 0 ? 0 : v;
        }
}

void hki_batch_apply(hk_tensor *y, const hki_batch_shape *s, const hk_tensor *x, const double *mean,
                     const double *inv_std, const hk_tensor *scale, const hk_tensor *bias, bool relu, const hki_run *r,
                     void *scratch)
{
    if (x->dtype == HK_DOUBLE) {
        apply_double(y->data, s, x->data, mean, inv_std, scale->data, bias->data, relu);
        return;
    }
    float *vectors = scratch;
    batch_work w = {.s = s, .k = r->k->normalize, .x = x->data, .y = y->data, .bias = bias->data, .relu = relu};
    w.mean = next_vector(&vectors, mean, s->channels);
    float *product = next_vector(&vectors, inv_std, s->channels);
    for (int64_t c = 0; c < s->channels; c++)
        product[c] = product[c] * ((const float *)scale->data)[c];
    w.scale = product;
    run_segments(&w, r, apply_segment);
}

/* dy of element `at` of channel c, as far as it counts; *distance = x - mean. */
static double counted_dy(double *distance, const hki_batch_grad *g, int64_t c, int64_t at)
{
    *distance = ((const double *)g->x->data)[at] - g->mean[c];
    bool passed = !g->relu_bias || *distance * g->a[c] + ((const double *)g->relu_bias->data)[c] > 0;
    return passed ? ((const double *)g->dy->data)[at] : 0;
}

static batch_work grad_work(const hki_batch_grad *g, float **vectors)
{
    batch_work w = {.s = g->shape, .k = g->run->k->normalize, .x = g->x->data, .dy = g->dy->data};
    w.relu_bias = g->relu_bias ? g->relu_bias->data : NULL;
    *vectors = g->scratch;
    w.mean = next_vector(vectors, g->mean, g->shape->channels);
    w.scale = next_vector(vectors, g->a, g->shape->channels);
    return w;
}

void hki_batch_grad_sums(double *sum_dy, double *sum_dy_x, const hki_batch_grad *g)
{
    const hki_batch_shape *s = g->shape;
    for (int64_t c = 0; c < s->channels && g->x->dtype == HK_DOUBLE; c++) {
        sum_dy[c] = sum_dy_x[c] = 0;
        for (int64_t i = 0; i < s->count; i++) {
            double distance, dy = counted_dy(&distance, g, c, element_of(s, c, i));
            sum_dy[c] += dy;
            sum_dy_x[c] += dy * distance;
        }
    }
    if (g->x->dtype == HK_DOUBLE)
        return;
    float *vectors;
    batch_work w = grad_work(g, &vectors);
    float *sums = vectors;
    w.partial = vectors + 2 * s->channels;
    run_segments(&w, g->run, grad_sums_segment);
    hki_reduction plan;
    hki_reduction_plan_matrix(&plan, HKK_SUM, 1, s->segments, 2 * s->channels);
    hki_reduction_run(&plan, sums, w.partial, HK_FLOAT, w.partial + s->segments * 2 * s->channels, g->run->pool,
                      g->run->k);
    for (int64_t c = 0; c < s->channels; c++) {
        sum_dy[c] = sums[c];
        sum_dy_x[c] = sums[s->channels + c];
    }
}

void hki_batch_grad_apply(hk_tensor *dx, const hki_batch_grad *g, const double *b, const double *d)
{
    const hki_batch_shape *s = g->shape;
    for (int64_t c = 0; c < s->channels && g->x->dtype == HK_DOUBLE; c++)
        for (int64_t i = 0; i < s->count; i++) {
            int64_t at = element_of(s, c, i);
            double distance, dy = counted_dy(&distance, g, c, at);
            ((double *)dx->data)[at] = g->a[c] * dy - b[c] * distance - d[c];
        }
    if (g->x->dtype == HK_DOUBLE)
        return;
    float *vectors;
    batch_work w = grad_work(g, &vectors);
    w.y = dx->data;
    w.slope = next_vector(&vectors, b, s->channels);
    w.bias = next_vector(&vectors, d, s->channels);
    run_segments(&w, g->run, grad_segment);
}
