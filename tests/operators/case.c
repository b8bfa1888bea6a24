/* Parsing of operator test cases. */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double case_random(uint64_t counter)
{
    uint32_t words[4];
    hki_philox64(words, hki_key_create(7, 7), 0, counter);
    return 2 * hki_uniform_double(words[0], words[1]) - 1;
}

static bool complain(const op_case *c, const char *what, const char *where)
{
    printf("%s: case \"%s\" \"%s\": %s at \"%s\"\n", c->op->name, c->text->inputs,
           c->text->attributes ? c->text->attributes : "", what, where);
    return false;
}

static hk_dtype find_dtype(const char *word, size_t length, hk_dtype real)
{
    static const struct { const char *name; hk_dtype dtype; } names[] = {
        {"i64", HK_INT64}, {"i32", HK_INT32},  {"i16", HK_INT16},   {"i8", HK_INT8},   {"u8", HK_UINT8},
        {"u16", HK_UINT16}, {"u32", HK_UINT32}, {"u64", HK_UINT64}, {"bool", HK_BOOL}, {"f32", HK_FLOAT},
        {"f64", HK_DOUBLE}, {"f16", HK_FLOAT16}};
    if (length == 1 && word[0] == 'f')
        return real;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && !strncmp(names[i].name, word, length))
            return names[i].dtype;
    return HK_UNDEFINED;
}

/* A ladder of distinct values with gaps of 0.3, shuffled: no two are close, none is near 0. */
static void fill_distinct(hk_tensor *t, uint64_t seed)
{
    int64_t n = hk_tensor_count(t);
    hki_key key = hki_key_create(seed, 11);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = (int64_t)hki_permute((uint64_t)i, (uint64_t)n, key);
        hki_tensor_set_double(t, i, 0.3 * ((double)place - (double)n / 2) + 0.13);
    }
}

static const char *fill(hk_tensor *t, const char *at, uint64_t seed)
{
    double low = -2, high = 2;
    if (*at == '=') {
        int64_t i = 0;
        for (at += 2; *at && *at != ')'; i++) {
            char *end;
            double value = strtod(at, &end);
            if (i < hk_tensor_count(t))
                hki_tensor_set_double(t, i, value);
            at = *end == ',' ? end + 1 : end;
        }
        return at + 1;
    }
    if (!strncmp(at, "{distinct}", 10)) {
        fill_distinct(t, seed);
        return at + 10;
    }
    if (*at == '{') {
        char *end;
        low = strtod(at + 1, &end);
        high = strtod(end + 1, &end);
        at = end + 1;
    }
    for (int64_t i = 0; i < hk_tensor_count(t); i++) {
        double unit = 0.5 * (1 + case_random(seed * 1000003 + (uint64_t)i));
        hki_tensor_set_double(t, i, t->dtype == HK_BOOL ? unit < 0.5 : low + (high - low) * unit);
    }
    return at;
}

/* What input i takes; float32 where it does not take the type under test. */
static hk_dtype real_of_input(const hki_op *op, int i, hk_dtype real)
{
    const hki_port *port = op->inputs;
    for (int p = 0; p < i && port[1].name && !(port->flags & HKI_VARIADIC); p++)
        port++;
    return port->types & HKI_BIT(real) || !(port->types & HKI_BIT(HK_FLOAT)) ? real : HK_FLOAT;
}

