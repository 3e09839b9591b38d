/*
 * dense.h - dense matrices on a device: products, factors, solutions, inverses.
 *
 * A matrix is an m-by-n kry_vec, column major. All of this is for one device: vectors of a team
 * (team.h) are refused with KRY_ERR_UNSUPPORTED. docs/dense.md says how it is done and what it costs.
 */
#ifndef KRY_DENSE_H
#define KRY_DENSE_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * C := alpha op(A) op(B) + beta C,  op(X) = X or, transposed, X'
 *
 *   A   [in]      m-by-k (transposed: k-by-m)
 *   B   [in]      k-by-n (transposed: n-by-k); may be A
 *   C   [in,out]  m-by-n, no overlap with A or B; with beta == 0 it is not read, so it may hold
 *                 anything, NaN included
 *
 * On GPUs by CLBlast, whose first call for a number type compiles for seconds; small products, CPUs
 * and builds without CLBlast take a kernel of kry's own. k may be 0.
 *
 * Cost     2 m n k operations; CLBlast copies operands whose sizes are not those of its tiles, into
 *          a buffer that stays with the device for the next product
 * Returns  KRY_ERR_ARGUMENT (NULL, overlap, two devices), KRY_ERR_SHAPE, KRY_ERR_TYPE,
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_MEMORY, KRY_ERR_DEVICE
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_gemm(bool transposed_A, bool transposed_B, double alpha,
                                               const kry_vec *A, const kry_vec *B, double beta,
                                               kry_vec *C);

/*
 * At := A'
 *
 *   A    [in]   m-by-n
 *   At   [out]  n-by-m, no overlap with A
 *
 * Cost     2 m n words moved
 * Returns  as kry_vec_gemm
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_transpose(const kry_vec *A, kry_vec *At);

/*
 * A dense matrix as an operator, y = A x; with transpose and, if it is square, diagonal.
 *
 *   A       m-by-n; kept, not copied: what is written to it later is what the operator applies.
 *           kry_op_update(op, values) writes all m n numbers, kry_op_update(op, NULL) does nothing
 *   traits  KRY_SYMMETRIC, KRY_POSITIVE, KRY_SINGULAR: promised, not checked; 0 if m != n
 *
 * kry_op_apply takes column after column of a block; kry_vec_gemm takes them together.
 *
 * Cost     m n + m + n words an application
 * Returns  KRY_ERR_ARGUMENT (NULL, unknown traits), KRY_ERR_SHAPE for traits of a matrix that is
 *          not square, KRY_ERR_UNSUPPORTED on a team
 */
KRY_API KRY_MUST_CHECK kry_status kry_dense_create(const kry_vec *A, unsigned traits, kry_op **op);

typedef struct kry_lu_params {
    size_t struct_size;
    double tolerance; /* solves refuse a matrix whose smallest pivot is, in magnitude, at most this
                         fraction of its largest one, in [0, 1); default 0: one that is zero */
    int block;        /* columns between two updates of all that is left, a multiple of 32 up to
                         256; default: what suits the device */
    unsigned
        traits; /* KRY_SYMMETRIC, KRY_POSITIVE: promised of a square A, not checked; its inverse
                         has the same. For solvers that ask for them; the factors do not need them */
} kry_lu_params;
#define KRY_LU(...) (&(kry_lu_params){ .struct_size = sizeof(kry_lu_params), __VA_ARGS__ })

