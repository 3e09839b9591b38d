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

/* This part's rows of a matrix. */
typedef struct kryi_part_rows {
    kryi_csr own;   /* in its own columns, */
    kryi_csr far;   /* and in those of other parts: numbers of a halo */
    int64_t *place; /* of these; owned. NULL: nobody asks */
    int64_t places;
    int64_t first; /* own row, among those of all parts */
} kryi_part_rows;
void kryi_part_rows_release(kryi_part_rows *rows);

/* ---- part_columns.c: rows with entries in all parts ------------------------------------------------ */

/* Columns that rows have entries in: the part's own ones, then others. */
typedef struct kryi_part_columns {
    int64_t first, own; /* places of the own ones */
    int64_t count;      /* of the others, */
    int64_t *place;     /* ascending; owned */
} kryi_part_columns;

/* The others are those of these rows, which are two sets. */
kry_status kryi_part_columns_find(const kryi_placed_rows *const rows[2], int64_t first, int64_t own,
                                  kryi_part_columns *c);
/* placed: M's rows, with places for its columns, which are those of c; borrows M's arrays, but for `place`. */
kry_status kryi_part_columns_place(const kryi_csr *M, const kryi_part_columns *c,
                                   kryi_placed_rows *placed);
/* M := the rows of `top`, and below them those of `below`, with the columns of c. */
kry_status kryi_part_columns_stack(const kryi_placed_rows *top, const kryi_placed_rows *below,
                                   const kryi_part_columns *c, kryi_csr *M);
/* rows := M, whose columns are those of c. */
kry_status kryi_part_columns_split(const kryi_csr *M, const kryi_part_columns *c,
                                   kryi_part_rows *rows);

/* ---- part_prolongation.c ---------------------------------------------------------------------------- */

/* What stays of a level when A has new numbers. */
typedef struct kryi_part_kept {
    kryi_csr T;         /* this part's rows and columns */
    bool *strong, *far; /* which own and which other entries of A are; NULL: all */
    int parts;
    int64_t *first; /* parts + 1: of each its first coarse unknown */
} kryi_part_kept;
void kryi_part_kept_release(kryi_part_kept *kept);

/* A level and its halo. */
typedef struct kryi_part_level {
    const kryi_part_rows *A;
    const kryi_halo *halo;
} kryi_part_level;

/* The diagonal of A in this part's rows, and in those that go with the halo; to be freed. Collective. Waits. */
kry_status kryi_part_diagonals(const kryi_part_level *level, double **mine, double **theirs);
/* kept := what the aggregates of a level are. B: this part's rows of the near null space, row by row; *C: of that of the
 * coarser level, to be freed. Collective. */
kry_status kryi_part_aggregate(const kryi_coarsen *c, const kryi_part_level *level, const double *B,
                               kryi_part_kept *kept, double **C);
/* P := this part's rows of the prolongation. Collective. Waits. */
kry_status kryi_part_prolongation(const kryi_part_level *level, const kryi_part_kept *kept,
                                  kryi_part_rows *P);

/* ---- part_coarser.c ---------------------------------------------------------------------------------- */

/* What a level is coarsened to. */
typedef struct kryi_part_coarser {
    kryi_part_rows P, A;
    kryi_part_rows R;        /* P': this part's rows, whose far columns are those of the finer A */
    double *near_null_space; /* this part's rows, row by row */
} kryi_part_coarser;
void kryi_part_coarser_release(kryi_part_coarser *c);
/* c->R, c->A := those of c->P. level: the coarser one, in messages. Collective. Waits.
 * Returns  KRY_ERR_ARGUMENT for an A that is seen not to be symmetric or positive definite */
kry_status kryi_part_multiply(const char *who, int level, kry_type type,
                              const kryi_part_level *from, kryi_part_coarser *c);

/* ---- part_levels.c -------------------------------------------------------------------------------------- */

/*
 * M := a cycle for a share A of a stored matrix: levels in parts while they have more than p->gather unknowns, and below
 * these what kryi_team_levels_make adds. Collective. Waits.
 */
kry_status kryi_part_levels_create(const kryi_whole *how, const kry_op *A, const kry_amg_params *p,
                                   kry_op **M);

#endif
