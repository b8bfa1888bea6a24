/* Heap and arena: alignment, overflow, injected failures, growth. */
#include "base/memory.h"

#include "harness/test.h"

TEST(blocks_are_aligned)
{
    for (size_t size = 0; size < 300; size += 7) {
        void *block = hki_alloc(size);
        CHECK(block && (uintptr_t)block % HKI_ALIGNMENT == 0);
        if (block)
            memset(block, 1, size);
        hki_free(block);
    }
    hki_free(NULL);
}

TEST(impossible_sizes_are_refused)
{
    CHECK(hki_alloc(SIZE_MAX) == NULL);
    CHECK(hki_alloc((size_t)PTRDIFF_MAX) == NULL);
    CHECK(hki_alloc_array(SIZE_MAX / 4 + 1, 8) == NULL);
}

TEST(arrays_are_zeroed)
{
    int *array = hki_alloc_array(1000, sizeof *array);
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum |= array[i];
    CHECK_EQ(sum, 0);
    hki_free(array);
}

TEST(realloc_keeps_contents)
{
    char *block = hki_realloc(NULL, 0, 4);
    memcpy(block, "abc", 4);
    block = hki_realloc(block, 4, 4000);
    CHECK_STR(block, "abc");
    hki_memory_fail_at(1);
    CHECK(hki_realloc(block, 4000, 8000) == NULL);
    CHECK_STR(block, "abc");
    hki_free(block);
}

TEST(checked_sizes)
{
    size_t size = 0;
    CHECK(hki_size_mul(&size, 6, 7));
    CHECK_EQ(size, 42);
    CHECK(!hki_size_mul(&size, SIZE_MAX, 2));
    CHECK(hki_size_add(&size, 40, 2));
    CHECK_EQ(size, 42);
    CHECK(!hki_size_add(&size, SIZE_MAX, 1));
}

TEST(nth_allocation_fails_once)
{
    int64_t before = hki_memory_count();
    hki_memory_fail_at(3);
    void *a = hki_alloc(1), *b = hki_alloc(1), *c = hki_alloc(1), *d = hki_alloc(1);
    CHECK(a && b && !c && d);
    CHECK_EQ(hki_memory_count() - before, 4);
    hki_free(a);
    hki_free(b);
    hki_free(d);
    hki_memory_fail_at(1);
    hki_memory_fail_at(0);
    a = hki_alloc(1);
    CHECK(a);
    hki_free(a);
}

TEST(array_grows)
{
    int64_t *list = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 1000; n++) {
        REQUIRE_OK(hki_array_grow(&list, &capacity, n + 1, sizeof *list));
        CHECK_EQ(list[n], 0);
        list[n] = (int64_t)n;
    }
    CHECK(capacity >= 1000 && capacity < 4000);
    for (size_t n = 0; n < 1000; n++)
        CHECK_EQ(list[n], n);
    size_t kept = capacity;
    CHECK_FAILS(hki_array_grow(&list, &capacity, SIZE_MAX / 8, sizeof *list), HK_OUT_OF_MEMORY, "");
    hki_memory_fail_at(1);
    CHECK_FAILS(hki_array_grow(&list, &capacity, capacity + 1, sizeof *list), HK_OUT_OF_MEMORY, "");
    CHECK_EQ(capacity, kept);
    CHECK_EQ(list[999], 999);
    hki_free(list);
}

TEST(arena_gives_zeroed_aligned_memory)
{
    hki_arena *arena;
    REQUIRE_OK(hki_arena_create(&arena));
    size_t total = 0;
    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *block = hki_arena_alloc(arena, size);
        CHECK(block && (uintptr_t)block % 16 == 0);
        for (size_t i = 0; i < size; i++)
            if (block[i])
                CHECK(!"not zero");
        if (block)
            memset(block, 0xff, size);
        total += size;
    }
    CHECK(hki_arena_alloc(arena, 3 << 20) != NULL);
    total += 3 << 20;
    CHECK(hki_arena_size(arena) >= total && hki_arena_size(arena) < 2 * total);
    CHECK(hki_arena_alloc(arena, SIZE_MAX) == NULL);
    CHECK(hki_arena_array(arena, SIZE_MAX / 2, 3) == NULL);
    hki_arena_free(arena);
    hki_arena_free(NULL);
}

TEST(arena_strings)
{
    hki_arena *arena;
    REQUIRE_OK(hki_arena_create(&arena));
    CHECK_STR(hki_arena_strdup(arena, "hello"), "hello");
    CHECK_STR(hki_arena_strndup(arena, "hello", 2), "he");
    CHECK_STR(hki_arena_printf(arena, "%s_%d", "node", 12), "node_12");
    char *many = hki_arena_printf(arena, "%0100000d", 7);
    CHECK_EQ(many ? strlen(many) : 0, 100000);
    CHECK_STR(hki_arena_strdup(arena, ""), "");
    hki_arena_free(arena);
}

TEST(arena_without_memory)
{
    hki_arena *arena;
    hki_memory_fail_at(1);
    CHECK_FAILS(hki_arena_create(&arena), HK_OUT_OF_MEMORY, "");
    CHECK(arena == NULL);
    REQUIRE_OK(hki_arena_create(&arena));
    hki_memory_fail_at(1);
    CHECK(hki_arena_alloc(arena, 10) == NULL);
    CHECK(hki_arena_alloc(arena, 10) != NULL);
    hki_arena_free(arena);
}

TEST_MAIN()
