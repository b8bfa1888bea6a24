/* halka info: version, machine, features; and digests of weights. */
#include "cli/cli.h"
#include "halka/architecture.h"
#include "halka/digest.h"
#include "halka/info.h"
#include "halka/op.h"

static void info_json(const hk_machine *machine)
{
    json_open(NULL, '{');
    json_text("version", hk_version());
    json_text("cpu", machine->cpu);
    json_text("isa", machine->isa);
    json_open("isas", '[');
    for (int i = 0; machine->isas[i]; i++)
        json_text(NULL, machine->isas[i]);
    json_close();
    json_integer("threads", machine->threads);
    json_integer("memory", (int64_t)machine->memory);
    json_integer("peak_memory", (int64_t)machine->peak_memory);
    json_open("features", '{');
    for (int i = 0; i < hk_feature_count(); i++)
        json_bool(hk_feature_at(i)->name, hk_feature_at(i)->is_enabled);
    json_close();
    json_integer("operators", hk_op_count());
    json_integer("architectures", hk_architecture_count());
    json_close();
}

static void info_text(const hk_machine *machine)
{
    printf("halka          %s\n", hk_version());
    printf("processor      %s\n", machine->cpu);
    printf("instructions   %s (here:", machine->isa);
    for (int i = 0; machine->isas[i]; i++)
        printf(" %s", machine->isas[i]);
    printf("; HALKA_ISA chooses, results are the same)\n");
    printf("threads        %d\n", machine->threads);
    printf("memory         %s\n", cli_bytes((double)machine->memory));
    for (int i = 0; i < hk_feature_count(); i++) {
        const hk_feature *feature = hk_feature_at(i);
        printf("%-14s %s: %s", feature->name, feature->is_enabled ? "yes" : "no", feature->doc);
        if (!feature->is_enabled)
            printf(" (install %s and build again)", feature->package);
        putchar('\n');
    }
    printf("operators      %d (halka op)\n", hk_op_count());
    printf("architectures  %d (halka model list)\n", hk_architecture_count());
}

static int digests(cli_call *call)
{
    const char *path;
    if (call->json)
        json_open(NULL, '[');
    for (int i = 0; (path = cli_nth(call, "digest", i)); i++) {
        hk_digest digest;
        CLI_TRY(hk_digest_file(&digest, path));
        if (!call->json) {
            printf("%s  %s\n", digest.text, path);
            continue;
        }
        json_open(NULL, '{');
        json_text("file", path);
        json_text("sha256", digest.text);
        json_integer("tensors", digest.tensors);
        json_integer("bytes", (int64_t)digest.bytes);
        json_close();
    }
    if (call->json)
        json_close();
    return 0;
}

int cmd_info(cli_call *call)
{
    if (cli_has(call, "digest"))
        return digests(call);
    hk_machine machine;
    CLI_TRY(hk_machine_describe(&machine));
    if (call->json)
        info_json(&machine);
    else
        info_text(&machine);
    return 0;
}
