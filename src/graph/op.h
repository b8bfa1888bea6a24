/* The operator type: everything halka knows about an operator stands in one descriptor, at the end of the operator's
 * file in src/ops/. exec/ and passes/ know operators only through this header. See docs/adding-an-operator.md for a
 * worked example. */
#ifndef HKI_GRAPH_OP_H
#define HKI_GRAPH_OP_H

#include "base/pool.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include "tensor/random.h"

/* ---- Types an input or output may have: a bit per hk_dtype. ---- */
#define HKI_BIT(dtype) (1u << (dtype))
#define HKI_FLOATS (HKI_BIT(HK_FLOAT) | HKI_BIT(HK_DOUBLE) | HKI_BIT(HK_FLOAT16) | HKI_BIT(HK_BFLOAT16))
#define HKI_SIGNED_INTS (HKI_BIT(HK_INT8) | HKI_BIT(HK_INT16) | HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64))
#define HKI_UNSIGNED_INTS (HKI_BIT(HK_UINT8) | HKI_BIT(HK_UINT16) | HKI_BIT(HK_UINT32) | HKI_BIT(HK_UINT64))
#define HKI_INTS (HKI_SIGNED_INTS | HKI_UNSIGNED_INTS)
#define HKI_NUMERIC (HKI_FLOATS | HKI_INTS)
#define HKI_INDEX (HKI_BIT(HK_INT32) | HKI_BIT(HK_INT64))
#define HKI_BOOLS HKI_BIT(HK_BOOL)
#define HKI_ANY (HKI_NUMERIC | HKI_BOOLS) /* all types that can be moved about; strings and complex are not supported */

enum hki_port_flags {
    HKI_OPTIONAL = 1,
    HKI_VARIADIC = 2,   /* this and all that follow (last port only) */
    HKI_SHAPE_ONLY = 4, /* only its shape is read, so its memory need not be kept for this node */
};

/** An input or output: name as in ONNX, type variable ("T"; ports with the same variable have one type), allowed types,
 * flags. */
typedef struct hki_port {
    const char *name;
    const char *variable;
    unsigned types;
    unsigned flags;
} hki_port;

/** An attribute: name, kind, default (by kind), whether it must be given. Lists have no default. */
typedef struct hki_attribute_spec {
    const char *name;
    hk_attribute_kind kind;
    struct {
        float f;
        int64_t i;
        const char *s;
    } fallback;
    bool required;
} hki_attribute_spec;

/* ---- Shape and type inference: the only validation of a node. ---- */

/** What infer sees. Arity, type variables and attribute kinds are checked before it is called; out[i].dtype is already
 * set where the output's type variable is bound by an input. Dims may be unknown (negative) and rank -1: infer what can
 * be, check what is known. */
typedef struct hki_infer {
    const hk_node *node;
    int input_count, output_count;
    const hki_type *const *in;      /* NULL: absent */
    const hk_tensor *const *data;   /* value of an input where it is known now, else NULL; use hki_infer_data */
    hki_type *out;                  /* dtype UNDEFINED and rank -1 at the start unless bound */
} hki_infer;

/** The known value of input i (plain layout), or NULL: then leave what depends on it unknown; infer is called again
 * when it is known. */
const hk_tensor *hki_infer_data(const hki_infer *c, int i);
/** True if input i was given. */
bool hki_infer_has(const hki_infer *c, int i);
/** Reads input i, a 1-D (or scalar) integer tensor, into out (room for HK_MAX_RANK). Sets *out_count = -1 if the value
 * is not known now. */
hk_status hki_infer_ints(int64_t *out, int *out_count, const hki_infer *c, int i) HK_MUST_USE;
/** out = type of a (dtype and shape). */
void hki_type_copy(hki_type *out, const hki_type *a);
/** Fills a type. */
void hki_type_set(hki_type *out, hk_dtype dtype, int rank, const int64_t *dims);
/** True if rank and all dims are known numbers. */
bool hki_type_known(const hki_type *type);
/** Computes the shape to which a and b broadcast (NumPy rules, ONNX "Multidirectional Broadcasting"); dtype of out is
 * left alone. */
hk_status hki_infer_broadcast(hki_type *out, const hki_type *a, const hki_type *b) HK_MUST_USE;
/** Normalises an axis in -rank .. rank-1 to 0 .. rank-1; HK_INVALID_ARGUMENT names attribute, value and rank. */
hk_status hki_axis(int *out, int64_t axis, int rank) HK_MUST_USE;
/** Products and sums of dims that stay unknown if a part is. */
int64_t hki_dim_mul(int64_t a, int64_t b);
int64_t hki_dim_add(int64_t a, int64_t b);
/** Checks that two dims agree where both are known, returns the better known one in *out. */
hk_status hki_dim_merge(int64_t *out, int64_t a, int64_t b) HK_MUST_USE;
/** Infer function for y = f(x): same shape and dtype. */
hk_status hki_infer_same(hki_infer *c) HK_MUST_USE;
/** Infer function for broadcasting operators of any arity: out[0] is the broadcast shape of all inputs (dtype by type
 * variable). */
