/*
 * precond.h - preconditioners: operators M that act like the inverse of A, roughly and cheaply.
 */
#ifndef KRY_PRECOND_H
#define KRY_PRECOND_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * M := inverse of the diagonal of A
 *
 * Keeps A. kry_op_update(M, NULL) reads the diagonal again. Waits.
 *
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry is zero or not finite (message: which row).
 */
KRY_API KRY_MUST_CHECK kry_status kry_jacobi_create(const kry_op *A, kry_op **M);

/*
 * M := K' D^-1 K,  K = I - L D^-1: the incomplete Poisson inverse. A = L + D + L'
 *
 * Matrix-free, for grid operators (kry_stencil_create) with any sides and coefficients: one pass
 * over r and z. About half the iterations of conjugate gradients without a preconditioner.
 * Symmetric positive definite. Keeps A. kry_op_update(M, NULL) follows new coefficients. Waits.
 *
 * Returns  KRY_ERR_UNSUPPORTED for other operators; KRY_ERR_SINGULAR if the diagonal has a zero.
 * Source   M. Ament, G. Knittel, D. Weiskopf, W. Strasser, A parallel preconditioned conjugate
 *          gradient solver for the Poisson problem on a multi-GPU platform, PDP 2010; scaled by
 *          the diagonal (docs/preconditioners.md).
 */
KRY_API KRY_MUST_CHECK kry_status kry_incomplete_poisson_create(const kry_op *A, kry_op **M);

typedef struct kry_chebyshev_params {
    size_t struct_size;
    int degree;     /* products with A, 1 ... 1000; default 4 */
    double highest; /* no eigenvalue of D^-1 A may be larger; default: 2 for grid operators, else
                       1.1 times an estimate by 12 steps of conjugate gradients */
    double ratio;   /* of the interval's ends, > 1; default 60. Eigenvalues below it are left to
                       the Krylov method */
} kry_chebyshev_params;
#define KRY_CHEBYSHEV(...) \
    (&(kry_chebyshev_params){ .struct_size = sizeof(kry_chebyshev_params), __VA_ARGS__ })

/*
 * M := p(D^-1 A) D^-1 with the polynomial that Chebyshev's iteration takes to make 1 - s p(s) small
 * on highest / ratio <= s <= highest
 *
 *   params  NULL: the defaults
 *
 * For any operator with a diagonal; no sums, so nothing to wait for. Symmetric; positive definite
 * if A is and `highest` is a bound. Keeps A. kry_op_update(M, NULL) reads the diagonal and
 * estimates again. Waits.
 *
 * Cost     degree products with A; 4 degree + 1 words per unknown on grids, 4 degree - 3 (at
 *          least 2) where their diagonal is one number; else products and 6 degree + 2
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry of it is zero; KRY_ERR_ARGUMENT for parameters out of their
 *          range, or if the estimate finds that A is not positive definite.
 * Source   Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 12.3.
 */
KRY_API KRY_MUST_CHECK kry_status kry_chebyshev_create(const kry_op *A,
                                                       const kry_chebyshev_params *params,
                                                       kry_op **M);

typedef struct kry_block_ic_params {
    size_t struct_size;
    int64_t rows; /* consecutive rows of a block, 1 ... n; default: two lines of a plane grid, two
                     planes of one in space, also for a matrix with the diagonals of a grid; else
                     32 ... 1024, what suits the device */
    double shift; /* factor A + shift diag(A), >= 0; default 0. More is taken if it has to be */
} kry_block_ic_params;
#define KRY_BLOCK_IC(...) \
    (&(kry_block_ic_params){ .struct_size = sizeof(kry_block_ic_params), __VA_ARGS__ })

/*
 * M := (L D L')^-1, the incomplete Cholesky factors without fill of A's diagonal blocks
 *
 *   A       a stored matrix of any format, or a grid operator (kry_stencil_create)
 *   params  NULL: the defaults
 *
 * Entries that couple two blocks are dropped; the diagonal stays as it is. Where a pivot is not
 * positive A + shift diag(A) is factored, with the first of 0, 0.001, 0.002, 0.004 ... (or
 * params->shift and its doubles) that does; kry_op_describe tells: "block=1024 shift=0.004".
 * Symmetric positive definite, also for a KRY_SINGULAR A. Keeps A. kry_op_update(M, NULL) factors
 * A's new values. Factors on the host. Waits.
 *
 * Cost     reads r and the factors, writes z. Factors with up to 16 diagonals carry no column
 *          indices, and those of equal blocks are kept once: docs/preconditioners.md
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED for other operators;
 *          KRY_ERR_SINGULAR for a zero in the diagonal (message: which row); KRY_ERR_ARGUMENT for
 *          parameters out of their range, and if the entries of a block are not symmetric or its
 *          diagonal is not positive (message: where).
 * Source   J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31 (1977). The shift:
 *          T. A. Manteuffel, Math. Comp. 34 (1980). The blocks: R. Gupta, C. Vuik,
 *          C. W. J. Lemmens, Deflated preconditioned conjugate gradient on the GPU.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ic_create(const kry_op *A,
                                                      const kry_block_ic_params *params,
                                                      kry_op **M);

/*
 * M := (L U)^-1, the incomplete LU factors without fill of A's diagonal blocks
 *
 * For nonsymmetric A; all else as above, with a pivot that is zero in place of one that is not
 * positive. Applies its transpose, too.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ilu_create(const kry_op *A,
                                                       const kry_block_ic_params *params,
                                                       kry_op **M);

#ifdef __cplusplus
}
#endif
#endif
