/* Strings: growing, escapes, suggestions, patterns. */
#include "base/text.h"

#include "harness/test.h"

TEST(grows)
{
    hki_text text = {0};
    for (int i = 0; i < 1000; i++)
        hki_text_printf(&text, "%03d,", i);
    hki_text_append(&text, "end", 3);
    CHECK_OK(hki_text_status(&text));
    CHECK_EQ(text.length, 4003);
    CHECK(!strncmp(text.data, "000,001,", 8));
    CHECK_STR(text.data + 4000, "end");
    hki_text_free(&text);
    hki_text_append(&text, "", 0);
    CHECK_STR(text.data, "");
    hki_text_free(&text);
}

TEST(failure_is_remembered)
{
    hki_text text = {0};
    hki_memory_fail_at(1);
    hki_text_printf(&text, "lost");
    hki_text_printf(&text, "ignored");
    CHECK_EQ(text.length, 0);
    CHECK_FAILS(hki_text_status(&text), HK_OUT_OF_MEMORY, "");
    hki_text_free(&text);
}

static void check_json(const char *string, const char *expected)
{
    hki_text text = {0};
    hki_text_json(&text, string);
    CHECK_STR(text.data, expected);
    hki_text_free(&text);
}

TEST(json_escapes)
{
    check_json("", "\"\"");
    check_json("a\"b\\c\n\t\x01", "\"a\\\"b\\\\c\\n\\t\\u0001\"");
    check_json("হালকা €", "\"হালকা €\"");
    check_json("</script>", "\"<\\/script>\"");
    check_json("a\xff"
               "b\xc3",
               "\"a\xef\xbf\xbd"
               "b\xef\xbf\xbd\"");
    check_json("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
    check_json("\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
}

TEST(html_escapes)
{
    hki_text text = {0};
    hki_text_html(&text, "<a href=\"x\">&</a>");
    CHECK_STR(text.data, "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
    hki_text_free(&text);
}

TEST(nearest_name)
{
    static const char *const names[] = {"train", "eval", "inspect", "model", "train_batch_size"};
    CHECK_STR(hki_nearest_name("tarin", names, 5), "train");
    CHECK_STR(hki_nearest_name("INSPEKT", names, 5), "inspect");
    CHECK_STR(hki_nearest_name("train_batchsize", names, 5), "train_batch_size");
    CHECK(hki_nearest_name("serve", names, 5) == NULL);
    CHECK(hki_nearest_name("", names, 5) == NULL);
    CHECK(hki_nearest_name("x", names, 0) == NULL);
    char name[500];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK(hki_nearest_name(name, names, 5) == NULL);
}

TEST(glob)
{
    CHECK(hki_glob_match("*", ""));
    CHECK(hki_glob_match("", ""));
    CHECK(!hki_glob_match("", "a"));
    CHECK(hki_glob_match("*.bias", "conv1.bias"));
    CHECK(!hki_glob_match("*.bias", "conv1.bias2"));
    CHECK(hki_glob_match("layer?.*weight", "layer3.conv.weight"));
    CHECK(hki_glob_match("*a*b*c", "xxaxxbxxbc"));
    CHECK(!hki_glob_match("*a*b*c", "xxaxxbxxbd"));
    CHECK(!hki_glob_match("?", ""));
    char name[2001], pattern[60];
    memset(name, 'a', 2000);
    name[2000] = '\0';
    for (int i = 0; i < 58; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[58] = 'b';
    pattern[59] = '\0';
    CHECK(!hki_glob_match(pattern, name)); /* would never end if it were exponential */
}

TEST_MAIN()
