/* Inference of one node: arity, attributes and type variables by the operator's table, then the operator's own rule.
 * And the helpers such rules are made of. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/op.h"

/* ---- Checks by the table. ---- */

/* The port that input or output i belongs to; the last one again for a variadic tail. NULL: too many. */
static const hki_port *port_at(const hki_port *ports, int i)
{
    for (int p = 0; p < HKI_MAX_PORTS && ports[p].name; p++)
        if (p == i || (ports[p].flags & HKI_VARIADIC))
            return &ports[p];
    return NULL;
}

static hk_status check_ports(const hki_port *ports, int count, const char *what)
{
    int least = 0, most = 0;
    bool variadic = false;
    for (int p = 0; p < HKI_MAX_PORTS && ports[p].name; p++) {
        most++;
        variadic |= (ports[p].flags & HKI_VARIADIC) != 0;
        if (!(ports[p].flags & HKI_OPTIONAL))
            least = most;
    }
    if (count < least)
        return HK_ERR(HK_INVALID_ARGUMENT, "expected at least %d %ss, found %d", least, what, count);
    if (count > most && !variadic)
        return HK_ERR(HK_INVALID_ARGUMENT, "expected at most %d %ss, found %d", most, what, count);
    return NULL;
}

static const char *kind_name(hk_attribute_kind kind)
{
    static const char *const names[] = {"?",     "float",  "int",  "string", "tensor",
                                        "graph", "floats", "ints", "strings"};
    return kind >= 0 && kind <= HK_ATTRIBUTE_STRINGS ? names[kind] : "?";
}

