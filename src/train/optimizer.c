/* Optimizers. The numbers that depend on the step alone (bias corrections) are computed once per step in double; the
 * update of a segment is cut in fixed blocks. */
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

/* One range to update: part of one segment, so that weight decay is one number. */
typedef struct job {
    hki_optimizer *optimizer;
    hki_context *context;
    float *parameters;
    const float *gradients;
    float scale;
    hki_rates rates;
    const hki_segment *segment;
} job;

typedef void update_fn(const job *j, int64_t begin, int64_t count);

static double decay_of(const job *j)
{
    return j->segment->no_decay ? 0 : j->optimizer->config->weight_decay;
}

static void update_sgd(const job *j, int64_t begin, int64_t count)
{
    const hki_optimizer_config *c = j->optimizer->config;
    double momentum = isnan(j->rates.momentum) ? c->momentum : j->rates.momentum;
    hkk_sgd p = {.lr = (float)j->rates.lr, .momentum = (float)momentum, .dampening = (float)c->dampening,
                 .decay = (float)decay_of(j), .scale = j->scale, .nesterov = c->nesterov,
                 .first = j->optimizer->steps == 0};
    float *velocity = j->optimizer->state[0];
    j->context->k->optimizer->sgd(j->parameters + begin, velocity ? velocity + begin : NULL, j->gradients + begin,
                                  count, &p);
}

/* x^t by squaring: the same on every machine, unlike pow. */
static double power(double x, int64_t t)
{
    double result = 1;
    for (; t > 0; t >>= 1, x *= x)
        if (t & 1)
            result *= x;
    return result;
}

static hkk_adam adam_numbers(const job *j, double lr)
{
    const hki_optimizer_config *c = j->optimizer->config;
    double beta1 = isnan(j->rates.momentum) ? c->betas[0] : j->rates.momentum, beta2 = c->betas[1];
    double correction1 = 1, correction2 = 1;
    if (c->bias_correction) {
        correction1 = 1 - power(beta1, j->optimizer->steps + 1);
        correction2 = 1 - power(beta2, j->optimizer->steps + 1);
    }
    return (hkk_adam){.beta1 = (float)beta1,
                      .beta2 = (float)beta2,
                      .one_minus_beta1 = (float)(1 - beta1),
                      .one_minus_beta2 = (float)(1 - beta2),
                      .eps = (float)c->eps,
                      .step = (float)(lr / correction1),
                      .root = (float)(1 / sqrt(correction2)),
                      .lr_decay = (float)(j->rates.lr * decay_of(j)),
                      .decay = (float)decay_of(j),
                      .scale = j->scale,
                      .decoupled = c->adam_w_mode};
}

static void update_adam(const job *j, int64_t begin, int64_t count)
{
    hkk_adam p = adam_numbers(j, j->rates.lr);
    float **state = j->optimizer->state;
    j->context->k->optimizer->adam(j->parameters + begin, state[0] + begin, state[1] + begin, j->gradients + begin,
                                   count, &p);
}

static void update_adagrad(const job *j, int64_t begin, int64_t count)
{
    const hki_optimizer_config *c = j->optimizer->config;
    hkk_adagrad p = {(float)j->rates.lr, (float)c->eps, (float)decay_of(j), j->scale};
    j->context->k->optimizer->adagrad(j->parameters + begin, j->optimizer->state[0] + begin, j->gradients + begin,
                                      count, &p);
}

static void find_lamb_direction(const job *j, int64_t begin, int64_t count)
{
    hkk_adam p = adam_numbers(j, 1); /* the learning rate comes with the trust ratio */
    float **state = j->optimizer->state;
    j->context->k->optimizer->lamb_direction(j->optimizer->update + begin, j->parameters + begin, state[0] + begin,
                                             state[1] + begin, j->gradients + begin, count, &p);
}

/* ---- The table. ---- */

