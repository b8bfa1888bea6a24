/* Log: what the library has to say apart from statuses. Silent unless the program sets a function. */
#ifndef HKI_BASE_LOG_H
#define HKI_BASE_LOG_H

typedef enum hki_level { HKI_LOG_DEBUG, HKI_LOG_INFO, HKI_LOG_WARNING } hki_level;
typedef void hki_log_fn(void *context, hki_level level, const char *message);

/** Sets who receives messages of at least `level`; NULL silences. */
void hki_log_set(hki_log_fn *fn, void *context, hki_level level);
void hki_log(hki_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
