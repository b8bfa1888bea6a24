/* Checkpoints. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/decimal.h"
#include "formats/safetensors.h"

#define PREFIX "step-"
#define SUFFIX ".safetensors"

/* ---- Names: "model.<parameter>", "state.<statistic>", "optimizer.<kind>.<parameter>". ---- */

typedef struct list {
    hki_arena *arena;
    hki_named_tensor *entries; /* each over a tensor of `tensors` */
    hk_tensor *tensors;        /* over the trainer's arrays */
    int count;
} list;

static hk_status add_space(list *l, const char *prefix, const hki_space *space, const float *array)
{
    for (int i = 0; i < space->count; i++) {
        const hki_segment *segment = &space->segments[i];
        char *name = hki_arena_printf(l->arena, "%s.%s", prefix, segment->name);
        if (!name)
            return hki_out_of_memory();
        hk_tensor *tensor = &l->tensors[l->count];
        *tensor =
            (hk_tensor){.data = (void *)(uintptr_t)(array + segment->offset), .dtype = HK_FLOAT, .rank = segment->rank};
        memcpy(tensor->dims, segment->dims, sizeof tensor->dims);
        l->entries[l->count++] = (hki_named_tensor){name, tensor};
    }
    return NULL;
}

static hk_status list_tensors(list *l, const hk_trainer *t)
{
    size_t most = (size_t)(t->graph.parameters.count * (1 + HKI_OPTIMIZER_STATES) + t->graph.states.count);
    l->tensors = hki_arena_array(l->arena, most + 1, sizeof *l->tensors);
    l->entries = hki_arena_array(l->arena, most + 1, sizeof *l->entries);
    if (!l->tensors || !l->entries)
        return hki_out_of_memory();
    HK_TRY(add_space(l, "model", &t->graph.parameters, t->parameters));
    HK_TRY(add_space(l, "state", &t->graph.states, t->states));
    for (int i = 0; i < HKI_OPTIMIZER_STATES; i++) {
        const char *kind = hki_optimizer_state_name(&t->optimizer, i);
        char *prefix = kind ? hki_arena_printf(l->arena, "optimizer.%s", kind) : NULL;
        if (kind && !prefix)
            return hki_out_of_memory();
        if (kind)
            HK_TRY(add_space(l, prefix, &t->graph.parameters, t->optimizer.state[i]));
    }
    return NULL;
}

/* ---- Metadata: decimal text that reads back exactly. ---- */

static const char *decimal(hki_arena *arena, double value)
{
    char text[HKI_DECIMAL_TEXT];
    return hki_arena_strdup(arena, isnan(value) ? "nan" : hki_decimal_text(text, value));
}

#define METADATA 11

static hk_status list_metadata(hki_named_text *out, hki_arena *arena, const hk_trainer *t, const hki_run_state *state)
{
    hki_run_state none = {.step = t->steps, .best = NAN};
    state = state ? state : &none;
    const hki_named_text entries[METADATA] = {
        {"format", "halka checkpoint 1"},
        {"step", hki_arena_printf(arena, "%" PRId64, t->steps)},
        {"optimizer_steps", hki_arena_printf(arena, "%" PRId64, t->optimizer.steps)},
        {"best_epoch", hki_arena_printf(arena, "%" PRId64, state->best_epoch)},
        {"best", decimal(arena, state->best)},
        {"bad_epochs", hki_arena_printf(arena, "%" PRId64, state->bad_epochs)},
        {"seconds", decimal(arena, state->seconds)},
        {"epoch_samples", hki_arena_printf(arena, "%" PRId64, state->epoch_samples)},
        {"epoch_correct", hki_arena_printf(arena, "%" PRId64, state->epoch_correct)},
        {"epoch_loss", decimal(arena, state->epoch_loss)},
        {"config", t->config->effective},
    };
    for (int i = 0; i < METADATA; i++)
        if (!entries[i].value)
            return hki_out_of_memory();
    memcpy(out, entries, sizeof entries);
    return NULL;
}

