/* Inputs of `halka run`: from files, or random; fitted to what the model declares. */
#include <math.h>

#include "cli/cli.h"

double cli_element(const hk_tensor *tensor, int64_t index)
{
    const void *data = hk_tensor_const_data(tensor);
    uint32_t bits;
    float f;
    switch (hk_tensor_dtype(tensor)) {
    case HK_FLOAT:
        return (double)((const float *)data)[index];
    case HK_DOUBLE:
        return ((const double *)data)[index];
    case HK_UINT8:
    case HK_BOOL:
        return ((const uint8_t *)data)[index];
    case HK_INT8:
        return ((const int8_t *)data)[index];
    case HK_UINT16:
        return ((const uint16_t *)data)[index];
    case HK_INT16:
        return ((const int16_t *)data)[index];
    case HK_INT32:
        return ((const int32_t *)data)[index];
    case HK_UINT32:
        return ((const uint32_t *)data)[index];
    case HK_INT64:
        return (double)((const int64_t *)data)[index];
    case HK_UINT64:
        return (double)((const uint64_t *)data)[index];
    case HK_BFLOAT16:
        bits = (uint32_t)((const uint16_t *)data)[index] << 16;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    case HK_FLOAT16: {
        uint16_t half = ((const uint16_t *)data)[index];
        int exponent = half >> 10 & 31, fraction = half & 1023;
        double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexp(1 + fraction / 1024.0, exponent - 15)
                                      : ldexp(fraction, -24);
        return half & 0x8000 ? -value : value;
    }
    default:
        return NAN;
    }
}

/* ---- Pixels as numbers: ((x / scale) - mean) / deviation, as --scale, --mean and --deviation say. ---- */

typedef struct pixels {
    double scale, mean[16], deviation[16];
    int mean_count, deviation_count;
    bool is_given;
} pixels;

static int pixels_read(pixels *p, const cli_call *call)
{
    *p = (pixels){.scale = cli_number(call, "scale", 1)};
    p->is_given = cli_has(call, "scale") || cli_has(call, "mean") || cli_has(call, "deviation");
    const char *mean = cli_text(call, "mean", NULL), *deviation = cli_text(call, "deviation", NULL);
    p->mean_count = mean ? cli_numbers(p->mean, 16, mean) : 0;
    p->deviation_count = deviation ? cli_numbers(p->deviation, 16, deviation) : 0;
    if (p->mean_count < 0 || p->deviation_count < 0 || !(p->scale > 0))
        return cli_error(HK_INVALID_ARGUMENT,
                         "--scale takes a number above 0, --mean and --deviation take one or one per "
                         "channel, such as 0.485,0.456,0.406");
    return 0;
}

static double per_channel(const double *values, int count, int64_t channel, double fallback)
{
    return count == 0 ? fallback : values[count == 1 || channel >= count ? 0 : channel];
}

/* uint8 (N C H W, or anything with one channel) to float32. */
static int to_float(hk_tensor **tensor, const pixels *p)
{
    const hk_tensor *from = *tensor;
    int rank = hk_tensor_rank(from);
    const int64_t *dims = hk_tensor_dims(from);
    int64_t channels = rank == 4 ? dims[1] : 1, count = hk_tensor_count(from);
    int64_t plane = rank == 4 ? dims[2] * dims[3] : 1;
    if ((p->mean_count > 1 && p->mean_count != channels) || (p->deviation_count > 1 && p->deviation_count != channels))
        return cli_error(HK_INVALID_ARGUMENT, "--mean and --deviation: the input has %lld channels",
                         (long long)channels);
    hk_tensor *to;
    CLI_TRY(hk_tensor_create(&to, HK_FLOAT, rank, dims));
    const uint8_t *x = hk_tensor_const_data(from);
    float *y = hk_tensor_data(to);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i / plane % channels;
        float mean = (float)per_channel(p->mean, p->mean_count, c, 0);
        float deviation = (float)per_channel(p->deviation, p->deviation_count, c, 1);
        y[i] = ((float)x[i] / (float)p->scale - mean) / deviation;
    }
    hk_tensor_free(*tensor);
    *tensor = to;
    return 0;
}

