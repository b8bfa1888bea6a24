/* RandomUniform, RandomNormal (and Like), Bernoulli, Multinomial: random numbers that depend on what they are for,
 * never on who draws them.
 *
 * Element i of an output takes words of Philox keyed by (seed, node) at the counter (step, place), where the place
 * counts elements from global sample 0 of the training set on: the first dim of an output is taken for the batch. The
 * attribute `seed` replaces the seed of the run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/shapes.h"
#include "tensor/number.h"

#define STREAM ((uint64_t)1 << 21) /* of the nodes here; Dropout's nodes start at HKI_STREAM_DROPOUT */

typedef struct source {
    hki_key key;
    uint64_t step, first; /* place of element 0 */
} source;

static source source_of(const hki_run *r, const hk_tensor *y)
{
    const hk_attribute *given = hki_attribute_find(r->node, "seed");
    uint64_t seed = r->seed;
    if (given) {
        uint32_t bits;
        memcpy(&bits, &given->as.f, sizeof(bits));
        seed = bits;
    }
    uint64_t per_sample = y->rank > 0 ? (uint64_t)hki_shape_count(y->dims, 1, y->rank) : 1;
    return (source){hki_key_create(seed, STREAM + r->node->stream), r->step, r->sample * per_sample};
}

static double uniform_at(const source *s, int64_t i)
{
    uint32_t word[4];
    uint64_t place = s->first + (uint64_t)i;
    hki_philox64(word, s->key, s->step, place / 2);
    return place % 2 ? hki_uniform_double(word[2], word[3]) : hki_uniform_double(word[0], word[1]);
}

static double normal_at(const source *s, int64_t i)
{
    uint32_t word[4];
    double normal[4];
    uint64_t place = s->first + (uint64_t)i;
    hki_philox64(word, s->key, s->step, place / 4);
    hki_normal_words(normal, word);
    return normal[place % 4];
}

/* ---- Filling ---- */

typedef struct filling {
    source from;
    hk_tensor *y;
    bool normal;
    double a, b; /* low and high, or mean and scale */
    int64_t count;
} filling;

#define STEP 4096

static void fill_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const filling *f = context;
    int64_t end = (block + 1) * STEP < f->count ? (block + 1) * STEP : f->count;
    for (int64_t i = block * STEP; i < end; i++) {
        double value =
            f->normal ? f->a + f->b * normal_at(&f->from, i) : f->a + (f->b - f->a) * uniform_at(&f->from, i);
        if (!f->normal && f->y->dtype == HK_FLOAT && (float)value >= (float)f->b && f->b > f->a)
            value = nextafterf((float)f->b, (float)f->a); /* rounding must not reach `high` */
        hki_tensor_set_double(f->y, i, value);
    }
}

static hk_status fill(hki_run *r, bool normal)
{
    hk_tensor *y = r->out[0];
    filling f = {.from = source_of(r, y),
                 .y = y,
                 .normal = normal,
                 .count = hk_tensor_count(y),
                 .a = hki_attribute_float(r->node, normal ? "mean" : "low"),
                 .b = hki_attribute_float(r->node, normal ? "scale" : "high")};
    hki_pool_run(r->pool, (f.count + STEP - 1) / STEP, fill_block, &f);
    return NULL;
}

static hk_status uniform_run(hki_run *r)
{
    return fill(r, false);
}

static hk_status normal_run(hki_run *r)
{
    return fill(r, true);
}

/* ---- Types ---- */

/* The attribute dtype, or else `fallback`; it must be among `types`. */
static hk_status choose_dtype(hk_dtype *out, const hk_node *node, hk_dtype fallback, unsigned types)
{
    const hk_attribute *given = hki_attribute_find(node, "dtype");
    int64_t dtype = given ? given->as.i : (int64_t)fallback;
    if (dtype < 0 || dtype > HK_BFLOAT16 || (dtype != 0 && !(types >> dtype & 1)))
        return HK_ERR(HK_INVALID_TYPE, "the output cannot be of type %" PRId64 " (%s)", dtype,
                      dtype >= 0 && dtype <= HK_BFLOAT16 ? hk_dtype_name((hk_dtype)dtype) : "unknown");
    *out = (hk_dtype)dtype;
    return NULL;
}

static hk_status shaped_infer(hki_infer *c)
{
    int64_t count;
    const int64_t *shape = hki_attribute_ints(c->node, "shape", &count);
    if (count > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_SHAPE, "shape has %" PRId64 " dims, more than %d", count, HK_MAX_RANK);
    for (int64_t i = 0; i < count; i++)
        if (shape[i] < 0)
            return HK_ERR(HK_INVALID_SHAPE, "dim %" PRId64 " of shape is %" PRId64 ", expected 0 or more", i, shape[i]);
    hk_dtype dtype;
    HK_TRY(choose_dtype(&dtype, c->node, HK_FLOAT, HKI_FLOATS));
    hki_type_set(&c->out[0], dtype, (int)count, shape);
    return NULL;
}