hk_status hki_checkpoint_save(const char *path, const hk_trainer *trainer, const hki_run_state *state)
{
    list l = {0};
    HK_TRY(hki_arena_create(&l.arena));
    hki_named_text metadata[METADATA];
    hk_status status = list_tensors(&l, trainer);
    if (!status)
        status = list_metadata(metadata, l.arena, trainer, state);
    if (!status)
        status = hki_safetensors_save(path, l.entries, l.count, metadata, METADATA);
    hki_arena_free(l.arena);
    return status;
}

/* ---- Loading. ---- */

static hk_status check_tensor(const char *path, const hki_named_tensor *wanted, const hk_tensor *found)
{
    if (!found)
        return HK_ERR(HK_INVALID_FILE, "%s: no tensor '%s': not a checkpoint of this model and optimizer", path,
                      wanted->name);
    const hk_tensor *w = wanted->tensor;
    char a[HKI_SHAPE_TEXT], b[HKI_SHAPE_TEXT];
    if (found->dtype != w->dtype || !hki_shape_equal(found->rank, found->dims, w->rank, w->dims))
        return HK_ERR(HK_INVALID_FILE, "%s: tensor '%s' is %s, expected %s", path, wanted->name,
                      hki_shape_text(a, found->dtype, found->rank, found->dims),
                      hki_shape_text(b, w->dtype, w->rank, w->dims));
    return NULL;
}

/* Checks everything before anything is written. */
static hk_status load_tensors(const char *path, const list *l, const hki_safetensors *file)
{
    for (int i = 0; i < l->count; i++)
        HK_TRY(check_tensor(path, &l->entries[i], hki_safetensors_find(file, l->entries[i].name)));
    for (int i = 0; i < l->count; i++)
        memcpy(l->tensors[i].data, hki_safetensors_find(file, l->entries[i].name)->data,
               hk_tensor_size(&l->tensors[i]));
    return NULL;
}

static double read_decimal(const hki_safetensors *file, const char *key)
{
    const char *text = hki_safetensors_metadata(file, key);
    return text ? strtod(text, NULL) : NAN;
}

static int64_t read_int(const hki_safetensors *file, const char *key)
{
    const char *text = hki_safetensors_metadata(file, key);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* Lines of the effective config that cannot change what was trained so far. */
static bool is_free_line(const char *line)
{
    static const char *const keys[] = {"\"epochs\"", "\"max_steps\"", "\"workers\"", "\"steps_per_print\"", "\"every\"",
                                       "\"keep\"", "\"output\"", "\"name\"", "\"early_stopping\""};
    line += strspn(line, " ");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(line, keys[i], strlen(keys[i])))
            return true;
    return false;
}

static hk_status compare_configs(const char *path, const char *old, const char *new)
{
    while (old && *old && *new) {
        size_t a = strcspn(old, "\n"), b = strcspn(new, "\n");
        bool same = a == b && !strncmp(old, new, a);
        if (!same && !(is_free_line(old) && is_free_line(new)))
            return HK_ERR(HK_INVALID_CONFIG, "%s was made with another run file: there '%.*s', now '%.*s'", path,
                          (int)(a - strspn(old, " ")), old + strspn(old, " "), (int)(b - strspn(new, " ")),
                          new + strspn(new, " "));
        old += a + (old[a] == '\n');
        new += b + (new[b] == '\n');
    }
    return NULL;
}

static hk_status load_all(const char *path, list *l, const hki_safetensors *file, hk_trainer *t, hki_run_state *state,
                          bool same_config)
{
    if (same_config)
        HK_TRY(compare_configs(path, hki_safetensors_metadata(file, "config"), t->config->effective));
    HK_TRY(list_tensors(l, t));
    HK_TRY(load_tensors(path, l, file));
    t->steps = read_int(file, "step");
    t->optimizer.steps = read_int(file, "optimizer_steps");
    if (state)
        *state = (hki_run_state){.step = t->steps,
                                 .best_epoch = read_int(file, "best_epoch"),
                                 .best = read_decimal(file, "best"),
                                 .bad_epochs = read_int(file, "bad_epochs"),
                                 .seconds = read_decimal(file, "seconds"),
                                 .epoch_samples = read_int(file, "epoch_samples"),
                                 .epoch_correct = read_int(file, "epoch_correct"),
                                 .epoch_loss = read_decimal(file, "epoch_loss")};
    return NULL;
}