/* ---- Fitting. ---- */

/* Replaces a tensor by one of the same elements with other dims. */
static int reshape(hk_tensor **tensor, int rank, const int64_t *dims)
{
    hk_tensor *to;
    CLI_TRY(hk_tensor_from(&to, hk_tensor_const_data(*tensor), hk_tensor_dtype(*tensor), rank, dims));
    hk_tensor_free(*tensor);
    *tensor = to;
    return 0;
}

/* An image (H W C, uint8) as the input wants it: N H W, N H W C or N C H W. */
static int fit_image(hk_tensor **tensor, const hk_value *value)
{
    const int64_t *d = hk_tensor_dims(*tensor), *declared = hk_value_dims(value);
    int64_t h = d[0], w = d[1], c = d[2];
    if (hk_value_rank(value) == 3 && c == 1)
        return reshape(tensor, 3, (int64_t[]){1, h, w});
    if (hk_value_rank(value) != 4)
        return cli_error(HK_INVALID_SHAPE, "input '%s' has rank %d; an image of %lld channels fits rank 4",
                         hk_value_name(value), hk_value_rank(value), (long long)c);
    if (declared[3] == c && declared[1] != c)
        return reshape(tensor, 4, (int64_t[]){1, h, w, c});
    hk_tensor *to;
    CLI_TRY(hk_tensor_create(&to, HK_UINT8, 4, (int64_t[]){1, c, h, w}));
    const uint8_t *x = hk_tensor_const_data(*tensor);
    uint8_t *y = hk_tensor_data(to);
    for (int64_t i = 0; i < h * w; i++)
        for (int64_t k = 0; k < c; k++)
            y[k * h * w + i] = x[i * c + k];
    hk_tensor_free(*tensor);
    *tensor = to;
    return 0;
}

/* Adds a batch dimension where one is missing, and turns pixels into numbers where the model wants them. */
static int fit(hk_tensor **tensor, bool is_image, const hk_value *value, const pixels *p)
{
    int code = is_image ? fit_image(tensor, value) : 0;
    int rank = hk_tensor_rank(*tensor), declared = hk_value_rank(value);
    if (!code && rank + 1 == declared) {
        int64_t dims[HK_MAX_RANK] = {1};
        memcpy(dims + 1, hk_tensor_dims(*tensor), (size_t)rank * sizeof *dims);
        code = reshape(tensor, declared, dims);
    } else if (!code && rank == 3 && declared == 4 && hk_value_dims(value)[1] == 1) {
        const int64_t *d = hk_tensor_dims(*tensor);
        code = reshape(tensor, 4, (int64_t[]){d[0], 1, d[1], d[2]}); /* images of one channel, a batch of them */
    }
    if (code || hk_value_dtype(value) != HK_FLOAT || hk_tensor_dtype(*tensor) != HK_UINT8)
        return code;
    if (!p->is_given)
        return cli_error(HK_INVALID_TYPE,
                         "input '%s' takes float32: say how pixels become numbers, for example --scale 255 --mean "
                         "0.485,0.456,0.406 --deviation 0.229,0.224,0.225",
                         hk_value_name(value));
    return to_float(tensor, p);
}

/* ---- Random inputs. ---- */

/* SplitMix64 (Steele et al. 2014): enough to fill an input. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Floats in [0, 1), bytes 0 .. 255, other integers 0 or 1 (which are valid indices nearly everywhere). */
static int random_tensor(hk_tensor **out, hk_dtype dtype, int rank, const int64_t *dims, uint64_t *state)
{
    CLI_TRY(hk_tensor_create(out, dtype, rank, dims));
    int64_t count = hk_tensor_count(*out);
    void *data = hk_tensor_data(*out);
    size_t size = hk_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        uint64_t r = random_next(state);
        if (dtype == HK_FLOAT)
            ((float *)data)[i] = (float)(r >> 40) * 0x1p-24f;
        else if (dtype == HK_DOUBLE)
            ((double *)data)[i] = (double)(r >> 11) * 0x1p-53;
        else if (dtype == HK_UINT8)
            ((uint8_t *)data)[i] = (uint8_t)(r >> 56);
        else if (dtype == HK_FLOAT16)
            ((uint16_t *)data)[i] = (uint16_t)(0x3800 + (r >> 54)); /* [0.5, 1) */
        else if (dtype == HK_BFLOAT16)
            ((uint16_t *)data)[i] = (uint16_t)(0x3f00 + (r >> 57)); /* [0.5, 1) */
        else
            ((uint8_t *)data)[(size_t)i * size] = (uint8_t)(r >> 63); /* little-endian: 0 or 1 */
    }
    return 0;
}

