/* Parsing of NodeProto, AttributeProto, TensorProto and SparseTensorProto. */
#include <inttypes.h>
#include <string.h>

#include "formats/onnx_proto.h"
#include "halka/graph.h"

enum { MAX_ATTRIBUTES = 256 }; /* of one node; no operator has a tenth of it */

/* ---- Tensors. ---- */

/* A decimal number of an external_data entry. */
static hk_status parse_decimal(uint64_t *out, const char *key, const char *text)
{
    uint64_t value = 0;
    for (const char *c = text; *c; c++)
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
            return HK_ERR(HK_INVALID_FILE, "external_data: %s '%.40s' is not a number of at most 64 bits", key, text);
    *out = value;
    return NULL;
}

static hk_status parse_external(hki_onnx_tensor *t, hki_onnx_parser *parent)
{
    hki_span message = {0};
    HK_TRY(hki_onnx_message(&message, parent, "external_data"));
    hki_onnx_parser p = hki_onnx_parser_make(parent->arena, message, parent->reader.file, "StringStringEntryProto", 0);
    const char *key = "", *value = "";
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        if (p.field.number == 1)
            HK_TRY(hki_onnx_text(&key, &p, "key"));
        else if (p.field.number == 2)
            HK_TRY(hki_onnx_text(&value, &p, "value"));
    }
    if (!strcmp(key, "location"))
        t->location = value;
    else if (!strcmp(key, "offset"))
        return parse_decimal(&t->offset, key, value);
    else if (!strcmp(key, "length")) {
        t->has_length = true;
        return parse_decimal(&t->length, key, value);
    }
    return NULL; /* checksum and the like */
}

static hk_status tensor_field(hki_onnx_tensor *t, hki_onnx_parser *p)
{
    int64_t number;
    switch (p->field.number) {
    case 2:
        return hki_onnx_int(&t->data_type, p, "data_type");
    case 3:
        t->has_segment = true;
        return NULL;
    case 8:
        return hki_onnx_text(&t->name, p, "name");
    case 9:
        t->has_raw = true;
        return hki_onnx_message(&t->raw, p, "raw_data");
    case 13:
        return parse_external(t, p);
    case 14:
        HK_TRY(hki_onnx_int(&number, p, "data_location"));
        if (number != 0 && number != 1)
            return HK_ERR(HK_INVALID_FILE, "TensorProto: data_location %" PRId64 " is not known", number);
        t->external = number == 1;
        return NULL;
    default:
        return NULL;
    }
}

hk_status hki_onnx_parse_tensor(hki_onnx_tensor *out, hki_arena *arena, hki_span message, const unsigned char *file)
{
    *out = (hki_onnx_tensor){.name = "", .message = message};
    HK_TRY_CTX(hki_onnx_ints(&out->dims, &out->rank, arena, message, file, 1, "dims"), "TensorProto");
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, file, "TensorProto", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        HK_TRY_CTX(tensor_field(out, &p), "tensor '%s'", out->name);
    }
}

hk_status hki_onnx_parse_sparse(hki_onnx_sparse *out, hki_arena *arena, hki_span message, const unsigned char *file)
{
    *out = (hki_onnx_sparse){.values = {.name = ""}, .indices = {.name = ""}};
    HK_TRY_CTX(hki_onnx_ints(&out->dims, &out->rank, arena, message, file, 3, "dims"), "SparseTensorProto");
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, file, "SparseTensorProto", 0);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            return NULL;
        hki_span tensor = {0};
        if (p.field.number == 1) {
            HK_TRY(hki_onnx_message(&tensor, &p, "values"));
            HK_TRY(hki_onnx_parse_tensor(&out->values, arena, tensor, file));
        } else if (p.field.number == 2) {
            HK_TRY(hki_onnx_message(&tensor, &p, "indices"));
            HK_TRY(hki_onnx_parse_tensor(&out->indices, arena, tensor, file));
        }
    }
}

/* ---- Attributes. ---- */

/* All floats of field 7, packed or not. */
static hk_status parse_floats(hki_onnx_attribute *a, hki_onnx_parser *p)
{
    if (p->field.wire != HKI_WIRE_BYTES)
        return hki_onnx_float(&a->floats[a->float_count++], p, "floats");
    if (p->field.bytes.size % 4)
        return HK_ERR(HK_INVALID_FILE, "AttributeProto: packed floats of %zu bytes", p->field.bytes.size);
    size_t count = p->field.bytes.size / 4;
    if (count)
        memcpy(a->floats + a->float_count, p->field.bytes.data, count * 4);
    a->float_count += count;
    return NULL;
}

/* An upper bound for the number of floats: what the bytes could hold. */
static hk_status make_float_list(hki_onnx_attribute *a, hki_onnx_parser p)
{
    size_t count = 0;
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        if (p.field.number == 7)
            count += p.field.wire == HKI_WIRE_BYTES ? p.field.bytes.size / 4 : 1;
    }
    return hki_onnx_array(&a->floats, p.arena, count, sizeof(float));
}

static hk_status attribute_message(hki_onnx_attribute *a, hki_onnx_parser *p)
{
    const unsigned char *file = p->reader.file;
    hki_span m = {0};
    HK_TRY(hki_onnx_message(&m, p, "value"));
    switch (p->field.number) {
    case 5:
        HK_TRY(hki_onnx_array(&a->tensor, p->arena, 1, sizeof *a->tensor));
        return hki_onnx_parse_tensor(a->tensor, p->arena, m, file);
    case 6:
        HK_TRY(hki_onnx_array(&a->graph, p->arena, 1, sizeof *a->graph));
        return hki_onnx_parse_graph(a->graph, p->arena, m, file, p->depth + 1);
    default:
        HK_TRY(hki_onnx_array(&a->sparse, p->arena, 1, sizeof *a->sparse));
        return hki_onnx_parse_sparse(a->sparse, p->arena, m, file);
    }
}

