/* Parsing of ONNX messages: the common part, and models, functions, graphs and value types. Nodes, attributes and
 * tensors stand in onnx_proto_node.c. Each message is read twice: fields are counted, arrays made, and filled. */
#include "formats/onnx_proto.h"

#include <inttypes.h>
#include <string.h>

hki_onnx_parser hki_onnx_parser_make(hki_arena *arena, hki_span message, const unsigned char *file, const char *name,
                                     int depth)
{
    return (hki_onnx_parser){.reader = hki_pb_read(message, file), .arena = arena, .message = name, .depth = depth};
}

hk_status hki_onnx_next(hki_onnx_parser *p, bool *more)
{
    *more = hki_pb_more(&p->reader);
    if (*more)
        HK_TRY_CTX(hki_pb_next(&p->field, &p->reader), "%s", p->message);
    return NULL;
}

hk_status hki_onnx_text(const char **out, const hki_onnx_parser *p, const char *field)
{
    HK_TRY_CTX(hki_pb_text(out, p->arena, &p->field, field), "%s", p->message);
    return NULL;
}

hk_status hki_onnx_int(int64_t *out, const hki_onnx_parser *p, const char *field)
{
    HK_TRY_CTX(hki_pb_expect(&p->field, HKI_WIRE_VARINT, field), "%s", p->message);
    *out = (int64_t)p->field.value;
    return NULL;
}

hk_status hki_onnx_float(float *out, const hki_onnx_parser *p, const char *field)
{
    HK_TRY_CTX(hki_pb_expect(&p->field, HKI_WIRE_32, field), "%s", p->message);
    uint32_t bits = (uint32_t)p->field.value;
    memcpy(out, &bits, sizeof bits);
    return NULL;
}

hk_status hki_onnx_message(hki_span *out, const hki_onnx_parser *p, const char *field)
{
    HK_TRY_CTX(hki_pb_expect(&p->field, HKI_WIRE_BYTES, field), "%s", p->message);
    *out = p->field.bytes;
    return NULL;
}

hk_status hki_onnx_array(void *out_pointer, hki_arena *arena, size_t count, size_t element_size)
{
    void *array = count == SIZE_MAX ? NULL : hki_arena_array(arena, count + 1, element_size);
    memcpy(out_pointer, &array, sizeof array);
    return array ? NULL : hki_out_of_memory();
}

/* Counts the integers of a field, or stores them if `out` is given. */
static hk_status walk_ints(int64_t *out, size_t *out_count, hki_span message, const unsigned char *file,
                           uint32_t number, const char *field)
{
    hki_pb_reader reader = hki_pb_read(message, file);
    size_t count = 0;
    while (hki_pb_more(&reader)) {
        hki_pb_field f;
        HK_TRY(hki_pb_next(&f, &reader));
        if (f.number != number)
            continue;
        if (f.wire != HKI_WIRE_BYTES) {
            HK_TRY(hki_pb_expect(&f, HKI_WIRE_VARINT, field));
            if (out)
                out[count] = (int64_t)f.value;
            count++;
            continue;
        }
        hki_pb_reader packed = hki_pb_read(f.bytes, file);
        while (hki_pb_more(&packed)) {
            uint64_t value;
            HK_TRY(hki_pb_varint(&value, &packed));
            if (out)
                out[count] = (int64_t)value;
            count++;
        }
    }
    *out_count = count;
    return NULL;
}

hk_status hki_onnx_ints(int64_t **out, size_t *out_count, hki_arena *arena, hki_span message,
                        const unsigned char *file, uint32_t number, const char *field)
{
    HK_TRY(walk_ints(NULL, out_count, message, file, number, field));
    HK_TRY(hki_onnx_array(out, arena, *out_count, sizeof(int64_t)));
    return walk_ints(*out, out_count, message, file, number, field);
}

/* ---- Types of values. ---- */

static hk_status parse_dim(hki_onnx_dim *out, hki_onnx_parser *parent, hki_span message)
{
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "Dimension", 0);
    *out = (hki_onnx_dim){.value = -1};
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        if (p.field.number == 1)
            HK_TRY(hki_onnx_int(&out->value, &p, "dim_value"));
        else if (p.field.number == 2)
            HK_TRY(hki_onnx_text(&out->symbol, &p, "dim_param"));
    }
}

static hk_status parse_shape(hki_onnx_value *out, hki_onnx_parser *parent, hki_span message)
{
    size_t counts[2];
    HK_TRY(hki_pb_count(counts, 2, message, parent->reader.file));
    HK_TRY(hki_onnx_array(&out->dims, parent->arena, counts[1], sizeof *out->dims));
    out->has_shape = true;
    out->rank = 0;
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "TensorShapeProto", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        if (p.field.number != 1)
            continue;
        hki_span dim = {0};
        HK_TRY(hki_onnx_message(&dim, &p, "dim"));
        HK_TRY(parse_dim(&out->dims[out->rank++], &p, dim));
    }
}

