/* spectrum.h - the largest eigenvalue of D^-1 A, D the diagonal of A. */
#ifndef KRY_SPECTRUM_H
#define KRY_SPECTRUM_H

#include "operator/op.h"

enum { KRY_LANCZOS_STEPS = 12 }; /* they find the largest eigenvalue within a few per cent */

/* The symmetric tridiagonal matrix of Lanczos's method; off[k] couples unknowns k - 1 and k. */
typedef struct kryi_lanczos {
    int n;
    double diagonal[KRY_LANCZOS_STEPS], off[KRY_LANCZOS_STEPS];
} kryi_lanczos;
double kryi_lanczos_largest(const kryi_lanczos *T);  /* eigenvalue */
double kryi_lanczos_smallest(const kryi_lanczos *T); /* of a T that is not negative */

/*
 * A number that is at least as large: 2 for grid operators, whose rows are diagonally dominant
 * (Gershgorin's bound, and a sharp one); for others 1.1 times an estimate. Waits.
 *
 *   who     the public function, in messages
 *   jacobi  y = D^-1 x; NULL: it is made
 *
 * Cost     12 products
 * Returns  KRY_ERR_ARGUMENT if that shows that A is not positive definite
 * Source   conjugate gradients hold a matrix of Lanczos: Y. Saad, Iterative methods for sparse linear
 *          systems, 2nd ed. (2003), section 6.7.3
 */
kry_status kryi_spectrum_bound(const char *who, const kry_op *A, const kry_op *jacobi,
                               double *highest);

#endif
