/*
 * dense.h - dense matrices on a device: products, factors, solutions, inverses.
 *
 * A matrix is an m-by-n kry_vec, column major. One device does all of this: vectors of a team (team.h) are
 * refused with KRY_ERR_UNSUPPORTED. docs/in-programs.md describes the methods and their cost.
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
 *   A   [in]      m-by-k (transposed: k-by-m); k may be 0
 *   B   [in]      k-by-n (transposed: n-by-k); may be A
 *   C   [in,out]  m-by-n, no overlap with A or B; not read if beta == 0, so it may hold anything then,
 *                 NaN included
 *
 * On GPUs CLBlast does it; its first call for a number type takes seconds, for it compiles its kernels.
 * kry's own kernel does small products, and all products on CPUs and in builds without CLBlast.
 *
 * Cost     2 m n k operations. CLBlast copies operands whose sizes are no multiples of its tiles, into a
 *          buffer that stays with the device for the next product
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
 * Make an operator of a dense matrix, y = A x, with its transpose and, if it is square, its diagonal
 *
 *   A       m-by-n; retained, not copied: the operator applies the numbers that A has at that time.
 *           kry_op_update(op, values) writes all m n of them, kry_op_update(op, NULL) does nothing
 *   traits  KRY_SYMMETRIC, KRY_POSITIVE, KRY_SINGULAR: promised, not checked; 0 if m != n
 *
 * Cost     m n + m + n words an application
 * Returns  KRY_ERR_ARGUMENT (NULL, unknown traits), KRY_ERR_SHAPE for traits of a matrix that is
 *          not square, KRY_ERR_UNSUPPORTED on a team
 */
KRY_API KRY_MUST_CHECK kry_status kry_dense_create(const kry_vec *A, unsigned traits, kry_op **op);

typedef struct kry_lu_params {
    size_t struct_size;
    /* The matrix counts as singular, and solves refuse it, if the magnitude of its smallest pivot is at most
     * this fraction of that of its largest one. In [0, 1); default 0: only a pivot of 0 does. */
    double tolerance;
    /* Columns that are factored before the columns behind them are updated, a multiple of 32 up to 256;
     * default: what suits the device. */
    int block;
    /* KRY_SYMMETRIC, KRY_POSITIVE: promised of a square A, not checked. The operator, A^-1, has the same
     * traits, which solvers ask for; the factorisation does not use them. */
    unsigned traits;
} kry_lu_params;
#define KRY_LU(...) KRY_PARAMS(kry_lu_params, __VA_ARGS__)

/*
 * Factorise P A = L U, with L lower trapezoidal and ones on its diagonal, U upper trapezoidal, and P a
 * permutation of rows, and make an operator that applies A^-1
 *
 *   A       [in]   m-by-n, finite; copied
 *   params  NULL: the defaults
 *   lu      [out]  kind "lu". m == n: y = A^-1 x, also transposed; it may be a solver's preconditioner.
 *                  m != n: for kry_lu_factors and kry_lu_pivot only. It does not change with A
 *
 * Partial pivoting: of the rows that are left, the pivot of a column is the entry of largest magnitude, of
 * equal ones the first, as in LAPACK. The algorithm is blocked and right-looking. All of it stays on the
 * device; the host reads the pivots once, at the end. A singular matrix has factors, too, but functions
 * that apply its inverse refuse it.
 *
 * Cost     n^2 (m - n/3) operations for m >= n, storage of m n words and two words a row. Waits.
 * Returns  KRY_ERR_ARGUMENT (NULL, params out of range, an entry that is not finite: message says
 *          which), KRY_ERR_SHAPE for more than 2^31 - 1 rows or columns, KRY_ERR_UNSUPPORTED on a
 *          team, KRY_ERR_MEMORY; KRY_ERR_DEVICE if the device computed them wrongly: the factors of
 *          an n-by-n matrix that is not singular solve for one right-hand side of random numbers,
 *          and half of the digits or more are lost in ||A x - b|| / (||A|| ||x|| + ||b||)
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
 * The first solve of each kind that kry_lu_create has not judged, transposed, for more than one column, or both, is
 * judged as factors are, with random numbers in up to 17 columns and with L and U in place of A. That waits, takes room for
 * two n-by-n matrices meanwhile, and is left out where there is none. kry_op_apply_transpose does so, too.
 *
 * Cost     2 n^2 k operations; the factors are read once for every few columns. The first of a kind: four to six times
 *          as many for up to 17 columns, and 4 n^2 words moved
 * Returns  KRY_ERR_SINGULAR (message: which pivot), KRY_ERR_ARGUMENT for an operator that kry_lu_create
 *          did not make; KRY_ERR_SHAPE, also for factors of a matrix that is not square;
 *          KRY_ERR_TYPE; KRY_ERR_DEVICE if the device solves wrongly. X is then as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_solve(const kry_op *lu, bool transposed, const kry_vec *B,
                                               kry_vec *X);

/*
 * Get the factors, as MATLAB's [L,U,p] = lu(A,'vector'). With r = min(m, n):
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
 * Get det A = mantissa 2^exponent, which neither overflows nor underflows
 *
 *   mantissa  [out]  0.5 <= |mantissa| < 1. Singular matrix: 0, exponent 0. 0-by-0: 0.5, exponent 1
 *
 * Returns  KRY_ERR_SHAPE for a matrix that is not square.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_determinant(const kry_op *lu, double *mantissa,
                                                     int64_t *exponent);

/*
 * Estimate the reciprocal condition number 1 / (||A||_1 ||A^-1||_1): 0 for a singular matrix, 1 at most
 *
 * The estimate is seldom more than three times too large. It is too small only by rounding.
 *
 * Cost     four or five solves, as a rule. Waits.
 * Returns  KRY_ERR_SHAPE for a matrix that is not square.
 * Source   N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix, ACM
 *          Trans. Math. Softw. 14 (1988), algorithm 4.1
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_condition(const kry_op *lu, double *reciprocal);

/*
 * Get the smallest magnitude of a pivot, |u_jj|, and its column; of equal ones the first. If there are no
 * pivots: infinity and -1.
 */