static hk_status parse_tensor_type(hki_onnx_value *out, hki_onnx_parser *parent, hki_span message)
{
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "TypeProto.Tensor", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        hki_span shape = {0};
        if (p.field.number == 1) {
            HK_TRY(hki_onnx_int(&out->data_type, &p, "elem_type"));
        } else if (p.field.number == 2) {
            HK_TRY(hki_onnx_message(&shape, &p, "shape"));
            HK_TRY(parse_shape(out, &p, shape));
        }
    }
}

static hk_status parse_type(hki_onnx_value *out, hki_onnx_parser *parent, hki_span message)
{
    static const char *const kinds[10] = {[1] = "tensor",        [4] = "sequence", [5] = "map",
                                          [8] = "sparse tensor", [9] = "optional", [7] = "opaque"};
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "TypeProto", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        if (p.field.number >= 10 || !kinds[p.field.number])
            continue;
        hki_span type = {0};
        HK_TRY(hki_onnx_message(&type, &p, "value"));
        out->kind = kinds[p.field.number];
        if (p.field.number == 1)
            HK_TRY(parse_tensor_type(out, &p, type));
    }
}

static hk_status parse_value(hki_onnx_value *out, hki_onnx_parser *parent, hki_span message)
{
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "ValueInfoProto", 0);
    out->name = "";
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        hki_span type = {0};
        if (p.field.number == 1) {
            HK_TRY(hki_onnx_text(&out->name, &p, "name"));
        } else if (p.field.number == 2) {
            HK_TRY(hki_onnx_message(&type, &p, "type"));
            HK_TRY_CTX(parse_type(out, &p, type), "value '%s'", out->name);
        }
    }
}

/* ---- Graphs. ---- */

static hk_status graph_field(hki_onnx_graph *g, hki_onnx_parser *p)
{
    const unsigned char *file = p->reader.file;
    hki_span m = {0};
    switch (p->field.number) {
    case 1:
        HK_TRY(hki_onnx_message(&m, p, "node"));
        return hki_onnx_parse_node(&g->nodes[g->node_count++], p->arena, m, file, p->depth);
    case 2:
        return hki_onnx_text(&g->name, p, "name");
    case 5:
        HK_TRY(hki_onnx_message(&m, p, "initializer"));
        return hki_onnx_parse_tensor(&g->initializers[g->initializer_count++], p->arena, m, file);
    case 11:
        HK_TRY(hki_onnx_message(&m, p, "input"));
        return parse_value(&g->inputs[g->input_count++], p, m);
    case 12:
        HK_TRY(hki_onnx_message(&m, p, "output"));
        return parse_value(&g->outputs[g->output_count++], p, m);
    case 13:
        HK_TRY(hki_onnx_message(&m, p, "value_info"));
        return parse_value(&g->values[g->value_count++], p, m);
    case 15:
        HK_TRY(hki_onnx_message(&m, p, "sparse_initializer"));
        return hki_onnx_parse_sparse(&g->sparse[g->sparse_count++], p->arena, m, file);
    default:
        return NULL;
    }
}

hk_status hki_onnx_parse_graph(hki_onnx_graph *out, hki_arena *arena, hki_span message, const unsigned char *file,
                               int depth)
{
    if (depth > HKI_ONNX_MAX_DEPTH)
        return HK_ERR(HK_UNSUPPORTED, "graphs are nested more than %d deep", HKI_ONNX_MAX_DEPTH);
    size_t counts[16];
    HK_TRY_CTX(hki_pb_count(counts, 16, message, file), "GraphProto");
    *out = (hki_onnx_graph){.name = ""};
    HK_TRY(hki_onnx_array(&out->nodes, arena, counts[1], sizeof *out->nodes));
    HK_TRY(hki_onnx_array(&out->initializers, arena, counts[5], sizeof *out->initializers));
    HK_TRY(hki_onnx_array(&out->inputs, arena, counts[11], sizeof *out->inputs));
    HK_TRY(hki_onnx_array(&out->outputs, arena, counts[12], sizeof *out->outputs));
    HK_TRY(hki_onnx_array(&out->values, arena, counts[13], sizeof *out->values));
    HK_TRY(hki_onnx_array(&out->sparse, arena, counts[15], sizeof *out->sparse));
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, file, "GraphProto", depth);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        HK_TRY(graph_field(out, &p));
    }
}

/* ---- Functions and the model. ---- */

static hk_status parse_import(hki_onnx_import *out, hki_onnx_parser *parent)
{
    hki_span message = {0};
    HK_TRY(hki_onnx_message(&message, parent, "opset_import"));
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "OperatorSetIdProto", 0);
    *out = (hki_onnx_import){.domain = "", .version = 1};
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        if (p.field.number == 1)
            HK_TRY(hki_onnx_text(&out->domain, &p, "domain"));
        else if (p.field.number == 2)
            HK_TRY(hki_onnx_int(&out->version, &p, "version"));
    }
    if (!strcmp(out->domain, "ai.onnx"))
        out->domain = "";
    if (out->version < 1)
        return HK_ERR(HK_INVALID_FILE, "opset_import of domain '%s': version %" PRId64 " is not positive", out->domain,
                      out->version);
    return NULL;
}

