/*
 * amg.h - algebraic multigrid: how a level is coarsened, and the steps of smoothed aggregation. docs/multigrid.md has
 * the settings.
 *
 * Matrices are in double, square, symmetric to the bit and with a positive diagonal, unless said
 * otherwise. Levels by kryi_air_coarsening need not be symmetric, and have a diagonal without zeros. A function fails only with
 * KRY_ERR_MEMORY, unless it says more. What is made is the caller's to release, and nothing if a function fails.
 */
#ifndef KRY_AMG_H
#define KRY_AMG_H

#include "matrix/device_csr.h"
#include "precond/spectrum.h"

/* ---- how a level is coarsened ---------------------------------------------------------------- */

/* What the levels have in common, and what is handed from one to the next. */
typedef struct kryi_coarsen {
    const char *who; /* public function, in messages */
    kry_device *dev; /* that makes the level; borrowed */
    int level;       /* 0: the finest */
    double strength; /* as in kry_amg_params, never 0 once a coarsener is asked */
    int block;       /* unknowns of a node, numbered one after the other; n is a multiple of it */
    int vectors;     /* m */
    /* n-by-m, row by row, on dev, owned; aggregation replaces it by that of the coarser level. NULL: ones, and m = 1 */
    cl_mem near_null_space;
} kryi_coarsen;

/* A coarsener is for matrices each of whose rows has its positive diagonal entry. It launches kernels on the device that
 * the matrix is on, and finds the same on every device. */
typedef struct kryi_coarsener {
    const char *name;
    /*
     * P := a prolongation to A's rows from fewer unknowns. Without a column it has no buffers, and nothing is kept:
     * nothing is left to be coarsened. Waits.
     *
     *   c     [in,out]  block and near_null_space become those of the coarser level
     *   R     [out]     the restriction; without buffers: P'
     *   kept  [out]     what update needs
     */
    kry_status (*create)(kryi_coarsen *c, const kryi_device_csr *A, kryi_device_csr *P,
                         kryi_device_csr *R, void **kept);
    /* A has new numbers at the same places: P, and an R of its own := what they make of it. Both come with their pattern and room
     * for their numbers. */
    kry_status (*update)(const kryi_device_csr *A, void *kept, kryi_device_csr *P,
                         kryi_device_csr *R);
    void (*destroy)(void *kept); /* takes NULL */
} kryi_coarsener;

extern const kryi_coarsener kryi_smoothed_aggregation; /* smoothed.c */
extern const kryi_coarsener kryi_classical_coarsening; /* classical.c; scalar problems */
extern const kryi_coarsener kryi_air_coarsening; /* air.c; matrices that need not be symmetric */

/* ---- amg_start.c: what the rows of a matrix look like ----------------------------------------- */

/* The sums of |a_ij| over positive and over negative couplings i != j. */
typedef struct kryi_coupling_sums {
    double positive, negative;
} kryi_coupling_sums;
kryi_coupling_sums kryi_amg_couplings(const kryi_csr *A);

/* p'Ap is nothing but rounding where it is less than that of p'Dp, D the diagonal of A. */
static inline double kryi_coarser_rounding(kry_type type) { return type == KRY_F32 ? 2e-7 : 1e-13; }

/* What the rows of a matrix look like. Rows without a positive diagonal entry do not count. Numbers are rounded to
 * single. */
typedef struct kryi_row_look {
    double
        bound; /* the largest sum of |a_ij| / a_ii over a row: no eigenvalue of D^-1 A is larger */
    double least, most; /* diagonal entry */
} kryi_row_look;
kryi_row_look kryi_look_at_rows(const kryi_csr *A);
/* Whether a cycle in single does as well as one in double: the diagonal does not spread too far, and is well inside of
 * what single can hold. */
bool kryi_suits_single(const kryi_row_look *look);
/* The latter alone, which it needs to work. */
bool kryi_fits_single(const kryi_row_look *look);
/* What a smoother takes for the largest eigenvalue of D^-1 A on the finest level, given that bound; 0: it may be
 * far above, and an estimate is better. Where no row is more than weakly dominant it is 2, which grids come
 * close to; on coarser levels the eigenvalue is less, and the estimate saves iterations. */
static inline double kryi_highest_of(double bound) { return bound <= 2.00001 ? bound : 0; }

/* ---- rounded.c ------------------------------------------------------------------------------- */

/* The operator of `host`, which is in double. keep: of what type its vectors are, and whether it keeps numbers in double
 * as singles, unless one is too large or too small for that. Rows of symmetric matrices add up to what they did. */
