/* Takes a command line apart by the tables of its verb. */
#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "cli/cli.h"

const cli_option cli_common_options[] = {
    {"json", 0, CLI_FLAG, NULL, "print JSON on standard output"},
    {"help", 'h', CLI_FLAG, NULL, "show this help"},
    {NULL, 0, CLI_FLAG, NULL, NULL},
};

const cli_option cli_compute_options[] = {
    {"threads", 0, CLI_INTEGER, "N", "use N threads (default: all this process may use); never changes a result"},
    {"isa", 0, CLI_TEXT, "c|avx2|avx512",
     "instruction set (default: the best here, or HALKA_ISA); never changes a result"},
    {NULL, 0, CLI_FLAG, NULL, NULL},
};

void cli_option_tables(const cli_option *out[4], const cli_verb *verb)
{
    int count = 0;
    if (verb->options)
        out[count++] = verb->options;
    if (verb->computes)
        out[count++] = cli_compute_options;
    out[count++] = cli_common_options;
    out[count] = NULL;
}

/* ---- The nearest name. ---- */

/* Edit distance with swaps of neighbours, ignoring case; names of up to 63 characters. */
static int distance(const char *a, const char *b)
{
    int rows[3][64], n = (int)strlen(b);
    if (strlen(a) > 63 || n > 63)
        return 1000;
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = above[j - 1] + (ca != cb);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
                above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[strlen(a) % 3][n];
}

const char *cli_nearest(const char *name, const char *const *names, int count)
{
    const char *nearest = NULL;
    int best = (int)strlen(name) / 3 + 1;
    for (int i = 0; i < count; i++) {
        int d = distance(name, names[i]);
        bool begins = strlen(name) >= 3 && !strncmp(name, names[i], strlen(name));
        if (d < best || (!nearest && begins)) {
            best = d < best ? d : best;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- Values. ---- */

static int bad_value(const cli_option *option, const char *text, const char *expected)
{
    return cli_error(HK_INVALID_ARGUMENT, "--%s takes %s, not '%s'", option->name, expected, text);
}

/* True if `text` is one of the words of "a|b|c"; placeholders without | allow all. */
static bool is_choice(const char *choices, const char *text)
{
    if (!choices || !strchr(choices, '|'))
        return true;
    size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (!strncmp(at, text, length) && (at[length] == '|' || !at[length]))
            return true;
    return false;
}

static int add(cli_call *call, const cli_option *option, const char *text)
{
    cli_given given = {.option = option, .text = text};
    char *end = NULL;
    errno = 0;
    if (option->kind == CLI_INTEGER) {
        given.integer = strtoll(text, &end, 10);
        if (end == text || *end || errno || given.integer < 0)
            return bad_value(option, text, "a whole number");
    } else if (option->kind == CLI_NUMBER) {
        given.number = strtod(text, &end);
        if (end == text || *end || !isfinite(given.number))
            return bad_value(option, text, "a number");
    } else if (option->kind == CLI_TEXT && !is_choice(option->value, text)) {
        return bad_value(option, text, option->value);
    }
    call->given[call->given_count++] = given;
    return 0;
}

static const cli_option *option_find(const cli_verb *verb, const char *name, size_t length)
{
    const cli_option *tables[4];
    cli_option_tables(tables, verb);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++)
            if (strlen(option->name) == length && !strncmp(option->name, name, length))
                return option;
    return NULL;
}

static int unknown_option(const cli_verb *verb, const char *word)
{
    const cli_option *tables[4];
    const char *names[64];
    char name[64];
    int count = 0;
    cli_option_tables(tables, verb);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name && count < 64; option++)
            names[count++] = option->name;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *bare = name + strspn(name, "-");
    const char *nearest = cli_nearest(bare, names, count);
    return cli_error(HK_INVALID_ARGUMENT, "%s has no option '%s'%s%s%s", verb->name, name,
                     nearest ? "; did you mean '--" : "; see `halka ", nearest ? nearest : verb->name,
                     nearest ? "'?" : " --help`");
}

/* "--name", "--name=value", "--name value"; *i moves past a value taken from the next word. */
static int long_option(cli_call *call, int argc, char **argv, int *i)
{
    const char *word = argv[*i] + 2;
    size_t length = strcspn(word, "=");
    const cli_option *option = option_find(call->verb, word, length);
    if (!option)
        return unknown_option(call->verb, argv[*i]);
    if (option->kind == CLI_FLAG)
        return word[length] ? cli_error(HK_INVALID_ARGUMENT, "--%s takes no value", option->name)
                            : add(call, option, "");
    if (word[length])
        return add(call, option, word + length + 1);
    if (*i + 1 >= argc)
        return cli_error(HK_INVALID_ARGUMENT, "--%s needs a value: %s", option->name, option->value);
    return add(call, option, argv[++*i]);
}

/* "-x", "-x value", "-xvalue". */
static int short_option(cli_call *call, int argc, char **argv, int *i)
{
    const cli_option *tables[4], *found = NULL;
    const char *word = argv[*i] + 1;
    cli_option_tables(tables, call->verb);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++)
            if (option->letter == *word)
                found = option;
    if (!found || (found->kind == CLI_FLAG && word[1]))
        return unknown_option(call->verb, argv[*i]);
    if (found->kind == CLI_FLAG)
        return add(call, found, "");
    if (word[1])
        return add(call, found, word + 1);
    if (*i + 1 >= argc)
        return cli_error(HK_INVALID_ARGUMENT, "-%c needs a value: %s", *word, found->value);
    return add(call, found, argv[++*i]);
}