static hk_status parse_metadata(hki_onnx_metadata *out, hki_onnx_parser *parent)
{
    hki_span message = {0};
    HK_TRY(hki_onnx_message(&message, parent, "metadata_props"));
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "StringStringEntryProto", 0);
    *out = (hki_onnx_metadata){"", ""};
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        if (p.field.number == 1)
            HK_TRY(hki_onnx_text(&out->key, &p, "key"));
        else if (p.field.number == 2)
            HK_TRY(hki_onnx_text(&out->value, &p, "value"));
    }
}

static hk_status function_field(hki_onnx_function *f, hki_onnx_parser *p)
{
    const unsigned char *file = p->reader.file;
    hki_span m = {0};
    switch (p->field.number) {
    case 1:
        return hki_onnx_text(&f->name, p, "name");
    case 4:
        return hki_onnx_text(&f->inputs[f->input_count++], p, "input");
    case 5:
        return hki_onnx_text(&f->outputs[f->output_count++], p, "output");
    case 7:
        HK_TRY(hki_onnx_message(&m, p, "node"));
        return hki_onnx_parse_node(&f->nodes[f->node_count++], p->arena, m, file, 1);
    case 9:
        return parse_import(&f->imports[f->import_count++], p);
    case 10:
        HK_TRY(hki_onnx_text(&f->domain, p, "domain"));
        f->domain = strcmp(f->domain, "ai.onnx") ? f->domain : "";
        return NULL;
    case 11:
        HK_TRY(hki_onnx_message(&m, p, "attribute_proto"));
        return hki_onnx_parse_attribute(&f->defaults[f->default_count++], p->arena, m, file, 1);
    case 13:
        return hki_onnx_text(&f->overload, p, "overload");
    default:
        return NULL;
    }
}

static hk_status parse_function(hki_onnx_function *out, hki_onnx_parser *parent)
{
    hki_span message = {0};
    HK_TRY(hki_onnx_message(&message, parent, "functions"));
    size_t counts[12];
    HK_TRY_CTX(hki_pb_count(counts, 12, message, parent->reader.file), "FunctionProto");
    hki_arena *arena = parent->arena;
    *out = (hki_onnx_function){.name = "", .domain = "", .overload = ""};
    HK_TRY(hki_onnx_array(&out->inputs, arena, counts[4], sizeof *out->inputs));
    HK_TRY(hki_onnx_array(&out->outputs, arena, counts[5], sizeof *out->outputs));
    HK_TRY(hki_onnx_array(&out->nodes, arena, counts[7], sizeof *out->nodes));
    HK_TRY(hki_onnx_array(&out->imports, arena, counts[9], sizeof *out->imports));
    HK_TRY(hki_onnx_array(&out->defaults, arena, counts[11], sizeof *out->defaults));
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, parent->reader.file, "FunctionProto", 1);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        HK_TRY(function_field(out, &p));
    }
}

static hk_status model_field(hki_onnx_model *m, hki_onnx_parser *p)
{
    hki_span message = {0};
    switch (p->field.number) {
    case 1:
        return hki_onnx_int(&m->ir_version, p, "ir_version");
    case 7:
        if (m->graph)
            return HK_ERR(HK_INVALID_FILE, "ModelProto: expected one graph, found several");
        HK_TRY(hki_onnx_message(&message, p, "graph"));
        HK_TRY(hki_onnx_array(&m->graph, p->arena, 1, sizeof *m->graph));
        return hki_onnx_parse_graph(m->graph, p->arena, message, p->reader.file, 0);
    case 8:
        return parse_import(&m->imports[m->import_count++], p);
    case 14:
        return parse_metadata(&m->metadata[m->metadata_count++], p);
    case 25:
        return parse_function(&m->functions[m->function_count++], p);
    default:
        return NULL;
    }
}

hk_status hki_onnx_parse_model(hki_onnx_model *out, hki_arena *arena, hki_span file)
{
    size_t counts[26];
    *out = (hki_onnx_model){0};
    HK_TRY_CTX(hki_pb_count(counts, 26, file, file.data), "not an ONNX model, or a damaged one");
    HK_TRY(hki_onnx_array(&out->imports, arena, counts[8], sizeof *out->imports));
    HK_TRY(hki_onnx_array(&out->metadata, arena, counts[14], sizeof *out->metadata));
    HK_TRY(hki_onnx_array(&out->functions, arena, counts[25], sizeof *out->functions));
    hki_onnx_parser p = hki_onnx_parser_make(arena, file, file.data, "ModelProto", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        HK_TRY(model_field(out, &p));
    }
    if (!out->graph)
        return HK_ERR(HK_INVALID_FILE, "not an ONNX model: ModelProto has no graph");
    return NULL;
}
