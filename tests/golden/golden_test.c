/* One training step of the MLP, the quickstart's CNN and ResNet-20 against PyTorch: loss, every gradient, running
 * statistics, parameters after SGD and AdamW. make.py, beside this file, wrote what is expected and says how; entries
 * may differ by 1e-5 of their tensor's largest. */
#include "harness/test.h"

#include "base/file.h"
#include "halka/architecture.h"
#include "train/trainer.h"

#define TOLERANCE 1e-5
#define SGD       "{\"type\": \"SGD\", \"params\": {\"lr\": 0.1}}"
#define ADAMW     "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.001, \"weight_decay\": 0.01}}"

typedef struct network {
    const char *name;
    uint64_t seed;
    int64_t batch, channels, size;
} network;

/* As NETWORKS in make.py. */
static const network mlp = {"mlp", 7, 32, 1, 28}, cnn = {"cnn", 19, 16, 1, 28}, resnet20 = {"resnet20", 8, 4, 3, 32};

static hk_graph *make_model(const network *n)
{
    hk_architecture_options options = hk_architecture_defaults();
    options.seed = n->seed;
    options.dropout = 0;
    hk_graph *model = NULL;
    CHECK_OK(hk_architecture_create(&model, n->name, &options));
    return model;
}

static void make_batch(hk_tensor **x, hk_tensor **y, const network *n)
{
    CHECK_OK(hk_tensor_create(x, HK_FLOAT, 4, (int64_t[]){n->batch, n->channels, n->size, n->size}));
    CHECK_OK(hk_tensor_create(y, HK_INT64, 1, &n->batch));
    float *values = hk_tensor_data(*x);
    for (int64_t i = 0; i < hk_tensor_count(*x); i++)
        values[i] = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-23f - 1;
    for (int64_t i = 0; i < n->batch; i++)
        ((int64_t *)hk_tensor_data(*y))[i] = (i * 7 + 3) % 10;
}

/* A trainer that has done its first step. */
static hk_trainer *step_once(const network *n, const hk_graph *model, const char *optimizer, double *loss)
{
    hk_trainer *trainer = NULL;
    char config[512];
    hk_tensor *x, *y;
    snprintf(config, sizeof config,
             "{\"train_batch_size\": %lld, \"gradient_clipping\": 0, \"loss\": \"cross_entropy\", \"optimizer\": %s}",
             (long long)n->batch, optimizer);
    make_batch(&x, &y, n);
    CHECK_OK(hk_trainer_create(&trainer, model, config, NULL));
    if (trainer)
        CHECK_OK(hk_trainer_step(trainer, x, y, loss));
    hk_tensor_free(x);
    hk_tensor_free(y);
    return trainer;
}

static double norm_of(const float *values, const float *minus, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double v = minus ? (double)values[i] - (double)minus[i] : (double)values[i];
        sum += v * v;
    }
    return sqrt(sum);
}

static const float *find(int64_t *count, const hki_space *space, const float *array, const char *name)
{
    int i = hki_space_find(space, name);
    *count = i < 0 ? 0 : space->segments[i].count;
    return i < 0 ? NULL : array + space->segments[i].offset;
}

static double worst_gradient; /* of the network at hand: share of its tensor's largest entry */

/* The file, cut into words. */
typedef struct reader {
    char *text, *at;
    char word[128];
} reader;

static bool next(reader *r)
{
    int length = 0;
    if (sscanf(r->at, " %127s%n", r->word, &length) != 1)
        return false;
    r->at += length;
    return true;
}

static double next_number(reader *r)
{
    CHECK(next(r));
    return strtod(r->word, NULL);
}

/* "NAME NORM COUNT STRIDE" and the sample that follows, against an array. */
static void check_array(reader *r, const network *n, const char *kind, const hki_space *space, const float *array)
{
    char name[128];
    double largest = 0, worst = 0, sample[256];
    CHECK(next(r));
    snprintf(name, sizeof name, "%s", r->word);
    double norm = next_number(r);
    int64_t count, expected = (int64_t)next_number(r), stride = (int64_t)next_number(r), samples = 0;
    const float *values = find(&count, space, array, name);
    for (int64_t i = 0; i < expected; i += stride)
        sample[samples++] = next_number(r);
    CHECK_EQ(count, expected);
    if (count != expected)
        return;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)values[i]));
    for (int64_t i = 0; i < samples; i++)
        worst = fmax(worst, fabs((double)values[i * stride] - sample[i]));
    if (!strcmp(kind, "gradient"))
        worst_gradient = fmax(worst_gradient, worst / largest);
    double norm_error = fabs(norm_of(values, NULL, count) / norm - 1);
    if (!(worst <= TOLERANCE * largest) || !(norm_error <= TOLERANCE)) {
        printf("%s: %s of %s is off by %.2e of its largest entry %.3e, its norm by %.2e\n", n->name, kind, name,
               worst / largest, largest, norm_error);
        test_failures++;
    }
}

