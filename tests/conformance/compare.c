/* See compare.h. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

static void shape_of(char *out, const hk_tensor *t)
{
    hki_shape_text(out, hk_tensor_dtype(t), hk_tensor_rank(t), hk_tensor_dims(t));
}

static bool close_enough(double found, double expected, double rtol, double atol)
{
    if (isnan(found) || isnan(expected))
        return isnan(found) && isnan(expected);
    if (isinf(found) || isinf(expected))
        return found == expected;
    return fabs(found - expected) <= atol + rtol * fabs(expected);
}

bool compare_tensors(char *why, size_t why_size, const hk_tensor *found, const hk_tensor *expected, double rtol,
                     double atol)
{
    char found_text[HKI_SHAPE_TEXT], expected_text[HKI_SHAPE_TEXT];
    if (hk_tensor_dtype(found) != hk_tensor_dtype(expected) ||
        !hki_shape_equal(hk_tensor_rank(found), hk_tensor_dims(found), hk_tensor_rank(expected),
                         hk_tensor_dims(expected))) {
        shape_of(found_text, found);
        shape_of(expected_text, expected);
        snprintf(why, why_size, "is %s, expected %s", found_text, expected_text);
        return false;
    }
    if (!hki_dtype_is_float(hk_tensor_dtype(found))) {
        size_t size = hk_tensor_size(found);
        if (!size || !memcmp(hk_tensor_const_data(found), hk_tensor_const_data(expected), size))
            return true;
        snprintf(why, why_size, "integer elements differ");
        for (int64_t i = 0; i < hk_tensor_count(found); i++)
            if (hki_tensor_get_int(found, i) != hki_tensor_get_int(expected, i)) {
                snprintf(why, why_size, "element %lld is %lld, expected %lld", (long long)i,
                         (long long)hki_tensor_get_int(found, i), (long long)hki_tensor_get_int(expected, i));
                break;
            }
        return false;
    }
    for (int64_t i = 0; i < hk_tensor_count(found); i++) {
        double a = hki_tensor_get_double(found, i), b = hki_tensor_get_double(expected, i);
        if (!close_enough(a, b, rtol, atol)) {
            snprintf(why, why_size, "element %lld is %.9g, expected %.9g", (long long)i, a, b);
            return false;
        }
    }
    return true;
}
