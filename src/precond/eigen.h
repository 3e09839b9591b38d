/* eigen.h - eigenvalues and eigenvectors of small symmetric matrices, on the host. */
#ifndef KRY_EIGEN_H
#define KRY_EIGEN_H

#include "base/base.h"

/*
 * Q A Q' = diag(values): all eigenvalues in ascending order, and row i of Q a vector of length 1 to values[i]
 *
 *   n       > 0
 *   A       [in,out]  n-by-n, row after row, symmetric; overwritten
 *   Q       [out]     n-by-n, row after row
 *   values  [out]     n
 *   room    3 n numbers
 *
 * Returns  whether they were found: no number is infinite or NaN
 * Cost     9 n^3
 * Source   G. H. Golub, C. F. Van Loan, Matrix computations, 4th ed. (2013), algorithms 8.3.1 and 8.3.3
 */
bool kryi_eigen_symmetric(int n, double *A, double *Q, double *values, double *room);

#endif