/* "NAME NORM_AFTER NORM_OF_CHANGE" against the parameters after a step. AdamW's first step divides a gradient by its
 * own size: entries near zero keep fewer digits. */
static void check_update(reader *r, const network *n, const hk_trainer *after, const hk_graph *model, bool adamw)
{
    char name[128];
    CHECK(next(r));
    snprintf(name, sizeof name, "%s", r->word);
    double norm = next_number(r), change = next_number(r);
    int64_t count;
    const float *values = find(&count, &after->graph.parameters, after->parameters, name);
    hk_value *before = hk_graph_find(model, name);
    CHECK(values && before);
    if (!values || !before)
        return;
    double found = norm_of(values, NULL, count);
    double moved = norm_of(values, hk_value_tensor(before)->data, count);
    double allowed = (adamw ? 1e-4 : TOLERANCE) * change + 1e-7 * found; /* the latter: rounding of the parameters */
    if (!(fabs(found - norm) <= allowed) || !(fabs(moved - change) <= allowed)) {
        printf("%s: after %s the norm of %s is %.9g, expected %.9g; it moved by %.9g, expected %.9g\n", n->name,
               adamw ? "AdamW" : "SGD", name, found, norm, moved, change);
        test_failures++;
    }
}

static void check_file(reader *r, const network *n, const hk_graph *model, const hk_trainer *sgd,
                       const hk_trainer *adamw, double loss)
{
    int gradients = 0, states = 0, updates = 0;
    while (next(r)) {
        if (!strcmp(r->word, "loss")) {
            double expected = next_number(r);
            CHECK_CLOSE(loss / expected, 1, 1e-6);
        } else if (!strcmp(r->word, "gradient")) {
            check_array(r, n, "gradient", &sgd->graph.parameters, sgd->gradient);
            gradients++;
        } else if (!strcmp(r->word, "state")) {
            check_array(r, n, "running statistics", &sgd->graph.states, sgd->states);
            states++;
        } else if (!strcmp(r->word, "sgd") || !strcmp(r->word, "adamw")) {
            bool is_adamw = r->word[0] == 'a';
            check_update(r, n, is_adamw ? adamw : sgd, model, is_adamw);
            updates++;
        } else {
            printf("%s.txt: unexpected '%s'\n", n->name, r->word);
            test_failures++;
            return;
        }
    }
    CHECK_EQ(gradients, sgd->graph.parameters.count); /* every parameter was there */
    CHECK_EQ(states, sgd->graph.states.count);
    CHECK_EQ(updates, 2 * gradients);
}

static void check_network(const network *n)
{
    char path[512];
    size_t size;
    double loss = 0, again = 0;
    reader r = {0};
    worst_gradient = 0;
    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN_DIR, n->name);
    REQUIRE_OK(hki_file_read(&r.text, &size, path));
    r.at = r.text;
    hk_graph *model = make_model(n);
    hk_trainer *sgd = step_once(n, model, SGD, &loss);
    hk_trainer *adamw = step_once(n, model, ADAMW, &again);
    if (sgd && adamw)
        check_file(&r, n, model, sgd, adamw, loss);
    printf("%s: loss %.9g; gradients within %.1e of their largest entry\n", n->name, loss, worst_gradient);
    CHECK_CLOSE(loss, again, 0);
    hk_trainer_free(sgd);
    hk_trainer_free(adamw);
    hk_graph_free(model);
    hki_free(r.text);
}

TEST(mlp)
{
    check_network(&mlp);
}

TEST(cnn)
{
    check_network(&cnn);
}

TEST(resnet20)
{
    check_network(&resnet20);
}

TEST_MAIN()