kry_status kryi_rounded_operator(kry_device *dev, kryi_keep keep, const kryi_csr *host,
                                 unsigned traits, kry_op **op);
/* host: its pattern with new numbers. */
kry_status kryi_rounded_set_numbers(kry_op *op, const kryi_csr *host);

/* ---- aggregate.c: strong couplings, aggregates ------------------------------------------------ */

/* Nodes in aggregates. */
typedef struct kryi_aggregates {
    kryi_device_csr G; /* the graph of nodes */
    cl_mem of_node;    /* an int for each; -1: in none */
    int64_t count;
} kryi_aggregates;
void kryi_aggregates_release(kryi_aggregates *g);

/*
 * G := the strong couplings of A, and the diagonal, with the numbers of A and their places there: entries that are not zero,
 * |a_ij|^2 >= theta^2 a_ii a_jj. theta <= 0: all couplings. Where all are strong G shares A's buffers, and has no places.
 * Waits.
 *
 *   squared  A has the squared Frobenius norms of the blocks of nodes
 *   d        the diagonal of A
 *
 * Source  P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), 179-196, (10); doi:10.1007/BF02238511
 */
kry_status kryi_strength(const kryi_device_csr *A, bool squared, cl_mem d, double theta,
                         kryi_device_csr *G);

/*
 * Part the nodes of the symmetric graph g->G into aggregates; nodes without a coupling are in none. A maximal set of roots no
 * two of which are nearer than three edges, each with its neighbours; the same among what is left, where a root has two
 * neighbours; and the rest goes to the neighbours to which its couplings are strongest. Roots have the largest priority, a
 * hash of their number, within two edges. Waits.
 *
 *   squared  the numbers of g->G are squares
 *   large    what is left makes aggregates only where half of a root's neighbours are left
 *
 * Source  N. Bell, S. Dalton, L. N. Olson, SIAM J. Sci. Comput. 34 (2012), C123-C152, algorithms 4
 *         to 6; doi:10.1137/110838844
 */
kry_status kryi_aggregate(bool squared, bool large, kryi_aggregates *g);

/* Small aggregates make coarse matrices of more entries, in space by half. They save an iteration with several
 * vectors, and on the coarse levels, where there are few entries. */
static inline bool kryi_aggregates_large(const kryi_coarsen *c)
{
    return c->vectors == 1 && c->level < 2;
}

/* ---- smoothed.c ------------------------------------------------------------------------------ */

/* g := the aggregates of A's nodes by the couplings that are strong on c's level, or by all if there are too few of those;
 * none if they would be hardly fewer than the nodes. *theta: by which they were found. Waits. */
kry_status kryi_find_aggregates(const kryi_coarsen *c, const kryi_device_csr *A, double *theta,
                                kryi_aggregates *g);
/* F := the pattern of A's entries that are strong, or within a node, and their places in A; place NULL: all of A's. */
kry_status kryi_strong_entries(const kryi_device_csr *A, int block, double theta,
                               const kryi_aggregates *g, kryi_device_csr *F);

/*
 * T with T'T = I and the coarse near null space C with T C = B, by a QR factorisation of each
 * aggregate's rows of B. A single vector is left as it is: C is all ones, so that a matrix whose rows add up to
 * zero has coarse ones that do. Waits.
 *
 *   block  unknowns of a node
 *   whole  T has entries in whole blocks, zeros among them
 *   B      n-by-m, row by row
 *   T      [out]  n-by-(m count): the columns of aggregate a are m a ... m a + m - 1. A column that depends
 *                 on those before it is zero, and has one entry, a zero. Rows of nodes that are in no
 *                 aggregate are empty
 *   C      [out]  (m count)-by-m, row by row
 */
kry_status kryi_tentative(const kryi_aggregates *g, int block, int m, bool whole, cl_mem B,
                          kryi_device_csr *T, cl_mem *C);

/* ---- rho.c ----------------------------------------------------------------------------------- */

/* What 12 steps of Lanczos' method leave, from a start that is always the same: its eigenvalues approach those of
 * D^-1 A. d: positive. Waits. */
kry_status kryi_amg_lanczos(const kryi_device_csr *A, cl_mem d, kryi_lanczos *T);
/* *rho := 1.05 times the estimate of the largest eigenvalue; rounded to 20 binary digits, so that the order of sums does
 * not matter, and all devices find the same number. Waits. */
kry_status kryi_amg_rho(const kryi_device_csr *A, cl_mem d, double *rho);

#endif
