/* Resize and its gradient, by one pass per axis over separable weights; Upsample, its old name.
 *
 * Interpolation computes in float32 for float16, bfloat16 and float32, in float64 for the rest, and converts once at
 * the end. Nearest moves elements of any type. The gradient runs the transposed passes in reverse: each dx[j] gathers
 * its outputs in ascending order. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/resize_pass.h"
#include "ops/shapes.h"
#include "tensor/number.h"

/* ---- Inputs ---- */

static const hk_tensor *not_empty(const hk_tensor *tensor)
{
    return tensor && hk_tensor_count(tensor) > 0 ? tensor : NULL;
}

/* Inputs of a run, of which roi is the one at `first`. */
static hki_resize_inputs run_inputs(const hki_run *r, int first)
{
    const hk_tensor *list[3] = {0};
    for (int i = 0; i < 3 && first + i < r->input_count; i++)
        list[i] = r->in[first + i];
    return (hki_resize_inputs){not_empty(list[0]), not_empty(list[1]), not_empty(list[2]), false};
}

static bool infer_given(const hki_infer *c, int i)
{
    return hki_infer_has(c, i) && !(c->in[i]->rank == 1 && c->in[i]->dims[0] == 0);
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_resize_inputs inputs = {not_empty(hki_infer_data(c, 1)), not_empty(hki_infer_data(c, 2)),
                                not_empty(hki_infer_data(c, 3)), false};
    hki_resize resize;
    if (x->rank < 0)
        return NULL;
    for (int i = 1; i < 4; i++) /* a list that exists but is not known yet, nor known to be empty */
        inputs.open = inputs.open || (infer_given(c, i) && !hki_infer_data(c, i));
    HK_TRY(hki_resize_read(&resize, c->node, x->rank, x->dims, &inputs));
    c->out[0].rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        c->out[0].dims[i] = resize.axes[i].out;
    return NULL;
}

static hk_status check_shape(const hki_resize *resize, const hk_tensor *out)
{
    int64_t dims[HK_MAX_RANK];
    for (int i = 0; i < resize->rank; i++)
        dims[i] = resize->axes[i].out;
    return hki_output_check(out, resize->rank, dims);
}

static hk_status read_run(hki_resize *resize, const hki_run *r, int first, const hk_tensor *x, const hk_tensor *y)
{
    hki_resize_inputs inputs = run_inputs(r, first);
    HK_TRY(hki_resize_read(resize, r->node, x->rank, x->dims, &inputs));
    return check_shape(resize, y);
}

/* ---- Nearest: elements of any type, one row of y at a time ---- */

typedef struct nearest {
    const hki_resize *resize;
    const hki_resize_table *tables;
    int64_t strides[HK_MAX_RANK]; /* of x */
    const char *from;
    char *to;
    size_t size;
    int64_t rows, step;
    uint64_t outside; /* the extrapolation value */
} nearest;

static void copy_elements(const nearest *n, char *to, const char *from, const int64_t *places, int64_t width)
{
    for (int64_t i = 0; i < width; i++) {
        const char *element = places[i] < 0 ? (const char *)&n->outside : from + (size_t)places[i] * n->size;
        if (n->size == 4)
            memcpy(to + 4 * i, element, 4);
        else
            memcpy(to + (size_t)i * n->size, element, n->size);
    }
}

static void nearest_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const nearest *n = context;
    int last = n->resize->rank - 1;
    int64_t end = (block + 1) * n->step < n->rows ? (block + 1) * n->step : n->rows;
    const hki_resize_axis *axes = n->resize->axes;
    int64_t width = axes[last].out;
    for (int64_t row = block * n->step; row < end; row++) {
        int64_t rest = row, offset = 0;
        bool outside = false;
        for (int i = last - 1; i >= 0; i--) {
            int64_t at = rest % axes[i].out;
            int64_t place = axes[i].identity ? at : n->tables[i].places[at];
            outside = outside || place < 0;
            offset += place * n->strides[i];
            rest /= axes[i].out;
        }
        char *to = n->to + (size_t)(row * width) * n->size;
        if (outside)
            hki_fill(to, &n->outside, width, n->size, NULL);
        else if (axes[last].identity)
            memcpy(to, n->from + (size_t)offset * n->size, (size_t)width * n->size);
        else
            copy_elements(n, to, n->from + (size_t)offset * n->size, n->tables[last].places, width);
    }
}

