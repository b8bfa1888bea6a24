/* See broadcast.h. The output is walked in its memory order. Dims that all operands cross with one stride are
 * collapsed first, so that most calls have one or two dims left. A piece is what one call of the row function computes:
 * operands that are contiguous or constant over it are read where they lie, others are gathered into a buffer on the
 * stack. */
#include "ops/broadcast.h"

#include <string.h>

#include "tensor/number.h"

#define BLOCK 16384   /* elements of the output per block of work */
#define CHUNK 512     /* elements of a staged piece */
#define SHORT_ROW 64  /* rows shorter than this are gathered, several to a piece */

typedef struct buffers {
    _Alignas(64) char gathered[CHUNK * sizeof(double)];
    _Alignas(64) char operand[HKK_ROW_OPERANDS][CHUNK * sizeof(double)];
    _Alignas(64) char result[CHUNK * sizeof(double)];
} buffers;

/* ---- Planning. ---- */

/* The logical dims in the memory order of a tensor. */
static void memory_order(int *order, const hk_tensor *t)
{
    int n = 0;
    for (int d = 0; d < t->rank; d++)
        if (!(t->layout == HKI_CHANNELS_LAST && t->rank >= 3 && d == 1))
            order[n++] = d;
    if (n < t->rank)
        order[n] = 1;
}

static bool can_merge(const hki_elementwise *e, int64_t inner_dim)
{
    int last = e->rank - 1; /* the outer dim; the inner one's strides stand behind it */
    for (int k = 0; k < e->count; k++)
        if (e->in[k].strides[last] != e->in[k].strides[last + 1] * inner_dim)
            return false;
    return true;
}

/* Appends a dim, whose strides stand at index e->rank already, or merges it with the one before. */
static void add_dim(hki_elementwise *e, int64_t dim)
{
    if (e->rank && can_merge(e, dim)) {
        e->dims[e->rank - 1] *= dim;
        for (int k = 0; k < e->count; k++)
            e->in[k].strides[e->rank - 1] = e->in[k].strides[e->rank];
        return;
    }
    e->dims[e->rank++] = dim;
}

static void classify(hki_elementwise *e)
{
    int64_t inner = e->dims[e->rank - 1];
    e->staged = e->out_as != e->out_dtype || e->fold;
    for (int k = 0; k < e->count; k++) {
        hki_operand *o = &e->in[k];
        o->dense = o->scalar = true;
        int64_t stride = 1;
        for (int d = e->rank - 1; d >= 0; d--) {
            o->dense &= o->strides[d] == stride || e->dims[d] == 1;
            o->scalar &= o->strides[d] == 0 || e->dims[d] == 1;
            stride *= e->dims[d];
        }
        int64_t innermost = o->strides[e->rank - 1];
        bool in_rows = inner >= SHORT_ROW && (innermost == 0 || innermost == 1);
        e->staged |= o->as != o->dtype || !(o->dense || o->scalar || in_rows);
    }
}

void hki_elementwise_plan(hki_elementwise *e, hki_operand *operands, int count, const hk_tensor *const *in,
                          hk_tensor *out, const hk_dtype *as, hk_dtype out_as)
{
    int order[HK_MAX_RANK];
    int64_t strides[HK_MAX_RANK];
    *e = (hki_elementwise){.count = count, .in = operands, .out = out->data, .out_dtype = out->dtype,
                           .out_as = out_as ? out_as : out->dtype, .total = hki_shape_count(out->dims, 0, out->rank)};
    for (int k = 0; k < count; k++)
        operands[k] = (hki_operand){.data = in[k]->data,
                                    .dtype = in[k]->dtype,
                                    .as = as && as[k] ? as[k] : in[k]->dtype,
                                    .size = hk_dtype_size(in[k]->dtype)};
    memory_order(order, out);
    for (int i = 0; i < out->rank; i++) {
        if (out->dims[order[i]] == 1)
            continue;
        for (int k = 0; k < count; k++) {
            hki_broadcast_strides(strides, out->rank, out->dims, in[k]);
            operands[k].strides[e->rank] = strides[order[i]];
        }
        add_dim(e, out->dims[order[i]]);
    }
    if (!e->rank) {
        for (int k = 0; k < count; k++)
            operands[k].strides[0] = 0;
        e->dims[e->rank++] = 1;
    }
    classify(e);
}

