/* QuantizeLinear and DequantizeLinear: numbers to small integers and back, with one scale per tensor, per slice of an
 * axis, or per block.
 *
 *   q = saturate(round(x / scale) + zero_point)        round to nearest even
 *   x = (q - zero_point) * scale
 *
 * Both work in float32, whatever the floating type. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/shapes.h"

#define QUANTIZED (HKI_BIT(HK_INT8) | HKI_BIT(HK_UINT8) | HKI_BIT(HK_INT16) | HKI_BIT(HK_UINT16))
#define REALS     (HKI_BIT(HK_FLOAT) | HKI_BIT(HK_FLOAT16) | HKI_BIT(HK_BFLOAT16))
enum { BLOCK = 4096 };

/* Which element of scale belongs to element i of x: by the place along the axis. */
typedef struct scales {
    int64_t dim, inner; /* of the axis; elements behind it */
    int64_t block;      /* elements of the axis with one scale; 0: scale is one-dimensional, or a scalar (dim 1) */
    int64_t blocks;     /* ceil(dim / block) */
} scales;

static int64_t scale_index(const scales *s, int64_t i)
{
    int64_t inside = i % s->inner, along = i / s->inner % s->dim, outer = i / s->inner / s->dim;
    return s->block ? (outer * s->blocks + along / s->block) * s->inner + inside : along;
}

static bool is_one(const hki_type *type)
{
    return type->rank == 0 || (type->rank == 1 && type->dims[0] == 1);
}

/* Checks x against scale (and zero point, if given); dims may be unknown. */
static hk_status check_scales(scales *out, const hk_node *node, const hki_type *x, const hki_type *scale,
                              const hki_type *zero)
{
    int axis;
    int64_t block = hki_attribute_int(node, "block_size");
    *out = (scales){1, 1, 0, 1};
    if (zero && zero->rank >= 0 && scale->rank >= 0 && zero->rank != scale->rank && !(is_one(zero) && is_one(scale)))
        return HK_ERR(HK_INVALID_SHAPE, "scale has rank %d but zero_point has rank %d", scale->rank, zero->rank);
    for (int d = 0; zero && d < zero->rank && d < scale->rank; d++)
        if (zero->dims[d] >= 0 && scale->dims[d] >= 0 && zero->dims[d] != scale->dims[d])
            return HK_ERR(HK_INVALID_SHAPE, "scale and zero_point differ in dimension %d: %" PRId64 " and %" PRId64, d,
                          scale->dims[d], zero->dims[d]);
    if (block < 0)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'block_size' is %" PRId64, block);
    if (x->rank < 0 || scale->rank <= 0)
        return NULL;
    if (!block && scale->rank == 1 && scale->dims[0] == 1)
        return NULL;
    HK_TRY(hki_axis(&axis, hki_attribute_int(node, "axis"), x->rank));
    if (block ? scale->rank != x->rank : scale->rank != 1)
        return HK_ERR(HK_INVALID_SHAPE, "scale has rank %d, expected %d", scale->rank, block ? x->rank : 1);
    int64_t dim = x->dims[axis], have = scale->dims[block ? axis : 0];
    int64_t want = block && dim >= 0 ? dim / block + (dim % block != 0) : dim;
    if (want >= 0 && have >= 0 && want != have)
        return HK_ERR(HK_INVALID_SHAPE, "scale has %" PRId64 " entries along the axis, expected %" PRId64, have, want);
    for (int d = 0; block && d < x->rank; d++)
        if (d != axis && x->dims[d] >= 0 && scale->dims[d] >= 0 && x->dims[d] != scale->dims[d])
            return HK_ERR(HK_INVALID_SHAPE, "scale has dimension %d of %" PRId64 ", expected %" PRId64, d,
                          scale->dims[d], x->dims[d]);
    *out = (scales){dim, 1, block, have};
    for (int d = axis + 1; d < x->rank; d++)
        out->inner *= x->dims[d];
    return NULL;
}

