/* The strided copy engine. See movement.h.
 *
 * After simplification the two innermost dimensions (1: outer of the two, 0: inner) form a plane that one loop copies;
 * the planes, cut into pieces of about BLOCK bytes, are numbered and dealt to the pool. */
#include "ops/movement.h"

#include <string.h>

#define BLOCK (64 * 1024) /* bytes: small enough to balance threads, large enough to hide the hand-over */
#define TILE  16

typedef struct plane {
    char *to;
    const char *from;
    size_t size;
    int64_t n0, t0, f0; /* elements, strides in elements */
    int64_t n1, t1, f1;
} plane;

typedef void plane_fn(const plane *p);

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void copy_rows(const plane *p)
{
    size_t row = (size_t)p->n0 * p->size;
    for (int64_t i = 0; i < p->n1; i++)
        memcpy(p->to + i * p->t1 * (int64_t)p->size, p->from + i * p->f1 * (int64_t)p->size, row);
}

#define DEFINE_KERNELS(T, bits)                                                                                        \
    static void strided_##bits(const plane *p)                                                                         \
    {                                                                                                                  \
        T *to = (T *)(void *)p->to;                                                                                    \
        const T *from = (const T *)(const void *)p->from;                                                              \
        int64_t t0 = p->t0, f0 = p->f0;                                                                                \
        for (int64_t i = 0; i < p->n1; i++)                                                                            \
            for (int64_t j = 0; j < p->n0; j++)                                                                        \
                to[i * p->t1 + j * t0] = from[i * p->f1 + j * f0];                                                     \
    }                                                                                                                  \
    static void fill_##bits(const plane *p)                                                                            \
    {                                                                                                                  \
        for (int64_t i = 0; i < p->n1; i++) {                                                                          \
            T *to = (T *)(void *)p->to + i * p->t1;                                                                    \
            T value = ((const T *)(const void *)p->from)[i * p->f1];                                                   \
            for (int64_t j = 0; j < p->n0; j++)                                                                        \
                to[j] = value;                                                                                         \
        }                                                                                                              \
    }

/* One tile of a transposition goes through a small buffer, so that each line of the source is read once, whole; with
 * strides that are powers of two the lines of a tile would otherwise throw each other out of the cache. */
#define DEFINE_TILE(T, bits)                                                                                           \
    static void full_tile_##bits(T *to, int64_t t1, const T *from, int64_t f0)                                         \
    {                                                                                                                  \
        T buffer[TILE][TILE];                                                                                          \
        for (int j = 0; j < TILE; j++)                                                                                 \
            memcpy(buffer[j], from + j * f0, sizeof(buffer[j]));                                                       \
        for (int i = 0; i < TILE; i++)                                                                                 \
            for (int j = 0; j < TILE; j++)                                                                             \
                to[i * t1 + j] = buffer[j][i];                                                                         \
    }
DEFINE_TILE(uint8_t, 8)
DEFINE_TILE(uint16_t, 16)
DEFINE_TILE(uint64_t, 64)

typedef uint32_t four __attribute__((vector_size(16)));

/* Transposes 4 x 4 elements in registers. */
static void full_tile_4(uint32_t *to, int64_t t1, const uint32_t *from, int64_t f0)
{
    four a, b, c, d;
    memcpy(&a, from, sizeof(a));
    memcpy(&b, from + f0, sizeof(b));
    memcpy(&c, from + 2 * f0, sizeof(c));
    memcpy(&d, from + 3 * f0, sizeof(d));
    four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);
    d = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
    memcpy(to, &a, sizeof(a));
    memcpy(to + t1, &b, sizeof(b));
    memcpy(to + 2 * t1, &c, sizeof(c));
    memcpy(to + 3 * t1, &d, sizeof(d));
}

/* 32 bits, the size that matters most. */
static void full_tile_32(uint32_t *to, int64_t t1, const uint32_t *from, int64_t f0)
{
    for (int i = 0; i < TILE; i += 4)
        for (int j = 0; j < TILE; j += 4)
            full_tile_4(to + i * t1 + j, t1, from + i + j * f0, f0);
}