/* ---- Pieces. ---- */

#define GATHER(type)                                                                 \
    do {                                                                             \
        const type *from = (const type *)o->data + offset;                           \
        for (int64_t j = 0; j < run; j++)                                            \
            ((type *)to)[done + j] = from[j * step];                                 \
    } while (0)

/* Copies the elements that outputs start .. start+n-1 need. */
static void gather(char *to, const hki_elementwise *e, const hki_operand *o, int64_t start, int64_t n)
{
    int64_t at[HK_MAX_RANK], offset = 0, rest = start;
    int last = e->rank - 1;
    for (int d = last; d >= 0; d--) {
        at[d] = rest % e->dims[d];
        rest /= e->dims[d];
        offset += at[d] * o->strides[d];
    }
    int64_t step = o->strides[last];
    for (int64_t done = 0; done < n;) {
        int64_t run = e->dims[last] - at[last] < n - done ? e->dims[last] - at[last] : n - done;
        switch (o->size) {
        case 1:
            GATHER(uint8_t);
            break;
        case 2:
            GATHER(uint16_t);
            break;
        case 4:
            GATHER(uint32_t);
            break;
        default:
            GATHER(uint64_t);
        }
        done += run;
        offset -= at[last] * step; /* to the start of the next row */
        at[last] = 0;
        for (int d = last - 1; d >= 0; d--) {
            offset += o->strides[d];
            if (++at[d] < e->dims[d])
                break;
            offset -= at[d] * o->strides[d];
            at[d] = 0;
        }
    }
}

static int64_t row_offset(const hki_elementwise *e, const hki_operand *o, int64_t start)
{
    int64_t offset = 0;
    for (int d = e->rank - 1; d >= 0; d--) {
        offset += start % e->dims[d] * o->strides[d];
        start /= e->dims[d];
    }
    return offset;
}

static void convert(void *to, hk_dtype to_dtype, const void *from, hk_dtype from_dtype, int64_t count)
{
    hk_status status = hki_convert(to, to_dtype, from, from_dtype, count);
    hk_status_free(status); /* the types were checked with the node: numbers and bool */
}

/* Returns where operand k of a piece lies; *spread: it is one element for all. */
static const void *operand_at(unsigned char *spread, const hki_elementwise *e, int k, int64_t start, int64_t n,
                              bool in_row, buffers *b, char *converted)
{
    const hki_operand *o = &e->in[k];
    const char *data = NULL;
    int64_t innermost = o->strides[e->rank - 1];
    *spread = 0;
    if (o->scalar) {
        *spread = 1;
        data = o->data;
    } else if (o->dense) {
        data = o->data + (size_t)start * o->size;
    } else if (in_row && (innermost == 0 || innermost == 1)) {
        *spread = innermost == 0;
        data = o->data + (size_t)row_offset(e, o, start) * o->size;
    } else {
        char *to = o->as == o->dtype ? converted : b->gathered;
        gather(to, e, o, start, n);
        data = to;
    }
    if (o->as == o->dtype)
        return data;
    convert(converted, o->as, data, o->dtype, *spread ? 1 : n);
    return converted;
}

static void compute_piece(const hki_elementwise *e, int64_t start, int64_t n, bool in_row, buffers *b)
{
    char *out = e->out + (size_t)start * hk_dtype_size(e->out_dtype);
    hkk_row row = {.y = e->out_as == e->out_dtype ? (void *)out : b->result, .n = n, .p = {e->p[0], e->p[1], e->p[2]}};
    for (int k = 0; k < e->count; k++)
        row.x[k] = operand_at(&row.spread[k], e, k, start, n, in_row, b, b->operand[k]);
    e->row(&row);
    if (e->out_as != e->out_dtype)
        convert(out, e->out_dtype, b->result, e->out_as, n);
}

static void divide_all(void *y, hk_dtype dtype, int64_t n, int count)
{
    for (int64_t i = 0; i < n; i++) {
        if (dtype == HK_DOUBLE)
            ((double *)y)[i] /= count;
        else
            ((float *)y)[i] /= (float)count;
    }
}

