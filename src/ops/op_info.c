/* The public view (include/halka/op.h) of the operator descriptors. */
#include "halka/op.h"

#include "graph/op.h"

/* A public hk_op is a descriptor seen from outside. */
static const hki_op *inner(const hk_op *op)
{
    return (const hki_op *)op;
}

int hk_op_count(void)
{
    return hki_op_count();
}

const hk_op *hk_op_at(int index)
{
    return index >= 0 && index < hki_op_count() ? (const hk_op *)hki_op_at(index) : NULL;
}

const hk_op *hk_op_find(const char *domain, const char *name)
{
    return (const hk_op *)hki_op_find(domain ? domain : "", name);
}

const char *hk_op_name(const hk_op *op)
{
    return inner(op)->name;
}

const char *hk_op_domain(const hk_op *op)
{
    return inner(op)->domain ? inner(op)->domain : "";
}

const char *hk_op_doc(const hk_op *op)
{
    return inner(op)->doc ? inner(op)->doc : "";
}

hk_op_gradient hk_op_gradient_kind(const hk_op *op)
{
    if (inner(op)->grad)
        return HK_GRADIENT_RULE;
    return inner(op)->expand ? HK_GRADIENT_EXPANSION : HK_GRADIENT_NONE;
}

const char *hk_op_layout(const hk_op *op)
{
    static const char *const names[] = {"plain", "any", "channels-last"};
    return names[inner(op)->layout];
}

int hk_op_version(const hk_op *op, int index)
{
    return index >= 0 && index < HKI_MAX_VERSIONS ? inner(op)->versions[index].since : 0;
}

static const hki_port *port_at(const hki_port *ports, int index)
{
    for (int i = 0; i <= index; i++)
        if (i == HKI_MAX_PORTS || !ports[i].name)
            return NULL;
    return index < 0 ? NULL : &ports[index];
}

static bool port(hk_op_port *out, const hki_port *found)
{
    if (!found)
        return false;
    *out = (hk_op_port){found->name, found->variable, found->flags & HKI_OPTIONAL, found->flags & HKI_VARIADIC};
    return true;
}

bool hk_op_input(hk_op_port *out, const hk_op *op, int index)
{
    return port(out, port_at(inner(op)->inputs, index));
}

bool hk_op_output(hk_op_port *out, const hk_op *op, int index)
{
    return port(out, port_at(inner(op)->outputs, index));
}

bool hk_op_input_takes(const hk_op *op, int index, hk_dtype dtype)
{
    const hki_port *found = port_at(inner(op)->inputs, index);
    return found && found->types & HKI_BIT(dtype);
}

bool hk_op_output_takes(const hk_op *op, int index, hk_dtype dtype)
{
    const hki_port *found = port_at(inner(op)->outputs, index);
    return found && found->types & HKI_BIT(dtype);
}

bool hk_op_attribute_at(hk_op_attribute *out, const hk_op *op, int index)
{
    if (index < 0)
        return false;
    for (int i = 0; i <= index; i++)
        if (i == HKI_MAX_ATTRIBUTES || !inner(op)->attributes[i].name)
            return false;
    const hki_attribute_spec *a = &inner(op)->attributes[index];
    *out = (hk_op_attribute){a->name, a->kind, a->required, .s = NULL};
    if (a->kind == HK_ATTRIBUTE_FLOAT)
        out->f = a->fallback.f;
    else if (a->kind == HK_ATTRIBUTE_INT)
        out->i = a->fallback.i;
    else if (a->kind == HK_ATTRIBUTE_STRING)
        out->s = a->fallback.s;
    return true;
}
