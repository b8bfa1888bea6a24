/* DeepSpeed calls scheduler.step() after each successful optimizer step, and last_batch_iteration n starts at -1:
 * optimizer step s therefore runs at n = s - 1, and the schedules that set a rate at construction (n = -1) do so at its
 * formula for that n. */
#include "train/schedule.h"

#include <math.h>

/* The part of the warm-up done at n, in 0 .. 1. */
static double warm_up(const hki_schedule_config *c, int64_t n)
{
    int64_t w = c->warmup_num_steps > 2 ? c->warmup_num_steps : 2;
    if (n < 0)
        return 0;
    if (n >= w)
        return 1;
    return c->warmup_linear ? (double)n / (double)w : log((double)n + 1) / log((double)w);
}

static int64_t warm_up_steps(const hki_schedule_config *c)
{
    return c->warmup_num_steps > 2 ? c->warmup_num_steps : 2;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double warmup_decay(const hki_schedule_config *c, double max_lr, int64_t n, int64_t total)
{
    int64_t w = warm_up_steps(c);
    double g = n < w ? warm_up(c, n) : larger(0, (double)(total - n) / larger(1, (double)(total - w)));
    return c->warmup_min_lr + (max_lr - c->warmup_min_lr) * g;
}

static double warmup_cosine(const hki_schedule_config *c, double base_lr, int64_t n, int64_t total)
{
    if (n < 0)
        return 0;
    int64_t w = warm_up_steps(c);
    if (n < w)
        return base_lr * (c->warmup_min_ratio + warm_up(c, n) * (1 - c->warmup_min_ratio));
    double p = (double)(n - w + 1) / larger(1, (double)(total - w));
    p = p < 1 ? p : 1;
    return base_lr * (c->cos_min_ratio + (1 - c->cos_min_ratio) * (1 + cos(acos(-1.0) * p)) / 2);
}

static double lr_range_test(const hki_schedule_config *c, int64_t n)
{
    double interval = (double)(n + 1) / (double)c->lr_range_test_step_size;
    if (c->lr_range_test_staircase)
        interval = floor(interval);
    return c->lr_range_test_min_lr * (1 + c->lr_range_test_step_rate * interval);
}

/* A stair of `count` steps, or none. */
static double stairs(double position, int64_t count)
{
    return count > 0 ? floor(position * (double)count) / (double)count : position;
}

static hki_rates one_cycle(const hki_schedule_config *c, int64_t n)
{
    double first = (double)c->cycle_first_step_size;
    double second = c->cycle_second_step_size >= 0 ? (double)c->cycle_second_step_size : first;
    double length = first + second, batch = (double)(n + 1);
    hki_rates rates = {0, NAN};
    if (batch > length) { /* decay */
        double k = batch - length, step = c->decay_step_size > 0 ? k / (double)c->decay_step_size : 0;
        rates.lr = c->cycle_min_lr / (1 + c->decay_lr_rate * step);
        if (c->cycle_momentum)
            rates.momentum = c->cycle_max_mom * (1 + c->decay_mom_rate * step);
        return rates;
    }
    int64_t second_stairs = c->cycle_second_stair_count >= 0 ? c->cycle_second_stair_count : c->cycle_first_stair_count;
    double scale = batch <= first ? stairs(batch / first, c->cycle_first_stair_count)
                                  : stairs((length - batch) / larger(second, 1), second_stairs);
    rates.lr = c->cycle_min_lr + (c->cycle_max_lr - c->cycle_min_lr) * scale;
    if (c->cycle_momentum)
        rates.momentum = c->cycle_max_mom - (c->cycle_max_mom - c->cycle_min_mom) * scale;
    return rates;
}

hki_rates hki_schedule_rates(const hki_schedule_config *config, double base_lr, int64_t step, int64_t total)
{
    int64_t n = step - 1;
    if (config->total_num_steps > 0)
        total = config->total_num_steps;
    double max_lr = isnan(config->warmup_max_lr) ? base_lr : config->warmup_max_lr;
    hki_rates rates = {base_lr, NAN};
    switch (config->type) {
    case HKI_SCHEDULE_CONSTANT:
        break;
    case HKI_SCHEDULE_WARMUP:
        rates.lr = config->warmup_min_lr + (max_lr - config->warmup_min_lr) * warm_up(config, n);
        break;
    case HKI_SCHEDULE_WARMUP_DECAY:
        rates.lr = warmup_decay(config, max_lr, n, total);
        break;
    case HKI_SCHEDULE_WARMUP_COSINE:
        rates.lr = warmup_cosine(config, base_lr, n, total);
        break;
    case HKI_SCHEDULE_LR_RANGE_TEST:
        rates.lr = lr_range_test(config, n);
        break;
    case HKI_SCHEDULE_ONE_CYCLE:
        return one_cycle(config, n);
    }
    return rates;
}
