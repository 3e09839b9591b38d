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

#ifdef __cplusplus
}
#endif
#endif
