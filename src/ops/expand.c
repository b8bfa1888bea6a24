/* Expand (broadcast to a shape) and Tile (repeat along every axis). Their gradients sum over the copies. */
#include <inttypes.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/shapes.h"

/* ---- Expand ---- */

static hk_status expand_infer(hki_infer *c)
{
    const hk_tensor *data = hki_infer_data(c, 1);
    hki_type shape = {.rank = -1};
    int64_t numbers[HKI_SHAPE_NUMBERS];
    int count;
    if (data)
        HK_TRY(hki_numbers_read(numbers, &count, data, "shape"));
    else
        HK_TRY(hki_numbers_count(&count, c->in[1], "shape"));
    if (count > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "shape has %d dims, more than %d", count, HK_MAX_RANK);
    shape.rank = count;
    for (int i = 0; i < count; i++) {
        if (data && numbers[i] < 0)
            return HK_ERR(HK_INVALID_SHAPE, "dim %d of shape is %" PRId64 ", expected 0 or more", i, numbers[i]);
        shape.dims[i] = data ? numbers[i] : HKI_DIM_UNKNOWN;
    }
    return hki_infer_broadcast(&c->out[0], c->in[0], &shape);
}

static hk_status expand_run(hki_run *r)
{
    hk_tensor *y = r->out[0];
    int64_t from[HK_MAX_RANK], to[HK_MAX_RANK];
    hki_broadcast_strides(from, y->rank, y->dims, r->in[0]);
    hki_row_major(to, y->rank, y->dims);
    hki_move move = {.to = y->data, .from = r->in[0]->data, .element_size = hk_dtype_size(y->dtype)};
    for (int i = 0; i < y->rank; i++)
        hki_move_add(&move, y->dims[i], to[i], from[i]);
    hki_move_run(&move, r->pool);
    return NULL;
}

static hk_status expand_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hki_sum_to_shape(g->graph, g->dy[0], g->x[0]);
    return NULL;
}

static const hki_case expand_cases[] = {
    {"f[3,1] i64[3]=(2,1,4)", NULL},     {"f[3,1] i64[2]=(3,4)", NULL},
    {"f[] i64[2]=(2,3)", NULL},          {"f[2,3] i64[1]=(1)", NULL},
    {"f[1,2] i64[2]=(0,2)", NULL},       {"f[2] i64[0]", NULL},
    {"f[2,1,3] i64[4]=(2,1,2,1)", NULL}, {NULL, NULL},
};

const hki_op hki_op_expand = {
    .name = "Expand",
    .doc = "y is x broadcast with a tensor of the shape given",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"shape", "shape", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .versions = {{8, NULL}, {13, NULL}},
    .flags = HKI_OP_SAME_IF_EQUAL,
    .infer = expand_infer,
    .run = expand_run,
    .grad = expand_grad,
    .cases = expand_cases,
};

/* ---- Tile ---- */

static hk_status tile_repeats(int64_t *out, const hk_tensor *repeats, int rank)
{
    int count;
    HK_TRY(hki_numbers_read(out, &count, repeats, "repeats"));
    if (count != rank)
        return HK_ERR(HK_INVALID_SHAPE, "repeats has %d numbers for an input of rank %d", count, rank);
    for (int i = 0; i < rank; i++)
        if (out[i] < 0)
            return HK_ERR(HK_INVALID_ARGUMENT, "repeat %d is %" PRId64 ", expected 0 or more", i, out[i]);
    return NULL;
}

