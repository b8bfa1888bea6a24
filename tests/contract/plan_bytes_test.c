/* Inference of every architecture gives the same bytes with the plan (channels-last layouts, shared memory, in-place
 * reuse) as node by node in plain layout with memory of its own for every tensor, and the same for a sample alone as in
 * a batch. So does one training micro-batch: loss, gradients and statistics. */
#include "harness/test.h"

#include "exec/plan.h"
#include "halka/architecture.h"
#include "tensor/random.h"
#include "train/training_graph.h"

static hki_context *context;

/* Runs a graph both ways and compares all outputs. */
static void compare_ways(const char *name, const hk_graph *graph, const hk_tensor *const *inputs)
{
    hki_type *types = hki_alloc_array((size_t)graph->input_count + 1, sizeof *types);
    hk_tensor **expected = hki_alloc_array((size_t)graph->output_count + 1, sizeof *expected);
    void **found = hki_alloc_array((size_t)graph->output_count + 1, sizeof *found);
    for (int i = 0; i < graph->input_count; i++)
        hki_type_set(&types[i], inputs[i]->dtype, inputs[i]->rank, inputs[i]->dims);
    hki_plan *plan = NULL;
    CHECK_OK(hki_plan_create(&plan, graph, context, types, false));
    if (plan) {
        CHECK(!plan->facts.is_dynamic);
        CHECK_OK(hki_plan_run_dynamic(plan, inputs, expected));
        for (int o = 0; o < graph->output_count; o++)
            found[o] = hki_alloc(hk_tensor_size(expected[o]));
        memset(plan->arena, 0xff, plan->facts.arena); /* NaN everywhere: nothing may rest on what was there */
        CHECK_OK(hki_plan_run(plan, inputs, found));
        int differ = 0;
        for (int o = 0; o < graph->output_count; o++) {
            bool same = !memcmp(found[o], expected[o]->data, hk_tensor_size(expected[o]));
            if (!same && differ++ < 5)
                printf("%s: output '%s' differs\n", name, graph->output_names[o]);
            hki_free(found[o]);
            hk_tensor_free(expected[o]);
        }
        CHECK_EQ(differ, 0);
        hki_plan_free(plan);
    }
    hki_free(types);
    hki_free(expected);
    hki_free(found);
}

static hk_graph *make(const hk_architecture_info *info, int64_t *size)
{
    hk_architecture_options o = hk_architecture_defaults();
    *size = info->width > 64 ? 64 : info->width;
    if (info->width > 1)
        o.height = o.width = *size;
    o.classes = 5;
    hk_graph *graph = NULL;
    CHECK_OK(hk_architecture_create(&graph, info->name, &o));
    return graph;
}

static hk_tensor *make_input(const hk_graph *graph, int64_t batch)
{
    const hki_type *type = &graph->inputs[0]->type;
    int64_t dims[HK_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        dims[d] = d ? type->dims[d] : batch;
    hk_tensor *x = NULL;
    CHECK_OK(hk_tensor_create(&x, HK_FLOAT, type->rank, dims));
    hki_normal_fill(x->data, hk_tensor_count(x), hki_key_create(5, 5), 0, 1);
    return x;
}

TEST(inference_with_and_without_a_plan)
{
    for (int i = 0; i < hk_architecture_count(); i++) {
        int64_t size;
        hk_graph *graph = make(hk_architecture_at(i), &size);
        hk_tensor *x = make_input(graph, 2);
        const hk_tensor *inputs[] = {x};
        compare_ways(hk_architecture_at(i)->name, graph, inputs);
        hk_tensor_free(x);
        hk_graph_free(graph);
    }
}

TEST(a_sample_alone_and_in_a_batch)
{
    for (int i = 0; i < hk_architecture_count(); i++) {
        int64_t size;
        hk_graph *graph = make(hk_architecture_at(i), &size);
        hk_tensor *x = make_input(graph, 5), *one = make_input(graph, 1), *all[1] = {NULL}, *alone[1] = {NULL};
        size_t row = hk_tensor_size(one);
        hk_session *session = NULL;
        CHECK_OK(hk_session_create(&session, graph, &(hk_session_options){.threads = 2, .plans = 2}));
        const hk_tensor *in[] = {x}, *in_one[] = {one};
        CHECK_OK(hk_session_run(session, in, all));
        for (int s = 0; s < 5 && all[0]; s++) {
            memcpy(one->data, (char *)x->data + (size_t)s * row, row);
            CHECK_OK(hk_session_run(session, in_one, alone));
            if (alone[0]) {
                size_t out = hk_tensor_size(alone[0]);
                bool same = !memcmp(alone[0]->data, (char *)all[0]->data + (size_t)s * out, out);
                if (!same)
                    printf("%s: sample %d differs\n", hk_architecture_at(i)->name, s);
                CHECK(same);
            }
            hk_tensor_free(alone[0]);
        }
        hk_tensor_free(all[0]);
        hk_tensor_free(x);
        hk_tensor_free(one);
        hk_session_free(session);
        hk_graph_free(graph);
    }
}

/* Inputs of a training graph: samples, labels, weight, then parameters and statistics as in the model. */
static void compare_training(const hk_architecture_info *info, const hki_config *config)
{
    int64_t size;
    hk_graph *model = make(info, &size);
    hki_training_graph training;
    CHECK_OK(hki_training_graph_create(&training, model, config));
    hk_graph *g = training.graph;
    const hk_tensor **inputs = hki_alloc_array((size_t)g->input_count + 1, sizeof *inputs);
    hk_tensor *x = make_input(model, 3), *y, *weight;
    int64_t labels[] = {1, 0, 3}, three = 3;
    float one = 1;
    CHECK_OK(hk_tensor_from(&y, labels, HK_INT64, 1, &three));
    CHECK_OK(hk_tensor_from(&weight, &one, HK_FLOAT, 0, NULL));
    inputs[0] = x;
    inputs[1] = y;
    inputs[2] = weight;
    for (int i = 3; i < g->input_count; i++)
        inputs[i] = hk_graph_find(model, g->inputs[i]->name)->tensor;
    compare_ways(info->name, g, inputs);
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_tensor_free(weight);
    hki_free(inputs);
    hki_training_graph_clear(&training);
    hk_graph_free(model);
}

TEST(training_with_and_without_a_plan)
{
    hki_config *config;
    static const char text[] = "{\"train_batch_size\": 3}";
    REQUIRE_OK(hki_config_parse(&config, text, sizeof text - 1, "config", NULL, 0));
    for (int i = 0; i < hk_architecture_count(); i++)
        compare_training(hk_architecture_at(i), config);
    hki_config_free(config);
}

int main(int argc, char **argv)
{
    CHECK_OK(hki_context_create(&context, &(hk_session_options){.threads = 2}));
    for (int i = 0; i < test_count; i++) {
        if (argc > 1 && strcmp(argv[1], test_list[i].name))
            continue;
        int before = test_failures;
        test_list[i].run();
        printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", test_list[i].name);
    }
    hki_context_free(context);
    return test_failures != 0;
}
