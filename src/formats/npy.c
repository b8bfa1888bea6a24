/* npy files: numpy.lib.format. The header is a Python dictionary with three keys, read by a small parser of its own. */
#include "formats/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "formats/bytes.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static const struct type_row {
    const char *code;
    hk_dtype dtype;
} types[] = {{"b1", HK_BOOL},  {"i1", HK_INT8},   {"u1", HK_UINT8},     {"i2", HK_INT16},       {"u2", HK_UINT16},
             {"i4", HK_INT32}, {"u4", HK_UINT32}, {"i8", HK_INT64},     {"u8", HK_UINT64},      {"f2", HK_FLOAT16},
             {"f4", HK_FLOAT}, {"f8", HK_DOUBLE}, {"c8", HK_COMPLEX64}, {"c16", HK_COMPLEX128}, {"V2", HK_BFLOAT16}};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

typedef struct header {
    hk_dtype dtype;
    bool big, fortran;
    bool has_type, has_order, has_shape;
    int rank;
    int64_t dims[HK_MAX_RANK];
} header;

typedef struct reader {
    const char *at, *end;
    const char *name;
} reader;

bool hki_npy_is(const unsigned char *data, size_t size)
{
    return size >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
        r->at++;
}

/* Takes a character if it comes next. */
static bool take(reader *r, char c)
{
    skip_space(r);
    bool found = r->at < r->end && *r->at == c;
    r->at += found;
    return found;
}

static hk_status expected(const reader *r, const char *what)
{
    int left = (int)(r->end - r->at < 20 ? r->end - r->at : 20);
    for (int i = 0; i < left; i++)
        if (r->at[i] < 0x20 || r->at[i] > 0x7e)
            left = i;
    return HK_ERR(HK_INVALID_FILE, "%s: npy header: expected %s, found '%.*s'", r->name, what, left, r->at);
}

/* Reads a quoted string without escapes into `out`. */
static hk_status read_string(char *out, size_t size, reader *r)
{
    skip_space(r);
    char quote = r->at < r->end ? *r->at : 0;
    if (quote != '\'' && quote != '"')
        return expected(r, "a string");
    const char *start = ++r->at;
    while (r->at < r->end && *r->at != quote)
        r->at++;
    size_t length = (size_t)(r->at - start);
    if (r->at >= r->end || length >= size) {
        r->at = start;
        return expected(r, "a short string");
    }
    memcpy(out, start, length);
    out[length] = '\0';
    r->at++;
    return NULL;
}

/* 'descr': byte order, kind and size, such as "<f4". */
static hk_status read_type(header *h, reader *r)
{
    char text[16];
    const char *start = r->at;
    skip_space(r);
    if (r->at < r->end && *r->at == '[')
        return HK_ERR(HK_UNSUPPORTED, "%s: expected one number per element, found a structured array", r->name);
    HK_TRY(read_string(text, sizeof text, r));
    char order = text[0];
    if (order && strchr("<>|=", order)) {
        h->big = order == '>' || (order == '=' && HKI_HOST_BIG);
        for (int i = 0; i < TYPE_COUNT; i++)
            if (!strcmp(types[i].code, text + 1))
                h->dtype = types[i].dtype;
        if (h->dtype)
            return NULL;
        return HK_ERR(HK_UNSUPPORTED, "%s: expected an array of numbers or bools, found numpy type '%s'%s", r->name,
                      text, strchr("OUS", text[1]) ? " (objects or strings)" : "");
    }
    r->at = start;
    return expected(r, "a type such as '<f4'");
}

static hk_status read_order(header *h, reader *r)
{
    skip_space(r);
    size_t left = (size_t)(r->end - r->at);
    h->fortran = left >= 4 && !memcmp(r->at, "True", 4);
    if (!h->fortran && (left < 5 || memcmp(r->at, "False", 5)))
        return expected(r, "True or False");
    r->at += h->fortran ? 4 : 5;
    return NULL;
}

/* 'shape': a tuple: (), (3,), (2, 3) */
static hk_status read_shape(header *h, reader *r)
{
    if (!take(r, '('))
        return expected(r, "a tuple");
    while (!take(r, ')')) {
        int64_t dim = 0;
        if (h->rank == HK_MAX_RANK)
            return HK_ERR(HK_INVALID_FILE, "%s: expected at most %d dimensions", r->name, HK_MAX_RANK);
        const char *start = r->at;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
            if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, *r->at - '0', &dim))
                return HK_ERR(HK_INVALID_FILE, "%s: expected dimensions below 2^63", r->name);
        if (r->at == start)
            return expected(r, "a dimension");
        if (r->at < r->end && *r->at == 'L') /* Python 2 */
            r->at++;
        h->dims[h->rank++] = dim;
        bool comma = take(r, ',');
        if (!comma && h->rank == 1)
            return expected(r, "',' in a tuple");
        if (!comma) {
            if (!take(r, ')'))
                return expected(r, "',' or ')' in a tuple");
            return NULL;
        }
    }
    return NULL;
}