KRY_API KRY_MUST_CHECK kry_status kry_lu_pivot(const kry_op *lu, double *smallest, int64_t *column);

/*
 * Replace A by its reduced row echelon form, by Gauss-Jordan elimination with partial pivoting
 *
 *   A              [in,out]  m-by-n, finite
 *   tolerance      a column whose candidates for the pivot are all at most this large has no pivot, and
 *                  they become 0. 0: as MATLAB's rref, max(m, n) eps ||A||_inf
 *   pivot_columns  [out]  min(m, n) indices on the host: the columns with a pivot, ascending, then -1.
 *                         NULL: not wanted
 *   rank           [out]  the number of pivots; NULL: not wanted
 *
 * Cost     2 m n rank operations in n / 32 passes over a copy of A. Waits.
 * Returns  KRY_ERR_ARGUMENT (NULL, an entry or tolerance that is not finite, or negative),
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_SHAPE, KRY_ERR_MEMORY, KRY_ERR_DEVICE if the device
 *          computed a wrong form, as far as that can be told; A is then as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_rref(kry_vec *A, double tolerance, int64_t *pivot_columns,
                                               int64_t *rank);

/*
 * inverse := A^-1 from the factors P A = L U
 *
 *   A        [in]   n-by-n, finite
 *   params   tolerance as for kry_lu_create; NULL: the default
 *   inverse  [out]  n-by-n; may be A, else no overlap
 *
 * A solve by kry_lu_create and kry_lu_solve takes a third of the operations, and is more accurate.
 *
 * Cost     2 n^3 operations, scratch storage of 2 n^2 words. Waits.
 * Returns  KRY_ERR_SINGULAR (message: which pivot), KRY_ERR_SHAPE, KRY_ERR_TYPE, KRY_ERR_ARGUMENT,
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_MEMORY, KRY_ERR_DEVICE if the device computed it
 *          wrongly, judged as factors are; `inverse` is then as it was.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_inverse(const kry_vec *A, const kry_lu_params *params,
                                                  kry_vec *inverse);

/*
 * Q A Q' = diag(values): all eigenvalues of a small symmetric matrix in host memory, ascending
 *
 *   n       > 0; A and Q stand row by row
 *   A       [in,out]  n-by-n; overwritten
 *   Q       [out]     n-by-n: row i is a vector of length 1 to values[i]
 *   values  [out]     n
 *   room    3 n numbers
 *
 * Cost     9 n^3 operations
 * Returns  KRY_ERR_ARGUMENT for n < 1 or a number that is not finite
 * Source   G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed. (2013), algorithms 8.3.1 and 8.3.3
 */
KRY_API KRY_MUST_CHECK kry_status kry_small_eigen(int n, double *A, double *Q, double *values,
                                                  double *room);

#ifdef __cplusplus
}
#endif
#endif
