/* Convolutions in float64 by plain loops over tensors of either layout; products are added in the order of the kernels.
 */
#include "ops/convolution_plain.h"

/* Strides of a tensor (N, C, spatial...) with three spatial dims. */
typedef struct strides {
    int64_t n, c, at[3];
} strides;

static strides strides_of(const hk_tensor *t)
{
    int64_t all[HK_MAX_RANK];
    strides s = {0};
    hki_tensor_strides(all, t);
    s.n = all[0];
    s.c = all[1];
    for (int d = 2; d < t->rank; d++)
        s.at[3 - (t->rank - 2) + d - 2] = all[d];
    return s;
}

typedef struct plain {
    const hkk_convolution *s;
    const double *x, *w, *y, *bias;
    double *to;
    strides sx, sy;
} plain;

static void split(int64_t out[3], int64_t index, const int64_t dims[3])
{
    out[2] = index % dims[2];
    out[1] = index / dims[2] % dims[1];
    out[0] = index / (dims[2] * dims[1]);
}

static int64_t offset(const strides *s, int64_t n, int64_t c, const int64_t at[3])
{
    return n * s->n + c * s->c + at[0] * s->at[0] + at[1] * s->at[1] + at[2] * s->at[2];
}

/* The place in x under a tap of an output pixel; false in the padding. */
static bool under(int64_t in[3], const hkk_convolution *s, const int64_t out[3], const int64_t tap[3])
{
    for (int d = 0; d < 3; d++) {
        in[d] = out[d] * s->stride[d] + tap[d] * s->dilation[d] - s->pad[d];
        if (in[d] < 0 || in[d] >= s->in[d])
            return false;
    }
    return true;
}

/* One sample and output channel. */
static void forward_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const plain *p = context;
    const hkk_convolution *s = p->s;
    int64_t n = block / s->M, m = block % s->M, group = m / s->group_m;
    for (int64_t pixel = 0; pixel < s->out_pixels; pixel++) {
        int64_t out[3], in[3], tap[3];
        double sum = 0;
        split(out, pixel, s->out);
        for (int64_t t = 0; t < s->taps; t++) {
            split(tap, t, s->kernel);
            if (!under(in, s, out, tap))
                continue;
            for (int64_t c = 0; c < s->group_c; c++)
                sum += p->x[offset(&p->sx, n, group * s->group_c + c, in)] * p->w[(m * s->group_c + c) * s->taps + t];
        }
        p->to[offset(&p->sy, n, m, out)] = p->bias ? sum + p->bias[m] : sum;
    }
}

/* One sample and input channel: each input pixel sums over the outputs that it reaches. */
static void backward_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const plain *p = context;
    const hkk_convolution *s = p->s;
    int64_t n = block / s->C, c = block % s->C, group = c / s->group_c;
    for (int64_t pixel = 0; pixel < s->in_pixels; pixel++) {
        int64_t in[3], out[3], tap[3];
        double sum = 0;
        split(in, pixel, s->in);
        for (int64_t t = 0; t < s->taps; t++) {
            bool reached = true;
            split(tap, t, s->kernel);
            for (int d = 0; d < 3; d++) {
                int64_t distance = in[d] + s->pad[d] - tap[d] * s->dilation[d];
                out[d] = distance / s->stride[d];
                reached &= distance >= 0 && distance % s->stride[d] == 0 && out[d] < s->out[d];
            }
            for (int64_t m = 0; m < s->group_m && reached; m++)
                sum += p->y[offset(&p->sy, n, group * s->group_m + m, out)] *
                       p->w[((group * s->group_m + m) * s->group_c + c % s->group_c) * s->taps + t];
        }
        p->to[offset(&p->sx, n, c, in)] = p->bias ? sum + p->bias[c] : sum;
    }
}

/* One output channel and channel of its group. */
static void weights_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const plain *p = context;
    const hkk_convolution *s = p->s;
    int64_t m = block / s->group_c, c = m / s->group_m * s->group_c + block % s->group_c;
    for (int64_t t = 0; t < s->taps; t++) {
        int64_t in[3], out[3], tap[3];
        double sum = 0;
        split(tap, t, s->kernel);
        for (int64_t pixel = 0; pixel < s->batch * s->out_pixels; pixel++) {
            int64_t n = pixel / s->out_pixels;
            split(out, pixel % s->out_pixels, s->out);
            if (under(in, s, out, tap))
                sum += p->x[offset(&p->sx, n, c, in)] * p->y[offset(&p->sy, n, m, out)];
        }
        p->to[block * s->taps + t] = sum;
    }
}

void hki_convolution_plain(const hki_convolution_pass *pass)
{
    const hkk_convolution *s = pass->shape;
    bool forward = pass->direction == HKK_CONVOLUTION_FORWARD;
    const hk_tensor *x = forward ? pass->from : pass->to, *y = forward ? pass->to : pass->from;
    plain p = {.s = s,
               .x = x->data,
               .y = y->data,
               .w = pass->w->data,
               .bias = pass->bias ? pass->bias->data : NULL,
               .to = pass->to->data,
               .sx = strides_of(x),
               .sy = strides_of(y)};
    hki_pool_run(pass->run->pool, s->batch * (forward ? s->M : s->C), forward ? forward_block : backward_block, &p);
}

void hki_convolution_weights_plain(const hki_convolution_weights *pass)
{
    plain p = {.s = pass->shape,
               .x = pass->x->data,
               .y = pass->dy->data,
               .to = pass->dw->data,
               .sx = strides_of(pass->x),
               .sy = strides_of(pass->dy)};
    hki_pool_run(pass->run->pool, pass->shape->M * pass->shape->group_c, weights_block, &p);
}
