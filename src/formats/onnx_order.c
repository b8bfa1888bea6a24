/* Execution order of the nodes of a file. ONNX asks for topological order, but files in the wild do not always have it.
 * A depth-first walk in file order leaves a sorted file as it is. */
#include <string.h>

#include "formats/onnx_import.h"

/* What a node waits for: inputs, and whatever its subgraphs read. */
typedef struct edges {
    size_t *producers;
    size_t count, capacity;
} edges;

typedef struct sorter {
    const hki_onnx_node *nodes;
    hki_onnx_names producers; /* name -> node */
    edges *edges;             /* per node */
    hki_arena *arena;
} sorter;

static const char *label(const hki_onnx_node *node)
{
    return *node->name ? node->name : node->output_count ? node->outputs[0] : "";
}

static hk_status add_producers(sorter *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < s->nodes[i].output_count; k++) {
            const char *name = s->nodes[i].outputs[k];
            int64_t old;
            if (!*name)
                continue;
            HK_TRY(hki_onnx_names_add(&s->producers, name, (int64_t)i, &old));
            if (old >= 0)
                return HK_ERR(HK_INVALID_FILE, "value '%s' is made twice: by node '%s' (%s) and by node '%s' (%s)",
                              name, label(&s->nodes[old]), s->nodes[old].op, label(&s->nodes[i]), s->nodes[i].op);
        }
    return NULL;
}

static hk_status add_edge(sorter *s, edges *e, const char *name)
{
    int64_t producer = hki_onnx_names_find(&s->producers, name);
    if (producer < 0)
        return NULL;
    HK_TRY(hki_array_grow(&e->producers, &e->capacity, e->count + 1, sizeof *e->producers));
    e->producers[e->count++] = (size_t)producer;
    return NULL;
}

/* Names that a subgraph defines itself hide those of the same name outside. */
typedef struct shade {
    hki_onnx_names names;
    const struct shade *outer;
} shade;

static hk_status define_names(hki_onnx_names *names, const hki_onnx_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i].output_count; k++)
            HK_TRY(hki_onnx_names_add(names, g->nodes[i].outputs[k], 0, NULL));
    for (size_t i = 0; i < g->initializer_count; i++)
        HK_TRY(hki_onnx_names_add(names, g->initializers[i].name, 0, NULL));
    for (size_t i = 0; i < g->input_count; i++)
        HK_TRY(hki_onnx_names_add(names, g->inputs[i].name, 0, NULL));
    return NULL;
}

static hk_status add_outer_edge(sorter *s, edges *e, const shade *shades, const char *name)
{
    for (; shades; shades = shades->outer)
        if (hki_onnx_names_find(&shades->names, name) >= 0)
            return NULL;
    return add_edge(s, e, name);
}

static hk_status add_subgraph(sorter *s, edges *e, const shade *outer, const hki_onnx_graph *g);

static hk_status add_subgraph_nodes(sorter *s, edges *e, const shade *here, const hki_onnx_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const hki_onnx_node *node = &g->nodes[i];
        for (size_t k = 0; k < node->input_count; k++)
            HK_TRY(add_outer_edge(s, e, here, node->inputs[k]));
        for (size_t k = 0; k < node->attribute_count; k++)
            if (node->attributes[k].graph)
                HK_TRY(add_subgraph(s, e, here, node->attributes[k].graph));
    }
    for (size_t i = 0; i < g->output_count; i++)
        HK_TRY(add_outer_edge(s, e, here, g->outputs[i].name));
    return NULL;
}

/* A subgraph waits for every name it mentions that a node out here makes; parsing has bounded the depth. */
static hk_status add_subgraph(sorter *s, edges *e, const shade *outer, const hki_onnx_graph *g)
{
    shade here = {.outer = outer};
    hk_status status = define_names(&here.names, g);
    if (!status)
        status = add_subgraph_nodes(s, e, &here, g);
    hki_onnx_names_free(&here.names);
    return status;
}

static hk_status add_edges(sorter *s, size_t i)
{
    const hki_onnx_node *node = &s->nodes[i];
    for (size_t k = 0; k < node->input_count; k++)
        HK_TRY(add_edge(s, &s->edges[i], node->inputs[k]));
    for (size_t k = 0; k < node->attribute_count; k++)
        if (node->attributes[k].graph)
            HK_TRY(add_subgraph(s, &s->edges[i], NULL, node->attributes[k].graph));
    return NULL;
}

enum { NEW, OPEN, DONE };

/* Walks from one node to all it waits for; the stack is a list, since chains may be long. */
static hk_status visit(sorter *s, size_t root, unsigned char *state, size_t *stack, size_t *next, size_t *order,
                       size_t *placed)
{
    size_t depth = 0;
    stack[depth++] = root;
    state[root] = OPEN;
    while (depth) {
        size_t node = stack[depth - 1];
        if (next[node] == s->edges[node].count) {
            state[node] = DONE;
            order[(*placed)++] = node;
            depth--;
            continue;
        }
        size_t producer = s->edges[node].producers[next[node]++];
        if (state[producer] == OPEN)
            return HK_ERR(HK_INVALID_FILE, "the graph has a cycle: node '%s' (%s) needs its own output",
                          label(&s->nodes[producer]), s->nodes[producer].op);
        if (state[producer] == NEW) {
            state[producer] = OPEN;
            stack[depth++] = producer;
        }
    }
    return NULL;
}

static hk_status sort(size_t *order, sorter *s, size_t count)
{
    unsigned char *state;
    size_t *stack, *next, placed = 0;
    HK_TRY(hki_onnx_array(&state, s->arena, count, 1));
    HK_TRY(hki_onnx_array(&stack, s->arena, count, sizeof *stack));
    HK_TRY(hki_onnx_array(&next, s->arena, count, sizeof *next));
    HK_TRY(add_producers(s, count));
    for (size_t i = 0; i < count; i++)
        HK_TRY(add_edges(s, i));
    for (size_t i = 0; i < count; i++)
        if (state[i] == NEW)
            HK_TRY(visit(s, i, state, stack, next, order, &placed));
    return NULL;
}

hk_status hki_onnx_order(size_t **out, hki_arena *arena, const hki_onnx_node *nodes, size_t count)
{
    sorter s = {.nodes = nodes, .arena = arena};
    HK_TRY(hki_onnx_array(out, arena, count, sizeof **out));
    HK_TRY(hki_onnx_array(&s.edges, arena, count, sizeof *s.edges));
    hk_status status = sort(*out, &s, count);
    for (size_t i = 0; i < count; i++)
        hki_free(s.edges[i].producers);
    hki_onnx_names_free(&s.producers);
    return status;
}
