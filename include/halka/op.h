/* Operators: the table of what halka can compute, as data.
 *
 *     for (int i = 0; i < hk_op_count(); i++)
 *         printf("%s\n", hk_op_name(hk_op_at(i)));
 *
 * Everything is constant and borrowed. */
#ifndef HALKA_OP_H
#define HALKA_OP_H

#include "halka/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_op hk_op;

/** Returns the number of operators, halka's inner ones included. */
HK_API int hk_op_count(void);
/** Returns operator 0 .. hk_op_count() - 1. */
HK_API const hk_op *hk_op_at(int index);
/** Finds an operator; domain "" (NULL too) is ONNX. NULL if there is none. */
HK_API const hk_op *hk_op_find(const char *domain, const char *name);

/** Returns the name, as in ONNX. */
HK_API const char *hk_op_name(const hk_op *op);
HK_API const char *hk_op_domain(const hk_op *op); /* "" is ONNX */
/** Returns one line: what it computes. */
HK_API const char *hk_op_doc(const hk_op *op);

/** How the gradient comes about. */
typedef enum hk_op_gradient {
    HK_GRADIENT_NONE,
    HK_GRADIENT_RULE,      /* a rule of its own */
    HK_GRADIENT_EXPANSION, /* the rules of the simpler operators it is made of */
} hk_op_gradient;
HK_API hk_op_gradient hk_op_gradient_kind(const hk_op *op);
/** Returns "plain", "any" (elementwise) or "channels-last": the memory layouts it computes in. */
HK_API const char *hk_op_layout(const hk_op *op);
/** Returns the opset versions at which it was born or changed, ascending; the last is the one computed, older ones are
 * upgraded on loading. 0 after the last. */
HK_API int hk_op_version(const hk_op *op, int index);

/** An input or output. */
typedef struct hk_op_port {
    const char *name;
    const char *variable; /* ports with the same one have the same type: "T" */
    bool is_optional, is_variadic;
} hk_op_port;

/** Reads input `index`; false after the last. */
HK_API bool hk_op_input(hk_op_port *out, const hk_op *op, int index);
HK_API bool hk_op_output(hk_op_port *out, const hk_op *op, int index);
/** True if an input or output takes a type. */
HK_API bool hk_op_input_takes(const hk_op *op, int index, hk_dtype dtype);
HK_API bool hk_op_output_takes(const hk_op *op, int index, hk_dtype dtype);

/** An attribute with its default (by kind; lists, tensors and graphs have none). */
typedef struct hk_op_attribute {
    const char *name;
    hk_attribute_kind kind;
    bool is_required;
    float f;
    int64_t i;
    const char *s; /* NULL: none */
} hk_op_attribute;
/** Reads attribute `index`; false after the last. */
HK_API bool hk_op_attribute_at(hk_op_attribute *out, const hk_op *op, int index);

#ifdef __cplusplus
}
#endif
#endif