hk_status hki_checkpoint_load(const char *path, hk_trainer *trainer, hki_run_state *state, bool same_config)
{
    list l = {0};
    hki_safetensors *file;
    HK_TRY(hki_safetensors_open(&file, path));
    hk_status status = hki_arena_create(&l.arena);
    if (!status) {
        status = load_all(path, &l, file, trainer, state, same_config);
        hki_arena_free(l.arena);
    }
    hki_safetensors_close(file);
    return status;
}

hk_status hk_trainer_save(const hk_trainer *trainer, const char *path)
{
    return hki_checkpoint_save(path, trainer, NULL);
}

hk_status hk_trainer_load(hk_trainer *trainer, const char *path)
{
    return hki_checkpoint_load(path, trainer, NULL, false);
}

/* ---- A folder of checkpoints. ---- */

static bool is_checkpoint(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    return !strncmp(name, PREFIX, strlen(PREFIX)) && length > suffix && !strcmp(name + length - suffix, SUFFIX);
}

static hk_status write_latest(const char *folder, const char *name)
{
    char *path = hki_path_join(folder, "latest");
    hki_writer *writer;
    hk_status status = path ? hki_writer_open(&writer, path) : hki_out_of_memory();
    hki_free(path);
    HK_TRY(status);
    hki_writer_printf(writer, "%s\n", name);
    return hki_writer_commit(writer);
}

/* Names carry the step with leading zeros, so the sorted list is in order of age. */
static hk_status remove_old(const char *folder, int64_t keep)
{
    char **names;
    size_t count;
    HK_TRY(hki_directory_list(&names, &count, folder));
    int64_t extra = -keep;
    for (size_t i = 0; i < count; i++)
        extra += is_checkpoint(names[i]);
    hk_status status = NULL;
    for (size_t i = 0; i < count && extra > 0 && !status; i++) {
        if (!is_checkpoint(names[i]))
            continue;
        char *path = hki_path_join(folder, names[i]);
        status = path ? hki_file_remove(path) : hki_out_of_memory();
        hki_free(path);
        extra--;
    }
    hki_free(names);
    return status;
}

hk_status hki_checkpoints_add(const char *folder, int64_t keep, const hk_trainer *trainer, const hki_run_state *state)
{
    char name[64];
    HK_TRY(hki_directory_create(folder));
    snprintf(name, sizeof name, PREFIX "%010" PRId64 SUFFIX, trainer->steps);
    char *path = hki_path_join(folder, name);
    hk_status status = path ? hki_checkpoint_save(path, trainer, state) : hki_out_of_memory();
    hki_free(path);
    HK_TRY(status);
    HK_TRY(write_latest(folder, name));
    return remove_old(folder, keep);
}

/* The newest that opens: a file is only there when it is whole, but a disk may have lost it since. */
hk_status hki_checkpoints_latest(char **out, const char *folder)
{
    *out = NULL;
    char **names;
    size_t count;
    if (!hki_path_exists(folder))
        return NULL;
    HK_TRY(hki_directory_list(&names, &count, folder));
    hk_status status = NULL;
    for (size_t i = count; i > 0 && !*out && !status; i--) {
        if (!is_checkpoint(names[i - 1]))
            continue;
        char *path = hki_path_join(folder, names[i - 1]);
        hki_safetensors *file;
        hk_status opened = path ? hki_safetensors_open(&file, path) : hki_out_of_memory();
        if (opened) {
            hki_free(path);
            if (hk_status_code(opened) == HK_OUT_OF_MEMORY)
                status = opened;
            else
                hk_status_free(opened);
            continue;
        }
        hki_safetensors_close(file);
        *out = path;
    }
    hki_free(names);
    return status;
}
