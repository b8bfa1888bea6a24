/* Decimal numbers as text: correctly rounded, whatever the locale of the program. Used by JSON and CSV. */
#ifndef HKI_FORMATS_DECIMAL_H
#define HKI_FORMATS_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hki_decimal {
    double value;    /* correctly rounded; infinite where the text is beyond double */
    int64_t integer; /* the exact value, if is_integer */
    bool is_integer; /* the text names a whole number that fits int64: also "5e8" and "2.0" */
} hki_decimal;

/** Reads [+-]digits[.digits][e[+-]digits] at the start of `text`, with digits on at least one side of the point.
 * Returns how many bytes that took; 0 if there is no number. */
size_t hki_decimal_read(hki_decimal *out, const char *text, size_t size);

#define HKI_DECIMAL_TEXT 32
/** Writes text of 15 to 17 digits that reads back as the same double ("0.1", "1e+300") into HKI_DECIMAL_TEXT bytes;
 * returns it. */
const char *hki_decimal_text(char *out, double value);

#endif
