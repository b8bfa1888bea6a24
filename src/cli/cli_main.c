/* Entry of the `halka` command: finds the verb, takes its words apart, runs it, and makes sure that what was printed
 * arrived. */
#include <errno.h>

#include "cli/cli.h"

int cli_unknown_verb(int argc, char **argv)
{
    const char *names[64];
    char firsts[32][32]; /* the first words, too: "modle" is near to "model" */
    int count = 0, verbs = 0;
    bool is_group = false;
    size_t length = strlen(argv[0]);
    for (const cli_verb *verb = cli_verbs; verb->name && verbs < 32; verb++) {
        snprintf(firsts[verbs], sizeof firsts[verbs], "%.*s", (int)strcspn(verb->name, " "), verb->name);
        names[count++] = firsts[verbs++];
        names[count++] = verb->name;
        is_group |= !strncmp(verb->name, argv[0], length) && verb->name[length] == ' ';
    }
    if (is_group && argc < 2) {
        cli_help_group(stdout, argv[0]);
        return 0;
    }
    char words[256];
    snprintf(words, sizeof words, "%s%s%s", argv[0], is_group ? " " : "", is_group ? argv[1] : "");
    if (is_group && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        cli_help_group(stdout, argv[0]);
        return 0;
    }
    const char *nearest = cli_nearest(words, names, count);
    return cli_error(HK_INVALID_ARGUMENT, "there is no verb '%s'%s%s%s", words, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "; `halka help` lists them");
}

static int run(int argc, char **argv)
{
    if (argc < 1 || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        cli_help_overview(argc < 1 ? stderr : stdout);
        return argc < 1 ? hk_code_exit(HK_INVALID_ARGUMENT) : 0;
    }
    if (!strcmp(argv[0], "--version"))
        argv[0] = "version";
    int words;
    const cli_verb *verb = cli_verb_find(argc, argv, &words);
    if (!verb)
        return cli_unknown_verb(argc, argv);
    cli_call call;
    int code = cli_parse(&call, verb, argc - words, argv + words);
    if (!code) {
        if (cli_has(&call, "help"))
            cli_help_verb(stdout, verb);
        else
            code = verb->run(&call);
    }
    cli_call_free(&call);
    return code;
}

int main(int argc, char **argv)
{
    int code = run(argc - 1, argv + 1);
    bool failed = ferror(stdout);
    if ((fflush(stdout) || failed) && errno != EPIPE && !code)
        code = cli_error(HK_IO, "standard output: %s", strerror(errno));
    return code;
}