static hki_type type_of(const hk_tensor *t)
{
    hki_type type = {0};
    hki_type_set(&type, t->dtype, t->rank, t->dims);
    return type;
}

static hk_status run_scales(scales *out, const hki_run *r)
{
    hki_type x = type_of(r->in[0]), scale = type_of(r->in[1]);
    return check_scales(out, r->node, &x, &scale, NULL);
}

static bool has_input(const hk_node *node, int i)
{
    return i < node->input_count && node->inputs[i];
}

/* ---- QuantizeLinear. ---- */

typedef struct pass {
    scales scales;
    const hk_tensor *x, *scale, *zero;
    hk_tensor *y;
    int64_t count, low, high; /* limits of the integers */
} pass;

static void integer_limits(int64_t *low, int64_t *high, hk_dtype dtype)
{
    int bits = 8 * (int)hk_dtype_size(dtype);
    bool is_signed = hki_dtype_is_signed(dtype);
    *low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    *high = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
}

static void put_integer(hk_tensor *y, int64_t i, int64_t value)
{
    size_t size = hk_dtype_size(y->dtype);
    uint64_t bits = (uint64_t)value;
    memcpy((char *)y->data + (size_t)i * size, &bits, size);
}

static void quantize_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const pass *p = context;
    int64_t end = (block + 1) * BLOCK < p->count ? (block + 1) * BLOCK : p->count;
    for (int64_t i = block * BLOCK; i < end; i++) {
        int64_t at = scale_index(&p->scales, i);
        float scale = (float)hki_tensor_get_double(p->scale, at);
        int64_t zero = p->zero ? hki_tensor_get_int(p->zero, at) : 0;
        float value = nearbyintf((float)hki_tensor_get_double(p->x, i) / scale) + (float)zero;
        float low = (float)p->low, high = (float)p->high; /* at most 16 bits: exact */
        if (!(value >= low)) /* NaN too */
            value = low;
        put_integer(p->y, i, (int64_t)(value > high ? high : value));
    }
}

static hk_status quantize_run(hki_run *r)
{
    pass p = {.x = r->in[0], .scale = r->in[1], .y = r->out[0], .count = hk_tensor_count(r->in[0])};
    p.zero = r->input_count > 2 ? r->in[2] : NULL;
    HK_TRY(run_scales(&p.scales, r));
    integer_limits(&p.low, &p.high, p.y->dtype);
    hki_pool_run(r->pool, (p.count + BLOCK - 1) / BLOCK, quantize_block, &p);
    return NULL;
}

static hk_status quantize_infer(hki_infer *c)
{
    scales s;
    bool has_zero = has_input(c->node, 2);
    int64_t wanted = hki_attribute_int(c->node, "output_dtype");
    hk_dtype dtype = has_zero ? c->in[2]->dtype : wanted ? (hk_dtype)wanted : HK_UINT8;
    HK_TRY(check_scales(&s, c->node, c->in[0], c->in[1], has_zero ? c->in[2] : NULL));
    if (wanted && has_zero && dtype && wanted != (int64_t)dtype)
        return HK_ERR(HK_INVALID_TYPE, "attribute 'output_dtype' is %" PRId64 ", but zero_point is %s", wanted,
                      hk_dtype_name(dtype));
    if (wanted < 0 || wanted > 31 || (dtype && !(QUANTIZED & HKI_BIT(dtype))))
        return HK_ERR(HK_UNSUPPORTED,
                      "attribute 'output_dtype' is %" PRId64 ", expected an integer type of 8 or 16 bits", wanted);
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = dtype;
    return NULL;
}

static const hki_case quantize_cases[] = {
    {"f32[2,3]! f32[]=(0.5)! u8[]=(128)", NULL},
    {"f32[2,3]! f32[3]=(0.5,1,2)! i8[3]=(0,1,-1)", "axis=-1"},
    {"f32[5]! f32[2]=(0.5,1)! i16[2]=(0,3)", "axis=0 block_size=3"},
    {"f32[0,3]! f32[]=(2)!", NULL},
    {NULL, NULL},
};

