/* The list of rewrites, in order. */
#include "passes/passes.h"

hk_status hki_graph_optimize(hk_graph *graph)
{
    return hki_fuse_batch_norm_relu(graph);
}
