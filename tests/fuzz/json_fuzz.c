/* Any bytes as JSON: a tree or a status. What is read is written and read again, and must give the same text
 * from the second time on (a number that is no integer may be written as one: 1234567890123456789.5). */
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "fuzz.h"

/* Parses and writes; false if it is no JSON. */
static int round_trip(hki_text *out, const char *text, size_t size)
{
    hki_arena *arena;
    hki_json *value;
    if (hki_arena_create(&arena))
        return 0;
    hk_status status = hki_json_parse(&value, arena, text, size, "fuzz.json");
    int read = !status;
    if (read)
        hki_json_write(out, value);
    if (read && value->type == HKI_JSON_OBJECT)
        for (const hki_json *member = value->first; member; member = member->next)
            if (hki_json_find(value, member->key) != member)
                abort();
    hk_status_free(status);
    hki_arena_free(arena);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hki_text text[3] = {{0}, {0}, {0}};
    if (round_trip(&text[0], (const char *)data, size)) {
        if (!round_trip(&text[1], text[0].data, text[0].length) || !round_trip(&text[2], text[1].data, text[1].length))
            abort();
        if (strcmp(text[1].data, text[2].data))
            abort();
    }
    for (int i = 0; i < 3; i++)
        hki_text_free(&text[i]);
    return 0;
}