static hk_status like_infer(hki_infer *c)
{
    hk_dtype dtype;
    HK_TRY(choose_dtype(&dtype, c->node, c->in[0]->dtype, HKI_FLOATS));
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = dtype;
    return NULL;
}

/* ---- Bernoulli ---- */

static hk_status bernoulli_infer(hki_infer *c)
{
    hk_dtype dtype;
    HK_TRY(choose_dtype(&dtype, c->node, c->in[0]->dtype, HKI_NUMERIC | HKI_BOOLS));
    hki_type_copy(&c->out[0], c->in[0]);
    c->out[0].dtype = dtype;
    return NULL;
}

typedef struct bernoulli {
    source from;
    const hk_tensor *x;
    hk_tensor *y;
    int64_t count;
} bernoulli;

static void bernoulli_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const bernoulli *b = context;
    int64_t end = (block + 1) * STEP < b->count ? (block + 1) * STEP : b->count;
    for (int64_t i = block * STEP; i < end; i++)
        hki_tensor_set_double(b->y, i, uniform_at(&b->from, i) < hki_tensor_get_double(b->x, i));
}

static hk_status bernoulli_run(hki_run *r)
{
    bernoulli b = {.from = source_of(r, r->out[0]), .x = r->in[0], .y = r->out[0], .count = hk_tensor_count(r->in[0])};
    for (int64_t i = 0; i < b.count; i++) {
        double p = hki_tensor_get_double(b.x, i);
        if (!(p >= 0 && p <= 1))
            return HK_ERR(HK_INVALID_DATA, "element %" PRId64 " is %g, expected a probability in 0 .. 1", i, p);
    }
    hki_pool_run(r->pool, (b.count + STEP - 1) / STEP, bernoulli_block, &b);
    return NULL;
}

/* ---- Multinomial: inverse of the cumulative distribution, from unnormalised log-probabilities ---- */

static hk_status multinomial_infer(hki_infer *c)
{
    int64_t samples = hki_attribute_int(c->node, "sample_size");
    hk_dtype dtype;
    HK_TRY(choose_dtype(&dtype, c->node, HK_INT32, HKI_INDEX));
    HK_TRY(hki_rank_check(c->in[0], 2, "input"));
    if (samples < 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "sample_size must be 1 or more, found %" PRId64, samples);
    if (c->in[0]->rank == 2 && c->in[0]->dims[1] == 0)
        return HK_ERR(HK_INVALID_SHAPE, "there is no class to draw");
    hki_type_set(&c->out[0], dtype, 2, (int64_t[]){c->in[0]->rank < 0 ? HKI_DIM_UNKNOWN : c->in[0]->dims[0], samples});
    return NULL;
}

static size_t multinomial_scratch(const hki_run *r)
{
    return (size_t)r->in[0]->dims[1] * sizeof(double);
}

static hk_status multinomial_run(hki_run *r)
{
    const hk_tensor *x = r->in[0];
    hk_tensor *y = r->out[0];
    int64_t classes = x->dims[1], samples = y->dims[1];
    double *cumulative = r->scratch;
    source from = source_of(r, y);
    for (int64_t row = 0; row < x->dims[0]; row++) {
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < classes; i++)
            largest = fmax(largest, hki_tensor_get_double(x, row * classes + i));
        for (int64_t i = 0; i < classes; i++) {
            sum += exp(hki_tensor_get_double(x, row * classes + i) - largest);
            cumulative[i] = sum;
        }
        if (!(sum > 0) || isinf(largest))
            return HK_ERR(HK_INVALID_DATA, "row %" PRId64 " holds no log-probabilities: their largest is %g", row,
                          largest);
        for (int64_t j = 0; j < samples; j++) {
            double u = uniform_at(&from, row * samples + j) * sum;
            int64_t chosen = 0;
            while (chosen < classes - 1 && cumulative[chosen] <= u)
                chosen++;
            hki_tensor_set_double(y, row * samples + j, (double)chosen);
        }
    }
    return NULL;
}

/* ---- Tables ---- */

static const hki_case shaped_cases[] = {
    {"", "shape=[3,4] seed=1"}, {"", "shape=[0,2]"}, {"", "shape=[] dtype=11"}, {NULL, NULL}};
