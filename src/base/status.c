/* Status objects: a code and one line of text in one heap block.
 *
 * Exhausted memory is a static object, so that reporting it needs no memory; freeing that object does nothing. A
 * failure whose own message cannot be allocated turns into it. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct hk_error {
    hk_code code;
    const char *message; /* one line, behind the struct */
};

static struct hk_error exhausted = {HK_OUT_OF_MEMORY, "memory is exhausted"};

hk_status hki_out_of_memory(void)
{
    return &exhausted;
}

hk_code hk_status_code(hk_status status)
{
    return status ? status->code : HK_OK;
}

const char *hk_status_message(hk_status status)
{
    return status ? status->message : "success";
}

void hk_status_free(hk_status status)
{
    if (status && status != &exhausted)
        hki_free(status);
}

const char *hk_code_name(hk_code code)
{
    switch (code) {
#define CODE_NAME(name, exit_code, text) \
    case name:                           \
        return #name;
        HK_CODES(CODE_NAME)
#undef CODE_NAME
    }
    return "unknown code";
}

int hk_code_exit(hk_code code)
{
    switch (code) {
#define CODE_EXIT(name, exit_code, text) \
    case name:                           \
        return exit_code;
        HK_CODES(CODE_EXIT)
#undef CODE_EXIT
    }
    return 70;
}

/* A message is one line whatever a file name or an attribute contains. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\r')
            *text = ' ';
}

/* Formats "FORMATTED" or, with a tail, "FORMATTED: tail" into a new status. */
static hk_status create(hk_code code, const char *tail, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        length = 0;
    size_t tail_length = tail ? strlen(tail) + 2 : 0;
    struct hk_error *error = hki_alloc(sizeof *error + (size_t)length + tail_length + 1);
    if (!error)
        return &exhausted;
    error->code = code;
    char *message = (char *)(error + 1);
    error->message = message;
    message[0] = '\0';
    vsnprintf(message, (size_t)length + 1, format, arguments);
    if (tail) {
        memcpy(message + length, ": ", 2);
        memcpy(message + length + 2, tail, tail_length - 1);
    }
    make_one_line(message);
    return error;
}

hk_status hki_error_create(hk_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hk_status status = create(code == HK_OK ? HK_INTERNAL : code, NULL, format, arguments);
    va_end(arguments);
    return status;
}

hk_status hki_error_context(hk_status status, const char *format, ...)
{
    if (!status)
        return NULL;
    va_list arguments;
    va_start(arguments, format);
    hk_status longer = create(hk_status_code(status), hk_status_message(status), format, arguments);
    va_end(arguments);
    if (longer == &exhausted) /* the failure itself says more than the lack of memory for its context */
        return status;
    hk_status_free(status);
    return longer;
}

hk_status hki_status_join(hk_status first, hk_status second)
{
    if (!first)
        return second;
    hk_status_free(second);
    return first;
}
