/* The tables of the run file. Names, meanings and defaults of DeepSpeed's keys follow its code (runtime/config.py,
 * runtime/lr_schedules.py). */
#include "train/config_tables.h"

#include <math.h>

#define HUGE_INT 9e18
#define END {NULL, 0, 0, 0, 0, 0, NULL, 0}

/* ---- Optimizers. ---- */

#define O(member) offsetof(hki_optimizer_config, member)
#define COMMON(lr_default) {"lr", HKI_FIELD_DOUBLE, O(lr), lr_default, 0, 1e9, NULL, 0}, \
    {"weight_decay", HKI_FIELD_DOUBLE, O(weight_decay), 0, 0, 1e9, NULL, 0},              \
    {"no_decay", HKI_FIELD_STRINGS, O(no_decay), 0, 0, 0, NULL, 0}
#define BETAS {"betas", HKI_FIELD_PAIR, O(betas), 0.9, 0, 0.9999999, NULL, 0.999}, \
    {"eps", HKI_FIELD_DOUBLE, O(eps), 1e-8, 0, 1, NULL, 0},                        \
    {"bias_correction", HKI_FIELD_BOOL, O(bias_correction), 1, 0, 0, NULL, 0}

static const hki_field sgd_fields[] = {COMMON(1e-3),
                                       {"momentum", HKI_FIELD_DOUBLE, O(momentum), 0, 0, 1, NULL, 0},
                                       {"dampening", HKI_FIELD_DOUBLE, O(dampening), 0, 0, 1, NULL, 0},
                                       {"nesterov", HKI_FIELD_BOOL, O(nesterov), 0, 0, 0, NULL, 0},
                                       END};
static const hki_field adam_fields[] = {COMMON(1e-3), BETAS,
                                        {"adam_w_mode", HKI_FIELD_BOOL, O(adam_w_mode), 1, 0, 0, NULL, 0},
                                        END};
static const hki_field adagrad_fields[] = {COMMON(1e-2), {"eps", HKI_FIELD_DOUBLE, O(eps), 1e-10, 0, 1, NULL, 0}, END};
static const hki_field lamb_fields[] = {COMMON(1e-3), BETAS,
                                        {"max_coeff", HKI_FIELD_DOUBLE, O(max_coeff), 10, 0, 1e9, NULL, 0},
                                        {"min_coeff", HKI_FIELD_DOUBLE, O(min_coeff), 0.01, 0, 1e9, NULL, 0},
                                        END};

const hki_config_type hki_optimizer_types[] = {
    {"SGD", HKI_OPTIMIZER_SGD, sgd_fields},       {"Adam", HKI_OPTIMIZER_ADAM, adam_fields},
    {"AdamW", HKI_OPTIMIZER_ADAM, adam_fields},   {"Adagrad", HKI_OPTIMIZER_ADAGRAD, adagrad_fields},
    {"Lamb", HKI_OPTIMIZER_LAMB, lamb_fields},    {NULL, 0, NULL},
};

const char *const hki_known_optimizers[] = {"Lion", "OneBitAdam", "OneBitLamb", "ZeroOneAdam", "Muon",
                                            "MuAdam", "MuAdamW", "MuSGD", NULL};

/* ---- Schedulers. ---- */

#define S(member) offsetof(hki_schedule_config, member)
#define WARMUP_STEPS {"warmup_num_steps", HKI_FIELD_INT, S(warmup_num_steps), 1000, 0, HUGE_INT, NULL, 0}, \
    {"warmup_type", HKI_FIELD_CHOICE, S(warmup_linear), 0, 0, 0, warmup_types, 0}
#define TOTAL {"total_num_steps", HKI_FIELD_INT, S(total_num_steps), -1, -1, HUGE_INT, NULL, 0}

static const char *const warmup_types[] = {"log", "linear", NULL};
static const hki_field no_fields[] = {END};
static const hki_field warmup_fields[] = {WARMUP_STEPS,
                                          {"warmup_min_lr", HKI_FIELD_DOUBLE, S(warmup_min_lr), 0, 0, 1e9, NULL, 0},
                                          {"warmup_max_lr", HKI_FIELD_DOUBLE, S(warmup_max_lr), NAN, 0, 1e9, NULL, 0},
                                          END};
