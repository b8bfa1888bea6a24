/* The graph from the inside: one arena, a list of nodes in execution order, values that know who makes them.
 *
 * Nodes are only ever appended, inserted before a node, or removed, so the list is always in a valid execution order.
 */
#ifndef HKI_GRAPH_GRAPH_H
#define HKI_GRAPH_GRAPH_H

#include "halka/graph.h"
#include "tensor/tensor.h"

struct hki_op; /* graph/op.h */

/** A type as far as it is known: a dim is >= 0, HKI_DIM_UNKNOWN, or a symbol's code (below -1); rank -1: unknown. */
#define HKI_DIM_UNKNOWN (-1)
typedef struct hki_type {
    hk_dtype dtype;
    int rank;
    int64_t dims[HK_MAX_RANK];
} hki_type;

struct hk_value {
    const char *name; /* unique in the graph */
    hk_graph *graph;
    hki_type type;
    hk_node *producer;  /* NULL: graph input or initializer */
    int producer_index; /* which output of the producer */
    hk_tensor *tensor;  /* initializer's value, or the value known in eager mode; owned by the graph */
    bool is_input;      /* stands among the graph's inputs (an initializer may too: a default) */
    int index;          /* in graph->values, dense: for side tables */
};

struct hk_node {
    const struct hki_op *op;
    const char *name;
    hk_graph *graph;
    hk_node *previous, *next;
    int input_count, output_count, attribute_count;
    hk_value **inputs; /* NULL where an optional input is absent */
    hk_value **outputs; /* NULL where an optional output is absent */
    hk_attribute *attributes; /* only those given; defaults are in the op's table (hki_attribute_int ...) */
    uint32_t stream; /* stable number for random operators: order of creation among them */
};

/** Called after a node was added and inferred: eager execution listens here. */
typedef hk_status hki_node_observer(void *context, hk_node *node);

struct hk_graph {
    hki_arena *arena;
    const char *name;
    hk_node *first, *last;
    int node_count;
    hk_value **values, **inputs, **outputs;
    int value_count, input_count, output_count;
    size_t values_capacity, inputs_capacity, outputs_capacity;
    const char **output_names;
    size_t output_names_capacity;
    const char **symbols;
    int symbol_count;
    size_t symbols_capacity;
    const char **metadata; /* key, value, key, value ... */
    int metadata_count;
    size_t metadata_capacity;
    struct hki_names *names; /* name -> value */
    uint32_t next_stream;
    hk_status failure; /* first failure of the building functions */
    hk_node *insert_before; /* where new nodes go; NULL: at the end */
    hki_node_observer *observer;
    void *observer_context;
    void (*observer_free)(void *context); /* lets go of observer_context with the graph */
};

/** Adds a value without producer or tensor. A NULL or taken name is replaced by a fresh one derived from it. NULL on
 * failure (see hk_graph_status). */
hk_value *hki_graph_value(hk_graph *graph, const char *name, const hki_type *type);
/** Gives a value another name, unique in the graph. */
hk_status hki_value_rename(hk_value *value, const char *name) HK_MUST_USE;
/** Removes a node; its outputs must be unused (or about to be replaced). */
void hki_graph_remove(hk_node *node);
/** Makes every reader of `from` (nodes and graph outputs) read `to`. */
void hki_value_replace(hk_value *from, hk_value *to);
/** Removes nodes whose outputs nobody needs, then initializers nobody reads. */
void hki_graph_prune(hk_graph *graph);
/** Sets the declared type; keeps what is known if the new type knows less. */
void hki_value_refine(hk_value *value, const hki_type *type);
/** Infers types of all nodes again, in order. */
hk_status hki_graph_infer(hk_graph *graph) HK_MUST_USE;
/** Remembers the first failure for hk_graph_status; takes ownership. Returns NULL, so that `return hki_graph_fail(...)`
 * works. */
void *hki_graph_fail(hk_graph *graph, hk_status status);

/** The node's attribute or NULL if it was not given. */
const hk_attribute *hki_attribute_find(const hk_node *node, const char *name);
/** The node's attribute or the default in the operator's table. The name must stand in the table. */
int64_t hki_attribute_int(const hk_node *node, const char *name);
float hki_attribute_float(const hk_node *node, const char *name);
const char *hki_attribute_text(const hk_node *node, const char *name);
/** Returns the list and its length; NULL and 0 if not given. */
const int64_t *hki_attribute_ints(const hk_node *node, const char *name, int64_t *out_count);
const float *hki_attribute_floats(const hk_node *node, const char *name, int64_t *out_count);
/** Sets (replaces or adds) an attribute of a node; copies into the graph's arena. */
hk_status hki_attribute_set(hk_node *node, const hk_attribute *attribute) HK_MUST_USE;
/** Copies attributes into an arena (tensors are shared, graphs belong to the arena's graph). */
hk_status hki_attributes_copy(hk_attribute **out, hki_arena *arena, int count,
                              const hk_attribute *attributes) HK_MUST_USE;
/** Lets go of the tensors and graphs that copied attributes hold. */
void hki_attributes_free(int count, hk_attribute *attributes);

#endif
