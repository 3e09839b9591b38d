/*
 * team_levels.h - multigrid on a team where every part has the whole operator once more, and makes all levels of it
 * for itself.
 */
#ifndef KRY_TEAM_LEVELS_H
#define KRY_TEAM_LEVELS_H

#include "multigrid/hierarchy.h"
#include "multigrid/part_window.h"
#include "operator/op_parts.h"

/* Multigrid of one kind. shell: NULL, or A is on its window. */
typedef struct kryi_whole {
    /* *whole := all rows of A, which are split over the parts, on this part's device, in the order of places
     * (split.h); or their numbers, where *whole is there. Collective. Waits. */
    kry_status (*collect)(const kry_op *A, const kryi_shell *shell, kry_op **whole);
    /* M := multigrid for that. */
    kryi_create_here *create;
    /* Which row of the whole row i of A is, ascending; NULL: `collect` has them in the order of places. */
    int64_t (*row)(const kry_op *A, const kryi_shell *shell, int64_t i);
} kryi_whole;

/* What kryi_team_levels_make takes for parameters. */
typedef struct kryi_whole_params {
    const kryi_whole *how;   /* static */
    const void *params;      /* what how->create takes */
    const kryi_shell *shell; /* NULL, or A is on its window; borrowed */
} kryi_whole_params;

/*
 * Append the levels from a share A on to H. A itself is smoothed, and its residual is formed, part by part; restriction
 * takes each part's rows of it, and the results, as many numbers as the next level has unknowns, are added up on all
 * parts, which then do the same on all coarser levels: nothing is sent back. Entries of a family's table. Collective.
 * Wait.
 */
kry_status kryi_team_levels_make(kryi_hierarchy *H, const kry_op *A, const void *params,
                                 void **self);
kry_status kryi_team_levels_update(kryi_hierarchy *H, void *self);
void kryi_team_levels_destroy(void *self);
/* *tail := what takes the coarsest of these levels at once, as on one device; for kryi_family.settle. */
void kryi_team_levels_tail(const void *self, kryi_tail *tail);

/* team_collect.c: of stored matrices, with the near null space that A was told; of grids. */
kry_status kryi_collect_matrix(const kry_op *A, const kryi_shell *shell, kry_op **whole);
kry_status kryi_collect_grid(const kry_op *A, const kryi_shell *shell, kry_op **whole);

/* Whether A, on a team or a part of it, is to give the same bits on any number of devices, which multigrid does
 * not; and KRY_ERR_UNSUPPORTED if so. */
bool kryi_has_reproducible_sums(const kry_op *A);
kry_status kryi_check_sums(const char *who, const kry_op *A);
/* Whether A is a part's share of an operator on a team. */
bool kryi_is_share(const kry_op *A);

#endif