static hk_status read_dictionary(header *h, reader *r)
{
    if (!take(r, '{'))
        return expected(r, "a dictionary");
    while (!take(r, '}')) {
        char key[16];
        HK_TRY(read_string(key, sizeof key, r));
        if (!take(r, ':'))
            return expected(r, "':'");
        bool *seen = !strcmp(key, "descr")           ? &h->has_type
                     : !strcmp(key, "fortran_order") ? &h->has_order
                     : !strcmp(key, "shape")         ? &h->has_shape
                                                     : NULL;
        if (!seen || *seen)
            return HK_ERR(HK_INVALID_FILE, "%s: npy header: expected descr, fortran_order and shape once, found '%s'%s",
                          r->name, key, seen ? " again" : "");
        *seen = true;
        if (seen == &h->has_type)
            HK_TRY(read_type(h, r));
        else if (seen == &h->has_order)
            HK_TRY(read_order(h, r));
        else
            HK_TRY(read_shape(h, r));
        if (!take(r, ',')) {
            if (!take(r, '}'))
                return expected(r, "',' or '}'");
            break;
        }
    }
    if (!h->has_type || !h->has_order || !h->has_shape)
        return HK_ERR(HK_INVALID_FILE, "%s: npy header: expected the keys descr, fortran_order and shape", r->name);
    return NULL;
}

/* Reads and checks the header; the elements are data[*out_offset ...), exactly *out_size bytes. */
static hk_status read_header(header *h, size_t *out_offset, size_t *out_size, const unsigned char *data, size_t size,
                             const char *name)
{
    if (!hki_npy_is(data, size))
        return HK_ERR(HK_INVALID_FILE, "%s: expected an npy file (\\x93NUMPY), found other bytes", name);
    if (size < 10)
        return HK_ERR(HK_INVALID_FILE, "%s: expected an npy header, found %zu bytes (truncated)", name, size);
    int version = data[6];
    if (version < 1 || version > 3 || data[7] != 0)
        return HK_ERR(HK_INVALID_FILE, "%s: expected npy version 1.0, 2.0 or 3.0, found %d.%d", name, version, data[7]);
    size_t begin = version == 1 ? 10 : 12;
    size_t length = version == 1 ? (size_t)data[8] | (size_t)data[9] << 8
                    : size >= 12 ? hki_read_little32(data + 8)
                                 : 0;
    if (size < begin || length > size - begin)
        return HK_ERR(HK_INVALID_FILE, "%s: expected an npy header of %zu bytes, found %zu (truncated)", name, length,
                      size < begin ? 0 : size - begin);
    reader r = {(const char *)data + begin, (const char *)data + begin + length, name};
    *h = (header){0};
    HK_TRY(read_dictionary(h, &r));
    skip_space(&r);
    if (r.at < r.end)
        return expected(&r, "the end of the header");
    int64_t count;
    char text[HKI_SHAPE_TEXT];
    HK_TRY_CTX(hki_shape_check(&count, out_size, h->dtype, h->rank, h->dims), "%s", name);
    *out_offset = begin + length;
    if (size - *out_offset != *out_size)
        return HK_ERR(HK_INVALID_FILE, "%s: expected %zu bytes for %s, found %zu%s", name, *out_size,
                      hki_shape_text(text, h->dtype, h->rank, h->dims), size - *out_offset,
                      size - *out_offset < *out_size ? " (truncated)" : "");
    return NULL;
}

/* Copies elements from Fortran order to row-major: walks the target in order, the source by strides. */
static void copy_fortran(hk_tensor *to, const unsigned char *from)
{
    size_t element = hk_dtype_size(to->dtype);
    int64_t count = hk_tensor_count(to), at[HK_MAX_RANK] = {0};
    size_t strides[HK_MAX_RANK], stride = element, offset = 0;
    for (int i = 0; i < to->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)to->dims[i];
    }
    unsigned char *target = to->data;
    for (int64_t n = 0; n < count; n++, target += element) {
        memcpy(target, from + offset, element);
        for (int i = to->rank - 1; i >= 0; i--) {
            offset += strides[i];
            if (++at[i] < to->dims[i])
                break;
            offset -= strides[i] * (size_t)to->dims[i];
            at[i] = 0;
        }
    }
}

static void normalise_bools(hk_tensor *tensor)
{
    unsigned char *p = tensor->data;
    for (int64_t i = 0, count = hk_tensor_count(tensor); i < count; i++)
        p[i] = p[i] != 0;
}

