/* Rewrites of a graph before it is run. None changes a byte of the result. */
#ifndef HKI_PASSES_PASSES_H
#define HKI_PASSES_PASSES_H

#include "graph/graph.h"

/** Applies all rewrites to a graph that will be run as it is (gradients already added). Names of graph outputs stay. */
hk_status hki_graph_optimize(hk_graph *graph) HK_MUST_USE;

/** Lets halka.BatchNormSaved apply the Relu that alone reads its result, and its gradient the Relu's: two walks over
 * memory less each way. */
hk_status hki_fuse_batch_norm_relu(hk_graph *graph) HK_MUST_USE;

#endif