static hk_status run_nearest(const hki_run *r, const hki_resize *resize, const hki_resize_table *tables)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    nearest n = {.resize = resize,
                 .tables = tables,
                 .from = x->data,
                 .to = y->data,
                 .size = hk_dtype_size(x->dtype),
                 .rows = hki_shape_count(y->dims, 0, y->rank - 1)};
    hki_row_major(n.strides, x->rank, x->dims);
    HK_TRY(hki_convert(&n.outside, x->dtype, &resize->extrapolation, HK_DOUBLE, 1));
    int64_t blocks = hki_blocks(&n.step, n.rows, y->dims[y->rank - 1] * (int64_t)n.size);
    hki_pool_run(r->pool, blocks, nearest_rows, &n);
    return NULL;
}

/* ---- Resize ---- */

static size_t scratch(const hki_run *r)
{
    const hk_tensor *x = r->in[0];
    return hki_resize_scratch(r->node, x->dtype, x->rank, x->dims, r->out[0]->dims).size;
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    hki_resize resize;
    hki_resize_table tables[HK_MAX_RANK];
    HK_TRY(read_run(&resize, r, 1, x, y));
    if (hk_tensor_count(y) == 0)
        return NULL;
    if (x->rank == 0) {
        memcpy(y->data, x->data, hk_dtype_size(x->dtype));
        return NULL;
    }
    hki_resize_layout l = hki_resize_scratch(r->node, x->dtype, x->rank, x->dims, y->dims);
    HK_TRY(hki_resize_tables(tables, &resize, &l, r->scratch, r->node));
    if (resize.mode == HKI_RESIZE_NEAREST)
        return run_nearest(r, &resize, tables);
    return hki_resize_passes(r, &resize, tables, &l, x, y, false);
}

static hk_status copy_attributes(const hk_node *node, hk_graph *g, const char *domain, const char *op, int count,
                                 hk_value **inputs, hk_value **out)
{
    while (count > 1 && !inputs[count - 1])
        count--;
    hk_graph_node(g, domain, op, NULL, count, inputs, node->attribute_count, node->attributes, 1, out);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *inputs[5] = {g->dy[0], g->x[0]};
    if (!g->need[0] || !g->dy[0])
        return NULL;
    for (int i = 1; i < g->node->input_count && i < 4; i++)
        inputs[i + 1] = g->x[i];
    return copy_attributes(g->node, g->graph, "halka", "ResizeGrad", 5, inputs, &g->dx[0]);
}

/* Resize-10 and Upsample: places by x / scale; nearest takes the floor, but the ceiling where it makes the tensor
 * smaller, as their implementations did. */
static hk_status from_10(hki_draft *draft)
{
    hk_attribute coordinates = HK_TEXT("coordinate_transformation_mode", "asymmetric");
    hk_attribute nearest_mode = HK_TEXT("nearest_mode", "floor");
    hk_value *scales = draft->input_count > 1 ? draft->inputs[1] : NULL;
    for (int64_t i = 0; scales && scales->tensor && i < hk_tensor_count(scales->tensor); i++)
        if (hki_tensor_get_double(scales->tensor, i) < 1)
            nearest_mode.as.s = "ceil";
    HK_TRY(hki_draft_set_attribute(draft, &coordinates));
    HK_TRY(hki_draft_set_attribute(draft, &nearest_mode));
    if (!scales)
        return NULL;
    HK_TRY(hki_draft_set_input(draft, 2, scales));
    draft->inputs[1] = NULL;
    return NULL;
}

