/* Decimal numbers: against strtod on many spellings, exact integers, round trips, a foreign locale. */
#include <locale.h>

#include "formats/decimal.h"
#include "harness/test.h"

static void check_as_strtod(const char *text)
{
    hki_decimal d;
    CHECK_EQ(hki_decimal_read(&d, text, strlen(text)), strlen(text));
    double expected = strtod(text, NULL);
    if (memcmp(&d.value, &expected, sizeof expected)) {
        printf("%.60s: %.17g, expected %.17g\n", text, d.value, expected);
        test_failures++;
    }
}

TEST(agrees_with_strtod)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "1",
                                        "-1",
                                        "0.1",
                                        ".5",
                                        "5.",
                                        "1e22",
                                        "1e23",
                                        "123456789012345678",
                                        "9007199254740993",
                                        "9007199254740992.9999",
                                        "1.7976931348623157e308",
                                        "1.7976931348623159e308",
                                        "1e400",
                                        "-1e400",
                                        "4.9e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "1e-400",
                                        "0e999999999999999999999",
                                        "0.000000000000000000000000000000000000000001e42",
                                        "1e-5",
                                        "3.4028235677973366e38",
                                        "0.30000000000000004",
                                        "6.02214076e23",
                                        "00012",
                                        "1e+05",
                                        "100000000000000000000000000000000000e-35",
                                        "8.5e-323"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_as_strtod(texts[i]);
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t a = state >> 11;
        state = state * 6364136223846793005u + 1442695040888963407u;
        int digits = 1 + (int)(state >> 60), exponent = (int)(state >> 33 & 1023) - 512;
        if (i % 2)
            exponent = exponent % 25;
        snprintf(text, sizeof text, "%.*s.%llue%d", digits, "9871236540918273", (unsigned long long)(a >> (i % 53)),
                 exponent);
        check_as_strtod(text);
    }
}

TEST(many_digits)
{
    char text[2048];
    for (int digits = 700; digits < 1900; digits += 7) {
        memset(text, '0', sizeof text);
        memcpy(text, "9007199254740993", 16); /* halfway between two doubles: the far digit decides */
        text[digits] = (char)('0' + digits % 2);
        text[digits + 1] = '\0';
        char *exponent = text + digits + 1;
        snprintf(exponent, 10, "e%d", 15 - digits);
        check_as_strtod(text);
    }
}

static bool reads_as(const char *text, int64_t expected)
{
    hki_decimal d;
    return hki_decimal_read(&d, text, strlen(text)) == strlen(text) && d.is_integer && d.integer == expected;
}

TEST(exact_integers)
{
    CHECK(reads_as("0", 0) && reads_as("-0", 0) && reads_as("0.0", 0) && reads_as("0e5", 0));
    CHECK(reads_as("5e8", 500000000) && reads_as("2.0", 2) && reads_as("1.5e1", 15) && reads_as("120e-1", 12));
    CHECK(reads_as("9223372036854775807", INT64_MAX) && reads_as("-9223372036854775808", INT64_MIN));
    CHECK(reads_as("9007199254740993", 9007199254740993));
    hki_decimal d;
    static const char *const not [] = {"9223372036854775808",  "-9223372036854775809",   "0.5", "1e19", "1e-1", "1e300",
                                       "99999999999999999999", "12345678901234567890123"};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
        CHECK_EQ(hki_decimal_read(&d, not [i], strlen(not [i])), strlen(not [i]));
        CHECK(!d.is_integer);
    }
}

TEST(where_a_number_ends)
{
    hki_decimal d;
    CHECK_EQ(hki_decimal_read(&d, "12abc", 5), 2);
    CHECK_EQ(hki_decimal_read(&d, "1e", 2), 1);
    CHECK_EQ(hki_decimal_read(&d, "1e+", 3), 1);
    CHECK_EQ(hki_decimal_read(&d, "123456", 3), 3);
    CHECK_EQ(d.integer, 123);
    CHECK_EQ(hki_decimal_read(&d, "", 0), 0);
    CHECK_EQ(hki_decimal_read(&d, "-", 1), 0);
    CHECK_EQ(hki_decimal_read(&d, ".", 1), 0);
    CHECK_EQ(hki_decimal_read(&d, "-.e5", 4), 0);
    CHECK_EQ(hki_decimal_read(&d, "nan", 3), 0);
}

TEST(shortest_text)
{
    char text[HKI_DECIMAL_TEXT];
    CHECK_STR(hki_decimal_text(text, 0.1), "0.1");
    CHECK_STR(hki_decimal_text(text, 1e300), "1e+300");
    CHECK_STR(hki_decimal_text(text, -2.5), "-2.5");
    CHECK_STR(hki_decimal_text(text, 0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(hki_decimal_text(text, 5e-324), "4.94065645841247e-324");
    CHECK_STR(hki_decimal_text(text, NAN), "nan");
    CHECK_STR(hki_decimal_text(text, -INFINITY), "-inf");
}

TEST(locale_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    for (size_t i = 0; i < 3; i++)
        if (setlocale(LC_NUMERIC, names[i]))
            break;
    char text[HKI_DECIMAL_TEXT];
    hki_decimal d;
    CHECK_EQ(hki_decimal_read(&d, "1.2345678901234567890123", 24), 24);
    CHECK(d.value == 12345678901234567890123e-22);
    CHECK_STR(hki_decimal_text(text, 0.5), "0.5");
    setlocale(LC_NUMERIC, "C");
}

TEST_MAIN()
