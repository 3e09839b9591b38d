/*
 * tridiagonal.h - many tridiagonal or pentadiagonal systems at once, directly.
 *
 * The simplest use: column j of n-by-k blocks is system j,
 *
 *   kry_tridiagonal_solve(NULL, lower, diagonal, upper, b, x);
 *
 * All of this is for one device: vectors of a team (team.h) are refused with KRY_ERR_UNSUPPORTED.
 * docs/tridiagonal.md says how it is done and what it costs.
 */
#ifndef KRY_TRIDIAGONAL_H
#define KRY_TRIDIAGONAL_H

#include <kry/vec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where equation i of system j lies in b and x, and in each diagonal if every system has a matrix
 * of its own. A diagonal that holds one system only is that of all of them. */
typedef enum kry_systems_layout {
    KRY_SYSTEMS_COLUMNS, /* row i, column j of n-by-systems blocks: systems one behind the other.
                              One matrix for all: diagonals are n-by-1 */
    KRY_SYSTEMS_INTERLEAVED, /* row j, column i of systems-by-n blocks: first all first equations. One
                              matrix for all: diagonals are 1-by-n or n-by-1 */
    KRY_SYSTEMS_STRIDED      /* number i * equation_stride + j * system_stride of a vector of any
                              shape. One matrix for all: `one_matrix`, and n numbers in a row */
} kry_systems_layout;

/* Elimination without pivoting is safe where the diagonal dominates in every row,
 * |diagonal| >= |lower| + |upper|, and for symmetric positive definite systems. */
typedef enum kry_systems_pivoting {
    KRY_SYSTEMS_PIVOT_AUTO, /* without; systems with a row that is not dominated, or where that breaks
                             down, are solved again with partial pivoting */
    KRY_SYSTEMS_PIVOT_NEVER, /* without: for systems of which the caller knows that they need none. A
                              pivot that is zero is an error */
    KRY_SYSTEMS_PIVOT_ALWAYS /* with partial pivoting, as LAPACK's gtsv: a work-item to a system */
} kry_systems_pivoting;

/* What was found; filled in once the arguments are accepted, whether or not systems are solved. */
typedef struct kry_systems_report {
    int64_t pivoted;  /* systems that were solved with partial pivoting */
    int64_t singular; /* systems that were not: singular, or with a number that is not finite */
    int64_t system;   /* the first of these, and the equation where it shows; -1: there is none */
    int64_t equation;
} kry_systems_report;

typedef struct kry_tridiagonal_params {
    size_t struct_size;
    kry_systems_layout layout;     /* default KRY_SYSTEMS_COLUMNS */
    kry_systems_pivoting pivoting; /* default KRY_SYSTEMS_PIVOT_AUTO; kry_pentadiagonal_solve pivots
                                    whatever stands here */
    bool periodic;  /* equation 0 has `lower` times the last unknown, the last one `upper` times the
                       first; two beyond the ends of pentadiagonal ones likewise */
    bool unchecked; /* do not wait and do not look: for systems that need no pivoting. A system that
                       breaks down has numbers in x that are not finite, or are wrong. `pivoting`
                       and `report` are not used. Not for kry_pentadiagonal_solve */
    kry_systems_report *report; /* [out] NULL: not wanted */
    /* KRY_SYSTEMS_STRIDED: all in elements; otherwise 0. No two numbers of x may share a place: one
     * stride reaches over all that is done with the other */
    int64_t n, systems;
    int64_t equation_stride, system_stride;
    bool one_matrix;
    int chunk; /* GPUs: equations that a work-item holds in registers, 8 or 16; default: what suits
                  the device. CPUs: not used */
} kry_tridiagonal_params;
#define KRY_TRIDIAGONAL(...) \
    (&(kry_tridiagonal_params){ .struct_size = sizeof(kry_tridiagonal_params), __VA_ARGS__ })