const hki_op hki_op_quantize_linear = {
    .name = "QuantizeLinear",
    .doc = "y = saturate(round(x / scale) + zero_point)",
    .inputs = {{"x", "T1", REALS | HKI_BIT(HK_INT32), 0},
               {"y_scale", "T2", REALS | HKI_BIT(HK_INT32), 0},
               {"y_zero_point", "T3", QUANTIZED, HKI_OPTIONAL}},
    .outputs = {{"y", "T3", QUANTIZED, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 1}, false},
                   {"block_size", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"output_dtype", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"precision", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"saturate", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{10, NULL}, {13, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = quantize_infer,
    .run = quantize_run,
    .cases = quantize_cases,
};

/* ---- DequantizeLinear. ---- */

static void dequantize_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const pass *p = context;
    int64_t end = (block + 1) * BLOCK < p->count ? (block + 1) * BLOCK : p->count;
    for (int64_t i = block * BLOCK; i < end; i++) {
        int64_t at = scale_index(&p->scales, i), zero = p->zero ? hki_tensor_get_int(p->zero, at) : 0;
        float scale = (float)hki_tensor_get_double(p->scale, at);
        hki_tensor_set_double(p->y, i, (double)((float)(hki_tensor_get_int(p->x, i) - zero) * scale));
    }
}

static hk_status dequantize_run(hki_run *r)
{
    pass p = {.x = r->in[0], .scale = r->in[1], .y = r->out[0], .count = hk_tensor_count(r->in[0])};
    p.zero = r->input_count > 2 ? r->in[2] : NULL;
    HK_TRY(run_scales(&p.scales, r));
    hki_pool_run(r->pool, (p.count + BLOCK - 1) / BLOCK, dequantize_block, &p);
    return NULL;
}

static hk_status dequantize_infer(hki_infer *c)
{
    scales s;
    int64_t wanted = hki_attribute_int(c->node, "output_dtype");
    hk_dtype dtype = wanted ? (hk_dtype)wanted : c->in[1]->dtype;
    HK_TRY(check_scales(&s, c->node, c->in[0], c->in[1], has_input(c->node, 2) ? c->in[2] : NULL));
    if (wanted < 0 || wanted > 31 || (dtype && !(REALS & HKI_BIT(dtype))))
        return HK_ERR(HK_INVALID_TYPE, "attribute 'output_dtype' is %" PRId64 ", expected a floating type", wanted);
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = dtype;
    return NULL;
}

static const hki_case dequantize_cases[] = {
    {"u8[2,3]=(0,1,2,128,254,255) f32[]=(0.5)! u8[]=(128)", NULL},
    {"i8[2,3]=(0,1,2,-128,-1,127) f32[2]=(0.5,2)! i8[2]=(0,1)", "axis=0"},
    {"i32[4]=(1,-2,3,100000) f32[]=(0.25)!", NULL},
    {"i8[4]=(1,-2,3,4) f32[2]=(0.25,2)!", "axis=0 block_size=2"},
    {NULL, NULL},
};

const hki_op hki_op_dequantize_linear = {
    .name = "DequantizeLinear",
    .doc = "y = (x - zero_point) * scale",
    .inputs = {{"x", "T1", QUANTIZED | HKI_BIT(HK_INT32), 0},
               {"x_scale", "T2", REALS, 0},
               {"x_zero_point", "T1", QUANTIZED | HKI_BIT(HK_INT32), HKI_OPTIONAL}},
    .outputs = {{"y", "T3", REALS, 0}},
    .attributes = {{"axis", HK_ATTRIBUTE_INT, {.i = 1}, false},
                   {"block_size", HK_ATTRIBUTE_INT, {.i = 0}, false},
                   {"output_dtype", HK_ATTRIBUTE_INT, {.i = 0}, false}},
    .versions = {{10, NULL}, {13, NULL}, {19, NULL}, {21, NULL}, {23, NULL}, {24, NULL}, {25, NULL}},
    .infer = dequantize_infer,
    .run = dequantize_run,
    .cases = dequantize_cases,
};
