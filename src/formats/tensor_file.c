/* The public way to tensor files: finds the kind by the first bytes and hands over to its reader. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "formats/gzip.h"
#include "formats/idx.h"
#include "formats/image.h"
#include "formats/npy.h"
#include "halka/file.h"

static hk_file_kind find_kind(const unsigned char *data, size_t size)
{
    if (hki_npy_is(data, size))
        return HK_FILE_NPY;
    if (hki_image_is(data, size))
        return HK_FILE_IMAGE;
    if (hki_idx_is(data, size) || hki_gzip_is(data, size))
        return HK_FILE_IDX;
    return HK_FILE_UNKNOWN;
}

static hk_status parse(hk_tensor **out, hk_file_kind kind, const unsigned char *data, size_t size, const char *path)
{
    switch (kind) {
    case HK_FILE_NPY:
        return hki_npy_parse(out, data, size, path);
    case HK_FILE_IDX:
        return hki_idx_parse(out, data, size, path);
    case HK_FILE_IMAGE:
        return hki_image_parse(out, data, size, path);
    default:
        return HK_ERR(HK_INVALID_FILE,
                      "%s: expected a tensor file (npy, IDX, gzip of IDX, JPEG or PNG), found other bytes", path);
    }
}

hk_status hk_tensor_load(hk_tensor **out, hk_file_kind *out_kind, const char *path)
{
    *out = NULL;
    hki_map map;
    HK_TRY(hki_map_open(&map, path));
    hk_file_kind kind = find_kind(map.data, map.size);
    hk_status status = parse(out, kind, map.data, map.size, path);
    hki_map_close(&map);
    if (!status && out_kind)
        *out_kind = kind;
    return status;
}

hk_status hk_tensor_load_row(hk_tensor **out, hk_file_kind *out_kind, const char *path, int64_t row)
{
    hk_tensor *whole;
    hk_file_kind kind;
    *out = NULL;
    HK_TRY(hk_tensor_load(&whole, &kind, path));
    hk_status status;
    if (whole->rank < 1 || row < 0 || row >= whole->dims[0]) {
        char text[HKI_SHAPE_TEXT];
        status = HK_ERR(HK_INVALID_ARGUMENT, "%s: expected a row within %s, found %" PRId64, path,
                        hki_shape_text(text, whole->dtype, whole->rank, whole->dims), row);
    } else {
        int64_t dims[HK_MAX_RANK];
        memcpy(dims, whole->dims, sizeof dims);
        dims[0] = 1;
        size_t size = hk_tensor_size(whole) / (size_t)whole->dims[0];
        status = hk_tensor_from(out, (char *)whole->data + (size_t)row * size, whole->dtype, whole->rank, dims);
    }
    hk_tensor_free(whole);
    if (!status && out_kind)
        *out_kind = kind;
    return status;
}

hk_status hk_tensor_save_npy(const hk_tensor *tensor, const char *path)
{
    return hki_npy_save(path, tensor);
}

hk_status hk_tensor_load_npy(hk_tensor **out, const char *path)
{
    *out = NULL;
    return hki_npy_load(out, path);
}

hk_status hk_tensor_load_idx(hk_tensor **out, const char *path)
{
    *out = NULL;
    return hki_idx_load(out, path);
}