/*
 * lower_i x_i-1 + diagonal_i x_i + upper_i x_i+1 = b_i,  i = 0 ... n - 1, for every system
 *
 *   params    NULL: the defaults
 *   lower     [in]   as b, or of one system (kry_systems_layout); number 0 of a system is read only
 *                    if periodic
 *   diagonal  [in]   likewise
 *   upper     [in]   likewise; number n - 1 of a system is read only if periodic
 *   b         [in]   right-hand sides
 *   x         [out]  as b; may be b itself, but share no numbers with it otherwise, nor with the
 *                    diagonals. Systems that are not solved keep what is there
 *
 * Any n and any number of systems, 0 too: many short ones, a few long ones, one of 10^7 equations.
 * Periodic with n = 1: (lower + diagonal + upper) x = b. With partial pivoting a system is solved
 * by one work-item, from its first equation to its last: a long one takes its time on a GPU.
 *
 * Waits once, for whether all went well; again where systems are to be solved with pivoting.
 * `unchecked` does not wait.
 *
 * Cost     5 words an unknown where a system fits on the chip: on GPUs, up to 2048 equations in
 *          columns, fewer where systems are interleaved (docs/tridiagonal.md), on CPUs most.
 *          Longer ones and periodic ones 9 and a little. Partial pivoting 13 (17 if periodic), and
 *          scratch storage of 4 (6). Scratch storage is kept with the device for the next call
 * Returns  KRY_ERR_SINGULAR if a system is singular (message: which one, at which equation); the
 *          others are solved. KRY_ERR_ARGUMENT for a number in use that is not finite (message:
 *          which one); the other systems are solved. KRY_ERR_ARGUMENT for NULL, overlap, two
 *          devices, parameters out of their range; KRY_ERR_SHAPE, KRY_ERR_TYPE,
 *          KRY_ERR_UNSUPPORTED on a team, KRY_ERR_MEMORY, KRY_ERR_DEVICE
 * Source   chunks: H. H. Wang, A parallel method for tridiagonal equations, ACM TOMS 7 (1981), as
 *          in E. Laszlo, M. Giles, J. Appleyard, Manycore algorithms for batch scalar and block
 *          tridiagonal solvers, ACM TOMS 42 (2016); what is left of them by parallel cyclic
 *          reduction: R. W. Hockney, C. R. Jesshope, Parallel computers (1981); many at once on a
 *          GPU: A. R. Brodtkorb, A MATLAB interface to the GPU (2007)
 * Since    0.1
 */
KRY_API KRY_MUST_CHECK kry_status kry_tridiagonal_solve(const kry_tridiagonal_params *params,
                                                        const kry_vec *lower,
                                                        const kry_vec *diagonal,
                                                        const kry_vec *upper, const kry_vec *b,
                                                        kry_vec *x);

/*
 * Bytes that kry_tridiagonal_solve of the same arguments moves, by the model of docs/tridiagonal.md,
 * if no system has to be solved again with pivoting
 *
 *   bytes   [out]
 *
 * Returns  what is wrong with the arguments.
 */
KRY_API KRY_MUST_CHECK kry_status kry_tridiagonal_bytes(const kry_tridiagonal_params *params,
                                                        const kry_vec *lower,
                                                        const kry_vec *diagonal,
                                                        const kry_vec *upper, const kry_vec *b,
                                                        const kry_vec *x, double *bytes);

/*
 * far_lower_i x_i-2 + lower_i x_i-1 + diagonal_i x_i + upper_i x_i+1 + far_upper_i x_i+2 = b_i
 *
 *   far_lower, far_upper  [in]  as lower and upper; what would reach beyond the ends is read only
 *                               if periodic
 *   otherwise             as kry_tridiagonal_solve
 *
 * With partial pivoting always, a work-item for each system: for many systems rather than long
 * ones. Periodic: numbers that meet on one unknown because n < 5 are added. Waits.
 *
 * Cost     19 words an unknown, 27 if periodic; scratch storage of 6 (10)
 * Returns  as kry_tridiagonal_solve; KRY_ERR_ARGUMENT for `unchecked`
 * Source   G. H. Golub, C. F. Van Loan, Matrix computations, 4th ed. (2013), section 4.3
 * Since    0.1
 */
KRY_API KRY_MUST_CHECK kry_status
kry_pentadiagonal_solve(const kry_tridiagonal_params *params, const kry_vec *far_lower,
                        const kry_vec *lower, const kry_vec *diagonal, const kry_vec *upper,
                        const kry_vec *far_upper, const kry_vec *b, kry_vec *x);

#ifdef __cplusplus
}
#endif
#endif
