/* From a finished run to its report. */
#ifndef HKI_TRAIN_RUN_REPORT_H
#define HKI_TRAIN_RUN_REPORT_H

#include "train/run.h"

typedef struct hki_run_facts {
    const hk_trainer *trainer;
    const hki_run_data *data;
    const hki_run_folder *folder;
    const hki_run_state *state;
    const hk_evaluation *test, *validation; /* NULL: none */
    const hki_wrong_image *wrong;
    int wrong_count;
} hki_run_facts;

/** Writes report.html into the run folder; *out_path is hki_alloc'ed. */
hk_status hki_run_report(char **out_path, const hki_run_facts *facts) HK_MUST_USE;

#endif
