/* The command: verbs, their options, what a call of one looks like, and how it speaks.
 *
 * A verb is one row of the table in cli_verbs.c and one file cmd_VERB.c. From the row's tables come parsing, --help,
 * the man page and the shell completions. Only public headers (halka/...) are used in this folder: the command is the
 * first user of the library. */
#ifndef HKI_CLI_CLI_H
#define HKI_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halka/session.h"

typedef enum cli_kind {
    CLI_FLAG,
    CLI_TEXT,
    CLI_INTEGER, /* >= 0 */
    CLI_NUMBER,
    CLI_DIMS, /* text, checked by whoever reads it: 1x3x224x224 */
} cli_kind;

/** An option. `value` is its placeholder in the help; FILE, DIR and what ends so complete to paths, a|b|c to these
 * words. */
typedef struct cli_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* 0: none */
    cli_kind kind;
    const char *value;
    const char *doc;
} cli_option;

/** A positional argument; the last may repeat. Optional ones come last. */
typedef struct cli_argument {
    const char *name; /* as shown: "MODEL"; NULL ends a table */
    bool optional, repeats;
    const char *doc;
    const char
        *words; /* what completes it: NULL for files, "a|b", "@op" or "@architecture" for names the library knows */
} cli_argument;

struct cli_call;

typedef struct cli_verb {
    const char *name;                  /* one or two words: "model create" */
    int (*run)(struct cli_call *call); /* returns the exit code */
    const char *line;                  /* what it does, in one line */
    const cli_argument *arguments;
    const cli_option *options;
    bool computes;        /* takes --threads and --isa too */
    const char *examples; /* lines; those that begin with # explain */
} cli_verb;

typedef struct cli_given {
    const cli_option *option;
    const char *text;
    int64_t integer;
    double number;
} cli_given;

/** A command line, taken apart. */
typedef struct cli_call {
    const cli_verb *verb;
    const char **arguments;
    int argument_count;
    cli_given *given;
    int given_count;
    bool json;
} cli_call;

/* ---- The table. ---- */
extern const cli_verb cli_verbs[]; /* ends with name NULL */
extern const cli_option cli_common_options[], cli_compute_options[];
/** Returns the option tables of a verb, ended by NULL. */
void cli_option_tables(const cli_option *out[4], const cli_verb *verb);
/** Finds the verb whose words begin argv; *out_words is how many they are. NULL if there is none. */
const cli_verb *cli_verb_find(int argc, char **argv, int *out_words);

/** Answers words that begin no verb: lists the verbs of a group ("model" alone), or reports an error with the nearest
 * name. Returns the exit code. */
int cli_unknown_verb(int argc, char **argv);

/* ---- Reading a call. ---- */
/** Takes the words after the verb apart. Returns 0, or an exit code after an error message. `call` is freed with
 * cli_call_free. */
int cli_parse(cli_call *call, const cli_verb *verb, int argc, char **argv);
void cli_call_free(cli_call *call);
bool cli_has(const cli_call *call, const char *option);
/** Returns the (last) value given, or the fallback. */
const char *cli_text(const cli_call *call, const char *option, const char *fallback);
int64_t cli_integer(const cli_call *call, const char *option, int64_t fallback);
double cli_number(const cli_call *call, const char *option, double fallback);
/** Returns the index-th value of an option that may be given several times; NULL after the last. */
const char *cli_nth(const cli_call *call, const char *option, int index);
/** Returns argument `index` or NULL. */
const char *cli_argument_at(const cli_call *call, int index);
/** Session options from --threads and --isa. */
hk_session_options cli_session_options(const cli_call *call);
/** Reads "1x3x224x224" (or 1,3,224,224; "" and "scalar": rank 0). Returns the rank, -1 if it is none. */
int cli_dims(int64_t dims[HK_MAX_RANK], const char *text);
/** Reads a list of numbers "0.4,0.5". Returns how many, -1 if it is none or over the capacity. */
int cli_numbers(double *out, int capacity, const char *text);
/** Returns the name nearest to `name`, NULL if none is near. */
const char *cli_nearest(const char *name, const char *const *names, int count);

