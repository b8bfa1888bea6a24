/* The table of verbs: their arguments, options and examples. What stands here is the help, the man page and the
 * completions. */
#include "cli/cli.h"

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, CLI_FLAG, NULL, NULL                                                                                  \
    }
#define END_ARGUMENTS                                                                                                  \
    {                                                                                                                  \
        NULL, false, false, NULL, NULL                                                                                 \
    }

static const cli_argument train_arguments[] = {{"RUN", false, false, "run file (JSON)", NULL}, END_ARGUMENTS};
static const cli_option train_options[] = {
    {"resume", 0, CLI_FLAG, NULL, "go on from the newest checkpoint in the run's folder; ends in the same bytes"},
    {"set", 0, CLI_TEXT, "KEY=VALUE",
     "override a key of the run file, such as optimizer.params.lr=0.01; may be repeated"},
    {"quiet", 'q', CLI_FLAG, NULL, "show the result only"},
    END,
};
static const char train_examples[] = "# train; Ctrl-C saves and stops\n"
                                     "halka train run.json\n"
                                     "halka train run.json --resume\n"
                                     "# try another learning rate, in a run folder of its own\n"
                                     "halka train run.json --set optimizer.params.lr=0.01 --set name=faster\n";

static const cli_argument model_arguments[] = {{"MODEL", false, false, "ONNX file", NULL}, END_ARGUMENTS};
static const cli_option eval_options[] = {
    {"data", 'd', CLI_TEXT, "FILE", "run file whose data block is used, or JSON with such a block"},
    {"split", 0, CLI_TEXT, "train|validation|test", "which part of the data (default: test)"},
    {"labels", 0, CLI_TEXT, "FILE", "class names, one per line (default: those in the model)"},
    END,
};
static const char eval_examples[] =
    "halka eval runs/fashion/model.onnx --data run.json\n"
    "halka eval model.onnx --data '{\"data\": {\"test\": {\"csv\": \"new.csv\", \"label\": \"class\"}}}' --json\n";

static const cli_option run_options[] = {
    {"input", 'i', CLI_TEXT, "[NAME=]FILE",
     "input from .npy, .pb (ONNX tensor), IDX (.gz too), .png or .jpg; FILE:7 "
     "is row 7 of it; without NAME, the next input; may be repeated"},
    {"shape", 's', CLI_TEXT, "[NAME=]DIMS", "random input of these dims, such as 1x3x224x224; may be repeated"},
    {"random", 0, CLI_FLAG, NULL, "random numbers for all inputs not given, with the declared dims (1 where unknown)"},
    {"seed", 0, CLI_INTEGER, "N", "of random inputs and random operators (default: 0)"},
    {"scale", 0, CLI_NUMBER, "X", "divide pixels by X, for models that take float32"},
    {"mean", 0, CLI_TEXT, "X,...", "then subtract this, one for all channels or one each"},
    {"deviation", 0, CLI_TEXT, "X,...", "then divide by this"},
    {"output", 'o', CLI_TEXT, "DIR", "save the outputs as DIR/NAME.npy"},
    {"format", 0, CLI_TEXT, "npy|pb|txt", "of saved outputs (default: npy)"},
    {"top", 'k', CLI_INTEGER, "K", "show the K largest of each row (default: 3 if class names are known)"},
    {"labels", 0, CLI_TEXT, "FILE", "class names, one per line (default: those in the model)"},
    {"repeat", 0, CLI_INTEGER, "N", "run N times more and show the median time"},
    {"profile", 0, CLI_TEXT, "FILE", "measure each operator; write a Chrome trace"},
    END,
};
static const char run_examples[] = "# which class is test image 7?\n"
                                   "halka run runs/fashion/model.onnx -i t10k-images-idx3-ubyte.gz:7\n"
                                   "# a photo, on a model that wants normalised floats\n"
                                   "halka run resnet18.onnx -i cat.jpg --scale 255 --mean 0.485,0.456,0.406 \\\n"
                                   "    --deviation 0.229,0.224,0.225 --top 5 --labels imagenet.txt\n"
                                   "# where does the time go?\n"
                                   "halka run resnet18.onnx --shape 1x3x224x224 --repeat 20 --profile trace.json\n";

static const cli_option inspect_options[] = {
    {"shape", 's', CLI_TEXT, "[NAME=]DIMS", "plan for these dims of an input (default: as declared, 1 where unknown)"},
    {"nodes", 'n', CLI_FLAG, NULL, "list all nodes with the shapes of their outputs"},
    {"parameters", 'p', CLI_FLAG, NULL, "list all initializers"},
    {"no-plan", 0, CLI_FLAG, NULL, "look at the file only: no memory plan, no count of operations"},
    END,
};
static const char inspect_examples[] = "halka inspect resnet18.onnx\n"
                                       "# memory and operations of a batch of 8\n"
                                       "halka inspect resnet18.onnx --shape input=8x3x224x224\n";

static const cli_argument create_arguments[] = {
    {"NAME", false, false, "architecture; `halka model list` names them", "@architecture"}, END_ARGUMENTS};
