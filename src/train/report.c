/* The report of a run as one HTML page: headline numbers, curves, classes, wrong images, facts, config. No script,
 * nothing from elsewhere; every text that comes from a file is escaped. */
#include "train/report.h"

#include <inttypes.h>
#include <math.h>

#include "base/file.h"
#include "train/report_chart.h"
#include "train/report_picture.h"
#include "train/report_sections.h"

static void write_tile(hki_text *html, bool first, const char *value, const char *of, const char *name)
{
    hki_text_printf(html, "<div class=\"tile%s\"><b>%s</b><span>", first ? " first" : "", value);
    if (of) {
        hki_text_html(html, of);
        hki_text_printf(html, " ");
    }
    hki_text_printf(html, "%s</span></div>", name);
}

/* A tile for a number that was measured. */
static void write_value(hki_text *html, double value, bool percent, const char *of, const char *name, bool *first)
{
    char text[32];
    if (!isfinite(value))
        return;
    (percent ? hki_percent_text : hki_number_text)(text, sizeof text, value);
    write_tile(html, *first, text, of, name);
    *first = false;
}

static void write_evaluation_tiles(hki_text *html, const hki_report *r, bool *first)
{
    const hk_evaluation *e = r->evaluation;
    const char *of = r->evaluation_name ? r->evaluation_name : "test";
    if (e->classes > 0) {
        write_value(html, e->accuracy, true, of, "accuracy", first);
        if (e->classes > 10)
            write_value(html, e->top5, true, of, "top-5 accuracy", first);
        write_value(html, e->macro_f1, true, of, "mean F1", first);
    } else {
        write_value(html, e->r2, false, of, "R\xc2\xb2", first);
        write_value(html, e->mae, false, of, "mean absolute error", first);
        write_value(html, e->mse, false, of, "mean squared error", first);
    }
    write_value(html, e->loss, false, of, "loss", first);
}

static void write_headline(hki_text *html, const hki_report *r)
{
    char text[32];
    bool first = true;
    double best = NAN, seconds = 0;
    for (int64_t i = 0; i < r->epoch_count; i++) {
        if (isfinite(r->epochs[i].validation_accuracy))
            best = fmax(best, r->epochs[i].validation_accuracy);
        if (isfinite(r->epochs[i].seconds))
            seconds += r->epochs[i].seconds;
    }
    hki_text_printf(html, "<div class=\"tiles\">");
    if (r->evaluation)
        write_evaluation_tiles(html, r, &first);
    write_value(html, best, true, "best", "validation accuracy", &first);
    if (r->epoch_count) {
        write_value(html, r->epochs[r->epoch_count - 1].train_loss, false, NULL, "last training loss", &first);
        snprintf(text, sizeof text, "%" PRId64, r->epochs[r->epoch_count - 1].epoch);
        write_tile(html, first, text, NULL, r->epochs[r->epoch_count - 1].epoch == 1 ? "epoch" : "epochs");
    }
    if (seconds >= 90)
        snprintf(text, sizeof text, "%.0f:%02.0f min", floor(seconds / 60), floor(fmod(seconds, 60)));
    else
        snprintf(text, sizeof text, "%.1f s", seconds);
    if (seconds > 0)
        write_tile(html, false, text, NULL, "training time");
    hki_text_printf(html, "</div>\n");
    if (!r->epoch_count && !r->step_count && !r->evaluation)
        hki_text_printf(html, "<p class=\"soft\">Nothing was trained or measured yet.</p>\n");
}

static hk_status write_image(hki_text *html, const hki_report *r, const hki_wrong_image *w)
{
    hki_text_printf(html, "<figure class=\"image\"><img alt=\"image %" PRId64 "\" src=\"", w->index);
    HK_TRY_CTX(hki_picture_uri(html, w->pixels, w->height, w->width, w->channels), "image %" PRId64, w->index);
    hki_text_printf(html, "\"><div class=\"guess\">");
    hki_report_class_name(html, r, w->guess);
    hki_text_printf(html, "</div><div>is ");
    hki_report_class_name(html, r, w->label);
    double sure = isfinite(w->confidence) ? fmin(fmax(w->confidence, 0), 1) : 0;
    char text[32];
    hki_percent_text(text, sizeof text, w->confidence);
    hki_text_printf(html,
                    "</div><div class=\"sure\"><i style=\"width:%d%%\"></i></div><div class=\"soft\">%s sure, "
                    "no.&nbsp;%" PRId64 "</div></figure>\n",
                    (int)lround(100 * sure), text, w->index);
    return NULL;
}

hk_status hki_report_images(hki_text *html, const hki_report *r)
{
    if (!r->wrong_count)
        return NULL;
    hki_text_printf(html, "<section id=\"images\"><h2>Most wrong</h2><p class=\"soft\">Images of the ");
    hki_text_html(html, r->evaluation_name ? r->evaluation_name : "test");
    hki_text_printf(html, " data that the model got wrong, surest first: its guess, and what it is. Some labels may be "
                          "the ones that are wrong.</p><div class=\"images\">\n");
    for (int i = 0; i < r->wrong_count; i++)
        HK_TRY(write_image(html, r, &r->wrong[i]));
    hki_text_printf(html, "</div></section>\n");
    return NULL;
}

static void write_facts(hki_text *html, const hki_report *r)
{
    hki_text_printf(html, "<section id=\"facts\"><h2>The run</h2>\n");
    if (r->fact_count) {
        hki_text_printf(html, "<div class=\"card\"><table class=\"facts\"><tbody>\n");
        for (int i = 0; i < r->fact_count; i++) {
            hki_text_printf(html, "<tr><th scope=\"row\">");
            hki_text_html(html, r->facts[i].name ? r->facts[i].name : "");
            hki_text_printf(html, "</th><td>");
            hki_text_html(html, r->facts[i].value ? r->facts[i].value : "");
            hki_text_printf(html, "</td></tr>\n");
        }
        hki_text_printf(html, "</tbody></table></div>\n");
    }
    if (r->config) {
        hki_text_printf(html, "<details class=\"card\"><summary>Effective config</summary><pre>");
        hki_text_html(html, r->config);
        hki_text_printf(html, "</pre></details>\n");
    }
    hki_text_printf(html, "</section>\n");
}

static hk_status write_page(hki_text *html, const hki_report *r)
{
    const char *title = r->title && *r->title ? r->title : "run";
    hki_text_printf(html, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                          "content=\"width=device-width,initial-scale=1\"><title>");
    hki_text_html(html, title);
    hki_text_printf(html, " \xc2\xb7 halka</title>\n<style>\n%s</style></head>\n<body><main>\n<header><h1>",
                    hki_report_style);
    hki_text_html(html, title);
    hki_text_printf(html, "</h1></header>\n");
    write_headline(html, r);
    HK_TRY(hki_report_curves(html, r));
    HK_TRY(hki_report_classes(html, r));
    HK_TRY(hki_report_images(html, r));
    write_facts(html, r);
    hki_text_printf(html, "<footer>Made by halka %s</footer>\n</main></body></html>\n", HALKA_VERSION);
    return hki_text_status(html);
}

hk_status hki_report_write(const char *path, const hki_report *report)
{
    hki_text html = {0};
    hki_writer *writer = NULL;
    hk_status status = write_page(&html, report);
    if (!status)
        status = hki_writer_open(&writer, path);
    if (!status) {
        hki_writer_write(writer, html.data, html.length);
        status = hki_writer_commit(writer);
    }
    hki_text_free(&html);
    return status;
}
