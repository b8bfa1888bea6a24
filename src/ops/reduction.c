/* See reduction.h. float32 goes through the kernels; float64 and integers through the plain loops of
 * reduction_plain.inl. */
#include <math.h>

#include "ops/reduction.h"

#define ROW_SEGMENT    8192  /* elements of one row reduced in one go */
#define COLUMN_SEGMENT 8192  /* elements (rows x columns) reduced in one go */
#define STRIP          4096  /* columns per block */
#define BLOCK          32768 /* elements per block, about */

/* ---- Planning. ---- */

/* Rows of a column reduction that are summed one after the other: a power of two by the width alone. */
static int64_t column_segment(int64_t inner)
{
    int64_t rows = 16;
    while (inner > 0 && rows * 2 * inner <= COLUMN_SEGMENT) /* a width of 0 would go on for ever */
        rows *= 2;
    return rows;
}

static hkk_reduction op_of_parts(hkk_reduction op)
{
    return op == HKK_SUM_ABS || op == HKK_SUM_SQUARE ? HKK_SUM : op;
}

/* Adds the stages that reduce [outer, n, inner] to [outer, inner]. */
static void add_stages(hki_reduction *plan, hkk_reduction op, int64_t outer, int64_t n, int64_t inner)
{
    int64_t segment = inner == 1 ? ROW_SEGMENT : column_segment(inner);
    for (;;) {
        hki_reduction_stage *stage = &plan->stages[plan->stage_count++];
        if (plan->stage_count > 1)
            op = op_of_parts(op);
        *stage = (hki_reduction_stage){op, outer, n, inner, n, 1};
        if (n <= segment * 2 || plan->stage_count + HK_MAX_RANK >= HKI_REDUCTION_STAGES)
            return;
        stage->segment = segment;
        stage->segments = (n + segment - 1) / segment;
        n = stage->segments;
    }
}

/* Counts what lies between the stages. */
static void finish_plan(hki_reduction *plan)
{
    for (int i = 0; i < plan->stage_count; i++) {
        const hki_reduction_stage *s = &plan->stages[i];
        int64_t count = s->outer * s->segments * s->inner;
        if (i + 1 < plan->stage_count)
            plan->scratch_count += count;
        else
            plan->result_count = count;
    }
}

void hki_reduction_plan_matrix(hki_reduction *out, hkk_reduction op, int64_t outer, int64_t n, int64_t inner)
{
    *out = (hki_reduction){.count = n};
    add_stages(out, op, outer, n, inner);
    finish_plan(out);
}

/* Writes the dims of x in memory order with what is reduced, without ones, neighbours of one kind joined. */
static int join_dims(int64_t *dims, bool *gone, const hk_tensor *x, const bool *reduced)
{
    int count = 0;
    for (int k = 0; k < x->rank; k++) {
        int axis = x->layout == HKI_PLAIN || k == 0 ? k : k == x->rank - 1 ? 1 : k + 1;
        if (x->dims[axis] == 1)
            continue;
        if (count && gone[count - 1] == reduced[axis]) {
            dims[count - 1] *= x->dims[axis];
        } else {
            dims[count] = x->dims[axis];
            gone[count++] = reduced[axis];
        }
    }
    return count;
}

void hki_reduction_plan(hki_reduction *out, hkk_reduction op, const hk_tensor *x, const bool *reduced)
{
    int64_t dims[HK_MAX_RANK], kept = 1;
    bool gone[HK_MAX_RANK];
    int count = join_dims(dims, gone, x, reduced);
    *out = (hki_reduction){.count = 1};
    for (int i = count - 1; i >= 0; i--) {
        if (!gone[i]) {
            kept *= dims[i];
            continue;
        }
        out->count *= dims[i];
        add_stages(out, op, hki_shape_count(dims, 0, i), dims[i], kept);
    }
    if (!out->stage_count) /* nothing to reduce, but |x| or x^2 is still to be taken */
        add_stages(out, op, 1, 1, kept);
    finish_plan(out);
}

/* ---- Plain loops. ---- */

