/* Slice: y[i, ...] = x[start + i * step, ...] along the axes named, with NumPy's clamping; steps may be negative.
 *
 * Gradient: halka SliceGrad puts dy back into zeros. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

typedef struct slice {
    int64_t start[HK_MAX_RANK], step[HK_MAX_RANK],
        length[HK_MAX_RANK]; /* length: HKI_DIM_UNKNOWN or a symbol where open */
} slice;

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One axis of known length: ONNX Slice-13, "Effective values". */
static void slice_axis(slice *s, int axis, int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (start < 0)
        start = start < -dim ? -1 : start + dim; /* far below stays below, without overflow */
    if (end < 0)
        end = end < -dim ? -1 : end + dim;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        s->length[axis] = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        if (step == INT64_MIN)
            step++; /* any step beyond the dim takes one element */
        s->length[axis] = start > end ? (start - end - 1) / -step + 1 : 0;
    }
    s->start[axis] = start;
    s->step[axis] = step;
}

/* What is known about the slice of dims. inputs: starts, ends, axes, steps; `given` says which exist, `data` holds what
 * is known. */
static hk_status slice_plan(slice *s, int rank, const int64_t *dims, const hk_tensor *const *data, const bool *given)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    int64_t numbers[4][HKI_SHAPE_NUMBERS];
    int counts[4] = {-1, -1, -1, -1}, count = -1;
    for (int i = 0; i < rank; i++) {
        s->start[i] = 0;
        s->step[i] = 1;
        s->length[i] = dims[i];
    }
    for (int i = 0; i < 4; i++) {
        if (!data[i])
            continue;
        HK_TRY(hki_numbers_read(numbers[i], &counts[i], data[i], names[i]));
        if (count >= 0 && counts[i] != count)
            return HK_ERR(HK_INVALID_SHAPE, "%s has %d numbers, expected %d as in the other lists", names[i], counts[i],
                          count);
        count = counts[i];
    }
    if (count > rank)
        return HK_ERR(HK_INVALID_SHAPE, "%d axes to slice for an input of rank %d", count, rank);
    if (counts[2] >= 0)
        HK_TRY(hki_axes_normalise(numbers[2], count, rank));
    bool known = counts[0] >= 0 && counts[1] >= 0 && (counts[2] >= 0 || !given[2]) && (counts[3] >= 0 || !given[3]);
    bool axes_known = counts[2] >= 0 || (!given[2] && count >= 0);
    for (int i = 0; i < (axes_known ? count : rank); i++) {
        int axis = axes_known && counts[2] >= 0 ? (int)numbers[2][i] : i;
        int64_t step = known && counts[3] >= 0 ? numbers[3][i] : 1;
        if (step == 0)
            return HK_ERR(HK_INVALID_ARGUMENT, "step %d is 0", i);
        if (known && dims[axis] >= 0)
            slice_axis(s, axis, dims[axis], numbers[0][i], numbers[1][i], step);
        else if (!known || numbers[0][i] != 0 || numbers[1][i] < INT32_MAX || step != 1)
            s->length[axis] = HKI_DIM_UNKNOWN;
    }
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    const hk_tensor *data[4];
    bool given[4];
    slice s;
    if (x->rank < 0)
        return NULL;
    for (int i = 0; i < 4; i++) {
        data[i] = hki_infer_data(c, i + 1);
        given[i] = hki_infer_has(c, i + 1);
    }
    HK_TRY(slice_plan(&s, x->rank, x->dims, data, given));
    c->out[0].rank = x->rank;
    memcpy(c->out[0].dims, s.length, sizeof(s.length[0]) * (size_t)x->rank);
    return NULL;
}

/* Reads the slice of `dims` from the inputs of a run that begin at `first`, and checks that it is the planned one. */
static hk_status run_plan(slice *s, const hki_run *r, int first, const hk_tensor *whole, const hk_tensor *part)
{
    const hk_tensor *data[4];
    bool given[4];
    for (int i = 0; i < 4; i++) {
        data[i] = first + i < r->input_count ? r->in[first + i] : NULL;
        given[i] = data[i] != NULL;
    }
    HK_TRY(slice_plan(s, whole->rank, whole->dims, data, given));
    return hki_output_check(part, whole->rank, s->length);
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    slice s;
    int64_t from[HK_MAX_RANK], to[HK_MAX_RANK], offset = 0;
    HK_TRY(run_plan(&s, r, 1, x, y));
    hki_row_major(from, x->rank, x->dims);
    hki_row_major(to, y->rank, y->dims);
    hki_move move = {.to = y->data, .element_size = hk_dtype_size(x->dtype)};
    for (int i = 0; i < x->rank; i++) {
        if (y->dims[i] == 0)
            return NULL;
        offset += s.start[i] * from[i];
        hki_move_add(&move, y->dims[i], to[i], y->dims[i] == 1 ? 0 : s.step[i] * from[i]);
    }
    move.from = (const char *)x->data + offset * (int64_t)move.element_size;
    hki_move_run(&move, r->pool);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *inputs[6] = {g->dy[0], g->x[0]};
    if (!g->need[0] || !g->dy[0])
        return NULL;
    for (int i = 1; i < g->node->input_count; i++)
        inputs[i + 1] = g->x[i];
    hk_graph_node(g->graph, "halka", "SliceGrad", NULL, g->node->input_count + 1, inputs, HK_NO_ATTRIBUTES, 1,
                  &g->dx[0]);
    return NULL;
}

