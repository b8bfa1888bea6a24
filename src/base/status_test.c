/* Statuses: messages, context, exit codes, and behaviour without memory. */
#include "base/status.h"

#include "base/memory.h"
#include "harness/test.h"

static hk_status forwards(hk_status status)
{
    HK_TRY(status);
    return NULL;
}

static hk_status adds_context(hk_status status)
{
    HK_TRY_CTX(status, "node '%s'", "conv1");
    return NULL;
}

TEST(success_is_null)
{
    CHECK_EQ(hk_status_code(NULL), HK_OK);
    CHECK_STR(hk_status_message(NULL), "success");
    hk_status_free(NULL);
    CHECK(forwards(NULL) == NULL);
    CHECK(adds_context(NULL) == NULL);
}

TEST(message_is_one_line)
{
    CHECK_FAILS(HK_ERR(HK_INVALID_FILE, "a\nb\r%d", 7), HK_INVALID_FILE, "a b 7");
}

TEST(context_stands_in_front)
{
    hk_status status = adds_context(HK_ERR(HK_INVALID_SHAPE, "expected %d, found %d", 3, 4));
    CHECK_STR(hk_status_message(status), "node 'conv1': expected 3, found 4");
    CHECK_EQ(hk_status_code(status), HK_INVALID_SHAPE);
    hk_status_free(status);
}

TEST(names_and_exit_codes)
{
    CHECK_STR(hk_code_name(HK_INVALID_SHAPE), "HK_INVALID_SHAPE");
    CHECK_STR(hk_code_name((hk_code)999), "unknown code");
    CHECK_EQ(hk_code_exit(HK_OK), 0);
    CHECK_EQ(hk_code_exit(HK_INVALID_CONFIG), 3);
    CHECK_EQ(hk_code_exit(HK_INTERNAL), 70);
}

TEST(out_of_memory_needs_no_memory)
{
    hki_memory_fail_at(1);
    hk_status status = HK_ERR(HK_IO, "never seen");
    CHECK_EQ(hk_status_code(status), HK_OUT_OF_MEMORY);
    CHECK(status == hki_out_of_memory());
    hk_status_free(status);
    hk_status_free(status); /* freeing the static object does nothing */
    CHECK_STR(hk_status_message(hki_out_of_memory()), "memory is exhausted");
}

TEST(failure_survives_without_memory_for_context)
{
    hk_status status = HK_ERR(HK_IO, "disk");
    hki_memory_fail_at(1);
    status = adds_context(status);
    CHECK_EQ(hk_status_code(status), HK_IO);
    CHECK_STR(hk_status_message(status), "disk");
    hk_status_free(status);
    status = adds_context(hki_out_of_memory());
    CHECK_EQ(hk_status_code(status), HK_OUT_OF_MEMORY);
    CHECK_STR(hk_status_message(status), "node 'conv1': memory is exhausted");
    hk_status_free(status);
}

TEST(join_keeps_the_first)
{
    hk_status first = HK_ERR(HK_IO, "first");
    hk_status status = hki_status_join(first, HK_ERR(HK_INTERNAL, "second"));
    CHECK_STR(hk_status_message(status), "first");
    hk_status_free(status);
    status = hki_status_join(NULL, HK_ERR(HK_INTERNAL, "second"));
    CHECK_STR(hk_status_message(status), "second");
    hk_status_free(status);
    CHECK(hki_status_join(NULL, NULL) == NULL);
}

TEST_MAIN()
