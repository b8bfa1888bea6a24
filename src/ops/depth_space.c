/* DepthToSpace and SpaceToDepth: blocks of b x b pixels for b*b channels, and back.
 *
 * With x of (N, C*b*b, H, W) and y of (N, C, H*b, W*b):  y[n, c, h*b + i, w*b + j] = x[n, k, h, w], where k is (i*b +
 * j)*C + c in mode DCR and c*b*b + i*b + j in mode CRD. halka SpaceToDepth knows both modes: it is the gradient of
 * DepthToSpace. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status is_crd(bool *out, const hk_node *node)
{
    const char *mode = hki_attribute_text(node, "mode");
    if (strcmp(mode, "DCR") && strcmp(mode, "CRD"))
        return HK_ERR(HK_INVALID_ARGUMENT, "mode must be DCR or CRD, found '%s'", mode);
    *out = mode[0] == 'C';
    return NULL;
}

static hk_status check(const hki_infer *c, int64_t *out_block)
{
    int64_t block = hki_attribute_int(c->node, "blocksize");
    if (block < 1 || block > 1 << 15)
        return HK_ERR(HK_INVALID_ARGUMENT, "blocksize must be in 1 .. 32768, found %" PRId64, block);
    HK_TRY(hki_rank_check(c->in[0], 4, "input"));
    *out_block = block;
    return NULL;
}

static hk_status divide(int64_t *out, int64_t dim, int64_t by, const char *what)
{
    if (dim >= 0 && dim % by)
        return HK_ERR(HK_INVALID_SHAPE, "%s must be a multiple of %" PRId64 ", found %" PRId64, what, by, dim);
    *out = by == 1 ? dim : dim < 0 ? HKI_DIM_UNKNOWN : dim / by;
    return NULL;
}

/* Copies between the deep tensor (N, C*b*b, H, W) and the wide one (N, C, H*b, W*b). */
static void rearrange(hki_run *r, int64_t b, bool crd, bool to_wide)
{
    const int64_t *deep = to_wide ? r->in[0]->dims : r->out[0]->dims;
    int64_t n = deep[0], h = deep[2], w = deep[3], c = deep[1] / (b * b), hw = h * w;
    int64_t dims[6] = {n, c, h, b, w, b}; /* n, c, h, i, w, j */
    int64_t wide_strides[6] = {c * hw * b * b, hw * b * b, w * b * b, w * b, b, 1};
    int64_t deep_strides[6] = {c * hw * b * b,   crd ? b * b * hw : hw, w, crd ? b * hw : b * c * hw, 1,
                               crd ? hw : c * hw};
    static const int wide_order[6] = {0, 1, 2, 3, 4, 5};
    static const int deep_orders[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
    const int *order = to_wide ? wide_order : deep_orders[crd];
    hki_move move = {.to = r->out[0]->data, .from = r->in[0]->data, .element_size = hk_dtype_size(r->in[0]->dtype)};
    for (int k = 0; k < 6; k++) {
        int i = order[k];
        hki_move_add(&move, dims[i], (to_wide ? wide_strides : deep_strides)[i],
                     (to_wide ? deep_strides : wide_strides)[i]);
    }
    hki_move_run(&move, r->pool);
}

/* ---- DepthToSpace ---- */

static hk_status to_space_infer(hki_infer *c)
{
    int64_t b;
    bool crd;
    hki_type *y = &c->out[0];
    HK_TRY(check(c, &b));
    HK_TRY(is_crd(&crd, c->node));
    if (c->in[0]->rank < 0)
        return NULL;
    hki_type_copy(y, c->in[0]);
    HK_TRY(divide(&y->dims[1], c->in[0]->dims[1], b * b, "the number of channels"));
    y->dims[2] = hki_dim_mul(y->dims[2], b);
    y->dims[3] = hki_dim_mul(y->dims[3], b);
    return NULL;
}

static hk_status to_space_run(hki_run *r)
{
    bool crd;
    HK_TRY(is_crd(&crd, r->node));
    rearrange(r, hki_attribute_int(r->node, "blocksize"), crd, true);
    return NULL;
}

static hk_status to_space_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        hk_graph_node(g->graph, "halka", "SpaceToDepth", NULL, HK_VALUES(g->dy[0]),
                      HK_ATTRIBUTES(HK_INT("blocksize", hki_attribute_int(g->node, "blocksize")),
                                    HK_TEXT("mode", hki_attribute_text(g->node, "mode"))),
                      1, &g->dx[0]);
    return NULL;
}