static const cli_option create_options[] = {
    {"output", 'o', CLI_TEXT, "FILE", "where to write the model (.onnx)"},
    {"classes", 0, CLI_INTEGER, "N", "number of classes"},
    {"sample", 0, CLI_TEXT, "CxHxW", "channels, height and width of a sample, such as 3x32x32"},
    {"input", 0, CLI_TEXT, "TYPE:LAYOUT",
     "how samples are stored: uint8 or float32, then CHW, HWC, HW or (mlp) VECTOR"},
    {"scale", 0, CLI_NUMBER, "X", "the model divides its input by X (default: 255 for uint8, else 1)"},
    {"mean", 0, CLI_TEXT, "X,...", "then subtracts this, one for all channels or one each"},
    {"deviation", 0, CLI_TEXT, "X,...", "then divides by this"},
    {"widths", 0, CLI_TEXT, "N,...", "mlp: hidden layers; cnn: channels of each stage"},
    {"width", 0, CLI_NUMBER, "X", "cnn, mobilenetv2: multiplies all channel counts"},
    {"dropout", 0, CLI_NUMBER, "P", "ratio of dropout; 0 leaves it out (default: the architecture's own)"},
    {"probabilities", 0, CLI_FLAG, NULL, "add the output \"probabilities\""},
    {"seed", 0, CLI_INTEGER, "N", "of the initial weights (default: 0)"},
    END,
};
static const char create_examples[] =
    "halka model create resnet18 -o resnet18.onnx\n"
    "# a network for 28x28 bytes of one channel, ten classes, that normalises its input itself\n"
    "halka model create cnn --input uint8:HW --mean 0.286 --deviation 0.353 --classes 10 -o cnn.onnx\n"
    "# thirteen features, three hidden layers\n"
    "halka model create mlp --input float32:VECTOR --sample 13 --widths 64,64,32 --classes 3 -o mlp.onnx\n";

static const cli_argument op_arguments[] = {{"NAME", true, false, "operator; without it, the table", "@op"},
                                            END_ARGUMENTS};
static const cli_option op_options[] = {
    {"all", 'a', CLI_FLAG, NULL, "halka's inner operators too; they never stand in an exported file"},
    END,
};
static const char op_examples[] = "halka op Conv\nhalka op --json\n";

static const cli_option info_options[] = {
    {"digest", 0, CLI_TEXT, "FILE",
     "print the SHA-256 of the weights in a model (.onnx) or checkpoint (.safetensors); may "
     "be repeated"},
    END,
};
static const char info_examples[] = "halka info\n"
                                    "# did two runs end in the same weights?\n"
                                    "halka info --digest a/model.onnx --digest b/model.onnx\n";

static const cli_argument help_arguments[] = {{"VERB", true, true, "what to explain", "@verb"}, END_ARGUMENTS};
static const cli_option help_options[] = {
    {"man", 0, CLI_FLAG, NULL, "print the man page"},
    END,
};
static const cli_argument completion_arguments[] = {{"SHELL", false, false, "bash, zsh or fish", "bash|zsh|fish"},
                                                    END_ARGUMENTS};
static const char completion_examples[] = "halka completion bash > ~/.local/share/bash-completion/completions/halka\n"
                                          "halka completion zsh > ~/.zfunc/_halka\n"
                                          "halka completion fish > ~/.config/fish/completions/halka.fish\n";

const cli_verb cli_verbs[] = {
    {"train", cmd_train, "train what a run file names: model, data, optimizer", train_arguments, train_options, true,
     train_examples},
    {"eval", cmd_eval, "measure a model on a data set", model_arguments, eval_options, true, eval_examples},
    {"run", cmd_run, "run a model on inputs; show or save its outputs", model_arguments, run_options, true,
     run_examples},
    {"inspect", cmd_inspect, "show what is in a model and what a run of it costs", model_arguments, inspect_options,
     true, inspect_examples},
    {"model create", cmd_model_create, "make a model with fresh weights from a built-in architecture", create_arguments,
     create_options, false, create_examples},
    {"model list", cmd_model_list, "list the built-in architectures", NULL, NULL, false, NULL},
    {"op", cmd_op, "show the operators: opsets, types, gradients", op_arguments, op_options, false, op_examples},
    {"info", cmd_info, "show version, machine and features; digest weights", NULL, info_options, false, info_examples},
    {"completion", cmd_completion, "print a completion script for a shell", completion_arguments, NULL, false,
     completion_examples},
    {"help", cmd_help, "explain a verb", help_arguments, help_options, false,
     "halka help run\nhalka help --man | man -l -\n"},
    {"version", cmd_version, "print the version", NULL, NULL, false, NULL},
    {NULL, NULL, NULL, NULL, NULL, false, NULL},
};

const cli_verb *cli_verb_find(int argc, char **argv, int *out_words)
{
    for (const cli_verb *verb = cli_verbs; verb->name && argc > 0; verb++) {
        const char *second = strchr(verb->name, ' ');
        size_t first = second ? (size_t)(second - verb->name) : strlen(verb->name);
        if (strlen(argv[0]) != first || strncmp(argv[0], verb->name, first))
            continue;
        if (second && (argc < 2 || strcmp(argv[1], second + 1)))
            continue;
        *out_words = second ? 2 : 1;
        return verb;
    }
    return NULL;
}
