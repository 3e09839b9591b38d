/*
 * classical.h - classical coarsening for algebraic multigrid: some of the unknowns stay, C
 * points, and the others, F points, are interpolated from them. docs/multigrid.md has the settings.
 *
 * Matrices are square, symmetric and with a positive diagonal. Everything is linear in the entries and gives the
 * same bits in every run and, as far as sums are in double, on every device.
 */
#ifndef KRY_CLASSICAL_H
#define KRY_CLASSICAL_H

#include "matrix/device_csr.h"

/* ---- splitting.c: strong couplings, C points and F points ----------------------------------- */

enum {
    KRY_INTERPOLATE_MOST = 4,   /* entries of a row */
    KRY_INTERPOLATE_LONG = 512, /* rows of A that are longer count as their entry a_ki alone */
};

/* Rows of a matrix. */
typedef struct kryi_row_list {
    cl_int rows;
    cl_mem todo; /* rows int */
} kryi_row_list;

/* What does not change with the numbers of a matrix. */
typedef struct kryi_splitting {
    kry_device *dev; /* borrowed; NULL: there is none */
    int64_t coarse;  /* C points */
    int64_t near;    /* entries of S in columns of C points and rows of others, not too long */
    cl_mem strong;   /* nnz / 32 + n uint: which entries are in S (cl/amg/strong.clh) */
    cl_mem number;   /* n int: of C points on the coarser level, -1: F points, -2: alone */
    cl_mem near_ptr; /* n + 1 int: offsets of such entries */
    int count;       /* of lists: */
    kryi_row_list lists[13]; /* rows with too many C points for tables of 32, 128, 512 ... slots */
} kryi_splitting;

/*
 * Strong couplings: j is one of row i if -a_ij >= theta max_k -a_ik > 0. Positive couplings are weak. Rows whose
 * couplings together are below a tenth of the diagonal are solved by relaxation alone: they have no strong
 * coupling, nor has another one to them. They need not be strong in both directions.
 *
 * Points, by a parallel modified independent set: the more unknowns depend on one the sooner it becomes a C point,
 * ties are broken by a hash of its number; what depends on a C point becomes an F point. Two unknowns that depend on
 * each other are never both C points. An F point may have no C point among those that it depends on, but then
 * one of these has. Waits.
 *
 *   A      symmetric to the bit
 *   theta  0 ... 1; below: all negative couplings are strong
 *
 * Source  J. W. Ruge, K. Stueben, Algebraic multigrid, in: Multigrid methods (1987), 73-130;
 *         doi:10.1137/1.9781611971057.ch4
 *         H. De Sterck, U. M. Yang, J. J. Heys, SIAM J. Matrix Anal. Appl. 27 (2006), 1019-1039;
 *         doi:10.1137/040615729
 */
kry_status kryi_splitting_create(const kryi_device_csr *A, double theta, kryi_splitting *s);
void kryi_splitting_release(kryi_splitting *s);
void kryi_splitting_forget_lists(kryi_splitting *s);
/* The sums of the positive couplings of A and of the negative ones, less their sign. Waits. */
kry_status kryi_splitting_signs(const kryi_device_csr *A, double *positive, double *negative);

/* ---- classical.c: interpolation ------------------------------------------------------------- */

/*
 * P := the interpolation from C points, numbered in the order in which they come, to all points: the
 * identity at C points, "extended+i" at F points, empty rows for those that are alone; cl/amg/interpolation.cl has the
 * formulas. Of a row only the KRY_INTERPOLATE_MOST largest weights stay, of these none below 0.15 of the largest one,
 * and they are scaled so that the row keeps its sum. Where a row of A sums up to zero so do the weights to one.
 *
 * Cost    besides P at most as much memory as A takes, or 64 MB. Waits; `again`, which keeps the pattern
 *         that P has, does not
 * Source  R. Li, B. Sjogreen, U. M. Yang, SIAM J. Sci. Comput. 43 (2021), S540-S564, MM-ext+i;
 *         doi:10.1137/20M134931X; after H. De Sterck, R. D. Falgout, J. W. Nolting, U. M. Yang, Numer. Linear
 *         Algebra Appl. 15 (2008), 115-139, section 4.5; doi:10.1002/nla.559
 */
kry_status kryi_splitting_interpolate(const kryi_device_csr *A, kryi_splitting *s,
                                      kryi_device_csr *P);
kry_status kryi_splitting_interpolate_again(const kryi_device_csr *A, const kryi_splitting *s,
                                            kryi_device_csr *P);

#endif
