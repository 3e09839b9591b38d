/*
 * rows.h - the entries of A on the host, for preconditioners that take it apart.
 */
#ifndef KRY_ROWS_H
#define KRY_ROWS_H

#include "operator/op.h"

/* n-by-n, columns ascending in a row, no place twice. */
typedef struct kry_rows {
    int64_t n, nnz;
    int64_t *row_ptr; /* n+1 */
    int32_t *col;     /* nnz */
    double *val;      /* nnz */
} kry_rows;

/* The entries as they lie in A: of its type, a wrapped matrix's in any order. */
typedef struct kry_raw_rows {
    int64_t n, nnz;
    int64_t *row_ptr; /* n+1 */
    int32_t *col;     /* nnz */
    void *val;        /* nnz */
} kry_raw_rows;

/* Whether A has entries to read: a stored matrix, a grid operator; on a part of a team, those in its
 * own columns. */
bool kry_has_rows(const kry_op *A);
/* Of a stored matrix, or of the one that a grid operator stands for. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if A has no entries to read. */
kry_status kry_raw_rows_read(const kry_op *A, kry_raw_rows *R);
void kry_raw_rows_release(kry_raw_rows *R);

/*
 * The entries of a stored matrix or a grid operator. `who` names the constructor. Waits.
 *
 * Returns  KRY_ERR_SHAPE if A is not square, KRY_ERR_UNSUPPORTED if it has no entries to read.
 */
kry_status kry_rows_read(const char *who, const kry_op *A, kry_rows *R);
kry_status kry_rows_create(int64_t n, int64_t nnz, kry_rows *R);
void kry_rows_release(kry_rows *R);

/* at[i] := where the diagonal entry of row i is. Returns  KRY_ERR_ARGUMENT naming the first row
 * whose entry, or the inverse of it in A's type, is not positive and finite. */
kry_status kry_rows_diagonal(const char *who, const kry_op *A, const kry_rows *R, int64_t *at);

/*
 * Make what is symmetric but for rounding symmetric to the bit: the lower triangle counts, zeros
 * without a partner go.
 *
 * Returns  KRY_ERR_ARGUMENT naming the first place where a_ij and a_ji differ by more than
 *          rounding, measured by the diagonal, which must be positive.
 */
kry_status kry_rows_symmetrise(const char *who, const kry_op *A, kry_rows *R);

/* A matrix of these entries, rounded to A's type, in the format that suits the device. Waits. */
kry_status kry_rows_matrix(const kry_op *A, const kry_rows *R, unsigned traits, kry_op **matrix);

#endif
