/* Pad: y[i] = x[i - begin] inside, and outside a constant, the reflection, the edge or the torus, along every axis.
 *
 * Negative pads take elements away first; what remains is then padded. Gradient: halka PadGrad adds dy to the places it
 * was read from. */
#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/shapes.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

/* One axis: b elements before, n of x from first on, e after. */
typedef struct pad_axis {
    int64_t b, first, n, e;
} pad_axis;

static hk_status parse_mode(pad_mode *out, const hk_node *node)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode = hki_attribute_text(node, "mode");
    for (int i = 0; i < 4; i++)
        if (!strcmp(mode, names[i])) {
            *out = (pad_mode)i;
            return NULL;
        }
    return HK_ERR(HK_INVALID_ARGUMENT, "mode must be constant, reflect, edge or wrap, found '%s'", mode);
}

/* Pads per dimension: begin in out[i], end in out[rank + i]. */
static hk_status read_pads(int64_t *out, int rank, const hk_tensor *pads, const hk_tensor *axes_tensor)
{
    int64_t numbers[HKI_SHAPE_NUMBERS], axes[HKI_SHAPE_NUMBERS];
    int count, axis_count = rank;
    HK_TRY(hki_numbers_read(numbers, &count, pads, "pads"));
    for (int i = 0; i < rank; i++) {
        axes[i] = i;
        out[i] = out[rank + i] = 0;
    }
    if (axes_tensor) {
        HK_TRY(hki_numbers_read(axes, &axis_count, axes_tensor, "axes"));
        HK_TRY(hki_axes_normalise(axes, axis_count, rank));
    }
    if (count != 2 * axis_count)
        return HK_ERR(HK_INVALID_SHAPE, "pads must have two numbers for each of %d axes, found %d", axis_count, count);
    for (int i = 0; i < axis_count; i++) {
        out[axes[i]] = numbers[i];
        out[rank + axes[i]] = numbers[axis_count + i];
    }
    return NULL;
}

static hk_status plan_axis(pad_axis *out, int64_t dim, int64_t begin, int64_t end, pad_mode mode, int axis)
{
    const int64_t limit = (int64_t)1 << 48;
    if (begin < -limit || begin > limit || end < -limit || end > limit)
        return HK_ERR(HK_INVALID_ARGUMENT, "pads of axis %d are %" PRId64 " and %" PRId64 ", out of all proportion",
                      axis, begin, end);
    *out = (pad_axis){.b = begin > 0 ? begin : 0, .e = end > 0 ? end : 0, .first = begin < 0 ? -begin : 0};
    out->n = dim - out->first - (end < 0 ? -end : 0);
    if (out->n < 0)
        return HK_ERR(HK_INVALID_SHAPE, "negative pads of axis %d take away more than its %" PRId64 " elements", axis,
                      dim);
    if (out->n == 0 && mode != PAD_CONSTANT && out->b + out->e > 0)
        return HK_ERR(HK_INVALID_SHAPE, "axis %d has no element with which it could be padded", axis);
    return NULL;
}

static hk_status infer_dims(hki_type *y, const hki_type *x, const hk_tensor *pads, const hk_tensor *axes, pad_mode mode)
{
    int64_t numbers[2 * HK_MAX_RANK];
    HK_TRY(read_pads(numbers, x->rank, pads, axes));
    for (int i = 0; i < x->rank; i++) {
        int64_t begin = numbers[i], end = numbers[x->rank + i];
        pad_axis axis;
        y->dims[i] = x->dims[i];
        if (begin == 0 && end == 0)
            continue;
        y->dims[i] = HKI_DIM_UNKNOWN;
        if (x->dims[i] < 0)
            continue;
        HK_TRY(plan_axis(&axis, x->dims[i], begin, end, mode, i));
        y->dims[i] = axis.b + axis.n + axis.e;
    }
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *pads = hki_infer_data(c, 1), *axes = hki_infer_data(c, 3);
    pad_mode mode;
    HK_TRY(parse_mode(&mode, c->node));
    if (hki_infer_has(c, 2) && hki_type_known(c->in[2]) && hki_dims_product(c->in[2]->dims, 0, c->in[2]->rank) != 1)
        return HK_ERR(HK_INVALID_SHAPE, "constant_value must be a scalar, found rank %d", c->in[2]->rank);
    if (x->rank < 0)
        return NULL;
    c->out[0].rank = x->rank;
    if (pads && (axes || !hki_infer_has(c, 3)))
        return infer_dims(&c->out[0], x, pads, axes, mode);
    for (int i = 0; i < x->rank; i++)
        c->out[0].dims[i] = HKI_DIM_UNKNOWN;
    return NULL;
}

