/* What was measured while plans ran: a Chrome trace, and a table by operator. */
#ifndef HKI_EXEC_PROFILE_H
#define HKI_EXEC_PROFILE_H

#include "exec/plan_cache.h"

/** Writes the last run of every step as a Chrome trace (chrome://tracing, Perfetto). */
hk_status hki_profile_write_trace(const hki_plan_cache *cache, const char *path) HK_MUST_USE;
/** Sums steps by operator, sorted by time; returns the number of rows. */
int hki_profile_table(const hki_plan *plan, hk_profile_row *rows, int capacity);

#endif
