/* The test harness: a test program is a list of TEST functions, which register themselves, and a main that runs them.
 *
 *     TEST(addition) { CHECK_EQ(1 + 1, 2); }
 *     TEST_MAIN()
 *
 * A failing check prints file, line and both values, and the program goes on and exits with 1. `program NAME` runs one
 * test. */
#ifndef TESTS_HARNESS_TEST_H
#define TESTS_HARNESS_TEST_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halka/status.h"

static int test_failures;

struct test_case {
    const char *name;
    void (*run)(void);
};

static struct test_case test_list[200];
static int test_count;

#define TEST(test_name)                                                             \
    static void test_##test_name(void);                                             \
    __attribute__((constructor)) static void test_add_##test_name(void)             \
    {                                                                               \
        test_list[test_count++] = (struct test_case){#test_name, test_##test_name}; \
    }                                                                               \
    static void test_##test_name(void)

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            printf("%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition);      \
            test_failures++;                                                          \
        }                                                                             \
    } while (0)

#define CHECK_EQ(a, b)                                                                                      \
    do {                                                                                                    \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                                     \
        if (check_a_ != check_b_) {                                                                         \
            printf("%s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, #a, check_a_, #b, check_b_); \
            test_failures++;                                                                                \
        }                                                                                                   \
    } while (0)

/** Absolute or relative difference at most `tolerance`. */
#define CHECK_CLOSE(a, b, tolerance)                                                                    \
    do {                                                                                                \
        double check_a_ = (a), check_b_ = (b), check_t_ = (tolerance);                                  \
        if (!(fabs(check_a_ - check_b_) <= check_t_ * fmax(1.0, fabs(check_b_)))) {                     \
            printf("%s:%d: %s is %.9g, expected %.9g (%s)\n", __FILE__, __LINE__, #a, check_a_, check_b_, #b); \
            test_failures++;                                                                            \
        }                                                                                               \
    } while (0)

#define CHECK_STR(a, b)                                                                                  \
    do {                                                                                                 \
        const char *check_a_ = (a), *check_b_ = (b);                                                     \
        if (!check_a_ || !check_b_ || strcmp(check_a_, check_b_)) {                                      \
            printf("%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #a, check_a_ ? check_a_ : "(null)", \
                   check_b_ ? check_b_ : "(null)");                                                      \
            test_failures++;                                                                             \
        }                                                                                                \
    } while (0)

#define CHECK_BYTES(a, b, size)                                                                  \
    do {                                                                                         \
        if (memcmp((a), (b), (size))) {                                                          \
            printf("%s:%d: bytes of %s and %s differ\n", __FILE__, __LINE__, #a, #b);            \
            test_failures++;                                                                     \
        }                                                                                        \
    } while (0)

/** The call must succeed; a failure is printed and freed. */
#define CHECK_OK(expr)                                                                               \
    do {                                                                                             \
        hk_status check_s_ = (expr);                                                                 \
        if (check_s_) {                                                                              \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, hk_status_message(check_s_));       \
            test_failures++;                                                                         \
            hk_status_free(check_s_);                                                                \
        }                                                                                            \
    } while (0)

/** As CHECK_OK, but leaves the test function. */
#define REQUIRE_OK(expr)                                                                             \
    do {                                                                                             \
        hk_status check_s_ = (expr);                                                                 \
        if (check_s_) {                                                                              \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, hk_status_message(check_s_));       \
            test_failures++;                                                                         \
            hk_status_free(check_s_);                                                                \
            return;                                                                                  \
        }                                                                                            \
    } while (0)

/** The call must fail with `code` and a message that contains `part` (may be ""). */
#define CHECK_FAILS(expr, code, part)                                                                       \
    do {                                                                                                    \
        hk_status check_s_ = (expr);                                                                        \
        if (hk_status_code(check_s_) != (code) || !strstr(hk_status_message(check_s_), (part))) {           \
            printf("%s:%d: %s gave %s \"%s\", expected %s with \"%s\"\n", __FILE__, __LINE__, #expr,        \
                   hk_code_name(hk_status_code(check_s_)), hk_status_message(check_s_), #code, (part));     \
            test_failures++;                                                                                \
        }                                                                                                   \
        hk_status_free(check_s_);                                                                           \
    } while (0)

/** Runs all tests of the program, or the one named on the command line. */
#define TEST_MAIN()                                                                                  \
    int main(int argc, char **argv)                                                                  \
    {                                                                                                \
        int ran = 0;                                                                                 \
        for (int i = 0; i < test_count; i++) {                                                       \
            if (argc > 1 && strcmp(argv[1], test_list[i].name))                                      \
                continue;                                                                            \
            int before = test_failures;                                                              \
            test_list[i].run();                                                                      \
            ran++;                                                                                   \
            printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", test_list[i].name);         \
        }                                                                                            \
        if (!ran)                                                                                    \
            printf("no test of that name\n");                                                        \
        return test_failures || !ran;                                                                \
    }

#endif