hk_status hki_infer_elementwise(hki_infer *c) HK_MUST_USE;

/* ---- Running. ---- */

/** What a run of one node sees. All inputs and outputs are allocated, with the inferred shapes. No allocation is
 * allowed: ask for scratch. */
typedef struct hki_run {
    const hk_node *node;
    int input_count, output_count;
    const hk_tensor *const *in; /* NULL: absent */
    hk_tensor *const *out;      /* NULL: not wanted */
    void *scratch; /* op->scratch(run) bytes, 64-aligned, contents undefined; NULL when asking for the size */
    const void *const *packed; /* per input: its packed form made once (op->pack) if the input is constant, else NULL;
                                  array may be NULL */
    hki_pool *pool;
    int threads; /* of the pool */
    const hkk_kernels *k;
    uint64_t seed, step; /* keys of random operators */
    uint64_t sample;     /* global index of sample 0 of this batch */
} hki_run;

/* ---- Building nodes: gradients, expansions, upgrades. ---- */

/** Adds nodes to a graph at graph->insert_before. After a failure every call returns NULL and passes NULL on; the
 * failure is in the graph. Thin names over hk_graph_apply, so that rules read like formulae. */
hk_value *hki_unary(hk_graph *g, const char *op, hk_value *x);
hk_value *hki_binary(hk_graph *g, const char *op, hk_value *a, hk_value *b);
/** A float scalar constant of x's type (Cast where the type is only known later). */
hk_value *hki_scalar_like(hk_graph *g, hk_value *x, double value);
/** A 1-D int64 constant. */
hk_value *hki_ints_constant(hk_graph *g, int64_t count, const int64_t *values);
/** Sums dy over broadcast dimensions so that it has the shape of x (halka SumToShape). */
hk_value *hki_sum_to_shape(hk_graph *g, hk_value *dy, hk_value *x);

/** What a gradient rule sees: build nodes that compute dx[i] for every i with need[i], from dy (NULL: zero) and the
 * node's inputs and outputs. Leave dx[i] NULL for zero. Gradients are linear in dy. */
typedef struct hki_grad {
    hk_graph *graph;
    const hk_node *node;
    hk_value *const *x;  /* node->inputs */
    hk_value *const *y;  /* node->outputs */
    hk_value *const *dy; /* per output */
    const bool *need;    /* per input */
    hk_value **dx;       /* per input, to be set */
} hki_grad;

/* ---- Older opsets: rules beside the operator. ---- */

/** A node as it stands in a file of an older opset, on its way to the newest: names, inputs, attributes may be changed
 * freely; nodes may be added to graph before it. All in the graph's arena. */
typedef struct hki_draft {
    hk_graph *graph;
    const char *op;
    const char *name;
    int version; /* the version being upgraded from (a `since` of the history) */
    int input_count, output_count, attribute_count;
    hk_value **inputs;
    const char **output_names; /* "" : absent */
    hk_attribute *attributes;
} hki_draft;

const hk_attribute *hki_draft_attribute(const hki_draft *draft, const char *name);
void hki_draft_remove_attribute(hki_draft *draft, const char *name);
hk_status hki_draft_set_attribute(hki_draft *draft, const hk_attribute *attribute) HK_MUST_USE;
/** Sets input i, growing the list with absent inputs. */
hk_status hki_draft_set_input(hki_draft *draft, int i, hk_value *value) HK_MUST_USE;
/** Moves an INTS (or INT) attribute into input i as an int64 constant; nothing if it was not given. */
hk_status hki_draft_ints_to_input(hki_draft *draft, const char *attribute, int i) HK_MUST_USE;
/** Moves a FLOAT attribute into input i as a scalar constant of `dtype`; nothing if it was not given. */
hk_status hki_draft_float_to_input(hki_draft *draft, const char *attribute, int i, hk_dtype dtype) HK_MUST_USE;

/** A version of the operator: since when, and what brings a node of that version to the next row (NULL: nothing to do).
 * Rows ascend; the last is what halka implements. A rule that renames draft->op sends the draft to that operator's
 * history at the version given by the model. */
typedef struct hki_version {
    int since;
    hk_status (*upgrade)(hki_draft *draft);
} hki_version;

