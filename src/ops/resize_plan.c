/* Axes, coordinates and filters of Resize. See resize_plan.h. */
#include "ops/resize_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/shapes.h"

enum {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN, /* opset 11 only */
};
static const char *const coordinate_names[] = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                               "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                               "tf_half_pixel_for_nn"};
enum { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL };
static const char *const nearest_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
static const char *const mode_names[] = {"nearest", "linear", "cubic"};
static const char *const policy_names[] = {"stretch", "not_larger", "not_smaller"};

static hk_status choose(int *out, const hk_node *node, const char *attribute, const char *const *names, int count)
{
    const char *text = hki_attribute_text(node, attribute);
    for (int i = 0; i < count; i++)
        if (!strcmp(text, names[i])) {
            *out = i;
            return NULL;
        }
    return HK_ERR(HK_INVALID_ARGUMENT, "%s '%s' is not known (the first of %d known ones is '%s')", attribute, text,
                  count, names[0]);
}

static hk_status read_attributes(hki_resize *out, const hk_node *node)
{
    int mode = 0;
    HK_TRY(choose(&mode, node, "mode", mode_names, 3));
    HK_TRY(choose(&out->coordinates, node, "coordinate_transformation_mode", coordinate_names, 7));
    HK_TRY(choose(&out->nearest, node, "nearest_mode", nearest_names, 4));
    out->mode = (hki_resize_mode)mode;
    out->antialias = hki_attribute_int(node, "antialias") != 0;
    out->exclude_outside = hki_attribute_int(node, "exclude_outside") != 0;
    out->cubic_a = hki_attribute_float(node, "cubic_coeff_a");
    out->extrapolation = hki_attribute_float(node, "extrapolation_value");
    return NULL;
}

/* Axes that the inputs speak of: the attribute, or all. */
static hk_status read_axes(int64_t *out, int *out_count, const hk_node *node, int rank)
{
    int64_t count;
    const int64_t *given = hki_attribute_ints(node, "axes", &count);
    for (int i = 0; i < rank; i++)
        out[i] = i;
    *out_count = rank;
    if (!given)
        return NULL;
    if (count > rank)
        return HK_ERR(HK_INVALID_ARGUMENT, "%" PRId64 " axes for an input of rank %d", count, rank);
    memcpy(out, given, sizeof(*out) * (size_t)count);
    *out_count = (int)count;
    return hki_axes_normalise(out, (int)count, rank);
}

static hk_status check_count(const hk_tensor *tensor, int64_t count, const char *name)
{
    if (tensor && hk_tensor_count(tensor) != count)
        return HK_ERR(HK_INVALID_SHAPE, "%s must have %" PRId64 " numbers, found %" PRId64, name, count,
                      hk_tensor_count(tensor));
    return NULL;
}

static hk_status read_scales(hki_resize *out, const int64_t *axes, int count, const hk_tensor *scales)
{
    for (int i = 0; i < count; i++) {
        hki_resize_axis *a = &out->axes[axes[i]];
        float scale = (float)hki_tensor_get_double(scales, i);
        if (!(scale > 0) || scale > 1e9f)
            return HK_ERR(HK_INVALID_ARGUMENT, "scale %d is %g, expected more than 0", i, (double)scale);
        a->scale = scale;
        if (a->in >= 0)
            a->out = (int64_t)floorf((float)a->in * scale); /* in float32, as ONNX infers it */
        else if (scale != 1)
            a->out = HKI_DIM_UNKNOWN;
    }
    return NULL;
}

static hk_status read_sizes(hki_resize *out, const int64_t *axes, int count, const hk_tensor *sizes, int policy)
{
    double common = policy == 1 ? INFINITY : 0;
    bool known = true;
    for (int i = 0; i < count; i++) {
        hki_resize_axis *a = &out->axes[axes[i]];
        a->out = hki_tensor_get_int(sizes, i);
        if (a->out < 0)
            return HK_ERR(HK_INVALID_SHAPE, "size %d is %" PRId64 ", expected 0 or more", i, a->out);
        known = known && a->in >= 0;
        a->scale = a->in > 0 ? (double)a->out / (double)a->in : 1;
        common = policy == 1 ? fmin(common, a->scale) : fmax(common, a->scale);
    }
    for (int i = 0; i < count && policy != 0; i++) {
        hki_resize_axis *a = &out->axes[axes[i]];
        a->out = HKI_DIM_UNKNOWN;
        if (known) {
            a->scale = common;
            a->out = (int64_t)(common * (double)a->in + 0.5);
        }
    }
    return NULL;
}

static void read_roi(hki_resize *out, const int64_t *axes, int count, const hk_tensor *roi)
{
    for (int i = 0; i < count; i++) {
        out->axes[axes[i]].roi[0] = hki_tensor_get_double(roi, i);
        out->axes[axes[i]].roi[1] = hki_tensor_get_double(roi, count + i);
    }
}

