/*
 * slab.c - grid operators on a team of devices, in slabs unless the split has boxes (blocks.c). Each part has
 * consecutive layers along the last axis. It receives the layers beside them from its neighbours, and computes its inner layers
 * meanwhile.
 *
 * Moved     two layers in and two out, per product
 * Launches  two instead of one: the inner layers, then the first and the last one
 */
#include "grid/stencil.h"
#include "operator/direction.h"
#include "operator/op_parts.h"
#include "team/boxes.h"
#include "team/team.h"
#include <kry/transport.h>
#include <stdlib.h>

/* ---- how a grid is cut ------------------------------------------------------------------------- */

static kry_status split_grid(const char *who, kry_device *team, const kry_stencil_params *params,
                             kryi_split **split)
{
    kryi_grid_cut cut = { .axes = params->size[2] ? 3 : 2 };

    for (int a = 0; a < 3; a++) {
        cut.size[a] = a < cut.axes ? params->size[a] : 1;
        cut.blocks[a] = params->blocks[a];
        cut.periodic[a] = a < cut.axes && params->low[a] == KRY_PERIODIC;
    }
    if (cut.axes == 2 && cut.blocks[0] && !cut.blocks[2]) cut.blocks[2] = 1;
    return kryi_split_grid(team->team, who, &cut, split);
}

/* The layers of part r, and those beside them that are on other parts. */
static void find_slab(const kry_stencil_params *p, const kryi_split *s, int r, kryi_slab *slab)
{
    const int last = p->size[2] ? 2 : 1;
    const bool wraps = p->low[last] == KRY_PERIODIC && s->members > 1;

    *slab = (kryi_slab){ .all = p->size[last],
                         .layer = last == 2 ? p->size[0] * p->size[1] : p->size[0],
                         .low = r > 0 || wraps,
                         .high = r + 1 < s->members || wraps };
    slab->first = s->first[r] / slab->layer;
    slab->count = kryi_split_rows(s, r) / slab->layer;
}

kry_stencil_box kryi_stencil_given(const kry_stencil_params *p, const kryi_split *s, int r)
{
    const int last = p->size[2] ? 2 : 1;
    kry_stencil_box box = { .size = { p->size[0], p->size[1], p->size[2] ? p->size[2] : 1 } };

    if (!p->local || !s) return box;
    if (s->boxes) {
        const kryi_grid_box part = kryi_boxes_part(s->boxes, r);
        for (int a = 0; a <= last; a++) {
            const bool periodic = p->low[a] == KRY_PERIODIC,
                       low = kryi_boxes_beside(s->boxes, r, a, false, periodic) >= 0,
                       high = kryi_boxes_beside(s->boxes, r, a, true, periodic) >= 0;
            box.first[a] = part.first[a] - low;
            box.size[a] = part.size[a] + low + high;
        }
    } else {
        kryi_slab slab;
        find_slab(p, s, r, &slab);
        box.first[last] = slab.first - slab.low;
        box.size[last] = slab.count + slab.low + slab.high;
    }
    return box;
}

/* ---- making the parts --------------------------------------------------------------------------- */

typedef struct parts {
    kry_type type;
    const kry_stencil_params *params;
    const kryi_split *split;
} parts;

/* Make the halo of a slab: the last layer of part `below` and the first one of part `above`. Collective. */
static kry_status make_halo(const parts *p, int below, int above, kry_device *dev, kryi_slab *slab)
{
    kry_status st = KRY_OK;
    int64_t layer = slab->layer, last = kryi_split_rows(p->split, below) - layer;
    const bool both = slab->low && slab->high;
    const bool above_first =
        !slab->low || (both && above < below); /* links in the order of ranks */
    const kryi_link want[2] = { { above_first ? above : below, 0, layer },
                                { above_first ? below : above, layer, layer } };
    const kryi_link one = { below, 0, 2 * layer };
    const bool same = both && above == below;
    int32_t *row = NULL;

    slab->at_low = above_first ? (cl_int)layer : 0;
    slab->at_high = above_first ? 0 : (cl_int)layer;
    TRY(kryi_alloc((uint64_t)(2 * layer), sizeof *row, &row));
    for (int64_t i = 0; i < layer; i++) {
        row[slab->at_low + i] = (int32_t)(last + i);
        row[slab->at_high + i] = (int32_t)i;
    }
    TRY(kryi_halo_create(dev, p->type, same ? &one : want, both && !same ? 2 : 1, row,
                         &slab->halo));
    slab->numbers = kryi_halo_numbers(slab->halo);
done:
    free(row);
    return st;
}

static kry_status make_part(const void *user, int rank, kry_op **local)
{
    kry_status st = KRY_OK;
    const parts *p = user;
    const kryi_split *s = p->split;
    kry_device *dev = s->team->part[rank];
    const int size = s->members;
    kryi_grid_part piece = { 0 };
    kryi_slab *slab = &piece.slab;

    *local = NULL;
    find_slab(p->params, s, rank, slab);
    if (slab->low || slab->high)
        TRY(make_halo(p, (rank + size - 1) % size, (rank + 1) % size, dev, slab));
    TRY(kryi_stencil_make(dev, p->type, p->params, &piece, NULL, 1, local));
done:
    return st;
}

kry_status kry_stencil_part(kry_device *dev, const kry_stencil_params *params, kry_stencil_box *box)
{
    static const char who[] = "kry_stencil_part";
    kry_status st = KRY_OK;
    kry_stencil_params mine;
    kryi_split *split = NULL;

    kryi_team_enter(dev, who, NULL);
    TRY(GIVEN(box, dev, params));
    TAKE_PARAMS(params, mine, who, "KRY_STENCIL");
    TRY(kryi_stencil_check_grid(who, dev, params));
    mine.local = kry_team_is_ranks(dev);
    mine.coefficient = NULL; /* each rank may have its own */
    for (int a = 0; a < 3; a++) mine.face[a] = NULL;
    kryi_team_same_fields(dev, kryi_stencil_fields, params);
    if (dev->team) TRY(split_grid(who, dev, params, &split));
    *box = kryi_stencil_given(params, split, kry_team_rank(dev));
done:
    if (split) kryi_split_release(&split);
    return kryi_team_leave(dev, st);
}

kry_status kryi_stencil_create_parts(kry_device *team, kry_type type,
                                     const kry_stencil_params *params, kry_op **A)
{
    kry_status st = KRY_OK;
    kryi_split *split = NULL;

    TRY(split_grid("kry_stencil_create", team, params, &split));
    if (split->boxes) {
        TRY(kryi_stencil_create_blocks(team, type, params, split, A));
        goto done;
    }
    const parts p = { type, params, split };
    const kryi_parts_extra extra = { .whole_values = true }; /* a part takes those of its layers */
    TRY(kryi_parts_create(team, split, &extra, make_part, &p, A));
done:
    kryi_split_release(&split);
    return st;
}
