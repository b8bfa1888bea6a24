/* The normalize family over lanes; compiled once per ISA. Contract and order of sums: kernels/normalize.h. */
#include "kernels/math.inl"
#include "kernels/normalize.h"

HKK_INLINE hkk_f32x16 hkk_part(const float *x, int lanes)
{
    return lanes == 16 ? hkk_load(x) : hkk_load_n(x, lanes);
}

HKK_INLINE void hkk_store_part(float *y, hkk_f32x16 a, int lanes)
{
    if (lanes == 16)
        hkk_store(y, a);
    else
        hkk_store_n(y, a, lanes);
}

HKK_INLINE int hkk_lanes_left(int64_t left)
{
    return left < 16 ? (int)left : 16;
}

/* Zero in the lanes that are missing. */
HKK_INLINE hkk_f32x16 hkk_only(hkk_f32x16 a, int lanes)
{
    return lanes == 16 ? a : hkk_select(hkk_mask_first(lanes), a, hkk_zero());
}

/* ---- Columns: strips of four vectors stay in registers, and a strip of rows in the first-level cache for the second
 * pass. ---- */

/* Mean and m2 of `vectors` vectors of columns; the last has `lanes` lanes. */
HKK_INLINE void hkk_moments_strip(float *mean, float *m2, const float *x, int64_t rows, int64_t channels, int vectors,
                                  int lanes)
{
    hkk_f32x16 sum[4], square[4], count = hkk_set1((float)rows);
    for (int v = 0; v < vectors; v++)
        sum[v] = square[v] = hkk_zero();
    for (int64_t i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[v] = hkk_add(sum[v], hkk_part(x + i * channels + 16 * v, lanes));
    for (int v = 0; v < vectors; v++)
        sum[v] = hkk_div(sum[v], count);
    for (int64_t i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            hkk_f32x16 d = hkk_sub(hkk_part(x + i * channels + 16 * v, lanes), sum[v]);
            square[v] = hkk_fma(d, d, square[v]);
        }
    for (int v = 0; v < vectors; v++) {
        hkk_store_part(mean + 16 * v, sum[v], lanes);
        hkk_store_part(m2 + 16 * v, square[v], lanes);
    }
}

static void HKK_NAME(hkk_moments_columns_f32)(float *mean, float *m2, const float *x, int64_t rows, int64_t channels)
{
    int64_t c = 0;
    for (; c + 64 <= channels; c += 64)
        hkk_moments_strip(mean + c, m2 + c, x + c, rows, channels, 4, 16);
    for (; c + 16 <= channels; c += 16)
        hkk_moments_strip(mean + c, m2 + c, x + c, rows, channels, 1, 16);
    if (c < channels)
        hkk_moments_strip(mean + c, m2 + c, x + c, rows, channels, 1, (int)(channels - c));
}

static void HKK_NAME(hkk_merge_moments_f32)(float *mean, float *m2, const float *mean_b, const float *m2_b,
                                            int64_t count_a, int64_t count_b, int64_t channels)
{
    double all = (double)count_a + (double)count_b;
    hkk_f32x16 share = hkk_set1((float)((double)count_b / all));
    hkk_f32x16 product = hkk_set1((float)((double)count_a * (double)count_b / all));
    for (int64_t c = 0; c < channels; c += 16) {
        int lanes = hkk_lanes_left(channels - c);
        hkk_f32x16 a = hkk_part(mean + c, lanes), delta = hkk_sub(hkk_part(mean_b + c, lanes), a);
        hkk_f32x16 squares = hkk_add(hkk_part(m2 + c, lanes), hkk_part(m2_b + c, lanes));
        hkk_store_part(mean + c, hkk_fma(delta, share, a), lanes);
        hkk_store_part(m2 + c, hkk_fma(hkk_mul(delta, delta), product, squares), lanes);
    }
}

/* max(0, v), as the activation's kernel has it: NaN comes through. */
HKK_INLINE hkk_f32x16 hkk_relu_if(hkk_f32x16 v, int relu)
{
    return relu ? hkk_max(hkk_zero(), v) : v;
}

/* dy where the output v of a following max(0, v) was more than 0. */
HKK_INLINE hkk_f32x16 hkk_passed(hkk_f32x16 dy, hkk_f32x16 distance, hkk_f32x16 a, hkk_f32x16 bias)
{
    return hkk_select(hkk_gt(hkk_fma(distance, a, bias), hkk_zero()), dy, hkk_zero());
}

HKK_INLINE void hkk_apply_rows(float *y, const float *x, const float *mean, const float *scale, const float *bias,
                               int64_t rows, int64_t channels, int relu)
{
    for (int64_t i = 0; i < rows; i++, x += channels, y += channels)
        for (int64_t c = 0; c < channels; c += 16) {
            int lanes = hkk_lanes_left(channels - c);
            hkk_f32x16 d = hkk_sub(hkk_part(x + c, lanes), hkk_part(mean + c, lanes));
            d = hkk_fma(d, hkk_part(scale + c, lanes), hkk_part(bias + c, lanes));
            hkk_store_part(y + c, hkk_relu_if(d, relu), lanes);
        }
}

static void HKK_NAME(hkk_apply_columns_f32)(float *y, const float *x, const float *mean, const float *scale,
                                            const float *bias, int64_t rows, int64_t channels, int relu)
{
    if (relu)
        hkk_apply_rows(y, x, mean, scale, bias, rows, channels, 1);
    else
        hkk_apply_rows(y, x, mean, scale, bias, rows, channels, 0);
}

/* The vectors of one strip of columns. */
typedef struct hkk_grad_strip {
    const float *dy, *x, *mean, *a, *bias;
    int64_t rows, channels;
} hkk_grad_strip;

HKK_INLINE void hkk_grad_sums_strip(float *sum_dy, float *sum_dy_x, const hkk_grad_strip *s, int64_t c, int vectors,
                                    int lanes, int relu)
{
    hkk_f32x16 sum[4], product[4], mean[4], a[4], bias[4];
    for (int v = 0; v < vectors; v++) {
        sum[v] = product[v] = hkk_zero();
        mean[v] = hkk_part(s->mean + c + 16 * v, lanes);
        a[v] = relu ? hkk_part(s->a + c + 16 * v, lanes) : hkk_zero();
        bias[v] = relu ? hkk_part(s->bias + c + 16 * v, lanes) : hkk_zero();
    }
    for (int64_t i = 0; i < s->rows; i++)
        for (int v = 0; v < vectors; v++) {
            hkk_f32x16 g = hkk_part(s->dy + i * s->channels + c + 16 * v, lanes);
            hkk_f32x16 d = hkk_sub(hkk_part(s->x + i * s->channels + c + 16 * v, lanes), mean[v]);
            g = relu ? hkk_passed(g, d, a[v], bias[v]) : g;
            sum[v] = hkk_add(sum[v], g);
            product[v] = hkk_fma(g, d, product[v]);
        }
    for (int v = 0; v < vectors; v++) {
        hkk_store_part(sum_dy + c + 16 * v, sum[v], lanes);
        hkk_store_part(sum_dy_x + c + 16 * v, product[v], lanes);
    }
}

HKK_INLINE void hkk_grad_sums(float *sum_dy, float *sum_dy_x, const hkk_grad_strip *s, int relu)
{
    int64_t c = 0;
    for (; c + 64 <= s->channels; c += 64)
        hkk_grad_sums_strip(sum_dy, sum_dy_x, s, c, 4, 16, relu);
    for (; c + 16 <= s->channels; c += 16)
        hkk_grad_sums_strip(sum_dy, sum_dy_x, s, c, 1, 16, relu);
    if (c < s->channels)
        hkk_grad_sums_strip(sum_dy, sum_dy_x, s, c, 1, (int)(s->channels - c), relu);
}

static void HKK_NAME(hkk_grad_sums_columns_f32)(float *sum_dy, float *sum_dy_x, const float *dy, const float *x,
                                                const float *mean, const float *a, const float *relu_bias,
                                                int64_t rows, int64_t channels)
{
    hkk_grad_strip s = {dy, x, mean, a, relu_bias, rows, channels};
    if (relu_bias)
        hkk_grad_sums(sum_dy, sum_dy_x, &s, 1);
    else
        hkk_grad_sums(sum_dy, sum_dy_x, &s, 0);
}

HKK_INLINE void hkk_grad_rows(float *dx, const hkk_grad_strip *s, const float *b, const float *d, int relu)
{
    const float *dy = s->dy, *x = s->x;
    for (int64_t i = 0; i < s->rows; i++, dx += s->channels, dy += s->channels, x += s->channels)
        for (int64_t c = 0; c < s->channels; c += 16) {
            int lanes = hkk_lanes_left(s->channels - c);
            hkk_f32x16 distance = hkk_sub(hkk_part(x + c, lanes), hkk_part(s->mean + c, lanes));
            hkk_f32x16 a = hkk_part(s->a + c, lanes), g = hkk_part(dy + c, lanes);
            g = relu ? hkk_passed(g, distance, a, hkk_part(s->bias + c, lanes)) : g;
            g = hkk_fma(a, g, hkk_neg(hkk_part(d + c, lanes)));
            hkk_store_part(dx + c, hkk_fnma(hkk_part(b + c, lanes), distance, g), lanes);
        }
}

static void HKK_NAME(hkk_grad_columns_f32)(float *dx, const float *dy, const float *x, const float *mean,
                                           const float *a, const float *b, const float *d, const float *relu_bias,
                                           int64_t rows, int64_t channels)
{
    hkk_grad_strip s = {dy, x, mean, a, relu_bias, rows, channels};
    if (relu_bias)
        hkk_grad_rows(dx, &s, b, d, 1);
    else
        hkk_grad_rows(dx, &s, b, d, 0);
}

/* ---- Rows. ---- */

HKK_INLINE float hkk_row_sum(const float *x, int64_t n)
{
    hkk_f32x16 sum = hkk_zero();
    for (int64_t i = 0; i < n; i += 16)
        sum = hkk_add(sum, hkk_part(x + i, hkk_lanes_left(n - i)));
    return hkk_sum16(sum);
}

/* Sum of (x - mean)^2. */
HKK_INLINE float hkk_row_m2(const float *x, int64_t n, float mean)
{
    hkk_f32x16 sum = hkk_zero(), m = hkk_set1(mean);
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 d = hkk_only(hkk_sub(hkk_part(x + i, lanes), m), lanes);
        sum = hkk_fma(d, d, sum);
    }
    return hkk_sum16(sum);
}

