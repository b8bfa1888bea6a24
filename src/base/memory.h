/* Heap, arenas and checked sizes: the only room that calls malloc.
 *
 * Every size that comes from a file or a shape is computed with hki_size_mul / hki_size_add. Tests make the n-th
 * allocation fail (hki_memory_fail_at) and count allocations (hki_memory_count). */
#ifndef HKI_BASE_MEMORY_H
#define HKI_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define HKI_ALIGNMENT 64 /* cache line and widest vector */

/** Allocates `size` bytes aligned to HKI_ALIGNMENT, not cleared. NULL when memory is exhausted; size 0 gives a valid
 * pointer. */
void *hki_alloc(size_t size);
/** As hki_alloc for an array of `count` zeroed elements; NULL also when the size overflows. */
void *hki_alloc_array(size_t count, size_t element_size);
/** Resizes to `size` bytes, keeping min(old_size, size). On NULL the old block stays valid. */
void *hki_realloc(void *block, size_t old_size, size_t size);
void hki_free(void *block);
/** Copies a string; NULL when memory is exhausted. Free with hki_free. */
char *hki_strdup(const char *text);

/** Sets *out = a * b, or returns false on overflow. */
bool hki_size_mul(size_t *out, size_t a, size_t b);
/** Sets *out = a + b, or returns false on overflow. */
bool hki_size_add(size_t *out, size_t a, size_t b);

/** For tests: makes the n-th allocation from now fail (1 is the next), once; 0 turns it off. */
void hki_memory_fail_at(int64_t n);
/** Returns how many allocations there have been since the start of the process. */
int64_t hki_memory_count(void);

/* An arena frees everything at once. A graph and all that belongs to it lives in one. */
typedef struct hki_arena hki_arena;

hk_status hki_arena_create(hki_arena **out) HK_MUST_USE;
void hki_arena_free(hki_arena *arena);
/** Allocates zeroed memory, aligned to 16. NULL when memory is exhausted. */
void *hki_arena_alloc(hki_arena *arena, size_t size);
void *hki_arena_array(hki_arena *arena, size_t count, size_t element_size);
char *hki_arena_strdup(hki_arena *arena, const char *text);
char *hki_arena_strndup(hki_arena *arena, const char *text, size_t length);
/** printf into the arena. */
char *hki_arena_printf(hki_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t hki_arena_size(const hki_arena *arena);

/** Grows a hki_alloc'ed array so that it holds `count` elements (doubling); new ones are zeroed.
 * Use: HK_TRY(hki_array_grow(&list, &capacity, n + 1, sizeof *list)). HK_OUT_OF_MEMORY leaves it as it was. */
hk_status hki_array_grow(void *array_pointer, size_t *capacity, size_t count, size_t element_size) HK_MUST_USE;

#endif
