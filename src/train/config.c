/* The run file: strict reading by the tables of config_tables.c, overrides, DeepSpeed's batch rule, and the effective
 * config. */
#include "train/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "train/config_tables.h"

/* Keys of the top level that are blocks, or may be written in short. */
static const char *const block_keys[] = {"model",     "data",       "loss",      "optimizer",
                                         "scheduler", "checkpoint", "deepspeed", NULL};

/* ---- Changing the tree: overrides, and a DeepSpeed file that is named. ---- */

static void attach(hki_json *object, hki_json *member)
{
    hki_json **end = &object->first;
    while (*end)
        end = &(*end)->next;
    *end = member;
    member->next = NULL;
    member->parent = object;
    member->index = object->count++;
    object->slots = NULL; /* look-up is linear again */
    object->slot_count = 0;
}

static hki_json *member_of(hki_json *object, const char *key, size_t length)
{
    for (hki_json *member = object->first; member; member = member->next)
        if (strlen(member->key) == length && !strncmp(member->key, key, length))
            return member;
    return NULL;
}

/* Finds or makes the member; makes an object where something else stood. */
static hki_json *step_into(hki_json *object, const char *key, size_t length, hki_arena *arena)
{
    hki_json *member = member_of(object, key, length);
    if (member)
        return member;
    member = hki_arena_alloc(arena, sizeof *member);
    char *copy = member ? hki_arena_strndup(arena, key, length) : NULL;
    if (!copy)
        return NULL;
    *member = (hki_json){.type = HKI_JSON_OBJECT, .file = "--set", .line = 1, .column = 1, .key = copy};
    attach(object, member);
    return member;
}

static hk_status parse_override_value(hki_json **out, hki_arena *arena, const char *text)
{
    hk_status status = hki_json_parse(out, arena, text, strlen(text), "--set");
    if (!status)
        return NULL;
    hk_status_free(status); /* not JSON: a bare string */
    hki_json *value = hki_arena_alloc(arena, sizeof *value);
    char *copy = value ? hki_arena_strdup(arena, text) : NULL;
    if (!copy)
        return hki_out_of_memory();
    *value = (hki_json){.type = HKI_JSON_STRING, .file = "--set", .line = 1, .column = 1, .string = copy};
    *out = value;
    return NULL;
}

static hk_status apply_override(hki_json *root, hki_arena *arena, const char *override)
{
    const char *equals = strchr(override, '=');
    if (!equals || equals == override)
        return HK_ERR(HK_INVALID_ARGUMENT, "--set %s: expected key=value", override);
    hki_json *value, *target = root;
    HK_TRY(parse_override_value(&value, arena, equals + 1));
    for (const char *key = override; key < equals;) {
        size_t length = strcspn(key, ".=");
        if (target->type != HKI_JSON_OBJECT)
            *target = (hki_json){.type = HKI_JSON_OBJECT, .file = "--set", .line = 1, .column = 1, .key = target->key,
                                 .index = target->index, .next = target->next, .parent = target->parent};
        target = step_into(target, key, length, arena);
        if (!target)
            return hki_out_of_memory();
        key += length + 1;
    }
    value->key = target->key;
    value->index = target->index;
    value->next = target->next;
    value->parent = target->parent;
    *target = *value;
    for (hki_json *child = target->first; child; child = child->next)
        child->parent = target;
    return NULL;
}

/* "deepspeed": a file (beside the run file) or an object whose keys count where the run file has none. */
static hk_status merge_deepspeed(hki_json *root, hki_arena *arena, const char *source)
{
    hki_json *block = member_of(root, "deepspeed", 9);
    if (!block)
        return NULL;
    if (block->type == HKI_JSON_STRING) {
        char *directory = hki_path_directory(source), *text = NULL;
        char *path = directory ? hki_path_join(directory, block->string) : NULL;
        const char *name = path ? hki_arena_strdup(arena, path) : NULL;
        size_t size;
        hk_status status = name ? hki_file_read(&text, &size, name) : hki_out_of_memory();
        if (!status)
            status = hki_json_parse(&block, arena, text, size, name);
        hki_free(directory);
        hki_free(path);
        hki_free(text);
        HK_TRY(status);
    }
    HK_TRY(hki_json_expect(block, HKI_JSON_OBJECT));
    for (hki_json *member = block->first, *next; member; member = next) {
        next = member->next;
        if (!member_of(root, member->key, strlen(member->key)))
            attach(root, member);
    }
    return NULL;
}

