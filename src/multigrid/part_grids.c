/*
 * part_grids.c - the levels of geometric multigrid on a team: fine ones in parts, each of which has the points that lie in
 * its box, and from the first one on that is small enough those of team_levels.c.
 *
 * The next coarser grid has every second point, wherever grids are cut. To make its stencil in its own points a part takes
 * the stencil of some layers around its own fine points from those that have them: the same numbers as on one device.
 *
 * Exchanged  per cycle the points beside the own ones, on each level in parts for each product; and what team_levels.c says,
 *            of the first level that is not
 * Storage    on each part its own points of the levels in parts and those beside them, two vectors of the finest and the
 *            second of these, and of all levels of at most `gather` unknowns the whole
 */
#include "multigrid/part_grids.h"
#include "multigrid/box_finest.h"
#include "multigrid/part_boxes.h"
#include <math.h>
#include <stdlib.h>

static const char who[] = "kry_mg_create";

enum { MOST_LEVELS = 96 }; /* as of boxes */

typedef struct part_grids {
    kry_op *given;      /* retained; A[0], or in double where the levels are in single */
    double factor;      /* A[0] is so many times that, rounded; 0: it is the same */
    kry_box_levels how; /* couplings: of the last level in parts */
    int64_t gather;     /* unknowns at which levels in parts end */
    int count;          /* of them */
    kry_cut cut[MOST_LEVELS];
    unsigned coarsened[MOST_LEVELS];         /* axes */
    kry_op *A[MOST_LEVELS], *P[MOST_LEVELS]; /* retained; P[i] from level i + 1 to level i */
    double highest[MOST_LEVELS];             /* eigenvalue of D^-1 A[i], at most */
    kry_part_rooms rooms;
    void *below; /* team_levels.c */
} part_grids;

static void part_grids_destroy(void *self)
{
    part_grids *L = self;
    if (!L) return;
    kry_team_levels_destroy(L->below);
    for (int i = 0; i < MOST_LEVELS; i++) {
        kry_op_release(&L->P[i]);
        kry_op_release(&L->A[i]);
        kry_cut_release(&L->cut[i]);
    }
    kry_vec_release(&L->rooms.coarse);
    kry_vec_release(&L->rooms.fine);
    kry_op_release(&L->given);
    free(L);
}

/* ---- the levels ------------------------------------------------------------------------------------- */

/* Append the level below the last one. *more: there is one. */
static kry_status append(part_grids *L, bool *more)
{
    kry_status st = KRY_OK;
    const int i = L->count - 1;
    const kry_op *A = L->A[i];
    kry_device *dev = A->dev;
    const kry_type type = A->shape.type;
    const kry_cut *cut = &L->cut[i];
    kry_axis_couplings c = L->how.couplings;
    unsigned *axes = &L->coarsened[i];
    kry_around s = { 0 };

    *more = kry_cut_can_coarsen(cut, 0);
    if (!*more) goto done;
    TRY(kry_look_around(L->A[i], &L->cut[i], &s));
    const kry_window own = kry_cut_own(cut), inner = kry_window_within(&s.window, &own);
    TRY(kry_choose_axes(&c, &cut->grid, &s.source, &inner, axes));
    *more = *axes && kry_cut_can_coarsen(cut, *axes);
    if (!*more) goto done;
    TRY(kry_cut_coarsen(cut, *axes, &L->cut[i + 1]));
    TRY(kry_part_transfer_create(dev, type, cut, *axes, &L->cut[i + 1], &L->rooms, &L->P[i]));
    TRY(kry_part_box_create(dev, type, &L->cut[i + 1], A->shape.traits, &L->rooms, &L->A[i + 1]));
    TRY(kry_part_make_numbers(&s, L->coarsened[i], L->P[i], L->A[i + 1]));
    L->how.couplings = c;
    L->count++;
done:
    kry_around_release(&s);
    return st;
}

/* Vectors for all levels. */
static kry_status make_rooms(part_grids *L)
{
    kry_status st = KRY_OK;
    kry_op *A = L->A[0];
    int64_t fine = 0, coarse = 0;

    for (int i = 0; i + 1 < L->count; i++) {
        const kry_box_transfer *P = kry_box_transfer_of(kry_transfer_of_part(L->P[i]));
        if (P->fine.n > fine) fine = P->fine.n;
        if (P->coarse.n > fine) fine = P->coarse.n;
        if (P->coarse.n > coarse) coarse = P->coarse.n;
    }
    if (!fine) return KRY_OK;
    TRY(kry_vec_create_room(A->dev, A->shape.type, fine, 1, &L->rooms.fine));
    TRY(kry_vec_create_room(A->dev, A->shape.type, coarse, 1, &L->rooms.coarse));
done:
    return st;
}

/* Of the levels between the finest and the last one in parts, of which team_levels.c knows. Collective. Waits. */
static kry_status find_bounds(part_grids *L)
{
    kry_status st = KRY_OK;
    const int count = L->count - 2;
    kry_op *box[MOST_LEVELS];

    L->highest[0] = 2; /* a row of fluxes has no larger sum of couplings than its diagonal */
    if (count <= 0) return KRY_OK;
    for (int i = 0; i < count; i++) box[i] = kry_box_of_part(L->A[i + 1]);
    TRY(kry_box_bounds(box, count, L->highest + 1));
    TRY(kry_layout_combine(&L->A[0]->dev->layout, KRY_MAX, L->highest + 1, (size_t)count));
    for (int i = 1; i <= count; i++)
        CHECK(
            isfinite(L->highest[i]), KRY_ERR_ARGUMENT,
            "%s: the grid operator is not positive definite: level %d of multigrid has a diagonal "
            "entry that is not positive",
            who, i);
done:
    return st;
}

