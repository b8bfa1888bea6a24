/* The machine: processor features, cores, clock, and a request to stop. */
#ifndef HKI_BASE_SYSTEM_H
#define HKI_BASE_SYSTEM_H

#include "base/memory.h"

/** Instruction sets for which halka has kernels, oldest first. All give the same bytes. */
typedef enum hki_isa { HKI_ISA_C, HKI_ISA_AVX2, HKI_ISA_AVX512, HKI_ISA_COUNT } hki_isa;

const char *hki_isa_name(hki_isa isa); /* "c", "avx2", "avx512" */
/** Finds an ISA by name; false if unknown. */
bool hki_isa_find(hki_isa *out, const char *name);
/** Returns the newest ISA that processor and operating system support. */
hki_isa hki_isa_best(void);
/** Returns the ISA to use: HALKA_ISA if set (an error if unknown or unsupported here), else the best. */
hk_status hki_isa_choose(hki_isa *out) HK_MUST_USE;

/** Writes the processor's name, e.g. "AMD EPYC". */
void hki_cpu_name(char *out, size_t size);
/** Returns how many processors this process may use: affinity mask and cgroup quota (v1, v2) considered; at least 1. */
int hki_cpu_count(void);
/** Returns the processor quota of the control group named in `group_file` (as /proc/self/cgroup) below `root` (as
 * /sys/fs/cgroup), rounded up; the smallest on the way to the top counts. 0 if there is no limit. */
int hki_cpu_quota(const char *root, const char *group_file);

/** Monotonic seconds. */
double hki_clock(void);
/** Peak resident memory of this process in bytes, 0 if unknown. */
uint64_t hki_memory_peak(void);

/** Installs handlers for SIGINT and SIGTERM that only set a flag; a second signal ends the process at once. */
void hki_stop_install(void);
/** True once a stop was requested. */
bool hki_stop_requested(void);
/** Requests or clears a stop from inside the process. */
void hki_stop_set(bool stop);

#endif
