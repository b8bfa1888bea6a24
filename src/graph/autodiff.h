/* Reverse-mode differentiation as a graph rewrite: walks the nodes backwards and lets each operator's rule build the
 * nodes of its gradient. */
#ifndef HKI_GRAPH_AUTODIFF_H
#define HKI_GRAPH_AUTODIFF_H

#include "graph/graph.h"

/** As hk_graph_gradients, with the gradient of the loss itself given by `seed` (same shape as loss; NULL: ones). */
hk_status hki_gradients(hk_value **out, hk_graph *graph, hk_value *loss, hk_value *seed, int count,
                        hk_value *const *wrt) HK_MUST_USE;

#endif
