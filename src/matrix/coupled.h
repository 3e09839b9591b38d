/*
 * coupled.h - a part's rows of a matrix: those entries in its own columns, as a square matrix in any
 * format, and those that are coupled to other parts' numbers.
 */
#ifndef KRY_COUPLED_H
#define KRY_COUPLED_H

#include "operator/halo.h"

/* Entries in columns of other parts, on the host; rows without any are left out. */
typedef struct kry_far_entries {
    int64_t rows, nnz;
    int32_t *row;   /* rows: which */
    int32_t *begin; /* rows + 1 */
    int32_t *col;   /* nnz: the place among the halo's numbers */
    void *val;      /* nnz of the operator's type */
    /* The same rows' entries in own columns, for residuals in double of single numbers; begin NULL:
     * there are none. */
    int32_t *own_begin, *own_col;
    void *own_val;
    const int64_t *place; /* of each of the halo's numbers in the whole (split.h) */
} kry_far_entries;

/*
 * y := alpha (own + far) x + beta y.
 *
 *   own     square; retained
 *   halo    taken over if the call succeeds
 *   far     copied
 *   traits  of the whole matrix
 */
kry_status kry_coupled_create(const kry_op *own, kry_halo **halo, const kry_far_entries *far,
                              unsigned traits, kry_op **op);
/* New numbers: far entries' and, where there are any, own_val's; own is the caller's to update. */
kry_status kry_coupled_store(kry_op *op, const void *val, const void *own_val);
/* In flux form what rows add up to: of own entries by row_ptr, val, and of far ones, on the host. To be
 * called after own and the far entries have got their numbers; in any other form it does nothing. */
kry_status kry_coupled_balance(kry_op *op, const int64_t *row_ptr, const void *val,
                               const void *far_val);
/* The entries of A in its own columns: what preconditioners that read entries take for A on a part of
 * a team; of any other operator the operator itself. */
const kry_op *kry_op_own(const kry_op *A);
/* Its far entries, to be released, and the places, borrowed; of any other operator none. Waits. */
kry_status kry_coupled_read(const kry_op *A, kry_far_entries *far);
void kry_far_entries_release(kry_far_entries *far);
/* Where the halo's numbers stand in the whole, borrowed; how many. */
int64_t kry_coupled_places(const kry_op *A, const int64_t **place);

#endif
