/* Upgrade rules that elementwise operators share: before opset 7, broadcasting was asked for by the attributes
 * `broadcast` and `axis`, and the second input was aligned with the dims of the first that begin at `axis`. */
#include <inttypes.h>

#include "ops/broadcast.h"

hk_status hki_upgrade_drop_consumed(hki_draft *draft)
{
    hki_draft_remove_attribute(draft, "consumed_inputs");
    return NULL;
}

hk_status hki_upgrade_broadcast_axis(hki_draft *draft)
{
    const hk_attribute *axis = hki_draft_attribute(draft, "axis"), *broadcast = hki_draft_attribute(draft, "broadcast");
    int64_t first = axis && axis->kind == HK_ATTRIBUTE_INT ? axis->as.i : 0;
    bool aligned = axis && broadcast && broadcast->kind == HK_ATTRIBUTE_INT && broadcast->as.i;
    hki_draft_remove_attribute(draft, "axis");
    hki_draft_remove_attribute(draft, "broadcast");
    if (!aligned || draft->input_count < 2 || !draft->inputs[0] || !draft->inputs[1])
        return NULL;
    int rank = draft->inputs[0]->type.rank, small = draft->inputs[1]->type.rank, at;
    if (rank < 0 || small < 0)
        return HK_ERR(HK_UNSUPPORTED, "axis %" PRId64 " of opset %d needs inputs of known rank", first, draft->version);
    if (small == 0)
        return NULL;
    HK_TRY(hki_axis(&at, first, rank));
    int trailing = rank - at - small;
    if (trailing < 0)
        return HK_ERR(HK_INVALID_SHAPE, "axis %" PRId64 ": %d dimensions do not fit into %d", first, small, rank);
    if (!trailing)
        return NULL;
    int64_t axes[HK_MAX_RANK];
    for (int i = 0; i < trailing; i++)
        axes[i] = small + i;
    hk_value *list = hki_ints_constant(draft->graph, trailing, axes);
    return hki_draft_set_input(draft, 1, hki_binary(draft->graph, "Unsqueeze", draft->inputs[1], list));
}
