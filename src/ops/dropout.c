/* Dropout and its gradient. An element is kept or dropped by a random number that is a pure function of the seed, the
 * node, the step, the global index of the sample (dimension 0) and the element in the sample: not of threads, batches,
 * layouts or ranks. The gradient draws the same numbers again, so no mask has to be kept.
 *
 * Elements of a sample are numbered with the channels innermost from rank 4 on, the order in which convolutions leave
 * their results, and in plain order below. One Philox block gives the numbers of four elements. */
#include <string.h>

#include "ops/elementwise_op.h"
#include "tensor/number.h"

#define BLOCK 16384

typedef struct dropout {
    const char *x;
    char *y;
    uint8_t *mask;  /* or NULL */
    hk_dtype dtype;
    size_t size;
    int64_t total, sample_size, channels, pixels; /* pixels: 1 unless the numbering differs from the memory order */
    bool is_renumbered, is_channels_last;
    double scale;
    uint32_t threshold; /* 24 bits: numbers below are dropped */
    bool drop_all;
    hki_key key;
    uint64_t step, sample;
} dropout;

/* ---- Numbers. ---- */

static void draw(uint32_t out[4], const dropout *d, uint64_t sample, uint64_t group)
{
    uint64_t global = d->sample + sample;
    hki_philox(out, d->key, (uint32_t)d->step, (uint32_t)global, (uint32_t)group,
               (uint32_t)(group >> 32) ^ (uint32_t)(global >> 32) << 16);
}

/* The number of an element within its sample, from its place in memory. */
static int64_t element_number(const dropout *d, int64_t place)
{
    if (!d->is_renumbered)
        return place;
    return d->is_channels_last ? place % d->channels * d->pixels + place / d->channels /* numbered in plain order */
                               : place % d->pixels * d->channels + place / d->pixels;  /* channels innermost */
}

/* keep[i] = 0 or 1 for the elements begin .. begin+n-1 in memory order. */
static void decide(uint8_t *keep, const dropout *d, int64_t begin, int64_t n)
{
    uint32_t words[4];
    int64_t sample = begin / d->sample_size, place = begin % d->sample_size, last_group = -1, last_sample = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = element_number(d, place), group = number / 4;
        if (group != last_group || sample != last_sample) {
            draw(words, d, (uint64_t)sample, (uint64_t)group);
            last_group = group;
            last_sample = sample;
        }
        keep[i] = !d->drop_all && words[number % 4] >> 8 >= d->threshold;
        if (++place == d->sample_size) {
            place = 0;
            sample++;
        }
    }
}

/* ---- Blocks. ---- */

static void apply_float(float *y, const float *x, const uint8_t *keep, int64_t n, float scale)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = keep[i] ? x[i] * scale : 0;
}

static void apply_double(double *y, const double *x, const uint8_t *keep, int64_t n, double scale)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = keep[i] ? x[i] * scale : 0;
}

static void apply_half(const dropout *d, int64_t at, const uint8_t *keep, int64_t n)
{
    const uint16_t *x = (const uint16_t *)d->x + at;
    uint16_t *y = (uint16_t *)d->y + at;
    bool is_float16 = d->dtype == HK_FLOAT16;
    for (int64_t i = 0; i < n; i++) {
        float value = (is_float16 ? hki_float16_to_float(x[i]) : hki_bfloat16_to_float(x[i])) * (float)d->scale;
        y[i] = !keep[i] ? 0 : is_float16 ? hki_float_to_float16(value) : hki_float_to_bfloat16(value);
    }
}

static void run_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const dropout *d = context;
    uint8_t keep[512];
    int64_t end = (block + 1) * BLOCK < d->total ? (block + 1) * BLOCK : d->total;
    for (int64_t at = block * BLOCK, n; at < end; at += n) {
        n = end - at < (int64_t)sizeof keep ? end - at : (int64_t)sizeof keep;
        decide(keep, d, at, n);
        if (d->mask)
            memcpy(d->mask + at, keep, (size_t)n);
        if (!d->y)
            continue;
        if (d->dtype == HK_FLOAT)
            apply_float((float *)d->y + at, (const float *)d->x + at, keep, n, (float)d->scale);
        else if (d->dtype == HK_DOUBLE)
            apply_double((double *)d->y + at, (const double *)d->x + at, keep, n, d->scale);
        else
            apply_half(d, at, keep, n);
    }
}

/* ---- The operators. ---- */

static void set_order(dropout *d, const hk_tensor *x)
{
    d->total = hk_tensor_count(x);
    d->sample_size = x->rank ? hki_shape_count(x->dims, 1, x->rank) : 1;
    d->is_channels_last = x->layout == HKI_CHANNELS_LAST && x->rank >= 3;
    if (x->rank >= 3) {
        d->channels = x->dims[1];
        d->pixels = hki_shape_count(x->dims, 2, x->rank);
        d->is_renumbered = d->is_channels_last != (x->rank >= 4) && d->channels > 1 && d->pixels > 1;
    }
}

/* Reads ratio and training_mode, inputs `first` and `first` + 1. */
static hk_status read_mode(double *out_ratio, bool *out_training, const hki_run *r, int first)
{
    *out_ratio = first < r->input_count && r->in[first] ? hki_tensor_get_double(r->in[first], 0) : 0.5;
    *out_training = first + 1 < r->input_count && r->in[first + 1] && hki_tensor_get_int(r->in[first + 1], 0) != 0;
    if (*out_training && !(*out_ratio >= 0 && *out_ratio <= 1))
        return HK_ERR(HK_INVALID_ARGUMENT, "input 'ratio': expected 0 to 1, found %g", *out_ratio);
    return NULL;
}