typedef struct padding {
    pad_mode mode;
    int rank;
    pad_axis axes[HK_MAX_RANK];
    int64_t dims[HK_MAX_RANK], padded[HK_MAX_RANK]; /* of the tensor without and with padding */
    int64_t strides[HK_MAX_RANK];                   /* of the one that is read */
    char *to;
    const char *from;
    size_t size;
    int64_t rows, step;
    hki_combine_fn *add;             /* gradient */
    const int64_t *starts, *sources; /* gradient: places of dy that were read from place i of axis a: see preimages */
    int64_t starts_at[HK_MAX_RANK], sources_at[HK_MAX_RANK];
} padding;

static hk_status plan(padding *p, const hki_run *r, const hk_tensor *x, const hk_tensor *y, const hk_tensor *pads,
                      const hk_tensor *axes)
{
    int64_t numbers[2 * HK_MAX_RANK];
    HK_TRY(parse_mode(&p->mode, r->node));
    HK_TRY(read_pads(numbers, x->rank, pads, axes));
    p->rank = x->rank;
    p->size = hk_dtype_size(x->dtype);
    for (int i = 0; i < x->rank; i++) {
        HK_TRY(plan_axis(&p->axes[i], x->dims[i], numbers[i], numbers[x->rank + i], p->mode, i));
        p->dims[i] = x->dims[i];
        p->padded[i] = p->axes[i].b + p->axes[i].n + p->axes[i].e;
    }
    return hki_output_check(y, x->rank, p->padded);
}

/* Place of x from which place i of the padded axis is read; -1: the constant. */
static int64_t source(const pad_axis *a, pad_mode mode, int64_t i)
{
    int64_t j = i - a->b, n = a->n;
    if (j >= 0 && j < n)
        return a->first + j;
    if (mode == PAD_CONSTANT)
        return -1;
    if (mode == PAD_EDGE || n == 1)
        return a->first + (j < 0 ? 0 : n - 1);
    if (mode == PAD_WRAP) {
        j %= n;
        return a->first + (j < 0 ? j + n : j);
    }
    int64_t period = 2 * (n - 1);
    j %= period;
    j = j < 0 ? j + period : j;
    return a->first + (j < n ? j : period - j);
}

static void pad_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const padding *p = context;
    int last = p->rank - 1;
    int64_t end = (block + 1) * p->step < p->rows ? (block + 1) * p->step : p->rows, width = p->padded[last];
    const pad_axis *a = &p->axes[last];
    for (int64_t row = block * p->step; row < end; row++) {
        int64_t offset = 0, rest = row;
        for (int i = last - 1; i >= 0; i--) {
            offset += source(&p->axes[i], p->mode, rest % p->padded[i]) * p->strides[i];
            rest /= p->padded[i];
        }
        const char *from = p->from + (size_t)offset * p->size;
        char *to = p->to + (size_t)(row * width) * p->size;
        memcpy(to + (size_t)a->b * p->size, from + (size_t)a->first * p->size, (size_t)a->n * p->size);
        for (int64_t i = 0; i < a->b; i++)
            memcpy(to + (size_t)i * p->size, from + (size_t)source(a, p->mode, i) * p->size, p->size);
        for (int64_t i = a->b + a->n; i < width; i++)
            memcpy(to + (size_t)i * p->size, from + (size_t)source(a, p->mode, i) * p->size, p->size);
    }
}

static void pad_constant(const padding *p, const hk_tensor *value, hki_pool *pool)
{
    uint64_t zero = 0;
    int64_t to[HK_MAX_RANK], to_offset = 0, from_offset = 0;
    hki_fill(p->to, value ? value->data : &zero, hki_shape_count(p->padded, 0, p->rank), p->size, pool);
    hki_row_major(to, p->rank, p->padded);
    hki_move move = {.element_size = p->size};
    for (int i = 0; i < p->rank; i++) {
        hki_move_add(&move, p->axes[i].n, to[i], p->strides[i]);
        to_offset += p->axes[i].b * to[i];
        from_offset += p->axes[i].first * p->strides[i];
    }
    if (hki_shape_count(move.dims, 0, move.rank) == 0)
        return;
    move.to = p->to + (size_t)to_offset * p->size;
    move.from = p->from + (size_t)from_offset * p->size;
    hki_move_run(&move, pool);
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0], *value = r->input_count > 2 ? r->in[2] : NULL;
    padding p = {.to = r->out[0]->data, .from = x->data};
    HK_TRY(plan(&p, r, x, r->out[0], r->in[1], r->input_count > 3 ? r->in[3] : NULL));
    hki_row_major(p.strides, x->rank, x->dims);
    if (p.rank == 0)
        hki_copy(p.to, p.from, 1, p.size, r->pool);
    else if (p.mode == PAD_CONSTANT)
        pad_constant(&p, value, r->pool);
    else if (hki_shape_count(p.padded, 0, p.rank)) {
        p.rows = hki_shape_count(p.padded, 0, p.rank - 1);
        int64_t blocks = hki_blocks(&p.step, p.rows, p.padded[p.rank - 1] * (int64_t)p.size);
        hki_pool_run(r->pool, blocks, pad_rows, &p);
    }
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *inputs[4] = {g->dy[0], g->x[0], g->x[1], g->node->input_count > 3 ? g->x[3] : NULL};
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "PadGrad", NULL, inputs[3] ? 4 : 3, inputs,
                      HK_ATTRIBUTES(HK_TEXT("mode", hki_attribute_text(g->node, "mode"))), 1, &g->dx[0]);
    return NULL;
}