static void HKK_NAME(hkk_moments_row_f32)(float *mean, float *m2, const float *x, int64_t n)
{
    *mean = hkk_row_sum(x, n) / (float)n;
    *m2 = hkk_row_m2(x, n, *mean);
}

static void HKK_NAME(hkk_apply_row_f32)(float *y, const float *x, int64_t n, float mean, float scale, float bias,
                                        int relu)
{
    hkk_f32x16 m = hkk_set1(mean), s = hkk_set1(scale), b = hkk_set1(bias);
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_store_part(y + i, hkk_relu_if(hkk_fma(hkk_sub(hkk_part(x + i, lanes), m), s, b), relu), lanes);
    }
}

static void HKK_NAME(hkk_grad_sums_row_f32)(float *sum_dy, float *sum_dy_x, const float *dy, const float *x, int64_t n,
                                            float mean, float a, float relu_bias, int relu)
{
    hkk_f32x16 sum = hkk_zero(), product = hkk_zero(), m = hkk_set1(mean);
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 g = hkk_part(dy + i, lanes), d = hkk_only(hkk_sub(hkk_part(x + i, lanes), m), lanes);
        g = relu ? hkk_only(hkk_passed(g, d, hkk_set1(a), hkk_set1(relu_bias)), lanes) : g;
        sum = hkk_add(sum, g);
        product = hkk_fma(g, d, product);
    }
    *sum_dy = hkk_sum16(sum);
    *sum_dy_x = hkk_sum16(product);
}

