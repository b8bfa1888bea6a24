/* Parsing and contraction for Einsum. See einsum_plan.h. */
#include "ops/einsum_plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ops/movement.h"
#include "ops/shapes.h"
#include "tensor/number.h"

#define ELLIPSIS   (-1)
#define BIT(label) ((uint64_t)1 << (label))

/* ---- The equation ---- */

/* A term as written: letters, and at most one ELLIPSIS. */
typedef struct spelling {
    int count, ellipsis; /* ellipsis: its position, or -1 */
    int symbols[HK_MAX_RANK + 1];
} spelling;

/* Reads a term up to ',' or "->" or the end. */
static hk_status read_term(spelling *out, const char **at, const char *equation)
{
    const char *p = *at;
    *out = (spelling){.ellipsis = -1};
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        if (out->count - (out->ellipsis >= 0) >= HK_MAX_RANK)
            return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s': a term has more than %d letters", equation, HK_MAX_RANK);
        if (!strncmp(p, "...", 3) && out->ellipsis < 0) {
            out->ellipsis = out->count;
            out->symbols[out->count++] = ELLIPSIS;
            p += 2;
        } else if (*p >= 'A' && *p <= 'Z') {
            out->symbols[out->count++] = *p - 'A';
        } else if (*p >= 'a' && *p <= 'z') {
            out->symbols[out->count++] = 26 + *p - 'a';
        } else {
            return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s': unexpected '%c' at position %d", equation,
                          isprint((unsigned char)*p) ? *p : '?', (int)(p - equation));
        }
    }
    *at = p;
    return NULL;
}

/* Labels for a spelled term whose ellipsis stands for `dims` dims. */
static hk_status label_term(hki_term *out, const spelling *s, int dims, const char *equation)
{
    out->rank = 0;
    if (s->count - (s->ellipsis >= 0) + (s->ellipsis >= 0 ? dims : 0) > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "equation '%s': a term has more than %d dims", equation, HK_MAX_RANK);
    for (int i = 0; i < s->count; i++) {
        if (s->symbols[i] != ELLIPSIS)
            out->labels[out->rank++] = s->symbols[i];
        for (int d = 0; d < dims && s->symbols[i] == ELLIPSIS; d++)
            out->labels[out->rank++] = HKI_EINSUM_LABELS - dims + d;
    }
    return NULL;
}

/* Without "->": the ellipsis, then the letters that appear once, in ASCII order. */
static void implicit_output(spelling *out, const spelling *terms, int count)
{
    int seen[52] = {0};
    *out = (spelling){.ellipsis = -1};
    for (int t = 0; t < count; t++)
        for (int i = 0; i < terms[t].count; i++) {
            if (terms[t].symbols[i] == ELLIPSIS)
                out->ellipsis = 0;
            else
                seen[terms[t].symbols[i]]++;
        }
    if (out->ellipsis == 0)
        out->symbols[out->count++] = ELLIPSIS;
    for (int letter = 0; letter < 52 && out->count < HK_MAX_RANK; letter++)
        if (seen[letter] == 1)
            out->symbols[out->count++] = letter;
}

static hk_status read_equation(spelling *terms, spelling *output, const char *equation, int operands)
{
    const char *p = equation;
    int count = 0;
    for (;;) {
        if (count == operands)
            return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s' has more terms than the %d inputs", equation, operands);
        HK_TRY(read_term(&terms[count++], &p, equation));
        if (*p != ',')
            break;
        p++;
    }
    if (count != operands)
        return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s' has %d terms for %d inputs", equation, count, operands);
    if (!*p) {
        implicit_output(output, terms, count);
        return NULL;
    }
    if (strncmp(p, "->", 2))
        return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s': '-' must be followed by '>'", equation);
    p += 2;
    HK_TRY(read_term(output, &p, equation));
    if (*p)
        return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s' goes on after its output", equation);
    return NULL;
}

/* Merges the dims of an operand into the extents. Letters must agree; dims of an ellipsis broadcast. */
static hk_status merge_extents(hki_einsum *e, int operand, const hki_type *type)
{
    const hki_term *term = &e->terms[operand];
    for (int d = 0; d < term->rank; d++) {
        int64_t *extent = &e->extents[term->labels[d]], dim = type->dims[d];
        if (term->labels[d] >= 52 && (dim == 1 || *extent == 1))
            *extent = *extent == 1 || *extent == -1 ? dim : *extent;
        else
            HK_TRY_CTX(hki_dim_merge(extent, *extent, dim), "dim %d of input %d", d, operand);
    }
    return NULL;
}

