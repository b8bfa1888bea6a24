/* Elementwise rows: every one of every ISA has the bytes of plain C, on odd sizes, misaligned and special data, spread
 * operands and in place, and writes nothing behind its row. Values are checked in src/ops/rows_test.c, where float64 is
 * at hand. */
#include "harness/test.h"
#include "harness/isas.h"

#include "kernels/elementwise.h"

#define ROOM 160

static const struct row_name {
    const char *name;
    int arity;
} names[] = {
#define ROW_NAME(name, arity) {#name, arity},
    HKK_LANE_ROWS(ROW_NAME)
#undef ROW_NAME
};

typedef struct operands {
    float x[HKK_ROW_OPERANDS][ROOM];
} operands;

static void fill(operands *o, uint64_t seed, bool special)
{
    for (int k = 0; k < HKK_ROW_OPERANDS; k++) {
        test_fill(o->x[k], ROOM, seed * 4 + (uint64_t)k);
        for (int i = 0; i < ROOM; i++)
            o->x[k][i] *= i % 3 ? 4.0f : 90.0f;
        if (special)
            test_strew_special(o->x[k], ROOM, seed * 4 + (uint64_t)k, 3);
    }
}

/* Computes a row of n elements at `offset` floats from alignment; y keeps its canaries. */
static void compute(float *y, const hkk_kernels *kernels, int op, const operands *o, int64_t n, int offset,
                    unsigned spread)
{
    hkk_row row = {.y = y + offset, .n = n, .p = {0.75, 0.25, -1.5}};
    for (int k = 0; k < names[op].arity; k++) {
        row.x[k] = o->x[k] + offset;
        row.spread[k] = spread >> k & 1;
    }
    for (int i = 0; i < ROOM; i++)
        y[i] = 12345.0f;
    kernels->elementwise->f32[op](&row);
    for (int i = 0; i < ROOM; i++)
        if ((i < offset || i >= offset + n) && y[i] != 12345.0f) {
            printf("%s wrote at %d, outside %d .. %d\n", names[op].name, i, offset, (int)(offset + n));
            test_failures++;
            break;
        }
}

static void compare(int op, const float *expected, const float *found, const char *what, int64_t n, unsigned spread)
{
    int64_t at = test_first_difference(expected, found, ROOM);
    if (at < 0)
        return;
    printf("%s (%s, n %d, spread %u): element %d is %.9g, expected %.9g\n", names[op].name, what, (int)n, spread,
           (int)at, (double)found[at], (double)expected[at]);
    test_failures++;
}

static void check_row(const hkk_kernels *kernels, int op)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 144};
    static operands o;
    float expected[ROOM], found[ROOM];
    for (int special = 0; special < 2; special++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (unsigned spread = 0; spread < 1u << names[op].arity; spread++) {
                int offset = (int)(s + spread) % 5;
                fill(&o, s * 2 + (uint64_t)special, special);
                compute(expected, hkk_kernels_get(HKI_ISA_C), op, &o, sizes[s], offset, spread);
                compute(found, kernels, op, &o, sizes[s], offset, spread);
                compare(op, expected, found, special ? "special" : "plain", sizes[s], spread);
            }
}

TEST(same_bytes_in_every_isa)
{
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int op = 0; kernels && op < HKK_LANE_ROW_COUNT; op++)
            check_row(kernels, op);
    }
}

TEST(in_place_on_any_operand)
{
    float expected[ROOM];
    static operands o;
    for (int isa = 0; isa < HKI_ISA_COUNT; isa++) {
        const hkk_kernels *kernels = test_isa_kernels(isa);
        for (int op = 0; kernels && op < HKK_LANE_ROW_COUNT; op++)
            for (int k = 0; k < names[op].arity; k++) {
                fill(&o, 77, false);
                compute(expected, kernels, op, &o, 101, 1, 0);
                hkk_row row = {.y = o.x[k] + 1, .n = 101, .p = {0.75, 0.25, -1.5}};
                for (int j = 0; j < names[op].arity; j++)
                    row.x[j] = o.x[j] + 1;
                kernels->elementwise->f32[op](&row);
                if (test_first_difference(expected + 1, o.x[k] + 1, 101) >= 0) {
                    printf("%s in place on operand %d differs\n", names[op].name, k);
                    test_failures++;
                }
            }
    }
}

/* A row may be cut anywhere: element i depends on elements i alone. */
TEST(cuts_do_not_matter)
{
    float whole[ROOM], parts[ROOM];
    static operands o;
    const hkk_kernels *kernels = hkk_kernels_get(HKI_ISA_C);
    fill(&o, 5, true);
    for (int op = 0; op < HKK_LANE_ROW_COUNT; op++) {
        compute(whole, kernels, op, &o, 100, 0, 0);
        memcpy(parts, whole, sizeof parts);
        for (int begin = 0, n; begin < 100; begin += n) {
            n = begin % 7 + 1 < 100 - begin ? begin % 7 + 1 : 100 - begin;
            hkk_row row = {.y = parts + begin, .n = n, .p = {0.75, 0.25, -1.5}};
            for (int k = 0; k < names[op].arity; k++)
                row.x[k] = o.x[k] + begin;
            kernels->elementwise->f32[op](&row);
        }
        compare(op, whole, parts, "cut", 100, 0);
    }
}

TEST_MAIN()
