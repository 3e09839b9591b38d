/*
 * block_pivots.h - factors of a dense matrix with pivots of 2 x 2 numbers, after Brodtkorb, whose
 * textures had such a block in one texel.
 */
#ifndef KRY_BLOCK_PIVOTS_H
#define KRY_BLOCK_PIVOTS_H

#include <kry/kry.h>

/*
 * P A = L U, two columns at once: of the pairs of rows (2 i, 2 i + 1) the one whose block [a b; c d] has
 * the largest
 *
 *   k = |a d - b c| / (|a| + |b| + |c| + |d|)
 *
 * is the pivot; the larger of a and c goes first. For b = c = 0 this is half the harmonic mean of |a| and
 * |d|; the formula of the paper itself was not at hand. Pairs stay together. Where the second pivot
 * would be 0, and for a last single column, the largest entry of the column is taken.
 *
 *   A          [in]   m-by-n, finite, columns without gaps, on one device
 *   F          [out]  the same shape: L below the diagonal, with ones on it, and U
 *   row_order  [out]  m indices on the host: row i of L U is row row_order[i] of A; NULL: not wanted
 *
 * Multipliers may be larger than 1, and errors are. Waits if row_order is asked for.
 */
KRY_MUST_CHECK kry_status block_pivots_factor(const kry_vec *A, kry_vec *F, int32_t *row_order);

#endif
