/*
 * matrix_parts.h - stored matrices on a team. A part holds its rows in one of two ways:
 *
 *   coupled    own entries, those in its own columns, as a square matrix in any format; and far
 *              entries, in columns of other parts, whose numbers a halo brings
 *   extended   all entries in one matrix, for reproducible sums: a row is summed in one order wherever
 *              rows are cut
 */
#ifndef KRY_MATRIX_PARTS_H
#define KRY_MATRIX_PARTS_H

#include "operator/dist.h"
#include "sparse/entries.h"

/* ---- matrix_parts.c, matrix_read.c: the whole ------------------------------------------------- */

/* A rank brings this (matrix_rows.c): its rows, of whose columns those that have entries are numbered in the order of the
 * whole: of other ranks' columns `below`, all its own ones, the others of other ranks. */
typedef struct kryi_rank_rows {
    kryi_split *split; /* borrowed */
    int64_t *wanted;   /* owned: places in other ranks that the rows have entries for, ascending */
    int64_t wants, below;
} kryi_rank_rows;
/* Part the numbers of such rows into those of own and far entries, which have these patterns; to be freed. */
kry_status kryi_rank_numbers(const kryi_rank_rows *rank, const kryi_csr *own, const kryi_csr *far,
                             const void *val, void **own_val, void **far_val);

/* The operator of a matrix, split over the devices of a team. Takes host and map over if the call
 * succeeds; and rank->wanted. rank: host has the rows of this rank only; NULL: of all parts. */
kry_status kryi_matrix_in_parts(kry_device *team, kryi_csr *host, kryi_entry_map *map,
                                const kry_matrix_params *params, kryi_rank_rows *rank, kry_op **op);
/* The rows of part r, which is in this process, with the columns of the whole. To be released, whatever this
 * returns: KRY_ERR_UNSUPPORTED if it is no stored matrix. Waits. */
kry_status kryi_matrix_read_part(const kry_op *op, int r, kryi_csr *R);
/* The entries of a stored matrix in parts. Waits. Returns  also KRY_ERR_UNSUPPORTED. */
kry_status kryi_matrix_parts_download(const kry_op *op, kryi_csr *A);

/* ---- coupled.c: own and far entries ------------------------------------------------------------ */

/* The coupled rows, those with far entries, of a matrix on the device, one after the other. */
typedef struct kryi_packed_rows {
    int64_t nnz;
    cl_mem begin, col, val; /* coupled rows + 1; nnz; nnz */
} kryi_packed_rows;

/* Own entries once more, for residuals in single that are summed in double, and so cannot be the sum of two
 * rounded pieces. */
typedef struct kryi_exact_rows {
    kryi_packed_rows own;
    int64_t *from;  /* host, nnz: where the numbers are among those that are given */
    cl_mem surplus; /* a number for each coupled row, in flux form: what it adds up to */
    kry_vec *b;     /* in these rows, while r is written over it; NULL: not wanted */
    kryi_kernel *residual, *pack;
} kryi_exact_rows;

/* Own pieces that are no stored matrices: in flux form, and without what flows to other parts. So row i of the whole is
 * that of own and  sum over j of far_ij (x_j - x_i),  and its diagonal entry that of own less the sum of far_ij. They
 * offer the steps of conjugate gradients in two passes, kryi_op_fused.apply_step. */
typedef struct kryi_own_kind {
    kry_status (*rows)(const kry_op *own, kryi_csr *rows); /* all entries of own. Waits */
} kryi_own_kind;

typedef struct kryi_coupled {
    kry_device *dev;           /* borrowed */
    kry_op *own;               /* retained: a stored matrix; or */
    const kryi_own_kind *kind; /* not NULL: an operator of this kind, static */
    kryi_dist part;            /* all rows on the host, but for the own entries, which `own` has */
    unsigned traits;           /* of the whole matrix */
    int64_t rows;              /* coupled ones */
    int32_t *number;           /* host, rows: which */
    cl_mem row;                /* the same */
    kryi_packed_rows packed;   /* their far entries */
    kryi_exact_rows exact;
    cl_int flux; /* whether its rows are in flux form */
    kryi_kernel *add, *add_dot;
    kryi_kernel *dot, *step, *diagonal; /* with a kind */
    char variant[128];
} kryi_coupled;

/* y := alpha (own + far) x + beta y. given: own, which is retained, kind, traits, and part, which is taken over even if it
 * fails. exact: own's rows, of which those that are coupled are kept, for residuals of single
 * numbers that are summed in double; NULL: not wanted. kryi_coupled_store brings what is made of numbers. */
kry_status kryi_coupled_create(const kryi_coupled *given, const kryi_csr *exact, kry_op **op);
kryi_coupled *kryi_coupled_of(const kry_op *op); /* NULL: op is none */
/* The operator of A's own entries, for preconditioners that read entries; A itself if it is not coupled. */
const kry_op *kryi_op_own(const kry_op *A);
/* Returns how many numbers the halo has; *place: which they are in the whole, borrowed. */
int64_t kryi_coupled_places(const kry_op *A, const int64_t **place);

/* ---- coupled_rows.c: their entries ------------------------------------------------------------- */

/* The patterns on the device, without numbers. exact: as in kryi_coupled_create. */
kry_status kryi_coupled_pack(kryi_coupled *A, const kryi_csr *exact);
/* New numbers, after the caller has updated the operator of the own entries. own_val NULL: of a converted
 * copy, which is told what its rows add up to. Does nothing for operators that are not coupled. */
kry_status kryi_coupled_store(kry_op *op, const void *own_val, const void *far_val);
/* kryi_coupled_store for an own piece in flux form. exact_val: numbers of the exact rows, if they are wanted, and sums: of all rows, what
 * own's add up to; NULL: 0. */
kry_status kryi_coupled_store_flux(kry_op *op, const void *exact_val, const void *sums,
                                   const void *far_val);
/* The entries of own with the diagonal of the whole: the block of it that is this part's. Waits. */
kry_status kryi_coupled_own_rows(const kry_op *op, kryi_csr *rows);
/* Entry of the operators' table. */
kry_status kryi_coupled_convert(void *self, kry_type type, double factor, const double *scale,
                                kry_op **copy);
/* The rows of a stored matrix, or a coupled operator, on the host: own columns, then those of the halo's numbers. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if there is no stored matrix. */
kry_status kryi_coupled_download(const kry_op *op, kryi_csr *rows);

/* ---- extended.c: all entries in one matrix ----------------------------------------------------- */

/* y := alpha A x + beta y. A has the columns of the whole, in order, that have entries in these rows: `below`
 * of them come before the part's own. Moves 2 words a row more than the product, for the copy of x. */
typedef struct kryi_extended {
    kry_op *wide; /* rows by own_at + rows + above columns, in a format that sums a row from its
                        first entry to its last one whatever the other rows are; retained */
    kryi_halo
        *halo; /* owned; its numbers are those below, then those above. NULL: there are none */
    int64_t below;
    int64_t own_at;  /* the part's first own column: where wide loads may begin */
    int64_t *place;  /* owned: of each of the halo's numbers in the whole */
    unsigned traits; /* of the whole matrix */
    kry_vec *x;      /* of all columns */
    char variant[128];
} kryi_extended;

/* given: wide, which is retained, halo and place, which are taken over even if it fails, and the numbers. */
kry_status kryi_extended_create(const kryi_extended *given, kry_op **op);
const kryi_extended *kryi_extended_of(const kry_op *op); /* NULL: op is none */

#endif