/* ---- Slice-1 has starts, ends and axes as attributes ---- */

static hk_status from_1(hki_draft *draft)
{
    HK_TRY(hki_draft_ints_to_input(draft, "starts", 1));
    HK_TRY(hki_draft_ints_to_input(draft, "ends", 2));
    return hki_draft_ints_to_input(draft, "axes", 3);
}

static const hki_case cases[] = {
    {"f[5,4] i64[2]=(1,0) i64[2]=(3,2)", NULL},
    {"f[5,4] i64[1]=(-3) i64[1]=(1000) i64[1]=(0)", NULL},
    {"f[5,4,3] i64[2]=(0,3) i64[2]=(5,-100) i64[2]=(0,-2) i64[2]=(2,-1)", NULL},
    {"f[6] i64[1]=(-1) i64[1]=(-7) i64[1]=(0) i64[1]=(-2)", NULL},
    {"f[5] i64[1]=(4) i64[1]=(2)", NULL},
    {"f[0,3] i64[1]=(1) i64[1]=(3) i64[1]=(1)", NULL},
    {"f[2,3,4] i32[1]=(1) i32[1]=(2) i32[1]=(1) i32[1]=(1)", NULL},
    {NULL, NULL},
};

#define SLICE_LISTS                                                                                                    \
    {"starts", "Tind", HKI_INDEX, 0}, {"ends", "Tind", HKI_INDEX, 0}, {"axes", "Tind", HKI_INDEX, HKI_OPTIONAL},       \
    {                                                                                                                  \
        "steps", "Tind", HKI_INDEX, HKI_OPTIONAL                                                                       \
    }

const hki_op hki_op_slice = {
    .name = "Slice",
    .doc = "y = x[starts:ends:steps] along axes",
    .inputs = {{"data", "T", HKI_ANY, 0}, SLICE_LISTS},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .versions = {{1, from_1}, {10, NULL}, {11, NULL}, {13, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};

/* ---- The gradient ---- */

static hk_status backward_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

static hk_status backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0];
    hk_tensor *dx = r->out[0];
    slice s;
    int64_t from[HK_MAX_RANK], to[HK_MAX_RANK], offset = 0;
    HK_TRY(run_plan(&s, r, 2, dx, dy));
    uint64_t zero = 0;
    size_t size = hk_dtype_size(dx->dtype);
    hki_fill(dx->data, &zero, hki_shape_count(dx->dims, 0, dx->rank), size, r->pool);
    hki_row_major(from, dy->rank, dy->dims);
    hki_row_major(to, dx->rank, dx->dims);
    hki_move move = {.from = dy->data, .element_size = size};
    for (int i = 0; i < dx->rank; i++) {
        if (dy->dims[i] == 0)
            return NULL;
        offset += s.start[i] * to[i];
        hki_move_add(&move, dy->dims[i], dy->dims[i] == 1 ? 0 : s.step[i] * to[i], from[i]);
    }
    move.to = (char *)dx->data + offset * (int64_t)size;
    hki_move_run(&move, r->pool);
    return NULL;
}

static hk_status backward_grad(hki_grad *g)
{
    hk_value *inputs[5] = {g->dy[0]};
    if (!g->need[0] || !g->dy[0])
        return NULL;
    for (int i = 2; i < g->node->input_count; i++)
        inputs[i - 1] = g->x[i];
    g->dx[0] = hk_graph_apply(g->graph, "Slice", g->node->input_count - 1, inputs, HK_NO_ATTRIBUTES);
    return NULL;
}

static const hki_case backward_cases[] = {
    {"f[2,2] f[5,4]! i64[2]=(1,0) i64[2]=(3,2)", NULL},
    {"f[3] f[6]! i64[1]=(-1) i64[1]=(-7) i64[1]=(0) i64[1]=(-2)", NULL},
    {"f[0] f[5]! i64[1]=(4) i64[1]=(2)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_slice_grad = {
    .name = "SliceGrad",
    .domain = "halka",
    .doc = "gradient of Slice: zeros of the shape of data, with dy at the places that Slice took",
    .inputs = {{"dy", "T", HKI_ANY, 0}, {"data", "T", HKI_ANY, HKI_SHAPE_ONLY}, SLICE_LISTS},
    .outputs = {{"dx", "T", HKI_ANY, 0}},
    .infer = backward_infer,
    .run = backward_run,
    .grad = backward_grad,
    .cases = backward_cases,
};
