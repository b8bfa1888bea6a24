/* JSON: values with their places, every kind of damage with its message, truncation and bit flips at every offset,
 * writing. */
#include "formats/json.h"
#include "harness/test.h"

static hki_arena *arena;

static hk_status parse(hki_json **out, const char *text)
{
    hki_arena_free(arena);
    hk_status status = hki_arena_create(&arena);
    return status ? status : hki_json_parse(out, arena, text, strlen(text), "run.json");
}

static void check_refused(const char *text, const char *message)
{
    hki_json *value;
    CHECK_FAILS(parse(&value, text), HK_INVALID_FILE, message);
    CHECK(value == NULL);
}

TEST(values_and_places)
{
    hki_json *root;
    REQUIRE_OK(parse(
        &root, "{\n  \"epochs\": 5,\n  \"é\": [1.5, -2e3, true, null],\n  \"s\": \"a\\u00e9\\n\\ud83d\\ude00/\"\n}\n"));
    CHECK_EQ(root->type, HKI_JSON_OBJECT);
    CHECK_EQ(root->count, 3);
    const hki_json *epochs = hki_json_find(root, "epochs"), *list = hki_json_find(root, "é");
    CHECK(epochs && epochs->is_integer && epochs->integer == 5);
    CHECK_EQ(epochs->line, 2);
    CHECK_EQ(epochs->column, 13);
    CHECK_EQ(list->count, 4);
    CHECK_EQ(list->line, 3);
    CHECK_EQ(list->column, 8); /* characters, not bytes */
    CHECK(list->first->number == 1.5 && !list->first->is_integer);
    CHECK(list->first->next->integer == -2000 && list->first->next->is_integer);
    CHECK(list->first->next->next->boolean);
    CHECK_EQ(list->first->next->next->next->type, HKI_JSON_NULL);
    CHECK_STR(hki_json_find(root, "s")->string, "a\xc3\xa9\n\xf0\x9f\x98\x80/");
    CHECK(hki_json_find(root, "absent") == NULL);
    CHECK(hki_json_find(epochs, "absent") == NULL);
    CHECK(hki_json_find(NULL, "absent") == NULL);
}

TEST(damage_is_named)
{
    check_refused("{\"a\": 1 x}", "run.json:1:9: expected ',' or '}', found 'x'");
    check_refused("{\n\"a\": 1,\n}", "run.json:3:1: expected a key in double quotes after ',', found '}'");
    check_refused("[1, 2,]", "run.json:1:7: expected a value, found ']'");
    check_refused("[1 2]", "run.json:1:4: expected ',' or ']', found '2'");
    check_refused("", "run.json:1:1: expected a value, found the end of the text");
    check_refused("  \n ", "run.json:2:2: expected a value, found the end of the text");
    check_refused("{\"a\": 1", "expected ',' or '}', found the end of the text");
    check_refused("{\"a\" 1}", "run.json:1:6: expected ':' after a key, found '1'");
    check_refused("{a: 1}", "expected a key in double quotes or '}', found 'a'");
    check_refused("{'a': 1}", "JSON strings stand in double quotes");
    check_refused("{} // done", "JSON has no comments");
    check_refused("{} {}", "run.json:1:4: expected nothing after the value, found '{'");
    check_refused("True", "expected a value, found 'True'");
    check_refused("nul", "expected a value, found 'nul'");
    check_refused("NaN", "found 'NaN'");
    check_refused("\"abc", "expected '\"' at the end of a string, found the end of the text");
    check_refused("\"a\nb\"", "found the end of the line");
    check_refused("\"a\tb\"", "run.json:1:3: expected control characters as \\u escapes, found byte 0x09");
    check_refused("\"\\x\"", "after a backslash, found 'x'");
    check_refused("\"\\u12g4\"", "expected four hexadecimal digits after \\u, found 'g'");
    check_refused("\"\\u0000\"", "other than \\u0000");
    check_refused("\"\\ud800\"", "second half of a surrogate pair");
    check_refused("\"\\ud800\\u0041\"", "second half of a surrogate pair");
    check_refused("\"\\udc00\"", "first half of a surrogate pair");
    check_refused("\"\xc3(\"", "run.json:1:2: expected valid UTF-8, found byte 0xc3");
    check_refused("\"\xc0\xaf\"", "valid UTF-8");
    check_refused("\"\xed\xa0\x80\"", "valid UTF-8");
    check_refused("\xef\xbb\xbf[", "run.json:1:2: expected a value, found the end");
}