/* Pad-1 calls its pads `paddings`. */
static hk_status from_1(hki_draft *draft)
{
    const hk_attribute *given = hki_draft_attribute(draft, "paddings");
    if (!given)
        return NULL;
    hk_attribute pads = *given;
    pads.name = "pads";
    hki_draft_remove_attribute(draft, "paddings");
    return hki_draft_set_attribute(draft, &pads);
}

/* Until opset 11 pads and value were attributes. */
static hk_status from_2(hki_draft *draft)
{
    hk_value *x = draft->input_count ? draft->inputs[0] : NULL;
    HK_TRY(hki_draft_ints_to_input(draft, "pads", 1));
    return hki_draft_float_to_input(draft, "value", 2, x && x->type.dtype ? x->type.dtype : HK_FLOAT);
}

static const hki_case cases[] = {
    {"f[3,2] i64[4]=(0,2,1,0)", NULL},
    {"f[3,2] i64[4]=(0,2,1,0) f[]=(1.5)!", "mode=constant"},
    {"f[3,4] i64[4]=(1,-1,0,2)", NULL},
    {"f[3,4] i64[4]=(1,2,2,3)", "mode=reflect"},
    {"f[3,4] i64[4]=(1,-1,2,2)", "mode=edge"},
    {"f[2,3] i64[4]=(3,1,1,5)", "mode=wrap"},
    {"f[2,3] i64[4]=(0,5,0,4)", "mode=reflect"},
    {"f[2,1,3] i64[2]=(1,2) - i64[1]=(-1)", "mode=reflect"},
    {"f[1,3] i64[2]=(1,2) - i64[1]=(0)", "mode=reflect"},
    {"f[0,2] i64[4]=(1,0,1,1)", NULL},
    {"f[] i64[0]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_pad = {
    .name = "Pad",
    .doc =
        "y is x with elements added (or removed) at both ends of axes: a constant, reflected, the edge, wrapped around",
    .inputs = {{"data", "T", HKI_ANY, 0},
               {"pads", "pads", HKI_BIT(HK_INT64), 0},
               {"constant_value", "T", HKI_ANY, HKI_OPTIONAL},
               {"axes", "Tind", HKI_INDEX, HKI_OPTIONAL}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"mode", HK_ATTRIBUTE_STRING, {.s = "constant"}, false}},
    .versions = {{1, from_1},
                 {2, from_2},
                 {11, NULL},
                 {13, NULL},
                 {18, NULL},
                 {19, NULL},
                 {21, NULL},
                 {23, NULL},
                 {24, NULL},
                 {25, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};

/* ---- The gradient ---- */

static hk_status backward_infer(hki_infer *c)
{
    pad_mode mode;
    hki_type_copy(&c->out[0], c->in[1]);
    return parse_mode(&mode, c->node);
}

static size_t backward_scratch(const hki_run *r)
{
    const hk_tensor *dy = r->in[0], *x = r->in[1];
    size_t count = 0;
    for (int i = 0; i < x->rank; i++)
        count += (size_t)dy->dims[i] + (size_t)x->dims[i] + 1;
    return count * sizeof(int64_t);
}

/* For each axis and each place j of x, the places of dy that came from it, ascending: sources[starts[j]] ..
 * sources[starts[j + 1]]. */
static void preimages(padding *p, int64_t *memory)
{
    for (int a = 0; a < p->rank; a++) {
        int64_t *starts = memory, *sources = starts + p->dims[a] + 1;
        p->starts_at[a] = starts - p->starts;
        p->sources_at[a] = sources - p->starts;
        memory = sources + p->padded[a];
        memset(starts, 0, sizeof(*starts) * (size_t)(p->dims[a] + 1));
        for (int64_t i = 0; i < p->padded[a]; i++) {
            int64_t j = source(&p->axes[a], p->mode, i);
            if (j >= 0)
                starts[j + 1]++;
        }
        for (int64_t j = 0; j < p->dims[a]; j++)
            starts[j + 1] += starts[j];
        for (int64_t i = 0; i < p->padded[a]; i++) {
            int64_t j = source(&p->axes[a], p->mode, i);
            if (j >= 0)
                sources[starts[j]++] = i;
        }
        memmove(starts + 1, starts, sizeof(*starts) * (size_t)p->dims[a]);
        starts[0] = 0;
    }
}

/* Adds one row of dy to one row of dx. */
static void add_row(const padding *p, char *to, const char *from)
{
    const pad_axis *a = &p->axes[p->rank - 1];
    int64_t width = p->padded[p->rank - 1];
    p->add(to + (size_t)a->first * p->size, from + (size_t)a->b * p->size, a->n);
    if (p->mode == PAD_CONSTANT)
        return;
    for (int64_t i = 0; i < a->b; i++)
        p->add(to + (size_t)source(a, p->mode, i) * p->size, from + (size_t)i * p->size, 1);
    for (int64_t i = a->b + a->n; i < width; i++)
        p->add(to + (size_t)source(a, p->mode, i) * p->size, from + (size_t)i * p->size, 1);
}

static void backward_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const padding *p = context;
    int last = p->rank - 1;
    int64_t end = (block + 1) * p->step < p->rows ? (block + 1) * p->step : p->rows;
    for (int64_t row = block * p->step; row < end; row++) {
        int64_t index[HK_MAX_RANK], counts[HK_MAX_RANK] = {0}, firsts[HK_MAX_RANK] = {0}, rest = row, combinations = 1;
        char *to = p->to + (size_t)(row * p->dims[last]) * p->size;
        for (int i = last - 1; i >= 0; i--) {
            index[i] = rest % p->dims[i];
            rest /= p->dims[i];
            const int64_t *starts = p->starts + p->starts_at[i];
            firsts[i] = p->sources_at[i] + starts[index[i]];
            counts[i] = starts[index[i] + 1] - starts[index[i]];
            combinations *= counts[i];
        }
        memset(to, 0, (size_t)p->dims[last] * p->size);
        for (int64_t k = 0; k < combinations; k++) {
            int64_t offset = 0;
            rest = k;
            for (int i = last - 1; i >= 0; i--) {
                offset += p->starts[firsts[i] + rest % counts[i]] * p->strides[i];
                rest /= counts[i];
            }
            add_row(p, to, p->from + (size_t)offset * p->size);
        }
    }
}

static hk_status backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0];
    hk_tensor *dx = r->out[0];
    padding p = {
        .to = dx->data, .from = dy->data, .starts = r->scratch, .add = hki_combine_find(HKI_COMBINE_ADD, dx->dtype)};
    HK_TRY(plan(&p, r, dx, dy, r->in[2], r->input_count > 3 ? r->in[3] : NULL));
    hki_row_major(p.strides, dy->rank, dy->dims);
    if (p.rank == 0) {
        hki_copy(p.to, p.from, 1, p.size, r->pool);
        return NULL;
    }
    if (hki_shape_count(p.dims, 0, p.rank) == 0)
        return NULL;
    preimages(&p, r->scratch);
    p.rows = hki_shape_count(p.dims, 0, p.rank - 1);
    int64_t blocks = hki_blocks(&p.step, p.rows, p.dims[p.rank - 1] * (int64_t)p.size);
    hki_pool_run(r->pool, blocks, backward_rows, &p);
    return NULL;
}

