/* Builds a small network as a graph, with the gradient of its loss, and runs it. imperative.c computes the same step by
 * step, and the bits printed are the same. */
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

/* A matrix of simple numbers between -1 and 1. */
static hk_tensor *matrix(int64_t rows, int64_t columns, int seed)
{
    hk_tensor *tensor;
    check(hk_tensor_create(&tensor, HK_FLOAT, 2, (int64_t[]){rows, columns}));
    float *data = hk_tensor_data(tensor);
    for (int64_t i = 0; i < rows * columns; i++)
        data[i] = (float)((i * 37 + seed) % 17 - 8) / 8;
    return tensor;
}

static hk_value *weight(hk_graph *graph, const char *name, int64_t rows, int64_t columns, int seed)
{
    hk_tensor *tensor = matrix(rows, columns, seed);
    hk_value *value = hk_graph_constant(graph, name, tensor);
    hk_tensor_free(tensor); /* the graph shares its memory */
    return value;
}

static void print(const char *name, const hk_tensor *tensor)
{
    printf("%s", name);
    for (int64_t i = 0; i < hk_tensor_count(tensor); i++)
        printf(" %a", (double)((const float *)hk_tensor_const_data(tensor))[i]);
    printf("\n");
}

int main(void)
{
    hk_graph *graph;
    check(hk_graph_create(&graph, "two layers"));
    hk_value *x = hk_graph_input(graph, "x", HK_FLOAT, 2, (int64_t[]){4, 8});
    hk_value *w1 = weight(graph, "w1", 8, 6, 1), *w2 = weight(graph, "w2", 6, 3, 2);
    hk_value *hidden = hk_graph_apply(graph, "MatMul", HK_VALUES(x, w1), HK_NO_ATTRIBUTES);
    hidden = hk_graph_apply(graph, "Tanh", HK_VALUES(hidden), HK_NO_ATTRIBUTES);
    hk_value *y = hk_graph_apply(graph, "MatMul", HK_VALUES(hidden, w2), HK_NO_ATTRIBUTES);
    y = hk_graph_apply(graph, "LogSoftmax", HK_VALUES(y), HK_ATTRIBUTES(HK_INT("axis", -1)));
    hk_value *loss = hk_graph_apply(graph, "ReduceMean", HK_VALUES(y), HK_ATTRIBUTES(HK_INT("keepdims", 0)));
    hk_value *gradients[2];
    check(hk_graph_status(graph)); /* the first failure of all of the above */
    check(hk_graph_gradients(gradients, graph, loss, 2, (hk_value *[]){w1, w2}));
    hk_graph_output(graph, "y", y);
    hk_graph_output(graph, "w1.gradient", gradients[0]);
    hk_graph_output(graph, "w2.gradient", gradients[1]);
    check(hk_graph_status(graph));

    hk_session *session;
    hk_tensor *input = matrix(4, 8, 3), *outputs[3];
    check(hk_session_create(&session, graph, NULL));
    check(hk_session_run(session, (const hk_tensor *[]){input}, outputs));
    for (int i = 0; i < 3; i++) {
        print(hk_graph_output_name(graph, i), outputs[i]);
        hk_tensor_free(outputs[i]);
    }
    hk_tensor_free(input);
    hk_session_free(session);
    hk_graph_free(graph);
    return 0;
}
