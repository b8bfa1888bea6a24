/* The run file as a struct: what config.c fills from JSON, with DeepSpeed's names, meanings and defaults where the keys
 * are DeepSpeed's. See docs/run-file.md. Strings and lists live in the config's arena. */
#ifndef HKI_TRAIN_CONFIG_H
#define HKI_TRAIN_CONFIG_H

#include "base/memory.h"
#include "base/text.h"

typedef enum hki_optimizer_type {
    HKI_OPTIMIZER_SGD,
    HKI_OPTIMIZER_ADAM, /* also AdamW: see adam_w_mode */
    HKI_OPTIMIZER_ADAGRAD,
    HKI_OPTIMIZER_LAMB,
} hki_optimizer_type;

/* "optimizer": {"type": ..., "params": {...}} */
typedef struct hki_optimizer_config {
    hki_optimizer_type type;
    double lr;               /* Adam, AdamW, Lamb, SGD 1e-3; Adagrad 1e-2 */
    double betas[2];         /* 0.9, 0.999 */
    double eps;              /* 1e-8; Adagrad 1e-10 */
    double weight_decay;     /* 0 */
    bool bias_correction;    /* true */
    bool adam_w_mode;        /* true: "Adam" decays as AdamW, as DeepSpeed does, unless false is given */
    double momentum;         /* SGD: 0 */
    double dampening;        /* SGD: 0 */
    bool nesterov;           /* SGD: false */
    double max_coeff, min_coeff; /* Lamb: 10, 0.01 */
    const char *const *no_decay; /* halka: name patterns without weight decay */
    int no_decay_count;
} hki_optimizer_config;

typedef enum hki_schedule_type {
    HKI_SCHEDULE_CONSTANT,
    HKI_SCHEDULE_WARMUP,
    HKI_SCHEDULE_WARMUP_DECAY,
    HKI_SCHEDULE_WARMUP_COSINE,
    HKI_SCHEDULE_ONE_CYCLE,
    HKI_SCHEDULE_LR_RANGE_TEST,
} hki_schedule_type;

/* "scheduler": {"type": ..., "params": {...}}. total_num_steps -1: the steps of the run. */
typedef struct hki_schedule_config {
    hki_schedule_type type;
    double warmup_min_lr, warmup_max_lr; /* 0; NAN: the optimizer's lr */
    int64_t warmup_num_steps;            /* 1000 */
    int warmup_linear;                   /* warmup_type: 0 "log", 1 "linear" */
    int64_t total_num_steps;
    double warmup_min_ratio, cos_min_ratio; /* 0, 1e-4 */
    double lr_range_test_min_lr, lr_range_test_step_rate; /* 1e-3, 1 */
    int64_t lr_range_test_step_size;     /* 2000 */
    bool lr_range_test_staircase;
    double cycle_min_lr, cycle_max_lr, decay_lr_rate;
    int64_t cycle_first_step_size, cycle_second_step_size; /* 2000; -1: the first */
    int64_t cycle_first_stair_count, cycle_second_stair_count, decay_step_size;
    bool cycle_momentum;
    double cycle_min_mom, cycle_max_mom, decay_mom_rate; /* 0.8, 0.9, 0 */
} hki_schedule_config;

typedef enum hki_loss_type {
    HKI_LOSS_CROSS_ENTROPY,
    HKI_LOSS_MSE,
    HKI_LOSS_L1,
    HKI_LOSS_HUBER,
    HKI_LOSS_BCE_WITH_LOGITS,
} hki_loss_type;

/* "loss": "cross_entropy" or {"type": ..., "output": ..., "label_smoothing": ..., "class_weights": [...] | "balanced",
 * "delta": ...} */
typedef struct hki_loss_config {
    int type;                /* hki_loss_type */
    const char *output;      /* the graph output it reads; NULL: "logits" if there is one, else the first */
    double label_smoothing;
    const double *class_weights;
    int class_weight_count;
    bool balanced;           /* class weights from the training labels */
    double delta;            /* Huber: 1 */
} hki_loss_config;

