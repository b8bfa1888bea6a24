/* Schedules against DeepSpeed's formulas (runtime/lr_schedules.py), worked out by hand at the places where they bend.
 */
#include "harness/test.h"

#include "train/schedule.h"

static double rate(const hki_schedule_config *c, int64_t step)
{
    return hki_schedule_rates(c, 0.1, step, 100).lr;
}

TEST(constant)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_CONSTANT};
    CHECK_CLOSE(rate(&c, 0), 0.1, 0);
    CHECK_CLOSE(rate(&c, 1000), 0.1, 0);
}

TEST(warmup_log_runs_two_steps_at_the_minimum)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_WARMUP, .warmup_max_lr = NAN, .warmup_num_steps = 10};
    CHECK_CLOSE(rate(&c, 0), 0, 0);
    CHECK_CLOSE(rate(&c, 1), 0, 0); /* ln 1 = 0 */
    CHECK_CLOSE(rate(&c, 2), 0.1 * log(2) / log(10), 1e-15);
    CHECK_CLOSE(rate(&c, 10), 0.1 * log(10) / log(10), 1e-15);
    CHECK_CLOSE(rate(&c, 11), 0.1, 0);
    CHECK_CLOSE(rate(&c, 500), 0.1, 0);
}

TEST(warmup_linear)
{
    hki_schedule_config c = {
        .type = HKI_SCHEDULE_WARMUP, .warmup_max_lr = 0.2, .warmup_num_steps = 10, .warmup_linear = 1};
    CHECK_CLOSE(rate(&c, 6), 0.2 * 5 / 10, 1e-15);
}

TEST(warmup_decay)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_WARMUP_DECAY, .warmup_max_lr = 1, .warmup_num_steps = 10,
                             .total_num_steps = -1, .warmup_linear = 1};
    CHECK_CLOSE(rate(&c, 6), 0.5, 1e-15);
    CHECK_CLOSE(rate(&c, 11), 1, 1e-15);           /* n = 10 */
    CHECK_CLOSE(rate(&c, 56), 45.0 / 90, 1e-15);   /* n = 55 */
    CHECK_CLOSE(rate(&c, 101), 0, 1e-15);
    CHECK_CLOSE(rate(&c, 500), 0, 1e-15);
}

TEST(warmup_cosine)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_WARMUP_COSINE, .warmup_num_steps = 10, .cos_min_ratio = 1e-4,
                             .total_num_steps = 100, .warmup_linear = 1};
    CHECK_CLOSE(rate(&c, 0), 0, 0);
    CHECK_CLOSE(rate(&c, 6), 0.05, 1e-15);
    double p = (56 - 10 + 1) / 90.0;
    CHECK_CLOSE(rate(&c, 57), 0.1 * (1e-4 + (1 - 1e-4) * (1 + cos(M_PI * p)) / 2), 1e-15);
    CHECK_CLOSE(rate(&c, 200), 0.1 * 1e-4, 1e-12);
}

TEST(one_cycle)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_ONE_CYCLE, .cycle_min_lr = 0.1, .cycle_max_lr = 1.1,
                             .cycle_first_step_size = 10, .cycle_second_step_size = 20, .cycle_second_stair_count = -1,
                             .cycle_momentum = true, .cycle_min_mom = 0.8, .cycle_max_mom = 0.9, .decay_lr_rate = 1,
                             .decay_step_size = 5};
    CHECK_CLOSE(rate(&c, 0), 0.1, 1e-15);
    CHECK_CLOSE(rate(&c, 5), 0.6, 1e-15);
    CHECK_CLOSE(rate(&c, 10), 1.1, 1e-15);
    CHECK_CLOSE(rate(&c, 20), 0.6, 1e-15);
    CHECK_CLOSE(hki_schedule_rates(&c, 0, 10, 0).momentum, 0.8, 1e-15);
    CHECK_CLOSE(rate(&c, 40), 0.1 / (1 + 10.0 / 5), 1e-15);
}

TEST(lr_range_test)
{
    hki_schedule_config c = {.type = HKI_SCHEDULE_LR_RANGE_TEST, .lr_range_test_min_lr = 0.01,
                             .lr_range_test_step_size = 10, .lr_range_test_step_rate = 2};
    CHECK_CLOSE(rate(&c, 5), 0.01 * (1 + 2 * 0.5), 1e-15);
    c.lr_range_test_staircase = true;
    CHECK_CLOSE(rate(&c, 19), 0.01 * (1 + 2 * 1), 1e-15);
}

TEST_MAIN()
