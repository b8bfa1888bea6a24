/* Line charts for the report. Coordinates are whole numbers from 0 to SCALE in both directions (no decimal point that a
 * locale could turn into a comma); the SVG is stretched over its box, strokes are not. Round dots are lines of no
 * length. */
#include "train/report_chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALE 10000
#define DASH  "\xe2\x80\x93"

typedef struct axis {
    double low, high, step;
} axis;

void hki_percent_text(char *out, size_t size, double share)
{
    if (isfinite(share))
        snprintf(out, size, "%.2f\xc2\xa0%%", 100 * share);
    else
        snprintf(out, size, DASH);
}

void hki_number_text(char *out, size_t size, double value)
{
    if (isfinite(value))
        snprintf(out, size, "%.4g", value);
    else
        snprintf(out, size, DASH);
}

/* An exponential moving mean from `first` on in steps of `step`, without the pull of its start. */
static void smooth_towards(double *y, int64_t count, int64_t first, int64_t step, double keep)
{
    double mean = 0, weight = 0;
    for (int64_t i = first; i >= 0 && i < count; i += step) {
        if (!isfinite(y[i]))
            continue;
        mean = keep * mean + (1 - keep) * y[i];
        weight = keep * weight + (1 - keep);
        y[i] = mean / weight;
    }
}

void hki_series_smooth(double *y, int64_t count, double span)
{
    double keep = 1 - 2 / (fmax(span, 1) + 1);
    smooth_towards(y, count, 0, 1, keep);
    smooth_towards(y, count, count - 1, -1, keep); /* back again: no lag */
}

/* Indices of the lowest and highest finite value of [begin, end); false if there is none. */
static bool find_extremes(int64_t *lowest, int64_t *highest, const double *y, int64_t begin, int64_t end)
{
    *lowest = *highest = -1;
    for (int64_t i = begin; i < end; i++) {
        if (!isfinite(y[i]))
            continue;
        if (*lowest < 0 || y[i] < y[*lowest])
            *lowest = i;
        if (*highest < 0 || y[i] > y[*highest])
            *highest = i;
    }
    return *lowest >= 0;
}

int64_t hki_series_thin(double *out_x, double *out_y, const double *x, const double *y, int64_t count, int64_t buckets)
{
    int64_t n = 0;
    if (buckets > count)
        buckets = count;
    for (int64_t b = 0; b < buckets; b++) {
        int64_t begin = (int64_t)((double)b * (double)count / (double)buckets);
        int64_t end = b + 1 == buckets ? count : (int64_t)((double)(b + 1) * (double)count / (double)buckets);
        int64_t lowest, highest;
        if (begin >= end)
            continue;
        if (!find_extremes(&lowest, &highest, y, begin, end))
            lowest = highest = begin;
        int64_t first = lowest < highest ? lowest : highest, second = lowest < highest ? highest : lowest;
        out_x[n] = x[first];
        out_y[n++] = y[first];
        if (second != first) {
            out_x[n] = x[second];
            out_y[n++] = y[second];
        }
    }
    return n;
}

