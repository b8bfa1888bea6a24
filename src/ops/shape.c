/* Shape and Size: what is known of a tensor without its elements. */
#include "ops/shapes.h"

/* The range start .. end of dims, clamped as ONNX says. */
static void shape_range(int *out_start, int *out_end, const hk_node *node, int rank)
{
    const hk_attribute *last = hki_attribute_find(node, "end");
    int64_t start = hki_attribute_int(node, "start"), end = last ? last->as.i : rank;
    start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
    end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
    *out_start = (int)start;
    *out_end = end < start ? (int)start : (int)end;
}

static hk_status shape_infer(hki_infer *c)
{
    hki_type *y = &c->out[0];
    int start, end;
    y->dtype = HK_INT64;
    y->rank = 1;
    y->dims[0] = HKI_DIM_UNKNOWN;
    if (c->in[0]->rank < 0)
        return NULL;
    shape_range(&start, &end, c->node, c->in[0]->rank);
    y->dims[0] = end - start;
    return NULL;
}

static hk_status shape_run(hki_run *r)
{
    int start, end;
    shape_range(&start, &end, r->node, r->in[0]->rank);
    for (int i = start; i < end; i++)
        ((int64_t *)r->out[0]->data)[i - start] = r->in[0]->dims[i];
    return NULL;
}

static const hki_case shape_cases[] = {
    {"f[2,3,4]", NULL},    {"f[2,3,4]", "start=1"}, {"f[2,3,4]", "start=-2 end=-1"},
    {"f[2,3]", "start=5"}, {"f[]", NULL},           {"i32[0,3]", "end=-7"},
    {NULL, NULL},
};

const hki_op hki_op_shape = {
    .name = "Shape",
    .doc = "y = dims of x, from start to end",
    .inputs = {{"data", "T", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"shape", "shape", HKI_BIT(HK_INT64), 0}},
    .attributes = {{"start", HK_ATTRIBUTE_INT, {.i = 0}, false}, {"end", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{1, NULL}, {13, NULL}, {15, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = shape_infer,
    .run = shape_run,
    .cases = shape_cases,
};

static hk_status size_infer(hki_infer *c)
{
    hki_type_set(&c->out[0], HK_INT64, 0, NULL);
    return NULL;
}

static hk_status size_run(hki_run *r)
{
    *(int64_t *)r->out[0]->data = hki_shape_count(r->in[0]->dims, 0, r->in[0]->rank);
    return NULL;
}

static const hki_case size_cases[] = {{"f[2,3,4]", NULL}, {"f[]", NULL}, {"u8[0,3]", NULL}, {NULL, NULL}};

const hki_op hki_op_size = {
    .name = "Size",
    .doc = "y = number of elements of x",
    .inputs = {{"data", "T", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"size", "size", HKI_BIT(HK_INT64), 0}},
    .versions = {{1, NULL}, {13, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = size_infer,
    .run = size_run,
    .cases = size_cases,
};
