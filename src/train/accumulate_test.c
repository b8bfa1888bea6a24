/* The tree over leaves: its shape for every number of leaves, and the same bytes for any number of threads. */
#include "harness/test.h"

#include "train/accumulate.h"

/* The tree written down directly: split at the largest power of two below n. */
static float tree(const float *x, int n)
{
    if (n == 1)
        return x[0];
    int half = 1;
    while (half * 2 < n)
        half *= 2;
    return tree(x, half) + tree(x + half, n - half);
}

TEST(tree_has_the_documented_shape)
{
    hki_context *context;
    REQUIRE_OK(hki_context_create(&context, &(hk_session_options){.threads = 2}));
    hki_tree_sum sum = {0};
    for (int n = 1; n <= 70; n++) {
        float leaves[70];
        hki_tree_sum_start(&sum, 40000);
        for (int i = 0; i < n; i++) {
            float *leaf;
            REQUIRE_OK(hki_tree_sum_leaf(&leaf, &sum));
            leaves[i] = 1.0f / (float)(3 + i * i);
            for (int k = 0; k < 40000; k++)
                leaf[k] = leaves[i];
            hki_tree_sum_push(&sum, context);
        }
        const float *root = hki_tree_sum_finish(&sum, context);
        float expected = tree(leaves, n);
        CHECK_BYTES(&root[0], &expected, sizeof expected);
        CHECK_BYTES(&root[39999], &expected, sizeof expected);
    }
    hki_tree_sum_clear(&sum);
    hki_context_free(context);
}

TEST_MAIN()