/* ---- Blocks. ---- */

/* DeepSpeed keys without a meaning here may say that they are off. */
static bool says_off(const hki_json *value)
{
    const hki_json *enabled = hki_json_find(value, "enabled"), *stage = hki_json_find(value, "stage");
    return value->type == HKI_JSON_NULL || (value->type == HKI_JSON_BOOL && !value->boolean) ||
           (enabled && enabled->type == HKI_JSON_BOOL && !enabled->boolean) ||
           (stage && stage->is_integer && stage->integer == 0);
}

static hk_status refuse_known_keys(const hki_json *root)
{
    for (const char *const *key = hki_known_keys; *key; key++) {
        const hki_json *value = hki_json_find(root, *key);
        if (value && !says_off(value))
            return hki_json_error(HK_UNSUPPORTED, value,
                                  "a key of DeepSpeed that halka knows but does not support yet");
    }
    return NULL;
}

static hk_status read_top(hki_config *config, const hki_json *root)
{
    const char *others[80];
    size_t count = 0;
    for (const char *const *key = block_keys; *key; key++)
        others[count++] = *key;
    for (const char *const *key = hki_known_keys; *key; key++)
        others[count++] = *key;
    others[count] = NULL;
    HK_TRY(hki_fields_read(config, hki_top_fields, others, config->arena, root));
    return refuse_known_keys(root);
}

static hk_status unknown_type(const hki_json *value, const char *name, const hki_config_type *types, const char *what)
{
    const char *names[32];
    size_t count = 0;
    for (; types->name; types++)
        names[count++] = types->name;
    for (const char *const *known = hki_known_optimizers; *known; known++)
        if (!strcmp(name, *known))
            return hki_json_error(HK_UNSUPPORTED, value, "%s '%s' of DeepSpeed is not supported yet", what, name);
    const char *nearest = hki_nearest_name(name, names, count);
    return hki_json_error(HK_INVALID_CONFIG, value, "unknown %s '%s'; %s%s%s", what, name,
                          nearest ? "did you mean '" : "see docs/run-file.md", nearest ? nearest : "",
                          nearest ? "'?" : "");
}

/* Reads {"type": ..., "params": {...}} by the table of its type. */
static hk_status read_typed(void *block, int *out_type, const hki_config_type **out_row, const hki_config_type *types,
                            hki_arena *arena, const hki_json *value, const char *what)
{
    static const char *const keys[] = {"type", "params"};
    HK_TRY(hki_json_expect(value, HKI_JSON_OBJECT));
    HK_TRY(hki_json_check_keys(value, keys, 2));
    const hki_json *type = hki_json_find(value, "type"), *params = hki_json_find(value, "params");
    if (!type)
        return hki_json_error(HK_INVALID_CONFIG, value, "'type' is missing");
    const char *name;
    HK_TRY(hki_json_get_string(&name, type));
    const hki_config_type *row = types;
    while (row->name && strcmp(row->name, name))
        row++;
    if (!row->name)
        return unknown_type(type, name, types, what);
    hki_fields_defaults(block, row->fields);
    *out_type = row->type;
    *out_row = row;
    const hki_json *norm = params ? hki_json_find(params, "max_grad_norm") : NULL;
    if (norm)
        return hki_json_error(HK_INVALID_CONFIG, norm, "use gradient_clipping at the top level instead");
    return params ? hki_fields_read(block, row->fields, NULL, arena, params) : NULL;
}

static hk_status read_optimizer(hki_config *config, const hki_config_type **out_row, const hki_json *root)
{
    int type = HKI_OPTIMIZER_ADAM;
    const hki_json *value = hki_json_find(root, "optimizer");
    *out_row = &hki_optimizer_types[2];
    hki_fields_defaults(&config->optimizer, (*out_row)->fields);
    if (value)
        HK_TRY(read_typed(&config->optimizer, &type, out_row, hki_optimizer_types, config->arena, value, "optimizer"));
    config->optimizer.type = (hki_optimizer_type)type;
    if (config->optimizer.nesterov && (config->optimizer.momentum <= 0 || config->optimizer.dampening != 0))
        return hki_json_error(HK_INVALID_CONFIG, value, "nesterov needs momentum and no dampening");
    return NULL;
}