/* ---- All inputs. ---- */

static int load_files(hk_tensor **inputs, const hk_graph *graph, const cli_call *call)
{
    pixels p;
    int code = pixels_read(&p, call), next = 0;
    const char *text;
    for (int k = 0; !code && (text = cli_nth(call, "input", k)); k++) {
        char name[256];
        const char *equals = strchr(text, '='), *file = text;
        int index = -1;
        if (equals) {
            snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
            file = equals + 1;
            index = cli_input_find(graph, name);
            if (index < 0)
                return hk_code_exit(HK_NOT_FOUND);
        } else {
            while (next < hk_graph_input_count(graph) && inputs[next])
                next++;
            index = next;
        }
        if (index >= hk_graph_input_count(graph))
            return cli_error(HK_INVALID_ARGUMENT, "-i %s: the model has only %d inputs", text, index);
        if (inputs[index])
            return cli_error(HK_INVALID_ARGUMENT, "-i %s: input '%s' is given twice", text, name);
        bool is_image;
        code = cli_tensor_load(&inputs[index], &is_image, file);
        if (!code)
            code = fit(&inputs[index], is_image, hk_graph_input_at(graph, index), &p);
    }
    return code;
}

static int load_random(hk_tensor **inputs, const hk_graph *graph, const cli_call *call)
{
    uint64_t state = (uint64_t)cli_integer(call, "seed", 0);
    const char *text;
    for (int k = 0; (text = cli_nth(call, "shape", k)); k++) {
        int index, rank;
        int64_t dims[HK_MAX_RANK];
        int code = cli_shape_option(&index, &rank, dims, graph, text);
        if (!code && inputs[index])
            code = cli_error(HK_INVALID_ARGUMENT, "--shape %s: input '%s' already has a value", text,
                             hk_value_name(hk_graph_input_at(graph, index)));
        if (!code)
            code = random_tensor(&inputs[index], hk_value_dtype(hk_graph_input_at(graph, index)), rank, dims, &state);
        if (code)
            return code;
    }
    for (int i = 0; i < hk_graph_input_count(graph); i++) {
        const hk_value *value = hk_graph_input_at(graph, i);
        int64_t dims[HK_MAX_RANK];
        if (inputs[i] || hk_value_tensor(value))
            continue;
        if (!cli_has(call, "random") || hk_value_rank(value) < 0)
            return cli_error(HK_INVALID_ARGUMENT,
                             "input '%s' (%s) is missing: give -i %s=FILE, --shape %s=DIMS for random numbers, or "
                             "--random",
                             hk_value_name(value), cli_type(graph, value), hk_value_name(value), hk_value_name(value));
        for (int d = 0; d < hk_value_rank(value); d++)
            dims[d] = hk_value_dims(value)[d] < 0 ? 1 : hk_value_dims(value)[d];
        int code = random_tensor(&inputs[i], hk_value_dtype(value), hk_value_rank(value), dims, &state);
        if (code)
            return code;
    }
    return 0;
}

int cli_inputs_load(hk_tensor ***out, const hk_graph *graph, const cli_call *call)
{
    *out = calloc((size_t)hk_graph_input_count(graph) + 1, sizeof **out);
    if (!*out)
        return cli_no_memory();
    int code = load_files(*out, graph, call);
    return code ? code : load_random(*out, graph, call);
}

void cli_inputs_free(hk_tensor **inputs, const hk_graph *graph)
{
    for (int i = 0; inputs && i < hk_graph_input_count(graph); i++)
        hk_tensor_free(inputs[i]);
    free(inputs);
}