static hk_status unknown_attribute(const hk_node *node, const char *name)
{
    const char *names[HKI_MAX_ATTRIBUTES];
    size_t count = 0;
    for (const hki_attribute_spec *spec = node->op->attributes; spec->name; spec++)
        names[count++] = spec->name;
    const char *nearest = hki_nearest_name(name, names, count);
    return HK_ERR(HK_INVALID_ARGUMENT, "unknown attribute '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                  nearest ? nearest : "", nearest ? "'?" : "");
}

static hk_status check_attributes(const hk_node *node)
{
    for (int i = 0; i < node->attribute_count; i++) {
        const hk_attribute *a = &node->attributes[i];
        const hki_attribute_spec *spec = node->op->attributes;
        while (spec->name && strcmp(spec->name, a->name))
            spec++;
        if (!spec->name)
            return unknown_attribute(node, a->name);
        if (spec->kind != a->kind)
            return HK_ERR(HK_INVALID_TYPE, "attribute '%s': expected %s, found %s", a->name, kind_name(spec->kind),
                          kind_name(a->kind));
    }
    for (const hki_attribute_spec *spec = node->op->attributes; spec->name; spec++)
        if (spec->required && !hki_attribute_find(node, spec->name))
            return HK_ERR(HK_INVALID_ARGUMENT, "attribute '%s' is required", spec->name);
    return NULL;
}

/* Checks input types against the ports; ports with one variable must agree. */
static hk_status check_types(const hk_node *node, const hki_type *const *in)
{
    for (int i = 0; i < node->input_count; i++) {
        const hki_port *port = port_at(node->op->inputs, i);
        if (!in[i]) {
            if (!(port->flags & HKI_OPTIONAL))
                return HK_ERR(HK_INVALID_ARGUMENT, "input '%s' is required", port->name);
            continue;
        }
        hk_dtype dtype = in[i]->dtype;
        if (!dtype)
            continue;
        if (!(port->types & HKI_BIT(dtype)))
            return HK_ERR(HK_INVALID_TYPE, "input '%s' cannot be %s", port->name, hk_dtype_name(dtype));
        for (int j = 0; j < i; j++) {
            const hki_port *other = port_at(node->op->inputs, j);
            if (in[j] && in[j]->dtype && in[j]->dtype != dtype && !strcmp(other->variable, port->variable))
                return HK_ERR(HK_INVALID_TYPE, "inputs '%s' and '%s' must have one type, found %s and %s", other->name,
                              port->name, hk_dtype_name(in[j]->dtype), hk_dtype_name(dtype));
        }
    }
    return NULL;
}

static void bind_outputs(hki_type *out, const hk_node *node, const hki_type *const *in)
{
    for (int o = 0; o < node->output_count; o++) {
        memset(&out[o], 0, sizeof out[o]);
        out[o].rank = -1;
        const hki_port *port = port_at(node->op->outputs, o);
        for (int i = 0; i < node->input_count && !out[o].dtype; i++)
            if (in[i] && !strcmp(port_at(node->op->inputs, i)->variable, port->variable))
                out[o].dtype = in[i]->dtype;
    }
}

hk_status hki_node_infer(hki_type *out, const hk_node *node, const hki_type *const *in, const hk_tensor *const *data)
{
    HK_TRY(check_ports(node->op->inputs, node->input_count, "input"));
    HK_TRY(check_ports(node->op->outputs, node->output_count, "output"));
    HK_TRY(check_attributes(node));
    HK_TRY(check_types(node, in));
    bind_outputs(out, node, in);
    hki_infer c = {node, node->input_count, node->output_count, in, data, out};
    HK_TRY(node->op->infer(&c));
    for (int o = 0; o < node->output_count; o++)
        for (int d = 0; d < out[o].rank; d++)
            if (out[o].dims[d] >= 0) {
                int64_t count;
                size_t size;
                hki_type known = out[o];
                for (int e = 0; e < known.rank; e++)
                    known.dims[e] = known.dims[e] < 0 ? 1 : known.dims[e];
                HK_TRY(hki_shape_check(&count, &size, known.dtype ? known.dtype : HK_UINT8, known.rank, known.dims));
                break;
            }
    return NULL;
}

/* ---- What rules are made of. ---- */

const hk_tensor *hki_infer_data(const hki_infer *c, int i)
{
    return i < c->input_count && c->data ? c->data[i] : NULL;
}

bool hki_infer_has(const hki_infer *c, int i)
{
    return i < c->input_count && c->in[i];
}

hk_status hki_infer_ints(int64_t *out, int *out_count, const hki_infer *c, int i)
{
    const hki_port *port = port_at(c->node->op->inputs, i);
    const hki_type *type = c->in[i];
    if (type->rank > 1)
        return HK_ERR(HK_INVALID_SHAPE, "input '%s' must be one-dimensional, found rank %d", port->name, type->rank);
    if (type->rank == 1 && type->dims[0] > HK_MAX_RANK)
        return HK_ERR(HK_UNSUPPORTED, "input '%s' has %" PRId64 " entries, at most %d are supported", port->name,
                      type->dims[0], HK_MAX_RANK);
    *out_count = -1;
    const hk_tensor *t = hki_infer_data(c, i);
    if (!t)
        return NULL;
    int count = (int)hk_tensor_count(t);
    for (int k = 0; k < count; k++)
        out[k] = hki_tensor_get_int(t, k);
    *out_count = count;
    return NULL;
}

void hki_type_copy(hki_type *out, const hki_type *a)
{
    *out = *a;
}

void hki_type_set(hki_type *out, hk_dtype dtype, int rank, const int64_t *dims)
{
    out->dtype = dtype;
    out->rank = rank;
    for (int i = 0; i < rank; i++)
        out->dims[i] = dims[i];
}

bool hki_type_known(const hki_type *type)
{
    if (type->rank < 0 || !type->dtype)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return false;
    return true;
}

int64_t hki_dim_mul(int64_t a, int64_t b)
{
    if (a == 1)
        return b;
    if (b == 1)
        return a;
    if (a == 0 || b == 0)
        return 0;
    int64_t product;
    if (a < 0 || b < 0)
        return HKI_DIM_UNKNOWN;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product; /* hki_shape_check refuses it */
}

int64_t hki_dim_add(int64_t a, int64_t b)
{
    if (a == 0)
        return b;
    if (b == 0)
        return a;
    int64_t sum;
    if (a < 0 || b < 0)
        return HKI_DIM_UNKNOWN;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

hk_status hki_dim_merge(int64_t *out, int64_t a, int64_t b)
{
    if (a >= 0 && b >= 0 && a != b)
        return HK_ERR(HK_INVALID_SHAPE, "dimensions %" PRId64 " and %" PRId64 " must be equal", a, b);
    *out = a >= 0 ? a : b >= 0 ? b : a != HKI_DIM_UNKNOWN ? a : b;
    return NULL;
}

hk_status hki_axis(int *out, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        return HK_ERR(HK_INVALID_ARGUMENT, "axis %" PRId64 " is out of range for rank %d", axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return NULL;
}

/* One dim of a broadcast. A symbol against 1 stays the symbol; two different unknowns give unknown. */
static bool broadcast_dim(int64_t *out, int64_t a, int64_t b)
{
    if (a == b || b == 1)
        *out = a;
    else if (a == 1)
        *out = b;
    else if (a >= 0 && b >= 0)
        return false;
    else
        *out = a >= 0 ? a : b >= 0 ? b : HKI_DIM_UNKNOWN; /* the known one is not 1, so the other is 1 or equal */
    return true;
}

hk_status hki_infer_broadcast(hki_type *out, const hki_type *a, const hki_type *b)
{
    if (a->rank < 0 || b->rank < 0) {
        out->rank = -1;
        return NULL;
    }
    hki_type result = {.dtype = out->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < result.rank; i++) {
        int ia = i - (result.rank - a->rank), ib = i - (result.rank - b->rank);
        if (!broadcast_dim(&result.dims[i], ia < 0 ? 1 : a->dims[ia], ib < 0 ? 1 : b->dims[ib])) {
            char text_a[HKI_SHAPE_TEXT], text_b[HKI_SHAPE_TEXT];
            return HK_ERR(HK_INVALID_SHAPE, "cannot broadcast %s with %s",
                          hki_shape_text(text_a, a->dtype, a->rank, a->dims),
                          hki_shape_text(text_b, b->dtype, b->rank, b->dims));
        }
    }
    *out = result;
    return NULL;
}

hk_status hki_infer_same(hki_infer *c)
{
    hki_type_copy(&c->out[0], c->in[0]);
    return NULL;
}

hk_status hki_infer_elementwise(hki_infer *c)
{
    hki_type shape = *c->in[0];
    for (int i = 1; i < c->input_count; i++)
        if (c->in[i])
            HK_TRY(hki_infer_broadcast(&shape, &shape, c->in[i]));
    shape.dtype = c->out[0].dtype;
    c->out[0] = shape;
    return NULL;
}
