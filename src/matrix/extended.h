/*
 * extended.h - a part's rows of a matrix whose sums must have the same bits wherever rows are cut:
 * all entries in one matrix, times the part's own numbers with the neighbours' below and above.
 */
#ifndef KRY_EXTENDED_H
#define KRY_EXTENDED_H

#include "operator/halo.h"
#include "sparse/sparse.h"

/* The columns of such a matrix: those of the whole, in order, that have entries in these rows. */
typedef struct kry_wide_columns {
    int64_t below;  /* how many come before the part's own; they end where the own ones begin */
    int64_t own_at; /* the part's first own column: where wide loads may begin */
    const int64_t *place; /* of each of the halo's numbers in the whole (split.h) */
    unsigned traits;      /* of the whole matrix */
} kry_wide_columns;

/*
 * y := alpha A x + beta y.
 *
 *   wide     rows by own_at + rows + above columns, in a format that sums a row from its first
 *            entry to its last one whatever the other rows are; retained
 *   rows     the same on the host
 *   halo     taken over if the call succeeds; its numbers are those below, then those above. NULL:
 *            there are none
 *   columns  copied, and its places
 *
 * Moved    beside the product 2 words a row, for the copy of x; storage 2 words a row
 */
kry_status kry_extended_create(const kry_op *wide, const kry_sparse *rows, kry_halo **halo,
                               const kry_wide_columns *columns, kry_op **op);
bool kry_op_is_extended(const kry_op *op);
/* The matrix of such an operator, and its columns, borrowed; NULL for any other operator. */
const kry_op *kry_extended_wide(const kry_op *op, kry_wide_columns *columns);

#endif