static const hki_field decay_fields[] = {WARMUP_STEPS, TOTAL,
                                         {"warmup_min_lr", HKI_FIELD_DOUBLE, S(warmup_min_lr), 0, 0, 1e9, NULL, 0},
                                         {"warmup_max_lr", HKI_FIELD_DOUBLE, S(warmup_max_lr), 1e-3, 0, 1e9, NULL, 0},
                                         END};
static const hki_field cosine_fields[] = {
    WARMUP_STEPS, TOTAL,
    {"warmup_min_ratio", HKI_FIELD_DOUBLE, S(warmup_min_ratio), 0, 0, 1, NULL, 0},
    {"cos_min_ratio", HKI_FIELD_DOUBLE, S(cos_min_ratio), 1e-4, 0, 1, NULL, 0},
    END};
static const hki_field range_fields[] = {
    {"lr_range_test_min_lr", HKI_FIELD_DOUBLE, S(lr_range_test_min_lr), 1e-3, 0, 1e9, NULL, 0},
    {"lr_range_test_step_size", HKI_FIELD_INT, S(lr_range_test_step_size), 2000, 1, HUGE_INT, NULL, 0},
    {"lr_range_test_step_rate", HKI_FIELD_DOUBLE, S(lr_range_test_step_rate), 1, 0, 1e9, NULL, 0},
    {"lr_range_test_staircase", HKI_FIELD_BOOL, S(lr_range_test_staircase), 0, 0, 0, NULL, 0},
    END};
static const hki_field cycle_fields[] = {
    {"cycle_min_lr", HKI_FIELD_DOUBLE, S(cycle_min_lr), 1e-4, 0, 1e9, NULL, 0},
    {"cycle_max_lr", HKI_FIELD_DOUBLE, S(cycle_max_lr), 1e-2, 0, 1e9, NULL, 0},
    {"decay_lr_rate", HKI_FIELD_DOUBLE, S(decay_lr_rate), 0, 0, 1e9, NULL, 0},
    {"cycle_first_step_size", HKI_FIELD_INT, S(cycle_first_step_size), 2000, 1, HUGE_INT, NULL, 0},
    {"cycle_second_step_size", HKI_FIELD_INT, S(cycle_second_step_size), -1, -1, HUGE_INT, NULL, 0},
    {"cycle_first_stair_count", HKI_FIELD_INT, S(cycle_first_stair_count), 0, 0, HUGE_INT, NULL, 0},
    {"cycle_second_stair_count", HKI_FIELD_INT, S(cycle_second_stair_count), -1, -1, HUGE_INT, NULL, 0},
    {"decay_step_size", HKI_FIELD_INT, S(decay_step_size), 0, 0, HUGE_INT, NULL, 0},
    {"cycle_momentum", HKI_FIELD_BOOL, S(cycle_momentum), 1, 0, 0, NULL, 0},
    {"cycle_min_mom", HKI_FIELD_DOUBLE, S(cycle_min_mom), 0.8, 0, 1, NULL, 0},
    {"cycle_max_mom", HKI_FIELD_DOUBLE, S(cycle_max_mom), 0.9, 0, 1, NULL, 0},
    {"decay_mom_rate", HKI_FIELD_DOUBLE, S(decay_mom_rate), 0, 0, 1e9, NULL, 0},
    END};

const hki_config_type hki_schedule_types[] = {
    {"constant", HKI_SCHEDULE_CONSTANT, no_fields},
    {"WarmupLR", HKI_SCHEDULE_WARMUP, warmup_fields},
    {"WarmupDecayLR", HKI_SCHEDULE_WARMUP_DECAY, decay_fields},
    {"WarmupCosineLR", HKI_SCHEDULE_WARMUP_COSINE, cosine_fields},
    {"OneCycle", HKI_SCHEDULE_ONE_CYCLE, cycle_fields},
    {"LRRangeTest", HKI_SCHEDULE_LR_RANGE_TEST, range_fields},
    {NULL, 0, NULL},
};

