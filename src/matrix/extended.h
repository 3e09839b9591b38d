/*
 * extended.h - a part's rows of a matrix whose sums must have the same bits wherever rows are cut: one
 * matrix in the order of all columns, times the part's own numbers with the neighbours' below and above.
 */
#ifndef KRY_EXTENDED_H
#define KRY_EXTENDED_H

#include "operator/halo.h"

/* Columns in the order of all of them, of which only those that are wanted are here. */
typedef struct kry_wide_columns {
    int64_t below;        /* wanted ones before the part's own; they end where the own ones begin */
    int64_t own_at;       /* of the first row: where wide loads may begin */
    const int64_t *place; /* of each of the halo's numbers in the whole (split.h) */
} kry_wide_columns;

/*
 * y := alpha A x + beta y.
 *
 *   wide    rows by own_at + rows + above columns, in a format that sums a row from its first entry to
 *           its last one whatever the other rows are; retained
 *   halo    taken over if the call succeeds; its numbers are those below, then those above. NULL: there
 *           are none
 *   columns copied, and its places
 *   entry   host: for each row the entry of wide's values on the diagonal, -1: none; copied
 *   val     host: wide's values
 *   traits  of the whole matrix
 *
 * Moved    beside the product 2 words a row, for the copy of x; storage 2 words a row
 */
kry_status kry_extended_create(const kry_op *wide, kry_halo **halo, const kry_wide_columns *columns,
                               const int64_t *entry, const void *val, unsigned traits, kry_op **op);
bool kry_op_is_extended(const kry_op *op);
/* The matrix in the order of all columns, and what they are, borrowed; NULL for any other operator. */
const kry_op *kry_extended_wide(const kry_op *op, kry_wide_columns *columns);

#endif