static const hki_case like_cases[] = {{"f[3,4]!", NULL}, {"i32[2]", "dtype=1 seed=2.5"}, {NULL, NULL}};
static const hki_case bernoulli_cases[] = {{"f[4,5]{0,1}!", NULL}, {"f[3]=(0,1,0.5)!", "dtype=9"}, {NULL, NULL}};
static const hki_case multinomial_cases[] = {{"f[3,4]!", "sample_size=5"}, {"f[2,1]!", "dtype=7"}, {NULL, NULL}};

#define DTYPE_AND_SEED                                                                                                 \
    {"dtype", HK_ATTRIBUTE_INT, {.i = 0}, false},                                                                      \
    {                                                                                                                  \
        "seed", HK_ATTRIBUTE_FLOAT, {.f = 0}, false                                                                    \
    }
#define UNIFORM_ATTRIBUTES                                                                                             \
    {"low", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},                                                                      \
    {                                                                                                                  \
        "high", HK_ATTRIBUTE_FLOAT, {.f = 1}, false                                                                    \
    }
#define NORMAL_ATTRIBUTES                                                                                              \
    {"mean", HK_ATTRIBUTE_FLOAT, {.f = 0}, false},                                                                     \
    {                                                                                                                  \
        "scale", HK_ATTRIBUTE_FLOAT, {.f = 1}, false                                                                   \
    }
#define SHAPE_ATTRIBUTE                                                                                                \
    {                                                                                                                  \
        "shape", HK_ATTRIBUTE_INTS, {.i = 0}, true                                                                     \
    }

const hki_op hki_op_random_uniform = {
    .name = "RandomUniform",
    .doc = "y has the shape given, uniform in [low, high)",
    .outputs = {{"output", "T", HKI_FLOATS, 0}},
    .attributes = {DTYPE_AND_SEED, UNIFORM_ATTRIBUTES, SHAPE_ATTRIBUTE},
    .versions = {{1, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = shaped_infer,
    .run = uniform_run,
    .cases = shaped_cases,
};

const hki_op hki_op_random_normal = {
    .name = "RandomNormal",
    .doc = "y has the shape given, normal with mean and scale (standard deviation)",
    .outputs = {{"output", "T", HKI_FLOATS, 0}},
    .attributes = {DTYPE_AND_SEED, NORMAL_ATTRIBUTES, SHAPE_ATTRIBUTE},
    .versions = {{1, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = shaped_infer,
    .run = normal_run,
    .cases = shaped_cases,
};

const hki_op hki_op_random_uniform_like = {
    .name = "RandomUniformLike",
    .doc = "y has the shape of x, uniform in [low, high)",
    .inputs = {{"input", "T1", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"output", "T2", HKI_FLOATS, 0}},
    .attributes = {DTYPE_AND_SEED, UNIFORM_ATTRIBUTES},
    .versions = {{1, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = like_infer,
    .run = uniform_run,
    .cases = like_cases,
};

const hki_op hki_op_random_normal_like = {
    .name = "RandomNormalLike",
    .doc = "y has the shape of x, normal with mean and scale (standard deviation)",
    .inputs = {{"input", "T1", HKI_ANY, HKI_SHAPE_ONLY}},
    .outputs = {{"output", "T2", HKI_FLOATS, 0}},
    .attributes = {DTYPE_AND_SEED, NORMAL_ATTRIBUTES},
    .versions = {{1, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = like_infer,
    .run = normal_run,
    .cases = like_cases,
};

const hki_op hki_op_bernoulli = {
    .name = "Bernoulli",
    .doc = "y = 1 with probability x, else 0",
    .inputs = {{"input", "T1", HKI_FLOATS, 0}},
    .outputs = {{"output", "T2", HKI_NUMERIC | HKI_BOOLS, 0}},
    .attributes = {DTYPE_AND_SEED},
    .versions = {{15, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = bernoulli_infer,
    .run = bernoulli_run,
    .cases = bernoulli_cases,
};

const hki_op hki_op_multinomial = {
    .name = "Multinomial",
    .doc = "y[n, :] = sample_size classes drawn with the unnormalised log-probabilities x[n, :]",
    .inputs = {{"input", "T1", HKI_FLOATS, 0}},
    .outputs = {{"output", "T2", HKI_INDEX, 0}},
    .attributes = {DTYPE_AND_SEED, {"sample_size", HK_ATTRIBUTE_INT, {.i = 1}, false}},
    .versions = {{7, NULL}, {22, NULL}},
    .flags = HKI_OP_RANDOM,
    .infer = multinomial_infer,
    .run = multinomial_run,
    .scratch = multinomial_scratch,
    .cases = multinomial_cases,
};