static hk_status check_output(const hki_einsum *e, const char *equation)
{
    uint64_t inputs = 0, seen = 0;
    for (int i = 0; i < e->operands; i++)
        for (int d = 0; d < e->terms[i].rank; d++)
            inputs |= BIT(e->terms[i].labels[d]);
    if (__builtin_popcountll(inputs) > HKI_EINSUM_DISTINCT)
        return HK_ERR(HK_UNSUPPORTED, "equation '%s' has %d different labels; at most %d are supported", equation,
                      __builtin_popcountll(inputs), HKI_EINSUM_DISTINCT);
    for (int d = 0; d < e->out.rank; d++) {
        int label = e->out.labels[d];
        char letter = label >= 52 ? '.' : (char)(label < 26 ? 'A' + label : 'a' + label - 26);
        if (!(inputs & BIT(label)))
            return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s': '%c' of the output is in no input", equation, letter);
        if (seen & BIT(label))
            return HK_ERR(HK_INVALID_ARGUMENT, "equation '%s': '%c' stands twice in the output", equation, letter);
        seen |= BIT(label);
    }
    return NULL;
}

hk_status hki_einsum_parse(hki_einsum *out, bool *known, const char *equation, int operands,
                           const hki_type *const *types)
{
    spelling terms[HKI_EINSUM_OPERANDS], output;
    int ellipsis = 0;
    memset(out, 0, sizeof(*out));
    if (operands > HKI_EINSUM_OPERANDS)
        return HK_ERR(HK_UNSUPPORTED, "Einsum of %d inputs; at most %d are supported", operands, HKI_EINSUM_OPERANDS);
    HK_TRY(read_equation(terms, &output, equation, operands));
    out->operands = operands;
    out->out.rank = output.ellipsis < 0 ? output.count : -1;
    *known = true;
    for (int i = 0; i < operands; i++)
        *known = *known && types[i]->rank >= 0;
    if (!*known)
        return NULL;
    for (int i = 0; i < HKI_EINSUM_LABELS; i++)
        out->extents[i] = i >= 52 ? 1 : HKI_DIM_UNKNOWN;
    for (int i = 0; i < operands; i++) {
        int letters = terms[i].count - (terms[i].ellipsis >= 0), dims = types[i]->rank - letters;
        if (dims < 0 || (dims > 0 && terms[i].ellipsis < 0))
            return HK_ERR(HK_INVALID_SHAPE, "equation '%s': input %d has rank %d, its term has %d letters", equation, i,
                          types[i]->rank, letters);
        ellipsis = dims > ellipsis ? dims : ellipsis;
        HK_TRY(label_term(&out->terms[i], &terms[i], dims, equation));
        HK_TRY(merge_extents(out, i, types[i]));
    }
    HK_TRY(label_term(&out->out, &output, ellipsis, equation));
    return check_output(out, equation);
}

/* ---- Factors ---- */

hk_dtype hki_einsum_type(hk_dtype dtype)
{
    if (dtype == HK_DOUBLE)
        return HK_DOUBLE;
    return hki_dtype_is_float(dtype) ? HK_FLOAT : HK_INT64;
}

/* Product of the extents of a set of labels. */
static int64_t extent_of(const hki_einsum_work *w, uint64_t labels)
{
    int64_t product = 1;
    for (int i = 0; i < HKI_EINSUM_LABELS; i++)
        if (labels & BIT(i))
            product = hki_dim_mul(product, w->extents[i]);
    return product;
}

/* Scratch for `count` elements of `size` bytes. In a dry run NULL; an overflow makes the sum so large that no
 * allocation can succeed. */
static void *take(hki_einsum_work *w, int64_t count, size_t size)
{
    size_t bytes, total, start = w->used;
    if (!hki_size_mul(&bytes, (size_t)count, size) || !hki_size_add(&total, start, bytes) || total > SIZE_MAX / 4)
        total = SIZE_MAX / 4;
    w->used = (total + 63) / 64 * 64;
    return w->dry ? NULL : w->memory + start;
}