static const hki_case to_space_cases[] = {
    {"f[2,8,2,3]", "blocksize=2"}, {"f[1,9,1,2]", "blocksize=3 mode=CRD"}, {"f[2,8,3,1]", "blocksize=2 mode=CRD"},
    {"f[1,3,2,2]", "blocksize=1"}, {"f[0,4,2,2]", "blocksize=2"},          {NULL, NULL},
};

const hki_op hki_op_depth_to_space = {
    .name = "DepthToSpace",
    .doc = "moves blocks of blocksize^2 channels into pixels: (N, C b b, H, W) to (N, C, H b, W b)",
    .inputs = {{"input", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"blocksize", HK_ATTRIBUTE_INT, {.i = 0}, true}, {"mode", HK_ATTRIBUTE_STRING, {.s = "DCR"}, false}},
    .versions = {{1, NULL}, {11, NULL}, {13, NULL}},
    .infer = to_space_infer,
    .run = to_space_run,
    .grad = to_space_grad,
    .cases = to_space_cases,
};

/* ---- SpaceToDepth ---- */

static hk_status to_depth_infer(hki_infer *c)
{
    int64_t b;
    hki_type *y = &c->out[0];
    HK_TRY(check(c, &b));
    if (c->in[0]->rank < 0)
        return NULL;
    hki_type_copy(y, c->in[0]);
    y->dims[1] = hki_dim_mul(y->dims[1], b * b);
    HK_TRY(divide(&y->dims[2], c->in[0]->dims[2], b, "the height"));
    HK_TRY(divide(&y->dims[3], c->in[0]->dims[3], b, "the width"));
    return NULL;
}

static hk_status to_depth_run(hki_run *r)
{
    rearrange(r, hki_attribute_int(r->node, "blocksize"), false, false);
    return NULL;
}

static hk_status to_depth_modes_run(hki_run *r)
{
    bool crd;
    HK_TRY(is_crd(&crd, r->node));
    rearrange(r, hki_attribute_int(r->node, "blocksize"), crd, false);
    return NULL;
}

static hk_status to_depth_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "DepthToSpace", HK_VALUES(g->dy[0]),
                                  HK_ATTRIBUTES(HK_INT("blocksize", hki_attribute_int(g->node, "blocksize"))));
    return NULL;
}

static hk_status to_depth_modes_grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "DepthToSpace", HK_VALUES(g->dy[0]),
                                  HK_ATTRIBUTES(HK_INT("blocksize", hki_attribute_int(g->node, "blocksize")),
                                                HK_TEXT("mode", hki_attribute_text(g->node, "mode"))));
    return NULL;
}

static const hki_case to_depth_cases[] = {
    {"f[2,2,4,6]", "blocksize=2"},
    {"f[1,1,3,6]", "blocksize=3"},
    {"f[1,3,0,2]", "blocksize=2"},
    {NULL, NULL},
};

const hki_op hki_op_space_to_depth = {
    .name = "SpaceToDepth",
    .doc = "moves blocks of blocksize x blocksize pixels into channels: (N, C, H b, W b) to (N, b b C, H, W)",
    .inputs = {{"input", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"blocksize", HK_ATTRIBUTE_INT, {.i = 0}, true}},
    .versions = {{1, NULL}, {13, NULL}},
    .infer = to_depth_infer,
    .run = to_depth_run,
    .grad = to_depth_grad,
    .cases = to_depth_cases,
};

static const hki_case to_depth_modes_cases[] = {
    {"f[2,2,4,6]", "blocksize=2"},
    {"f[2,2,4,6]", "blocksize=2 mode=CRD"},
    {NULL, NULL},
};

const hki_op hki_op_space_to_depth_modes = {
    .name = "SpaceToDepth",
    .domain = "halka",
    .doc = "SpaceToDepth with the modes of DepthToSpace, whose gradient it is",
    .inputs = {{"input", "T", HKI_ANY, 0}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"blocksize", HK_ATTRIBUTE_INT, {.i = 0}, true}, {"mode", HK_ATTRIBUTE_STRING, {.s = "DCR"}, false}},
    .infer = to_depth_infer,
    .run = to_depth_modes_run,
    .grad = to_depth_modes_grad,
    .cases = to_depth_modes_cases,
};
