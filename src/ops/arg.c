/* ArgMax and ArgMin: y = index along an axis of the largest (smallest) element. Of equal ones the first, or with
 * select_last_index the last. A NaN is taken for the extreme, as NumPy does. */
#include "ops/order.h"
#include "ops/shapes.h"

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    int axis;
    bool keep = hki_attribute_int(c->node, "keepdims") != 0;
    y->dtype = HK_INT64;
    if (x->rank < 0)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(c->node, "axis"), x->rank));
    if (x->dims[axis] == 0)
        return HK_ERR(HK_INVALID_SHAPE, "axis %d has no element to choose", axis);
    y->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (i != axis || keep)
            y->dims[y->rank++] = i == axis ? 1 : x->dims[i];
    return NULL;
}

typedef struct arg {
    const void *x;
    hk_dtype dtype;
    int64_t *y;
    int64_t n, inner, lines, step;
    bool smallest, last;
} arg;

/* x - x is NaN for infinities too, so NaN is asked for directly. For float32 the loop is spelled out: it counts in
 * accuracy metrics. */
static int64_t line_of_floats(const arg *s, const float *x)
{
    int64_t best = 0;
    for (int64_t j = 1; j < s->n; j++) {
        float a = x[best * s->inner], b = x[j * s->inner];
        if (a != a) {
            if (!(s->last && b != b))
                continue;
        } else if (b == b && !(s->smallest ? b < a : b > a) && !(s->last && b == a)) {
            continue;
        }
        best = j;
    }
    return best;
}

static int64_t line_of_keys(const arg *s, int64_t from)
{
    int64_t best = 0;
    uint64_t flip = s->smallest ? UINT64_MAX : 0, best_key = 0;
    bool floats = hki_dtype_is_float(s->dtype);
    for (int64_t j = 0; j < s->n; j++) {
        uint64_t key = hki_order_key(s->x, s->dtype, from + j * s->inner);
        key = floats && key == UINT64_MAX ? key : key ^ flip; /* NaN stays on top */
        if (j == 0 || key > best_key || (s->last && key == best_key)) {
            best = j;
            best_key = key;
        }
    }
    return best;
}

static void run_lines(void *context, int64_t block, int worker)
{
    (void)worker;
    const arg *s = context;
    int64_t end = (block + 1) * s->step < s->lines ? (block + 1) * s->step : s->lines;
    for (int64_t line = block * s->step; line < end; line++) {
        int64_t from = line / s->inner * s->n * s->inner + line % s->inner;
        s->y[line] = s->dtype == HK_FLOAT ? line_of_floats(s, (const float *)s->x + from) : line_of_keys(s, from);
    }
}

static hk_status run_any(hki_run *r, bool smallest)
{
    const hk_tensor *x = r->in[0];
    int axis;
    HK_TRY(hki_axis(&axis, hki_attribute_int(r->node, "axis"), x->rank));
    arg s = {.x = x->data,
             .dtype = x->dtype,
             .y = r->out[0]->data,
             .n = x->dims[axis],
             .inner = hki_shape_count(x->dims, axis + 1, x->rank),
             .smallest = smallest,
             .last = hki_attribute_int(r->node, "select_last_index") != 0};
    s.lines = hki_shape_count(x->dims, 0, axis) * s.inner;
    if (s.lines == 0)
        return NULL;
    s.step = s.n < 16384 ? 16384 / s.n : 1;
    hki_pool_run(r->pool, (s.lines + s.step - 1) / s.step, run_lines, &s);
    return NULL;
}

static hk_status max_run(hki_run *r)
{
    return run_any(r, false);
}

static hk_status min_run(hki_run *r)
{
    return run_any(r, true);
}

static const hki_case cases[] = {
    {"f[3,4]{distinct}!", NULL},
    {"f[2,3,4]{distinct}!", "axis=-1 keepdims=0"},
    {"i32[2,3]=(1,3,3,2,2,0)", "axis=1 select_last_index=1"},
    {"f[5]!", "axis=0 keepdims=0"},
    {"f[2,0]!", "axis=0"},
    {NULL, NULL},
};

#define ARG_TABLE                                                                                                      \
    .inputs = {{"data", "T", HKI_NUMERIC, 0}}, .outputs = {{"reduced", "I", HKI_BIT(HK_INT64), 0}},                    \
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 0}, false},                                                        \
                   {"keepdims", HK_ATTRIBUTE_INT, {.i = 1}, false},                                                    \
                   {"select_last_index", HK_ATTRIBUTE_INT, {.i = 0}, false}},                                          \
    .versions = {{1, NULL}, {11, NULL}, {12, NULL}, {13, NULL}}, .infer = infer, .cases = cases

const hki_op hki_op_arg_max = {
    .name = "ArgMax",
    .doc = "y = index of the largest element of x along axis",
    ARG_TABLE,
    .run = max_run,
};

const hki_op hki_op_arg_min = {
    .name = "ArgMin",
    .doc = "y = index of the smallest element of x along axis",
    ARG_TABLE,
    .run = min_run,
};
