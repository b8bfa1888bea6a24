/* The shape of a convolution from a node's attributes and dims. See convolution_node.h. */
#include <inttypes.h>
#include <string.h>

#include "ops/convolution_node.h"

typedef struct geometry {
    int rank; /* spatial dims */
    int64_t kernel[3], stride[3], dilation[3], begin[3], end[3];
    int64_t group;
    const char *auto_pad;
} geometry;

/* Reads a list of `count` numbers, each >= least; absent: fallback everywhere. */
static hk_status read_list(int64_t *out, const hk_node *node, const char *name, int count, int64_t least,
                           int64_t fallback)
{
    int64_t found;
    const int64_t *list = hki_attribute_ints(node, name, &found);
    if (list && found != count)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute '%s' has %" PRId64 " numbers, expected %d", name, found, count);
    for (int i = 0; i < count; i++) {
        out[i] = list ? list[i] : fallback;
        if (out[i] < least || out[i] > INT32_MAX)
            return HK_ERR(HK_INVALID_ARGUMENT, "attribute '%s' has %" PRId64 ", expected %" PRId64 " .. %d", name,
                          out[i], least, INT32_MAX);
    }
    return NULL;
}

static hk_status read_geometry(geometry *g, const hk_node *node, int rank, const int64_t *w_dims)
{
    static const char *const known[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    int64_t pads[6];
    if (rank < 3)
        return HK_ERR(HK_INVALID_SHAPE, "a convolution needs an input (N, C, spatial...), found rank %d", rank);
    if (rank > 5)
        return HK_ERR(HK_UNSUPPORTED, "convolutions have at most 3 spatial dims, found %d", rank - 2);
    *g = (geometry){
        .rank = rank - 2, .group = hki_attribute_int(node, "group"), .auto_pad = hki_attribute_text(node, "auto_pad")};
    bool is_known = false;
    for (int i = 0; i < 4; i++)
        is_known |= !strcmp(g->auto_pad, known[i]);
    if (!is_known)
        return HK_ERR(HK_INVALID_ARGUMENT,
                      "attribute 'auto_pad' is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", g->auto_pad);
    if (g->group < 1)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'group' is %" PRId64 ", expected 1 or more", g->group);
    HK_TRY(read_list(g->kernel, node, "kernel_shape", g->rank, 1, 1));
    HK_TRY(read_list(g->stride, node, "strides", g->rank, 1, 1));
    HK_TRY(read_list(g->dilation, node, "dilations", g->rank, 1, 1));
    HK_TRY(read_list(pads, node, "pads", 2 * g->rank, 0, 0));
    int64_t given;
    bool has_kernel = hki_attribute_ints(node, "kernel_shape", &given) != NULL;
    for (int d = 0; d < g->rank; d++) {
        g->begin[d] = pads[d];
        g->end[d] = pads[g->rank + d];
        int64_t found = w_dims[d + 2];
        if (has_kernel && found >= 0 && found != g->kernel[d])
            return HK_ERR(HK_INVALID_SHAPE,
                          "attribute 'kernel_shape' has %" PRId64 " in dim %d but the weights have %" PRId64,
                          g->kernel[d], d, found);
        if (!has_kernel)
            g->kernel[d] = found;
        if (g->kernel[d] == 0)
            return HK_ERR(HK_INVALID_SHAPE, "the weights are empty in spatial dim %d", d);
    }
    return NULL;
}

/* Channels: c of the side with w_dims[1] per group, m of the side with w_dims[0] in all. */
static hk_status check_channels(const geometry *g, int64_t c, int64_t m, const int64_t *w_dims)
{
    if (!w_dims[0] || !w_dims[1])
        return HK_ERR(HK_INVALID_SHAPE, "the weights are empty: %" PRId64 " rows of %" PRId64 " channels", w_dims[0],
                      w_dims[1]);
    if (c >= 0 && w_dims[1] >= 0 && c != w_dims[1] * g->group)
        return HK_ERR(HK_INVALID_SHAPE, "%" PRId64 " channels do not fit weights of %" PRId64 " in %" PRId64 " groups",
                      c, w_dims[1], g->group);
    if (w_dims[0] >= 0 && w_dims[0] % g->group)
        return HK_ERR(HK_INVALID_SHAPE, "weights with %" PRId64 " rows do not divide into %" PRId64 " groups",
                      w_dims[0], g->group);
    if (m >= 0 && w_dims[0] >= 0 && m != w_dims[0])
        return HK_ERR(HK_INVALID_SHAPE, "%" PRId64 " channels do not fit weights with %" PRId64 " rows", m, w_dims[0]);
    return NULL;
}

/* Output size of one dim of a convolution; fixes automatic pads. */
static hk_status forward_dim(int64_t *out, geometry *g, int d, int64_t in)
{
    bool same = !strncmp(g->auto_pad, "SAME", 4);
    *out = HKI_DIM_UNKNOWN;
    if (strcmp(g->auto_pad, "NOTSET"))
        g->begin[d] = g->end[d] = 0;
    if (in < 0 || g->kernel[d] < 0)
        return NULL;
    int64_t window = (g->kernel[d] - 1) * g->dilation[d] + 1, stride = g->stride[d];
    if (same) {
        *out = (in + stride - 1) / stride;
        int64_t total = (*out - 1) * stride + window - in;
        total = total > 0 && *out ? total : 0;
        g->begin[d] = !strcmp(g->auto_pad, "SAME_UPPER") ? total / 2 : total - total / 2;
        g->end[d] = total - g->begin[d];
        return NULL;
    }
    int64_t room = in + g->begin[d] + g->end[d] - window;
    if (room < 0 && in > 0)
        return HK_ERR(HK_INVALID_SHAPE,
                      "a kernel of %" PRId64 " (dilation %" PRId64 ") does not fit into dim %d of %" PRId64
                      " with its pads",
                      g->kernel[d], g->dilation[d], d + 2, in);
    *out = room < 0 ? 0 : room / stride + 1;
    return NULL;
}

/* Puts dim d of g into the last dims of the three of the kernels. */
static void set_dim(hkk_convolution *s, const geometry *g, int d, int64_t in, int64_t out)
{
    int to = 3 - g->rank + d;
    s->in[to] = in;
    s->out[to] = out;
    s->kernel[to] = g->kernel[d];
    s->stride[to] = g->stride[d];
    s->dilation[to] = g->dilation[d];
    s->pad[to] = g->begin[d];
}

static void set_plain_dims(hkk_convolution *s, int64_t batch, int64_t group)
{
    *s = (hkk_convolution){.batch = batch, .groups = group};
    for (int d = 0; d < 3; d++)
        s->in[d] = s->out[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
}

hk_status hki_convolution_read(hkk_convolution *s, const hk_node *node, int rank, const int64_t *x_dims,
                               const int64_t *w_dims)
{
    geometry g;
    HK_TRY(read_geometry(&g, node, rank, w_dims));
    HK_TRY(check_channels(&g, x_dims[1], HKI_DIM_UNKNOWN, w_dims));
    set_plain_dims(s, x_dims[0], g.group);
    s->C = x_dims[1];
    s->M = w_dims[0];
    for (int d = 0; d < g.rank; d++) {
        int64_t out;
        HK_TRY(forward_dim(&out, &g, d, x_dims[d + 2]));
        set_dim(s, &g, d, x_dims[d + 2], out);
    }
    hkk_convolution_prepare(s);
    return NULL;
}

/* Result size of one dim of a transposed convolution; fixes pads that follow from the shape. */
static hk_status transposed_dim(int64_t *out, geometry *g, int d, int64_t in, int64_t extra, int64_t wanted)
{
    bool same = !strncmp(g->auto_pad, "SAME", 4);
    *out = HKI_DIM_UNKNOWN;
    if (!strcmp(g->auto_pad, "VALID"))
        g->begin[d] = g->end[d] = 0;
    if (in < 0 || g->kernel[d] < 0)
        return NULL;
    int64_t full = g->stride[d] * (in - 1) + extra + (g->kernel[d] - 1) * g->dilation[d] + 1;
    if (wanted < 0 && !same) {
        *out = full - g->begin[d] - g->end[d];
    } else {
        *out = wanted >= 0 ? wanted : in * g->stride[d];
        int64_t total = full > *out ? full - *out : 0;
        g->begin[d] = !strcmp(g->auto_pad, "SAME_UPPER") ? total / 2 : total - total / 2;
        g->end[d] = total - g->begin[d];
    }
    if (*out < 0)
        return HK_ERR(HK_INVALID_SHAPE, "the pads take more than the %" PRId64 " elements of spatial dim %d", full, d);
    return NULL;
}

hk_status hki_convolution_read_transposed(hkk_convolution *s, const hk_node *node, int rank, const int64_t *x_dims,
                                          const int64_t *w_dims)
{
    geometry g;
    int64_t extra[3], wanted[5], count;
    HK_TRY(read_geometry(&g, node, rank, w_dims));
    HK_TRY(check_channels(&g, HKI_DIM_UNKNOWN, x_dims[1], w_dims));
    HK_TRY(read_list(extra, node, "output_padding", g.rank, 0, 0));
    const int64_t *shape = hki_attribute_ints(node, "output_shape", &count);
    bool has_shape = shape && count;
    if (has_shape && count == g.rank + 2) { /* some writers give N and C too */
        shape += 2;
        count -= 2;
    }
    if (has_shape && count != g.rank)
        return HK_ERR(HK_INVALID_ARGUMENT, "attribute 'output_shape' has %" PRId64 " numbers, expected %d", count,
                      g.rank);
    for (int d = 0; d < g.rank; d++)
        wanted[d] = has_shape ? shape[d] : HKI_DIM_UNKNOWN;
    set_plain_dims(s, x_dims[0], g.group);
    s->C = hki_dim_mul(w_dims[1], g.group);
    s->M = w_dims[0];
    for (int d = 0; d < g.rank; d++) {
        int64_t out;
        if (extra[d] >= g.stride[d] && extra[d] >= g.dilation[d])
            return HK_ERR(HK_INVALID_ARGUMENT,
                          "attribute 'output_padding' has %" PRId64 " in dim %d, expected less than stride or dilation",
                          extra[d], d);
        HK_TRY(transposed_dim(&out, &g, d, x_dims[d + 2], extra[d], wanted[d]));
        set_dim(s, &g, d, out, x_dims[d + 2]);
    }
    hkk_convolution_prepare(s);
    return NULL;
}