/* ---- Test cases. ---- */

/** One case for the tests of gradients and of shapes. `inputs`: one word per input: TYPE[dims] with options, "-" for an
 * absent one: f[2,3]            the float type under test, uniform in [-2, 2] f[2,3]{0.5,3}     uniform in that range
 * f[2,3]{distinct}  a shuffled ladder of distinct values (for max, sort, relu kinks) f[3]=(1,2,0.5)    these values
 * i64[2]=(1,-1)     integers, bools (0/1) f[2]!             not differentiated (also every non-float input)
 * `attributes`: name=1 name=0.5 name=[1,2] name=text, separated by blanks; may be NULL. */
typedef struct hki_case {
    const char *inputs;
    const char *attributes;
} hki_case;

/* ---- The descriptor. ---- */

enum hki_op_flags {
    HKI_OP_ALIAS = 1,       /* output 0 has the elements of input 0 in the same order: may share its memory (Reshape) */
    HKI_OP_RANDOM = 2,      /* draws random numbers: never folded or deduplicated */
    HKI_OP_ELEMENTWISE = 4, /* out element i depends on in elements i only (after broadcasting); may run in place on
                               input 0 or 1 of the same size */
    HKI_OP_COMMUTATIVE = 8,
    HKI_OP_SAME_IF_EQUAL =
        16, /* where output 0 has the type and shape of input 0 it is input 0 (Expand, SumToShape): no step at all */
};

/** Which layouts a node takes for tensors of rank >= 3 (see hki_layout). */
typedef enum hki_layout_rule {
    HKI_LAYOUT_PLAIN = 0, /* plain tensors only */
    HKI_LAYOUT_SAME, /* elementwise: any layout, as long as inputs of the output's shape and outputs share it; broadcast
                        inputs are read by strides */
    HKI_LAYOUT_CHANNELS_LAST, /* prefers channels-last for the ports in op->channels_last_in / _out, takes plain too if
                                 op->takes_plain */
} hki_layout_rule;

#define HKI_MAX_PORTS 10
#define HKI_MAX_ATTRIBUTES 14
#define HKI_MAX_VERSIONS 12

typedef struct hki_op {
    const char *name;
    const char *domain; /* "" (NULL too) is ONNX; "halka" never leaves in an exported file */
    const char *doc;    /* one line: the formula */
    hki_port inputs[HKI_MAX_PORTS];   /* ends with name NULL */
    hki_port outputs[HKI_MAX_PORTS];
    hki_attribute_spec attributes[HKI_MAX_ATTRIBUTES];
    hki_version versions[HKI_MAX_VERSIONS]; /* ends with since 0; empty for domain halka */
    unsigned flags;
    hki_layout_rule layout;
    unsigned channels_last_in, channels_last_out; /* bit per port, for HKI_LAYOUT_CHANNELS_LAST */

    hk_status (*infer)(hki_infer *c);
    hk_status (*run)(hki_run *r);              /* NULL: has expand */
    size_t (*scratch)(const hki_run *r); /* bytes; NULL: none. Only shapes and dtypes of in/out may be looked at */
    size_t (*packed_size)(const hki_run *r, int input); /* bytes of the packed form of a constant input; 0: none */
    void (*pack)(const hki_run *r, int input, void *to);
    hk_status (*grad)(hki_grad *g);            /* NULL: no gradient (or through expand) */
    hk_status (*expand)(hk_graph *g, const hk_node *node,
                        hk_value **out);       /* builds simpler nodes; out[i] replaces outputs[i] */
    double (*flops)(const hki_run *r);         /* multiply-adds count 2; NULL: none worth counting */
    const hki_case *cases;                     /* ends with inputs NULL */
} hki_op;

/** Finds an operator; NULL if there is none. Defined by the list in src/ops/ops.inc. */
const hki_op *hki_op_find(const char *domain, const char *name);
/** All operators, sorted by name. */
const hki_op *hki_op_at(int index);
int hki_op_count(void);

/** Checks arity, types and attributes of a node and infers its output types into `out` (output_count of them). `data`
 * as in hki_infer, may be NULL. */
hk_status hki_node_infer(hki_type *out, const hk_node *node, const hki_type *const *in,
                         const hk_tensor *const *data) HK_MUST_USE;
/** Replaces a node by the body that its operator's expand rule builds, and removes it. node->outputs then are the new
 * values. */
hk_status hki_node_expand(hk_node *node) HK_MUST_USE;
/** "node 'conv1' (Conv)": for contexts of errors. */
#define HKI_NODE_FORMAT "node '%s' (%s)"
#define HKI_NODE_ARGUMENTS(n) (n)->name, (n)->op->name

#endif
