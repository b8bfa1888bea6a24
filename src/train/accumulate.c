/* The fixed tree over leaves. */
#include "train/accumulate.h"

void hki_tree_sum_clear(hki_tree_sum *sum)
{
    for (int i = 0; i < HKI_TREE_DEPTH; i++)
        hki_free(sum->arrays[i]);
    *sum = (hki_tree_sum){0};
}

void hki_tree_sum_start(hki_tree_sum *sum, int64_t size)
{
    sum->size = size;
    sum->depth = 0;
}

hk_status hki_tree_sum_leaf(float **out, hki_tree_sum *sum)
{
    *out = NULL;
    HK_ASSERT(sum->depth < HKI_TREE_DEPTH);
    float **array = &sum->arrays[sum->depth];
    if (!*array)
        *array = hki_alloc_array((size_t)sum->size + 1, sizeof(float)); /* zeroed: gaps stay zero */
    if (!*array)
        return hki_out_of_memory();
    *out = *array;
    return NULL;
}

static void merge_top(hki_tree_sum *sum, hki_context *context)
{
    int top = --sum->depth;
    hki_vector_add(context, sum->arrays[top - 1], sum->arrays[top], sum->size);
    sum->level[top - 1]++;
}

void hki_tree_sum_push(hki_tree_sum *sum, hki_context *context)
{
    sum->level[sum->depth++] = 0;
    while (sum->depth > 1 && sum->level[sum->depth - 1] == sum->level[sum->depth - 2])
        merge_top(sum, context);
}

float *hki_tree_sum_finish(hki_tree_sum *sum, hki_context *context)
{
    HK_ASSERT(sum->depth > 0);
    while (sum->depth > 1)
        merge_top(sum, context);
    return sum->arrays[0];
}
