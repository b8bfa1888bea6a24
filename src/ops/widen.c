/* See widen.h. The copies lie in the scratch of the node, so that nothing is allocated while running. */
#include "ops/widen.h"

#include "tensor/number.h"

typedef struct wide_run {
    hki_run run;
    hk_tensor tensors[2 * HKI_MAX_PORTS];
    const hk_tensor *in[HKI_MAX_PORTS];
    hk_tensor *out[HKI_MAX_PORTS];
    size_t size; /* of the copies */
} wide_run;

size_t hki_scratch_size(int64_t count, size_t element_size)
{
    return ((size_t)count * element_size + HKI_ALIGNMENT - 1) / HKI_ALIGNMENT * HKI_ALIGNMENT;
}

static bool is_widened(const hk_tensor *t, const hk_tensor *first, hk_dtype to)
{
    return t && t->dtype != to && (t->dtype == first->dtype || hki_dtype_is_float(t->dtype));
}

static hk_tensor *widen(wide_run *w, hk_tensor *copy, const hk_tensor *t, hk_dtype to)
{
    *copy = *t;
    copy->dtype = to;
    copy->buffer = NULL;
    copy->data = w->run.scratch ? (char *)w->run.scratch + w->size : NULL;
    w->size += hki_scratch_size(hki_shape_count(t->dims, 0, t->rank), hk_dtype_size(to));
    return copy;
}

/* Lays the copies out; the scratch of the inner run follows them. */
static void lay_out(wide_run *w, const hki_run *r, hk_dtype to)
{
    w->run = *r;
    w->size = 0;
    for (int i = 0; i < r->input_count; i++)
        w->in[i] = is_widened(r->in[i], r->in[0], to) ? widen(w, &w->tensors[i], r->in[i], to) : r->in[i];
    for (int i = 0; i < r->output_count; i++)
        w->out[i] = is_widened(r->out[i], r->in[0], to) ? widen(w, &w->tensors[HKI_MAX_PORTS + i], r->out[i], to)
                                                        : r->out[i];
    w->run.in = w->in;
    w->run.out = w->out;
    w->run.packed = NULL;
    w->run.scratch = r->scratch ? (char *)r->scratch + w->size : NULL;
}

hk_status hki_run_widened(hki_run *r, hk_dtype to, hki_run_fn *run)
{
    wide_run w;
    lay_out(&w, r, to);
    for (int i = 0; i < r->input_count; i++)
        if (w.in[i] != r->in[i])
            HK_TRY(hki_convert(w.tensors[i].data, to, r->in[i]->data, r->in[i]->dtype,
                               hki_shape_count(r->in[i]->dims, 0, r->in[i]->rank)));
    HK_TRY(run(&w.run));
    for (int i = 0; i < r->output_count; i++)
        if (w.out[i] != r->out[i])
            HK_TRY(hki_convert(r->out[i]->data, r->out[i]->dtype, w.out[i]->data, to,
                               hki_shape_count(r->out[i]->dims, 0, r->out[i]->rank)));
    return NULL;
}

size_t hki_widened_scratch(const hki_run *r, hk_dtype to, hki_scratch_fn *scratch)
{
    wide_run w;
    hki_run shapes = *r;
    shapes.scratch = NULL;
    lay_out(&w, &shapes, to);
    return w.size + (scratch ? scratch(&w.run) : 0);
}

static bool needs_widening(const hki_run *r)
{
    hk_dtype dtype = r->in[0]->dtype;
    if (dtype != HK_FLOAT && dtype != HK_DOUBLE)
        return true;
    for (int i = 1; i < r->input_count; i++)
        if (r->in[i] && hki_dtype_is_float(r->in[i]->dtype) && r->in[i]->dtype != dtype)
            return true;
    for (int i = 0; i < r->output_count; i++)
        if (r->out[i] && hki_dtype_is_float(r->out[i]->dtype) && r->out[i]->dtype != dtype)
            return true;
    return false;
}

hk_status hki_run_float(hki_run *r, hki_run_fn *run)
{
    return needs_widening(r) ? hki_run_widened(r, HK_DOUBLE, run) : run(r);
}

size_t hki_float_scratch(const hki_run *r, hki_scratch_fn *scratch)
{
    return needs_widening(r) ? hki_widened_scratch(r, HK_DOUBLE, scratch) : scratch ? scratch(r) : 0;
}

static bool is_half(const hki_run *r)
{
    return r->in[0]->dtype == HK_FLOAT16 || r->in[0]->dtype == HK_BFLOAT16;
}

hk_status hki_run_half(hki_run *r, hki_run_fn *run)
{
    return is_half(r) ? hki_run_widened(r, HK_FLOAT, run) : run(r);
}

size_t hki_half_scratch(const hki_run *r, hki_scratch_fn *scratch)
{
    return is_half(r) ? hki_widened_scratch(r, HK_FLOAT, scratch) : scratch(r);
}