static const hki_case cases[] = {
    {"f[1,1,2,3] - f[4]=(1,1,2,2)!", "mode=nearest"},
    {"f[1,2,4,4] - f[4]=(1,1,0.6,0.6)!", "mode=linear"},
    {"f[1,1,4,3] - f[4]=(1,1,0.5,1.7)!", "mode=cubic"},
    {"f[1,1,4,5] - - i64[4]=(1,1,3,7)", "mode=cubic coordinate_transformation_mode=align_corners exclude_outside=1"},
    {"f[2,5] - - i64[1]=(3)", "mode=linear axes=[1] antialias=1"},
    {"f[6,4] - - i64[2]=(3,3)", "mode=cubic antialias=1 coordinate_transformation_mode=half_pixel_symmetric"},
    {"f[4,6] - - i64[2]=(7,8)", "mode=nearest keep_aspect_ratio_policy=not_larger nearest_mode=ceil"},
    {"f[3,4] f[4]=(0.2,0.1,0.9,1.3)! - i64[2]=(3,3)",
     "mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=2"},
    {"f[1,4] - - i64[2]=(1,1)", "mode=linear coordinate_transformation_mode=pytorch_half_pixel"},
    {"f[2,0] - f[2]=(2,2)!", "mode=linear"},
    {NULL, NULL},
};

#define RESIZE_LISTS                                                                                                   \
    {"roi", "T2", HKI_FLOATS, HKI_OPTIONAL}, {"scales", "scales", HKI_FLOATS, HKI_OPTIONAL},                           \
    {                                                                                                                  \
        "sizes", "sizes", HKI_BIT(HK_INT64), HKI_OPTIONAL                                                              \
    }
#define RESIZE_ATTRIBUTES                                                                                              \
    .attributes = {{"antialias", HK_ATTRIBUTE_INT, {.i = 0}, false},                                                   \
                   {"axes", HK_ATTRIBUTE_INTS, {.i = 0}, false},                                                       \
                   {"coordinate_transformation_mode", HK_ATTRIBUTE_STRING, {.s = "half_pixel"}, false},                \
                   {"cubic_coeff_a", HK_ATTRIBUTE_FLOAT, {.f = -0.75f}, false},                                        \
                   {"exclude_outside", HK_ATTRIBUTE_INT, {.i = 0}, false},                                             \
                   {"extrapolation_value", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},                                       \
                   {"keep_aspect_ratio_policy", HK_ATTRIBUTE_STRING, {.s = "stretch"}, false},                         \
                   {"mode", HK_ATTRIBUTE_STRING, {.s = "nearest"}, false},                                             \
                   {"nearest_mode", HK_ATTRIBUTE_STRING, {.s = "round_prefer_floor"}, false}}

const hki_op hki_op_resize = {
    .name = "Resize",
    .doc = "y is x resampled along axes to scales or sizes: nearest, linear or cubic",
    .inputs = {{"X", "T1", HKI_ANY, 0}, RESIZE_LISTS},
    .outputs = {{"Y", "T1", HKI_ANY, 0}},
    RESIZE_ATTRIBUTES,
    .versions = {{10, from_10}, {11, NULL}, {13, NULL}, {18, NULL}, {19, NULL}},
    .infer = infer,
    .run = run,
    .scratch = scratch,
    .grad = grad,
    .cases = cases,
};

/* ---- ResizeGrad ---- */

static hk_status backward_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

static size_t backward_scratch(const hki_run *r)
{
    const hk_tensor *x = r->in[1];
    return hki_resize_scratch(r->node, x->dtype, x->rank, x->dims, r->in[0]->dims).size;
}