/* All inputs are read before the output is written, since it may lie on one of them. */
static void fold_piece(const hki_elementwise *e, int64_t start, int64_t n, bool in_row, buffers *b)
{
    char *out = e->out + (size_t)start * hk_dtype_size(e->out_dtype);
    size_t size = hk_dtype_size(e->out_as);
    unsigned char spread;
    const void *first = operand_at(&spread, e, 0, start, n, in_row, b, b->operand[0]);
    if (spread)
        for (int64_t i = 0; i < n; i++)
            memcpy(b->result + (size_t)i * size, first, size);
    else
        memcpy(b->result, first, (size_t)n * size);
    for (int k = 1; k < e->count; k++) {
        hkk_row row = {.y = b->result, .n = n, .x = {b->result}};
        row.x[1] = operand_at(&row.spread[1], e, k, start, n, in_row, b, b->operand[0]);
        e->row(&row);
    }
    if (e->mean)
        divide_all(b->result, e->out_as, n, e->count);
    convert(out, e->out_dtype, b->result, e->out_as, n);
}

static void run_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const hki_elementwise *e = context;
    buffers b;
    int64_t end = (block + 1) * BLOCK < e->total ? (block + 1) * BLOCK : e->total, inner = e->dims[e->rank - 1];
    for (int64_t i = block * BLOCK, n; i < end; i += n) {
        int64_t to_row_end = inner - i % inner;
        bool in_row = inner >= SHORT_ROW;
        n = in_row && to_row_end < end - i ? to_row_end : end - i;
        if (e->staged && n > CHUNK)
            n = CHUNK;
        (e->fold ? fold_piece : compute_piece)(e, i, n, in_row, &b);
    }
}

void hki_elementwise_run(const hki_elementwise *e, hki_pool *pool)
{
    hki_pool_run(pool, (e->total + BLOCK - 1) / BLOCK, run_block, (void *)(uintptr_t)e);
}

/* ---- Run functions. ---- */

hk_dtype hki_compute_type(hk_dtype dtype)
{
    return dtype == HK_FLOAT16 || dtype == HK_BFLOAT16 ? HK_FLOAT : dtype;
}

static hk_status no_row(hk_dtype dtype)
{
    return HK_ERR(HK_INVALID_TYPE, "cannot compute in %s", hk_dtype_name(dtype));
}

hk_status hki_run_row_on(hki_run *r, hkk_row_op op, int count, const hk_tensor *const *in, const double *p)
{
    hki_operand operands[HKK_ROW_OPERANDS];
    hk_dtype as[HKK_ROW_OPERANDS], type = hki_compute_type(in[0]->dtype);
    hki_elementwise e;
    for (int k = 0; k < count; k++)
        as[k] = type;
    hki_elementwise_plan(&e, operands, count, in, r->out[0], as,
                         r->out[0]->dtype == in[0]->dtype ? type : r->out[0]->dtype);
    e.row = hki_row_find(op, type, r->k);
    if (!e.row)
        return no_row(type);
    memcpy(e.p, p, sizeof e.p);
    hki_elementwise_run(&e, r->pool);
    return NULL;
}

hk_status hki_run_row(hki_run *r, hkk_row_op op, double p0, double p1, double p2)
{
    return hki_run_row_on(r, op, r->input_count, r->in, (double[]){p0, p1, p2});
}

hk_status hki_run_fold(hki_run *r, hkk_row_op op, bool mean)
{
    if (r->input_count == 2 && !mean)
        return hki_run_row(r, op, 0, 0, 0);
    hki_elementwise e;
    hki_operand *operands = r->scratch;
    hk_dtype type = hki_compute_type(r->in[0]->dtype), *as = (hk_dtype *)(operands + r->input_count);
    for (int k = 0; k < r->input_count; k++)
        as[k] = type;
    hki_elementwise_plan(&e, operands, r->input_count, r->in, r->out[0], as, type);
    e.row = hki_row_find(op, type, r->k);
    if (!e.row)
        return no_row(type);
    e.fold = e.staged = true;
    e.mean = mean;
    hki_elementwise_run(&e, r->pool);
    return NULL;
}

size_t hki_fold_scratch(const hki_run *r)
{
    return (size_t)r->input_count * (sizeof(hki_operand) + sizeof(hk_dtype));
}
