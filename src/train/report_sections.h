/* The parts of the report; each appends its section, or nothing where there is nothing to show. */
#ifndef HKI_TRAIN_REPORT_SECTIONS_H
#define HKI_TRAIN_REPORT_SECTIONS_H

#include "base/text.h"
#include "train/report.h"

/* The style sheet, light and dark. */
extern const char hki_report_style[];

/** Loss, learning rate and gradient norm per step; loss and accuracy per epoch. */
hk_status hki_report_curves(hki_text *html, const hki_report *report) HK_MUST_USE;
/** The most frequent confusions, the confusion matrix, precision, recall and F1 per class: of many classes the worst.
 */
hk_status hki_report_classes(hki_text *html, const hki_report *report) HK_MUST_USE;
/** The surest wrong images. */
hk_status hki_report_images(hki_text *html, const hki_report *report) HK_MUST_USE;
/** Appends a class's name, or its number. */
void hki_report_class_name(hki_text *html, const hki_report *report, int index);

#endif
