/* halka help, version, completion: what the command says about itself. */
#include "cli/cli.h"
#include "halka/info.h"

static void json_verb(const cli_verb *verb)
{
    json_open(NULL, '{');
    json_text("name", verb->name);
    json_text("line", verb->line);
    json_open("arguments", '[');
    for (const cli_argument *a = verb->arguments; a && a->name; a++) {
        json_open(NULL, '{');
        json_text("name", a->name);
        json_bool("optional", a->optional);
        json_bool("repeats", a->repeats);
        json_text("doc", a->doc);
        json_close();
    }
    json_close();
    json_open("options", '[');
    const cli_option *tables[4];
    cli_option_tables(tables, verb);
    for (int t = 0; tables[t]; t++)
        for (const cli_option *option = tables[t]; option->name; option++) {
            json_open(NULL, '{');
            json_text("name", option->name);
            json_text("value", option->value);
            json_text("doc", option->doc);
            json_close();
        }
    json_close();
    json_close();
}

int cmd_help(cli_call *call)
{
    if (call->json) {
        json_open(NULL, '[');
        for (const cli_verb *verb = cli_verbs; verb->name; verb++)
            json_verb(verb);
        json_close();
        return 0;
    }
    if (cli_has(call, "man")) {
        cli_man_page(stdout);
        return 0;
    }
    if (!call->argument_count) {
        cli_help_overview(stdout);
        return 0;
    }
    int words;
    const cli_verb *verb = cli_verb_find(call->argument_count, (char **)call->arguments, &words);
    if (verb) {
        cli_help_verb(stdout, verb);
        return 0;
    }
    return cli_unknown_verb(call->argument_count, (char **)call->arguments);
}

int cmd_version(cli_call *call)
{
    if (call->json) {
        json_open(NULL, '{');
        json_text("version", hk_version());
        json_close();
    } else {
        printf("halka %s\n", hk_version());
    }
    return 0;
}

int cmd_completion(cli_call *call)
{
    if (!cli_completion(stdout, cli_argument_at(call, 0)))
        return cli_error(HK_INVALID_ARGUMENT, "completion for bash, zsh or fish, not '%s'", cli_argument_at(call, 0));
    return 0;
}