static const char *parse_input(op_case *c, const char *at, hk_dtype real)
{
    int i = c->input_count++;
    if (*at == '-')
        return at + 1;
    size_t length = strcspn(at, "[ ");
    hk_dtype dtype = find_dtype(at, length, real_of_input(c->op, i, real));
    if (!dtype || at[length] != '[')
        return complain(c, "unknown type", at), NULL;
    int64_t dims[HK_MAX_RANK];
    int rank = 0;
    for (at += length + 1; *at && *at != ']';) {
        char *end;
        dims[rank++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    hk_status status = hk_tensor_create(&c->inputs[i], dtype, rank, dims);
    if (status)
        return complain(c, hk_status_message(status), at), hk_status_free(status), NULL;
    bool fixed = at[1] == '!';
    at = fill(c->inputs[i], at + 1 + fixed, (uint64_t)i + 1);
    fixed |= *at == '!';
    c->differentiated[i] = dtype == real && !fixed;
    return *at == '!' ? at + 1 : at;
}

static bool parse_attribute(op_case *c, const char *at, size_t length)
{
    size_t name = strcspn(at, "=");
    const hki_attribute_spec *spec = c->op->attributes;
    while (spec->name && !(strlen(spec->name) == name && !strncmp(spec->name, at, name)))
        spec++;
    if (!spec->name || name >= length)
        return complain(c, "unknown attribute", at);
    int i = c->attribute_count++;
    hk_attribute *a = &c->attributes[i];
    *a = (hk_attribute){.name = spec->name, .kind = spec->kind};
    const char *value = at + name + 1;
    snprintf(c->texts[i], sizeof c->texts[i], "%.*s", (int)(length - name - 1), value);
    if (spec->kind == HK_ATTRIBUTE_INT) {
        a->as.i = strtoll(value, NULL, 10);
    } else if (spec->kind == HK_ATTRIBUTE_FLOAT) {
        a->as.f = strtof(value, NULL);
    } else if (spec->kind == HK_ATTRIBUTE_STRING) {
        a->as.s = c->texts[i];
    } else {
        for (const char *p = c->texts[i] + 1; *p && *p != ']' && a->count < 32; a->count++) {
            char *end;
            double number = strtod(p, &end);
            c->ints[i][a->count] = (int64_t)number;
            c->floats[i][a->count] = (float)number;
            p = *end == ',' ? end + 1 : end;
        }
        if (spec->kind == HK_ATTRIBUTE_INTS)
            a->as.ints = c->ints[i];
        else
            a->as.floats = c->floats[i];
    }
    return true;
}

/* Outputs: all that are not optional, or all if all are (LSTM); a variadic one as often as the case says (Split). */
static int count_outputs(const op_case *c)
{
    int count = 0;
    const hki_port *port = c->op->outputs;
    for (; port->name && count < HKI_MAX_PORTS; port++) {
        if (port->flags & HKI_OPTIONAL && !(c->op->outputs[0].flags & HKI_OPTIONAL))
            break;
        count++;
        if (port->flags & HKI_VARIADIC) {
            for (int i = 0; i < c->attribute_count; i++)
                if (!strcmp(c->attributes[i].name, "num_outputs"))
                    return (int)c->attributes[i].as.i;
            if (c->input_count > 1 && c->inputs[1])
                return (int)hk_tensor_count(c->inputs[1]);
        }
    }
    return count;
}

bool case_open(op_case *out, const hki_op *op, const hki_case *text, hk_dtype real)
{
    memset(out, 0, sizeof *out);
    out->op = op;
    out->text = text;
    for (const char *at = text->inputs; *at;) {
        if (*at == ' ') {
            at++;
            continue;
        }
        at = parse_input(out, at, real);
        if (!at)
            return false;
    }
    for (const char *at = text->attributes; at && *at;) {
        size_t length = strcspn(at, " ");
        if (length && !parse_attribute(out, at, length))
            return false;
        at += length + (at[length] == ' ');
    }
    out->output_count = count_outputs(out);
    return true;
}

void case_close(op_case *c)
{
    for (int i = 0; i < c->input_count; i++)
        hk_tensor_free(c->inputs[i]);
}

hk_node *case_build(hk_value **out_inputs, hk_graph *graph, const op_case *c)
{
    for (int i = 0; i < c->input_count; i++)
        out_inputs[i] = c->inputs[i] ? hk_graph_constant(graph, "x", c->inputs[i]) : NULL;
    hk_value *outputs[CASE_OUTPUTS];
    return hk_graph_node(graph, c->op->domain, c->op->name, "tested", c->input_count, out_inputs, c->attribute_count,
                         c->attributes, c->output_count, outputs);
}
