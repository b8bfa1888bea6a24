/* Inside the ONNX reader: from parsed messages to a graph.
 *
 * A scope is a set of names: the model's graph, the body of a function, a branch of an If. Nodes of inner scopes are
 * built into the one graph
 * ("inlined"); their values get the name of the node that brought them in as a prefix. */
#ifndef HKI_FORMATS_ONNX_IMPORT_H
#define HKI_FORMATS_ONNX_IMPORT_H

#include "formats/onnx_names.h"
#include "formats/onnx_tensor.h"
#include "graph/op.h"

/** The newest opset whose operators were compared with halka's table. Newer files are tried with what is known. */
#define HKI_ONNX_OPSET 22
/** Most nodes that functions and branches may grow a graph to; a few bytes of nested functions could ask for any
 * number. */
#define HKI_ONNX_MAX_NODES 262144
/** Most inputs or outputs of one node. */
#define HKI_ONNX_MAX_PORTS 8192

typedef struct hki_onnx_scope {
    const struct hki_onnx_scope *outer; /* whose names are visible too; NULL for functions */
    hki_onnx_names names;               /* name -> number of a value in the importer's list */
    const char *prefix;                 /* "" for the model's graph, whose names are kept exactly */
    const hki_onnx_import *imports;
    size_t import_count;
    const hki_onnx_function *function;    /* whose body this is, or NULL; a branch inherits it */
    const hki_onnx_node *call;            /* the node that calls it: values of attributes referred to */
    const struct hki_onnx_scope *caller;  /* where `call` stands: it may refer to attributes itself */
} hki_onnx_scope;

typedef struct hki_onnx_importer {
    hki_onnx_model model;
    hki_onnx_source source;
    hki_arena *arena; /* of the parsed file */
    hk_graph *graph;
    hk_value **values;
    size_t value_count, value_capacity;
    hki_onnx_names infos; /* value_info of the model's graph: name -> index */
    hki_onnx_names symbols;
    hki_onnx_names functions; /* "domain, name, overload" -> index */
    size_t nodes_made;
    int depth;
} hki_onnx_importer;

/** Orders nodes so that each comes after those it reads, keeping the file's order where it can. HK_INVALID_FILE names a
 * value that two nodes make, or a node on a cycle. */
hk_status hki_onnx_order(size_t **out, hki_arena *arena, const hki_onnx_node *nodes, size_t count) HK_MUST_USE;

/** Finds a value by name in a scope and those around it; NULL if there is none. */
hk_value *hki_onnx_find(const hki_onnx_importer *m, const hki_onnx_scope *scope, const char *name);
/** Binds a name to a value in a scope. HK_INVALID_FILE if the name is taken there. */
hk_status hki_onnx_bind(hki_onnx_importer *m, hki_onnx_scope *scope, const char *name, hk_value *value) HK_MUST_USE;
/** Makes `name` free in the graph if the scope's names are exact, and returns what a value should be called. NULL
 * without memory. */
const char *hki_onnx_claim(hki_onnx_importer *m, const hki_onnx_scope *scope, const char *name);
/** Adds a tensor as a constant and binds it. */
hk_status hki_onnx_add_constant(hki_onnx_importer *m, hki_onnx_scope *scope, const char *name,
                                const hk_tensor *tensor) HK_MUST_USE;

/** Builds the model's graph. */
hk_status hki_onnx_import_model(hki_onnx_importer *m) HK_MUST_USE;
/** Builds initializers of a graph into a scope. */
hk_status hki_onnx_import_initializers(hki_onnx_importer *m, hki_onnx_scope *scope, hki_onnx_graph *g) HK_MUST_USE;
/** Builds nodes in order. */
hk_status hki_onnx_import_nodes(hki_onnx_importer *m, hki_onnx_scope *scope, hki_onnx_node *nodes,
                                size_t count) HK_MUST_USE;
/** Builds one node: constant, branch, function or operator. */
hk_status hki_onnx_import_node(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node) HK_MUST_USE;
/** Converts a TypeProto as far as halka has such types. HK_UNSUPPORTED says what it is. */
hk_status hki_onnx_type(hki_type *out, hki_onnx_importer *m, const hki_onnx_value *value) HK_MUST_USE;

/** Finds an attribute of a node; references to attributes of the calling node are followed. NULL if it is not given. */
const hki_onnx_attribute *hki_onnx_attribute_find(const hki_onnx_scope *scope, const hki_onnx_node *node,
                                                  const char *name);
/** What an attribute (of a node in `scope`) stands for: itself, or what it refers to; NULL if that is not given. */
const hki_onnx_attribute *hki_onnx_attribute_resolve(const hki_onnx_scope *scope, const hki_onnx_attribute *a);

/** Builds a Constant node: all its forms. */
hk_status hki_onnx_import_constant(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node) HK_MUST_USE;
/** Builds the branch that a constant condition chooses. HK_UNSUPPORTED if it is not constant. */
hk_status hki_onnx_import_if(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node) HK_MUST_USE;
/** Builds the body of a function in place of a node that calls it. */
hk_status hki_onnx_import_call(hki_onnx_importer *m, hki_onnx_scope *scope, const hki_onnx_node *node,
                               hki_onnx_function *function) HK_MUST_USE;
/** Finds the model's own function for a node; NULL if there is none. */
hki_onnx_function *hki_onnx_function_find(hki_onnx_importer *m, const hki_onnx_node *node);
/** Prepares hki_onnx_function_find. HK_INVALID_FILE if a function is defined twice. */
hk_status hki_onnx_index_functions(hki_onnx_importer *m) HK_MUST_USE;

/** The opset version of a domain in a scope; 0 if it is not imported. */
int64_t hki_onnx_opset(const hki_onnx_scope *scope, const char *domain);
/** Brings a draft from a domain's opset to the newest version of its operator; the draft's operator may change. */
hk_status hki_onnx_upgrade(hki_draft *draft, const char *domain, int64_t opset) HK_MUST_USE;
/** Says in one message which operators of the model halka does not know; NULL if it knows all. */
hk_status hki_onnx_check_operators(hki_onnx_importer *m) HK_MUST_USE;

#endif
