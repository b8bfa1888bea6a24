/* Indices from data, and ordered scattering. See indexing.h. */
#include "ops/indexing.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/number.h"

hk_status hki_indices_check(const hk_tensor *indices, int64_t dim, int axis)
{
    int64_t count = hki_shape_count(indices->dims, 0, indices->rank);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = hki_index_at(indices, i);
        if (index < -dim || index >= dim)
            return HK_ERR(HK_INVALID_DATA,
                          "index %" PRId64 " (element %" PRId64 " of indices) is outside -%" PRId64 " .. %" PRId64
                          " of axis %d",
                          index, i, dim, dim - 1, axis);
    }
    return NULL;
}

/* ---- One function per dtype and way of combining. W is an unsigned type in which integer arithmetic wraps. ---- */

#define DEFINE_COPY(T, name)                                                                                           \
    static void none_##name(void *to, const void *from, int64_t count)                                                 \
    {                                                                                                                  \
        T *t = to;                                                                                                     \
        const T *f = from;                                                                                             \
        for (int64_t i = 0; i < count; i++)                                                                            \
            t[i] = f[i];                                                                                               \
    }

#define DEFINE_ONE(T, name, how, expression)                                                                           \
    static void how##_##name(void *to, const void *from, int64_t count)                                                \
    {                                                                                                                  \
        T *t = to;                                                                                                     \
        const T *f = from;                                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            T a = t[i], b = f[i];                                                                                      \
            t[i] = (T)(expression);                                                                                    \
        }                                                                                                              \
    }

#define DEFINE_INTEGER(T, W, name)                                                                                     \
    DEFINE_COPY(T, name)                                                                                               \
    DEFINE_ONE(T, name, add, (W)a + (W)b)                                                                              \
    DEFINE_ONE(T, name, mul, (W)a *(W)b)                                                                               \
    DEFINE_ONE(T, name, min, b < a ? b : a)                                                                            \
    DEFINE_ONE(T, name, max, b > a ? b : a)

#define DEFINE_FLOAT(T, name)                                                                                          \
    DEFINE_COPY(T, name)                                                                                               \
    DEFINE_ONE(T, name, add, a + b)                                                                                    \
    DEFINE_ONE(T, name, mul, a *b)                                                                                     \
    DEFINE_ONE(T, name, min, b < a || b != b ? b : a)                                                                  \
    DEFINE_ONE(T, name, max, b > a || b != b ? b : a)

#define DEFINE_HALF_ONE(name, how, up, down, expression)                                                               \
    static void how##_##name(void *to, const void *from, int64_t count)                                                \
    {                                                                                                                  \
        uint16_t *t = to;                                                                                              \
        const uint16_t *f = from;                                                                                      \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            float a = up(t[i]), b = up(f[i]);                                                                          \
            t[i] = down(expression);                                                                                   \
        }                                                                                                              \
    }

#define DEFINE_HALF(name, up, down)                                                                                    \
    DEFINE_COPY(uint16_t, name)                                                                                        \
    DEFINE_HALF_ONE(name, add, up, down, a + b)                                                                        \
    DEFINE_HALF_ONE(name, mul, up, down, a *b)                                                                         \
    DEFINE_HALF_ONE(name, min, up, down, b < a || b != b ? b : a)                                                      \
    DEFINE_HALF_ONE(name, max, up, down, b > a || b != b ? b : a)

DEFINE_FLOAT(float, float)
DEFINE_FLOAT(double, double)
DEFINE_HALF(float16, hki_float16_to_float, hki_float_to_float16)
DEFINE_HALF(bfloat16, hki_bfloat16_to_float, hki_float_to_bfloat16)
DEFINE_INTEGER(int8_t, uint32_t, int8)
DEFINE_INTEGER(int16_t, uint32_t, int16)
DEFINE_INTEGER(int32_t, uint32_t, int32)
DEFINE_INTEGER(int64_t, uint64_t, int64)
DEFINE_INTEGER(uint8_t, uint32_t, uint8)
DEFINE_INTEGER(uint16_t, uint32_t, uint16)
DEFINE_INTEGER(uint32_t, uint32_t, uint32)
DEFINE_INTEGER(uint64_t, uint64_t, uint64)