static hk_status drop(hki_run *r, int first, uint64_t seed, uint64_t stream)
{
    double ratio;
    bool training;
    HK_TRY(read_mode(&ratio, &training, r, first));
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0], *mask = r->output_count > 1 ? r->out[1] : NULL;
    if (!training || ratio == 0) {
        if (y && y->data != x->data)
            memcpy(y->data, x->data, hk_tensor_size(x));
        if (mask)
            memset(mask->data, 1, hk_tensor_size(mask));
        return NULL;
    }
    dropout d = {.x = x->data, .y = y ? y->data : NULL, .mask = mask ? mask->data : NULL, .dtype = x->dtype,
                 .scale = 1 / (1 - ratio), .threshold = (uint32_t)(ratio * 0x1p24), .drop_all = ratio == 1,
                 .key = hki_key_create(seed, HKI_STREAM_DROPOUT + stream), .step = r->step, .sample = r->sample};
    set_order(&d, x);
    hki_pool_run(r->pool, (d.total + BLOCK - 1) / BLOCK, run_block, &d);
    return NULL;
}

/* The attribute `seed` replaces that of the run. */
static uint64_t seed_of(const hki_run *r)
{
    const hk_attribute *seed = hki_attribute_find(r->node, "seed");
    return seed ? (uint64_t)seed->as.i : r->seed;
}

static hk_status dropout_run(hki_run *r)
{
    return drop(r, 1, seed_of(r), r->node->stream);
}

static hk_status dropout_backward_run(hki_run *r)
{
    return drop(r, 1, seed_of(r), (uint64_t)hki_attribute_int(r->node, "stream"));
}

static hk_status dropout_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[0]);
    if (c->output_count > 1) {
        hki_type_copy(&c->out[1], c->in[0]);
        c->out[1].dtype = HK_BOOL;
    }
    for (int i = 1; i < 3; i++) {
        bool is_known = hki_infer_has(c, i) && hki_type_known(c->in[i]);
        if (is_known && hki_shape_count(c->in[i]->dims, 0, c->in[i]->rank) != 1)
            return HK_ERR(HK_INVALID_SHAPE, "input '%s' must be a scalar", i == 1 ? "ratio" : "training_mode");
    }
    return NULL;
}

static hk_status backward(hki_grad *g, uint64_t stream)
{
    const hk_attribute *seed = hki_attribute_find(g->node, "seed");
    hk_attribute attributes[2] = {HK_INT("stream", (int64_t)stream)};
    hk_value *inputs[3] = {g->dy[0]};
    for (int i = 1; i < 3 && i < g->node->input_count; i++)
        inputs[i] = g->x[i];
    if (seed)
        attributes[1] = *seed;
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "DropoutGrad", NULL, g->node->input_count, inputs, seed ? 2 : 1, attributes, 1,
                      &g->dx[0]);
    return NULL;
}

static hk_status dropout_grad(hki_grad *g)
{
    return backward(g, g->node->stream);
}

static hk_status dropout_backward_grad(hki_grad *g)
{
    return backward(g, (uint64_t)hki_attribute_int(g->node, "stream"));
}

/* ---- Older versions. ---- */

/* What these files call training is no matter: a loaded model infers until it is trained. */
static hk_status dropout_from_6(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "consumed_inputs");
    hki_draft_remove_attribute(draft, "is_test");
    return NULL;
}

static hk_status dropout_from_10(hki_draft *draft)
{
    hk_dtype dtype = draft->input_count && draft->inputs[0] ? draft->inputs[0]->type.dtype : HK_UNDEFINED;
    return hki_draft_float_to_input(draft, "ratio", 1, dtype ? dtype : HK_FLOAT);
}

static const hki_case dropout_cases[] = {
    {"f[2,3] f[]=(0.5)! bool[]=(1)", "seed=7"},
    {"f[2,3,2,2] f[]=(0.25)! bool[]=(1)", "seed=7"},
    {"f[3,5,7] f[]=(0.5)! bool[]=(1)", "seed=1"},
    {"f[2,3] f[]=(0.5)! bool[]=(0)", NULL},
    {"f[2,3]", NULL},
    {"f[] f[]=(0.5)! bool[]=(1)", "seed=3"},
    {"f[2,3] f[]=(1)! bool[]=(1)", NULL},
    {"f[0,3] f[]=(0.5)! bool[]=(1)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_dropout = {
    .name = "Dropout",
    .doc = "training: output = data / (1 - ratio) where a random number is at least ratio, else 0; otherwise output = "
           "data",
    .inputs = {{"data", "T", HKI_FLOATS, 0},
               {"ratio", "T1", HKI_FLOATS, HKI_OPTIONAL},
               {"training_mode", "T2", HKI_BOOLS, HKI_OPTIONAL}},
    .outputs = {{"output", "T", HKI_FLOATS, 0}, {"mask", "T2", HKI_BOOLS, HKI_OPTIONAL}},
    .attributes = {{"seed", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, NULL}, {6, dropout_from_6}, {7, NULL}, {10, dropout_from_10}, {12, NULL}, {13, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM | HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = dropout_infer,
    .run = dropout_run,
    .grad = dropout_grad,
    .cases = dropout_cases,
};

const hki_op hki_op_dropout_grad = {
    .name = "DropoutGrad",
    .domain = "halka",
    .doc = "gradient of Dropout: draws its numbers again",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"ratio", "T1", HKI_FLOATS, HKI_OPTIONAL},
               {"training_mode", "T2", HKI_BOOLS, HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"seed", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"stream", HK_ATTRIBUTE_INT, {.i = 0}, true}},
    .flags = HKI_OP_RANDOM | HKI_OP_ELEMENTWISE, /* its numbers change with the step: never folded */
    .layout = HKI_LAYOUT_SAME,
    .infer = dropout_infer,
    .run = dropout_backward_run,
    .grad = dropout_backward_grad,
};
