/* halka op: the operator table, or all about one operator. */
#include "cli/cli.h"
#include "halka/op.h"

static const hk_dtype dtypes[] = {
#define DTYPE_ITEM(name, number, bits, text) name,
    HK_DTYPES(DTYPE_ITEM)
#undef DTYPE_ITEM
};
#define DTYPE_COUNT ((int)(sizeof dtypes / sizeof *dtypes))

static const char *gradient_text(const hk_op *op)
{
    static const char *const texts[] = {"no", "yes", "through its parts"};
    return texts[hk_op_gradient_kind(op)];
}

/* "1 6 7 13 14" */
static const char *versions_text(const hk_op *op)
{
    static char text[128];
    int length = 0;
    text[0] = '\0';
    for (int i = 0; hk_op_version(op, i); i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", i ? " " : "", hk_op_version(op, i));
    return text;
}

/* The types of a port, "all" for most of them. */
static const char *types_text(const hk_op *op, bool is_input, int index)
{
    static char text[256];
    int length = 0;
    text[0] = '\0';
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (is_input ? hk_op_input_takes(op, index, dtypes[d]) : hk_op_output_takes(op, index, dtypes[d]))
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%s", length ? " " : "",
                               hk_dtype_name(dtypes[d]));
    return text;
}

/* ---- One operator. ---- */

static void ports_text(const hk_op *op, bool is_input)
{
    hk_op_port port;
    for (int i = 0; is_input ? hk_op_input(&port, op, i) : hk_op_output(&port, op, i); i++)
        printf("  %-6s  %-14s %-4s %s%s%s\n",
               i          ? ""
               : is_input ? "input"
                          : "output",
               port.name, port.variable ? port.variable : "", types_text(op, is_input, i),
               port.is_optional ? " (optional)" : "", port.is_variadic ? " (any number)" : "");
}

static const char *fallback_text(const hk_op_attribute *a)
{
    static char text[160];
    text[0] = '\0';
    if (a->is_required)
        snprintf(text, sizeof text, "required");
    else if (a->kind == HK_ATTRIBUTE_INT)
        snprintf(text, sizeof text, "= %lld", (long long)a->i);
    else if (a->kind == HK_ATTRIBUTE_FLOAT)
        snprintf(text, sizeof text, "= %g", (double)a->f);
    else if (a->kind == HK_ATTRIBUTE_STRING && a->s)
        snprintf(text, sizeof text, "= \"%s\"", a->s);
    return text;
}

