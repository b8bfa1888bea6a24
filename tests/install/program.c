/* A program of somebody else: one graph, one run. */
#include <halka/halka.h>
#include <stdio.h>

int main(void)
{
    hk_graph *graph;
    hk_session *session;
    hk_tensor *x, *y;
    int64_t dims[] = {2, 3};
    float data[] = {1, 2, 3, 4, 5, 6};
    hk_status status = hk_graph_create(&graph, "program");
    if (!status) {
        hk_value *in = hk_graph_input(graph, "x", HK_FLOAT, 2, dims);
        hk_value *out = hk_graph_apply(graph, "Transpose", HK_VALUES(in), HK_ATTRIBUTES(HK_INTS("perm", 1, 0)));
        hk_graph_output(graph, "y", out);
        status = hk_graph_status(graph);
    }
    if (!status)
        status = hk_session_create(&session, graph, NULL);
    if (!status)
        status = hk_tensor_from(&x, data, HK_FLOAT, 2, dims);
    const hk_tensor *inputs[] = {status ? NULL : x};
    if (!status)
        status = hk_session_run(session, inputs, &y);
    if (status) {
        printf("%s\n", hk_status_message(status));
        return 1;
    }
    const float *result = hk_tensor_const_data(y);
    int wrong = result[1] != 4.0f || hk_tensor_dims(y)[0] != 3;
    printf("halka %s, %s\n", hk_version(), wrong ? "wrong" : "fine");
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_session_free(session);
    hk_graph_free(graph);
    return wrong;
}
