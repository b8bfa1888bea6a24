/* Info: which halka this is, which machine it runs on, and what was built in. */
#ifndef HALKA_INFO_H
#define HALKA_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "halka/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the library's version, such as "0.1.0". */
HK_API const char *hk_version(void);

/** The machine as halka sees it. */
typedef struct hk_machine {
    char cpu[80];         /* the processor's name */
    const char *isa;      /* instruction set in use: "c", "avx2", "avx512" */
    const char *isas[8];  /* those with kernels that this machine can run, oldest first; ends with NULL */
    int threads;          /* that this process may use: affinity and cgroup considered */
    uint64_t memory;      /* bytes of main memory, 0 if unknown */
    uint64_t peak_memory; /* most bytes this process ever had resident */
} hk_machine;

/** Looks at the machine. HK_INVALID_ARGUMENT: HALKA_ISA names an instruction set that is unknown or not available here.
 */
HK_API hk_status hk_machine_describe(hk_machine *out) HK_MUST_USE;

/** A part that is built in only where its library was found. */
typedef struct hk_feature {
    const char *name; /* "zlib" */
    bool is_enabled;
    const char *package; /* the Debian package that brings it */
    const char *doc;     /* what it is needed for */
} hk_feature;

/** Returns the number of features. */
HK_API int hk_feature_count(void);
/** Returns a row of the table, 0 .. hk_feature_count() - 1. */
HK_API const hk_feature *hk_feature_at(int index);

#ifdef __cplusplus
}
#endif
#endif