static const char *kind_name(hk_attribute_kind kind)
{
    static const char *const names[] = {"", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings"};
    return kind >= 1 && kind <= 8 ? names[kind] : "?";
}

static void one_text(const hk_op *op)
{
    printf("%s%s%s: %s\n\n", *hk_op_domain(op) ? hk_op_domain(op) : "", *hk_op_domain(op) ? "." : "", hk_op_name(op),
           hk_op_doc(op));
    ports_text(op, true);
    ports_text(op, false);
    hk_op_attribute a;
    for (int i = 0; hk_op_attribute_at(&a, op, i); i++)
        printf("  %-6s  %-14s %-8s %s\n", i ? "" : "attr", a.name, kind_name(a.kind), fallback_text(&a));
    if (*hk_op_domain(op))
        printf("\n  domain    %s: never in an exported file\n", hk_op_domain(op));
    else
        printf("\n  opsets    %s (older ones are upgraded on loading)\n", versions_text(op));
    printf("  gradient  %s\n  layout    %s\n", gradient_text(op), hk_op_layout(op));
}

static void json_ports(const char *key, const hk_op *op, bool is_input)
{
    hk_op_port port;
    json_open(key, '[');
    for (int i = 0; is_input ? hk_op_input(&port, op, i) : hk_op_output(&port, op, i); i++) {
        json_open(NULL, '{');
        json_text("name", port.name);
        json_text("variable", port.variable);
        json_bool("optional", port.is_optional);
        json_bool("variadic", port.is_variadic);
        json_open("types", '[');
        for (int d = 0; d < DTYPE_COUNT; d++)
            if (is_input ? hk_op_input_takes(op, i, dtypes[d]) : hk_op_output_takes(op, i, dtypes[d]))
                json_text(NULL, hk_dtype_name(dtypes[d]));
        json_close();
        json_close();
    }
    json_close();
}

static void one_json(const hk_op *op)
{
    json_open(NULL, '{');
    json_text("name", hk_op_name(op));
    json_text("domain", hk_op_domain(op));
    json_text("doc", hk_op_doc(op));
    json_open("opsets", '[');
    for (int i = 0; hk_op_version(op, i); i++)
        json_integer(NULL, hk_op_version(op, i));
    json_close();
    json_text("gradient", gradient_text(op));
    json_text("layout", hk_op_layout(op));
    json_ports("inputs", op, true);
    json_ports("outputs", op, false);
    json_open("attributes", '[');
    hk_op_attribute a;
    for (int i = 0; hk_op_attribute_at(&a, op, i); i++) {
        json_open(NULL, '{');
        json_text("name", a.name);
        json_text("kind", kind_name(a.kind));
        json_bool("required", a.is_required);
        if (a.kind == HK_ATTRIBUTE_INT && !a.is_required)
            json_integer("default", a.i);
        if (a.kind == HK_ATTRIBUTE_FLOAT && !a.is_required)
            json_number("default", (double)a.f);
        if (a.kind == HK_ATTRIBUTE_STRING && !a.is_required)
            json_text("default", a.s);
        json_close();
    }
    json_close();
    json_close();
}

/* ---- The table. ---- */

static void table(bool with_inner)
{
    int shown = 0, gradients = 0;
    printf("%-28s %-10s %-18s %-14s %s\n", "operator", "opset", "gradient", "layout", "what it computes");
    for (int i = 0; i < hk_op_count(); i++) {
        const hk_op *op = hk_op_at(i);
        bool is_inner = *hk_op_domain(op) != '\0';
        if (is_inner && !with_inner)
            continue;
        int last = 0, first = hk_op_version(op, 0);
        for (int k = 0; hk_op_version(op, k); k++)
            last = hk_op_version(op, k);
        char name[64], opset[24];
        snprintf(name, sizeof name, "%s%s", is_inner ? "halka." : "", hk_op_name(op));
        snprintf(opset, sizeof opset, is_inner ? "-" : first == last ? "%d" : "%d-%d", first, last);
        printf("%-28s %-10s %-18s %-14s %s\n", name, opset, gradient_text(op), hk_op_layout(op), hk_op_doc(op));
        shown++;
        gradients += hk_op_gradient_kind(op) != HK_GRADIENT_NONE;
    }
    printf("\n%d operators, %d with a gradient. `halka op NAME` shows one.\n", shown, gradients);
}

static int find(const hk_op **out, const char *name)
{
    const char *names[600];
    int count = 0;
    bool is_inner = !strncmp(name, "halka.", 6);
    *out = hk_op_find(is_inner ? "halka" : "", is_inner ? name + 6 : name);
    if (!*out)
        *out = hk_op_find("halka", name);
    if (*out)
        return 0;
    for (int i = 0; i < hk_op_count() && count < 600; i++)
        names[count++] = hk_op_name(hk_op_at(i));
    const char *nearest = cli_nearest(name, names, count);
    return cli_error(HK_NOT_FOUND, "there is no operator '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "; `halka op` lists them");
}

int cmd_op(cli_call *call)
{
    const char *name = cli_argument_at(call, 0);
    if (name) {
        const hk_op *op;
        int code = find(&op, name);
        if (code)
            return code;
        if (call->json)
            one_json(op);
        else
            one_text(op);
        return 0;
    }
    if (call->json) {
        json_open(NULL, '[');
        for (int i = 0; i < hk_op_count(); i++)
            if (cli_has(call, "all") || !*hk_op_domain(hk_op_at(i)))
                one_json(hk_op_at(i));
        json_close();
    } else {
        table(cli_has(call, "all"));
    }
    return 0;
}
