/* Counted memory. The count is atomic: tensors that share a buffer may be freed by different threads. */
#include <stdatomic.h>
#include <string.h>

#include "tensor/tensor.h"

struct hki_buffer {
    atomic_int references;
    void *data;
    void (*release)(void *context); /* foreign memory: lets go of it; may be NULL */
    void *context;
};

/* Owned memory begins behind the header, in the same block. */
_Static_assert(sizeof(struct hki_buffer) <= HKI_ALIGNMENT, "the header of a buffer must fit in one alignment unit");

hk_status hki_buffer_create(hki_buffer **out, size_t size)
{
    *out = NULL;
    size_t total;
    hki_buffer *buffer = hki_size_add(&total, size, HKI_ALIGNMENT) ? hki_alloc_array(total, 1) : NULL;
    if (!buffer)
        return HK_ERR(HK_OUT_OF_MEMORY, "memory is exhausted: a buffer of %zu bytes", size);
    atomic_init(&buffer->references, 1);
    buffer->data = (char *)buffer + HKI_ALIGNMENT;
    *out = buffer;
    return NULL;
}

hk_status hki_buffer_foreign(hki_buffer **out, void *data, size_t size, void (*release)(void *context), void *context)
{
    (void)size;
    *out = NULL;
    hki_buffer *buffer = hki_alloc_array(1, sizeof *buffer);
    if (!buffer)
        return hki_out_of_memory();
    atomic_init(&buffer->references, 1);
    buffer->data = data;
    buffer->release = release;
    buffer->context = context;
    *out = buffer;
    return NULL;
}

hki_buffer *hki_buffer_retain(hki_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void hki_buffer_release(hki_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->release)
        buffer->release(buffer->context);
    hki_free(buffer);
}

void *hki_buffer_data(hki_buffer *buffer)
{
    return buffer->data;
}