static hk_status attribute_field(hki_onnx_attribute *a, hki_onnx_parser *p)
{
    switch (p->field.number) {
    case 1:
        return hki_onnx_text(&a->name, p, "name");
    case 2:
        return hki_onnx_float(&a->f, p, "f");
    case 3:
        return hki_onnx_int(&a->i, p, "i");
    case 4:
        return hki_onnx_text(&a->s, p, "s");
    case 5:
    case 6:
    case 22:
        return attribute_message(a, p);
    case 7:
        return parse_floats(a, p);
    case 9:
        return hki_onnx_text(&a->strings[a->string_count++], p, "strings");
    case 20:
        return hki_onnx_int(&a->type, p, "type");
    case 21:
        return hki_onnx_text(&a->reference, p, "ref_attr_name");
    default:
        return NULL;
    }
}

/* Files of the first IR versions give no type: it is that of the field which is there. */
static int64_t guess_type(const size_t counts[24])
{
    static const unsigned char fields[][2] = {{2, HK_ATTRIBUTE_FLOAT},   {3, HK_ATTRIBUTE_INT},
                                              {4, HK_ATTRIBUTE_STRING},  {5, HK_ATTRIBUTE_TENSOR},
                                              {6, HK_ATTRIBUTE_GRAPH},   {7, HK_ATTRIBUTE_FLOATS},
                                              {8, HK_ATTRIBUTE_INTS},    {9, HK_ATTRIBUTE_STRINGS},
                                              {10, 9},                   {11, 10},
                                              {22, 11}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (counts[fields[i][0]])
            return fields[i][1];
    return 0;
}

hk_status hki_onnx_parse_attribute(hki_onnx_attribute *out, hki_arena *arena, hki_span message,
                                   const unsigned char *file, int depth)
{
    size_t counts[24];
    HK_TRY_CTX(hki_pb_count(counts, 24, message, file), "AttributeProto");
    *out = (hki_onnx_attribute){.name = "", .s = ""};
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, file, "AttributeProto", depth);
    HK_TRY(make_float_list(out, p));
    HK_TRY(hki_onnx_ints(&out->ints, &out->int_count, arena, message, file, 8, "ints"));
    HK_TRY(hki_onnx_array(&out->strings, arena, counts[9], sizeof *out->strings));
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        HK_TRY_CTX(attribute_field(out, &p), "attribute '%s'", out->name);
    }
    if (!out->type)
        out->type = guess_type(counts);
    out->count = out->type == HK_ATTRIBUTE_FLOATS    ? out->float_count
                 : out->type == HK_ATTRIBUTE_INTS    ? out->int_count
                 : out->type == HK_ATTRIBUTE_STRINGS ? out->string_count
                                                     : 0;
    return NULL;
}

/* ---- Nodes. ---- */

static hk_status node_field(hki_onnx_node *n, hki_onnx_parser *p)
{
    hki_span m = {0};
    switch (p->field.number) {
    case 1:
        return hki_onnx_text(&n->inputs[n->input_count++], p, "input");
    case 2:
        return hki_onnx_text(&n->outputs[n->output_count++], p, "output");
    case 3:
        return hki_onnx_text(&n->name, p, "name");
    case 4:
        return hki_onnx_text(&n->op, p, "op_type");
    case 5:
        HK_TRY(hki_onnx_message(&m, p, "attribute"));
        return hki_onnx_parse_attribute(&n->attributes[n->attribute_count++], p->arena, m, p->reader.file, p->depth);
    case 7:
        HK_TRY(hki_onnx_text(&n->domain, p, "domain"));
        n->domain = strcmp(n->domain, "ai.onnx") ? n->domain : "";
        return NULL;
    case 8:
        return hki_onnx_text(&n->overload, p, "overload");
    default:
        return NULL;
    }
}

hk_status hki_onnx_parse_node(hki_onnx_node *out, hki_arena *arena, hki_span message, const unsigned char *file,
                              int depth)
{
    size_t counts[6];
    HK_TRY_CTX(hki_pb_count(counts, 6, message, file), "NodeProto");
    *out = (hki_onnx_node){.name = "", .op = "", .domain = "", .overload = ""};
    HK_TRY(hki_onnx_array(&out->inputs, arena, counts[1], sizeof *out->inputs));
    HK_TRY(hki_onnx_array(&out->outputs, arena, counts[2], sizeof *out->outputs));
    HK_TRY(hki_onnx_array(&out->attributes, arena, counts[5], sizeof *out->attributes));
    hki_onnx_parser p = hki_onnx_parser_make(arena, message, file, "NodeProto", depth);
    for (bool more;;) {
        HK_TRY(hki_onnx_next(&p, &more));
        if (!more)
            break;
        HK_TRY_CTX(node_field(out, &p), "node '%s'", out->name);
    }
    if (out->attribute_count > MAX_ATTRIBUTES)
        return HK_ERR(HK_INVALID_FILE, "node '%s' (%s) has %zu attributes, at most %d are possible", out->name, out->op,
                      out->attribute_count, MAX_ATTRIBUTES);
    for (size_t i = 0; i < out->attribute_count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(out->attributes[i].name, out->attributes[k].name))
                return HK_ERR(HK_INVALID_FILE, "node '%s' (%s): attribute '%s' is given twice", out->name, out->op,
                              out->attributes[i].name);
    return NULL;
}
