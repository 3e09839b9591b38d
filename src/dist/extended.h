/*
 * extended.h - a part's rows of a matrix whose sums must have the same bits wherever rows are cut: one
 * matrix in the order of all columns, times the part's own numbers with the neighbours' below and above.
 */
#ifndef KRY_EXTENDED_H
#define KRY_EXTENDED_H

#include "halo.h"

/*
 * y := alpha A x + beta y.
 *
 *   wide    rows by own_at + rows + above columns, in a format that sums a row from its first entry to
 *           its last one whatever the other rows are; retained
 *   halo    taken over if the call succeeds; its numbers are those below, then those above. NULL: there
 *           are none
 *   below   how many; they end where the part's own begin
 *   own_at  the column of the first row
 *   entry   host: for each row the entry of wide's values on the diagonal, -1: none; copied
 *   val     host: wide's values
 *   traits  of the whole matrix
 *
 * Moved    beside the product 2 words a row, for the copy of x; storage 2 words a row
 */
kry_status kry_extended_create(const kry_op *wide, kry_halo **halo, int64_t below,
                               int64_t own_at, const int64_t *entry, const void *val, unsigned traits, kry_op **op);
bool kry_op_is_extended(const kry_op *op);

#endif
