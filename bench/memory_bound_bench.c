/* Operators that should be bound by memory: batch normalization, pooling, softmax, layer normalization, reductions - as
 * a share of the bandwidth of a plain copy by the same threads in the same round. Bytes are those that must move: each
 * input and output once per pass.
 *
 *     bench_memory_bound [threads] */
#include "bench.h"

#include "base/pool.h"
#include "graph/op.h"

#define ROUNDS 7

typedef struct bench_op {
    const char *title, *domain, *op;
    int input_count, output_count;
    hk_tensor *in[6], *out[6];
    double passes; /* tensors of the size of input 0 that are read or written */
    hk_node *node;
    hki_run run;
    hk_graph *graph;
} bench_op;

static hki_pool *pool;
static int threads;
static const hkk_kernels *kernels;

static hk_tensor *tensor(int rank, const int64_t *dims, bool channels_last)
{
    hk_tensor *t;
    if (hk_tensor_create(&t, HK_FLOAT, rank, dims))
        exit(1);
    t->layout = channels_last ? HKI_CHANNELS_LAST : HKI_PLAIN;
    float *x = t->data;
    for (int64_t i = 0; i < hk_tensor_count(t); i++)
        x[i] = (float)(i * 7919 % 1013) * 1e-3f - 0.5f;
    return t;
}

static void add_input(bench_op *b, int rank, const int64_t *dims, bool channels_last)
{
    b->in[b->input_count++] = tensor(rank, dims, channels_last);
}

/* Makes the node, which infers the outputs, and the outputs themselves; output 0 of rank >= 3 has the layout of input
 * 0. */
static void finish(bench_op *b, int attribute_count, const hk_attribute *attributes)
{
    hk_value *inputs[6], *outputs[6];
    if (hk_graph_create(&b->graph, "bench"))
        exit(1);
    for (int i = 0; i < b->input_count; i++) {
        bool labels = b->in[i]->dtype == HK_INT64;
        inputs[i] = labels ? hk_graph_constant(b->graph, NULL, b->in[i])
                           : hk_graph_input(b->graph, (char[]){(char)('a' + i), 0}, b->in[i]->dtype, b->in[i]->rank,
                                            b->in[i]->dims);
    }
    b->node = hk_graph_node(b->graph, b->domain, b->op, NULL, b->input_count, inputs, attribute_count, attributes,
                            b->output_count, outputs);
    hk_status status = hk_graph_status(b->graph);
    if (status) {
        fprintf(stderr, "%s\n", hk_status_message(status));
        exit(1);
    }
    for (int i = 0; i < b->output_count; i++)
        b->out[i] = tensor(outputs[i]->type.rank, outputs[i]->type.dims,
                           i == 0 && b->in[0]->layout == HKI_CHANNELS_LAST && outputs[i]->type.rank > 2);
    b->run = (hki_run){.node = b->node,
                       .input_count = b->input_count,
                       .output_count = b->output_count,
                       .in = (const hk_tensor *const *)b->in,
                       .out = b->out,
                       .pool = pool,
                       .threads = threads,
                       .k = kernels};
    size_t size = b->node->op->scratch ? b->node->op->scratch(&b->run) : 0;
    b->run.scratch = hki_alloc(size + 64);
}

static void call(void *context)
{
    bench_op *b = context;
    b->run.in = (const hk_tensor *const *)b->in;
    b->run.out = b->out;
    hk_status status = b->node->op->run(&b->run);
    if (status) {
        fprintf(stderr, "%s: %s\n", b->op, hk_status_message(status));
        exit(1);
    }
}

/* The yardstick: a copy of 64 MiB in blocks of 64 KiB. */
typedef struct copy_work {
    float *to, *from;
} copy_work;

static void copy_block(void *context, int64_t block, int worker)
{
    (void)worker;
    copy_work *w = context;
    memcpy(w->to + block * 16384, w->from + block * 16384, 65536);
}

static void copy(void *context)
{
    hki_pool_run(pool, 1024, copy_block, context);
}

static void measure(bench_op *b, copy_work *yardstick)
{
    double seconds[ROUNDS], shares[ROUNDS];
    double bytes = b->passes * 4 * (double)hk_tensor_count(b->in[0]);
    for (int i = 0; i < ROUNDS; i++) {
        double bandwidth = 2.0 * 64 * 1048576 / bench_time(copy, yardstick, 0.1);
        seconds[i] = bench_time(call, b, 0.1);
        shares[i] = bytes / seconds[i] / bandwidth;
    }
    double s = bench_median(seconds, ROUNDS);
    printf("%-44s %8.3f ms %7.2f GB/s %6.2f of a copy\n", b->title, s * 1e3, bytes / s * 1e-9,
           bench_median(shares, ROUNDS));
}

/* ---- The operators. ---- */

static bench_op batch_norm(const char *title, bool channels_last, const int64_t *dims)
{
    bench_op b = {.title = title, .domain = "halka", .op = "BatchNormSaved", .output_count = 5, .passes = 3};
    hk_attribute attributes[] = {HK_INT("training_mode", 1)};
    add_input(&b, 4, dims, channels_last);
    for (int i = 0; i < 4; i++)
        add_input(&b, 1, dims + 1, false);
    finish(&b, 1, attributes);
    return b;
}

static bench_op batch_norm_grad(const char *title, bool channels_last, const int64_t *dims)
{
    bench_op b = {.title = title, .domain = "halka", .op = "BatchNormGrad", .output_count = 3, .passes = 5};
    hk_attribute attributes[] = {HK_INT("training_mode", 1)};
    add_input(&b, 4, dims, channels_last);
    add_input(&b, 4, dims, channels_last);
    for (int i = 0; i < 3; i++)
        add_input(&b, 1, dims + 1, false);
    finish(&b, 1, attributes);
    return b;
}