static hk_status tile_infer(hki_infer *c)
{
    const hki_type *x = c->in[0];
    hki_type *y = &c->out[0];
    int64_t repeats[HKI_SHAPE_NUMBERS];
    const hk_tensor *data = hki_infer_data(c, 1);
    y->rank = x->rank;
    if (x->rank < 0) {
        HK_TRY(hki_numbers_count(&y->rank, c->in[1], "repeats"));
        if (y->rank > HK_MAX_RANK)
            return HK_ERR(HK_INVALID_SHAPE, "repeats has %d numbers, more than %d", y->rank, HK_MAX_RANK);
    }
    if (data && x->rank >= 0)
        HK_TRY(tile_repeats(repeats, data, x->rank));
    for (int i = 0; i < y->rank; i++) {
        if (!data || x->rank < 0)
            y->dims[i] = HKI_DIM_UNKNOWN;
        else if (repeats[i] == 1)
            y->dims[i] = x->dims[i];
        else
            y->dims[i] = hki_dim_mul(x->dims[i], repeats[i]);
    }
    return NULL;
}

static hk_status tile_check(int64_t *repeats, const hk_tensor *list, const hk_tensor *small, const hk_tensor *large)
{
    int64_t dims[HK_MAX_RANK];
    HK_TRY(tile_repeats(repeats, list, small->rank));
    for (int i = 0; i < small->rank; i++)
        dims[i] = hki_dim_mul(small->dims[i], repeats[i]);
    return hki_output_check(large, small->rank, dims);
}

static hk_status tile_run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    int64_t repeats[HKI_SHAPE_NUMBERS], from[HK_MAX_RANK], to[HK_MAX_RANK];
    HK_TRY(tile_check(repeats, r->in[1], x, y));
    hki_row_major(from, x->rank, x->dims);
    hki_row_major(to, y->rank, y->dims);
    hki_move move = {.to = y->data, .from = x->data, .element_size = hk_dtype_size(y->dtype)};
    for (int i = 0; i < y->rank; i++) {
        hki_move_add(&move, repeats[i], to[i] * x->dims[i], 0);
        hki_move_add(&move, x->dims[i], to[i], from[i]);
    }
    hki_move_run(&move, r->pool);
    return NULL;
}

static hk_status tile_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "TileGrad", NULL, HK_VALUES(g->dy[0], g->x[0], g->x[1]), HK_NO_ATTRIBUTES, 1,
                      &g->dx[0]);
    return NULL;
}

/* Tile-1: scalars `tiles` and `axis` for one axis. Turned into repeats where both are constants. */
static hk_status tile_from_1(hki_draft *draft)
{
    if (draft->input_count != 3)
        return NULL;
    hk_value *x = draft->inputs[0], *tiles = draft->inputs[1], *axis = draft->inputs[2];
    int64_t count, at, repeats[HK_MAX_RANK];
    int dim;
    if (!x || !tiles || !axis || !tiles->tensor || !axis->tensor || x->type.rank < 0)
        return HK_ERR(HK_UNSUPPORTED, "Tile of opset 1 needs constant tiles and axis and an input of known rank");
    if (hk_tensor_count(tiles->tensor) != 1 || hk_tensor_count(axis->tensor) != 1)
        return HK_ERR(HK_INVALID_SHAPE, "Tile of opset 1 takes scalars for tiles and axis");
    count = (int64_t)hki_tensor_get_double(tiles->tensor, 0);
    at = (int64_t)hki_tensor_get_double(axis->tensor, 0);
    HK_TRY(hki_axis(&dim, at, x->type.rank));
    for (int i = 0; i < x->type.rank; i++)
        repeats[i] = i == dim ? count : 1;
    HK_TRY(hki_draft_set_input(draft, 1, hki_ints_constant(draft->graph, x->type.rank, repeats)));
    draft->input_count = 2;
    return NULL;
}

static const hki_case tile_cases[] = {
    {"f[2,3] i64[2]=(2,3)", NULL},
    {"f[2,1,3] i64[3]=(1,4,2)", NULL},
    {"f[3] i64[1]=(0)", NULL},
    {"f[] i64[0]", NULL},
    {"f[0,2] i64[2]=(3,2)", NULL},
    {"f[2,2] i64[2]=(1,1)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_tile = {
    .name = "Tile",
    .doc = "y is x repeated repeats[i] times along axis i",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"repeats", "repeats", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .versions = {{1, tile_from_1}, {6, NULL}, {13, NULL}},
    .infer = tile_infer,
    .run = tile_run,
    .grad = tile_grad,
    .cases = tile_cases,
};

/* ---- TileGrad: dx[i] = sum over the copies of x[i] in dy, in their order ---- */

static hk_status tile_backward_infer(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[1]);
    return NULL;
}