/* ---- the levels below those in parts ------------------------------------------------------------------ */

static int64_t row_of_grid(const kry_op *A, int64_t i)
{
    return kry_layout_row(&A->dev->layout, i);
}

static int64_t row_of_box(const kry_op *A, int64_t i)
{
    const kry_cut *cut = kry_part_box_cut(A);
    return kry_boxes_row(&cut->boxes, cut->rank, i);
}

static kry_status add_levels(kry_hierarchy *H, part_grids *L, int levels)
{
    static const kry_whole grid = { kry_collect_grid, kry_box_levels_create, row_of_grid },
                           box = { kry_collect_box, kry_box_levels_create, row_of_box };
    kry_status st = KRY_OK;
    const int last = L->count - 1;
    kry_box_levels theirs = L->how;
    double three = kry_finest_grid_suits_degree_3(L->given, L->factor); /* on any part */

    for (int i = 0; i < last; i++) {
        const kry_level level = { .A = L->A[i], .P = L->P[i], .highest = L->highest[i] };
        TRY(kry_hierarchy_add(H, &level));
    }
    theirs.params.cycle.values = KRY_CYCLE_VALUES_DOUBLE; /* in the numbers of A */
    theirs.params.cycle.levels = levels - last;
    TRY(kry_layout_combine(&L->A[0]->dev->layout, KRY_MAX, &three, 1));
    if (!theirs.params.cycle.degree && three != 0)
        theirs.params.cycle.degree = 3; /* of all levels */
    TRY(kry_team_levels_make(H, L->A[last], &(kry_whole_params){ last ? &box : &grid, &theirs },
                             &L->below));
    kry_hierarchy_level(H, 0)->factor = L->factor;
done:
    return st;
}

/* ---- the family --------------------------------------------------------------------------------------- */

/* The finest level. If none is in parts, nothing is gained by single. */
static kry_status make_finest(part_grids *L, bool in_parts)
{
    kry_cycle_values values = L->how.params.cycle.values;

    if (!in_parts && values == KRY_CYCLE_VALUES_AUTO) values = KRY_CYCLE_VALUES_DOUBLE;
    return kry_finest_grid(L->given, values, &L->factor, &L->A[0]);
}

/* Whether a part can do on its box what smooths: red-black sweeps go from one colour to the next. */
static bool smooths_in_parts(const kry_cycle_params *cycle)
{
    return cycle->smoother != KRY_SMOOTHER_RED_BLACK;
}

static kry_status part_grids_make(kry_hierarchy *H, const kry_op *A, const void *params,
                                  void **self)
{
    enum { GATHER = 16384 };
    kry_status st = KRY_OK;
    const kry_box_levels *p = params;
    const kry_cycle_params *cycle = kry_hierarchy_cycle(H);
    part_grids *L = NULL;
    bool more = smooths_in_parts(cycle);

    *self = NULL;
    TRY(kry_alloc(1, sizeof *L, &L));
    L->how = *p;
    L->gather = p->params.gather ? p->params.gather : GATHER;
    if (L->gather < cycle->coarsest) L->gather = cycle->coarsest;
    L->given = kry_op_retain(A);
    L->count = 1;
    TRY(kry_cut_of(A, &L->cut[0]));
    TRY(make_finest(L, more && L->cut[0].grid.n > L->gather));
    while (more && L->count < MOST_LEVELS && L->count < cycle->levels - 1 &&
           L->cut[L->count - 1].grid.n > L->gather)
        TRY(append(L, &more));
    TRY(make_rooms(L));
    TRY(find_bounds(L));
    TRY(add_levels(H, L, cycle->levels));
    *self = L, L = NULL;
done:
    part_grids_destroy(L);
    return st;
}

static kry_status part_grids_update(kry_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    part_grids *L = self;
    kry_around s = { 0 };

    if (L->factor != 0) TRY(kry_finest_grid_renew(L->given, &L->factor, &L->A[0]));
    for (int i = 0; i + 1 < L->count; i++) {
        TRY(kry_look_around(L->A[i], &L->cut[i], &s));
        TRY(kry_part_make_numbers(&s, L->coarsened[i], L->P[i], L->A[i + 1]));
        kry_around_release(&s);
    }
    TRY(find_bounds(L));
    for (int i = 0; i + 1 < L->count; i++) kry_hierarchy_level(H, i)->highest = L->highest[i];
    TRY(kry_team_levels_update(H, L->below));
    kry_hierarchy_level(H, 0)->factor = L->factor;
done:
    kry_around_release(&s);
    return st;
}

kry_status kry_part_grids_create(const kry_op *A, const kry_box_levels *how, kry_op **M)
{
    static const kry_family family = { .kind = "mg",
                                       .who = who,
                                       .coarsest = KRY_BOX_COARSEST,
                                       .create = part_grids_make,
                                       .update = part_grids_update,
                                       .destroy = part_grids_destroy };
    return kry_hierarchy_create(&family, A, &how->params.cycle, how, M);
}