static hk_status backward_grad(hki_grad *g)
{
    hk_value *inputs[4] = {g->dy[0], g->x[2], NULL, g->node->input_count > 3 ? g->x[3] : NULL};
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "Pad", inputs[3] ? 4 : 2, inputs,
                                  HK_ATTRIBUTES(HK_TEXT("mode", hki_attribute_text(g->node, "mode"))));
    return NULL;
}

static const hki_case backward_cases[] = {
    {"f[4,4] f[3,2]! i64[4]=(0,2,1,0)", NULL},
    {"f[6,9] f[3,4]! i64[4]=(1,2,2,3)", "mode=reflect"},
    {NULL, NULL},
};

const hki_op hki_op_pad_grad = {
    .name = "PadGrad",
    .domain = "halka",
    .doc = "gradient of Pad: every element of dy is added to the place it was read from, in a fixed order",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"data", "T", HKI_FLOATS, HKI_SHAPE_ONLY},
               {"pads", "pads", HKI_BIT(HK_INT64), 0},
               {"axes", "Tind", HKI_INDEX, HKI_OPTIONAL}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .attributes = {{"mode", HK_ATTRIBUTE_STRING, {.s = "constant"}, false}},
    .infer = backward_infer,
    .run = backward_run,
    .scratch = backward_scratch,
    .grad = backward_grad,
    .cases = backward_cases,
};