hk_status hki_einsum_factor(hki_factor *out, hki_einsum_work *w, const hki_term *term, const hk_tensor *tensor)
{
    int64_t strides[HK_MAX_RANK], count = hki_shape_count(tensor->dims, 0, tensor->rank);
    memset(out, 0, sizeof(*out));
    out->data = tensor->data;
    if (tensor->dtype != w->type) {
        void *converted = take(w, count, hk_dtype_size(w->type));
        if (!w->dry)
            HK_TRY(hki_convert(converted, w->type, tensor->data, tensor->dtype == HK_UINT64 ? HK_INT64 : tensor->dtype,
                               count));
        out->data = converted;
    }
    hki_row_major(strides, tensor->rank, tensor->dims);
    for (int d = 0; d < term->rank; d++) {
        int label = term->labels[d];
        if (tensor->dims[d] == 1 && w->extents[label] != 1)
            continue;
        out->labels |= BIT(label);
        out->strides[label] += strides[d]; /* a repeated label walks the diagonal */
    }
    return NULL;
}

/* Copies a factor to [set 0, set 1, set 2], dense; returns the memory. The sets are labels of the factor. */
static const void *pack(hki_einsum_work *w, const hki_factor *f, uint64_t set0, uint64_t set1, uint64_t set2)
{
    int64_t dims[HKI_EINSUM_DISTINCT], from[HKI_EINSUM_DISTINCT], to[HKI_EINSUM_DISTINCT], stride = 1;
    int count = 0;
    bool dense = true;
    hki_move move = {.from = f->data, .element_size = hk_dtype_size(w->type)};
    uint64_t sets[3] = {set0, set1, set2};
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < HKI_EINSUM_LABELS; i++)
            if (sets[s] & BIT(i)) {
                dims[count] = w->extents[i];
                from[count++] = f->strides[i];
            }
    for (int i = count - 1; i >= 0; i--) {
        to[i] = stride;
        dense = dense && (dims[i] == 1 || from[i] == stride);
        stride = hki_dim_mul(stride, dims[i]);
    }
    if (dense)
        return f->data;
    move.to = take(w, stride, move.element_size);
    if (w->dry)
        return NULL;
    for (int i = 0; i < count; i++)
        hki_move_add(&move, dims[i], to[i], from[i]);
    hki_move_run(&move, w->run->pool);
    return move.to;
}

/* The labels of a dense result [set 0, set 1, set 2]. */
static void label_result(hki_factor *out, const hki_einsum_work *w, const void *data, uint64_t set0, uint64_t set1,
                         uint64_t set2)
{
    uint64_t sets[3] = {set0, set1, set2};
    int64_t stride = 1;
    memset(out, 0, sizeof(*out));
    out->data = data;
    out->labels = set0 | set1 | set2;
    for (int s = 2; s >= 0; s--)
        for (int i = HKI_EINSUM_LABELS - 1; i >= 0; i--)
            if (sets[s] & BIT(i)) {
                out->strides[i] = stride;
                stride = hki_dim_mul(stride, w->extents[i]);
            }
}

/* ---- Sums and products ---- */

typedef struct product {
    hki_einsum_work *work;
    const void *a, *b; /* a: [batch, M, K]; b: [batch, K, N] or NULL: sums over K */
    void *c;
    int64_t batch, M, N, K, step;
    hkk_gemm gemm;
    float *scratch;
} product;

#define DEFINE_ROWS(name, T)                                                                                           \
    static void rows_##name(const product *p, int64_t row)                                                             \
    {                                                                                                                  \
        const T *a = (const T *)p->a + row * p->K;                                                                     \
        T *c = (T *)p->c + row * p->N;                                                                                 \
        if (!p->b) {                                                                                                   \
            T sum = 0;                                                                                                 \
            for (int64_t k = 0; k < p->K; k++)                                                                         \
                sum += a[k];                                                                                           \
            *c = sum;                                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        const T *b = (const T *)p->b + row / p->M * p->K * p->N;                                                       \
        for (int64_t n = 0; n < p->N; n++)                                                                             \
            c[n] = 0;                                                                                                  \
        for (int64_t k = 0; k < p->K; k++)                                                                             \
            for (int64_t n = 0; n < p->N; n++)                                                                         \
                c[n] += a[k] * b[k * p->N + n];                                                                        \
    }
DEFINE_ROWS(float, float)
DEFINE_ROWS(double, double)
DEFINE_ROWS(int64, uint64_t)

static void run_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    const product *p = context;
    int64_t end = (block + 1) * p->step < p->batch * p->M ? (block + 1) * p->step : p->batch * p->M;
    for (int64_t row = block * p->step; row < end; row++) {
        if (p->work->type == HK_FLOAT)
            rows_float(p, row);
        else if (p->work->type == HK_DOUBLE)
            rows_double(p, row);
        else
            rows_int64(p, row);
    }
}