typedef struct tile_sum {
    char *to;
    const char *from;
    int rank;
    int64_t dims[HK_MAX_RANK], repeats[HK_MAX_RANK], strides[HK_MAX_RANK]; /* dims of x, strides of dy */
    int64_t rows, copies, step;
    size_t size;
    hki_combine_fn *add;
} tile_sum;

/* A row is the last dimension of x; all its copies are added one after the other. */
static void tile_sum_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const tile_sum *s = context;
    int64_t end = (block + 1) * s->step < s->rows ? (block + 1) * s->step : s->rows, width = s->dims[s->rank - 1];
    for (int64_t row = block * s->step; row < end; row++) {
        char *to = s->to + (size_t)(row * width) * s->size;
        int64_t base = 0, rest = row;
        for (int i = s->rank - 2; i >= 0; i--) {
            base += rest % s->dims[i] * s->strides[i];
            rest /= s->dims[i];
        }
        memset(to, 0, (size_t)width * s->size);
        for (int64_t copy = 0; copy < s->copies; copy++) {
            int64_t offset = base;
            rest = copy;
            for (int i = s->rank - 1; i >= 0; i--) {
                offset += rest % s->repeats[i] * s->dims[i] * s->strides[i];
                rest /= s->repeats[i];
            }
            s->add(to, s->from + (size_t)offset * s->size, width);
        }
    }
}

static hk_status tile_backward_run(hki_run *r)
{
    const hk_tensor *dy = r->in[0];
    hk_tensor *dx = r->out[0];
    int64_t repeats[HKI_SHAPE_NUMBERS];
    HK_TRY(tile_check(repeats, r->in[2], dx, dy));
    tile_sum s = {.to = dx->data,
                  .from = dy->data,
                  .rank = dx->rank,
                  .copies = 1,
                  .size = hk_dtype_size(dx->dtype),
                  .add = hki_combine_find(HKI_COMBINE_ADD, dx->dtype)};
    if (hki_shape_count(dx->dims, 0, dx->rank) == 0)
        return NULL;
    if (dx->rank == 0) {
        memcpy(dx->data, dy->data, s.size);
        return NULL;
    }
    hki_row_major(s.strides, dy->rank, dy->dims);
    memcpy(s.dims, dx->dims, sizeof(s.dims));
    for (int i = 0; i < dx->rank; i++) {
        s.repeats[i] = repeats[i];
        s.copies *= repeats[i];
    }
    s.rows = hki_shape_count(dx->dims, 0, dx->rank - 1);
    int64_t blocks = hki_blocks(&s.step, s.rows, s.dims[s.rank - 1] * (int64_t)s.size * (s.copies + 1));
    hki_pool_run(r->pool, blocks, tile_sum_rows, &s);
    return NULL;
}

static hk_status tile_backward_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hki_binary(g->graph, "Tile", g->dy[0], g->x[2]);
    return NULL;
}

static const hki_case tile_backward_cases[] = {
    {"f[4,9] f[2,3]! i64[2]=(2,3)", NULL},
    {"f[0] f[3]! i64[1]=(0)", NULL},
    {NULL, NULL},
};

const hki_op hki_op_tile_grad = {
    .name = "TileGrad",
    .domain = "halka",
    .doc = "gradient of Tile: sums dy over the copies, in their order",
    .inputs = {{"dy", "T", HKI_FLOATS, 0},
               {"input", "T", HKI_FLOATS, HKI_SHAPE_ONLY},
               {"repeats", "repeats", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"dx", "T", HKI_FLOATS, 0}},
    .infer = tile_backward_infer,
    .run = tile_backward_run,
    .grad = tile_backward_grad,
    .cases = tile_backward_cases,
};
