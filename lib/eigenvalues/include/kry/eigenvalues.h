/*
 * eigenvalues.h - the smallest or largest eigenvalues of a symmetric matrix, and their vectors: the library kry-eigenvalues.
 *
 *     kry_precond_create(A, "amg", &M);
 *     kry_vec_create(device, KRY_F64, n, 6, &X);
 *     status = kry_eigen(A, KRY_EIGEN(.precond = M), X, &result);
 *     result.value[0] ...                              the six smallest; column j of X goes with value[j]
 */
#ifndef KRY_EIGENVALUES_H
#define KRY_EIGENVALUES_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KRY_EIGEN_MOST = 64 }; /* eigenvalues in one call */

typedef struct kry_eigen_step {
    int64_t iteration;
    int64_t converged; /* of those asked for */
    /* The largest ||A x - lambda B x|| / ((||A|| + |lambda| ||B||) ||x||) of those asked for. */
    double residual;
    double value; /* of the pair that it is the residual of */
} kry_eigen_step;

/* Called on the calling thread once an iteration. Return 0 to go on, anything else to stop with KRY_STOPPED. */
typedef int (*kry_eigen_monitor)(void *user, const kry_eigen_step *step);

typedef struct kry_eigen_params {
    size_t struct_size;
    const kry_op *B; /* symmetric positive definite; NULL: the identity */
    const kry_op *
        precond; /* symmetric positive definite, about the inverse of A, or of A - s B with s below the smallest
                              eigenvalue; NULL: none */
    /* n-by-q, q <= 64: x is sought among the vectors with x'B y = 0 for these y, which may be known eigenvectors, or the
     * constant vector of a Laplacian; NULL: none */
    const kry_vec *constraints;
    bool largest; /* the largest eigenvalues, the largest first; else the smallest */
    bool guess;   /* X holds vectors to begin with; else random ones */
    double rtol;  /* default 1e-9 (double), 1e-5 (single); not below the unit roundoff, below 1 */
    int64_t max_iter; /* default 1000 */
    int block; /* vectors that are iterated, at least as many as are asked for, up to 80: more iterate in fewer steps. Default: a
                  quarter more, and one */
    uint64_t seed;             /* of random vectors; default 1 */
    kry_eigen_monitor monitor; /* NULL: none */
    void *monitor_user;        /* borrowed */
    /* "lobpcg" or "lanczos", which takes neither `precond` nor `block`; NULL: lanczos with `nearest`, else lobpcg */
    const char *method;
    /* Lanczos finds the eigenvalues nearest sigma, the nearest first, by products with (A - sigma B)^-1 */
    bool nearest;
    double sigma;
    /* (A - sigma B)^-1 in about the accuracy of the type, a solver for example; borrowed. NULL: A, and B, have entries, and kry
     * factors A - sigma B on the host (method=direct), or, if sigma is an eigenvalue to all digits, with a sigma beside it */
    const kry_op *inverse;
    int basis; /* of lanczos: vectors of the Krylov space, from two more than X has to 200. Default: 40, or twice X's and 8 */
} kry_eigen_params;
#define KRY_EIGEN(...) KRY_PARAMS(kry_eigen_params, __VA_ARGS__)

typedef struct kry_eigen_result {
    char why[400]; /* one sentence on how it ended */
    int64_t iterations;
    int64_t converged; /* of those asked for */
    int64_t
        restarts; /* times the method began anew from its vectors, without the directions before */
    int64_t products;      /* columns that A was multiplied with */
    double norm_A, norm_B; /* 2-norms, estimated from below by eight products; without B 1 */
    double seconds;
    double value
        [KRY_EIGEN_MOST]; /* ascending; with `largest` descending, with `nearest` by their distance from sigma */
    double residual
        [KRY_EIGEN_MOST]; /* ||A x - lambda B x|| / ((||A|| + |lambda| ||B||) ||x||), computed from that x */
} kry_eigen_result;

/* kry_eigen for a `result` of as many bytes; kry.h says who calls it. */
KRY_API KRY_MUST_CHECK kry_status kry_eigen_sized(const kry_op *A, const kry_eigen_params *params,
                                                  kry_vec *X, kry_eigen_result *result,
                                                  size_t result_size);

/*
 * Find A x = lambda B x for the smallest or largest lambda, or those nearest a number, by LOBPCG or Lanczos. Waits.
 *
 *   A       symmetric, definite or not, n-by-n; any operator on one device
 *   params  NULL: the defaults
 *   X       [out]  n-by-k, k from 1 to 64: the eigenvectors, X'B X = I; [in,out] with `guess`
 *   result  [out]  may be NULL
 *
 * LOBPCG: X, A X, B X and the directions that lead from one iterate to the next are kept side by side in one space, in which the small
 * eigenproblem is solved on the host; its basis is orthonormal, and directions that depend on others are left out. Vectors
 * that have converged stay in the space but get no new direction. Residuals are computed anew from X before a success is
 * told.
 *
 * Lanczos: an orthonormal basis of a Krylov space grows to `basis` vectors, and begins anew from the best half: that is an
 * iteration. Where all wanted pairs have converged it looks for others beside them, as multiple eigenvalues want. With B and
 * without `nearest` kry factors B. It suits ends of a spectrum that lie apart, and by `nearest` small eigenvalues and those
 * inside.
 *
 * Storage  LOBPCG: 8 vectors for each of `block`, 11 with B. Lanczos: twice `basis`, 3 times with B, the columns of X, and factors
 * Returns  KRY_OK if all k residuals meet rtol; KRY_NOT_CONVERGED at max_iter; KRY_STAGNATED if residuals fall no more, as
 *          with an rtol too small for the type; KRY_STOPPED; KRY_BREAKDOWN if B is not positive definite or a number is not
 *          finite: result and X are those of the last iterate.
 *          KRY_ERR_SINGULAR for a B of which there are no factors; KRY_ERR_SHAPE, KRY_ERR_TYPE; KRY_ERR_ARGUMENT for parameters out of their range, more than n vectors less the
 *          constraints, or operators of several devices; KRY_ERR_UNSUPPORTED for an A that is not symmetric (message: by
 *          how much), what the method does not take, and on a team of devices; KRY_ERR_MEMORY. X is then undefined.
 * Source   A. V. Knyazev, Toward the optimal preconditioned eigensolver, SIAM J. Sci. Comput. 23 (2001), 517-541; J. A. Duersch,
 *          M. Shao, C. Yang, M. Gu, A robust and efficient implementation of LOBPCG, SIAM J. Sci. Comput. 40 (2018),
 *          C655-C676, doi:10.1137/17M1129830; K. Wu, H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue
 *          problems, SIAM J. Matrix Anal. Appl. 22 (2000), 602-616, doi:10.1137/S0895479898334605
 */
KRY_MUST_CHECK static inline kry_status kry_eigen(const kry_op *A, const kry_eigen_params *params,
                                                  kry_vec *X, kry_eigen_result *result)
{
    return kry_eigen_sized(A, params, X, result, sizeof *result);
}

#ifdef __cplusplus
}
#endif
#endif
