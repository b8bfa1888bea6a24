/* Visitors of a pool walk in plain C, for one type and any layout: T, NAME and LOWEST are defined by the includer. The
 * same order of operations as in kernels/pool.inl. */

static T NAME(best)(int64_t *at, const T *x, const hkk_pool_taps *t)
{
    T max = t->tap_count ? x[t->taps[0]] : LOWEST;
    *at = 0;
    for (int64_t k = 1; k < t->tap_count; k++) {
        T v = x[t->taps[k]];
        if (v > max || v != v) {
            max = v;
            *at = k;
        }
    }
    return max;
}

static void NAME(visit_max)(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    int64_t at;
    for (int64_t c = 0; c < t->channels; c++)
        for (int64_t p = 0; p < t->pixels; p++)
            ((T *)w->y->data)[y_offset + c * w->y_channel_stride + p * t->y_step] =
                NAME(best)(&at, (const T *)w->x->data + x_offset + c * w->x_channel_stride + p * t->x_step, t);
}

static void NAME(visit_max_grad)(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    const T *x = w->extra;
    T *dx = w->x->data;
    int64_t at;
    for (int64_t c = 0; c < t->channels && t->tap_count; c++)
        for (int64_t p = 0; p < t->pixels; p++) {
            int64_t start = x_offset + c * w->x_channel_stride + p * t->x_step;
            NAME(best)(&at, x + start, t);
            dx[start + t->taps[at]] += ((const T *)w->y->data)[y_offset + c * w->y_channel_stride + p * t->y_step];
        }
}

static void NAME(visit_sum)(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    for (int64_t c = 0; c < t->channels; c++)
        for (int64_t p = 0; p < t->pixels; p++) {
            const T *x = (const T *)w->x->data + x_offset + c * w->x_channel_stride + p * t->x_step;
            T sum = 0;
            for (int64_t k = 0; k < t->tap_count; k++)
                sum += x[t->taps[k]];
            ((T *)w->y->data)[y_offset + c * w->y_channel_stride + p * t->y_step] = sum / (T)t->divisor;
        }
}

static void NAME(visit_sum_grad)(const hki_pool_walk *w, const hkk_pool_taps *t, int64_t x_offset, int64_t y_offset)
{
    for (int64_t c = 0; c < t->channels; c++)
        for (int64_t p = 0; p < t->pixels; p++) {
            T *dx = (T *)w->x->data + x_offset + c * w->x_channel_stride + p * t->x_step;
            T g = ((const T *)w->y->data)[y_offset + c * w->y_channel_stride + p * t->y_step] / (T)t->divisor;
            for (int64_t k = 0; k < t->tap_count; k++)
                dx[t->taps[k]] += g;
        }
}

#undef T
#undef NAME
#undef LOWEST
