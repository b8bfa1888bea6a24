/* Log: one receiver for the whole process, set by the program. Messages are handed over one at a time. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define LEVEL_SILENT 1000 /* above every level */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static hki_log_fn *receiver;
static void *receiver_context;
static atomic_int lowest_level = LEVEL_SILENT; /* read without the lock, so that a silent log costs one load */

void hki_log_set(hki_log_fn *fn, void *context, hki_level level)
{
    pthread_mutex_lock(&mutex);
    receiver = fn;
    receiver_context = context;
    atomic_store(&lowest_level, fn ? (int)level : LEVEL_SILENT);
    pthread_mutex_unlock(&mutex);
}

void hki_log(hki_level level, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&lowest_level, memory_order_relaxed))
        return;
    char message[1024]; /* longer ones are cut: a log line needs no heap */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&mutex);
    if (receiver)
        receiver(receiver_context, level, message);
    pthread_mutex_unlock(&mutex);
}
