/* Comparisons, logic, bits, and questions about floating-point numbers. None is differentiable. */
#include <string.h>

#include "ops/elementwise_op.h"

/* ---- Comparisons. ---- */

HKI_RUN_ROW(equal, equal)
HKI_RUN_ROW(less, less)
HKI_RUN_ROW(less_equal, less_equal)
HKI_RUN_ROW(greater, greater)
HKI_RUN_ROW(greater_equal, greater_equal)

static hk_status infer_bool(hki_infer *c)
{
    c->out[0].dtype = HK_BOOL;
    return hki_infer_elementwise(c);
}

static const hki_case compare_cases[] = {
    {"f[2,3] f[2,3]", NULL},
    {"f[4]=(1,2,3,4) f[4]=(4,2,1,4)", NULL},
    {"f[2,3,2,2] f[3,1,1]", NULL},
    {"f[] f[3,17]", NULL},
    {"i64[3]=(1,-2,3) i64[1]=(1)", NULL},
    {"f[0,3] f[3]", NULL},
    {NULL, NULL},
};

#define COMPARE(symbol, op_name, formula, types, extra, ...)                                                           \
    const hki_op hki_op_##symbol = {.name = op_name,                                                                   \
                                    .doc = formula,                                                                    \
                                    .inputs = {{"A", "T", types, 0}, {"B", "T", types, 0}},                            \
                                    .outputs = {{"C", "T1", HKI_BOOLS, 0}},                                            \
                                    .versions = {__VA_ARGS__},                                                         \
                                    .flags = HKI_OP_ELEMENTWISE | (extra),                                             \
                                    .layout = HKI_LAYOUT_SAME,                                                         \
                                    .infer = infer_bool,                                                               \
                                    .run = symbol##_run,                                                               \
                                    .cases = compare_cases};

COMPARE(equal, "Equal", "C = (A = B), broadcast", HKI_ANY, HKI_OP_COMMUTATIVE, {1, hki_upgrade_broadcast_axis},
        {7, NULL}, {11, NULL}, {13, NULL}, {19, NULL})
COMPARE(less, "Less", "C = (A < B), broadcast", HKI_NUMERIC, 0, {1, hki_upgrade_broadcast_axis}, {7, NULL}, {9, NULL},
        {13, NULL})
COMPARE(greater, "Greater", "C = (A > B), broadcast", HKI_NUMERIC, 0, {1, hki_upgrade_broadcast_axis}, {7, NULL},
        {9, NULL}, {13, NULL})
COMPARE(less_equal, "LessOrEqual", "C = (A <= B), broadcast", HKI_NUMERIC, 0, {12, NULL}, {16, NULL})
COMPARE(greater_equal, "GreaterOrEqual", "C = (A >= B), broadcast", HKI_NUMERIC, 0, {12, NULL}, {16, NULL})

/* ---- Logic and bits. ---- */

HKI_RUN_ROW(and, logical_and)
HKI_RUN_ROW(or, logical_or)
HKI_RUN_ROW(xor, logical_xor)
HKI_RUN_ROW(not, logical_not)
HKI_RUN_ROW(bitwise_and, bit_and)
HKI_RUN_ROW(bitwise_or, bit_or)
HKI_RUN_ROW(bitwise_xor, bit_xor)
HKI_RUN_ROW(bitwise_not, bit_not)

static const hki_case bool_cases[] = {
    {"bool[4]=(0,0,1,1) bool[4]=(0,1,0,1)", NULL},
    {"bool[2,1]=(0,1) bool[3]=(0,1,1)", NULL},
    {"bool[0,2] bool[2]", NULL},
    {"bool[] bool[2,3,2]", NULL},
    {NULL, NULL},
};
static const hki_case not_cases[] = {{"bool[4]=(0,0,1,1)", NULL}, {"bool[]", NULL}, {"bool[0,2]", NULL}, {NULL, NULL}};
static const hki_case bit_cases[] = {
    {"i64[4]=(0,-1,12,10) i64[4]=(3,7,10,-2)", NULL},
    {"i32[2,1]=(6,-3) i32[3]=(1,2,4)", NULL},
    {"i64[0,2] i64[2]", NULL},
    {NULL, NULL},
};
static const hki_case bit_not_cases[] = {
    {"i64[3]=(0,-1,12)", NULL}, {"i32[]=(5)", NULL}, {"i64[0]", NULL}, {NULL, NULL}};

#define LOGIC_2(symbol, op_name, formula, types, list, ...)                                                        \
    const hki_op hki_op_##symbol = {.name = op_name, .doc = formula, HKI_BINARY(types, HKI_OP_COMMUTATIVE),        \
                                    .versions = {__VA_ARGS__}, .run = symbol##_run, .cases = list};
#define LOGIC_1(symbol, op_name, formula, types, list, ...)                                                        \
    const hki_op hki_op_##symbol = {.name = op_name, .doc = formula, HKI_UNARY(types), .versions = {__VA_ARGS__},  \
                                    .run = symbol##_run, .cases = list};

