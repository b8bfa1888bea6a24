/* Tables and passes of Resize. See resize_pass.h. */
#include "ops/resize_pass.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/number.h"

/* ---- Passes ---- */

typedef struct pass pass;
struct pass {
    void (*fn)(const pass *p, int64_t outer, int64_t first, int64_t width);
    const hki_resize_table *table;
    const void *from;
    void *to;
    int64_t in, out, inner, pieces; /* lengths along the axis of the input and output of Resize */
    int64_t lines, step;            /* lines of the pass, and of a block */
    double extrapolation;
};

#define CHUNK 1024 /* neighbouring elements of a block */

#define DEFINE_PASS(name, T)                                                                                           \
    static void forward_##name(const pass *p, int64_t outer, int64_t first, int64_t width)                             \
    {                                                                                                                  \
        const T *from = (const T *)p->from + outer * p->in * p->inner + first;                                         \
        T *to = (T *)p->to + outer * p->out * p->inner + first;                                                        \
        for (int64_t i = 0; i < p->out; i++, to += p->inner) {                                                         \
            const int64_t *places = p->table->places + i * p->table->taps;                                             \
            const double *weights = p->table->weights + i * p->table->taps;                                            \
            for (int64_t j = 0; j < width && places[0] < 0; j++)                                                       \
                to[j] = (T)p->extrapolation;                                                                           \
            for (int64_t k = 0; k < p->table->taps && places[0] >= 0; k++) {                                           \
                const T *line = from + places[k] * p->inner;                                                           \
                T weight = (T)weights[k];                                                                              \
                for (int64_t j = 0; j < width && k == 0; j++)                                                          \
                    to[j] = weight * line[j];                                                                          \
                for (int64_t j = 0; j < width && k > 0; j++)                                                           \
                    to[j] += weight * line[j];                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void backward_##name(const pass *p, int64_t outer, int64_t first, int64_t width)                            \
    {                                                                                                                  \
        const T *from = (const T *)p->from + outer * p->out * p->inner + first;                                        \
        T *to = (T *)p->to + outer * p->in * p->inner + first;                                                         \
        for (int64_t i = 0; i < p->in; i++)                                                                            \
            memset(to + i * p->inner, 0, sizeof(T) * (size_t)width);                                                   \
        for (int64_t i = 0; i < p->out; i++, from += p->inner) {                                                       \
            const int64_t *places = p->table->places + i * p->table->taps;                                             \
            const double *weights = p->table->weights + i * p->table->taps;                                            \
            for (int64_t k = 0; k < p->table->taps && places[0] >= 0; k++) {                                           \
                T *line = to + places[k] * p->inner, weight = (T)weights[k];                                           \
                for (int64_t j = 0; j < width; j++)                                                                    \
                    line[j] += weight * from[j];                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_PASS(float, float)
DEFINE_PASS(double, double)

/* A block is a piece of a line of neighbours, or several short lines. */
static void run_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const pass *p = context;
    int64_t first = block % p->pieces * CHUNK, width = p->inner - first < CHUNK ? p->inner - first : CHUNK;
    int64_t outer = block / p->pieces * p->step, end = outer + p->step < p->lines ? outer + p->step : p->lines;
    for (; outer < end; outer++)
        p->fn(p, outer, first, width);
}

/* ---- Scratch: tables of all axes, then two buffers in the computing type ---- */

static bool is_wide(hk_dtype dtype)
{
    return dtype != HK_FLOAT && dtype != HK_FLOAT16 && dtype != HK_BFLOAT16;
}

/* in and out: dims of the input and output of Resize. */
hki_resize_layout hki_resize_scratch(const hk_node *node, hk_dtype dtype, int rank, const int64_t *in,
                                     const int64_t *out)
{
    hki_resize_layout l = {.size = 0};
    size_t largest = 1, size = is_wide(dtype) ? sizeof(double) : sizeof(float);
    for (int i = 0; i < rank; i++) {
        l.tables[i] = l.size;
        if (out[i] > 0)
            l.size +=
                (size_t)(out[i] * hki_resize_taps_bound(node, in[i], out[i])) * (sizeof(int64_t) + sizeof(double));
    }
    for (int i = 0; i <= rank; i++) { /* between the passes: axes before i are done */
        size_t count = (size_t)(hki_shape_count(out, 0, i) * hki_shape_count(in, i, rank));
        largest = count > largest ? count : largest;
    }
    l.size = (l.size + 63) / 64 * 64;
    for (int i = 0; i < 2; i++) {
        l.buffers[i] = l.size;
        l.size += (largest * size + 63) / 64 * 64;
    }
    return l;
}

hk_status hki_resize_tables(hki_resize_table *tables, const hki_resize *resize, const hki_resize_layout *l,
                            char *scratch, const hk_node *node)
{
    for (int i = 0; i < resize->rank; i++) {
        const hki_resize_axis *a = &resize->axes[i];
        hki_resize_table *t = &tables[i];
        if (a->identity || a->out < 1)
            continue;
        t->taps = hki_resize_taps(resize, a);
        int64_t bound = hki_resize_taps_bound(node, a->in, a->out);
        if (t->taps > bound)
            return HK_ERR(HK_INTERNAL, "axis %d reads %" PRId64 " places, more than %" PRId64, i, t->taps, bound);
        t->places = (int64_t *)(void *)(scratch + l->tables[i]);
        t->weights = (double *)(void *)(t->places + a->out * t->taps);
        for (int64_t k = 0; k < a->out; k++)
            if (!hki_resize_weights(t->places + k * t->taps, t->weights + k * t->taps, resize, a, k))
                t->places[k * t->taps] = -1;
    }
    return NULL;
}

/* Runs the passes from `from` to `to`, both of dtype; forward over ascending axes, backward over descending ones. */
hk_status hki_resize_passes(const hki_run *r, const hki_resize *resize, const hki_resize_table *tables,
                            const hki_resize_layout *l, const hk_tensor *from, hk_tensor *to, bool backward)
{
    hk_dtype work = is_wide(from->dtype) ? HK_DOUBLE : HK_FLOAT;
    const void *current = from->data;
    int buffer = 0, rank = resize->rank;
    int64_t dims[HK_MAX_RANK];
    memcpy(dims, from->dims, sizeof(dims));
    if (work != from->dtype) {
        void *converted = (char *)r->scratch + l->buffers[buffer];
        buffer ^= 1;
        HK_TRY(hki_convert(converted, work, current, from->dtype, hk_tensor_count(from)));
        current = converted;
    }
    for (int step = 0; step < rank; step++) {
        int i = backward ? rank - 1 - step : step;
        const hki_resize_axis *a = &resize->axes[i];
        if (a->identity)
            continue;
        bool wide = work == HK_DOUBLE;
        pass p = {.fn = backward ? (wide ? backward_double : backward_float)
                        : wide   ? forward_double
                                 : forward_float,
                  .table = &tables[i],
                  .from = current,
                  .to = (char *)r->scratch + l->buffers[buffer],
                  .in = a->in,
                  .out = a->out,
                  .inner = hki_shape_count(dims, i + 1, rank),
                  .lines = hki_shape_count(dims, 0, i),
                  .extrapolation = resize->extrapolation};
        p.pieces = (p.inner + CHUNK - 1) / CHUNK;
        p.step = p.inner * a->out < 16 * CHUNK ? 16 * CHUNK / (p.inner * a->out) : 1;
        hki_pool_run(r->pool, (p.lines + p.step - 1) / p.step * p.pieces, run_block, &p);
        dims[i] = backward ? a->in : a->out;
        current = p.to;
        buffer ^= 1;
    }
    return hki_convert(to->data, to->dtype, current, work, hk_tensor_count(to));
}
