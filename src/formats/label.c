/* Class names, one per line: the line number, counted from 0, is the class. */
#include "formats/label.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

hk_status hki_labels_parse(const char ***out, int64_t *out_count, hki_arena *arena, const char *text, size_t size,
                           const char *name)
{
    const char *end = text + size;
    while (end > text && blank(end[-1]))
        end--;
    size_t count = end > text;
    for (const char *c = text; c < end; c++)
        count += *c == '\n';
    const char **names = hki_arena_array(arena, count, sizeof *names);
    if (!names)
        return hki_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text)), *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        while (text < stop && blank(*text))
            text++;
        while (stop > text && blank(stop[-1]))
            stop--;
        if (stop == text || memchr(text, 0, (size_t)(stop - text)))
            return HK_ERR(HK_INVALID_FILE, "%s:%zu: expected the name of a class, found %s", name, i + 1,
                          stop == text ? "an empty line" : "a NUL byte");
        names[i] = hki_arena_strndup(arena, text, (size_t)(stop - text));
        if (!names[i])
            return hki_out_of_memory();
        for (size_t k = 0; k < i; k++)
            if (!strcmp(names[k], names[i]))
                return HK_ERR(HK_INVALID_FILE, "%s:%zu: expected each class once, found '%s' again (first on line %zu)",
                              name, i + 1, names[i], k + 1);
        text = next;
    }
    *out = names;
    *out_count = (int64_t)count;
    return NULL;
}

hk_status hki_labels_load(const char ***out, int64_t *out_count, hki_arena *arena, const char *path)
{
    hki_map map;
    HK_TRY(hki_map_open(&map, path));
    hk_status status = hki_labels_parse(out, out_count, arena, (const char *)map.data, map.size, path);
    hki_map_close(&map);
    return status;
}