static void HKK_NAME(hkk_grad_row_f32)(float *dx, const float *dy, const float *x, int64_t n, float mean, float a,
                                       float b, float d, float relu_bias, int relu)
{
    hkk_f32x16 m = hkk_set1(mean), va = hkk_set1(a), vb = hkk_set1(b), vd = hkk_set1(-d);
    for (int64_t i = 0; i < n; i += 16) {
        int lanes = hkk_lanes_left(n - i);
        hkk_f32x16 g = hkk_part(dy + i, lanes), distance = hkk_sub(hkk_part(x + i, lanes), m);
        g = relu ? hkk_passed(g, distance, va, hkk_set1(relu_bias)) : g;
        hkk_store_part(dx + i, hkk_fnma(vb, distance, hkk_fma(va, g, vd)), lanes);
    }
}

/* ---- Layer normalization. ---- */

static void HKK_NAME(hkk_layer_norm_moments_f32)(float *mean, float *inv_std, const float *x, int64_t rows, int64_t n,
                                                 float epsilon, int centered)
{
    for (int64_t r = 0; r < rows; r++, x += n) {
        float m = centered ? hkk_row_sum(x, n) / (float)n : 0.0f, lanes[16];
        float variance = hkk_row_m2(x, n, m) / (float)n;
        hkk_store(lanes, hkk_div(hkk_set1(1.0f), hkk_sqrt(hkk_set1(variance + epsilon))));
        mean[r] = m;
        inv_std[r] = lanes[0];
    }
}