TEST(bad_numbers)
{
    check_refused("01", "expected no digit after a leading 0, found '1'");
    check_refused("-", "expected a digit, found the end of the text");
    check_refused("+1", "expected a value, found '+'");
    check_refused("1.", "expected a digit after the decimal point");
    check_refused(".5", "expected a value, found '.'");
    check_refused("1e", "expected a digit in the exponent");
    check_refused("[1e999]", "run.json:1:2: expected a number below 1.8e308");
    check_refused("0x10", "expected nothing after the value, found 'x'");
}

TEST(duplicate_keys)
{
    check_refused("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}",
                  "run.json:3:7: expected each key once, found \"a\" again (first on line 1)");
    check_refused("{\"a\": 1, \"\\u0061\": 3}", "found \"a\" again");
    hki_text text = {0};
    hki_text_printf(&text, "{");
    for (int i = 0; i < 5000; i++)
        hki_text_printf(&text, "\"k%d\": %d,\n", i, i);
    hki_text_printf(&text, "\"k%d\": 0}", 5000);
    hki_json *root;
    CHECK_OK(parse(&root, text.data));
    CHECK_EQ(root->count, 5001);
    for (int i = 0; i < 5000; i += 7) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        const hki_json *value = hki_json_find(root, key);
        CHECK(value && value->integer == i && value->line == i + 1);
    }
    CHECK(hki_json_find(root, "k5001") == NULL);
    hki_text_free(&text);
    hki_text again = {0};
    hki_text_printf(&again, "{");
    for (int i = 0; i < 100; i++)
        hki_text_printf(&again, "\"k%d\": %d,\n", i, i);
    hki_text_printf(&again, "\"k42\": 0}");
    check_refused(again.data, "run.json:101:8: expected each key once, found \"k42\" again (first on line 43)");
    hki_text_free(&again);
}

TEST(nesting_is_limited)
{
    char text[2 * HKI_JSON_DEPTH + 4];
    hki_json *root;
    memset(text, '[', HKI_JSON_DEPTH);
    memset(text + HKI_JSON_DEPTH, ']', HKI_JSON_DEPTH);
    text[2 * HKI_JSON_DEPTH] = '\0';
    CHECK_OK(parse(&root, text));
    memset(text, '[', HKI_JSON_DEPTH + 1);
    check_refused(text, "expected at most 100 levels of nesting");
}

static const char sample[] =
    "{\"model\": {\"name\": \"mlp\\u00e9\", \"layers\": [784, 1.5e2, -10]}, \"ok\": true, \"none\": null}";

TEST(truncated_and_flipped_at_every_offset)
{
    hki_arena *own;
    for (size_t size = 0; size < sizeof sample - 1; size++) {
        hki_json *root;
        char *copy = malloc(size ? size : 1); /* so that a sanitizer sees any read behind the end */
        memcpy(copy, sample, size);
        REQUIRE_OK(hki_arena_create(&own));
        CHECK_FAILS(hki_json_parse(&root, own, copy, size, "f"), HK_INVALID_FILE, "f:1:");
        hki_arena_free(own);
        free(copy);
    }
    for (size_t i = 0; i < 8 * (sizeof sample - 1); i++) {
        hki_json *root;
        char *copy = malloc(sizeof sample - 1);
        memcpy(copy, sample, sizeof sample - 1);
        copy[i / 8] ^= (char)(1 << i % 8);
        REQUIRE_OK(hki_arena_create(&own));
        hk_status_free(hki_json_parse(&root, own, copy, sizeof sample - 1, "f"));
        hki_arena_free(own);
        free(copy);
    }
}