/* 1, 2 or 5 times a power of ten, so that a range is cut into about `parts`. */
static double nice_step(double range, double parts)
{
    double raw = range / parts, power = pow(10, floor(log10(raw))), ratio = raw / power;
    return (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All finite values of the series, sorted; *out_count 0 if there are none. Exhausted memory fails the text. */
static double *sorted_values(int64_t *out_count, hki_text *html, const hki_chart *chart, bool of_x)
{
    int64_t room = 0, n = 0;
    for (int s = 0; s < chart->series_count; s++)
        room += chart->series[s].count;
    double *values = hki_alloc_array((size_t)room + 1, sizeof *values);
    for (int s = 0; s < chart->series_count && values; s++)
        for (int64_t i = 0; i < chart->series[s].count; i++)
            if (isfinite(chart->series[s].x[i]) && isfinite(chart->series[s].y[i]))
                values[n++] = of_x ? chart->series[s].x[i] : chart->series[s].y[i];
    if (values)
        qsort(values, (size_t)n, sizeof *values, by_value);
    else
        html->failed = true;
    *out_count = n;
    return values;
}

/* The range of x: all of it, ticks at whole numbers. */
static bool fit_x(axis *out, hki_text *html, const hki_chart *chart)
{
    int64_t n;
    double *values = sorted_values(&n, html, chart, true);
    if (n) {
        axis a = {.low = values[0], .high = values[n - 1]};
        if (a.high <= a.low) {
            a.low -= 1;
            a.high += 1;
        }
        a.step = fmax(1, nice_step(a.high - a.low, 6));
        *out = a;
    }
    hki_free(values);
    return n > 0;
}

/* The range of y: a few outliers of many points may run out of the picture; from zero if that costs little. */
static bool fit_y(axis *out, hki_text *html, const hki_chart *chart)
{
    int64_t n;
    double *values = sorted_values(&n, html, chart, false);
    if (n) {
        axis a = {.low = values[n / 500], .high = values[n - 1 - n / 200]};
        if (a.low > 0 && a.low < 0.5 * a.high && !chart->percent)
            a.low = 0;
        if (a.high - a.low <= 1e-9 * fmax(fabs(a.low), fabs(a.high)) || a.high <= a.low) {
            double margin = a.high != 0 ? 0.1 * fabs(a.high) : 1;
            a.low -= margin;
            a.high += margin;
        }
        a.step = nice_step(a.high - a.low, chart->small ? 2.5 : 4.5);
        a.low = floor(a.low / a.step + 1e-9) * a.step;
        a.high = ceil(a.high / a.step - 1e-9) * a.step;
        *out = a;
    }
    hki_free(values);
    return n > 0;
}

static int place(const axis *a, double value, bool upwards)
{
    double share = (value - a->low) / (a->high - a->low);
    share = fmin(fmax(upwards ? 1 - share : share, -1), 2);
    return (int)lround(share * SCALE);
}

static void write_tick(hki_text *html, const char *side, int at, double value, double step, bool percent)
{
    char text[48];
    double shown = percent ? 100 * value : value, shown_step = percent ? 100 * step : step;
    int decimals = (int)fmin(fmax(0, -floor(log10(shown_step) + 1e-9)), 9);
    if (fabs(shown) < 1e-6 * shown_step)
        shown = 0;
    bool short_form = shown_step >= 1e-4 && fabs(shown) < 1e6;
    if (short_form)
        snprintf(text, sizeof text, "%.*f%s", decimals, shown, percent ? "%" : "");
    else
        snprintf(text, sizeof text, "%g%s", shown, percent ? "%" : "");
    hki_text_printf(html, "<span style=\"%s:%d.%02d%%\">", side, at / 100, at % 100);
    hki_text_html(html, text);
    hki_text_printf(html, "</span>");
}

/* Whole multiples of the step within the axis; at most 40, whatever the numbers. */
static int ticks_of(double *out, const axis *a)
{
    int n = 0;
    double first = ceil(a->low / a->step - 1e-9);
    for (int i = 0; i < 40 && (first + i) * a->step <= a->high + 1e-9 * a->step; i++)
        out[n++] = (first + i) * a->step;
    return n;
}

static void write_labels(hki_text *html, const axis *a, bool upwards, bool percent)
{
    double ticks[40];
    int n = ticks_of(ticks, a);
    hki_text_printf(html, "<div class=\"%s\" aria-hidden=\"true\">", upwards ? "y" : "x");
    for (int i = 0; i < n; i++)
        write_tick(html, upwards ? "top" : "left", place(a, ticks[i], upwards), ticks[i], a->step, percent);
    hki_text_printf(html, "</div>");
}

static void write_grid(hki_text *html, const hki_chart *chart, const axis *x, const axis *y)
{
    double ticks[40];
    int n = ticks_of(ticks, y);
    hki_text_printf(html, "<path class=\"grid\" d=\"");
    for (int i = 0; i < n; i++)
        hki_text_printf(html, "M0 %dH%d", place(y, ticks[i], true), SCALE);
    hki_text_printf(html, "\"/>");
    if (!chart->mark_count)
        return;
    hki_text_printf(html, "<path class=\"mark\" d=\"");
    for (int64_t i = 0; i < chart->mark_count; i++)
        if (chart->marks[i] > x->low && chart->marks[i] < x->high)
            hki_text_printf(html, "M%d 0V%d", place(x, chart->marks[i], false), SCALE);
    hki_text_printf(html, "\"/>");
}

static void write_line(hki_text *html, const hki_series *s, const axis *x, const axis *y)
{
    bool open = false;
    hki_text_printf(html, "<path class=\"line %s\" d=\"", s->style);
    for (int64_t i = 0; i < s->count; i++) {
        bool draw = isfinite(s->x[i]) && isfinite(s->y[i]);
        if (draw)
            hki_text_printf(html, "%s%d %d", open ? " " : "M", place(x, s->x[i], false), place(y, s->y[i], true));
        open = draw;
    }
    hki_text_printf(html, "\"/>");
}

static void write_dots(hki_text *html, const hki_chart *chart, const hki_series *s, const axis *x, const axis *y)
{
    char value[32];
    for (int64_t i = 0; i < s->count; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i]))
            continue;
        (chart->percent ? hki_percent_text : hki_number_text)(value, sizeof value, s->y[i]);
        hki_text_printf(html, "<path class=\"dot %s\" d=\"M%d %dh0\"><title>", s->style, place(x, s->x[i], false),
                        place(y, s->y[i], true));
        hki_text_html(html, chart->x_name);
        hki_text_printf(html, " %.0f: %s %s</title></path>", s->x[i], s->name ? s->name : "", value);
    }
}

