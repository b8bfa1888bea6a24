/* Help on a terminal and the man page, both from the tables of the verbs. */
#include "cli/cli.h"
#include "halka/info.h"

static const char summary[] = "Train and run ONNX models. The bytes of trained weights do not depend on threads, "
                              "instruction set or interruptions.";

/* Prints text from column `column` on, wrapped at 80, going back to `indent`. */
static void wrap(FILE *to, const char *text, int column, int indent)
{
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > 80) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    fputc('\n', to);
}

static void row(FILE *to, const char *head, const char *doc, int indent)
{
    int column = fprintf(to, "  %s", head);
    if (column > indent - 2) {
        fputc('\n', to);
        column = 0;
    }
    fprintf(to, "%*s", indent - column, "");
    wrap(to, doc, indent, indent);
}

static void usage(FILE *to, const cli_verb *verb)
{
    fprintf(to, "halka %s", verb->name);
    for (const cli_argument *a = verb->arguments; a && a->name; a++)
        fprintf(to, " %s%s%s%s", a->optional ? "[" : "", a->name, a->repeats ? "..." : "", a->optional ? "]" : "");
    fputs(" [OPTION...]", to);
}

/* "-o, --output DIR" */
static void option_head(char *out, size_t size, const cli_option *option)
{
    char letter[8] = "";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(out, size, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
             option->value ? option->value : "");
}

void cli_help_verb(FILE *to, const cli_verb *verb)
{
    fprintf(to, "halka %s: ", verb->name);
    wrap(to, verb->line, 8 + (int)strlen(verb->name), 2);
    fputs("\nUsage: ", to);
    usage(to, verb);
    fputs("\n\n", to);
    for (const cli_argument *a = verb->arguments; a && a->name; a++)
        row(to, a->name, a->doc, 26);
    const cli_option *tables[4];
    cli_option_tables(tables, verb);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++) {
            char head[80];
            option_head(head, sizeof head, option);
            row(to, head, option->doc, 26);
        }
    if (!verb->examples)
        return;
    fputs("\nExamples:\n", to);
    for (const char *line = verb->examples; *line; line += strcspn(line, "\n"), line += *line == '\n')
        fprintf(to, "  %.*s\n", (int)strcspn(line, "\n"), line);
}

void cli_help_overview(FILE *to)
{
    fputs("halka: ", to);
    wrap(to, summary, 7, 0);
    fputs("\nUsage: halka VERB [ARGUMENT...] [OPTION...]\n\n", to);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        row(to, verb->name, verb->line, 18);
    fputs("\n`halka VERB --help` explains a verb, with examples.\n", to);
}

void cli_help_group(FILE *to, const char *word)
{
    size_t length = strlen(word);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        if (!strncmp(verb->name, word, length) && verb->name[length] == ' ')
            row(to, verb->name, verb->line, 18);
    fprintf(to, "\n`halka %s ... --help` explains one, with examples.\n", word);
}

/* ---- The man page. ---- */

/* Text with what troff would take for itself escaped. */
static void man_text(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '`' || *text == '\'')
            fputs(*text == '`' ? "\\(ga" : "\\(aq", to);
        else
            fputc(*text, to);
    }
    fputc('\n', to);
}

static void man_option(FILE *to, const cli_option *option)
{
    char head[80];
    option_head(head, sizeof head, option);
    fputs(".TP\n.B ", to);
    man_text(to, head);
    man_text(to, option->doc);
}

static void man_verb(FILE *to, const cli_verb *verb)
{
    fprintf(to, ".SS halka %s\n", verb->name);
    man_text(to, verb->line);
    for (const cli_argument *a = verb->arguments; a && a->name; a++) {
        fputs(".TP\n.I ", to);
        man_text(to, a->name);
        man_text(to, a->doc);
    }
    for (const cli_option *option = verb->options; option && option->name; option++)
        man_option(to, option);
    if (!verb->examples)
        return;
    fputs(".PP\n.nf\n", to);
    for (const char *line = verb->examples; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        man_text(to, text);
    }
    fputs(".fi\n", to);
}

void cli_man_page(FILE *to)
{
    fprintf(to, ".TH HALKA 1 \"\" \"halka %s\" \"User commands\"\n.SH NAME\nhalka \\- train and run ONNX models\n",
            hk_version());
    fputs(".SH SYNOPSIS\n.B halka\n.I VERB\n[\\fIARGUMENT\\fR...] [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n", to);
    man_text(to, summary);
    fputs(".SH VERBS\n", to);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        man_verb(to, verb);
    fputs(".SH OPTIONS OF ALL VERBS THAT COMPUTE\n", to);
    for (const cli_option *option = cli_compute_options; option->name; option++)
        man_option(to, option);
    fputs(".SH OPTIONS OF ALL VERBS\n", to);
    for (const cli_option *option = cli_common_options; option->name; option++)
        man_option(to, option);
    fputs(".SH EXIT STATUS\n", to);
#define MAN_CODE(name, exit, text) fprintf(to, ".TP\n.B %d\n%s\n", exit, text);
    HK_CODES(MAN_CODE)
#undef MAN_CODE
    fputs(
        ".SH ENVIRONMENT\n.TP\n.B HALKA_ISA\nThe instruction set to use: c, avx2 or avx512. It changes speed, never a "
        "result.\n",
        to);
}
