/* CumSum: running sums along an axis.
 *
 *   y[k] = x[0] + ... + x[k]        exclusive: without x[k];  reverse: from the end
 *
 * Sums run in the order of k, in float32 for float16 and bfloat16. The gradient is a CumSum in the other direction. */
#include "ops/shapes.h"
#include "tensor/number.h"

#define WIDTH 64 /* neighbouring lines that run together */

static hk_status axis_of(int *out, const hk_tensor *axis, int rank)
{
    int64_t number;
    HK_TRY(hki_number_read(&number, axis, "axis"));
    return hki_axis(out, number, rank);
}

static hk_status infer(hki_infer *c)
{
    const hk_tensor *data = hki_infer_data(c, 1);
    int axis;
    hki_type_copy(&c->out[0], c->in[0]);
    return data && c->in[0]->rank >= 0 ? axis_of(&axis, data, c->in[0]->rank) : NULL;
}

typedef struct cum_sum {
    const void *x;
    void *y;
    hk_dtype dtype;
    int64_t n, inner, pieces;
    bool exclusive, reverse;
} cum_sum;

/* A: accumulator; GET and PUT convert between an element and it. */
#define DEFINE_RUN(name, T, A, GET, PUT)                                                                               \
    static void run_##name(const cum_sum *s, int64_t base, int64_t width)                                              \
    {                                                                                                                  \
        const T *x = (const T *)s->x + base;                                                                           \
        T *y = (T *)s->y + base;                                                                                       \
        A sum[WIDTH] = {0};                                                                                            \
        for (int64_t k = 0; k < s->n; k++) {                                                                           \
            int64_t at = (s->reverse ? s->n - 1 - k : k) * s->inner;                                                   \
            for (int64_t i = 0; i < width; i++) {                                                                      \
                A before = sum[i];                                                                                     \
                sum[i] = before + GET(x[at + i]);                                                                      \
                y[at + i] = PUT(s->exclusive ? before : sum[i]);                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
#define AS_IS(v) (v)
#define WRAP(v)  ((uint64_t)(v))
DEFINE_RUN(float, float, float, AS_IS, AS_IS)
DEFINE_RUN(double, double, double, AS_IS, AS_IS)
DEFINE_RUN(float16, uint16_t, float, hki_float16_to_float, hki_float_to_float16)
DEFINE_RUN(bfloat16, uint16_t, float, hki_bfloat16_to_float, hki_float_to_bfloat16)
DEFINE_RUN(bits8, uint8_t, uint64_t, WRAP, (uint8_t))
DEFINE_RUN(bits16, uint16_t, uint64_t, WRAP, (uint16_t))
DEFINE_RUN(bits32, uint32_t, uint64_t, WRAP, (uint32_t))
DEFINE_RUN(bits64, uint64_t, uint64_t, WRAP, (uint64_t))

static void run_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const cum_sum *s = context;
    int64_t first = block % s->pieces * WIDTH, base = block / s->pieces * s->n * s->inner + first;
    int64_t width = s->inner - first < WIDTH ? s->inner - first : WIDTH;
    size_t size = hk_dtype_size(s->dtype);
    if (s->dtype == HK_FLOAT)
        run_float(s, base, width);
    else if (s->dtype == HK_DOUBLE)
        run_double(s, base, width);
    else if (s->dtype == HK_FLOAT16)
        run_float16(s, base, width);
    else if (s->dtype == HK_BFLOAT16)
        run_bfloat16(s, base, width);
    else if (size == 1)
        run_bits8(s, base, width);
    else if (size == 2)
        run_bits16(s, base, width);
    else if (size == 4)
        run_bits32(s, base, width);
    else
        run_bits64(s, base, width);
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    int axis;
    if (x->rank == 0)
        return HK_ERR(HK_INVALID_SHAPE, "x must have rank 1 or more, found a scalar");
    HK_TRY(axis_of(&axis, r->in[1], x->rank));
    cum_sum s = {.x = x->data,
                 .y = r->out[0]->data,
                 .dtype = x->dtype,
                 .n = x->dims[axis],
                 .inner = hki_shape_count(x->dims, axis + 1, x->rank),
                 .exclusive = hki_attribute_int(r->node, "exclusive") != 0,
                 .reverse = hki_attribute_int(r->node, "reverse") != 0};
    s.pieces = (s.inner + WIDTH - 1) / WIDTH;
    if (hki_shape_count(x->dims, 0, x->rank))
        hki_pool_run(r->pool, hki_shape_count(x->dims, 0, axis) * s.pieces, run_block, &s);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "CumSum", HK_VALUES(g->dy[0], g->x[1]),
                                  HK_ATTRIBUTES(HK_INT("exclusive", hki_attribute_int(g->node, "exclusive")),
                                                HK_INT("reverse", !hki_attribute_int(g->node, "reverse"))));
    return NULL;
}

static const hki_case cases[] = {
    {"f[5] i64[]=(0)", NULL},
    {"f[2,3] i32[]=(1)", "exclusive=1"},
    {"f[2,3,4] i64[]=(-2)", "reverse=1"},
    {"f[3,2] i64[1]=(0)", "exclusive=1 reverse=1"},
    {"f[2,0] i64[]=(0)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_cum_sum = {
    .name = "CumSum",
    .doc = "y[k] = x[0] + ... + x[k] along axis",
    .inputs = {{"x", "T", HKI_NUMERIC, 0}, {"axis", "T2", HKI_INDEX, 0}},
    .outputs = {{"y", "T", HKI_NUMERIC, 0}},
    .attributes = {{"exclusive", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"reverse", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{11, NULL}, {14, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};
