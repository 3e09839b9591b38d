/*
 * team_levels.h - multigrid on a team: every part has the whole operator once more, and makes all levels of it
 * for itself.
 */
#ifndef KRY_TEAM_LEVELS_H
#define KRY_TEAM_LEVELS_H

#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"

/* Multigrid of one kind. */
typedef struct kry_whole {
    kry_family family; /* KRY_TEAM_FAMILY */
    /* *whole := all rows of A, which are split over the parts, on this part's device, in the order of places
     * (split.h); or their numbers, where *whole is there. Collective. Waits. */
    kry_status (*collect)(const kry_op *A, kry_op **whole);
    /* M := multigrid for that. */
    kry_create_here *create;
    bool by_rows; /* `collect` puts them in the order of rows instead */
} kry_whole;

kry_status kry_team_levels_make(kry_hierarchy *H, const kry_op *A, const void *params, void **self);
kry_status kry_team_levels_update(kry_hierarchy *H, void *self);
void kry_team_levels_destroy(void *self);
#define KRY_TEAM_FAMILY(kind_, who_)                                               \
    {                                                                              \
        .kind = kind_, .who = who_, .coarsest = 1, .create = kry_team_levels_make, \
        .update = kry_team_levels_update, .destroy = kry_team_levels_destroy       \
    }

/* team_collect.c: of stored matrices, with the near null space that A was told; of grids. */
kry_status kry_collect_matrix(const kry_op *A, kry_op **whole);
kry_status kry_collect_grid(const kry_op *A, kry_op **whole);

/* Whether A, on a team or a part of it, is to give the same bits on any number of devices, which multigrid does
 * not; and KRY_ERR_UNSUPPORTED if so. */
bool kry_has_reproducible_sums(const kry_op *A);
kry_status kry_check_sums(const char *who, const kry_op *A);
/* Whether A is a part's share of an operator on a team. */
bool kry_is_share(const kry_op *A);

/*
 * M := a cycle for a share A. In it the finest level is smoothed, and its residual is formed, part by part;
 * restriction takes each part's rows of it, and the results, as many numbers as the second level has unknowns, are
 * added up on all parts, which then do the same on all coarser levels: nothing is sent back.
 *
 *   how     static
 *   params  what how->create takes
 *
 * Collective. Waits.
 */
kry_status kry_team_levels_create(const kry_whole *how, const kry_op *A,
                                  const kry_cycle_params *cycle, const void *params, kry_op **M);

#endif
