/* The flat parameter space. */
#include "train/space.h"

#include <string.h>

hk_status hki_space_add(hki_space *space, const char *name, int rank, const int64_t *dims)
{
    HK_TRY(hki_array_grow(&space->segments, &space->capacity, (size_t)space->count + 1, sizeof *space->segments));
    hki_segment *segment = &space->segments[space->count];
    memset(segment, 0, sizeof *segment);
    segment->name = name;
    segment->rank = rank;
    for (int i = 0; i < rank; i++)
        segment->dims[i] = dims[i];
    segment->count = hki_shape_count(dims, 0, rank);
    segment->offset = space->size;
    int64_t whole = segment->count + HKI_SEGMENT_ALIGNMENT - 1;
    space->size += whole / HKI_SEGMENT_ALIGNMENT * HKI_SEGMENT_ALIGNMENT;
    space->count++;
    return NULL;
}

int hki_space_find(const hki_space *space, const char *name)
{
    for (int i = 0; i < space->count; i++)
        if (!strcmp(space->segments[i].name, name))
            return i;
    return -1;
}

float *hki_space_array(const hki_space *space)
{
    return hki_alloc_array((size_t)space->size + 1, sizeof(float));
}

void hki_space_clear(hki_space *space)
{
    hki_free(space->segments);
    *space = (hki_space){0};
}