hk_status hki_resize_read(hki_resize *out, const hk_node *node, int rank, const int64_t *dims,
                          const hki_resize_inputs *inputs)
{
    int64_t axes[HK_MAX_RANK];
    int count, policy = 0;
    *out = (hki_resize){.rank = rank};
    HK_TRY(read_attributes(out, node));
    HK_TRY(choose(&policy, node, "keep_aspect_ratio_policy", policy_names, 3));
    HK_TRY(read_axes(axes, &count, node, rank));
    for (int i = 0; i < rank; i++)
        out->axes[i] = (hki_resize_axis){.in = dims[i], .out = dims[i], .scale = 1, .roi = {0, 1}};
    if (inputs->open) {
        for (int i = 0; i < count; i++)
            out->axes[axes[i]].out = HKI_DIM_UNKNOWN;
        return NULL;
    }
    if (!inputs->scales == !inputs->sizes)
        return HK_ERR(HK_INVALID_ARGUMENT, "either scales or sizes is expected, found %s",
                      inputs->scales ? "both" : "none");
    HK_TRY(check_count(inputs->scales, count, "scales"));
    HK_TRY(check_count(inputs->sizes, count, "sizes"));
    if (inputs->scales)
        HK_TRY(read_scales(out, axes, count, inputs->scales));
    else
        HK_TRY(read_sizes(out, axes, count, inputs->sizes, policy));
    if (out->coordinates == TF_CROP_AND_RESIZE) {
        if (!inputs->roi)
            return HK_ERR(HK_INVALID_ARGUMENT, "tf_crop_and_resize needs the input roi");
        HK_TRY(check_count(inputs->roi, 2 * (int64_t)count, "roi"));
        read_roi(out, axes, count, inputs->roi);
    }
    for (int i = 0; i < rank; i++) {
        hki_resize_axis *a = &out->axes[i];
        a->identity = a->in == a->out && fabs(a->scale - 1) < 1e-9 && a->roi[0] == 0 && a->roi[1] == 1;
        if (a->in == 0 && a->out > 0)
            return HK_ERR(HK_INVALID_SHAPE, "axis %d of length 0 cannot be resized to %" PRId64, i, a->out);
    }
    return NULL;
}

/* Where output i lies in the input. */
static double coordinate(const hki_resize *r, const hki_resize_axis *a, int64_t i)
{
    double x = (double)i, in = (double)a->in, width = a->scale * in; /* the width may be a fraction */
    switch (r->coordinates) {
    case HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - (double)a->out / width) + (x + 0.5) / a->scale - 0.5;
    case PYTORCH_HALF_PIXEL:
        return a->out == 1 ? 0 : (x + 0.5) / a->scale - 0.5;
    case ALIGN_CORNERS:
        return width == 1 ? 0 : x * (in - 1) / (width - 1);
    case ASYMMETRIC:
        return x / a->scale;
    case TF_HALF_PIXEL_FOR_NN:
        return (x + 0.5) / a->scale;
    case TF_CROP_AND_RESIZE:
        return a->roi[0] * (in - 1) + (width == 1 ? (a->roi[1] - a->roi[0]) * (in - 1) / 2
                                                  : x * (a->roi[1] - a->roi[0]) * (in - 1) / (width - 1));
    default:
        return (x + 0.5) / a->scale - 0.5;
    }
}

/* Half the number of taps: places base - reach + 1 .. base + reach. */
static int64_t reach(const hki_resize *r, double scale)
{
    double radius = r->mode == HKI_RESIZE_LINEAR ? 1 : 2;
    if (r->mode == HKI_RESIZE_NEAREST)
        return 1;
    if (r->antialias && scale < 1)
        radius = -floor(-radius / scale);
    return (int64_t)radius;
}

int64_t hki_resize_taps(const hki_resize *r, const hki_resize_axis *axis)
{
    return r->mode == HKI_RESIZE_NEAREST ? 1 : 2 * reach(r, axis->scale);
}

int64_t hki_resize_taps_bound(const hk_node *node, int64_t in, int64_t out)
{
    if (!hki_attribute_int(node, "antialias") || out < 1)
        return 4;
    return 2 * (int64_t)ceil(2 * (double)in / ((double)out - 0.5)) + 6; /* the scale is at least (out - 0.5) / in */
}

/* Keys' cubic (IEEE TASSP 1981, equation 4) at distance x. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

static int64_t nearest(const hki_resize *r, double x)
{
    double low = floor(x), ratio = x - low;
    if (ratio == 0)
        return (int64_t)x;
    bool up = r->nearest == CEIL || (r->nearest == ROUND_PREFER_FLOOR && ratio > 0.5) ||
              (r->nearest == ROUND_PREFER_CEIL && ratio >= 0.5);
    return (int64_t)low + up;
}

static int64_t inside(int64_t place, int64_t length)
{
    return place < 0 ? 0 : place >= length ? length - 1 : place;
}

bool hki_resize_weights(int64_t *places, double *weights, const hki_resize *r, const hki_resize_axis *a, int64_t i)
{
    double x = coordinate(r, a, i), limit = (double)a->in * 4 + 16, sum = 0;
    if (r->coordinates == TF_CROP_AND_RESIZE && !(x >= 0 && x <= (double)a->in - 1))
        return false;
    x = x < -limit ? -limit : x > limit ? limit : x; /* so that it fits an integer */
    if (r->mode == HKI_RESIZE_NEAREST) {
        places[0] = inside(nearest(r, x), a->in);
        weights[0] = 1;
        return true;
    }
    double base = ceil(x) - 1, ratio = x - base; /* in (0, 1] */
    double scale = r->antialias && a->scale < 1 ? a->scale : 1;
    int64_t half = reach(r, a->scale);
    for (int64_t k = 0; k < 2 * half; k++) {
        int64_t offset = k - half + 1, place = (int64_t)base + offset;
        double distance = ((double)offset - ratio) * scale;
        weights[k] = r->mode == HKI_RESIZE_CUBIC ? cubic(distance, r->cubic_a) : fmax(0, 1 - fabs(distance));
        if (r->exclude_outside && (place < 0 || place >= a->in))
            weights[k] = 0;
        places[k] = inside(place, a->in);
        sum += weights[k];
    }
    if ((r->antialias || r->exclude_outside) && sum != 0)
        for (int64_t k = 0; k < 2 * half; k++)
            weights[k] /= sum;
    return true;
}
