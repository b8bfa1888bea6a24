/* Optimizers: a table of names, state arrays and update functions over the flat space, with DeepSpeed's names and
 * defaults. */
#ifndef HKI_TRAIN_OPTIMIZER_H
#define HKI_TRAIN_OPTIMIZER_H

#include "train/schedule.h"
#include "train/space.h"
#include "train/vector.h"

#define HKI_OPTIMIZER_STATES 2

typedef struct hki_optimizer {
    const hki_optimizer_config *config;
    const hki_space *space;
    float *state[HKI_OPTIMIZER_STATES]; /* arrays over the space; NULL where not used */
    int64_t steps;                      /* updates done: Adam's t */
    float *update;                      /* Lamb: direction before scaling */
} hki_optimizer;

hk_status hki_optimizer_create(hki_optimizer *out, const hki_optimizer_config *config,
                               const hki_space *space) HK_MUST_USE;
void hki_optimizer_clear(hki_optimizer *optimizer);
/** Name of state array i as in checkpoints ("exp_avg"), NULL if there is none. */
const char *hki_optimizer_state_name(const hki_optimizer *optimizer, int i);
/** Updates parameters in place from gradients (which are multiplied by gradient_scale first: clipping). */
hk_status hki_optimizer_step(hki_optimizer *optimizer, hki_context *context, float *parameters, const float *gradients,
                             float gradient_scale, hki_rates rates) HK_MUST_USE;

#endif
