/* Session: runs a graph on this machine.
 *
 *     hk_session *s;
 *     hk_session_create(&s, graph, NULL);                     // NULL: all defaults
 *     const hk_tensor *in[] = {image};                        // in the order of the graph's inputs
 *     hk_tensor *out[1];                                      // made by the call; the caller frees
 *     hk_session_run(s, in, out);
 *
 * A plan (shapes, layouts, memory) is made once per set of input shapes and kept; at most options.plans of them. One
 * session is used by one thread at a time. */
#ifndef HALKA_SESSION_H
#define HALKA_SESSION_H

#include "halka/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_session hk_session;

/** Options; start from hk_session_defaults(). */
typedef struct hk_session_options {
    int threads;        /* 0: as many as this process may use */
    bool pin;           /* pin worker threads inside the allowed mask; default true */
    const char *isa;    /* "c", "avx2", "avx512"; NULL: HALKA_ISA or the best */
    bool optimize;      /* fold and fuse (never changes a byte of the result); default true */
    bool profile;       /* measure each node; default false */
    int plans;          /* how many input shapes are remembered; default 8 */
    uint64_t seed;      /* of random operators; default 0 */
} hk_session_options;

/** Returns the defaults of all options. */
HK_API hk_session_options hk_session_defaults(void);

/** Creates a session for a graph, which it copies (weights are shared). options NULL: defaults. */
HK_API hk_status hk_session_create(hk_session **out, const hk_graph *graph,
                                   const hk_session_options *options) HK_MUST_USE;
HK_API void hk_session_free(hk_session *session);

/** Runs the graph. inputs: one per graph input, in order; NULL for an input with a default. outputs: one new tensor per
 * graph output. HK_INVALID_SHAPE and HK_INVALID_TYPE name the input, what was expected and what was found. */
HK_API hk_status hk_session_run(hk_session *session, const hk_tensor *const *inputs, hk_tensor **outputs) HK_MUST_USE;
/** Returns the graph that is run (optimized). Borrowed. */
HK_API const hk_graph *hk_session_graph(const hk_session *session);

/** What a plan needs, for given input shapes. */
typedef struct hk_session_memory {
    size_t arena;       /* bytes of the activation arena: the peak of the plan */
    size_t lower_bound; /* bytes live at the fullest step: no placement can do with less */
    size_t constants;   /* bytes of weights and folded constants */
    size_t packed;      /* bytes of weights in packed form */
    double flops;       /* floating-point operations of one run; a multiply-add counts 2 */
    bool is_dynamic;    /* shapes depend on data: memory is taken as the run goes */
} hk_session_memory;

/** Plans for input shapes: dims[i] are the dims of input i (rank of the graph's input), NULL for one with a default or
 * a fixed shape. */
HK_API hk_status hk_session_plan(hk_session_memory *out, hk_session *session, const int64_t *const *dims) HK_MUST_USE;

/** Writes what was measured since creation as a Chrome trace (JSON). Needs options.profile. */
HK_API hk_status hk_session_write_trace(const hk_session *session, const char *path) HK_MUST_USE;
/** One row of the per-operator table, sorted by time. */
typedef struct hk_profile_row {
    const char *op;
    int64_t calls;
    double seconds, share, gflops; /* gflops: per second; 0 where not counted */
} hk_profile_row;
/** Returns up to `capacity` rows of the per-operator table of the last plan; the number of rows written. */
HK_API int hk_session_profile(const hk_session *session, hk_profile_row *rows, int capacity);

/** Creates a graph in which every node is run as it is added: imperative style. hk_value_tensor gives its result at
 * once; the graph is the tape, so hk_graph_gradients works on it, and gives gradients as tensors at once. Inputs are
 * made with hk_graph_constant. */
HK_API hk_status hk_graph_create_eager(hk_graph **out, const char *name, const hk_session_options *options) HK_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
