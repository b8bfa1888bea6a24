/* Training steps of halka for bench/train.py, which drives this program and a peer in turns.
 *
 *     bench_train MODEL BATCH OPTIMIZER [THREADS]     MODEL: mlp, cnn, resnet18-cifar ...; OPTIMIZER: adam, sgd
 *
 * Reads a number of steps per line from standard input, does them on one fixed batch, and answers with seconds per step
 * and the last loss. At the end of the input it prints the peak of its resident memory. With BENCH_PROFILE set it adds
 * the table of operators of the last step. */
#include <sys/resource.h>

#include "bench.h"
#include "exec/profile.h"
#include "halka/architecture.h"
#include "train/trainer.h"

#define ADAM "{\"type\": \"Adam\", \"params\": {\"lr\": 1e-3}}"
#define SGD  "{\"type\": \"SGD\", \"params\": {\"lr\": 1e-2, \"momentum\": 0.9}}"

static void check(hk_status status)
{
    if (!status)
        return;
    fprintf(stderr, "bench_train: %s\n", hk_status_message(status));
    exit(1);
}

static const hk_architecture_info *find(const char *name)
{
    for (int i = 0; i < hk_architecture_count(); i++)
        if (!strcmp(hk_architecture_at(i)->name, name))
            return hk_architecture_at(i);
    fprintf(stderr, "bench_train: no architecture '%s'\n", name);
    exit(1);
}

static hk_trainer *open_trainer(const char *name, int64_t batch, const char *optimizer, int threads)
{
    hk_graph *model;
    hk_trainer *trainer;
    char config[512];
    hk_session_options options = hk_session_defaults();
    options.threads = threads;
    options.profile = getenv("BENCH_PROFILE") != NULL;
    snprintf(config, sizeof config,
             "{\"train_batch_size\": %lld, \"gradient_clipping\": 0, \"loss\": \"cross_entropy\", \"optimizer\": %s}",
             (long long)batch, !strcmp(optimizer, "sgd") ? SGD : ADAM);
    check(hk_architecture_create(&model, name, NULL));
    check(hk_trainer_create(&trainer, model, config, &options));
    hk_graph_free(model);
    return trainer;
}

/* The same bytes as in train.py: a hash of the index, uniform in [-1, 1). */
static void make_batch(hk_tensor **x, hk_tensor **y, const hk_architecture_info *info, int64_t batch)
{
    check(hk_tensor_create(x, HK_FLOAT, 4, (int64_t[]){batch, info->channels, info->height, info->width}));
    check(hk_tensor_create(y, HK_INT64, 1, &batch));
    float *values = hk_tensor_data(*x);
    int64_t *labels = hk_tensor_data(*y);
    for (int64_t i = 0; i < hk_tensor_count(*x); i++)
        values[i] = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-23f - 1;
    for (int64_t i = 0; i < batch; i++)
        labels[i] = (i * 7 + 3) % info->classes;
}

static void print_profile(hk_trainer *trainer)
{
    hk_profile_row rows[64];
    int count = hki_profile_table(trainer->training.plans[0].plan, rows, 64);
    for (int i = 0; i < count; i++)
        printf("%-28s %5lld calls %9.3f ms %6.1f %% %8.1f GFLOP/s\n", rows[i].op, (long long)rows[i].calls,
               1e3 * rows[i].seconds, 100 * rows[i].share, rows[i].gflops);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_train MODEL BATCH adam|sgd [THREADS]\n");
        return 2;
    }
    const hk_architecture_info *info = find(argv[1]);
    int64_t batch = strtoll(argv[2], NULL, 10);
    hk_trainer *trainer = open_trainer(argv[1], batch, argv[3], argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0);
    hk_tensor *x, *y;
    make_batch(&x, &y, info, batch);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        long steps = strtol(line, NULL, 10);
        double loss = 0, start = bench_clock();
        for (long i = 0; i < steps; i++)
            check(hk_trainer_step(trainer, x, y, &loss));
        printf("%.9g %.9g\n", (bench_clock() - start) / (double)steps, loss);
        fflush(stdout);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    if (getenv("BENCH_PROFILE"))
        print_profile(trainer);
    hk_tensor_free(x);
    hk_tensor_free(y);
    hk_trainer_free(trainer);
    return 0;
}