static hk_status backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0];
    hk_tensor *dx = r->out[0];
    hki_resize resize;
    hki_resize_table tables[HK_MAX_RANK];
    HK_TRY(read_run(&resize, r, 2, dx, dy));
    if (dx->rank == 0 || hk_tensor_count(dy) == 0 || hk_tensor_count(dx) == 0) {
        memset(dx->data, 0, hk_tensor_size(dx));
        if (dx->rank == 0)
            memcpy(dx->data, dy->data, hk_tensor_size(dx));
        return NULL;
    }
    hki_resize_layout l = hki_resize_scratch(r->node, dx->dtype, dx->rank, dx->dims, dy->dims);
    HK_TRY(hki_resize_tables(tables, &resize, &l, r->scratch, r->node));
    return hki_resize_passes(r, &resize, tables, &l, dy, dx, true);
}

/* ResizeGrad is linear in dy; its gradient resizes, with zeros for the extrapolation value. */
static hk_status backward_grad(hki_grad *g)
{
    hk_value *inputs[4] = {g->dy[0]};
    hk_attribute zero = HK_FLOAT32("extrapolation_value", 0);
    if (!g->need[0] || !g->dy[0])
        return NULL;
    for (int i = 2; i < g->node->input_count; i++)
        inputs[i - 1] = g->x[i];
    HK_TRY(copy_attributes(g->node, g->graph, "", "Resize", 4, inputs, &g->dx[0]));
    return g->dx[0] ? hki_attribute_set(g->dx[0]->producer, &zero) : NULL;
}

static const hki_case backward_cases[] = {
    {"f[1,1,4,6] f[1,1,2,3]! - f[4]=(1,1,2,2)!", "mode=linear"},
    {"f[3,2] f[6,4]! - - i64[2]=(3,2)", "mode=cubic antialias=1"},
    {NULL, NULL},
};

const hki_op hki_op_resize_grad = {
    .name = "ResizeGrad",
    .domain = "halka",
    .doc = "gradient of Resize: the transposed interpolation, axis by axis, in a fixed order",
    .inputs = {{"dy", "T1", HKI_FLOATS, 0}, {"X", "T1", HKI_FLOATS, HKI_SHAPE_ONLY}, RESIZE_LISTS},
    .outputs = {{"dx", "T1", HKI_FLOATS, 0}},
    RESIZE_ATTRIBUTES,
    .infer = backward_infer,
    .run = backward_run,
    .scratch = backward_scratch,
    .grad = backward_grad,
    .cases = backward_cases,
};

/* ---- Upsample ---- */

static hk_status upsample_scales(hki_draft *draft)
{
    const hk_attribute *scales = hki_draft_attribute(draft, "scales");
    hk_tensor *tensor;
    if (!scales || scales->kind != HK_ATTRIBUTE_FLOATS)
        return HK_ERR(HK_INVALID_ARGUMENT, "Upsample of opset 7 needs the attribute scales, a list of floats");
    int64_t count = scales->count;
    HK_TRY(hk_tensor_from(&tensor, scales->as.floats, HK_FLOAT, 1, &count));
    hk_value *value = hk_graph_constant(draft->graph, NULL, tensor);
    hk_tensor_free(tensor);
    hki_draft_remove_attribute(draft, "scales");
    return hki_draft_set_input(draft, 1, value);
}

/* Upsample-9 is Resize-10 in all but the name; Resize's own rule takes the node from there. */
static hk_status upsample_rename(hki_draft *draft)
{
    draft->op = "Resize";
    return NULL;
}

static hk_status upsample_infer(hki_infer *c)
{
    (void)c;
    return HK_ERR(HK_UNSUPPORTED, "Upsample was removed in opset 10; its name is Resize now");
}

const hki_op hki_op_upsample = {
    .name = "Upsample",
    .doc = "the name of Resize before opset 10; files that use it are upgraded",
    .inputs = {{"X", "T", HKI_ANY, 0}, {"scales", "scales", HKI_BIT(HK_FLOAT), HKI_OPTIONAL}},
    .outputs = {{"Y", "T", HKI_ANY, 0}},
    .attributes = {{"mode", HK_ATTRIBUTE_STRING, {.s = "nearest"}, false}},
    .versions = {{7, upsample_scales}, {9, upsample_rename}}, /* files of later opsets that still use it too */
    .infer = upsample_infer,
};
