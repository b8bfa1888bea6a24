/* ReverseSequence: of every sequence in a batch, the first sequence_lens[b] steps in reverse order, the rest as they
 * are. Its own gradient. */
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"

static hk_status axes_of(int *out_batch, int *out_time, const hk_node *node)
{
    int64_t batch = hki_attribute_int(node, "batch_axis"), time = hki_attribute_int(node, "time_axis");
    if (!((batch == 0 && time == 1) || (batch == 1 && time == 0)))
        return HK_ERR(HK_INVALID_ARGUMENT,
                      "batch_axis and time_axis must be 0 and 1 or 1 and 0, found %" PRId64 " and %" PRId64, batch,
                      time);
    *out_batch = (int)batch;
    *out_time = (int)time;
    return NULL;
}

static hk_status infer(hki_infer *c)
{
    const hki_type *x = c->in[0], *lengths = c->in[1];
    int batch, time;
    int64_t dim;
    HK_TRY(axes_of(&batch, &time, c->node));
    if (x->rank == 0 || x->rank == 1)
        return HK_ERR(HK_INVALID_SHAPE, "input must have rank 2 or more, found %d", x->rank);
    HK_TRY(hki_rank_check(lengths, 1, "sequence_lens"));
    if (x->rank > 0 && lengths->rank == 1)
        HK_TRY_CTX(hki_dim_merge(&dim, x->dims[batch], lengths->dims[0]), "batch of input and sequence_lens");
    hki_type_copy(&c->out[0], x);
    return NULL;
}

typedef struct reverse {
    const char *x;
    char *y;
    const int64_t *lengths;
    int64_t dims[2], rows, step;
    int batch;
    size_t row;
} reverse;

static void run_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const reverse *s = context;
    int64_t end = (block + 1) * s->step < s->rows ? (block + 1) * s->step : s->rows;
    for (int64_t i = block * s->step; i < end; i++) {
        int64_t at[2] = {i / s->dims[1], i % s->dims[1]}, length = s->lengths[at[s->batch]];
        int64_t *time = &at[!s->batch];
        if (*time < length)
            *time = length - 1 - *time;
        memcpy(s->y + (size_t)i * s->row, s->x + (size_t)(at[0] * s->dims[1] + at[1]) * s->row, s->row);
    }
}

static hk_status run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    int batch, time;
    HK_TRY(axes_of(&batch, &time, r->node));
    reverse s = {.x = x->data,
                 .y = r->out[0]->data,
                 .lengths = r->in[1]->data,
                 .dims = {x->dims[0], x->dims[1]},
                 .rows = x->dims[0] * x->dims[1],
                 .batch = batch,
                 .row = (size_t)hki_shape_count(x->dims, 2, x->rank) * hk_dtype_size(x->dtype)};
    for (int64_t i = 0; i < x->dims[batch]; i++)
        if (s.lengths[i] < 0 || s.lengths[i] > x->dims[time])
            return HK_ERR(HK_INVALID_DATA, "length %" PRId64 " of sequence %" PRId64 " is outside 0 .. %" PRId64,
                          s.lengths[i], i, x->dims[time]);
    if (s.rows == 0 || s.row == 0)
        return NULL;
    int64_t blocks = hki_blocks(&s.step, s.rows, (int64_t)s.row);
    hki_pool_run(r->pool, blocks, run_rows, &s);
    return NULL;
}

static hk_status grad(hki_grad *g)
{
    if (g->need[0] && g->dy[0])
        g->dx[0] = hk_graph_apply(g->graph, "ReverseSequence", HK_VALUES(g->dy[0], g->x[1]),
                                  HK_ATTRIBUTES(HK_INT("batch_axis", hki_attribute_int(g->node, "batch_axis")),
                                                HK_INT("time_axis", hki_attribute_int(g->node, "time_axis"))));
    return NULL;
}

static const hki_case cases[] = {
    {"f[4,2] i64[2]=(3,1)", NULL},
    {"f[2,4,3] i64[2]=(4,0)", "batch_axis=0 time_axis=1"},
    {"f[3,0] i64[0]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_reverse_sequence = {
    .name = "ReverseSequence",
    .doc = "y = x with the first sequence_lens[b] steps of sequence b in reverse order",
    .inputs = {{"input", "T", HKI_ANY, 0}, {"sequence_lens", "lens", HKI_BIT(HK_INT64), 0}},
    .outputs = {{"Y", "T", HKI_ANY, 0}},
    .attributes = {{"batch_axis", HK_ATTRIBUTE_INT, {.i = 1}, false}, {"time_axis", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{10, NULL}},
    .infer = infer,
    .run = run,
    .grad = grad,
    .cases = cases,
};
