/* Learning-rate schedules with DeepSpeed's formulas (runtime/lr_schedules.py), as pure functions of the number of steps
 * done. */
#ifndef HKI_TRAIN_SCHEDULE_H
#define HKI_TRAIN_SCHEDULE_H

#include "train/config.h"

typedef struct hki_rates {
    double lr;
    double momentum; /* OneCycle with cycle_momentum: beta1 or momentum; NAN: the optimizer's own */
} hki_rates;

/** Returns the rates of optimizer step `step` (0 is the first). base_lr: the optimizer's lr; total: steps of the run,
 * used where total_num_steps is -1. */
hki_rates hki_schedule_rates(const hki_schedule_config *config, double base_lr, int64_t step, int64_t total);

#endif