/* "augment": {"flip": 0.5, "crop": 4, "rotate": 10, "brightness": ..., "contrast": ..., "saturation": ..., "erase":
 * 0.5, "mixup": 0.2} */
typedef struct hki_augment_config {
    double horizontal_flip, vertical_flip; /* probabilities */
    int64_t crop_padding;                  /* pixels */
    double rotate;                         /* degrees, each way */
    double brightness, contrast, saturation;
    double erase;                          /* probability */
    double erase_area[2];                  /* 0.02, 0.33 of the image */
    double mixup;                          /* alpha of the Beta distribution; 0: off */
} hki_augment_config;

/* One set of files: {"images": path, "labels": path}, {"csv": path, "label": column}, {"x": npy, "y": npy}, {"folder":
 * path} */
typedef struct hki_data_files {
    const char *images, *labels, *csv, *label_column, *x, *y, *folder;
    bool given;
} hki_data_files;

/* "data": {"train": {...}, "validation": {...} | 0.1, "test": {...}, "classes": [names], "augment": {...}, "workers":
 * 1} */
typedef struct hki_data_config {
    hki_data_files train, validation, test;
    double validation_fraction; /* split off the training data by hash; 0: none */
    const char *const *classes;
    int class_count;
    hki_augment_config augment;
    const double *mean;         /* of the stored values, per channel; NULL: measured on the training data */
    int mean_count;
    const double *deviation;
    int deviation_count;
    int64_t workers;            /* data-loading threads: 1; 0: none */
    int64_t limit;              /* use only the first samples; 0: all */
} hki_data_config;

/* What says which epoch is best. */
typedef enum hki_monitor { HKI_MONITOR_AUTO, HKI_MONITOR_ACCURACY, HKI_MONITOR_LOSS } hki_monitor;

typedef struct hki_config {
    hki_arena *arena;
    const char *source;      /* file name or "config" */
    /* batch rule: train = micro x accumulation (x world) */
    int64_t train_batch_size, micro_batch_size, accumulation_steps; /* resolved; 0 before */
    double gradient_clipping; /* 1, as DeepSpeed since 0.18; 0: off */
    int64_t steps_per_print;
    bool drop_last;           /* dataloader_drop_last */
    hki_optimizer_config optimizer;
    hki_schedule_config schedule;
    hki_loss_config loss;
    hki_data_config data;
    /* "model": name of an architecture or path of an .onnx file, or {"name": ..., options} */
    const char *model_name, *model_file; /* one of the two */
    double model_width_multiplier; /* 0: the architecture's own */
    double model_dropout;          /* negative: the architecture's own */
    const int64_t *model_widths;   /* mlp: hidden layers; cnn: channels of the stages */
    int model_width_count;
    const char *name;         /* of the run: folder runs/<name> */
    const char *output;       /* "runs" */
    int64_t epochs, max_steps; /* 1; 0: no limit */
    uint64_t seed;            /* 1234 */
    const char *const *frozen; /* name patterns of parameters that are not trained */
    int frozen_count;
    int64_t early_stopping;   /* epochs without improvement; 0: off */
    int monitor;              /* hki_monitor */
    int64_t checkpoint_every; /* steps; 0: each epoch only */
    int64_t checkpoint_keep;  /* 2 */
    char *effective;          /* pretty JSON of all values in force; in the arena */
} hki_config;

/** Parses and checks a run file's text. overrides: "key.sub=value". Errors: "run.json:12:5: optimizer.params.lrr:
 * unknown key; did you mean 'lr'?". Free with hki_config_free. */
hk_status hki_config_parse(hki_config **out, const char *text, size_t size, const char *source,
                           const char *const *overrides, int override_count) HK_MUST_USE;
void hki_config_free(hki_config *config);

#endif
