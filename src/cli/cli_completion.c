/* Shell completions for bash, zsh and fish, from the tables of the verbs. Names of operators and architectures are
 * those of the library that prints the script. */
#include "cli/cli.h"
#include "halka/architecture.h"
#include "halka/op.h"

/* What follows `spec`: words, or NULL for files. Returns false if files. */
static bool words(FILE *to, const char *spec)
{
    if (!spec)
        return false;
    if (!strcmp(spec, "@op")) {
        for (int i = 0; i < hk_op_count(); i++)
            if (!*hk_op_domain(hk_op_at(i)))
                fprintf(to, " %s", hk_op_name(hk_op_at(i)));
    } else if (!strcmp(spec, "@architecture")) {
        for (int i = 0; i < hk_architecture_count(); i++)
            fprintf(to, " %s", hk_architecture_at(i)->name);
    } else if (!strcmp(spec, "@verb")) {
        for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
            size_t length = strcspn(verb->name, " ");
            if (verb == cli_verbs || strncmp(verb[-1].name, verb->name, length + 1)) /* "model" once */
                fprintf(to, " %.*s", (int)length, verb->name);
        }
    } else {
        for (; *spec; spec++)
            fputc(*spec == '|' ? ' ' : *spec, to);
    }
    return true;
}

static bool takes_file(const cli_option *option)
{
    size_t length = option->value ? strlen(option->value) : 0;
    return (length >= 4 && !strcmp(option->value + length - 4, "FILE")) ||
           (length >= 3 && !strcmp(option->value + length - 3, "DIR"));
}

/* ---- bash: a case over "verb", then over the word before the cursor. ---- */

static void bash_values(FILE *to, const cli_verb *verb)
{
    const cli_option *tables[4];
    cli_option_tables(tables, verb);
    fputs("            case $prev in\n", to);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++) {
            if (option->kind == CLI_FLAG)
                continue;
            fputs("                ", to);
            if (option->letter)
                fprintf(to, "-%c|", option->letter);
            fprintf(to, "--%s) ", option->name);
            if (takes_file(option))
                fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", to);
            else if (option->value && strchr(option->value, '|')) {
                fputs("COMPREPLY=($(compgen -W '", to);
                words(to, option->value);
                fputs("' -- \"$cur\"))", to);
            } else
                fputs(":", to);
            fputs("; return ;;\n", to);
        }
    fputs("            esac\n            options='", to);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++)
            fprintf(to, "--%s ", option->name);
    fputs("'\n            names='", to);
    for (const cli_argument *a = verb->arguments; a && a->name; a++)
        words(to, a->words);
    fputs("' ;;\n", to);
}

static void bash(FILE *to)
{
    fputs("# bash completion for halka; made by `halka completion bash`\n_halka() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local verb=${COMP_WORDS[1]} options= names=\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '",
          to);
    words(to, "@verb");
    fputs("' -- \"$cur\"))\n        return\n    fi\n", to);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        const char *second = strchr(verb->name, ' ');
        if (second)
            fprintf(to,
                    "    if [ \"$verb\" = %.*s ] && [ \"$COMP_CWORD\" -eq 2 ]; then COMPREPLY+=($(compgen -W %s -- "
                    "\"$cur\")); fi\n",
                    (int)(second - verb->name), verb->name, second + 1);
    }
    fputs("    case \"$verb ${COMP_WORDS[2]}\" in\n", to);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        fprintf(to, "        \"%s%s\"*)\n", verb->name, strchr(verb->name, ' ') ? "" : " ");
        bash_values(to, verb);
    }
    fputs("    esac\n    case $cur in\n        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
          "        *) [ -n \"$names\" ] && COMPREPLY+=($(compgen -W \"$names\" -- \"$cur\"))\n"
          "           [ -z \"$names\" ] && [ \"$COMP_CWORD\" -gt 1 ] && [ ${#COMPREPLY[@]} -eq 0 ] &&\n"
          "               COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
          "complete -o filenames -F _halka halka\n",
          to);
}

/* ---- zsh uses bash's function; fish has lines of its own. ---- */

static void zsh(FILE *to)
{
    fputs("#compdef halka\n# zsh completion for halka; made by `halka completion zsh`\n"
          "autoload -Uz bashcompinit && bashcompinit\n",
          to);
    bash(to);
}

static void fish_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

static void fish_option(FILE *to, const cli_verb *verb, const cli_option *option)
{
    fprintf(to, "complete -c halka -n '__halka_verb %s' -l %s", verb->name, option->name);
    if (option->letter)
        fprintf(to, " -s %c", option->letter);
    if (option->kind != CLI_FLAG)
        fputs(takes_file(option) ? " -r -F" : " -x", to);
    if (option->value && strchr(option->value, '|')) {
        fputs(" -a '", to);
        words(to, option->value);
        fputs("'", to);
    }
    fputs(" -d ", to);
    fish_quoted(to, option->doc);
    fputc('\n', to);
}

static void fish(FILE *to)
{
    fputs("# fish completion for halka; made by `halka completion fish`\n"
          "function __halka_verb\n    set -l words (commandline -opc)\n    set -e words[1]\n"
          "    test (count $words) -ge (count $argv); or return 1\n"
          "    for i in (seq (count $argv))\n        test $words[$i] = $argv[$i]; or return 1\n    end\nend\n",
          to);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        const char *second = strchr(verb->name, ' ');
        int first = second ? (int)(second - verb->name) : (int)strlen(verb->name);
        if (second)
            fprintf(to,
                    "complete -c halka -f -n '__halka_verb %.*s; and test (count (commandline -opc)) -eq 2' -a %s -d ",
                    first, verb->name, second + 1);
        else
            fprintf(to, "complete -c halka -f -n __fish_use_subcommand -a %s -d ", verb->name);
        fish_quoted(to, verb->line);
        fputc('\n', to);
        if (second && strncmp(verb[1].name ? verb[1].name : "", verb->name, (size_t)first + 1))
            fprintf(to, "complete -c halka -f -n __fish_use_subcommand -a %.*s\n", first, verb->name);
        const cli_option *tables[4];
        cli_option_tables(tables, verb);
        for (int t = 0; tables[t]; t++)
            for (const cli_option *option = tables[t]; option->name; option++)
                fish_option(to, verb, option);
        for (const cli_argument *a = verb->arguments; a && a->name; a++)
            if (a->words) {
                fprintf(to, "complete -c halka -f -n '__halka_verb %s' -a '", verb->name);
                words(to, a->words);
                fputs("'\n", to);
            }
    }
}

bool cli_completion(FILE *to, const char *shell)
{
    if (!strcmp(shell, "bash"))
        bash(to);
    else if (!strcmp(shell, "zsh"))
        zsh(to);
    else if (!strcmp(shell, "fish"))
        fish(to);
    else
        return false;
    return true;
}
