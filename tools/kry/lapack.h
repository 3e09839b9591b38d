/*
 * lapack.h - the host's own dense algebra, to be compared with: whatever LAPACK the system has,
 * found when the program runs. (Debian's alternatives make it OpenBLAS where that is installed.)
 */
#ifndef KRY_LAPACK_H
#define KRY_LAPACK_H

#include <kry/kry.h>

typedef struct lapack lapack;

/* Returns  KRY_ERR_UNSUPPORTED if the system has none. */
kry_status lapack_open(lapack **l);
void lapack_close(lapack **l);
const char *lapack_name(const lapack *l); /* what it says of itself, or its file */

/* Leave so many cores to others from now on, where the library can be told: threads that wait for each
 * other at every step are as slow as the one that shares its core. */
void lapack_spare_cores(const lapack *l, int count);

/* Column major, leading dimensions n; of the type given, floats or doubles. */
void lapack_gemm(const lapack *l, kry_type type, int n, const void *A, const void *B, void *C);
/* A := its factors; pivots: n. Returns  LAPACK's info: 0, or the column of a zero pivot. */
int lapack_getrf(const lapack *l, kry_type type, int n, void *A, int *pivots);
/* b := the solution of A x = b, by getrf and getrs; A := its factors, pivots: n. Returns  as getrf. */
int lapack_solve(const lapack *l, kry_type type, int n, void *A, int *pivots, void *b);
/* A := its inverse, by getrf and getri. */
kry_status lapack_inverse(const lapack *l, kry_type type, int n, void *A);
/* One tridiagonal system; all four arrays are written over, x into b. */
int lapack_gtsv(const lapack *l, kry_type type, int n, void *lower, void *diagonal, void *upper,
                void *b);

#endif
