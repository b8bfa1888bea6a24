/* Line charts for the report: an SVG that stretches with the page, with its labels as HTML text, so that they stay
 * readable on a phone. */
#ifndef HKI_TRAIN_REPORT_CHART_H
#define HKI_TRAIN_REPORT_CHART_H

#include "base/text.h"

/* A line; points that are not finite interrupt it. */
typedef struct hki_series {
    const char *name;  /* in the legend; NULL: not listed */
    const char *style; /* class of the style sheet: "raw", "train", "validation", "other" */
    const double *x, *y;
    int64_t count;
    bool dots; /* mark each point, with its value as a tooltip */
} hki_series;

typedef struct hki_chart {
    const char *title, *x_name;
    const hki_series *series;
    int series_count;
    bool percent;        /* values are shares of 1 */
    bool small;          /* less high */
    const double *marks; /* x of thin vertical lines, such as ends of epochs */
    int64_t mark_count;
} hki_chart;

/** Appends a chart; nothing if no point is finite. */
void hki_chart_write(hki_text *html, const hki_chart *chart);

/** Thins (x, y) to at most two points per bucket, its lowest and highest, in order: returns how many were written to
 * out_x, out_y (room for 2 * buckets). Of values that are not finite, one per bucket is kept if there is nothing else.
 */
int64_t hki_series_thin(double *out_x, double *out_y, const double *x, const double *y, int64_t count, int64_t buckets);
/** Smooths y in place: an exponential moving mean over about `span` points, forward and back so that it does not lag;
 * what is not finite is passed over. */
void hki_series_smooth(double *y, int64_t count, double span);

/** Writes "92.53 %", or a dash if not finite. */
void hki_percent_text(char *out, size_t size, double share);
/** Writes four significant digits, or a dash if not finite. */
void hki_number_text(char *out, size_t size, double value);

#endif
