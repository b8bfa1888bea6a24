/* The report's tables per class: confusions, matrix, scores. Of many classes the worst are shown. */
#include <math.h>
#include <stdlib.h>

#include "train/report_chart.h"
#include "train/report_sections.h"

#define MATRIX_CLASSES 20
#define SCORE_CLASSES  50
#define PAIRS          5

/* What is shown of an evaluation. */
typedef struct class_view {
    const hki_report *report;
    const hk_evaluation *e;
    int64_t *support; /* samples per true class */
    int *worst;       /* all classes, lowest F1 first, those without samples last */
} class_view;

typedef struct ranked {
    double f1;
    int index;
} ranked;

typedef struct pair {
    int truth, guess;
    int64_t count;
} pair;

void hki_report_class_name(hki_text *html, const hki_report *report, int index)
{
    if (report->classes && report->evaluation && index >= 0 && index < report->evaluation->classes &&
        report->classes[index])
        hki_text_html(html, report->classes[index]);
    else
        hki_text_printf(html, "%d", index);
}

static int64_t cell(const class_view *v, int truth, int guess)
{
    return v->e->confusion[(int64_t)truth * v->e->classes + guess];
}

static int by_f1(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->f1 < y->f1 || x->f1 > y->f1)
        return x->f1 < y->f1 ? -1 : 1;
    return x->index - y->index;
}

