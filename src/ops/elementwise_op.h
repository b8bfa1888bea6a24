/* What descriptors of elementwise operators have in common. */
#ifndef HKI_OPS_ELEMENTWISE_OP_H
#define HKI_OPS_ELEMENTWISE_OP_H

#include "ops/broadcast.h"

/** Ports and rules of y = f(x). */
#define HKI_UNARY(types)                                                                          \
    .inputs = {{"X", "T", types, 0}}, .outputs = {{"Y", "T", types, 0}}, .flags = HKI_OP_ELEMENTWISE, \
    .layout = HKI_LAYOUT_SAME, .infer = hki_infer_same

/** Ports and rules of y = f(a, b) with broadcasting. */
#define HKI_BINARY(types, extra_flags)                                                            \
    .inputs = {{"A", "T", types, 0}, {"B", "T", types, 0}}, .outputs = {{"C", "T", types, 0}},    \
    .flags = HKI_OP_ELEMENTWISE | (extra_flags), .layout = HKI_LAYOUT_SAME, .infer = hki_infer_elementwise

/** Ports and rules of a private gradient operator dx = f(dy, x), both of one shape; `second` is "x" or "y". */
#define HKI_BACKWARD(second)                                                                      \
    .domain = "halka", .inputs = {{"dy", "T", HKI_FLOATS, 0}, {second, "T", HKI_FLOATS, 0}},      \
    .outputs = {{"dx", "T", HKI_FLOATS, 0}}, .flags = HKI_OP_ELEMENTWISE, .layout = HKI_LAYOUT_SAME, \
    .infer = hki_infer_same

/** Cases that suit every unary function on [-2, 2]: scalars, empty tensors, more than a vector with a rest. */
#define HKI_UNARY_CASES                                                                                                \
    {"f[]", NULL}, {"f[3]", NULL}, {"f[0,3]", NULL}, {"f[1,1,1]", NULL}, {"f[2,3,2,2]", NULL}, {"f[3,13]", NULL},      \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }
/** The same inside a range, such as "{0.5,3}". */
#define HKI_UNARY_CASES_IN(range)                                                                                      \
    {"f[]" range, NULL}, {"f[3]" range, NULL}, {"f[0,3]" range, NULL}, {"f[2,3,2,2]" range, NULL},                     \
        {"f[3,13]" range, NULL},                                                                                       \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }
/** Pairs of shapes: equal, scalar, bias, channels, inner and outer broadcast, empty. The ranges suit a and b. */
#define HKI_BINARY_CASES_IN(a, b)                                                                                      \
    {"f[2,3]" a " f[2,3]" b, NULL}, {"f[]" a " f[]" b, NULL}, {"f[2,3]" a " f[]" b, NULL},                             \
        {"f[]" a " f[3,17]" b, NULL}, {"f[4,3]" a " f[3]" b, NULL}, {"f[3,1]" a " f[1,4]" b, NULL},                    \
        {"f[2,3,2,2]" a " f[3,1,1]" b, NULL}, {"f[1,3,1,1]" a " f[2,3,2,3]" b, NULL},                                  \
        {"f[2,1,3]" a " f[1,4,1]" b, NULL}, {"f[0,3]" a " f[3]" b, NULL}, {"f[1]" a " f[2,0]" b, NULL},                \
        {"f[2,70]" a " f[2,1]" b, NULL},                                                                               \
    {                                                                                                                  \
        "f[2,70]" a " f[70]" b, NULL                                                                                   \
    }
#define HKI_BINARY_CASES HKI_BINARY_CASES_IN("", ""), {NULL, NULL}

/** Versions of an operator that opset 7 gave NumPy's broadcasting. */
#define HKI_OLD_BROADCAST {1, hki_upgrade_drop_consumed}, {6, hki_upgrade_broadcast_axis}

#endif
