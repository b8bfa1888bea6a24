/* The network of symbolic.c in the imperative style: every operator runs when it is called, and its result can be
 * looked at there and then. The graph is the tape from which gradients come. The bits printed are those of symbolic.c.
 */
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
    hk_graph *tape;
    check(hk_graph_create_eager(&tape, "two layers", NULL));
    hk_value *x = weight(tape, "x", 4, 8, 3); /* here, inputs are constants */
    hk_value *w1 = weight(tape, "w1", 8, 6, 1), *w2 = weight(tape, "w2", 6, 3, 2);
    hk_value *hidden = hk_graph_apply(tape, "MatMul", HK_VALUES(x, w1), HK_NO_ATTRIBUTES);
    hidden = hk_graph_apply(tape, "Tanh", HK_VALUES(hidden), HK_NO_ATTRIBUTES);
    hk_value *y = hk_graph_apply(tape, "MatMul", HK_VALUES(hidden, w2), HK_NO_ATTRIBUTES);
    y = hk_graph_apply(tape, "LogSoftmax", HK_VALUES(y), HK_ATTRIBUTES(HK_INT("axis", -1)));
    check(hk_graph_status(tape)); /* a failure leaves NULL, and NULL is passed on */
    print("y", hk_value_tensor(y));

    hk_value *loss = hk_graph_apply(tape, "ReduceMean", HK_VALUES(y), HK_ATTRIBUTES(HK_INT("keepdims", 0)));
    hk_value *gradients[2];
    check(hk_graph_status(tape));
    check(hk_graph_gradients(gradients, tape, loss, 2, (hk_value *[]){w1, w2}));
    print("w1.gradient", hk_value_tensor(gradients[0]));
    print("w2.gradient", hk_value_tensor(gradients[1]));
    hk_graph_free(tape);
    return 0;
}
