/*
 * rows.h - the entries of A on the host, for preconditioners that take it apart.
 */
#ifndef KRY_ROWS_H
#define KRY_ROWS_H

#include "operator/op.h"
#include "sparse/csr.h"

/* The entries of a stored matrix or a grid operator, in A's type, a wrapped matrix's in any order;
 * of an operator on a team those of all parts. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if A has no entries to read. */
kry_status kryi_rows_download(const kry_op *A, kryi_csr *R);
/* The entries of a square A in double, with columns ascending and no place twice; on a part of a team, those in
 * its own columns. `who` names the constructor. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if A has no entries to read. */
kry_status kryi_rows_read(const char *who, const kry_op *A, kryi_csr *R);

/* |a_ij - a_ji| below so much of sqrt(a_ii a_jj) is rounding, of files with few digits, too. */
static inline double kryi_symmetry_tolerance(kry_type type)
{
    return type == KRY_F32 ? 1e-5 : 1e-8;
}
/*
 * Make what is symmetric but for rounding symmetric to the bit: the lower triangle counts, zeros
 * without a partner go.
 *
 *   inverse  [out]  of the diagonal
 *
 * Returns  KRY_ERR_ARGUMENT naming the first row whose diagonal entry, or the inverse of it in A's
 *          type, is not positive and finite, or the first place where a_ij and a_ji differ by more
 *          than rounding, measured by the diagonal.
 */
kry_status kryi_rows_symmetrise(const char *who, const kry_op *A, kryi_csr *R, double *inverse);

/* The number that stands for the diagonal entry of row i. */
typedef double kryi_row_entry(const kryi_csr *A, int64_t i);
/* kry_jacobi_create with another diagonal matrix than the diagonal of A; on a part of a team rows have the
 * couplings to other parts, too, in columns behind its own. After kry_op_update(A), kry_op_update(M, NULL) asks
 * for the entries again. Waits.
 * Returns  as kryi_rows_read; KRY_ERR_SINGULAR for an entry without an inverse */
kry_status kryi_row_jacobi_create(const kry_op *A, kryi_row_entry *entry, kry_op **M);

/* A matrix of these entries in A's type, to which R is rounded, in the format that suits the
 * device. Waits. */
kry_status kryi_rows_matrix(const kry_op *A, kryi_csr *R, unsigned traits, kry_op **matrix);

#endif
