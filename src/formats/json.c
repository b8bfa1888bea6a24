/* JSON: the reader. One recursive descent over the bytes; line and column are counted as it goes. */
#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/decimal.h"

#define SLOTS_FROM 9 /* objects with at least so many members get a hash table */

typedef struct parser {
    hki_arena *arena;
    const char *file;
    const char *at, *end;
    const char *counted; /* up to here, line and column are known */
    int line, column;    /* of `counted` */
    int depth;
} parser;

/* Moves the known position up to `to`, which never goes back. */
static void count_to(parser *p, const char *to)
{
    for (; p->counted < to; p->counted++) {
        if (*p->counted == '\n') {
            p->line++;
            p->column = 1;
        } else if ((*p->counted & 0xc0) != 0x80) { /* not a continuation byte */
            p->column++;
        }
    }
}

/* Describes what stands at the reader's position: a character, a word or the end. */
static void describe(char *out, size_t size, const parser *p)
{
    unsigned char c = p->at < p->end ? (unsigned char)*p->at : 0;
    size_t length = 0;
    while (length < 24 && p->at + length < p->end &&
           ((p->at[length] >= 'a' && p->at[length] <= 'z') || (p->at[length] >= 'A' && p->at[length] <= 'Z')))
        length++;
    if (p->at >= p->end)
        snprintf(out, size, "the end of the text");
    else if (length > 1)
        snprintf(out, size, "'%.*s'", (int)length, p->at);
    else if (c == '\n')
        snprintf(out, size, "the end of the line");
    else if (c >= 0x20 && c < 0x7f)
        snprintf(out, size, "'%c'", c);
    else
        snprintf(out, size, "byte 0x%02x", c);
}

