/*
 * dense_energy.h - eigenvalues of dense matrices on the host, and coordinates in which the energy norm, x'A x, is
 * the length.
 */
#ifndef KRY_DENSE_ENERGY_H
#define KRY_DENSE_ENERGY_H

#include "dense_cycle.h"
#include "eigen.h"

/* ---- dense matrices: n-by-n unless said otherwise --------------------------------------------- */

/* The largest eigenvalue of a symmetric X. */
static double largest(int n, const double *X)
{
    double *A = dense_zeros(n, n), *Q = dense_zeros(n, n), most = -INFINITY;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A[i * n + j] = (X[i * n + j] + X[j * n + i]) / 2;
    diagonalise(n, A, Q);
    for (int i = 0; i < n; i++) most = fmax(most, A[i * n + i]);
    free(A), free(Q);
    return most;
}

/* X := L^-1 X, L a lower triangle. */
static void solve_lower(int n, const double *L, double *X)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < i; k++) X[i * n + j] -= L[i * n + k] * X[k * n + j];
            X[i * n + j] /= L[i * n + i];
        }
}

static void transpose(int n, double *X)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double t = X[i * n + j];
            X[i * n + j] = X[j * n + i], X[j * n + i] = t;
        }
}

/* The largest x'N x / x'W x, for a positive definite W. */
static double largest_ratio(int n, const double *N, const double *W)
{
    double *L = dense_zeros(n, n), *X = dense_zeros(n, n);

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = W[i * n + j];
            for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            assert_true(i != j || sum > 0);
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    memcpy(X, N, (size_t)(n * n) * sizeof *X);
    solve_lower(n, L, X);
    transpose(n, X);
    solve_lower(n, L, X);
    const double most = largest(n, X);
    free(L), free(X);
    return most;
}

/* ---- coordinates in which the energy norm is the length ---------------------------------------- */

typedef struct energy {
    int n, k;          /* k: without what A maps to zero */
    double *to, *from; /* k-by-n, n-by-k */
} energy;

static energy energy_of(const dense_level *L)
{
    const int n = L->n;
    energy e = { .n = n, .to = dense_zeros(n, n), .from = dense_zeros(n, n) };
    double *A = dense_zeros(n, n), *Q = dense_zeros(n, n), most = 0;

    memcpy(A, L->A, (size_t)(n * n) * sizeof *A);
    diagonalise(n, A, Q);
    for (int i = 0; i < n; i++) most = fmax(most, A[i * n + i]);
    e.k = L->singular ? n - 1 : n;
    for (int i = 0, at = 0; i < n; i++) {
        const double root = sqrt(fmax(A[i * n + i], 0));
        if (L->singular && root * root < 1e-10 * most) continue;
        for (int j = 0; j < n; j++) {
            e.to[at * n + j] = root * Q[j * n + i];
            e.from[j * e.k + at] = Q[j * n + i] / root;
        }
        at++;
    }
    free(A), free(Q);
    return e;
}

/* k-by-k: n-by-n X in the new coordinates. */
static double *in_energy(const energy *e, const double *X)
{
    double *half = dense_zeros(e->n, e->k), *Y = dense_zeros(e->k, e->k);

    dense_times(e->n, e->n, e->k, X, false, e->from, half);
    dense_times(e->k, e->n, e->k, e->to, false, half, Y);
    free(half);
    return Y;
}

#endif