#define ROW(name)                                                                                                      \
    {                                                                                                                  \
        none_##name, add_##name, mul_##name, min_##name, max_##name                                                    \
    }

static hki_combine_fn *const float_row[] = ROW(float), *const double_row[] = ROW(double),
                             *const float16_row[] = ROW(float16), *const bfloat16_row[] = ROW(bfloat16),
                             *const int8_row[] = ROW(int8), *const int16_row[] = ROW(int16),
                             *const int32_row[] = ROW(int32), *const int64_row[] = ROW(int64),
                             *const uint8_row[] = ROW(uint8), *const uint16_row[] = ROW(uint16),
                             *const uint32_row[] = ROW(uint32), *const uint64_row[] = ROW(uint64),
                             *const bool_row[] = {none_uint8, max_uint8, min_uint8, min_uint8, max_uint8};

hki_combine_fn *hki_combine_find(hki_combine how, hk_dtype dtype)
{
    static hki_combine_fn *const *const rows[] = {
        [HK_FLOAT] = float_row, [HK_DOUBLE] = double_row, [HK_FLOAT16] = float16_row, [HK_BFLOAT16] = bfloat16_row,
        [HK_INT8] = int8_row,   [HK_INT16] = int16_row,   [HK_INT32] = int32_row,     [HK_INT64] = int64_row,
        [HK_UINT8] = uint8_row, [HK_UINT16] = uint16_row, [HK_UINT32] = uint32_row,   [HK_UINT64] = uint64_row,
        [HK_BOOL] = bool_row,
    };
    HK_ASSERT((size_t)dtype < sizeof(rows) / sizeof(rows[0]) && rows[dtype]);
    return rows[dtype][how];
}

hk_status hki_combine_parse(hki_combine *out, const char *text)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, names[i])) {
            *out = (hki_combine)i;
            return NULL;
        }
    return HK_ERR(HK_INVALID_ARGUMENT, "reduction must be none, add, mul, min or max, found '%s'", text);
}

/* ---- Scattering ---- */

typedef struct scatter {
    char *to;
    const char *from;
    int64_t to_count, slices, slice, range;
    const int64_t *offsets;
    size_t size;
    hki_combine_fn *fn;
} scatter;

static void scatter_range(void *context, int64_t block, int worker)
{
    (void)worker;
    const scatter *s = context;
    int64_t low = block * s->range, high = low + s->range < s->to_count ? low + s->range : s->to_count;
    for (int64_t i = 0; i < s->slices; i++) {
        int64_t begin = s->offsets[i], end = begin + s->slice;
        int64_t from = begin < low ? low : begin, to = end > high ? high : end;
        if (from < to)
            s->fn(s->to + (size_t)from * s->size, s->from + (size_t)(i * s->slice + from - begin) * s->size, to - from);
    }
}

int64_t hki_scatter_ranges(int64_t bytes)
{
    int64_t ranges = bytes >> 16;
    return ranges < 1 ? 1 : ranges > 16 ? 16 : ranges;
}

void hki_scatter_slices(void *to, int64_t to_count, const void *from, int64_t slices, int64_t slice,
                        const int64_t *offsets, hk_dtype dtype, hki_combine how, hki_pool *pool)
{
    scatter s = {.to = to,
                 .from = from,
                 .to_count = to_count,
                 .slices = slices,
                 .slice = slice,
                 .offsets = offsets,
                 .size = hk_dtype_size(dtype),
                 .fn = hki_combine_find(how, dtype)};
    int64_t ranges = hki_scatter_ranges(to_count * (int64_t)s.size);
    s.range = (to_count + ranges - 1) / ranges;
    if (to_count > 0)
        hki_pool_run(pool, ranges, scatter_range, &s);
}