static void write_legend(hki_text *html, const hki_chart *chart)
{
    char value[32];
    hki_text_printf(html, "<div class=\"keys\">");
    for (int s = 0; s < chart->series_count; s++) {
        const hki_series *series = &chart->series[s];
        double last = NAN;
        for (int64_t i = 0; i < series->count; i++)
            if (isfinite(series->y[i]))
                last = series->y[i];
        if (!series->name || !isfinite(last))
            continue;
        (chart->percent ? hki_percent_text : hki_number_text)(value, sizeof value, last);
        hki_text_printf(html, "<span class=\"key %s\">", series->style);
        hki_text_html(html, series->name);
        hki_text_printf(html, " <b>%s</b></span>", value);
    }
    hki_text_printf(html, "</div>");
}

void hki_chart_write(hki_text *html, const hki_chart *chart)
{
    axis x, y;
    bool dots = false;
    if (!fit_x(&x, html, chart) || !fit_y(&y, html, chart))
        return;
    hki_text_printf(html, "<figure class=\"chart%s\"><figcaption><h3>", chart->small ? " small" : "");
    hki_text_html(html, chart->title);
    hki_text_printf(html, "</h3>");
    write_legend(html, chart);
    for (int s = 0; s < chart->series_count; s++)
        dots = dots || chart->series[s].dots;
    hki_text_printf(html, "</figcaption><div class=\"plot%s\">", dots ? " dots" : "");
    write_labels(html, &y, true, chart->percent);
    hki_text_printf(html, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", SCALE,
                    SCALE);
    hki_text_html(html, chart->title);
    hki_text_printf(html, "\">");
    write_grid(html, chart, &x, &y);
    for (int s = 0; s < chart->series_count; s++)
        write_line(html, &chart->series[s], &x, &y);
    for (int s = 0; s < chart->series_count; s++)
        if (chart->series[s].dots)
            write_dots(html, chart, &chart->series[s], &x, &y);
    hki_text_printf(html, "</svg>");
    write_labels(html, &x, false, false);
    hki_text_printf(html, "</div><div class=\"x-name\">");
    hki_text_html(html, chart->x_name);
    hki_text_printf(html, "</div></figure>\n");
}