hk_status hki_npy_parse(hk_tensor **out, const unsigned char *data, size_t size, const char *name)
{
    *out = NULL;
    header h;
    size_t offset, bytes;
    HK_TRY(read_header(&h, &offset, &bytes, data, size, name));
    hk_tensor *tensor;
    HK_TRY_CTX(hk_tensor_create(&tensor, h.dtype, h.rank, h.dims), "%s", name);
    if (h.fortran && h.rank > 1)
        copy_fortran(tensor, data + offset);
    else if (bytes)
        memcpy(tensor->data, data + offset, bytes);
    if (h.big != HKI_HOST_BIG)
        hki_swap_bytes(tensor->data, h.dtype, hk_tensor_count(tensor));
    if (h.dtype == HK_BOOL)
        normalise_bools(tensor);
    *out = tensor;
    return NULL;
}

hk_status hki_npy_load(hk_tensor **out, const char *path)
{
    *out = NULL;
    hki_map map;
    HK_TRY(hki_map_open(&map, path));
    hk_status status = hki_npy_parse(out, map.data, map.size, path);
    hki_map_close(&map);
    return status;
}

static void release_map(void *context)
{
    hki_map *map = context;
    hki_map_close(map);
    hki_free(map);
}

/* Makes the tensor of hki_npy_map; *owned becomes true once the map belongs to a buffer. */
static hk_status map_tensor(hk_tensor **out, hki_map *map, bool *owned, const char *path)
{
    header h;
    size_t offset, bytes;
    HK_TRY(read_header(&h, &offset, &bytes, map->data, map->size, path));
    size_t element = hk_dtype_size(h.dtype);
    bool as_is = !(h.fortran && h.rank > 1) && (h.big == HKI_HOST_BIG || element == 1) && h.dtype != HK_BOOL;
    if (!as_is || offset % element)
        return hki_npy_parse(out, map->data, map->size, path);
    hki_buffer *buffer;
    HK_TRY(hki_buffer_foreign(&buffer, (void *)map->data, map->size, release_map, map));
    *owned = true;
    hk_status status = hki_tensor_view(out, buffer, (unsigned char *)map->data + offset, h.dtype, h.rank, h.dims);
    hki_buffer_release(buffer);
    return status;
}

hk_status hki_npy_map(hk_tensor **out, const char *path)
{
    *out = NULL;
    hki_map *map = hki_alloc_array(1, sizeof *map);
    if (!map)
        return hki_out_of_memory();
    hk_status status = hki_map_open(map, path);
    if (status) {
        hki_free(map);
        return status;
    }
    bool owned = false;
    status = map_tensor(out, map, &owned, path);
    if (!owned)
        release_map(map);
    return status;
}

hk_status hki_npy_header(hki_text *text, hk_dtype dtype, int rank, const int64_t *dims)
{
    const char *code = NULL;
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i].dtype == dtype)
            code = types[i].code;
    if (!code)
        return HK_ERR(HK_INVALID_TYPE, "expected a type that numpy has, found %s", hk_dtype_name(dtype));
    hki_text dictionary = {0};
    hki_text_printf(&dictionary, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                    hk_dtype_size(dtype) == 1 ? '|'
                    : HKI_HOST_BIG            ? '>'
                                              : '<',
                    code);
    for (int i = 0; i < rank; i++)
        hki_text_printf(&dictionary, "%s%" PRId64, i ? ", " : "", dims[i]);
    hki_text_printf(&dictionary, "%s), }", rank == 1 ? "," : "");
    if (rank) /* numpy leaves room for the first dimension to grow to 21 digits in place */
        hki_text_printf(&dictionary, "%*s", 21 - snprintf(NULL, 0, "%" PRId64, dims[0]), "");
    hk_status status = hki_text_status(&dictionary);
    if (!status) { /* magic, version and length take 10 bytes; the whole is padded to a multiple of 64 */
        size_t total = (10 + dictionary.length + 1 + 63) / 64 * 64, length = total - 10;
        unsigned char start[10] = {
            magic[0], 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, (unsigned char)(length >> 8)};
        hki_text_append(text, (const char *)start, sizeof start);
        hki_text_printf(text, "%s%*s\n", dictionary.data, (int)(length - dictionary.length - 1), "");
        status = hki_text_status(text);
    }
    hki_text_free(&dictionary);
    return status;
}

hk_status hki_npy_save(const char *path, const hk_tensor *tensor)
{
    hk_tensor *plain = NULL;
    if (tensor->layout != HKI_PLAIN) {
        HK_TRY(hk_tensor_copy(&plain, tensor));
        tensor = plain;
    }
    hki_text text = {0};
    hki_writer *writer = NULL;
    hk_status status = hki_npy_header(&text, tensor->dtype, tensor->rank, tensor->dims);
    if (status)
        status = hki_error_context(status, "%s", path);
    else
        status = hki_writer_open(&writer, path);
    if (!status) {
        hki_writer_write(writer, text.data, text.length);
        hki_writer_write(writer, tensor->data, hk_tensor_size(tensor));
        status = hki_writer_commit(writer);
    }
    hki_text_free(&text);
    hk_tensor_free(plain);
    return status;
}