TEST(typed_access)
{
    hki_json *root;
    REQUIRE_OK(parse(&root, "{\"a\": {\"lr\": \"fast\", \"n\": [1, 2.5]}, \"big\": 5e8, \"flag\": 1}"));
    double d;
    int64_t i;
    bool b;
    const char *s;
    const hki_json *a = hki_json_find(root, "a"), *list = hki_json_find(a, "n");
    CHECK_FAILS(hki_json_get_double(&d, hki_json_find(a, "lr")), HK_INVALID_CONFIG,
                "run.json:1:14: a.lr: expected a number, found the string \"fast\"");
    CHECK_FAILS(hki_json_get_int(&i, list->first->next, 0, 9), HK_INVALID_CONFIG,
                "run.json:1:31: a.n[1]: expected a whole number, found 2.5");
    CHECK_FAILS(hki_json_get_int(&i, list->first, 2, 9), HK_INVALID_CONFIG, "a.n[0]: expected 2 to 9, found 1");
    CHECK_FAILS(hki_json_get_int(&i, list->first, 2, INT64_MAX), HK_INVALID_CONFIG, "expected at least 2, found 1");
    CHECK_FAILS(hki_json_get_bool(&b, hki_json_find(root, "flag")), HK_INVALID_CONFIG,
                "expected true or false, found 1");
    CHECK_FAILS(hki_json_get_string(&s, list), HK_INVALID_CONFIG, "expected a string, found an array");
    CHECK_FAILS(hki_json_expect(list, HKI_JSON_OBJECT), HK_INVALID_CONFIG, "expected an object, found an array");
    CHECK_OK(hki_json_get_int(&i, hki_json_find(root, "big"), 0, INT64_MAX));
    CHECK_EQ(i, 500000000);
    CHECK_OK(hki_json_get_string(&s, hki_json_find(a, "lr")));
    CHECK_STR(s, "fast");
    static const char *const known[] = {"a", "bigger", "flag"};
    CHECK_FAILS(hki_json_check_keys(root, known, 3), HK_INVALID_CONFIG, "run.json:1:45: big: unknown key");
    static const char *const near[] = {"a", "bag", "flag"};
    CHECK_FAILS(hki_json_check_keys(root, near, 3), HK_INVALID_CONFIG, "did you mean \"bag\"?");
    static const char *const all[] = {"a", "big", "flag"};
    CHECK_OK(hki_json_check_keys(root, all, 3));
}

TEST(writing)
{
    hki_json *root;
    hki_text text = {0}, again = {0};
    REQUIRE_OK(parse(
        &root, "{\"a\":{},\"b\":[],\"c\":[1,2.50,\"x\"],\"d\":[{\"e\":-0.0}],\"f\":1e300,\"g\":9223372036854775807,"
               "\"h\":\"\\u0001\",\"i\":true}"));
    hki_json_write(&text, root);
    CHECK_STR(
        text.data,
        "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [1, 2.5, \"x\"],\n  \"d\": [\n    {\n      \"e\": -0\n    }\n  ],\n"
        "  \"f\": 1e+300,\n  \"g\": 9223372036854775807,\n  \"h\": \"\\u0001\",\n  \"i\": true\n}");
    REQUIRE_OK(parse(&root, text.data));
    hki_json_write(&again, root);
    CHECK_STR(again.data, text.data);
    hki_text_free(&text);
    hki_text_free(&again);
}

TEST(memory_exhausted)
{
    for (int n = 1; n < 20; n++) {
        hki_arena *own;
        REQUIRE_OK(hki_arena_create(&own));
        hki_json *root;
        hki_memory_fail_at(n);
        hk_status status = hki_json_parse(&root, own, sample, sizeof sample - 1, "f");
        hki_memory_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY);
        hk_status_free(status);
        hki_arena_free(own);
    }
    hki_arena_free(arena);
    arena = NULL;
}

TEST_MAIN()
