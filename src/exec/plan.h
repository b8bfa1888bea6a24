/* The plan: one graph for one set of input shapes, ready to run - steps in order, a layout for every tensor, a place in
 * memory for every tensor. Made in four passes, one file each:
 *
 *   plan.c         shapes of everything, folding of what is known            -> types, known values
 *   plan_steps.c   layouts, reorders, aliases                                -> steps over places
 *   plan_memory.c  lifetimes, in-place reuse, best fit                       -> offsets in one arena
 *   plan_run.c     binding of inputs and outputs, running, data-dependent graphs
 *
 * A run allocates nothing, unless shapes depend on data (is_dynamic): then nodes are run one by one with memory taken
 * as needed. */
#ifndef HKI_EXEC_PLAN_H
#define HKI_EXEC_PLAN_H

#include "exec/context.h"

typedef enum hki_storage_kind { HKI_IN_ARENA, HKI_IN_INPUT, HKI_IN_OUTPUT, HKI_IN_CONSTANT } hki_storage_kind;

/* A block of memory, shared by the places that alias it. */
typedef struct hki_storage {
    hki_storage_kind kind;
    int slot;         /* which graph input or output */
    void *base;       /* constants: fixed; inputs and outputs: bound at each run */
    size_t size;      /* bytes */
    size_t offset;    /* in the arena */
    int first, last;  /* steps between which it must be kept; last == INT_MAX: until the end */
    struct hki_storage *merged; /* in-place reuse: this storage lives in another one */
} hki_storage;

/* A tensor of the plan: a value in one layout. */
typedef struct hki_place {
    hk_tensor tensor; /* data is set when the storage is bound */
    hki_storage *storage;
} hki_place;

typedef struct hki_step {
    const hk_node *node; /* NULL: a reorder or copy from in[0] to out[0] */
    hki_place **in, **out; /* NULL where absent */
    int input_count, output_count;
    const hk_tensor **in_tensors;
    hk_tensor **out_tensors;
    const void **packed; /* per input, NULL where not packed; NULL if none is */
    hki_storage *scratch;
    double flops;
    double seconds, last_start; /* profile */
    int64_t calls;
} hki_step;

typedef struct hki_plan {
    hki_arena *memory; /* of the plan's own structures */
    hki_context *context;
    const hk_graph *graph;
    hki_type *types;       /* per value */
    hk_tensor **known;     /* per value: its value if known now; borrowed from graph or in `folded` */
    hk_tensor **folded;    /* owned */
    int folded_count;
    size_t folded_capacity;
    hki_place **plain, **channels_last; /* per value: its places; NULL: not made */
    hki_step **steps;
    int step_count;
    size_t steps_capacity;
    hki_storage **storages;
    int storage_count;
    size_t storages_capacity;
    hki_place **places;
    int place_count;
    size_t places_capacity;
    hki_place **outputs; /* per graph output */
    unsigned char *arena;
    void **packed_blocks; /* owned */
    int packed_count;
    size_t packed_capacity;
    hk_session_memory facts;
    bool profile;
    double epoch; /* clock at creation */
} hki_plan;

/** Plans a graph for concrete input types (one per graph input; rank < 0: the input's default is used). The plan
 * borrows graph and context. */
hk_status hki_plan_create(hki_plan **out, const hk_graph *graph, hki_context *context, const hki_type *inputs,
                          bool profile) HK_MUST_USE;
void hki_plan_free(hki_plan *plan);
/** Returns the type of output i; unknown dims in a data-dependent plan. */
const hki_type *hki_plan_output_type(const hki_plan *plan, int i);
/** Runs. inputs: plain tensors of the planned types (NULL where the default is used). outputs: memory of the outputs'
 * sizes, plain. Allocates nothing. Not for data-dependent plans. */
hk_status hki_plan_run(hki_plan *plan, const hk_tensor *const *inputs, void *const *outputs) HK_MUST_USE;
/** Runs a data-dependent plan: makes new output tensors, which the caller frees. */
hk_status hki_plan_run_dynamic(hki_plan *plan, const hk_tensor *const *inputs, hk_tensor **outputs) HK_MUST_USE;

/* The passes, in order. */
hk_status hki_plan_steps(hki_plan *plan) HK_MUST_USE;
hk_status hki_plan_memory(hki_plan *plan) HK_MUST_USE;

/** The storage in which another one really lives. */
static inline hki_storage *hki_storage_root(hki_storage *storage)
{
    while (storage->merged)
        storage = storage->merged;
    return storage;
}

#endif