static int by_index(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Fills support and worst; false when memory is exhausted. */
static bool rank_classes(class_view *v)
{
    int n = v->e->classes;
    ranked *list = hki_alloc_array((size_t)n, sizeof *list);
    v->support = hki_alloc_array((size_t)n, sizeof *v->support);
    v->worst = hki_alloc_array((size_t)n, sizeof *v->worst);
    bool ok = list && v->support && v->worst;
    for (int i = 0; i < n && ok; i++) {
        for (int j = 0; j < n; j++)
            v->support[i] += cell(v, i, j);
        double f1 = v->e->f1 ? v->e->f1[i] : NAN;
        list[i] = (ranked){v->support[i] == 0 ? 2 : isfinite(f1) ? f1 : 0, i};
    }
    if (ok) {
        qsort(list, (size_t)n, sizeof *list, by_f1);
        for (int i = 0; i < n; i++)
            v->worst[i] = list[i].index;
    }
    hki_free(list);
    return ok;
}

/* The most frequent confusions, most frequent first; returns how many. */
static int find_pairs(pair *out, const class_view *v)
{
    int found = 0;
    for (int i = 0; i < v->e->classes; i++)
        for (int j = 0; j < v->e->classes; j++) {
            pair p = {i, j, cell(v, i, j)};
            if (i == j || p.count < 1 || (found == PAIRS && p.count <= out[PAIRS - 1].count))
                continue;
            int at = found < PAIRS ? found++ : PAIRS - 1;
            for (; at > 0 && out[at - 1].count < p.count; at--)
                out[at] = out[at - 1];
            out[at] = p;
        }
    return found;
}

static void write_pairs(hki_text *html, const class_view *v)
{
    pair pairs[PAIRS];
    int n = find_pairs(pairs, v);
    if (!n)
        return;
    hki_text_printf(html, "<p class=\"soft\">Most often confused:</p><ul class=\"pairs\">");
    for (int i = 0; i < n; i++) {
        hki_text_printf(html, "<li><b>");
        hki_report_class_name(html, v->report, pairs[i].truth);
        hki_text_printf(html, "</b> taken for <b>");
        hki_report_class_name(html, v->report, pairs[i].guess);
        hki_text_printf(html, "</b> %lld of %lld</li>", (long long)pairs[i].count,
                        (long long)v->support[pairs[i].truth]);
    }
    hki_text_printf(html, "</ul>\n");
}

/* One cell; its shade is the share of the row, its root where wrong, so that rare errors show. */
static void write_cell(hki_text *html, const class_view *v, int truth, int guess)
{
    int64_t count = cell(v, truth, guess), row = v->support[truth];
    double share = row ? (double)count / (double)row : 0;
    int shade = (int)lround(100 * (truth == guess ? share : sqrt(share)));
    hki_text_printf(html, "<td");
    if (!count)
        hki_text_printf(html, " class=\"none\"");
    else if (shade > 0)
        hki_text_printf(html, "%s style=\"background:rgba(var(--%s-rgb),%d%%)\"", shade > 55 ? " class=\"strong\"" : "",
                        truth == guess ? "blue" : "orange", shade);
    hki_text_printf(html, " title=\"");
    hki_report_class_name(html, v->report, truth);
    hki_text_printf(html, truth == guess ? " recognised" : " taken for ");
    if (truth != guess)
        hki_report_class_name(html, v->report, guess);
    hki_text_printf(html, ": %lld of %lld\">%lld</td>", (long long)count, (long long)row, (long long)count);
}

static void write_matrix(hki_text *html, const class_view *v)
{
    int shown[MATRIX_CLASSES], n = v->e->classes < MATRIX_CLASSES ? v->e->classes : MATRIX_CLASSES;
    for (int i = 0; i < n; i++)
        shown[i] = v->worst[i];
    qsort(shown, (size_t)n, sizeof *shown, by_index);
    if (n < v->e->classes)
        hki_text_printf(html, "<p class=\"soft\">The %d classes with the lowest F1, of %d.</p>", n, v->e->classes);
    hki_text_printf(html, "<div class=\"card\"><table class=\"confusion\"><thead><tr><th class=\"corner\">true \xe2\x86"
                          "\x93 &nbsp; guess \xe2\x86\x92</th>");
    for (int j = 0; j < n; j++) {
        hki_text_printf(html, "<th scope=\"col\"><div>");
        hki_report_class_name(html, v->report, shown[j]);
        hki_text_printf(html, "</div></th>");
    }
    hki_text_printf(html, "</tr></thead><tbody>\n");
    for (int i = 0; i < n; i++) {
        hki_text_printf(html, "<tr><th scope=\"row\">");
        hki_report_class_name(html, v->report, shown[i]);
        hki_text_printf(html, "</th>");
        for (int j = 0; j < n; j++)
            write_cell(html, v, shown[i], shown[j]);
        hki_text_printf(html, "</tr>\n");
    }
    hki_text_printf(html, "</tbody></table></div>\n");
}

static void write_bar(hki_text *html, const double *values, int index, const char *style)
{
    char text[32];
    double value = values ? values[index] : NAN;
    hki_percent_text(text, sizeof text, value);
    int width = isfinite(value) ? (int)lround(100 * fmin(fmax(value, 0), 1)) : 0;
    hki_text_printf(html, "<td class=\"bar%s\"><i style=\"width:%d%%\"></i><span>%s</span></td>", style, width, text);
}

static void write_scores(hki_text *html, const class_view *v)
{
    int n = v->e->classes < SCORE_CLASSES ? v->e->classes : SCORE_CLASSES;
    hki_text_printf(html,
                    "<h2>Per class</h2><p class=\"soft\">%s, hardest first. Recall: how many of the class were "
                    "found; precision: how many of its guesses were right.</p><div class=\"card\"><table "
                    "class=\"scores\"><thead><tr><th>class</th><th>F1</th><th>recall</th><th>precision</th>"
                    "<th class=\"count\">samples</th></tr></thead><tbody>\n",
                    n < v->e->classes ? "The hardest classes" : "All classes");
    for (int i = 0; i < n; i++) {
        int c = v->worst[i];
        hki_text_printf(html, "<tr><th scope=\"row\">");
        hki_report_class_name(html, v->report, c);
        hki_text_printf(html, "</th>");
        write_bar(html, v->e->f1, c, " f1");
        write_bar(html, v->e->recall, c, "");
        write_bar(html, v->e->precision, c, "");
        hki_text_printf(html, "<td class=\"count\">%lld</td></tr>\n", (long long)v->support[c]);
    }
    hki_text_printf(html, "</tbody></table></div>\n");
}

hk_status hki_report_classes(hki_text *html, const hki_report *report)
{
    class_view v = {.report = report, .e = report->evaluation};
    if (!v.e || v.e->classes < 1 || !v.e->confusion)
        return NULL;
    if (rank_classes(&v)) {
        hki_text_printf(html, "<section id=\"classes\"><h2>What is taken for what</h2>\n");
        write_pairs(html, &v);
        write_matrix(html, &v);
        write_scores(html, &v);
        hki_text_printf(html, "</section>\n");
    } else {
        html->failed = true;
    }
    hki_free(v.support);
    hki_free(v.worst);
    return hki_text_status(html);
}
