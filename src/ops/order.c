/* Order-preserving keys. See order.h. */
#include "ops/order.h"

#include <string.h>

#include "tensor/number.h"

static uint64_t key_of_double(double value)
{
    uint64_t bits;
    if (value != value)
        return UINT64_MAX;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof(bits));
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of_int(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

uint64_t hki_order_key(const void *data, hk_dtype dtype, int64_t i)
{
    switch (dtype) {
    case HK_FLOAT:
        return key_of_double(((const float *)data)[i]);
    case HK_DOUBLE:
        return key_of_double(((const double *)data)[i]);
    case HK_FLOAT16:
        return key_of_double(hki_float16_to_float(((const uint16_t *)data)[i]));
    case HK_BFLOAT16:
        return key_of_double(hki_bfloat16_to_float(((const uint16_t *)data)[i]));
    case HK_INT8:
        return key_of_int(((const int8_t *)data)[i]);
    case HK_INT16:
        return key_of_int(((const int16_t *)data)[i]);
    case HK_INT32:
        return key_of_int(((const int32_t *)data)[i]);
    case HK_INT64:
        return key_of_int(((const int64_t *)data)[i]);
    case HK_UINT16:
        return ((const uint16_t *)data)[i];
    case HK_UINT32:
        return ((const uint32_t *)data)[i];
    case HK_UINT64:
        return ((const uint64_t *)data)[i];
    default: /* uint8, bool */
        return ((const uint8_t *)data)[i];
    }
}
