/* How the command speaks: errors as one line, JSON, and numbers for people. */
#include <math.h>
#include <stdarg.h>

#include "cli/cli.h"

int cli_error(hk_code code, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("halka: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return hk_code_exit(code);
}

int cli_status(hk_status status)
{
    if (!status)
        return 0;
    int code = cli_error(hk_status_code(status), "%s", hk_status_message(status));
    hk_status_free(status);
    return code;
}

int cli_no_memory(void)
{
    return cli_error(HK_OUT_OF_MEMORY, "memory is exhausted");
}

/* ---- JSON. The command prints one document, so its state is the process's. ---- */

static char json_stack[32];
static bool json_lines[32]; /* its members stand on lines of their own; a list of plain values stays on one */
static int json_depth;
static bool json_first = true;

static void quote(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void json_next(const char *key, bool is_plain)
{
    bool own_line = json_depth && (json_stack[json_depth - 1] == '}' || !is_plain);
    if (!json_first)
        fputs(own_line ? "," : ", ", stdout);
    if (own_line) {
        printf("\n%*s", 2 * json_depth, "");
        json_lines[json_depth - 1] = true;
    }
    json_first = false;
    if (key) {
        quote(key);
        fputs(": ", stdout);
    }
}

void json_open(const char *key, char bracket)
{
    json_next(key, false);
    putchar(bracket);
    json_lines[json_depth] = false;
    json_stack[json_depth++] = bracket == '{' ? '}' : ']';
    json_first = true;
}

void json_close(void)
{
    json_depth--;
    if (json_lines[json_depth])
        printf("\n%*s", 2 * json_depth, "");
    putchar(json_stack[json_depth]);
    json_first = false;
    if (!json_depth) {
        putchar('\n');
        json_first = true;
    }
}

void json_text(const char *key, const char *value)
{
    json_next(key, true);
    if (value)
        quote(value);
    else
        fputs("null", stdout);
}

void json_integer(const char *key, int64_t value)
{
    json_next(key, true);
    printf("%lld", (long long)value);
}

void json_number(const char *key, double value)
{
    json_next(key, true);
    if (!isfinite(value)) {
        fputs("null", stdout);
        return;
    }
    char text[40];
    for (int digits = 6; digits <= 17; digits++) { /* the shortest text that reads back as the same number */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stdout);
}

void json_bool(const char *key, bool value)
{
    json_next(key, true);
    fputs(value ? "true" : "false", stdout);
}

void json_dims(const char *key, int rank, const int64_t *dims)
{
    json_next(key, false);
    putchar('[');
    for (int i = 0; i < rank; i++)
        printf("%s%lld", i ? ", " : "", (long long)dims[i]);
    putchar(']');
}

/* ---- For people. ---- */

static char *ring(void)
{
    static char buffers[8][256];
    static int next;
    return buffers[next++ % 8];
}

const char *cli_bytes(double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    char *text = ring();
    int unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 256, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *cli_scaled(double number)
{
    static const char *const units[] = {" ", " k", " M", " G", " T", " P"};
    char *text = ring();
    int unit = 0;
    while (number >= 1000 && unit < 5) {
        number /= 1000;
        unit++;
    }
    snprintf(text, 256, unit ? "%.2f%s" : "%.0f%s", number, units[unit]);
    return text;
}

const char *cli_grouped(int64_t number)
{
    char digits[32], *text = ring(), *to = text;
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

const char *cli_type(const hk_graph *graph, const hk_value *value)
{
    char *text = ring();
    int rank = hk_value_rank(value), n = snprintf(text, 256, "%s[", hk_dtype_name(hk_value_dtype(value)));
    const int64_t *dims = hk_value_dims(value);
    if (rank < 0)
        snprintf(text + n, 256 - (size_t)n, "...]");
    for (int i = 0; i < rank && n < 220; i++) {
        if (dims[i] >= 0)
            n += snprintf(text + n, 256 - (size_t)n, "%s%lld", i ? "," : "", (long long)dims[i]);
        else
            n += snprintf(text + n, 256 - (size_t)n, "%s%.20s", i ? "," : "", hk_graph_symbol_name(graph, dims[i]));
    }
    if (rank >= 0)
        snprintf(text + n, 256 - (size_t)n, "]");
    return text;
}

const char *cli_tensor_type(const hk_tensor *tensor)
{
    char *text = ring();
    int n = snprintf(text, 256, "%s[", hk_dtype_name(hk_tensor_dtype(tensor)));
    for (int i = 0; i < hk_tensor_rank(tensor); i++)
        n += snprintf(text + n, 256 - (size_t)n, "%s%lld", i ? "," : "", (long long)hk_tensor_dims(tensor)[i]);
    snprintf(text + n, 256 - (size_t)n, "]");
    return text;
}
