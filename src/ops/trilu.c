/* Trilu: the upper or lower triangle of the last two dims; zeros elsewhere. */
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status infer(hki_infer *c)
{
    if (c->in[0]->rank == 0 || c->in[0]->rank == 1)
        return HK_ERR(HK_INVALID_SHAPE, "input must have rank 2 or more, found %d", c->in[0]->rank);
    hki_type_copy(&c->out[0], c->in[0]);
    return NULL;
}

typedef struct trilu {
    const char *x;
    char *y;
    int64_t rows, height, width, k, step;
    size_t size;
    bool upper;
} trilu;

static void run_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const trilu *s = context;
    int64_t end = (block + 1) * s->step < s->rows ? (block + 1) * s->step : s->rows;
    for (int64_t row = block * s->step; row < end; row++) {
        int64_t i = row % s->height; /* upper keeps columns from i + k on, lower those up to i + k */
        int64_t first = s->k > s->width ? s->width : s->k < -s->height ? -s->height : s->k;
        first += i + !s->upper;
        first = first < 0 ? 0 : first > s->width ? s->width : first;
        const char *x = s->x + (size_t)(row * s->width) * s->size;
        char *y = s->y + (size_t)(row * s->width) * s->size;
        size_t left = (size_t)first * s->size, right = (size_t)(s->width - first) * s->size;
        if (s->upper) {
            memset(y, 0, left);
            memcpy(y + left, x + left, right);
        } else {
            memcpy(y, x, left);
            memset(y + left, 0, right);
        }
    }
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    trilu s = {.x = x->data,
               .y = r->out[0]->data,
               .rows = hki_shape_count(x->dims, 0, x->rank - 1),
               .height = x->dims[x->rank - 2],
               .width = x->dims[x->rank - 1],
               .size = hk_dtype_size(x->dtype),
               .upper = hki_attribute_int(r->node, "upper") != 0};
    if (r->input_count > 1 && r->in[1])
        HK_TRY(hki_number_read(&s.k, r->in[1], "k"));
    if (s.rows == 0 || s.width == 0)
        return NULL;
    int64_t blocks = hki_blocks(&s.step, s.rows, s.width * (int64_t)s.size);
    hki_pool_run(r->pool, blocks, run_rows, &s);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    hk_value *inputs[2] = {g->dy[0], g->node->input_count > 1 ? g->x[1] : NULL};
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "Trilu", inputs[1] ? 2 : 1, inputs,
                                  HK_ATTRIBUTES(HK_INT("upper", hki_attribute_int(g->node, "upper"))));
    return NULL;
}

static const hki_case cases[] = {
    {"f[3,4]", NULL},
    {"f[4,3]", "upper=0"},
    {"f[2,3,3] i64[]=(1)", NULL},
    {"f[2,3,3] i64[]=(-2)", "upper=0"},
    {"f[3,3] i64[]=(9)", NULL},
    {"f[3,3] i64[]=(-9)", NULL},
    {"f[3,0]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_trilu = {
    .name = "Trilu",
    .doc = "y is the upper (lower) triangle of the last two dims of x, from (up to) the diagonal k",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"k", "k", HKI_BIT(HK_INT64), HKI_OPTIONAL}},
    .outputs = {{"output", "T", HKI_ANY, 0}},
    .attributes = {{"upper", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{14, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};
