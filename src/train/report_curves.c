/* The report's curves: what happened per step and per epoch. */
#include <math.h>
#include <stddef.h>

#include "train/report_chart.h"
#include "train/report_sections.h"

#define BUCKETS    900 /* each gives up to two points: a curve stays below 2,000 */
#define MOST_MARKS 60

/* Columns of the steps as arrays, and the thinned curves made of them. All hki_alloc'ed. */
typedef struct step_curves {
    double *x, *y, *thin_x[2], *thin_y[2];
    int64_t thin_count[2];
} step_curves;

static void free_curves(step_curves *c)
{
    hki_free(c->x);
    hki_free(c->y);
    for (int i = 0; i < 2; i++) {
        hki_free(c->thin_x[i]);
        hki_free(c->thin_y[i]);
    }
}

static hk_status alloc_curves(step_curves *c, int64_t count)
{
    c->x = hki_alloc_array((size_t)count, sizeof *c->x);
    c->y = hki_alloc_array((size_t)count, sizeof *c->y);
    bool failed = !c->x || !c->y;
    for (int i = 0; i < 2; i++) {
        c->thin_x[i] = hki_alloc_array(2 * BUCKETS, sizeof(double));
        c->thin_y[i] = hki_alloc_array(2 * BUCKETS, sizeof(double));
        failed = failed || !c->thin_x[i] || !c->thin_y[i];
    }
    return failed ? hki_out_of_memory() : NULL;
}

/* Fills x and y from the double at `offset` of each step. */
static void take_column(step_curves *c, const hki_report *r, size_t offset)
{
    for (int64_t i = 0; i < r->step_count; i++) {
        c->x[i] = (double)r->steps[i].step;
        c->y[i] = *(const double *)((const char *)&r->steps[i] + offset);
    }
}

static void thin(step_curves *c, int which, const hki_report *r)
{
    c->thin_count[which] = hki_series_thin(c->thin_x[which], c->thin_y[which], c->x, c->y, r->step_count, BUCKETS);
}

static void write_step_charts(hki_text *html, const hki_report *r, step_curves *c)
{
    double marks[MOST_MARKS];
    int64_t mark_count = r->epoch_count <= MOST_MARKS ? r->epoch_count : 0;
    for (int64_t i = 0; i < mark_count; i++)
        marks[i] = (double)r->epochs[i].step;
    take_column(c, r, offsetof(hki_step_row, loss));
    thin(c, 0, r);
    hki_series_smooth(c->y, r->step_count, (double)r->step_count / 80);
    thin(c, 1, r);
    hki_series loss[] = {{NULL, "raw", c->thin_x[0], c->thin_y[0], c->thin_count[0], false},
                         {"smoothed", "train", c->thin_x[1], c->thin_y[1], c->thin_count[1], false}};
    hki_chart_write(html,
                    &(hki_chart){"Training loss per step", "step", loss, 2, .marks = marks, .mark_count = mark_count});
    hki_text_printf(html, "<div class=\"charts\">");
    take_column(c, r, offsetof(hki_step_row, learning_rate));
    thin(c, 0, r);
    hki_series rate = {"last", "train", c->thin_x[0], c->thin_y[0], c->thin_count[0], false};
    hki_chart_write(html, &(hki_chart){"Learning rate", "step", &rate, 1, .small = true});
    take_column(c, r, offsetof(hki_step_row, gradient_norm));
    thin(c, 0, r);
    hki_series norm = {"last", "other", c->thin_x[0], c->thin_y[0], c->thin_count[0], false};
    hki_chart_write(html, &(hki_chart){"Gradient norm before clipping", "step", &norm, 1, .small = true});
    hki_text_printf(html, "</div>\n");
}

static hk_status write_steps(hki_text *html, const hki_report *r)
{
    step_curves c = {0};
    int64_t not_finite = 0;
    for (int64_t i = 0; i < r->step_count; i++)
        not_finite += !isfinite(r->steps[i].loss);
    hk_status status = alloc_curves(&c, r->step_count);
    if (!status)
        write_step_charts(html, r, &c);
    if (not_finite)
        hki_text_printf(html, "<p class=\"soft\">The loss was not finite in %lld step%s.</p>\n", (long long)not_finite,
                        not_finite == 1 ? "" : "s");
    free_curves(&c);
    return status;
}

/* One chart with the training and validation columns of the epochs. */
static hk_status write_epochs(hki_text *html, const hki_report *r, const char *title, size_t train, size_t validation,
                              bool percent)
{
    size_t n = (size_t)r->epoch_count;
    double *values = hki_alloc_array(n ? 3 * n : 1, sizeof *values);
    if (!values)
        return hki_out_of_memory();
    double *x = values, *a = values + n, *b = values + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const char *row = (const char *)&r->epochs[i];
        x[i] = (double)r->epochs[i].epoch;
        a[i] = *(const double *)(row + train);
        b[i] = *(const double *)(row + validation);
    }
    bool dots = n <= 60;
    hki_series series[] = {{"training", "train", x, a, r->epoch_count, dots},
                           {"validation", "validation", x, b, r->epoch_count, dots}};
    hki_chart_write(html, &(hki_chart){title, "epoch", series, 2, .percent = percent});
    hki_free(values);
    return NULL;
}

hk_status hki_report_curves(hki_text *html, const hki_report *report)
{
    if (!report->step_count && !report->epoch_count)
        return NULL;
    hki_text_printf(html, "<section id=\"curves\"><h2>Training</h2>\n");
    if (report->step_count)
        HK_TRY(write_steps(html, report));
    hki_text_printf(html, "<div class=\"charts\">\n");
    HK_TRY(write_epochs(html, report, "Loss per epoch", offsetof(hki_epoch_row, train_loss),
                        offsetof(hki_epoch_row, validation_loss), false));
    HK_TRY(write_epochs(html, report, "Accuracy per epoch", offsetof(hki_epoch_row, train_accuracy),
                        offsetof(hki_epoch_row, validation_accuracy), true));
    hki_text_printf(html, "</div></section>\n");
    return NULL;
}
