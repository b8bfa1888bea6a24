/* Making, forwarding and annotating a status. See include/halka/status.h for what a status is.
 *
 * The function that detects a failure writes the message (HK_ERR): what was expected and what was found. Those above it
 * only add where (HK_TRY_CTX): a file, a node, a key. */
#ifndef HKI_BASE_STATUS_H
#define HKI_BASE_STATUS_H

#include <assert.h>

#include "halka/status.h"

#define HK_ERR(code, ...) hki_error_create(code, __VA_ARGS__)

/** Forwards a failure to the caller. */
#define HK_TRY(expr)                       \
    do {                                   \
        hk_status hki_try_status_ = (expr); \
        if (hki_try_status_)               \
            return hki_try_status_;        \
    } while (0)

/** Forwards a failure with context in front of its message: "node 'conv1' (Conv): ...". */
#define HK_TRY_CTX(expr, ...)                                     \
    do {                                                          \
        hk_status hki_try_status_ = (expr);                       \
        if (hki_try_status_)                                      \
            return hki_error_context(hki_try_status_, __VA_ARGS__); \
    } while (0)

/** Jumps to a clean-up label with the failure in `status` (a variable of that name must be in scope). */
#define HK_TRY_GOTO(expr, label)  \
    do {                          \
        status = (expr);          \
        if (status)               \
            goto label;           \
    } while (0)

#ifdef NDEBUG
#define HK_ASSERT(condition) ((void)0)
#else
#define HK_ASSERT(condition) assert(condition)
#endif

/** Creates a failure; printf-like. Never returns NULL: without memory it returns the static out-of-memory status. */
hk_status hki_error_create(hk_code code, const char *format, ...) HK_MUST_USE __attribute__((format(printf, 2, 3)));

/** Puts "context: " in front of the message. Consumes `status`, returns its replacement. */
hk_status hki_error_context(hk_status status, const char *format, ...) HK_MUST_USE
    __attribute__((format(printf, 2, 3)));

/** Returns the static status that says memory is exhausted. */
hk_status hki_out_of_memory(void) HK_MUST_USE;

/** Keeps the first failure: returns `first` and frees `second` if both are failures. For clean-up paths. */
hk_status hki_status_join(hk_status first, hk_status second) HK_MUST_USE;

#endif
