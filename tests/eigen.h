/* eigen.h - eigenvalues and eigenvectors of dense symmetric matrices on the host. */
#ifndef KRY_TEST_EIGEN_H
#define KRY_TEST_EIGEN_H

#include <math.h>

/* Cyclic Jacobi: a symmetric A becomes diagonal, and its eigenvectors are the columns of Q. */
static void diagonalise(int n, double *A, double *Q)
{
    for (int i = 0; i < n * n; i++) Q[i] = i / n == i % n;
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                const double off = A[p * n + q];
                if (fabs(off) < 1e-18 * (fabs(A[p * n + p]) + fabs(A[q * n + q]))) continue;
                const double angle = 0.5 * atan2(2 * off, A[q * n + q] - A[p * n + p]);
                const double c = cos(angle), s = sin(angle);
                for (int k = 0; k < n; k++) {
                    const double a = A[k * n + p], b = A[k * n + q];
                    A[k * n + p] = c * a - s * b, A[k * n + q] = s * a + c * b;
                    const double u = Q[k * n + p], v = Q[k * n + q];
                    Q[k * n + p] = c * u - s * v, Q[k * n + q] = s * u + c * v;
                }
                for (int k = 0; k < n; k++) {
                    const double a = A[p * n + k], b = A[q * n + k];
                    A[p * n + k] = c * a - s * b, A[q * n + k] = s * a + c * b;
                }
            }
}

#endif