static const struct kind {
    update_fn *update;
    const char *states[HKI_OPTIMIZER_STATES]; /* names as in torch's state dicts */
} kinds[] = {
    [HKI_OPTIMIZER_SGD] = {update_sgd, {"momentum_buffer"}},
    [HKI_OPTIMIZER_ADAM] = {update_adam, {"exp_avg", "exp_avg_sq"}},
    [HKI_OPTIMIZER_ADAGRAD] = {update_adagrad, {"sum"}},
    [HKI_OPTIMIZER_LAMB] = {find_lamb_direction, {"exp_avg", "exp_avg_sq"}},
};

const char *hki_optimizer_state_name(const hki_optimizer *optimizer, int i)
{
    return optimizer->state[i] ? kinds[optimizer->config->type].states[i] : NULL;
}

hk_status hki_optimizer_create(hki_optimizer *out, const hki_optimizer_config *config, const hki_space *space)
{
    *out = (hki_optimizer){.config = config, .space = space};
    bool plain_sgd = config->type == HKI_OPTIMIZER_SGD && config->momentum == 0;
    for (int i = 0; i < HKI_OPTIMIZER_STATES && !plain_sgd; i++)
        if (kinds[config->type].states[i] && !(out->state[i] = hki_space_array(space)))
            goto exhausted;
    if (config->type == HKI_OPTIMIZER_LAMB && !(out->update = hki_space_array(space)))
        goto exhausted;
    return NULL;
exhausted:
    hki_optimizer_clear(out);
    return hki_out_of_memory();
}

void hki_optimizer_clear(hki_optimizer *optimizer)
{
    for (int i = 0; i < HKI_OPTIMIZER_STATES; i++)
        hki_free(optimizer->state[i]);
    hki_free(optimizer->update);
    *optimizer = (hki_optimizer){0};
}

/* ---- A step. ---- */

static void update_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const job *j = context;
    int64_t begin = block * HKI_VECTOR_BLOCK, rest = j->segment->count - begin;
    kinds[j->optimizer->config->type].update(j, j->segment->offset + begin,
                                             rest < HKI_VECTOR_BLOCK ? rest : HKI_VECTOR_BLOCK);
}

/* w -= lr * ratio * u, with the trust ratio |w| / |u| clamped to min_coeff .. max_coeff. */
static void finish_lamb(const job *j, double *partial)
{
    const hki_optimizer_config *c = j->optimizer->config;
    float *w = j->parameters + j->segment->offset, *u = j->optimizer->update + j->segment->offset;
    double weight = hki_vector_norm(j->context, w, j->segment->count, partial);
    double direction = hki_vector_norm(j->context, u, j->segment->count, partial);
    double ratio = weight > 0 && direction > 0 ? weight / direction : 1;
    if (weight > 0 && direction > 0)
        ratio = ratio > c->max_coeff ? c->max_coeff : ratio < c->min_coeff ? c->min_coeff : ratio;
    j->context->k->optimizer->add_scaled(w, u, -(float)(j->rates.lr * ratio), j->segment->count);
}

hk_status hki_optimizer_step(hki_optimizer *optimizer, hki_context *context, float *parameters, const float *gradients,
                             float gradient_scale, hki_rates rates)
{
    job j = {optimizer, context, parameters, gradients, gradient_scale, rates, NULL};
    double *partial = NULL;
    if (optimizer->config->type == HKI_OPTIMIZER_LAMB) {
        HK_TRY(hki_context_reserve(context, (size_t)(hki_vector_blocks(optimizer->space->size) + 1) * sizeof(double)));
        partial = context->scratch;
    }
    for (int i = 0; i < optimizer->space->count; i++) {
        j.segment = &optimizer->space->segments[i];
        hki_pool_run(context->pool, hki_vector_blocks(j.segment->count), update_block, &j);
        if (partial)
            finish_lamb(&j, partial);
    }
    optimizer->steps++;
    return NULL;
}