#define DEFINE_TRANSPOSE(T, bits)                                                                                      \
    static void transpose_##bits(const plane *p)                                                                       \
    {                                                                                                                  \
        for (int64_t i = 0; i < p->n1; i += TILE)                                                                      \
            for (int64_t j = 0; j < p->n0; j += TILE) {                                                                \
                T *to = (T *)(void *)p->to + i * p->t1 + j;                                                            \
                const T *from = (const T *)(const void *)p->from + i + j * p->f0;                                      \
                int64_t height = least(p->n1 - i, TILE), width = least(p->n0 - j, TILE);                               \
                if (height == TILE && width == TILE) {                                                                 \
                    full_tile_##bits(to, p->t1, from, p->f0);                                                          \
                    continue;                                                                                          \
                }                                                                                                      \
                for (int64_t k = 0; k < height; k++)                                                                   \
                    for (int64_t l = 0; l < width; l++)                                                                \
                        to[k * p->t1 + l] = from[k + l * p->f0];                                                       \
            }                                                                                                          \
    }
DEFINE_KERNELS(uint8_t, 8)
DEFINE_KERNELS(uint16_t, 16)
DEFINE_KERNELS(uint32_t, 32)
DEFINE_KERNELS(uint64_t, 64)
DEFINE_TRANSPOSE(uint8_t, 8)
DEFINE_TRANSPOSE(uint16_t, 16)
DEFINE_TRANSPOSE(uint32_t, 32)
DEFINE_TRANSPOSE(uint64_t, 64)

static plane_fn *const strided_table[] = {strided_8, strided_16, strided_32, strided_64};
static plane_fn *const fill_table[] = {fill_8, fill_16, fill_32, fill_64};
static plane_fn *const transpose_table[] = {transpose_8, transpose_16, transpose_32, transpose_64};

static int size_index(size_t size)
{
    HK_ASSERT(size == 1 || size == 2 || size == 4 || size == 8);
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

void hki_move_add(hki_move *move, int64_t dim, int64_t to_stride, int64_t from_stride)
{
    HK_ASSERT(move->rank < HKI_MOVE_RANK);
    move->dims[move->rank] = dim;
    move->to_strides[move->rank] = to_stride;
    move->from_strides[move->rank++] = from_stride;
}

void hki_row_major(int64_t *out_strides, int rank, const int64_t *dims)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        out_strides[i] = stride;
        stride *= dims[i];
    }
}

int64_t hki_blocks(int64_t *out_step, int64_t count, int64_t bytes)
{
    int64_t step = bytes > 0 && bytes < BLOCK ? BLOCK / bytes : 1;
    *out_step = step;
    return (count + step - 1) / step;
}

/* Drops dimensions of 1 and joins neighbours that are one dimension on both sides. False if there is nothing to copy.
 */
static bool simplify(hki_move *m)
{
    int rank = 0;
    for (int i = 0; i < m->rank; i++) {
        if (m->dims[i] == 0)
            return false;
        if (m->dims[i] == 1)
            continue;
        if (rank && m->to_strides[rank - 1] == m->dims[i] * m->to_strides[i] &&
            m->from_strides[rank - 1] == m->dims[i] * m->from_strides[i])
            m->dims[rank - 1] *= m->dims[i];
        else
            m->dims[rank++] = m->dims[i];
        m->to_strides[rank - 1] = m->to_strides[i];
        m->from_strides[rank - 1] = m->from_strides[i];
    }
    m->rank = rank;
    while (m->rank < 2) { /* so that a plane always exists */
        memmove(m->dims + 1, m->dims, sizeof(m->dims[0]) * (size_t)m->rank);
        memmove(m->to_strides + 1, m->to_strides, sizeof(m->dims[0]) * (size_t)m->rank);
        memmove(m->from_strides + 1, m->from_strides, sizeof(m->dims[0]) * (size_t)m->rank);
        m->dims[0] = 1;
        m->to_strides[0] = m->from_strides[0] = m->rank == 0;
        m->rank++;
    }
    return true;
}

static void swap_dims(hki_move *m, int a, int b)
{
    int64_t *lists[] = {m->dims, m->to_strides, m->from_strides};
    for (int i = 0; i < 3; i++) {
        int64_t t = lists[i][a];
        lists[i][a] = lists[i][b];
        lists[i][b] = t;
    }
}

/* Chooses the loop for the plane, and puts the dimensions in the order that suits it. Dimensions may change places: no
 * element depends on another. */
static plane_fn *choose(hki_move *m)
{
    int inner = m->rank - 1, size = size_index(m->element_size);
    if (m->to_strides[inner] == 1 && m->from_strides[inner] == 1)
        return copy_rows;
    if (m->to_strides[inner] == 1 && m->from_strides[inner] == 0)
        return fill_table[size];
    if (m->to_strides[inner] == 1)
        for (int i = 0; i < inner; i++) {
            if (m->from_strides[i] != 1)
                continue;
            swap_dims(m, i, inner - 1);
            if (m->dims[inner] >= TILE / 2 && m->dims[inner - 1] >= TILE / 2)
                return transpose_table[size];
            if (m->dims[inner] < m->dims[inner - 1]) /* the longer loop inside */
                swap_dims(m, inner, inner - 1);
            return strided_table[size];
        }
    return strided_table[size];
}

