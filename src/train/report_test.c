/* The report: parts in order, escaping, numbers that are not there, empty runs, many classes, pictures, thinning. */
#include "train/report.h"

#include <unistd.h>

#include "base/file.h"
#include "harness/test.h"
#include "train/report_chart.h"
#include "train/report_picture.h"

#define PATH "report_test.html"

/* Writes the report and reads it back; NULL if that failed. */
static char *page_of(const hki_report *report)
{
    char *page = NULL;
    size_t size = 0;
    CHECK_OK(hki_report_write(PATH, report));
    CHECK_OK(hki_file_read(&page, &size, PATH));
    unlink(PATH);
    return page;
}

static int count_of(const char *page, const char *part)
{
    int n = 0;
    for (const char *s = page; (s = strstr(s, part)); s += strlen(part))
        n++;
    return n;
}

/* Whatever was put in: tags are balanced, and nothing is fetched or run. */
static void check_form(const char *page)
{
    static const char *const tags[] = {"section", "div", "table", "tr", "td", "figure", "svg", "ul", "details", "pre"};
    char open[32], closed[32];
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        snprintf(open, sizeof open, "<%s", tags[i]);
        snprintf(closed, sizeof closed, "</%s>", tags[i]);
        CHECK_EQ(count_of(page, open), count_of(page, closed));
    }
    CHECK_EQ(count_of(page, "<script"), 0);
    CHECK_EQ(count_of(page, "http"), 0);
    CHECK_EQ(count_of(page, "nan"), 0);
    CHECK_EQ(count_of(page, "inf"), 0);
    CHECK(strstr(page, "</html>"));
}

TEST(parts)
{
    hki_epoch_row epochs[] = {{1, 100, 0.01, 0.9, 0.7, 0.6, 0.8, 10}, {2, 200, 0.001, 0.4, 0.85, 0.35, 0.875, 11}};
    hki_step_row steps[200];
    for (int i = 0; i < 200; i++)
        steps[i] = (hki_step_row){i + 1, 2.3 / (1 + 0.1 * i), 0.01, 1};
    double scores[] = {0.5, 0.75, 1};
    int64_t confusion[] = {5, 5, 0, 2, 6, 0, 0, 0, 8};
    hk_evaluation e = {.samples = 26,
                       .classes = 3,
                       .loss = 0.3456,
                       .accuracy = 0.9253,
                       .top5 = NAN,
                       .mse = NAN,
                       .mae = NAN,
                       .r2 = NAN,
                       .macro_f1 = 0.75,
                       .precision = scores,
                       .recall = scores,
                       .f1 = scores,
                       .confusion = confusion};
    const char *classes[] = {"<Shirt> & \"coat\"", "Bag", "Boot"};
    uint8_t pixels[12] = {0, 50, 100, 255};
    hki_wrong_image wrong[] = {{pixels, 2, 2, 1, 17, 0, 1, 0.98}, {pixels, 2, 2, 3, 18, 1, 0, NAN}};
    hki_fact facts[] = {{"Model", "cnn <small>"}, {"Seed", "1234"}};
    hki_report r = {"fashion & more",     facts, 2, epochs, 2, steps, 200, &e, "test", classes, wrong, 2,
                    "{\"name\": \"a<b\"}"};
    char *page = page_of(&r);
    if (!page)
        return;
    check_form(page);
    const char *order[] = {"<title>fashion &amp; more",
                           "92.53",
                           "Training loss per step",
                           "Learning rate",
                           "Loss per epoch",
                           "Accuracy per epoch",
                           "id=\"classes\"",
                           "id=\"images\"",
                           "id=\"facts\"",
                           "cnn &lt;small&gt;",
                           "{&quot;name&quot;: &quot;a&lt;b&quot;}"};
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order && at; i++) {
        at = strstr(at, order[i]);
        if (!at)
            printf("missing or out of order: %s\n", order[i]);
        CHECK(at);
    }
    CHECK_EQ(count_of(page, "<Shirt>"), 0);
    CHECK(strstr(page, "&lt;Shirt&gt; &amp; &quot;coat&quot;</b> taken for <b>Bag</b> 5 of 10"));
    CHECK_EQ(count_of(page, "data:image/png;base64,iVBORw0KGgo"), 2);
    CHECK_EQ(count_of(page, "class=\"dot "), 8);
    hki_free(page);
}

TEST(nothing)
{
    char *page = page_of(&(hki_report){0});
    if (!page)
        return;
    check_form(page);
    CHECK(strstr(page, "Nothing was trained or measured yet."));
    CHECK_EQ(count_of(page, "<svg"), 0);
    hki_free(page);
}