static void run_gemm(void *context, int64_t block, int worker)
{
    const product *p = context;
    hkk_gemm gemm = p->gemm;
    int64_t batch = block / gemm.blocks;
    gemm.a += batch * p->M * p->K;
    gemm.b += batch * p->K * p->N;
    gemm.c += batch * p->M * p->N;
    p->work->run->k->gemm->run_block(&gemm, block % gemm.blocks,
                                     p->scratch ? p->scratch + worker * gemm.scratch : NULL);
}

/* Computes p->c. float32 products go through the packed kernel's order of summation. */
static void run_product(product *p)
{
    hki_einsum_work *w = p->work;
    hki_pool *pool = w->run->pool;
    if (p->b && w->type == HK_FLOAT && p->K > 0) {
        p->gemm = (hkk_gemm){.M = p->M,
                             .N = p->N,
                             .K = p->K,
                             .a = p->a,
                             .a_row = p->K,
                             .a_step = 1,
                             .b = p->b,
                             .b_unpacked = true,
                             .b_ld = p->N,
                             .c = p->c,
                             .c_ld = p->N};
        if (p->batch * p->M * p->N == 0)
            return;
        hkk_gemm_plan(&p->gemm);
        int64_t threads = w->run->threads > 0 ? w->run->threads : 1, line = (p->gemm.scratch + 15) / 16 * 16;
        p->gemm.scratch = line;
        p->scratch = line ? take(w, line * threads, sizeof(float)) : NULL;
        if (!w->dry)
            hki_pool_run(pool, p->batch * p->gemm.blocks, run_gemm, p);
        return;
    }
    if (w->dry)
        return;
    int64_t blocks = hki_blocks(&p->step, p->batch * p->M, (p->K + 1) * (p->N + 1) * 4);
    hki_pool_run(pool, blocks, run_rows, p);
}

/* Sums a factor over the labels that are not in `keep`. */
static void reduce(hki_factor *f, hki_einsum_work *w, uint64_t keep)
{
    uint64_t kept = f->labels & keep, gone = f->labels & ~keep;
    if (!gone)
        return;
    product p = {.work = w,
                 .a = pack(w, f, kept, gone, 0),
                 .batch = 1,
                 .M = extent_of(w, kept),
                 .N = 1,
                 .K = extent_of(w, gone)};
    p.c = take(w, p.M, hk_dtype_size(w->type));
    run_product(&p);
    label_result(f, w, p.c, kept, 0, 0);
}

static void multiply(hki_factor *a, hki_factor *b, hki_einsum_work *w, uint64_t keep)
{
    reduce(a, w, keep | b->labels);
    reduce(b, w, keep | a->labels);
    uint64_t both = a->labels & b->labels, batch = both & keep, k = both & ~keep;
    uint64_t m = a->labels & ~both, n = b->labels & ~both;
    product p = {
        .work = w, .batch = extent_of(w, batch), .M = extent_of(w, m), .N = extent_of(w, n), .K = extent_of(w, k)};
    p.a = pack(w, a, batch, m, k);
    p.b = pack(w, b, batch, k, n);
    p.c = take(w, hki_dim_mul(hki_dim_mul(p.batch, p.M), p.N), hk_dtype_size(w->type));
    if (w->dry)
        p.a = p.b = ""; /* not read */
    run_product(&p);
    label_result(a, w, p.c, batch, m, n);
}

void hki_einsum_contract(hki_factor *out, hki_einsum_work *w, int count, const hki_factor *factors, uint64_t keep)
{
    *out = factors[0];
    for (int i = 1; i < count; i++) {
        hki_factor next = factors[i];
        uint64_t later = keep;
        for (int j = i + 1; j < count; j++)
            later |= factors[j].labels;
        multiply(out, &next, w, later);
    }
    reduce(out, w, keep);
}