static hk_status read_schedule(hki_config *config, const hki_config_type **out_row, const hki_json *root)
{
    int type = HKI_SCHEDULE_CONSTANT;
    const hki_json *value = hki_json_find(root, "scheduler");
    config->schedule.warmup_max_lr = NAN;
    config->schedule.total_num_steps = -1;
    *out_row = &hki_schedule_types[0];
    if (value)
        HK_TRY(read_typed(&config->schedule, &type, out_row, hki_schedule_types, config->arena, value, "scheduler"));
    config->schedule.type = (hki_schedule_type)type;
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static hk_status read_model(hki_config *config, const hki_json *root)
{
    hki_fields_defaults(config, hki_model_fields);
    const hki_json *value = hki_json_find(root, "model");
    if (!value)
        return NULL;
    if (value->type == HKI_JSON_STRING) {
        *(ends_with(value->string, ".onnx") ? &config->model_file : &config->model_name) = value->string;
        return NULL;
    }
    HK_TRY(hki_fields_read(config, hki_model_fields, NULL, config->arena, value));
    if (!config->model_name == !config->model_file)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected either 'name' (an architecture) or 'file' (ONNX)");
    return NULL;
}

static hk_status read_class_weights(hki_config *config, const hki_json *value)
{
    hki_loss_config *loss = &config->loss;
    if (!value)
        return NULL;
    if (value->type == HKI_JSON_STRING && !strcmp(value->string, "balanced")) {
        loss->balanced = true;
        return NULL;
    }
    if (value->type != HKI_JSON_ARRAY)
        return hki_json_error(HK_INVALID_CONFIG, value, "expected \"balanced\" or a list of numbers, found %s",
                              hki_json_type_name(value));
    double *weights = hki_arena_array(config->arena, (size_t)value->count + 1, sizeof *weights);
    if (!weights)
        return hki_out_of_memory();
    for (const hki_json *v = value->first; v; v = v->next) {
        HK_TRY(hki_json_get_double(&weights[v->index], v));
        if (!(weights[v->index] >= 0))
            return hki_json_error(HK_INVALID_CONFIG, v, "a class weight cannot be negative");
    }
    loss->class_weights = weights;
    loss->class_weight_count = (int)value->count;
    return NULL;
}

static hk_status read_loss(hki_config *config, const hki_json *root)
{
    static const char *const others[] = {"class_weights", NULL};
    hki_fields_defaults(&config->loss, hki_loss_fields);
    const hki_json *value = hki_json_find(root, "loss");
    if (!value)
        return NULL;
    if (value->type == HKI_JSON_OBJECT) {
        HK_TRY(hki_fields_read(&config->loss, hki_loss_fields, others, config->arena, value));
        return read_class_weights(config, hki_json_find(value, "class_weights"));
    }
    hki_json short_form = {.type = HKI_JSON_OBJECT, .file = value->file, .line = value->line, .column = value->column};
    hki_json type = *value;
    type.key = "type";
    type.next = NULL;
    short_form.first = &type;
    short_form.count = 1;
    return hki_fields_read(&config->loss, hki_loss_fields, others, config->arena, &short_form);
}

/* ---- Data. ---- */

static hk_status read_files(hki_data_files *files, hki_config *config, const hki_json *value)
{
    if (!value)
        return NULL;
    HK_TRY(hki_fields_read(files, hki_files_fields, NULL, config->arena, value));
    int forms = (files->images || files->labels) + (files->csv || files->label_column) + (files->x || files->y) +
                (files->folder != NULL);
    bool whole = files->images ? files->labels != NULL
                 : files->csv  ? files->label_column != NULL
                 : files->x    ? files->y != NULL
                               : files->folder != NULL;
    if (forms != 1 || !whole)
        return hki_json_error(HK_INVALID_CONFIG, value,
                              "expected one of: images + labels (IDX), csv + label, x + y (npy), folder");
    files->given = true;
    return NULL;
}

static hk_status read_data(hki_config *config, const hki_json *root)
{
    static const char *const others[] = {"train", "validation", "test", "augment", NULL};
    hki_data_config *data = &config->data;
    hki_fields_defaults(data, hki_data_fields);
    hki_fields_defaults(&data->augment, hki_augment_fields);
    const hki_json *value = hki_json_find(root, "data");
    if (!value)
        return NULL;
    HK_TRY(hki_fields_read(data, hki_data_fields, others, config->arena, value));
    HK_TRY(read_files(&data->train, config, hki_json_find(value, "train")));
    HK_TRY(read_files(&data->test, config, hki_json_find(value, "test")));
    const hki_json *validation = hki_json_find(value, "validation"), *augment = hki_json_find(value, "augment");
    if (validation && validation->type == HKI_JSON_NUMBER) {
        HK_TRY(hki_json_get_double(&data->validation_fraction, validation));
        if (!(data->validation_fraction >= 0 && data->validation_fraction < 1))
            return hki_json_error(HK_INVALID_CONFIG, validation, "expected a fraction from 0 to below 1, found %g",
                                  data->validation_fraction);
    } else {
        HK_TRY(read_files(&data->validation, config, validation));
    }
    if (augment)
        HK_TRY(hki_fields_read(&data->augment, hki_augment_fields, NULL, config->arena, augment));
    if (data->mean_count != data->deviation_count)
        return hki_json_error(HK_INVALID_CONFIG, value, "mean and deviation must have the same number of values");
    if (data->augment.mixup > 0 && config->loss.type != HKI_LOSS_CROSS_ENTROPY)
        return hki_json_error(HK_INVALID_CONFIG, augment, "mixup needs the loss cross_entropy");
    if (data->augment.mixup > 0 && config->loss.label_smoothing > 0)
        return hki_json_error(HK_UNSUPPORTED, augment, "mixup together with label_smoothing is not supported");
    return NULL;
}

/* ---- The batch rule: train = micro x accumulation (x ranks). ---- */

static hk_status resolve_batch(hki_config *config, const hki_json *root)
{
    int64_t *train = &config->train_batch_size, *micro = &config->micro_batch_size,
            *steps = &config->accumulation_steps;
    if (!*train && !*micro)
        return hki_json_error(HK_INVALID_CONFIG, root, "give train_batch_size or train_micro_batch_size_per_gpu");
    if (!*micro) {
        *steps = *steps ? *steps : 1;
        *micro = *train % *steps ? 0 : *train / *steps;
    } else if (!*train) {
        *steps = *steps ? *steps : 1;
        *train = *micro * *steps;
    } else if (!*steps) {
        *steps = *train / *micro;
    }
    if (*micro < 1 || *steps < 1 || *micro * *steps != *train)
        return hki_json_error(HK_INVALID_CONFIG, root,
                              "train_batch_size %" PRId64 " is not train_micro_batch_size_per_gpu %" PRId64
                              " x gradient_accumulation_steps %" PRId64,
                              *train, *micro ? *micro : *train / *steps, *steps);
    return NULL;
}

/* ---- The effective config. ---- */

static void open_block(hki_text *text, const char *key, int indent, bool *first)
{
    hki_text_printf(text, "%s\n%*s\"%s\": {", *first ? "" : ",", indent, "", key);
    *first = false;
}

static void write_block(hki_text *text, const char *key, const void *block, const hki_field *fields, int indent,
                        bool *first)
{
    bool inner = true;
    open_block(text, key, indent, first);
    hki_fields_write(text, block, fields, indent + 2, &inner);
    hki_text_printf(text, "\n%*s}", indent, "");
}

static void write_typed(hki_text *text, const char *key, const void *block, const hki_config_type *row, bool *first)
{
    bool inner = false;
    open_block(text, key, 2, first);
    hki_text_printf(text, "\n    \"type\": \"%s\"", row->name);
    write_block(text, "params", block, row->fields, 4, &inner);
    hki_text_printf(text, "\n  }");
}

static void write_loss(hki_text *text, const hki_config *config, bool *first)
{
    const hki_loss_config *loss = &config->loss;
    bool inner = true;
    open_block(text, "loss", 2, first);
    hki_fields_write(text, loss, hki_loss_fields, 4, &inner);
    if (loss->balanced)
        hki_text_printf(text, ",\n    \"class_weights\": \"balanced\"");
    for (int i = 0; i < loss->class_weight_count; i++) {
        hki_text_printf(text, i ? ", " : ",\n    \"class_weights\": [");
        hki_json_write_double(text, loss->class_weights[i]);
    }
    hki_text_printf(text, "%s\n  }", loss->class_weight_count ? "]" : "");
}

static void write_data(hki_text *text, const hki_config *config, bool *first)
{
    const hki_data_config *data = &config->data;
    bool inner = true;
    open_block(text, "data", 2, first);
    if (data->train.given)
        write_block(text, "train", &data->train, hki_files_fields, 4, &inner);
    if (data->validation.given)
        write_block(text, "validation", &data->validation, hki_files_fields, 4, &inner);
    else if (data->validation_fraction > 0) {
        hki_text_printf(text, "%s\n    \"validation\": ", inner ? "" : ",");
        hki_json_write_double(text, data->validation_fraction);
        inner = false;
    }
    if (data->test.given)
        write_block(text, "test", &data->test, hki_files_fields, 4, &inner);
    hki_fields_write(text, data, hki_data_fields, 4, &inner);
    write_block(text, "augment", &data->augment, hki_augment_fields, 4, &inner);
    hki_text_printf(text, "\n  }");
}

static hk_status write_effective(hki_config *config, const hki_config_type *optimizer, const hki_config_type *schedule)
{
    hki_text text = {0};
    bool first = true;
    hki_text_printf(&text, "{");
    hki_fields_write(&text, config, hki_top_fields, 2, &first);
    if (config->model_name || config->model_file)
        write_block(&text, "model", config, hki_model_fields, 2, &first);
    write_data(&text, config, &first);
    write_loss(&text, config, &first);
    write_typed(&text, "optimizer", &config->optimizer, optimizer, &first);
    write_typed(&text, "scheduler", &config->schedule, schedule, &first);
    write_block(&text, "checkpoint", config, hki_checkpoint_fields, 2, &first);
    hki_text_printf(&text, "\n}\n");
    hk_status status = hki_text_status(&text);
    if (!status && !(config->effective = hki_arena_strdup(config->arena, text.data)))
        status = hki_out_of_memory();
    hki_text_free(&text);
    return status;
}

/* ---- All of it. ---- */

static hk_status read_all(hki_config *config, hki_json *root, const char *source, const char *const *overrides,
                          int count)
{
    const hki_config_type *optimizer, *schedule;
    HK_TRY(hki_json_expect(root, HKI_JSON_OBJECT));
    for (int i = 0; i < count; i++)
        HK_TRY(apply_override(root, config->arena, overrides[i]));
    HK_TRY(merge_deepspeed(root, config->arena, source));
    hki_fields_defaults(config, hki_top_fields);
    hki_fields_defaults(config, hki_checkpoint_fields);
    HK_TRY(read_top(config, root));
    HK_TRY(read_model(config, root));
    HK_TRY(read_loss(config, root));
    HK_TRY(read_data(config, root));
    HK_TRY(read_optimizer(config, &optimizer, root));
    HK_TRY(read_schedule(config, &schedule, root));
    const hki_json *checkpoint = hki_json_find(root, "checkpoint");
    if (checkpoint)
        HK_TRY(hki_fields_read(config, hki_checkpoint_fields, NULL, config->arena, checkpoint));
    HK_TRY(resolve_batch(config, root));
    return write_effective(config, optimizer, schedule);
}

hk_status hki_config_parse(hki_config **out, const char *text, size_t size, const char *source,
                           const char *const *overrides, int override_count)
{
    *out = NULL;
    hki_arena *arena;
    HK_TRY(hki_arena_create(&arena));
    hki_config *config = hki_arena_alloc(arena, sizeof *config);
    hk_status status = config ? NULL : hki_out_of_memory();
    hki_json *root;
    if (!status) {
        config->arena = arena;
        config->source = hki_arena_strdup(arena, source);
        status = config->source ? hki_json_parse(&root, arena, text, size, config->source) : hki_out_of_memory();
    }
    if (!status)
        status = read_all(config, root, source, overrides, override_count);
    if (status) {
        hki_arena_free(arena);
        return status;
    }
    *out = config;
    return NULL;
}

void hki_config_free(hki_config *config)
{
    if (config)
        hki_arena_free(config->arena);
}
