/* Loads an ONNX file and runs it on ones: run_model FILE. Unknown dimensions (the batch) become 1. */
#include <halka/halka.h>
#include <stdio.h>
#include <stdlib.h>

static void check(hk_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", hk_status_message(status));
    exit(hk_code_exit(hk_status_code(status)));
}

static hk_tensor *ones(const hk_value *input)
{
    int64_t dims[HK_MAX_RANK];
    int rank = hk_value_rank(input);
    for (int i = 0; i < rank; i++)
        dims[i] = hk_value_dims(input)[i] < 0 ? 1 : hk_value_dims(input)[i];
    hk_tensor *tensor;
    check(hk_tensor_create(&tensor, hk_value_dtype(input), rank, dims));
    if (hk_value_dtype(input) == HK_FLOAT)
        for (int64_t i = 0; i < hk_tensor_count(tensor); i++)
            ((float *)hk_tensor_data(tensor))[i] = 1;
    return tensor;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: run_model FILE\n");
        return 2;
    }
    hk_graph *graph;
    hk_session *session;
    check(hk_model_load(&graph, argv[1]));
    check(hk_session_create(&session, graph, NULL));

    int input_count = hk_graph_input_count(graph), output_count = hk_graph_output_count(graph);
    hk_tensor **inputs = calloc((size_t)input_count + 1, sizeof *inputs);
    hk_tensor **outputs = calloc((size_t)output_count + 1, sizeof *outputs);
    if (!inputs || !outputs)
        return 1;
    for (int i = 0; i < input_count; i++)
        if (!hk_value_tensor(hk_graph_input_at(graph, i))) /* else it has a default */
            inputs[i] = ones(hk_graph_input_at(graph, i));
    check(hk_session_run(session, (const hk_tensor *const *)inputs, outputs));

    for (int i = 0; i < output_count; i++) {
        printf("%s:", hk_graph_output_name(graph, i));
        for (int64_t k = 0; k < hk_tensor_count(outputs[i]) && k < 10 && hk_tensor_dtype(outputs[i]) == HK_FLOAT; k++)
            printf(" %g", (double)((const float *)hk_tensor_const_data(outputs[i]))[k]);
        printf("\n");
        hk_tensor_free(outputs[i]);
    }
    for (int i = 0; i < input_count; i++)
        hk_tensor_free(inputs[i]);
    free(inputs);
    free(outputs);
    hk_session_free(session);
    hk_graph_free(graph);
    return 0;
}
