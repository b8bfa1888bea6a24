/* Trains a multi-layer perceptron to tell two spirals apart, and leaves it as an ONNX file: train_mlp FILE. */
#include <halka/halka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 512, STEPS = 400 };

static void check(hk_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", hk_status_message(status));
    exit(hk_code_exit(hk_status_code(status)));
}

int main(int argc, char **argv)
{
    static float points[POINTS][2];
    static int64_t classes[POINTS];
    for (int i = 0; i < POINTS; i++) {
        float turn = (float)(i / 2) / (POINTS / 2), sign = i % 2 ? 1.0f : -1.0f;
        points[i][0] = sign * turn * cosf(9 * turn);
        points[i][1] = sign * turn * sinf(9 * turn);
        classes[i] = i % 2;
    }
    hk_tensor *x, *y;
    check(hk_tensor_wrap(&x, points, HK_FLOAT, 2, (int64_t[]){POINTS, 2}));
    check(hk_tensor_wrap(&y, classes, HK_INT64, 1, (int64_t[]){POINTS}));

    hk_architecture_options options = hk_architecture_defaults();
    options.layout = HK_PIXELS_VECTOR; /* rows of two numbers */
    options.channels = options.classes = 2;
    options.widths = (int64_t[]){64, 64};
    options.width_count = 2;
    hk_graph *model, *trained;
    check(hk_architecture_create(&model, "mlp", &options));

    hk_trainer *trainer;
    double loss = 0;
    check(hk_trainer_create(&trainer, model,
                            "{\"train_batch_size\": 512, \"loss\": \"cross_entropy\","
                            " \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 0.01}}}",
                            NULL));
    while (hk_trainer_steps(trainer) < STEPS) {
        check(hk_trainer_step(trainer, x, y, &loss));
        if (hk_trainer_steps(trainer) % 100 == 0)
            printf("step %3d: loss %.4f\n", (int)hk_trainer_steps(trainer), loss);
    }
    check(hk_trainer_export(trainer, &trained));
    check(hk_model_save(trained, argc > 1 ? argv[1] : "spirals.onnx", NULL));
    hk_trainer_free(trainer);
    hk_graph_free(model);
    hk_graph_free(trained);
    hk_tensor_free(x);
    hk_tensor_free(y);
    return loss < 0.1 ? 0 : 1;
}
