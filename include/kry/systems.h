/*
 * systems.h - many small systems at once: thousands of matrices with one pattern, of 1 to a few thousand rows each.
 *
 *   kry_systems_create(device, KRY_F64, n, row_ptr, col, NULL, &B);       n-by-n, nnz entries each
 *   kry_vec_create(device, KRY_F64, nnz, systems, &values);             column s: the numbers of matrix s
 *   kry_vec_create(device, KRY_F64, n, systems, &b);                    column s: its right-hand side; x likewise
 *   status = kry_systems_solve(B, values, b, x, NULL, &result);
 *
 * Each system is solved by the work-items of one work-group in one launch for all, in local memory where it fits there. One
 * device does this: teams (team.h) are refused with KRY_ERR_UNSUPPORTED. Several threads may solve at once, each with a solver
 * of its own, but only one with the method TRIDIAGONAL.
 */
#ifndef KRY_SYSTEMS_H
#define KRY_SYSTEMS_H

#include <kry/vec.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_systems kry_systems;

typedef enum kry_systems_method {
    KRY_SYSTEMS_AUTO, /* TRIDIAGONAL if the pattern is, else LU if it is dense or has up to 64 rows, else
                         BICGSTAB */
    KRY_SYSTEMS_CG,         /* conjugate gradients, for symmetric positive definite matrices */
    KRY_SYSTEMS_BICGSTAB,   /* for any */
    KRY_SYSTEMS_LU,         /* dense factors with partial pivoting, n^2 numbers of room each */
    KRY_SYSTEMS_TRIDIAGONAL /* by kry_tridiagonal_solve, with pivoting where that is needed */
} kry_systems_method;

typedef struct kry_systems_params {
    size_t struct_size;
    kry_systems_method method;
    double
        rtol; /* a system is solved if ||b - A x|| <= rtol ||b||. In (0, 1); default 1e-8, single 1e-4 */
    int64_t max_iter; /* of CG and BICGSTAB; default 4 n, but at least 100 */
    bool no_jacobi;   /* CG and BICGSTAB iterate without the inverse diagonal as preconditioner */
    bool guess;       /* CG and BICGSTAB begin with x; else with 0 */
} kry_systems_params;
#define KRY_SYSTEMS(...) KRY_PARAMS(kry_systems_params, __VA_ARGS__)

typedef enum kry_systems_verdict {
    KRY_SYSTEMS_SOLVED, /* the residual, computed from x, meets rtol */
    KRY_SYSTEMS_LIMIT,  /* max_iter was reached */
    KRY_SYSTEMS_BREAKDOWN, /* of CG: A or its diagonal is not positive definite; of BICGSTAB: its recurrence ended */
    KRY_SYSTEMS_STAGNATED, /* the residual fell no more: rtol is too small for the type, or A is nearly singular */
    KRY_SYSTEMS_SINGULAR, /* of LU and TRIDIAGONAL: no pivot is left, or A is so nearly singular that the residual misses rtol */
    KRY_SYSTEMS_NOT_FINITE /* a number of A, b or x is not finite, or the squares of b's are out of the type's range */
} kry_systems_verdict;

/* A few words for it; never NULL. */
KRY_API const char *kry_systems_verdict_text(kry_systems_verdict verdict);

/* How a system ended. */
typedef struct kry_systems_end {
    kry_systems_verdict verdict;
    int32_t iterations; /* 0 of direct methods */
    double residual;    /* ||b - A x|| / ||b||, computed from x; 0 where b = 0 */
} kry_systems_end;

typedef struct kry_systems_result {
    char why[400]; /* one sentence on all of them */
    kry_systems_method method;
    int64_t systems, solved;
    int64_t first; /* the first system that was not solved; -1: all were */
    int64_t most_iterations;
    double worst_residual; /* not finite if one is not */
    double seconds;
} kry_systems_result;