/* ---- Models and tensors. ---- */
/** Counts what training changes: float initializers of rank >= 1 without running statistics and "preprocess.*". */
int64_t cli_parameter_count(const hk_graph *graph);
/** Reads "NAME=1x3x224x224"; without NAME the first input is meant. Returns 0 or an exit code after a message. */
int cli_shape_option(int *out_index, int *out_rank, int64_t dims[HK_MAX_RANK], const hk_graph *graph, const char *text);
/** Finds a graph input by name; -1 after a message that has the nearest name. */
int cli_input_find(const hk_graph *graph, const char *name);
/** Makes one tensor per graph input from -i, --shape and --random (NULL where a default serves). Returns 0, or an exit
 * code after a message. In both cases cli_inputs_free is due. */
int cli_inputs_load(hk_tensor ***out, const hk_graph *graph, const cli_call *call);
void cli_inputs_free(hk_tensor **inputs, const hk_graph *graph);
/** Reads an element of any numeric type. */
double cli_element(const hk_tensor *tensor, int64_t index);
/** Loads a tensor from a file: .npy, .pb, IDX (.gz too); "FILE:ROW" takes one row of it. *out_is_image:
 * pixels H x W x C. */
int cli_tensor_load(hk_tensor **out, bool *out_is_image, const char *text);
/** Class names, one per line. */
typedef struct cli_labels {
    char *text;
    const char **names;
    int count;
} cli_labels;
/** Takes labels from --labels FILE, else from the model's metadata "halka.labels"; none is fine. */
int cli_labels_load(cli_labels *out, const hk_graph *graph, const cli_call *call);
void cli_labels_free(cli_labels *labels);
/** Shows or saves the outputs of a run. */
int cli_outputs_show(const cli_call *call, const hk_graph *graph, hk_tensor *const *outputs, const cli_labels *labels);
int cli_outputs_save(const cli_call *call, const hk_graph *graph, hk_tensor *const *outputs, const char *folder);

/* ---- Help, man page, completions. ---- */
void cli_help_verb(FILE *to, const cli_verb *verb);
void cli_help_overview(FILE *to);
void cli_help_group(FILE *to, const char *word); /* "model": all verbs that begin so */
void cli_man_page(FILE *to);
/** False if the shell is not known. */
bool cli_completion(FILE *to, const char *shell);

/* ---- Speaking. ---- */
/** Writes "halka: ..." to stderr and returns the exit code of the class of failure. */
int cli_error(hk_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** As cli_error with a status, which it frees; 0 for NULL. */
int cli_status(hk_status status);
int cli_no_memory(void);
#define CLI_TRY(expr)                                                                                                  \
    do {                                                                                                               \
        hk_status cli_try_status_ = (expr);                                                                            \
        if (cli_try_status_)                                                                                           \
            return cli_status(cli_try_status_);                                                                        \
    } while (0)

/* JSON to stdout: objects and lists nest; key NULL inside a list. Numbers that are not finite become null. */
void json_open(const char *key, char bracket);
void json_close(void);
void json_text(const char *key, const char *value); /* NULL: null */
void json_integer(const char *key, int64_t value);
void json_number(const char *key, double value);
void json_bool(const char *key, bool value);
void json_dims(const char *key, int rank, const int64_t *dims);

/** Formats bytes as "12.3 MiB" into a ring of static buffers. */
const char *cli_bytes(double bytes);
/** Formats 11689512 as "11,689,512" into a ring of static buffers. */
const char *cli_grouped(int64_t number);
/** Formats a number of operations as "3.64 G" into a ring of static buffers. */
const char *cli_scaled(double number);
/** Formats the type of a value: "float32[N,3,224,224]". */
const char *cli_type(const hk_graph *graph, const hk_value *value);
const char *cli_tensor_type(const hk_tensor *tensor);

/* ---- The verbs. ---- */
int cmd_completion(cli_call *call);
int cmd_eval(cli_call *call);
int cmd_help(cli_call *call);
int cmd_info(cli_call *call);
int cmd_inspect(cli_call *call);
int cmd_model_create(cli_call *call);
int cmd_model_list(cli_call *call);
int cmd_op(cli_call *call);
int cmd_run(cli_call *call);
int cmd_train(cli_call *call);
int cmd_version(cli_call *call);

#endif