/* ---- Top level. ---- */

#define C(member) offsetof(hki_config, member)
static const char *const monitors[] = {"auto", "accuracy", "loss", NULL};

const hki_field hki_top_fields[] = {
    {"name", HKI_FIELD_STRING, C(name), 0, 0, 0, NULL, 0},
    {"output", HKI_FIELD_STRING, C(output), 0, 0, 0, NULL, 0},
    {"epochs", HKI_FIELD_INT, C(epochs), 1, 1, HUGE_INT, NULL, 0},
    {"max_steps", HKI_FIELD_INT, C(max_steps), 0, 0, HUGE_INT, NULL, 0},
    {"seed", HKI_FIELD_INT, C(seed), 1234, 0, HUGE_INT, NULL, 0},
    {"train_batch_size", HKI_FIELD_INT, C(train_batch_size), 0, 1, HUGE_INT, NULL, 0},
    {"train_micro_batch_size_per_gpu", HKI_FIELD_INT, C(micro_batch_size), 0, 1, HUGE_INT, NULL, 0},
    {"gradient_accumulation_steps", HKI_FIELD_INT, C(accumulation_steps), 0, 1, HUGE_INT, NULL, 0},
    {"gradient_clipping", HKI_FIELD_DOUBLE, C(gradient_clipping), 1, 0, 1e30, NULL, 0},
    {"steps_per_print", HKI_FIELD_INT, C(steps_per_print), 10, 1, HUGE_INT, NULL, 0},
    {"dataloader_drop_last", HKI_FIELD_BOOL, C(drop_last), 0, 0, 0, NULL, 0},
    {"frozen", HKI_FIELD_STRINGS, C(frozen), 0, 0, 0, NULL, 0},
    {"early_stopping", HKI_FIELD_INT, C(early_stopping), 0, 0, HUGE_INT, NULL, 0},
    {"monitor", HKI_FIELD_CHOICE, C(monitor), 0, 0, 0, monitors, 0},
    END,
};

const hki_field hki_model_fields[] = {
    {"name", HKI_FIELD_STRING, C(model_name), 0, 0, 0, NULL, 0},
    {"file", HKI_FIELD_STRING, C(model_file), 0, 0, 0, NULL, 0},
    {"widths", HKI_FIELD_INTS, C(model_widths), 0, 1, HUGE_INT, NULL, 0},
    {"width_multiplier", HKI_FIELD_DOUBLE, C(model_width_multiplier), 0, 0, 100, NULL, 0},
    {"dropout", HKI_FIELD_DOUBLE, C(model_dropout), -1, -1, 0.99, NULL, 0},
    END,
};

const hki_field hki_checkpoint_fields[] = {
    {"every", HKI_FIELD_INT, C(checkpoint_every), 0, 0, HUGE_INT, NULL, 0},
    {"keep", HKI_FIELD_INT, C(checkpoint_keep), 2, 1, 1e6, NULL, 0},
    END,
};

/* ---- Loss and data. ---- */

#define L(member) offsetof(hki_loss_config, member)
const char *const hki_loss_names[] = {"cross_entropy", "mse", "l1", "huber", "bce_with_logits", NULL};
const hki_field hki_loss_fields[] = {
    {"type", HKI_FIELD_CHOICE, L(type), 0, 0, 0, hki_loss_names, 0},
    {"output", HKI_FIELD_STRING, L(output), 0, 0, 0, NULL, 0},
    {"label_smoothing", HKI_FIELD_DOUBLE, L(label_smoothing), 0, 0, 0.999, NULL, 0},
    {"delta", HKI_FIELD_DOUBLE, L(delta), 1, 1e-30, 1e30, NULL, 0},
    END,
};

