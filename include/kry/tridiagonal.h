/*
 * tridiagonal.h - direct solution of many tridiagonal or pentadiagonal systems at once.
 *
 * The simplest use: system j is column j of n-by-k vectors,
 *
 *   kry_tridiagonal_solve(NULL, lower, diagonal, upper, b, x);
 *
 * One device does this: vectors of a team (team.h) are refused with KRY_ERR_UNSUPPORTED.
 * docs/in-programs.md describes the method and its cost.
 */
#ifndef KRY_TRIDIAGONAL_H
#define KRY_TRIDIAGONAL_H

#include <kry/vec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where equation i of system j lies in b and x, and in the diagonals if every system has a matrix of its
 * own. Vectors may be views whose columns lie apart (kry_vec_block), all of them equally far. */
typedef enum kry_systems_layout {
    KRY_SYSTEMS_COLUMNS, /* in row i, column j of n-by-systems vectors: one system after the other.
                              One matrix for all systems: diagonals are n-by-1 */
    KRY_SYSTEMS_INTERLEAVED /* in row j, column i of systems-by-n vectors: first the first equations of
                              all systems. One matrix for all: diagonals are 1-by-n or n-by-1 */
} kry_systems_layout;

/* Elimination without pivoting is safe if the diagonal dominates every row,
 * |diagonal| >= |lower| + |upper|, and for symmetric positive definite matrices. */
typedef enum kry_systems_pivoting {
    KRY_SYSTEMS_PIVOT_AUTO, /* first without pivoting. Systems with a row that the diagonal does not
                              dominate, or with a pivot of 0, are solved again with partial pivoting */
    KRY_SYSTEMS_PIVOT_NEVER, /* for systems that are known to need no pivoting. A pivot of 0 is an error */
    KRY_SYSTEMS_PIVOT_ALWAYS /* with partial pivoting, as LAPACK's gtsv: one work-item to a system */
} kry_systems_pivoting;

/* How many systems were solved in which way. Written whenever the arguments are accepted. */
typedef struct kry_systems_report {
    int64_t pivoted; /* systems solved with partial pivoting */
    int64_t
        singular;   /* systems not solved: they are singular or have a number that is not finite */
    int64_t system; /* the first of these; -1: all were solved */
    int64_t equation; /* its equation without a pivot, or with such a number; -1: all were solved */
} kry_systems_report;

typedef struct kry_tridiagonal_params {
    size_t struct_size;
    kry_systems_layout layout;     /* default KRY_SYSTEMS_COLUMNS */
    kry_systems_pivoting pivoting; /* default KRY_SYSTEMS_PIVOT_AUTO; not used by
                                    kry_pentadiagonal_solve, which always pivots */
    /* The unknowns form a ring: `lower` of equation 0 belongs to unknown n - 1, `upper` of equation
     * n - 1 to unknown 0; likewise for pentadiagonal systems. */
    bool periodic;
    /* Neither check nor wait: for systems that need no pivoting. The x of one that does need it is wrong
     * or not finite. `pivoting` and `report` are not used. Not for kry_pentadiagonal_solve. */
    bool unchecked;
    kry_systems_report *report; /* [out] NULL: not wanted */
    int chunk; /* GPUs: equations that a work-item keeps in registers, 8 or 16; default: what suits
                  the device. CPUs do not use it */
    /* Check, but do not wait: systems that need pivoting are solved again without a look from the host, and
     * kry_systems_check says later of all such calls together what `report` and the status would have said.
     * `report` must be NULL. Not with `unchecked`, and not for kry_pentadiagonal_solve. */
    bool later;
} kry_tridiagonal_params;
#define KRY_TRIDIAGONAL(...) KRY_PARAMS(kry_tridiagonal_params, __VA_ARGS__)

