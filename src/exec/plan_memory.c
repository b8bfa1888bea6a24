/* Planning, third pass: how long each storage must live, which outputs may overwrite an input, and where in one arena
 * everything goes.
 *
 * Placement is best fit, largest first: each storage goes into the smallest gap between those already placed that live
 * at the same time. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exec/plan.h"

static void touch(hki_storage *storage, int step)
{
    if (!storage)
        return;
    if (step < storage->first)
        storage->first = step;
    if (step > storage->last)
        storage->last = step;
}

static const hki_port *input_port(const hki_op *op, int i)
{
    int p = 0;
    while (p < i && p + 1 < HKI_MAX_PORTS && op->inputs[p + 1].name)
        p++;
    return &op->inputs[p];
}

static bool reads_elements(const hki_step *step, int i)
{
    return step->in[i] && !(step->node && (input_port(step->node->op, i)->flags & HKI_SHAPE_ONLY));
}

static void find_lifetimes(hki_plan *plan)
{
    for (int s = 0; s < plan->step_count; s++) {
        hki_step *step = plan->steps[s];
        for (int i = 0; i < step->input_count; i++)
            if (reads_elements(step, i))
                touch(step->in[i]->storage, s);
        for (int i = 0; i < step->output_count; i++)
            if (step->out[i])
                touch(step->out[i]->storage, s);
        touch(step->scratch, s);
    }
}

/* True if no input of the step other than `i` reads the storage under another shape or layout. */
static bool only_reader(const hki_step *step, int i)
{
    const hki_storage *storage = hki_storage_root(step->in[i]->storage);
    for (int j = 0; j < step->input_count; j++)
        if (j != i && step->in[j] && step->in[j] != step->in[i] && hki_storage_root(step->in[j]->storage) == storage)
            return false;
    return true;
}

/* True if element i of one tensor stands where element i of the other does. Equal sizes are not enough: a broadcast
 * float [1] is as long as a bool [4]. */
static bool same_elements(const hk_tensor *a, const hk_tensor *b)
{
    return a->layout == b->layout && hk_dtype_size(a->dtype) == hk_dtype_size(b->dtype) &&
           hki_shape_equal(a->rank, a->dims, b->rank, b->dims);
}

/* Lets the output of an elementwise step take over the memory of an input that dies there. */
static void reuse_in_place(hki_plan *plan)
{
    for (int s = 0; s < plan->step_count; s++) {
        hki_step *step = plan->steps[s];
        if (!step->node || !(step->node->op->flags & HKI_OP_ELEMENTWISE) || !step->out[0])
            continue;
        hki_storage *to = step->out[0]->storage;
        if (to->kind != HKI_IN_ARENA || to->first != s)
            continue;
        for (int i = 0; i < step->input_count && i < 2; i++) {
            if (!step->in[i] || !reads_elements(step, i) || !only_reader(step, i))
                continue;
            hki_storage *from = hki_storage_root(step->in[i]->storage);
            if (from->kind != HKI_IN_ARENA || from->last != s || from->size != to->size || from == to ||
                !same_elements(&step->in[i]->tensor, &step->out[0]->tensor))
                continue;
            to->merged = from;
            from->last = to->last;
            break;
        }
    }
}

/* ---- Placement. ---- */

static int larger_first(const void *a, const void *b)
{
    const hki_storage *x = *(hki_storage *const *)a, *y = *(hki_storage *const *)b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static size_t aligned(size_t size)
{
    return (size + HKI_ALIGNMENT - 1) / HKI_ALIGNMENT * HKI_ALIGNMENT;
}

/* placed[0..count) is sorted by offset. Returns the offset of the smallest gap that fits. */
static size_t best_gap(hki_storage *const *placed, int count, const hki_storage *storage)
{
    size_t need = aligned(storage->size), end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (int i = 0; i < count; i++) {
        const hki_storage *other = placed[i];
        if (other->last < storage->first || other->first > storage->last)
            continue;
        if (other->offset > end && other->offset - end >= need && other->offset - end < best_size) {
            best = end;
            best_size = other->offset - end;
        }
        if (other->offset + aligned(other->size) > end)
            end = other->offset + aligned(other->size);
    }
    return best == SIZE_MAX ? end : best;
}

static size_t place_all(hki_storage **list, hki_storage **placed, int count)
{
    size_t peak = 0;
    qsort(list, (size_t)count, sizeof *list, larger_first);
    for (int i = 0; i < count; i++) {
        hki_storage *storage = list[i];
        storage->offset = best_gap(placed, i, storage);
        if (storage->offset + aligned(storage->size) > peak)
            peak = storage->offset + aligned(storage->size);
        int at = i;
        for (; at > 0 && placed[at - 1]->offset > storage->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = storage;
    }
    return peak;
}

static hk_status find_lower_bound(hki_plan *plan, hki_storage *const *list, int count)
{
    size_t steps = (size_t)plan->step_count + 2;
    int64_t *change = hki_alloc_array(steps, sizeof *change);
    if (!change)
        return hki_out_of_memory();
    for (int i = 0; i < count; i++) {
        change[list[i]->first] += (int64_t)aligned(list[i]->size);
        change[list[i]->last + 1] -= (int64_t)aligned(list[i]->size);
    }
    int64_t live = 0;
    for (size_t s = 0; s < steps; s++) {
        live += change[s];
        if ((size_t)live > plan->facts.lower_bound)
            plan->facts.lower_bound = (size_t)live;
    }
    hki_free(change);
    return NULL;
}

hk_status hki_plan_memory(hki_plan *plan)
{
    find_lifetimes(plan);
    reuse_in_place(plan);
    size_t room = (size_t)plan->storage_count + 1;
    hki_storage **list = hki_alloc_array(room, sizeof *list), **placed = hki_alloc_array(room, sizeof *placed);
    hk_status status = list && placed ? NULL : hki_out_of_memory();
    int count = 0;
    for (int i = 0; i < plan->storage_count && !status; i++) {
        hki_storage *storage = plan->storages[i];
        if (storage->kind == HKI_IN_ARENA && !storage->merged && storage->last >= 0)
            list[count++] = storage;
    }
    if (!status)
        status = find_lower_bound(plan, list, count);
    if (!status) {
        plan->facts.arena = place_all(list, placed, count);
        plan->arena = hki_alloc(plan->facts.arena);
        if (!plan->arena)
            status = hki_out_of_memory();
    }
    hki_free(list);
    hki_free(placed);
    return status;
}
