/* Status: how every halka function that can fail says so.
 *
 *     hk_status s = hk_model_load(&graph, "model.onnx");
 *     if (s) {                                  // NULL is success
 *         fprintf(stderr, "%s\n", hk_status_message(s));
 *         hk_status_free(s);
 *     }
 *
 * A status is a value: it can be handed from thread to thread, and belongs to whoever receives it. Reporting that
 * memory is exhausted needs no memory. */
#ifndef HALKA_STATUS_H
#define HALKA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HK_MUST_USE __attribute__((warn_unused_result))
#define HK_API __attribute__((visibility("default")))
#else
#define HK_MUST_USE
#define HK_API
#endif

/** One line per class of failure: name, exit code of the command, what it means. */
#define HK_CODES(X)                                                                          \
    X(HK_OK, 0, "success")                                                                   \
    X(HK_INVALID_ARGUMENT, 2, "a call or command line that makes no sense")                  \
    X(HK_INVALID_CONFIG, 3, "a run file with an unknown key, wrong type or impossible value") \
    X(HK_INVALID_FILE, 4, "a file that is damaged or not of the expected format")            \
    X(HK_INVALID_SHAPE, 5, "shapes that do not fit an operator")                             \
    X(HK_INVALID_TYPE, 6, "an element type that an operator does not take")                  \
    X(HK_INVALID_DATA, 7, "a sample, label or cell that cannot be used")                     \
    X(HK_NOT_FOUND, 8, "a file, name or package that is not there")                          \
    X(HK_UNSUPPORTED, 9, "something known that halka does not do (yet)")                     \
    X(HK_IO, 10, "the operating system refused to read or write")                            \
    X(HK_OUT_OF_MEMORY, 11, "memory is exhausted")                                           \
    X(HK_NOT_FINITE, 12, "a loss or value became infinite or not a number")                  \
    X(HK_INTERRUPTED, 13, "stopped on request; what was done is saved")                      \
    X(HK_INTERNAL, 70, "a bug in halka")

typedef enum hk_code {
#define HK_CODE_ENUM(name, exit, text) name,
    HK_CODES(HK_CODE_ENUM)
#undef HK_CODE_ENUM
} hk_code;

/** NULL is success. Otherwise the receiver owns it: forward it, or free it. */
typedef struct hk_error *hk_status;

/** Returns the class of failure; HK_OK for NULL. */
HK_API hk_code hk_status_code(hk_status status);

/** Returns one line that says what was expected, what was found, and where. Borrowed; "success" for NULL. */
HK_API const char *hk_status_message(hk_status status);

/** Frees a status. NULL is allowed. */
HK_API void hk_status_free(hk_status status);

/** Returns the name of a code, such as "HK_INVALID_SHAPE". */
HK_API const char *hk_code_name(hk_code code);

/** Returns the exit code with which the `halka` command reports this class of failure. */
HK_API int hk_code_exit(hk_code code);

#ifdef __cplusplus
}
#endif
#endif