LOGIC_2(and, "And", "C = A and B, broadcast", HKI_BOOLS, bool_cases, {1, hki_upgrade_broadcast_axis}, {7, NULL})
LOGIC_2(or, "Or", "C = A or B, broadcast", HKI_BOOLS, bool_cases, {1, hki_upgrade_broadcast_axis}, {7, NULL})
LOGIC_2(xor, "Xor", "C = A or B but not both, broadcast", HKI_BOOLS, bool_cases,
        {
            1, hki_upgrade_broadcast_axis},
        {7, NULL})
LOGIC_1(not, "Not", "Y = not X", HKI_BOOLS, not_cases, {1, NULL})
LOGIC_2(bitwise_and, "BitwiseAnd", "C = A and B in every bit, broadcast", HKI_INTS, bit_cases, {18, NULL})
LOGIC_2(bitwise_or, "BitwiseOr", "C = A or B in every bit, broadcast", HKI_INTS, bit_cases, {18, NULL})
LOGIC_2(bitwise_xor, "BitwiseXor", "C = A or B but not both in every bit, broadcast", HKI_INTS, bit_cases, {18, NULL})
LOGIC_1(bitwise_not, "BitwiseNot", "Y = X with every bit turned", HKI_INTS, bit_not_cases, {18, NULL})

/* ---- BitShift. ---- */

static hk_status shift_infer(hki_infer *c)
{
    const char *direction = hki_attribute_text(c->node, "direction");
    if (!direction || (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT")))
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'direction': expected LEFT or RIGHT, found '%s'",
                      direction ? direction : "");
    return hki_infer_elementwise(c);
}

static hk_status shift_run(hki_run *r)
{
    bool left = !strcmp(hki_attribute_text(r->node, "direction"), "LEFT");
    return hki_run_row(r, left ? HKK_ROW_shift_left : HKK_ROW_shift_right, 0, 0, 0);
}

static const hki_case shift_cases[] = {
    {"u8[3]=(16,4,1) u8[3]=(1,2,3)", "direction=RIGHT"}, {"u64[3]=(16,4,1) u64[1]=(70)", "direction=LEFT"},
    {"u32[0] u32[]=(1)", "direction=LEFT"}, {NULL, NULL},
};

const hki_op hki_op_bit_shift = {
    .name = "BitShift",
    .doc = "Z = X shifted by Y bits to the left or to the right, broadcast; 0 if no bit is left",
    .inputs = {{"X", "T", HKI_UNSIGNED_INTS, 0}, {"Y", "T", HKI_UNSIGNED_INTS, 0}},
    .outputs = {{"Z", "T", HKI_UNSIGNED_INTS, 0}},
    .attributes = {{"direction", HK_ATTRIBUTE_STRING, {.s = NULL}, true}},
    .versions = {{11, NULL}},
    .flags = HKI_OP_ELEMENTWISE,
    .layout = HKI_LAYOUT_SAME,
    .infer = shift_infer,
    .run = shift_run,
    .cases = shift_cases,
};

/* ---- IsNaN, IsInf. ---- */

HKI_RUN_ROW(is_nan, is_nan)

static hk_status is_inf_run(hki_run *r)
{
    return hki_run_row(r, HKK_ROW_is_inf, (double)hki_attribute_int(r->node, "detect_negative"),
                       (double)hki_attribute_int(r->node, "detect_positive"), 0);
}

static const hki_case nan_cases[] = {
    {"f[4]=(1,nan,inf,-inf)", NULL}, {"f[2,3]", NULL}, {"f[]", NULL}, {"f[0]", NULL}, {NULL, NULL}};
static const hki_case inf_cases[] = {
    {"f[4]=(1,nan,inf,-inf)", NULL},
    {"f[4]=(1,nan,inf,-inf)", "detect_negative=0"},
    {"f[3]=(1,inf,-inf)", "detect_positive=0"},
    {"f[0]", NULL},
    {NULL, NULL},
};

#define QUESTION \
    .inputs = {{"X", "T1", HKI_FLOATS, 0}}, .outputs = {{"Y", "T2", HKI_BOOLS, 0}}, .flags = HKI_OP_ELEMENTWISE, \
    .layout = HKI_LAYOUT_SAME, .infer = infer_bool

const hki_op hki_op_is_nan = {
    .name = "IsNaN",
    .doc = "Y = true where X is not a number",
    QUESTION,
    .versions = {{9, NULL}, {13, NULL}, {20, NULL}},
    .run = is_nan_run,
    .cases = nan_cases,
};

const hki_op hki_op_is_inf = {
    .name = "IsInf",
    .doc = "Y = true where X is infinite, of the signs asked for",
    QUESTION,
    .attributes = {{"detect_negative", HK_ATTRIBUTE_INT, {.i = 1}, false},
                   {"detect_positive", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{10, NULL}, {20, NULL}},
    .run = is_inf_run,
    .cases = inf_cases,
};
