/* External data: bytes of tensors in files beside the model. A model comes from a stranger, so a location may only name
 * a regular file inside the model's directory: no absolute path, no "..", no symbolic link that leads out. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/onnx_tensor.h"

static void close_map(void *context)
{
    hki_map *map = context;
    hki_map_close(map);
    hki_free(map);
}

hk_status hki_onnx_map(hki_buffer **out, hki_span *out_file, const char *path)
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
    /* Tensors over the map are never written to: graphs share them as constants. */
    status = hki_buffer_foreign(out, (void *)(uintptr_t)map->data, map->size, close_map, map);
    if (status) {
        close_map(map);
        return status;
    }
    *out_file = (hki_span){map->data, map->size};
    return NULL;
}

/* True if a path has a component "..", or starts at the root. */
static bool escapes(const char *location)
{
    if (location[0] == '/' || strchr(location, '\\'))
        return true;
    for (const char *part = location;;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.')
            return true;
        if (!part[length])
            return false;
        part += length + 1;
    }
}

/* Compares the paths that the system resolves: symbolic links are followed. */
static hk_status check_inside(const char *directory, const char *path, const char *location)
{
    struct stat info;
    if (stat(path, &info))
        return HK_ERR(errno == ENOENT ? HK_NOT_FOUND : HK_IO, "external data '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return HK_ERR(HK_INVALID_FILE, "external data '%s' is not a regular file", path);
    char inside[PATH_MAX], real[PATH_MAX];
    bool fine = realpath(directory, inside) && realpath(path, real);
    size_t length = fine ? strlen(inside) : 0;
    if (length && inside[length - 1] == '/')
        length--;
    return fine && !strncmp(real, inside, length) && real[length] == '/'
               ? NULL
               : HK_ERR(HK_INVALID_FILE, "external data '%.200s' leads out of the model's directory; refused",
                        location);
}

static hk_status open_external(hki_onnx_external *out, hki_onnx_source *source, const char *location)
{
    if (!location || !*location)
        return HK_ERR(HK_INVALID_FILE, "external data without a location");
    if (!source->directory)
        return HK_ERR(HK_INVALID_FILE, "external data '%.200s' in a model that comes without a directory", location);
    if (escapes(location))
        return HK_ERR(HK_INVALID_FILE, "external data '%.200s' leads out of the model's directory; refused", location);
    const char *path = hki_arena_printf(source->arena, "%s/%s", source->directory, location);
    if (!path)
        return hki_out_of_memory();
    HK_TRY(check_inside(source->directory, path, location));
    hki_span file;
    HK_TRY(hki_onnx_map(&out->buffer, &file, path));
    out->location = location;
    out->size = file.size;
    return NULL;
}

/* A model has few external files; the one used last is usually the one used again. */
static hk_status find_external(hki_onnx_external **out, hki_onnx_source *source, const char *location)
{
    for (size_t i = source->external_count; i-- > 0;)
        if (location && !strcmp(source->externals[i].location, location)) {
            *out = &source->externals[i];
            return NULL;
        }
    HK_TRY(hki_array_grow(&source->externals, &source->external_capacity, source->external_count + 1,
                          sizeof *source->externals));
    *out = &source->externals[source->external_count];
    HK_TRY(open_external(*out, source, location));
    source->external_count++;
    return NULL;
}

hk_status hki_onnx_external_get(hki_span *out, hki_buffer **out_buffer, hki_onnx_source *source,
                                const hki_onnx_tensor *tensor, size_t size)
{
    if (tensor->has_length && tensor->length != size)
        return HK_ERR(HK_INVALID_FILE, "external data has %" PRIu64 " bytes, the shape needs %zu", tensor->length,
                      size);
    hki_onnx_external *external;
    HK_TRY(find_external(&external, source, tensor->location));
    if (tensor->offset > external->size || size > external->size - tensor->offset)
        return HK_ERR(HK_INVALID_FILE,
                      "external data '%s': bytes %" PRIu64 " to %" PRIu64 "+%zu of a file of %zu bytes",
                      tensor->location, tensor->offset, tensor->offset, size, external->size);
    *out = (hki_span){(const unsigned char *)hki_buffer_data(external->buffer) + tensor->offset, size};
    *out_buffer = external->buffer;
    return NULL;
}

void hki_onnx_source_close(hki_onnx_source *source)
{
    for (size_t i = 0; i < source->made_count; i++)
        hk_tensor_free(source->made[i]);
    for (size_t i = 0; i < source->external_count; i++)
        hki_buffer_release(source->externals[i].buffer);
    hki_free(source->made);
    hki_free(source->externals);
    hki_buffer_release(source->buffer);
    *source = (hki_onnx_source){0};
}