static void HKK_NAME(hkk_layer_norm_rows_f32)(float *y, float *mean, float *inv_std, const float *x,
                                              const float *scale, const float *bias, int64_t rows, int64_t n,
                                              float epsilon, int centered)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        HKK_NAME(hkk_layer_norm_moments_f32)(mean + r, inv_std + r, x, 1, n, epsilon, centered);
        hkk_f32x16 m = hkk_set1(mean[r]), s = hkk_set1(inv_std[r]);
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 v = hkk_mul(hkk_sub(hkk_part(x + i, lanes), m), s), w = hkk_part(scale + i, lanes);
            v = bias ? hkk_fma(v, w, hkk_part(bias + i, lanes)) : hkk_mul(v, w);
            hkk_store_part(y + i, v, lanes);
        }
    }
}

/* g = dy scale: dx = inv_std (g - mean(g) - (x - mean) inv_std^2 mean(g (x - mean))). */
static void HKK_NAME(hkk_layer_norm_grad_rows_f32)(float *dx, float *dscale, float *dbias, const float *dy,
                                                   const float *x, const float *scale, const float *mean,
                                                   const float *inv_std, int64_t rows, int64_t n, int centered)
{
    for (int64_t r = 0; r < rows; r++, x += n, dy += n) {
        hkk_f32x16 m = hkk_set1(mean[r]), s = hkk_set1(inv_std[r]), sum = hkk_zero(), product = hkk_zero();
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 g = hkk_part(dy + i, lanes), distance = hkk_only(hkk_sub(hkk_part(x + i, lanes), m), lanes);
            hkk_store_part(dscale + i, hkk_fma(g, hkk_mul(distance, s), hkk_part(dscale + i, lanes)), lanes);
            hkk_store_part(dbias + i, hkk_add(g, hkk_part(dbias + i, lanes)), lanes);
            g = hkk_mul(g, hkk_part(scale + i, lanes));
            sum = hkk_add(sum, g);
            product = hkk_fma(g, distance, product);
        }
        if (!dx)
            continue;
        float mean_g = centered ? hkk_sum16(sum) / (float)n : 0.0f, mean_product = hkk_sum16(product) / (float)n;
        hkk_f32x16 shift = hkk_set1(mean_g), slope = hkk_mul(hkk_mul(s, s), hkk_set1(mean_product));
        for (int64_t i = 0; i < n; i += 16) {
            int lanes = hkk_lanes_left(n - i);
            hkk_f32x16 g = hkk_mul(hkk_part(dy + i, lanes), hkk_part(scale + i, lanes));
            g = hkk_fnma(slope, hkk_sub(hkk_part(x + i, lanes), m), hkk_sub(g, shift));
            hkk_store_part(dx + i, hkk_mul(g, s), lanes);
        }
        dx += n;
    }
}

const hkk_normalize_kernels HKK_NAME(hkk_normalize) = {
    .moments_columns = HKK_NAME(hkk_moments_columns_f32),
    .merge_moments = HKK_NAME(hkk_merge_moments_f32),
    .apply_columns = HKK_NAME(hkk_apply_columns_f32),
    .grad_sums_columns = HKK_NAME(hkk_grad_sums_columns_f32),
    .grad_columns = HKK_NAME(hkk_grad_columns_f32),
    .moments_row = HKK_NAME(hkk_moments_row_f32),
    .apply_row = HKK_NAME(hkk_apply_row_f32),
    .grad_sums_row = HKK_NAME(hkk_grad_sums_row_f32),
    .grad_row = HKK_NAME(hkk_grad_row_f32),
    .layer_norm_rows = HKK_NAME(hkk_layer_norm_rows_f32),
    .layer_norm_moments = HKK_NAME(hkk_layer_norm_moments_f32),
    .layer_norm_grad_rows = HKK_NAME(hkk_layer_norm_grad_rows_f32),
};