typedef struct work {
    const hki_move *move;
    plane_fn *fn;
    int64_t step0, step1;       /* elements of a piece in dims 0 and 1 of the plane */
    int64_t pieces0, pieces1;   /* pieces of a plane */
    int64_t items, items_block; /* all pieces, pieces of one block */
} work;

static void run_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const work *w = context;
    const hki_move *m = w->move;
    int outer = m->rank - 2;
    int64_t size = (int64_t)m->element_size, item = block * w->items_block;
    int64_t end = item + w->items_block < w->items ? item + w->items_block : w->items;
    int64_t index[HKI_MOVE_RANK], to = 0, from = 0;
    int64_t rest = item / (w->pieces0 * w->pieces1), piece = item % (w->pieces0 * w->pieces1);
    for (int i = outer - 1; i >= 0; i--) {
        index[i] = rest % m->dims[i];
        rest /= m->dims[i];
        to += index[i] * m->to_strides[i];
        from += index[i] * m->from_strides[i];
    }
    plane p = {.size = m->element_size,
               .t0 = m->to_strides[outer + 1],
               .f0 = m->from_strides[outer + 1],
               .t1 = m->to_strides[outer],
               .f1 = m->from_strides[outer]};
    for (; item < end; item++) {
        int64_t start1 = piece / w->pieces0 * w->step1, start0 = piece % w->pieces0 * w->step0;
        p.n1 = m->dims[outer] - start1 < w->step1 ? m->dims[outer] - start1 : w->step1;
        p.n0 = m->dims[outer + 1] - start0 < w->step0 ? m->dims[outer + 1] - start0 : w->step0;
        p.to = (char *)m->to + (to + start1 * p.t1 + start0 * p.t0) * size;
        p.from = (const char *)m->from + (from + start1 * p.f1 + start0 * p.f0) * size;
        w->fn(&p);
        if (++piece < w->pieces0 * w->pieces1)
            continue;
        piece = 0;
        for (int i = outer - 1; i >= 0; i--) {
            to += m->to_strides[i];
            from += m->from_strides[i];
            if (++index[i] < m->dims[i])
                break;
            to -= m->dims[i] * m->to_strides[i];
            from -= m->dims[i] * m->from_strides[i];
            index[i] = 0;
        }
    }
}

void hki_move_run(hki_move *move, hki_pool *pool)
{
    if (!simplify(move))
        return;
    work w = {.move = move, .fn = choose(move)};
    int64_t n0 = move->dims[move->rank - 1], n1 = move->dims[move->rank - 2];
    int64_t block = BLOCK / (int64_t)move->element_size, planes = 1;
    bool tiles = w.fn == transpose_table[size_index(move->element_size)];
    int64_t widest = tiles ? block / (4 * TILE) : block;
    w.step0 = n0 < widest ? n0 : widest;
    w.step1 = block / w.step0;
    if (tiles)
        w.step1 = w.step1 / TILE * TILE;
    if (w.step1 > n1)
        w.step1 = n1;
    w.pieces0 = (n0 + w.step0 - 1) / w.step0;
    w.pieces1 = (n1 + w.step1 - 1) / w.step1;
    for (int i = 0; i < move->rank - 2; i++)
        planes *= move->dims[i];
    w.items = planes * w.pieces0 * w.pieces1;
    int64_t blocks = hki_blocks(&w.items_block, w.items, w.step0 * w.step1 * (int64_t)move->element_size);
    if (blocks == 1)
        run_block(&w, 0, 0);
    else
        hki_pool_run(pool, blocks, run_block, &w);
}

void hki_copy(void *to, const void *from, int64_t count, size_t element_size, hki_pool *pool)
{
    if (to == from)
        return;
    hki_move move = {.to = to, .from = from, .element_size = element_size};
    hki_move_add(&move, count, 1, 1);
    hki_move_run(&move, pool);
}

void hki_fill(void *to, const void *value, int64_t count, size_t element_size, hki_pool *pool)
{
    hki_move move = {.to = to, .from = value, .element_size = element_size};
    hki_move_add(&move, count, 1, 0);
    hki_move_run(&move, pool);
}