/*
 * P A = L U,  L lower trapezoidal with a diagonal of ones, U upper trapezoidal, P a permutation of
 * rows: an operator that applies A^-1
 *
 *   A       [in]   m-by-n, finite; it is copied, and may go
 *   params  NULL: the defaults
 *   lu      [out]  kind "lu". m == n: y = A^-1 x, and its transpose. Else only its factors
 *                  (kry_lu_factors) and pivots are of use. Does not follow A: factorise again
 *
 * With partial pivoting: a column's pivot is its entry of largest magnitude in the rows that are left,
 * of equal ones the first, as in LAPACK. Blocked and right-looking. Panels, pivots and row exchanges
 * stay on the device; the host looks at the pivots once, at the end. A singular matrix has factors,
 * too; what needs its inverse refuses. Applied, it may be a solver's preconditioner.
 *
 * Cost     n^2 (m - n/3) operations for m >= n, m n words, and two words a row. Waits.
 * Returns  KRY_ERR_ARGUMENT (NULL, params out of range, an entry that is not finite: message says
 *          which), KRY_ERR_SHAPE for more than 2^31 - 1 rows or columns, KRY_ERR_UNSUPPORTED on a
 *          team, KRY_ERR_MEMORY
 * Source   G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed. (2013), section 3.4
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_create(const kry_vec *A, const kry_lu_params *params,
                                                kry_op **lu);

/*
 * Solve A X = B or, transposed, A' X = B
 *
 *   B   [in]   n-by-k, finite
 *   X   [out]  n-by-k; may be B, else no overlap
 *
 * Triangular solves by blocks, with products between them.
 *
 * Cost     2 n^2 k operations; the factors are read once for each few columns
 * Returns  KRY_ERR_SINGULAR (message: which pivot), KRY_ERR_ARGUMENT for an operator that is not of
 *          kry_lu_create; KRY_ERR_SHAPE, also for factors of a matrix that is not square;
 *          KRY_ERR_TYPE. X is then as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_solve(const kry_op *lu, bool transposed, const kry_vec *B,
                                               kry_vec *X);

/*
 * The factors, as MATLAB's [L,U,p] = lu(A,'vector'). With r = min(m, n):
 *
 *   L          [out]  m-by-r with its ones and zeros; NULL: not wanted
 *   U          [out]  r-by-n with its zeros; NULL: not wanted
 *   row_order  [out]  m indices on the host: row i of L U is row row_order[i] of A; NULL: not wanted
 *
 * Waits if row_order is asked for.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_factors(const kry_op *lu, kry_vec *L, kry_vec *U,
                                                 int64_t *row_order);

/*
 * det A = mantissa 2^exponent, so that it neither overflows nor vanishes
 *
 *   mantissa  [out]  0.5 <= |mantissa| < 1, or 0 (exponent 0) for a singular matrix; 0-by-0: 0.5 and 1
 *
 * Returns  KRY_ERR_SHAPE for a matrix that is not square.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_determinant(const kry_op *lu, double *mantissa,
                                                     int64_t *exponent);

/*
 * An estimate of 1 / (||A||_1 ||A^-1||_1): 0 for a singular matrix, near 1 for a good one. Rarely more
 * than three times too large, and never too small but for rounding.
 *
 * Cost     four or five solves, as a rule. Waits.
 * Returns  KRY_ERR_SHAPE for a matrix that is not square.
 * Source   N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix, ACM
 *          Trans. Math. Softw. 14 (1988), algorithm 4.1
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_condition(const kry_op *lu, double *reciprocal);

/*
 * The pivot of least magnitude, |u_jj|, and its column; of equal ones the first. No pivots at all:
 * infinity and -1.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_pivot(const kry_op *lu, double *smallest, int64_t *column);

/*
 * Reduced row echelon form, in place, by Gauss-Jordan elimination with partial pivoting
 *
 *   A              [in,out]  m-by-n, finite
 *   tolerance      entries of a column that are not larger count as zero, and become zero. 0: that of
 *                  MATLAB's rref, max(m, n) eps ||A||_inf
 *   pivot_columns  [out]  min(m, n) indices on the host, ascending; those behind the rank are -1. NULL:
 *                         not wanted
 *   rank           [out]  how many pivots; NULL: not wanted
 *
 * Cost     2 m n rank operations in n / 32 passes over a copy of A. Waits.
 * Returns  KRY_ERR_ARGUMENT (NULL, an entry or tolerance that is not finite, or negative),
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_SHAPE, KRY_ERR_MEMORY; A is then
 *          as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_rref(kry_vec *A, double tolerance, int64_t *pivot_columns,
                                               int64_t *rank);

/*
 * inverse := A^-1 by Gauss-Jordan elimination
 *
 *   A        [in]   n-by-n, finite
 *   params   tolerance as for kry_lu_create; NULL: the default
 *   inverse  [out]  n-by-n; may be A, else no overlap
 *
 * A solve by kry_lu_create and kry_lu_solve takes a third of the operations, and is more accurate.
 *
 * Cost     2 n^3 operations in n / 32 passes over a copy of A. Waits.
 * Returns  KRY_ERR_SINGULAR (message: which pivot), KRY_ERR_SHAPE, KRY_ERR_TYPE, KRY_ERR_ARGUMENT,
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_MEMORY; `inverse` is then as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_inverse(const kry_vec *A, const kry_lu_params *params,
                                                  kry_vec *inverse);

#ifdef __cplusplus
}
#endif
#endif
