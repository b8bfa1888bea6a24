/* Arenas: memory that is freed all at once. A chain of chunks that double in size up to a limit; an allocation that is
 * large by itself gets a chunk of its own behind the current one, whose rest stays in use. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define ARENA_ALIGNMENT 16
#define CHUNK_FIRST     ((size_t)4096)
#define CHUNK_LIMIT     ((size_t)1 << 20)

typedef struct chunk {
    struct chunk *next; /* the one filled before */
    size_t size, used;  /* bytes of data[] */
    _Alignas(ARENA_ALIGNMENT) char data[];
} chunk;

struct hki_arena {
    chunk *current;
    size_t next_size; /* of the chunk to come */
    size_t total;     /* bytes taken from the heap */
};

hk_status hki_arena_create(hki_arena **out)
{
    *out = NULL;
    hki_arena *arena = hki_alloc_array(1, sizeof *arena);
    if (!arena)
        return hki_out_of_memory();
    arena->next_size = CHUNK_FIRST;
    arena->total = sizeof *arena;
    *out = arena;
    return NULL;
}

void hki_arena_free(hki_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->current, *next; c; c = next) {
        next = c->next;
        hki_free(c);
    }
    hki_free(arena);
}

/* Adds a chunk with room for at least `size` bytes and returns it. */
static chunk *add_chunk(hki_arena *arena, size_t size)
{
    bool alone = size > arena->next_size / 4;
    size_t room = alone ? size : arena->next_size, bytes;
    if (!hki_size_add(&bytes, room, sizeof(chunk)))
        return NULL;
    chunk *c = hki_alloc(bytes);
    if (!c)
        return NULL;
    c->size = room;
    c->used = 0;
    arena->total += bytes;
    if (alone && arena->current) {
        c->next = arena->current->next;
        arena->current->next = c;
    } else {
        c->next = arena->current;
        arena->current = c;
    }
    if (!alone && arena->next_size < CHUNK_LIMIT)
        arena->next_size *= 2;
    return c;
}

void *hki_arena_alloc(hki_arena *arena, size_t size)
{
    size_t padded;
    if (!hki_size_add(&padded, size ? size : 1, ARENA_ALIGNMENT - 1))
        return NULL;
    padded = padded / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    chunk *c = arena->current;
    if (!c || c->size - c->used < padded)
        c = add_chunk(arena, padded);
    if (!c)
        return NULL;
    void *block = c->data + c->used;
    c->used += padded;
    memset(block, 0, padded);
    return block;
}

void *hki_arena_array(hki_arena *arena, size_t count, size_t element_size)
{
    size_t size;
    return hki_size_mul(&size, count, element_size) ? hki_arena_alloc(arena, size) : NULL;
}

char *hki_arena_strndup(hki_arena *arena, const char *text, size_t length)
{
    size_t size;
    if (!hki_size_add(&size, length, 1))
        return NULL;
    char *copy = hki_arena_alloc(arena, size);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *hki_arena_strdup(hki_arena *arena, const char *text)
{
    return hki_arena_strndup(arena, text, strlen(text));
}

char *hki_arena_printf(hki_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : hki_arena_alloc(arena, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t hki_arena_size(const hki_arena *arena)
{
    return arena->total;
}