TEST(not_finite)
{
    hki_epoch_row epochs[] = {{1, 3, NAN, NAN, NAN, INFINITY, NAN, NAN}, {2, 4, 0.1, 0.5, NAN, NAN, NAN, 1}};
    hki_step_row steps[] = {{1, 2, 0.1, NAN}, {2, INFINITY, 0.1, NAN}, {3, NAN, NAN, NAN}, {4, 1, 0.1, INFINITY}};
    hk_evaluation e = {.samples = 0,
                       .classes = 0,
                       .loss = NAN,
                       .accuracy = NAN,
                       .top5 = NAN,
                       .mse = INFINITY,
                       .mae = NAN,
                       .r2 = NAN,
                       .macro_f1 = NAN};
    hki_report r = {
        .title = "broken", .epochs = epochs, .epoch_count = 2, .steps = steps, .step_count = 4, .evaluation = &e};
    char *page = page_of(&r);
    if (!page)
        return;
    check_form(page);
    CHECK(strstr(page, "not finite in 2 steps"));
    CHECK_EQ(count_of(page, "Gradient norm"), 0);
    hki_free(page);
}

TEST(many_classes)
{
    enum { CLASSES = 1000 };
    double *f1 = hki_alloc_array(CLASSES, sizeof *f1);
    int64_t *confusion = hki_alloc_array((size_t)CLASSES * CLASSES, sizeof *confusion);
    if (!f1 || !confusion)
        return;
    for (int i = 0; i < CLASSES; i++) {
        f1[i] = i % 100 == 7 ? 0.1 : 0.9;
        confusion[(size_t)i * CLASSES + (size_t)i] = i == 107 ? 0 : 10; /* 107: no samples */
    }
    hk_evaluation e = {
        .samples = 9990, .classes = CLASSES, .loss = 1, .accuracy = 0.7, .top5 = 0.9, .f1 = f1, .confusion = confusion};
    char *page = page_of(&(hki_report){.title = "wide", .evaluation = &e});
    if (page) {
        check_form(page);
        CHECK(strstr(page, "The 20 classes with the lowest F1, of 1000."));
        CHECK(strstr(page, "top-5"));
        CHECK(strstr(page, "<th scope=\"row\">907</th>"));
        CHECK(!strstr(page, "<th scope=\"row\">107</th>"));
        CHECK(strlen(page) < 200000);
    }
    hki_free(page);
    hki_free(f1);
    hki_free(confusion);
}

TEST(long_run)
{
    enum { STEPS = 50000 };
    hki_step_row *steps = hki_alloc_array(STEPS, sizeof *steps);
    if (!steps)
        return;
    for (int i = 0; i < STEPS; i++)
        steps[i] = (hki_step_row){i + 1, 2 + sin(i * 0.7), 1e-3, i % 10};
    char *page = page_of(&(hki_report){.title = "long", .steps = steps, .step_count = STEPS});
    if (page) {
        check_form(page);
        CHECK(strlen(page) < 120000);
    }
    hki_free(page);
    hki_free(steps);
}

TEST(thinning)
{
    double x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y[10] = {5, 1, 9, 2, NAN, NAN, NAN, NAN, 4, 4};
    double out_x[6], out_y[6];
    CHECK_EQ(hki_series_thin(out_x, out_y, x, y, 10, 3), 4);
    CHECK_CLOSE(out_x[0], 1, 0); /* of 0, 1, 2 the lowest comes first */
    CHECK_CLOSE(out_y[1], 9, 0);
    CHECK_EQ(hki_series_thin(out_x, out_y, x, y, 0, 3), 0);
    hki_series_smooth(y, 10, 1);
    CHECK_CLOSE(y[2], 9, 0);
    double z[4] = {1, NAN, 1, 1};
    hki_series_smooth(z, 4, 3);
    CHECK_CLOSE(z[3], 1, 1e-12);
    CHECK(isnan(z[1]));
}

TEST(pictures)
{
    hki_text text = {0};
    const char *plain[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"}; /* RFC 4648 section 10 */
    const char *coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (int i = 0; i < 7; i++) {
        hki_text_free(&text);
        hki_base64(&text, (const uint8_t *)plain[i], strlen(plain[i]));
        CHECK_STR(text.data ? text.data : "", coded[i]);
    }
    hki_text_free(&text);
    uint8_t one = 7; /* a PNG of one gray pixel, its checksums from zlib */
    CHECK_OK(hki_picture_uri(&text, &one, 1, 1, 1));
    CHECK_STR(text.data,
              "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADUlEQVR4AQECAP3/AAcACQAIuayG"
              "hwAAAABJRU5ErkJggg==");
    CHECK_FAILS(hki_picture_uri(&text, &one, 1, 1, 2), HK_INVALID_SHAPE, "1 or 3 channels");
    hki_text_free(&text);
}

TEST(no_memory)
{
    uint8_t pixels[4] = {0};
    hki_wrong_image wrong = {pixels, 2, 2, 1, 17, 0, 1, 0.98};
    hki_step_row step = {1, 2, 0.1, 1};
    int64_t confusion[] = {5, 5, 2, 6};
    hk_evaluation e = {.classes = 2, .accuracy = 0.5, .confusion = confusion};
    hki_report r = {
        .title = "small", .steps = &step, .step_count = 1, .evaluation = &e, .wrong = &wrong, .wrong_count = 1};
    for (int64_t n = 1; n < 400; n++) {
        hki_memory_fail_at(n);
        hk_status status = hki_report_write(PATH, &r);
        hki_memory_fail_at(0);
        CHECK(!status || hk_status_code(status) == HK_OUT_OF_MEMORY);
        hk_status_free(status);
    }
    unlink(PATH);
}

TEST_MAIN()