static bench_op pooling(const char *title, const char *op, const int64_t *dims, int64_t kernel, int64_t stride,
                        int64_t pad)
{
    bench_op b = {.title = title, .op = op, .output_count = 1, .passes = 1 + 1.0 / (double)(stride * stride)};
    hk_attribute attributes[] = {HK_INTS("kernel_shape", kernel, kernel), HK_INTS("strides", stride, stride),
                                 HK_INTS("pads", pad, pad, pad, pad)};
    add_input(&b, 4, dims, true);
    finish(&b, 3, attributes);
    return b;
}

static bench_op pooling_grad(const char *title, const char *op, const int64_t *dims, int64_t kernel, int64_t stride,
                             int64_t pad)
{
    int64_t small[] = {dims[0], dims[1], (dims[2] + 2 * pad - kernel) / stride + 1,
                       (dims[3] + 2 * pad - kernel) / stride + 1};
    double share = 1.0 / (double)(stride * stride);
    bench_op b = {.title = title, .domain = "halka", .op = op, .output_count = 1};
    b.passes = strcmp(op, "MaxPoolGrad") ? (1 + share) / share : (2 + share) / share; /* of dy */
    hk_attribute attributes[] = {HK_INTS("kernel_shape", kernel, kernel), HK_INTS("strides", stride, stride),
                                 HK_INTS("pads", pad, pad, pad, pad)};
    add_input(&b, 4, small, true);
    add_input(&b, 4, dims, true);
    finish(&b, 3, attributes);
    return b;
}

static bench_op simple(const char *title, const char *domain, const char *op, int inputs, int rank, const int64_t *dims,
                       double passes, bool channels_last)
{
    bench_op b = {.title = title, .domain = domain, .op = op, .output_count = 1, .passes = passes};
    for (int i = 0; i < inputs; i++)
        add_input(&b, rank, dims, channels_last);
    finish(&b, 0, NULL);
    return b;
}

static bench_op layer_norm(const char *title, const int64_t *dims)
{
    bench_op b = {.title = title, .op = "LayerNormalization", .output_count = 1, .passes = 2};
    add_input(&b, 2, dims, false);
    add_input(&b, 1, dims + 1, false);
    add_input(&b, 1, dims + 1, false);
    finish(&b, 0, NULL);
    return b;
}

static bench_op layer_norm_grad(const char *title, const int64_t *dims)
{
    bench_op b = {.title = title, .domain = "halka", .op = "LayerNormGrad", .output_count = 3, .passes = 3};
    add_input(&b, 2, dims, false);
    add_input(&b, 2, dims, false);
    add_input(&b, 1, dims + 1, false);
    finish(&b, 0, NULL);
    return b;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 0;
    if (hki_pool_create(&pool, threads, true))
        return 1;
    threads = hki_pool_threads(pool);
    kernels = hkk_kernels_get(hki_isa_best());
    copy_work yardstick = {bench_floats(16777216), bench_floats(16777216)};
    const int64_t wide[] = {128, 32, 28, 28}, deep[] = {64, 64, 32, 32}, last[] = {64, 512, 4, 4};
    const int64_t rows[] = {8192, 1000}, classes[] = {65536, 10}, hidden[] = {8192, 768};
    bench_op list[] = {
        batch_norm("batch norm, training, 64x64x32x32", true, deep),
        batch_norm("batch norm, training, 128x32x28x28", true, wide),
        batch_norm("batch norm, training, 64x512x4x4", true, last),
        batch_norm("batch norm, training, plain 64x64x32x32", false, deep),
        batch_norm_grad("batch norm gradient, 64x64x32x32", true, deep),
        batch_norm_grad("batch norm gradient, 64x512x4x4", true, last),
        batch_norm_grad("batch norm gradient, plain 64x64x32x32", false, deep),
        pooling("max pool 2x2, 128x32x28x28", "MaxPool", wide, 2, 2, 0),
        pooling("max pool 3x3 / 2, 64x64x32x32", "MaxPool", deep, 3, 2, 1),
        pooling("average pool 2x2, 128x32x28x28", "AveragePool", wide, 2, 2, 0),
        pooling_grad("max pool 2x2 gradient, 128x32x28x28", "MaxPoolGrad", wide, 2, 2, 0),
        pooling_grad("max pool 3x3 / 2 gradient, 64x64x32x32", "MaxPoolGrad", deep, 3, 2, 1),
        pooling_grad("average pool 2x2 gradient, 128x32x28x28", "AveragePoolGrad", wide, 2, 2, 0),
        simple("global average pool 64x64x32x32", "", "GlobalAveragePool", 1, 4, deep, 1, true),
        simple("softmax 8192x1000", "", "Softmax", 1, 2, rows, 2, false),
        simple("softmax 65536x10", "", "Softmax", 1, 2, classes, 2, false),
        simple("log-softmax 8192x1000", "", "LogSoftmax", 1, 2, rows, 2, false),
        simple("softmax gradient 8192x1000", "halka", "SoftmaxGrad", 2, 2, rows, 3, false),
        layer_norm("layer norm 8192x768", hidden),
        layer_norm_grad("layer norm gradient 8192x768", hidden),
        simple("sum of all, 8192x1000", "", "ReduceSum", 1, 2, rows, 1, false),
    };
    printf("%d threads, %s\n", threads, hki_isa_name(hki_isa_best()));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        measure(&list[i], &yardstick);
    hki_pool_free(pool);
    return 0;
}
