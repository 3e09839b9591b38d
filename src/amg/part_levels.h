/*
 * part_levels.h - smoothed aggregation on a team, of whose fine levels each part has its own rows.
 *
 *   T   the tentative prolongation: aggregates are within a part
 *   P   (I - omega D^-1 F) T as on one device: where a row of F has entries in other parts, P has entries for these
 *       parts' aggregates
 *   A'  = P'A P of all parts. A part computes its rows, those of its own aggregates
 *
 * Parts send each other the rows of T, P and A P that go with the halo of A. Numbers are in double, on the host.
 */
#ifndef KRY_PART_LEVELS_H
#define KRY_PART_LEVELS_H

#include "amg/amg_start.h"
#include "matrix/matrix_parts.h"
#include "multigrid/team_levels.h"
#include "operator/dist.h"

/* ---- part_prolongation.c ---------------------------------------------------------------------------- */

/* What stays of a level when A has new numbers. */
typedef struct kryi_part_kept {
    kryi_dist T;        /* without far columns */
    bool *strong, *far; /* which own and which far entries of A are; NULL: all */
    int64_t *first;     /* one more than parts: of each its first coarse unknown */
} kryi_part_kept;
void kryi_part_kept_release(kryi_part_kept *kept);

/* *d := the diagonal of A in this part's rows, then in those of its far columns; to be freed. Collective. Waits. */
kry_status kryi_part_diagonals(const kryi_dist *A, double **d);
/* kept := what the aggregates of a level are. B: this part's rows of the near null space, row by row; *C: of that of the
 * coarser level, to be freed. Collective. */
kry_status kryi_part_aggregate(const kryi_coarsen *c, const kryi_dist *A, const double *B,
                               kryi_part_kept *kept, double **C);
/* P := the prolongation. Collective. Waits. */
kry_status kryi_part_prolongation(const kryi_dist *A, const kryi_part_kept *kept, kryi_dist *P);

/* ---- part_coarser.c ---------------------------------------------------------------------------------- */

/* What a level is coarsened to. */
typedef struct kryi_part_coarser {
    kryi_dist P, R, A;       /* R = P', with the far columns of the finer A */
    double *near_null_space; /* this part's rows, row by row */
} kryi_part_coarser;
void kryi_part_coarser_release(kryi_part_coarser *c);
/* c->R, c->A := those of A and c->P. level: the coarser one, in messages. Collective. Waits.
 * Returns  KRY_ERR_ARGUMENT for an A that is seen not to be symmetric or positive definite */
kry_status kryi_part_multiply(int level, kry_type type, const kryi_dist *A, kryi_part_coarser *c);

/* ---- part_levels.c -------------------------------------------------------------------------------------- */

/*
 * M := a cycle for a share A of a stored matrix: levels in parts while they have more than p->gather unknowns, and below
 * these what kryi_team_levels_make adds. Collective. Waits.
 */
kry_status kryi_part_levels_create(const kryi_whole *how, const kry_op *A, const kry_amg_params *p,
                                   kry_op **M);

#endif