/*
 * Make a solver for systems whose matrices have one pattern
 *
 *   type     of all numbers
 *   n        rows of a matrix, 1 to 32768
 *   row_ptr  [n+1] on the host, copied: the entries of row i are number row_ptr[i] up to, but not including, row_ptr[i+1]. NULL:
 *            the matrices are dense, by rows
 *   col      [row_ptr[n]] on the host, copied: their columns, in any order; entries at one place are added up. With row_ptr
 *            NULL not read
 *   params   NULL: the defaults
 *   solver   [out]
 *
 * Storage  the pattern; kry_systems_solve keeps room for its next call
 * Returns  KRY_ERR_ARGUMENT (message: which entry) and KRY_ERR_SHAPE for what is no pattern; KRY_ERR_ARGUMENT for parameters out
 *          of their range, and TRIDIAGONAL for a pattern that is not; KRY_ERR_UNSUPPORTED on a team and for double
 *          on a device without it; KRY_ERR_MEMORY, KRY_ERR_DEVICE
 */
KRY_API KRY_MUST_CHECK kry_status kry_systems_create(kry_device *device, kry_type type, int64_t n,
                                                     const int64_t *row_ptr, const int32_t *col,
                                                     const kry_systems_params *params,
                                                     kry_systems **solver);
KRY_API void kry_systems_release(kry_systems **solver);
KRY_API int64_t kry_systems_entries(const kry_systems *solver); /* of a matrix; dense: n^2 */

/* kry_systems_solve for a `result` of as many bytes; kry.h says who calls it. */
KRY_API KRY_MUST_CHECK kry_status kry_systems_solve_sized(kry_systems *solver,
                                                          const kry_vec *values, const kry_vec *b,
                                                          kry_vec *x, kry_systems_end *each,
                                                          kry_systems_result *result,
                                                          size_t result_size);
/*
 * Solve A_s x_s = b_s for all systems s. Waits once, and twice more with `each`; TRIDIAGONAL also waits for its pivots.
 *
 *   values  [in]      entries-by-matrices: column s has the numbers of matrix s in the order of the pattern
 *   b       [in]      n-by-(m matrices), m right-hand sides for each matrix: columns s m ... s m + m - 1 are those of matrix s.
 *                     So one matrix for all is entries-by-1
 *   x       [in,out]  of the shape of b, no overlap with it: the solutions; with `guess` the guesses on entry
 *   each    [out]     as many as b has columns, on the host: how each ended. NULL: not wanted, and then a summary is all that is read
 *   result  [out]     may be NULL
 *
 * All of these may be views with gaps between the columns, and in the caller's buffers (kry_vec_wrap_block). Of a system
 * that was not solved x is what the method came to: the last iterate, 0 where LU and b where TRIDIAGONAL found no pivot.
 *
 * Cost     CG: a product an iteration, BICGSTAB two; LU 2/3 n^3 operations for each column of b. Where a matrix and 5 (BICGSTAB:
 *          8) vectors fit into local memory, numbers are read from memory once and x is written once, else the
 *          matrix, or all of them, is read in each iteration. LU fits with n (n + 2) numbers and 2 n integers, else it has
 *          scratch storage, of at most an eighth of the device's memory
 * Returns  KRY_OK if all systems were solved, else KRY_NOT_CONVERGED: result and message name the first that was not, and why.
 *          KRY_ERR_SHAPE, KRY_ERR_TYPE, KRY_ERR_ARGUMENT (NULL, overlap, two devices): x is unchanged.
 *          KRY_ERR_MEMORY, KRY_ERR_DEVICE
 * Source   H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631-644; G. H. Golub, C. F. Van Loan, Matrix Computations,
 *          4th ed. (2013), section 3.4 and algorithm 11.3.3
 */
KRY_MUST_CHECK static inline kry_status kry_systems_solve(kry_systems *solver,
                                                          const kry_vec *values, const kry_vec *b,
                                                          kry_vec *x, kry_systems_end *each,
                                                          kry_systems_result *result)
{
    return kry_systems_solve_sized(solver, values, b, x, each, result, sizeof *result);
}

#ifdef __cplusplus
}
#endif
#endif
