/* Strings: the growing buffer with its JSON and HTML escapes, edit distance, glob patterns.
 *
 * What is escaped here may come from any file: bytes that are not UTF-8 become U+FFFD, so that reports and JSON are
 * always valid. */
#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_LIMIT 96 /* names longer than this get no suggestion */

/* Makes room for `extra` more bytes and a NUL; false when memory is exhausted. */
static bool reserve(hki_text *text, size_t extra)
{
    size_t wanted;
    if (text->failed || !hki_size_add(&wanted, text->length, extra) || !hki_size_add(&wanted, wanted, 1)) {
        text->failed = true;
        return false;
    }
    if (wanted <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < wanted && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    if (capacity < wanted)
        capacity = wanted;
    char *data = hki_realloc(text->data, text->length, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void hki_text_append(hki_text *text, const char *data, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void hki_text_printf(hki_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        text->failed = true;
    if (length < 0 || !reserve(text, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* Returns the length of the UTF-8 sequence at `s` (1 to 4), or 0 if it is not valid. RFC 3629, section 4. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f;
    bool beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

/* Appends the character at `s`, unescaped, and returns how many bytes it took. */
static size_t append_character(hki_text *text, const char *s)
{
    size_t length = utf8_length((const unsigned char *)s);
    if (length)
        hki_text_append(text, s, length);
    else
        hki_text_append(text, "\xef\xbf\xbd", 3); /* U+FFFD */
    return length ? length : 1;
}

/* Appends the escape of an ASCII character that JSON wants escaped; false if it wants none. */
static bool append_json_escape(hki_text *text, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *found = memchr(plain, c, sizeof plain - 1);
    if (found)
        hki_text_printf(text, "\\%c", letter[found - plain]);
    else if ((unsigned char)c < 0x20)
        hki_text_printf(text, "\\u%04x", (unsigned)c);
    else
        return false;
    return true;
}

void hki_text_json(hki_text *text, const char *string)
{
    hki_text_append(text, "\"", 1);
    for (const char *s = string; *s;) {
        if (s[0] == '<' && s[1] == '/') { /* "</script>" would end a script element that holds this JSON */
            hki_text_append(text, "<\\/", 3);
            s += 2;
        } else if (append_json_escape(text, *s)) {
            s++;
        } else {
            s += append_character(text, s);
        }
    }
    hki_text_append(text, "\"", 1);
}

void hki_text_html(hki_text *text, const char *string)
{
    for (const char *s = string; *s;) {
        const char *escape = *s == '&'   ? "&amp;"
                             : *s == '<' ? "&lt;"
                             : *s == '>' ? "&gt;"
                             : *s == '"' ? "&quot;"
                                         : NULL;
        if (escape) {
            hki_text_append(text, escape, strlen(escape));
            s++;
        } else {
            s += append_character(text, s);
        }
    }
}

hk_status hki_text_status(const hki_text *text)
{
    return text->failed ? hki_out_of_memory() : NULL;
}

void hki_text_free(hki_text *text)
{
    hki_free(text->data);
    *text = (hki_text){0};
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Counts insertions, deletions, substitutions and swaps of neighbours between two names (optimal string alignment). */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_LIMIT + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_length];
}

const char *hki_nearest_name(const char *name, const char *const *names, size_t count)
{
    size_t length = strlen(name);
    if (length > NAME_LIMIT)
        return NULL;
    const char *nearest = NULL;
    size_t limit = length / 3;
    for (size_t i = 0; i < count; i++) {
        size_t other = names[i] ? strlen(names[i]) : NAME_LIMIT + 1;
        if (other > NAME_LIMIT)
            continue;
        size_t distance = edit_distance(name, length, names[i], other);
        if (distance < limit || (distance == limit && !nearest)) {
            nearest = names[i];
            limit = distance;
        }
    }
    return nearest;
}

bool hki_glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *resume = NULL; /* the last * and where to try again behind what it has swallowed */
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