/* ---- The whole line. ---- */

static int check_arguments(const cli_call *call)
{
    int required = 0, allowed = 0;
    bool repeats = false;
    const cli_argument *missing = NULL;
    for (const cli_argument *a = call->verb->arguments; a && a->name; a++) {
        if (!a->optional && required++ == call->argument_count)
            missing = a;
        allowed++;
        repeats |= a->repeats;
    }
    if (missing)
        return cli_error(HK_INVALID_ARGUMENT, "%s: %s is missing; see `halka %s --help`", call->verb->name,
                         missing->name, call->verb->name);
    if (call->argument_count > allowed && !repeats)
        return cli_error(HK_INVALID_ARGUMENT, "%s: unexpected argument '%s'; see `halka %s --help`", call->verb->name,
                         call->arguments[allowed], call->verb->name);
    return 0;
}

int cli_parse(cli_call *call, const cli_verb *verb, int argc, char **argv)
{
    *call = (cli_call){.verb = verb};
    call->arguments = calloc((size_t)argc + 1, sizeof *call->arguments);
    call->given = calloc((size_t)argc + 1, sizeof *call->given);
    if (!call->arguments || !call->given)
        return cli_no_memory();
    bool only_arguments = false;
    for (int i = 0; i < argc; i++) {
        int code = 0;
        if (only_arguments || argv[i][0] != '-' || !argv[i][1])
            call->arguments[call->argument_count++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            only_arguments = true;
        else if (argv[i][1] == '-')
            code = long_option(call, argc, argv, &i);
        else
            code = short_option(call, argc, argv, &i);
        if (code)
            return code;
    }
    call->json = cli_has(call, "json");
    return cli_has(call, "help") ? 0 : check_arguments(call);
}

void cli_call_free(cli_call *call)
{
    free(call->arguments);
    free(call->given);
}

/* ---- Reading a call. ---- */

static const cli_given *last_given(const cli_call *call, const char *option)
{
    for (int i = call->given_count - 1; i >= 0; i--)
        if (!strcmp(call->given[i].option->name, option))
            return &call->given[i];
    return NULL;
}

bool cli_has(const cli_call *call, const char *option)
{
    return last_given(call, option) != NULL;
}

const char *cli_text(const cli_call *call, const char *option, const char *fallback)
{
    const cli_given *given = last_given(call, option);
    return given ? given->text : fallback;
}

int64_t cli_integer(const cli_call *call, const char *option, int64_t fallback)
{
    const cli_given *given = last_given(call, option);
    return given ? given->integer : fallback;
}

double cli_number(const cli_call *call, const char *option, double fallback)
{
    const cli_given *given = last_given(call, option);
    return given ? given->number : fallback;
}

const char *cli_nth(const cli_call *call, const char *option, int index)
{
    for (int i = 0; i < call->given_count; i++)
        if (!strcmp(call->given[i].option->name, option) && index-- == 0)
            return call->given[i].text;
    return NULL;
}

const char *cli_argument_at(const cli_call *call, int index)
{
    return index < call->argument_count ? call->arguments[index] : NULL;
}

hk_session_options cli_session_options(const cli_call *call)
{
    hk_session_options options = hk_session_defaults();
    options.threads = (int)cli_integer(call, "threads", 0);
    options.isa = cli_text(call, "isa", NULL);
    return options;
}

int cli_dims(int64_t dims[HK_MAX_RANK], const char *text)
{
    int rank = 0;
    if (!*text || !strcmp(text, "scalar"))
        return 0;
    for (;;) {
        char *end;
        errno = 0;
        long long dim = strtoll(text, &end, 10);
        if (end == text || errno || dim < 0 || rank == HK_MAX_RANK)
            return -1;
        dims[rank++] = dim;
        if (!*end)
            return rank;
        if (*end != 'x' && *end != ',')
            return -1;
        text = end + 1;
    }
}

int cli_numbers(double *out, int capacity, const char *text)
{
    int count = 0;
    for (;;) {
        char *end;
        double number = strtod(text, &end);
        if (end == text || !isfinite(number) || count == capacity)
            return -1;
        out[count++] = number;
        if (!*end)
            return count;
        if (*end != ',')
            return -1;
        text = end + 1;
    }
}
