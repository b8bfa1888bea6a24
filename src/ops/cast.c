/* Cast, CastLike and Identity. */
#include <inttypes.h>
#include <string.h>

#include "ops/elementwise_op.h"
#include "tensor/number.h"

/* ---- Conversion in blocks. ---- */

#define BLOCK 16384

typedef struct conversion {
    const hk_tensor *from;
    hk_tensor *to;
    int64_t count;
} conversion;

static void convert_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const conversion *c = context;
    int64_t begin = block * BLOCK, n = c->count - begin < BLOCK ? c->count - begin : BLOCK;
    hk_status status = hki_convert((char *)c->to->data + (size_t)begin * hk_dtype_size(c->to->dtype), c->to->dtype,
                                   (const char *)c->from->data + (size_t)begin * hk_dtype_size(c->from->dtype),
                                   c->from->dtype, n);
    hk_status_free(status); /* the types were checked with the node */
}

static hk_status cast_run(hki_run *r)
{
    conversion c = {r->in[0], r->out[0], hk_tensor_count(r->in[0])};
    if (c.from->data != c.to->data || c.from->dtype != c.to->dtype)
        hki_pool_run(r->pool, (c.count + BLOCK - 1) / BLOCK, convert_block, &c);
    return NULL;
}

static hk_status cast_grad(hki_grad *g)
{
    if (g->need[0])
        g->dx[0] = hki_binary(g->graph, "CastLike", g->dy[0], g->x[0]);
    return NULL;
}

/* ---- Cast ---- */

static hk_status cast_infer(hki_infer *c)
{
    int64_t to = hki_attribute_int(c->node, "to");
    if (to < 1 || to > HK_BFLOAT16 || !(HKI_ANY & HKI_BIT(to)))
        return HK_ERR(HK_UNSUPPORTED, "attribute 'to': cannot cast to type %" PRId64 " (%s)", to,
                      to > 0 && to <= HK_BFLOAT16 ? hk_dtype_name((hk_dtype)to) : "unknown");
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = (hk_dtype)to;
    return NULL;
}

/* Opset 1 names the type. */
static hk_status cast_from_1(hki_draft *draft)
{
    static const char *const names[] = {"UNDEFINED", "FLOAT",  "UINT8",     "INT8",      "UINT16",  "INT16",
                                        "INT32",     "INT64",  "STRING",    "BOOL",      "FLOAT16", "DOUBLE",
                                        "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128"};
    const hk_attribute *to = hki_draft_attribute(draft, "to");
    if (!to || to->kind != HK_ATTRIBUTE_STRING)
        return NULL;
    for (int i = 1; i < (int)(sizeof names / sizeof names[0]); i++)
        if (!strcmp(names[i], to->as.s))
            return hki_draft_set_attribute(draft, &(hk_attribute)HK_INT("to", i));
    return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'to': unknown type '%s'", to->as.s);
}

static const hki_case cast_cases[] = {
    {"f[2,3]", "to=1"},
    {"f[2,3]", "to=11"},
    {"f[3,13]{-300,300}", "to=7"},
    {"f[3]=(0,0.5,-2)", "to=9"},
    {"i64[3]=(1,-2,300)", "to=2"},
    {"f[]", "to=6"},
    {"f[0,2]", "to=3"},
    {"f[2,3,2,2]", "to=16"},
    {"bool[2]=(0,1)", "to=1"},
    {NULL, NULL},
};

#define CAST_ATTRIBUTES \
    {"saturate", HK_ATTRIBUTE_INT, {.i = 1}, false}, {"round_mode", HK_ATTRIBUTE_STRING, {.s = "up"}, false}

const hki_op hki_op_cast = {
    .name = "Cast",
    .doc = "output = input as another type; fractions are cut off on the way to integers",
    .inputs = {{"input", "T1", HKI_ANY, 0}},
    .outputs = {{"output", "T2", HKI_ANY, 0}},
    .attributes = {{"to", HK_ATTRIBUTE_INT, {.i = 0}, true}, CAST_ATTRIBUTES},
    .versions = {{1, cast_from_1},
                 {6, NULL},
                 {9, NULL},
                 {13, NULL},
                 {19, NULL},
                 {21, NULL},
                 {23, NULL},
                 {24, NULL},
                 {25, NULL}},
    .flags = HKI_OP_ELEMENTWISE | HKI_OP_SAME_IF_EQUAL,
    .layout = HKI_LAYOUT_SAME,
    .infer = cast_infer,
    .run = cast_run,
    .grad = cast_grad,
    .cases = cast_cases,
};

/* ---- CastLike ---- */

static hk_status cast_like_infer(hki_infer *c)
{
    hk_dtype dtype = c->in[1]->dtype;
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = dtype;
    return NULL;
}

static const hki_case cast_like_cases[] = {
    {"f[2,3] f[1]!", NULL}, {"f[3]{-9,9} i64[1]", NULL}, {"i64[3]=(1,-2,3) f[]!", NULL}, {"f[0] bool[2]", NULL},
    {NULL, NULL},
};

const hki_op hki_op_cast_like = {
    .name = "CastLike",
    .doc = "output = input as the type of target_type",
    .inputs = {{"input", "T1", HKI_ANY, 0}, {"target_type", "T2", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"output", "T2", HKI_ANY, 0}},
    .attributes = {CAST_ATTRIBUTES},
    .versions = {{15, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .layout = HKI_LAYOUT_SAME,
    .infer = cast_like_infer,
    .run = cast_run,
    .grad = cast_grad,
    .cases = cast_like_cases,
};

/* ---- Identity ---- */

static hk_status identity_grad(hki_grad *g)
{
    if (g->need[0])
        g->dx[0] = g->dy[0];
    return NULL;
}

static const hki_case identity_cases[] = {HKI_UNARY_CASES_IN(""), };

const hki_op hki_op_identity = {
    .name = "Identity",
    .doc = "output = input",
    .inputs = {{"input", "V", HKI_ANY, 0}},
    .outputs = {{"output", "V", HKI_ANY, 0}},
    .versions =
        {{1, NULL}, {13, NULL}, {14, NULL}, {16, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .flags = HKI_OP_ALIAS | HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = hki_infer_same,
    .run = cast_run,
    .grad = identity_grad,
    .cases = identity_cases,
};
