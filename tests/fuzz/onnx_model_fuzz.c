/* Any bytes as an ONNX model: a graph or a status. A graph is written as text, which walks all of it. */
#include "fuzz.h"
#include "halka/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_graph *graph;
    hk_status status = hk_model_load_memory(&graph, data, size, NULL);
    if (!status) {
        char *text = NULL;
        status = hk_graph_text(&text, graph);
        hk_text_free(text);
        hk_graph_free(graph);
    }
    hk_status_free(status);
    return 0;
}
