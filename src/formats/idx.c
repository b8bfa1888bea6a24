/* IDX files. The tensor is allocated only after the header's promise was compared with the size of the file, so that a
 * damaged header cannot ask for absurd amounts of memory. */
#include "formats/idx.h"

#include <inttypes.h>

#include "base/file.h"
#include "formats/bytes.h"
#include "formats/gzip.h"

static hk_dtype element_type(unsigned char code)
{
    switch (code) {
    case 0x08:
        return HK_UINT8;
    case 0x09:
        return HK_INT8;
    case 0x0b:
        return HK_INT16;
    case 0x0c:
        return HK_INT32;
    case 0x0d:
        return HK_FLOAT;
    case 0x0e:
        return HK_DOUBLE;
    default:
        return HK_UNDEFINED;
    }
}

bool hki_idx_is(const unsigned char *data, size_t size)
{
    return size >= 4 && !data[0] && !data[1] && element_type(data[2]) && data[3] >= 1 && data[3] <= HK_MAX_RANK;
}

/* Where the bytes come from: memory, or a gzip stream over it. */
typedef struct source {
    const unsigned char *data;
    size_t size;
    hki_gzip *gzip; /* NULL: plain */
    size_t most;    /* no more bytes than this can come */
    const char *name;
} source;

static hk_status read_bytes(source *s, void *to, size_t size, const char *what)
{
    size_t got = size < s->size ? size : s->size;
    if (s->gzip) {
        HK_TRY(hki_gzip_read(s->gzip, to, size, &got));
    } else {
        if (got)
            memcpy(to, s->data, got);
        s->data += got;
        s->size -= got;
    }
    if (got < size)
        return HK_ERR(HK_INVALID_FILE, "%s: expected %zu bytes of %s, found %zu (truncated)", s->name, size, what, got);
    return NULL;
}

/* The file must end here. */
static hk_status expect_end(source *s)
{
    unsigned char byte;
    size_t got = s->size;
    if (s->gzip)
        HK_TRY(hki_gzip_read(s->gzip, &byte, 1, &got));
    return got ? HK_ERR(HK_INVALID_FILE, "%s: expected the end of the file behind the last element, found more bytes",
                        s->name)
               : NULL;
}

static hk_status read_tensor(hk_tensor **out, source *s)
{
    unsigned char magic[4] = {0}, dim_bytes[4 * HK_MAX_RANK];
    HK_TRY(read_bytes(s, magic, 4, "magic number"));
    hk_dtype dtype = element_type(magic[2]);
    int rank = magic[3];
    if (magic[0] || magic[1] || !dtype)
        return HK_ERR(HK_INVALID_FILE,
                      "%s: expected an IDX file (0, 0, type 8 to 14, rank), found the bytes %d, %d, %d, %d", s->name,
                      magic[0], magic[1], magic[2], magic[3]);
    if (rank < 1 || rank > HK_MAX_RANK)
        return HK_ERR(HK_INVALID_FILE, "%s: expected 1 to %d dimensions, found %d", s->name, HK_MAX_RANK, rank);
    HK_TRY(read_bytes(s, dim_bytes, 4 * (size_t)rank, "dimensions"));
    int64_t dims[HK_MAX_RANK], count;
    size_t size;
    char text[HKI_SHAPE_TEXT];
    for (int i = 0; i < rank; i++)
        dims[i] = hki_read_big32(dim_bytes + 4 * i);
    HK_TRY_CTX(hki_shape_check(&count, &size, dtype, rank, dims), "%s", s->name);
    if (size > s->most)
        return HK_ERR(HK_INVALID_FILE,
                      "%s: expected %zu bytes for %s, found a file that cannot hold more than %zu (truncated)", s->name,
                      size, hki_shape_text(text, dtype, rank, dims), s->most);
    hk_tensor *tensor;
    HK_TRY_CTX(hk_tensor_create(&tensor, dtype, rank, dims), "%s", s->name);
    hk_status status = read_bytes(s, tensor->data, size, "elements");
    if (!status)
        status = expect_end(s);
    if (status) {
        hk_tensor_free(tensor);
        return status;
    }
    if (!HKI_HOST_BIG)
        hki_swap_bytes(tensor->data, dtype, count);
    *out = tensor;
    return NULL;
}

hk_status hki_idx_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name)
{
    *out = NULL;
    source s = {.data = data, .size = size, .most = size, .name = name};
    if (hki_gzip_is(data, size)) {
        HK_TRY(hki_gzip_open(&s.gzip, data, size, name));
        s.most = size < SIZE_MAX / HKI_GZIP_RATIO ? size * HKI_GZIP_RATIO : SIZE_MAX;
    }
    hk_status status = read_tensor(out, &s);
    hki_gzip_close(s.gzip);
    return status;
}

hk_status hki_idx_load(hk_tensor **out, const char *path)
{
    *out = NULL;
    hki_map map;
    HK_TRY(hki_map_open(&map, path));
    hk_status status = hki_idx_parse(out, map.data, map.size, path);
    hki_map_close(&map);
    return status;
}