/*
 * Solve lower_i x_i-1 + diagonal_i x_i + upper_i x_i+1 = b_i,  i = 0 ... n - 1, for every system
 *
 *   params    NULL: the defaults
 *   lower     [in]   of the shape of b, or of one system (kry_systems_layout). The number of equation
 *                    0 is read only if `periodic` is set
 *   diagonal  [in]   likewise
 *   upper     [in]   likewise; the number of equation n - 1 is read only if `periodic` is set
 *   b         [in]   right-hand sides
 *   x         [out]  of the shape of b. May be b itself, else shares no number with it, nor with the
 *                    diagonals. The x of a system that cannot be solved stays as it was
 *
 * n and the number of systems may be anything, 0 included. Periodic with n = 1 means
 * (lower + diagonal + upper) x = b. Partial pivoting takes one work-item through all equations of a
 * system, so a long one takes its time on a GPU.
 *
 * Waits once, to learn which systems were solved, and once more if systems are solved again with
 * pivoting. `unchecked` and `later` do not wait.
 *
 * Cost     words read and written per unknown: 5 if a system fits into one work-group (GPUs: up to 2048
 *          equations in columns, fewer interleaved, see docs/in-programs.md; CPUs: most systems), a
 *          little more than 9 if it is cut into tiles or periodic, 13 with partial pivoting (periodic:
 *          17). Partial pivoting needs 4 words of scratch storage per unknown (periodic: 6), which stay
 *          with the device for the next call; with `later` always, but no more than 64 MB unless that is
 *          too little for one system: then some of those that need pivoting are solved after others
 * Returns  KRY_ERR_SINGULAR if a system is singular, KRY_ERR_ARGUMENT if a number that is used is not
 *          finite (the message names system and equation): all other systems are solved.
 *          KRY_ERR_ARGUMENT also for NULL, overlap, two devices, parameters out of range;
 *          KRY_ERR_SHAPE, KRY_ERR_TYPE, KRY_ERR_UNSUPPORTED on a team and for columns that are not
 *          equally far apart, KRY_ERR_MEMORY, KRY_ERR_DEVICE
 * Source   chunks: H. H. Wang, A parallel method for tridiagonal equations, ACM TOMS 7 (1981), as
 *          in E. Laszlo, M. Giles, J. Appleyard, Manycore algorithms for batch scalar and block
 *          tridiagonal solvers, ACM TOMS 42 (2016); the equations left of the chunks by parallel cyclic
 *          reduction: R. W. Hockney, C. R. Jesshope, Parallel computers (1981); many systems at once on
 *          a GPU: A. R. Brodtkorb, A MATLAB interface to the GPU (2007)
 * Since    0.1
 */
KRY_API KRY_MUST_CHECK kry_status kry_tridiagonal_solve(const kry_tridiagonal_params *params,
                                                        const kry_vec *lower,
                                                        const kry_vec *diagonal,
                                                        const kry_vec *upper, const kry_vec *b,
                                                        kry_vec *x);

/*
 * Say whether all calls with `later` since the last kry_systems_check of this device solved their systems
 *
 *   dev     [in]   device
 *   report  [out]  sums over these calls; `system` is the first that any of them could not solve, and `equation`
 *                  that of the last call that could not solve it. NULL: not wanted
 *
 * An x that depends on one that was not solved is wrong without being told here: ask as often as steps may be
 * lost. No call with `later` has to be asked for.
 *
 * Cost     waits for the device, unless there was no such call
 * Returns  KRY_ERR_SINGULAR, KRY_ERR_ARGUMENT as kry_tridiagonal_solve would have, with system and equation;
 *          KRY_ERR_ARGUMENT also for NULL; KRY_ERR_DEVICE
 * Since    0.1
 */
KRY_API KRY_MUST_CHECK kry_status kry_systems_check(kry_device *dev, kry_systems_report *report);

/*
 * Solve far_lower_i x_i-2 + lower_i x_i-1 + diagonal_i x_i + upper_i x_i+1 + far_upper_i x_i+2 = b_i
 *
 *   far_lower, far_upper  [in]  as lower and upper; numbers of unknowns before the first or behind the
 *                               last are read only if `periodic` is set
 *   otherwise             as kry_tridiagonal_solve
 *
 * Always with partial pivoting, one work-item to a system: for many systems rather than long ones.
 * Periodic with n < 5: numbers that belong to the same unknown are added. Waits.
 *
 * Cost     19 words per unknown (periodic: 27), and 6 of scratch storage (periodic: 10)
 * Returns  as kry_tridiagonal_solve; KRY_ERR_ARGUMENT for `unchecked` and `later`
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
