/* Metrics. */
#include "train/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

hk_status hki_metrics_create(hki_metrics *out, int classes)
{
    *out = (hki_metrics){.classifies = classes > 0, .classes = classes};
    if (!classes)
        return NULL;
    size_t cells;
    if (!hki_size_mul(&cells, (size_t)classes, (size_t)classes))
        return HK_ERR(HK_INVALID_DATA, "%d classes are too many for a confusion matrix", classes);
    out->confusion = hki_alloc_array(cells, sizeof *out->confusion);
    return out->confusion ? NULL : hki_out_of_memory();
}

void hki_metrics_clear(hki_metrics *metrics)
{
    hki_free(metrics->confusion);
    *metrics = (hki_metrics){0};
}

void hki_metrics_start(hki_metrics *metrics)
{
    int64_t *confusion = metrics->confusion;
    int classes = metrics->classes;
    *metrics = (hki_metrics){.classifies = classes > 0, .classes = classes, .confusion = confusion};
    if (confusion)
        memset(confusion, 0, (size_t)classes * (size_t)classes * sizeof *confusion);
}

int64_t hki_arg_max(const float *values, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (values[i] > values[best] || (isnan(values[best]) && !isnan(values[i])))
            best = i;
    return best;
}

/* log(sum(exp(x))) - x[y] in double. */
static double cross_entropy(const float *logits, int64_t classes, int64_t y)
{
    double largest = (double)logits[hki_arg_max(logits, classes)], sum = 0;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - largest);
    return log(sum) + largest - (double)logits[y];
}

/* How many logits are larger than that of the true class (ties: the lower class number wins). */
static int64_t rank_of(const float *logits, int64_t classes, int64_t y)
{
    int64_t above = 0;
    for (int64_t c = 0; c < classes; c++)
        above += logits[c] > logits[y] || (logits[c] == logits[y] && c < y);
    return above;
}

static hk_status add_classes(hki_metrics *m, const hk_tensor *prediction, const hk_tensor *y, bool loss)
{
    int64_t samples = hk_tensor_count(y), classes = m->classes;
    if (prediction->dtype != HK_FLOAT || hk_tensor_count(prediction) != samples * classes)
        return HK_ERR(HK_INVALID_SHAPE, "expected float32 predictions for %" PRId64 " samples and %" PRId64 " classes",
                      samples, classes);
    const float *logits = prediction->data;
    for (int64_t i = 0; i < samples; i++, logits += classes) {
        int64_t label = hki_tensor_get_int(y, i);
        if (label < 0 || label >= classes)
            return HK_ERR(HK_INVALID_DATA, "label %" PRId64 " is out of range for %" PRId64 " classes", label, classes);
        int64_t guess = hki_arg_max(logits, classes);
        m->confusion[label * classes + guess]++;
        m->correct += guess == label;
        m->top5 += rank_of(logits, classes, label) < 5;
        if (loss)
            m->loss += cross_entropy(logits, classes, label);
    }
    m->samples += samples;
    return NULL;
}

static hk_status add_values(hki_metrics *m, const hk_tensor *prediction, const hk_tensor *y, bool loss)
{
    int64_t count = hk_tensor_count(y);
    if (prediction->dtype != HK_FLOAT || y->dtype != HK_FLOAT || hk_tensor_count(prediction) != count)
        return HK_ERR(HK_INVALID_SHAPE, "expected %" PRId64 " float32 predictions, found %" PRId64, count,
                      hk_tensor_count(prediction));
    const float *p = prediction->data, *t = y->data;
    double squared = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = (double)p[i] - (double)t[i];
        squared += difference * difference;
        m->absolute += fabs(difference);
        m->target += (double)t[i];
        m->target_squared += (double)t[i] * (double)t[i];
    }
    m->squared += squared;
    m->values += count;
    int64_t samples = y->rank ? y->dims[0] : 1;
    m->samples += samples;
    if (loss && count)
        m->loss += squared * (double)samples / (double)count;
    return NULL;
}

hk_status hki_metrics_add(hki_metrics *metrics, const hk_tensor *prediction, const hk_tensor *y, bool loss)
{
    return metrics->classifies ? add_classes(metrics, prediction, y, loss) : add_values(metrics, prediction, y, loss);
}

double hki_metrics_accuracy(const hki_metrics *metrics)
{
    return metrics->classifies && metrics->samples ? (double)metrics->correct / (double)metrics->samples : NAN;
}

/* ---- Summary. ---- */

static void per_class(hk_evaluation *out, const hki_metrics *m)
{
    int n = m->classes;
    for (int c = 0; c < n; c++) {
        double hits = (double)m->confusion[c * n + c], actual = 0, guessed = 0;
        for (int k = 0; k < n; k++) {
            actual += (double)m->confusion[c * n + k];
            guessed += (double)m->confusion[k * n + c];
        }
        out->precision[c] = guessed > 0 ? hits / guessed : 0;
        out->recall[c] = actual > 0 ? hits / actual : 0;
        out->f1[c] = actual + guessed > 0 ? 2 * hits / (actual + guessed) : 0;
        out->macro_precision += out->precision[c] / n;
        out->macro_recall += out->recall[c] / n;
        out->macro_f1 += out->f1[c] / n;
    }
}

hk_status hki_metrics_finish(hk_evaluation *out, const hki_metrics *m)
{
    double n = m->samples ? (double)m->samples : NAN, v = m->values ? (double)m->values : NAN;
    *out = (hk_evaluation){.samples = m->samples,
                           .classes = m->classes,
                           .loss = m->loss / n,
                           .accuracy = NAN,
                           .top5 = NAN,
                           .mse = NAN,
                           .mae = NAN,
                           .r2 = NAN};
    if (!m->classifies) {
        double spread = m->target_squared - m->target * m->target / v;
        out->mse = m->squared / v;
        out->mae = m->absolute / v;
        out->r2 = spread > 0 ? 1 - m->squared / spread : NAN;
        return NULL;
    }
    size_t classes = (size_t)m->classes;
    out->accuracy = (double)m->correct / n;
    out->top5 = (double)m->top5 / n;
    out->precision = hki_alloc_array(classes, sizeof(double));
    out->recall = hki_alloc_array(classes, sizeof(double));
    out->f1 = hki_alloc_array(classes, sizeof(double));
    out->confusion = hki_alloc_array(classes * classes, sizeof(int64_t));
    if (!out->precision || !out->recall || !out->f1 || !out->confusion) {
        hk_evaluation_clear(out);
        return hki_out_of_memory();
    }
    memcpy(out->confusion, m->confusion, classes * classes * sizeof(int64_t));
    per_class(out, m);
    return NULL;
}

void hk_evaluation_clear(hk_evaluation *evaluation)
{
    hki_free(evaluation->precision);
    hki_free(evaluation->recall);
    hki_free(evaluation->f1);
    hki_free(evaluation->confusion);
    *evaluation = (hk_evaluation){0};
}
