/* The registry: all operators of ops.inc, found by domain and name. The list is constant; the order for look-up is made
 * once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

#define HKI_OP(name) extern const hki_op hki_op_##name;
#include "ops/ops.inc"
#undef HKI_OP

static const hki_op *const operators[] = {
#define HKI_OP(name) &hki_op_##name,
#include "ops/ops.inc"
#undef HKI_OP
};

enum { OPERATOR_COUNT = sizeof operators / sizeof *operators };

static const hki_op *sorted[OPERATOR_COUNT];
static pthread_once_t sort_once = PTHREAD_ONCE_INIT;

static const char *domain_of(const hki_op *op)
{
    return op->domain ? op->domain : "";
}

static int compare(const char *domain_a, const char *name_a, const char *domain_b, const char *name_b)
{
    int order = strcmp(name_a, name_b);
    return order ? order : strcmp(domain_a, domain_b);
}

static int compare_operators(const void *a, const void *b)
{
    const hki_op *x = *(const hki_op *const *)a, *y = *(const hki_op *const *)b;
    return compare(domain_of(x), x->name, domain_of(y), y->name);
}

static void sort_operators(void)
{
    memcpy(sorted, operators, sizeof operators);
    qsort(sorted, OPERATOR_COUNT, sizeof *sorted, compare_operators);
}

const hki_op *hki_op_find(const char *domain, const char *name)
{
    pthread_once(&sort_once, sort_operators);
    domain = !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
    int low = 0, high = OPERATOR_COUNT;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = compare(domain, name, domain_of(sorted[middle]), sorted[middle]->name);
        if (!order)
            return sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const hki_op *hki_op_at(int index)
{
    pthread_once(&sort_once, sort_operators);
    return sorted[index];
}

int hki_op_count(void)
{
    return OPERATOR_COUNT;
}
