/* What was measured while plans ran: a Chrome trace, and a table by operator. */
#ifndef HKI_EXEC_PROFILE_H
#define HKI_EXEC_PROFILE_H

#include "exec/plan.h"

/* A plan and the input types it was made for. */
typedef struct hki_session_plan {
    hki_plan *plan;
    hki_type *inputs; /* per graph input */
} hki_session_plan;

/** Writes the last run of every step as a Chrome trace (chrome://tracing, Perfetto). */
hk_status hki_profile_write_trace(const hki_session_plan *plans, int count, const char *path) HK_MUST_USE;
/** Sums steps by operator, sorted by time; returns the number of rows. */
int hki_profile_table(const hki_plan *plan, hk_profile_row *rows, int capacity);

#endif
