/* The rows of every block of the run file, and the names of its choices. */
#ifndef HKI_TRAIN_CONFIG_TABLES_H
#define HKI_TRAIN_CONFIG_TABLES_H

#include "train/config.h"
#include "train/config_fields.h"

/** One type of optimizer or scheduler: its name in the file, the enum value, the rows of its params. */
typedef struct hki_config_type {
    const char *name;
    int type;
    const hki_field *fields;
} hki_config_type;

extern const hki_config_type hki_optimizer_types[]; /* end with name NULL */
extern const hki_config_type hki_schedule_types[];
extern const hki_field hki_top_fields[];     /* hki_config: keys with plain values */
extern const hki_field hki_model_fields[];   /* hki_config */
extern const hki_field hki_checkpoint_fields[]; /* hki_config */
extern const hki_field hki_loss_fields[];    /* hki_loss_config, without class_weights */
extern const hki_field hki_augment_fields[]; /* hki_augment_config */
extern const hki_field hki_files_fields[];   /* hki_data_files */
extern const hki_field hki_data_fields[];    /* hki_data_config, plain values */
extern const char *const hki_loss_names[];

/** DeepSpeed keys that are known but have no meaning here yet; end with NULL. */
extern const char *const hki_known_keys[];
/** DeepSpeed optimizers and schedulers that are known but not supported yet. */
extern const char *const hki_known_optimizers[];

#endif
