/*
 * slab.c - grid operators on a team of devices. Each part has consecutive layers along the last
 * axis. It receives the layers beside them from its neighbours, and computes its inner layers
 * meanwhile.
 *
 * Moved     two layers in and two out, per product
 * Launches  two instead of one: the inner layers, then the first and the last one
 */
#include "grid/stencil.h"
#include "operator/direction.h"
#include "operator/op_parts.h"
#include <stdlib.h>

kry_stencil *kry_stencil_of_parts(const kry_op *op)
{
    return kry_stencil_of(kry_op_in_parts(op) ? kry_op_on_part(op, 0) : op);
}

/* ---- making one ------------------------------------------------------------------------------ */

typedef struct parts {
    kry_type type;
    const kry_stencil_params *params;
    const kry_split *split;
} parts;

/* The layers of part `rank`, and its neighbours. */
static kry_slab slab_of(const parts *p, int rank)
{
    const kry_split *s = p->split;
    int last = p->params->size[2] ? 2 : 1, size = s->members;
    bool wraps = p->params->low[last] == KRY_PERIODIC && size > 1;
    kry_slab slab = { .all = p->params->size[last] };

    slab.layer = last == 2 ? p->params->size[0] * p->params->size[1] : p->params->size[0];
    slab.first = s->first[rank] / slab.layer;
    slab.count = kry_split_rows(s, rank) / slab.layer;
    slab.low = rank > 0 || wraps, slab.high = rank + 1 < size || wraps;
    slab.below = (rank + size - 1) % size, slab.above = (rank + 1) % size;
    slab.layers_below = kry_split_rows(s, slab.below) / slab.layer;
    return slab;
}

kry_status kry_slab_make_halo(kry_device *dev, kry_type type, kry_slab *slab)
{
    kry_status st = KRY_OK;
    int64_t layer = slab->layer, last = (slab->layers_below - 1) * layer;
    bool both = slab->low && slab->high, one = both && slab->above == slab->below;
    bool upside_down = both && slab->above < slab->below; /* ranks ascend */
    kry_link low = { slab->below, 0, one ? 2 * layer : layer }, high = { slab->above, 0, layer };
    kry_link want[2];
    int wants = 0;
    int32_t *row = NULL;

    TRY(kry_alloc((size_t)(2 * layer), sizeof *row, &row));
    if (upside_down)
        low.first = layer;
    else if (slab->low)
        high.first = layer;
    slab->at_low = (cl_int)low.first, slab->at_high = (cl_int)high.first;
    for (int64_t i = 0; i < layer && slab->low; i++) row[low.first + i] = (int32_t)(last + i);
    for (int64_t i = 0; i < layer && slab->high; i++) row[high.first + i] = (int32_t)i;
    if (upside_down) want[wants++] = high;
    if (slab->low) want[wants++] = low;
    if (slab->high && !one && !upside_down) want[wants++] = high;
    TRY(kry_halo_create(dev, type, want, wants, row, &slab->halo));
    slab->numbers = kry_halo_numbers(slab->halo);
done:
    free(row);
    return st;
}

static kry_status make_part(const void *user, int rank, kry_op **local)
{
    kry_status st = KRY_OK;
    const parts *p = user;
    kry_device *dev = p->split->team->part[rank];
    kry_slab slab = slab_of(p, rank);

    *local = NULL;
    if (slab.low || slab.high) TRY(kry_slab_make_halo(dev, p->type, &slab));
    TRY(kry_stencil_make(dev, p->type, p->params, &slab, NULL, 1, local));
done:
    return st;
}

kry_status kry_stencil_create_parts(kry_device *team, kry_type type,
                                    const kry_stencil_params *params, kry_op **A)
{
    kry_status st = KRY_OK;
    kry_split *split = NULL;
    int64_t layer = params->size[0], n = layer * params->size[1];

    if (params->size[2]) layer = n, n *= params->size[2];
    TRY(kry_split_blocks(team->team, "kry_stencil_create", n, NULL, layer, &split));
    const parts p = { type, params, split };
    const kry_parts_extra extra = { .whole_values = true }; /* a part takes those of its layers */
    TRY(kry_parts_create(team, split, &extra, make_part, &p, A));
done:
    kry_split_release(&split);
    return st;
}