#define T      double
#define NAME(x) x##_double
#define LOWEST  (-INFINITY)
#define HIGHEST INFINITY
#define ABS(x)  fabs(x)
#define FLOATING 1
#include "ops/reduction_plain.inl"

#define T       int64_t
#define NAME(x) x##_int64
#define LOWEST  INT64_MIN
#define HIGHEST INT64_MAX
#define ABS(x)  ((x) < 0 ? (T)-(uint64_t)(x) : (x))
#define FLOATING 0
#include "ops/reduction_plain.inl"

#define T       uint64_t
#define NAME(x) x##_uint64
#define LOWEST  0
#define HIGHEST UINT64_MAX
#define ABS(x)  (x)
#define FLOATING 0
#include "ops/reduction_plain.inl"

/* ---- Running. ---- */

typedef struct stage_run {
    const hki_reduction_stage *stage;
    void *y;
    const void *x;
    hk_dtype dtype;
    const hkk_reduce_kernels *kernels;
    int64_t strips, units, units_per_block;
} stage_run;

static void reduce_unit(const stage_run *run, int64_t row, int64_t segment, int64_t strip)
{
    const hki_reduction_stage *s = run->stage;
    int64_t first = segment * s->segment, left = s->n - first, n = left < s->segment ? left : s->segment;
    int64_t column = strip * STRIP, columns = s->inner - column < STRIP ? s->inner - column : STRIP;
    int64_t from = (row * s->n + first) * s->inner + column;
    int64_t to = (row * s->segments + segment) * s->inner + column;
    if (run->dtype == HK_DOUBLE)
        reduce_double((double *)run->y + to, (const double *)run->x + from, s->op, n, s->inner, columns);
    else if (run->dtype == HK_INT64)
        reduce_int64((int64_t *)run->y + to, (const int64_t *)run->x + from, s->op, n, s->inner, columns);
    else if (run->dtype == HK_UINT64)
        reduce_uint64((uint64_t *)run->y + to, (const uint64_t *)run->x + from, s->op, n, s->inner, columns);
    else if (s->inner == 1)
        run->kernels->rows[s->op]((float *)run->y + to, (const float *)run->x + from, 1, n);
    else
        run->kernels->columns[s->op]((float *)run->y + to, (const float *)run->x + from, n, s->inner, columns);
}

static void reduce_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const stage_run *run = context;
    const hki_reduction_stage *s = run->stage;
    int64_t first = block * run->units_per_block, end = first + run->units_per_block;
    end = end < run->units ? end : run->units;
    if (run->dtype == HK_FLOAT && s->inner == 1 && s->segments == 1) {
        run->kernels->rows[s->op]((float *)run->y + first, (const float *)run->x + first * s->n, end - first, s->n);
        return;
    }
    for (int64_t u = first; u < end; u++)
        reduce_unit(run, u / run->strips / s->segments, u / run->strips % s->segments, u % run->strips);
}

static void run_stage(const hki_reduction_stage *s, void *y, const void *x, hk_dtype dtype, hki_pool *pool,
                      const hkk_kernels *kernels)
{
    stage_run run = {s, y, x, dtype, kernels->reduce, (s->inner + STRIP - 1) / STRIP, 0, 1};
    run.units = s->outer * s->segments * run.strips;
    int64_t unit = s->segment * (s->inner < STRIP ? s->inner : STRIP) + 1;
    run.units_per_block = unit < BLOCK ? BLOCK / unit : 1;
    hki_pool_run(pool, (run.units + run.units_per_block - 1) / run.units_per_block, reduce_block, &run);
}

void hki_reduction_run(const hki_reduction *plan, void *y, const void *x, hk_dtype dtype, void *scratch,
                       hki_pool *pool, const hkk_kernels *kernels)
{
    char *next = scratch;
    for (int i = 0; i < plan->stage_count; i++) {
        const hki_reduction_stage *s = &plan->stages[i];
        void *to = i + 1 < plan->stage_count ? next : y;
        run_stage(s, to, x, dtype, pool, kernels);
        next += (size_t)(s->outer * s->segments * s->inner) * hk_dtype_size(dtype);
        x = to;
    }
}