#define A(member) offsetof(hki_augment_config, member)
const hki_field hki_augment_fields[] = {
    {"flip", HKI_FIELD_DOUBLE, A(horizontal_flip), 0, 0, 1, NULL, 0},
    {"vertical_flip", HKI_FIELD_DOUBLE, A(vertical_flip), 0, 0, 1, NULL, 0},
    {"crop", HKI_FIELD_INT, A(crop_padding), 0, 0, 4096, NULL, 0},
    {"rotate", HKI_FIELD_DOUBLE, A(rotate), 0, 0, 180, NULL, 0},
    {"brightness", HKI_FIELD_DOUBLE, A(brightness), 0, 0, 1, NULL, 0},
    {"contrast", HKI_FIELD_DOUBLE, A(contrast), 0, 0, 1, NULL, 0},
    {"saturation", HKI_FIELD_DOUBLE, A(saturation), 0, 0, 1, NULL, 0},
    {"erase", HKI_FIELD_DOUBLE, A(erase), 0, 0, 1, NULL, 0},
    {"erase_area", HKI_FIELD_PAIR, A(erase_area), 0.02, 0, 1, NULL, 0.33},
    {"mixup", HKI_FIELD_DOUBLE, A(mixup), 0, 0, 100, NULL, 0},
    END,
};

#define F(member) offsetof(hki_data_files, member)
const hki_field hki_files_fields[] = {
    {"images", HKI_FIELD_STRING, F(images), 0, 0, 0, NULL, 0},
    {"labels", HKI_FIELD_STRING, F(labels), 0, 0, 0, NULL, 0},
    {"csv", HKI_FIELD_STRING, F(csv), 0, 0, 0, NULL, 0},
    {"label", HKI_FIELD_STRING, F(label_column), 0, 0, 0, NULL, 0},
    {"x", HKI_FIELD_STRING, F(x), 0, 0, 0, NULL, 0},
    {"y", HKI_FIELD_STRING, F(y), 0, 0, 0, NULL, 0},
    {"folder", HKI_FIELD_STRING, F(folder), 0, 0, 0, NULL, 0},
    END,
};

#define D(member) offsetof(hki_data_config, member)
const hki_field hki_data_fields[] = {
    {"classes", HKI_FIELD_STRINGS, D(classes), 0, 0, 0, NULL, 0},
    {"mean", HKI_FIELD_DOUBLES, D(mean), 0, -1e30, 1e30, NULL, 0},
    {"deviation", HKI_FIELD_DOUBLES, D(deviation), 0, 1e-30, 1e30, NULL, 0},
    {"workers", HKI_FIELD_INT, D(workers), 1, 0, 64, NULL, 0},
    {"limit", HKI_FIELD_INT, D(limit), 0, 0, HUGE_INT, NULL, 0},
    END,
};

const char *const hki_known_keys[] = {"managed_gradient_accumulation",
                                      "prescale_gradients",
                                      "gradient_predivide_factor",
                                      "gradient_allreduce_op",
                                      "communication_data_type",
                                      "seq_parallel_communication_data_type",
                                      "sparse_gradients",
                                      "disable_allgather",
                                      "zero_allow_untested_optimizer",
                                      "zero_force_ds_cpu_optimizer",
                                      "dump_state",
                                      "wall_clock_breakdown",
                                      "memory_breakdown",
                                      "graph_harvesting",
                                      "log_level",
                                      "vocabulary_size",
                                      "use_data_before_expert_parallelism",
                                      "data_types",
                                      "timers",
                                      "weight_quantization",
                                      "amp",
                                      "datastates_ckpt",
                                      "nebula",
                                      "hybrid_engine",
                                      "fp16",
                                      "bf16",
                                      "bfloat16",
                                      "torch_autocast",
                                      "zero_optimization",
                                      "aio",
                                      "tensor_parallel",
                                      "expert_parallel",
                                      "pipeline",
                                      "compile",
                                      "activation_checkpointing",
                                      "flops_profiler",
                                      "tensorboard",
                                      "csv_monitor",
                                      "wandb",
                                      "comet",
                                      "comms_logger",
                                      "eigenvalue",
                                      "progressive_layer_drop",
                                      "elasticity",
                                      "autotuning",
                                      "sparse_attention",
                                      "data_efficiency",
                                      "curriculum_learning",
                                      "compression_training",
                                      NULL};
