/* The heap: the only file that calls malloc and free.
 *
 * Every block is aligned to HKI_ALIGNMENT. A countdown lets tests fail the n-th allocation; a counter lets them prove
 * that a training step allocates nothing. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t allocation_count;
static _Atomic int64_t fail_countdown; /* 0: off; 1: the next allocation fails */

/* True for the one allocation that a test asked to fail. */
static bool fails_now(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0)
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *hki_alloc(size_t size)
{
    atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed);
    if (fails_now() || size > PTRDIFF_MAX - HKI_ALIGNMENT)
        return NULL;
    void *block;
    return posix_memalign(&block, HKI_ALIGNMENT, size ? size : 1) ? NULL : block;
}

void *hki_alloc_array(size_t count, size_t element_size)
{
    size_t size;
    if (!hki_size_mul(&size, count, element_size))
        return NULL;
    void *block = hki_alloc(size);
    if (block)
        memset(block, 0, size);
    return block;
}

void *hki_realloc(void *block, size_t old_size, size_t size)
{
    void *larger = hki_alloc(size);
    if (!larger)
        return NULL;
    if (block) {
        memcpy(larger, block, old_size < size ? old_size : size);
        hki_free(block);
    }
    return larger;
}

void hki_free(void *block)
{
    free(block);
}

char *hki_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hki_alloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

bool hki_size_mul(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool hki_size_add(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}

void hki_memory_fail_at(int64_t n)
{
    atomic_store(&fail_countdown, n);
}

int64_t hki_memory_count(void)
{
    return atomic_load_explicit(&allocation_count, memory_order_relaxed);
}

hk_status hki_array_grow(void *array_pointer, size_t *capacity, size_t count, size_t element_size)
{
    if (count <= *capacity)
        return NULL;
    size_t wanted = *capacity < 4 ? 8 : *capacity;
    if (wanted <= SIZE_MAX / 2 && wanted == *capacity)
        wanted *= 2;
    if (wanted < count)
        wanted = count;
    void *array; /* array_pointer is a T **; copied bytewise because a T ** may not be read as a void ** */
    memcpy(&array, array_pointer, sizeof array);
    size_t size, old_size = *capacity * element_size;
    if (!hki_size_mul(&size, wanted, element_size))
        return hki_out_of_memory();
    array = hki_realloc(array, old_size, size);
    if (!array)
        return hki_out_of_memory();
    memset((char *)array + old_size, 0, size - old_size);
    memcpy(array_pointer, &array, sizeof array);
    *capacity = wanted;
    return NULL;
}