/* A failure at the reader's position; what was found is described. */
static hk_status expected(parser *p, const char *what)
{
    char found[64];
    describe(found, sizeof found, p);
    count_to(p, p->at);
    const char *hint = "";
    if (p->at < p->end && (*p->at == '#' || *p->at == '/'))
        hint = " (JSON has no comments)";
    else if (p->at < p->end && *p->at == '\'')
        hint = " (JSON strings stand in double quotes)";
    return HK_ERR(HK_INVALID_FILE, "%s:%d:%d: expected %s, found %s%s", p->file, p->line, p->column, what, found, hint);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool next_is(const parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

/* Length of the valid UTF-8 sequence at `s` (1 to 4), or 0. RFC 3629, section 4. */
static size_t utf8_length(const unsigned char *s, const unsigned char *end)
{
    if (*s < 0x80)
        return 1;
    size_t length = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    if (*s < 0xc2 || *s > 0xf4 || (size_t)(end - s) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f, beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* Reads four hexadecimal digits. */
static hk_status read_hex(uint32_t *out, parser *p)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        char c = p->at < p->end ? *p->at : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return expected(p, "four hexadecimal digits after \\u");
        value = value * 16 + (uint32_t)digit;
    }
    *out = value;
    return NULL;
}

/* Reads what follows "\u": one code point, a surrogate pair as one. */
static hk_status read_code_point(uint32_t *out, parser *p)
{
    uint32_t c = 0, low = 0;
    const char *start = p->at;
    HK_TRY(read_hex(&c, p));
    if (c == 0 || (c >= 0xdc00 && c <= 0xdfff)) {
        p->at = start;
        return expected(p, c ? "the first half of a surrogate pair after \\u" : "a character other than \\u0000");
    }
    if (c >= 0xd800 && c <= 0xdbff) {
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
            return expected(p, "\\u with the second half of a surrogate pair");
        p->at += 2;
        start = p->at;
        HK_TRY(read_hex(&low, p));
        if (low < 0xdc00 || low > 0xdfff) {
            p->at = start;
            return expected(p, "the second half of a surrogate pair");
        }
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = c;
    return NULL;
}

/* Reads what follows a backslash. */
static hk_status read_escape(char **to, parser *p)
{
    static const char letters[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    const char *found = p->at < p->end && *p->at ? strchr(letters, *p->at) : NULL;
    if (found) {
        *(*to)++ = plain[found - letters];
        p->at++;
        return NULL;
    }
    if (!next_is(p, 'u'))
        return expected(p, "one of \" \\ / b f n r t u after a backslash");
    p->at++;
    uint32_t c = 0;
    HK_TRY(read_code_point(&c, p));
    *to = put_utf8(*to, c);
    return NULL;
}

/* Reads a string from its opening quote on. Its text is never longer than its spelling, so one block is enough. */
static hk_status read_string(const char **out, parser *p)
{
    const char *scan = ++p->at;
    while (scan < p->end && *scan != '"')
        scan += *scan == '\\' && scan + 1 < p->end ? 2 : 1;
    char *text = hki_arena_alloc(p->arena, (size_t)(scan - p->at) + 1);
    if (!text)
        return hki_out_of_memory();
    char *to = text;
    while (!next_is(p, '"')) {
        unsigned char c = p->at < p->end ? (unsigned char)*p->at : 0;
        if (p->at >= p->end || c < 0x20)
            return expected(p, p->at < p->end && c != '\n' ? "control characters as \\u escapes"
                                                           : "'\"' at the end of a string");
        if (c == '\\') {
            p->at++;
            HK_TRY(read_escape(&to, p));
            continue;
        }
        size_t length = utf8_length((const unsigned char *)p->at, (const unsigned char *)p->end);
        if (!length)
            return expected(p, "valid UTF-8");
        memcpy(to, p->at, length);
        to += length;
        p->at += length;
    }
    p->at++;
    *to = '\0';
    *out = text;
    return NULL;
}

/* Skips digits; false if there are none. */
static bool skip_digits(parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > start;
}

static hk_status read_number(hki_json *value, parser *p)
{
    const char *start = p->at;
    p->at += *p->at == '-';
    if (next_is(p, '0')) {
        p->at++;
        if (p->at < p->end && *p->at >= '0' && *p->at <= '9')
            return expected(p, "no digit after a leading 0");
    } else if (!skip_digits(p)) {
        return expected(p, "a digit");
    }
    if (next_is(p, '.')) {
        p->at++;
        if (!skip_digits(p))
            return expected(p, "a digit after the decimal point");
    }
    if (next_is(p, 'e') || next_is(p, 'E')) {
        p->at++;
        p->at += next_is(p, '+') || next_is(p, '-');
        if (!skip_digits(p))
            return expected(p, "a digit in the exponent");
    }
    hki_decimal decimal;
    hki_decimal_read(&decimal, start, (size_t)(p->at - start));
    if (isinf(decimal.value)) {
        p->at = start;
        return HK_ERR(HK_INVALID_FILE, "%s:%d:%d: expected a number below 1.8e308 in magnitude", p->file, value->line,
                      value->column);
    }
    value->type = HKI_JSON_NUMBER;
    value->number = decimal.value;
    value->is_integer = decimal.is_integer;
    value->integer = decimal.integer;
    return NULL;
}

/* FNV-1a */
static size_t hash_key(const char *key)
{
    uint64_t hash = 14695981039346656037u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

/* Adds a member to the object's table; returns the member that has the same key already, or NULL. */
static const hki_json *add_slot(hki_json *object, hki_json *member)
{
    size_t mask = object->slot_count - 1, i = hash_key(member->key) & mask;
    for (; object->slots[i]; i = (i + 1) & mask)
        if (!strcmp(object->slots[i]->key, member->key))
            return object->slots[i];
    object->slots[i] = member;
    return NULL;
}

static hk_status duplicate(const hki_json *member, const hki_json *before)
{
    return HK_ERR(HK_INVALID_FILE, "%s:%d:%d: expected each key once, found \"%s\" again (first on line %d)",
                  member->file, member->line, member->column, member->key, before->line);
}

/* Builds the table of a large object and refuses duplicate keys. */
static hk_status finish_object(hki_json *object, parser *p)
{
    if (object->count < SLOTS_FROM) {
        for (const hki_json *a = object->first; a; a = a->next)
            for (const hki_json *b = object->first; b != a; b = b->next)
                if (!strcmp(a->key, b->key))
                    return duplicate(a, b);
        return NULL;
    }
    size_t slots = 16;
    while (slots < (size_t)object->count * 2)
        slots *= 2;
    object->slots = hki_arena_array(p->arena, slots, sizeof *object->slots);
    if (!object->slots)
        return hki_out_of_memory();
    object->slot_count = slots;
    for (hki_json *member = object->first; member; member = member->next) {
        const hki_json *before = add_slot(object, member);
        if (before)
            return duplicate(member, before);
    }
    return NULL;
}

static hk_status read_value(hki_json **out, parser *p, hki_json *parent, const char *key);

/* Reads members or elements from behind the opening bracket up to and including the closing one. */
static hk_status read_items(hki_json *list, parser *p, bool object)
{
    char close = object ? '}' : ']';
    hki_json **tail = &list->first;
    if (++p->depth > HKI_JSON_DEPTH)
        return HK_ERR(HK_INVALID_FILE, "%s:%d:%d: expected at most %d levels of nesting", p->file, list->line,
                      list->column, HKI_JSON_DEPTH);
    p->at++;
    skip_space(p);
    while (!next_is(p, close)) {
        if (list->count) {
            if (!next_is(p, ','))
                return expected(p, object ? "',' or '}'" : "',' or ']'");
            p->at++;
            skip_space(p);
        }
        const char *key = NULL;
        if (object) {
            if (!next_is(p, '"'))
                return expected(p, list->count ? "a key in double quotes after ','" : "a key in double quotes or '}'");
            HK_TRY(read_string(&key, p));
            skip_space(p);
            if (!next_is(p, ':'))
                return expected(p, "':' after a key");
            p->at++;
            skip_space(p);
        }
        HK_TRY(read_value(tail, p, list, key));
        (*tail)->index = list->count++;
        tail = &(*tail)->next;
        skip_space(p);
    }
    p->at++;
    p->depth--;
    return object ? finish_object(list, p) : NULL;
}

/* Reads true, false or null. */
static hk_status read_word(hki_json *value, parser *p)
{
    static const char *const words[] = {"null", "false", "true"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(p->end - p->at) < length || memcmp(p->at, words[i], length))
            continue;
        value->type = i ? HKI_JSON_BOOL : HKI_JSON_NULL;
        value->boolean = i == 2;
        p->at += length;
        return NULL;
    }
    return expected(p, "a value");
}

static hk_status read_value(hki_json **out, parser *p, hki_json *parent, const char *key)
{
    hki_json *value = hki_arena_alloc(p->arena, sizeof *value);
    if (!value)
        return hki_out_of_memory();
    count_to(p, p->at);
    value->line = p->line;
    value->column = p->column;
    value->file = p->file;
    value->key = key;
    value->parent = parent;
    char c = p->at < p->end ? *p->at : 0;
    if (c == '{' || c == '[') {
        value->type = c == '{' ? HKI_JSON_OBJECT : HKI_JSON_ARRAY;
        HK_TRY(read_items(value, p, c == '{'));
    } else if (c == '"') {
        value->type = HKI_JSON_STRING;
        HK_TRY(read_string(&value->string, p));
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        HK_TRY(read_number(value, p));
    } else {
        HK_TRY(read_word(value, p));
    }
    *out = value;
    return NULL;
}

hk_status hki_json_parse(hki_json **out, hki_arena *arena, const char *text, size_t size, const char *file_name)
{
    *out = NULL;
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* a byte order mark, which RFC 8259 allows to ignore */
        text += 3;
        size -= 3;
    }
    parser p = {.arena = arena, .at = text, .end = text + size, .counted = text, .line = 1, .column = 1};
    p.file = hki_arena_strdup(arena, file_name);
    if (!p.file)
        return hki_out_of_memory();
    skip_space(&p);
    hki_json *value;
    HK_TRY(read_value(&value, &p, NULL, NULL));
    skip_space(&p);
    if (p.at < p.end)
        return expected(&p, "nothing after the value");
    *out = value;
    return NULL;
}

const hki_json *hki_json_find(const hki_json *object, const char *key)
{
    if (!object || object->type != HKI_JSON_OBJECT)
        return NULL;
    if (object->slots) {
        size_t mask = object->slot_count - 1;
        for (size_t i = hash_key(key) & mask; object->slots[i]; i = (i + 1) & mask)
            if (!strcmp(object->slots[i]->key, key))
                return object->slots[i];
        return NULL;
    }
    for (const hki_json *member = object->first; member; member = member->next)
        if (!strcmp(member->key, key))
            return member;
    return NULL;
}
