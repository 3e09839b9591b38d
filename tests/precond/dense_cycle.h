/*
 * dense_cycle.h - cycles of multigrid in dense matrices on the host, by the formulas of papers: what the
 * library's cycles are held against. Matrices are stored row by row.
 */
#ifndef KRY_DENSE_CYCLE_H
#define KRY_DENSE_CYCLE_H

#include "testing.h"

enum { DENSE_LEVELS = 4, DENSE_MOST = 128 /* unknowns */ };

typedef struct dense_level {
    int n, m;       /* unknowns here and on the next level; m is 0 on the coarsest */
    double *A, *P;  /* n-by-n, n-by-m */
    double *W;      /* n-by-n: what a step multiplies the residual with, usually D^-1 */
    double highest; /* eigenvalue of W A, as the smoother has it */
    int *colour;    /* of red-black sweeps: of each unknown */
    bool singular;  /* A maps constants to zero */
} dense_level;

typedef struct dense_levels {
    int count;
    dense_level level[DENSE_LEVELS];
} dense_levels;

static double *dense_zeros(int rows, int cols)
{
    double *a = calloc((size_t)(rows * cols) + 1, sizeof *a);
    assert_non_null(a);
    return a;
}

static void dense_release(dense_levels *d)
{
    for (int l = 0; l < d->count; l++) {
        dense_level *L = &d->level[l];
        free(L->A), free(L->P), free(L->W), free(L->colour);
    }
    *d = (dense_levels){ 0 };
}

/* Z := X Y, X rows-by-inner, or stored as its transpose. */
static void dense_times(int rows, int inner, int cols, const double *X, bool transposed,
                        const double *Y, double *Z)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += (transposed ? X[k * rows + i] : X[i * inner + k]) * Y[k * cols + j];
            Z[i * cols + j] = sum;
        }
}

/* W := D^-1 */
static void dense_invert_diagonal(dense_level *L)
{
    L->W = dense_zeros(L->n, L->n);
    for (int i = 0; i < L->n; i++) L->W[i * L->n + i] = 1 / L->A[i * L->n + i];
}

/* r := b - A x */
static void dense_residual(const dense_level *L, const double *b, const double *x, double *r)
{
    dense_times(L->n, L->n, 1, L->A, false, x, r);
    for (int i = 0; i < L->n; i++) r[i] = b[i] - r[i];
}

/* x := A^-1 b by Gauss's elimination; of a singular A, x is zero in its last row. */
static void dense_solve(const dense_level *L, const double *b, double *x)
{
    const int n = L->n, m = L->singular ? n - 1 : n;
    double *U = dense_zeros(n, n);

    memcpy(U, L->A, (size_t)(n * n) * sizeof *U);
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int k = 0; k < m; k++)
        for (int i = k + 1; i < m; i++) {
            const double by = U[i * n + k] / U[k * n + k];
            for (int j = k; j < m; j++) U[i * n + j] -= by * U[k * n + j];
            x[i] -= by * x[k];
        }
    for (int i = n - 1; i >= m; i--) x[i] = 0;
    for (int i = m - 1; i >= 0; i--) {
        for (int j = i + 1; j < m; j++) x[i] -= U[i * n + j] * x[j];
        x[i] /= U[i * n + i];
    }
    free(U);
}

/* ---- smoothers, by their recurrences and not by the roots of polynomials --------------------- */

static void dense_jacobi(const dense_level *L, double omega, const double *b, double *x)
{
    double r[DENSE_MOST], z[DENSE_MOST];

    dense_residual(L, b, x, r);
    dense_times(L->n, L->n, 1, L->W, false, r, z);
    for (int i = 0; i < L->n; i++) x[i] += omega * z[i];
}

/* First kind, on highest / 4 ... highest: Saad, algorithm 12.1. */
static void dense_chebyshev(const dense_level *L, int degree, const double *b, double *x)
{
    const double theta = L->highest * 0.625, delta = L->highest * 0.375, sigma = theta / delta;
    double rho = 1 / sigma, r[DENSE_MOST], z[DENSE_MOST], d[DENSE_MOST];

    for (int k = 0; k < degree; k++) {
        const double next = 1 / (2 * sigma - rho);
        dense_residual(L, b, x, r);
        dense_times(L->n, L->n, 1, L->W, false, r, z);
        for (int i = 0; i < L->n; i++) {
            d[i] = k ? next * rho * d[i] + 2 * next / delta * z[i] : z[i] / theta;
            x[i] += d[i];
        }
        if (k) rho = next;
    }
}

/* Of the fourth kind: J. Lottes 2022, algorithm 1 and table 1. */
static void dense_chebyshev4(const dense_level *L, int degree, const double *b, double *x)
{
    static const double beta[4][4] = {
        { 1.12500000000000 },
        { 1.02387287570313, 1.26408905371085 },
        { 1.00842544782028, 1.08867839208730, 1.33753125909618 },
        { 1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000 },
    };
    double r[DENSE_MOST], z[DENSE_MOST], Wr[DENSE_MOST], Az[DENSE_MOST];

    dense_residual(L, b, x, r);
    dense_times(L->n, L->n, 1, L->W, false, r, z);
    for (int i = 0; i < L->n; i++) z[i] *= 4 / (3 * L->highest);
    for (int k = 1; k <= degree; k++) {
        dense_times(L->n, L->n, 1, L->A, false, z, Az);
        for (int i = 0; i < L->n; i++) x[i] += beta[degree - 1][k - 1] * z[i], r[i] -= Az[i];
        dense_times(L->n, L->n, 1, L->W, false, r, Wr);
        for (int i = 0; i < L->n; i++)
            z[i] = (2 * k - 1.0) / (2 * k + 3) * z[i] +
                   (8 * k + 4.0) / (2 * k + 3) / L->highest * Wr[i];
    }
}

/* Gauss and Seidel's sweep over the colours 0, 1, ..., or from the last one to the first. */
static void dense_red_black(const dense_level *L, double omega, bool reverse, const double *b,
                            double *x)
{
    int colours = 0;

    for (int i = 0; i < L->n; i++) colours = L->colour[i] >= colours ? L->colour[i] + 1 : colours;
    for (int c = 0; c < colours; c++)
        for (int i = 0; i < L->n; i++) {
            if (L->colour[i] != (reverse ? colours - 1 - c : c)) continue;
            double r = b[i];
            for (int j = 0; j < L->n; j++) r -= L->A[i * L->n + j] * x[j];
            x[i] += omega * r / L->A[i * L->n + i];
        }
}

/* up: after the coarser levels. how: without zeros that stand for defaults, but for omega. */
static void dense_smooth(const dense_level *L, const kry_cycle_params *how, bool up,
                         const double *b, double *x)
{
    for (int s = 0; s < how->sweeps; s++) switch (how->smoother) {
        case KRY_SMOOTHER_CHEBYSHEV: dense_chebyshev(L, how->degree, b, x); break;
        case KRY_SMOOTHER_CHEBYSHEV4: dense_chebyshev4(L, how->degree, b, x); break;
        case KRY_SMOOTHER_RED_BLACK:
            dense_red_black(L, how->omega > 0 ? how->omega : 1, up, b, x);
            break;
        default: dense_jacobi(L, how->omega > 0 ? how->omega : 1.6 / L->highest, b, x);
        }
}

/* ---- the cycle ------------------------------------------------------------------------------- */

/* The x after a cycle from level l on, from the x before it. */
static void dense_cycle(const dense_levels *d, int l, const kry_cycle_params *how, const double *b,
                        double *x)
{
    const bool twice = how->shape == KRY_CYCLE_W || how->shape == KRY_CYCLE_F;
    kry_cycle_params second = *how;
    const dense_level *L = &d->level[l];
    double r[DENSE_MOST], coarse[DENSE_MOST], e[DENSE_MOST] = { 0 }, Pe[DENSE_MOST];

    if (L->m == 0) {
        dense_solve(L, b, x);
        return;
    }
    dense_smooth(L, how, false, b, x);
    dense_residual(L, b, x, r);
    dense_times(L->m, L->n, 1, L->P, true, r, coarse);
    if (how->shape == KRY_CYCLE_F) second.shape = KRY_CYCLE_V;
    dense_cycle(d, l + 1, how, coarse, e);
    if (twice) dense_cycle(d, l + 1, &second, coarse, e);
    dense_times(L->n, L->m, 1, L->P, false, e, Pe);
    for (int i = 0; i < L->n; i++) x[i] += Pe[i];
    dense_smooth(L, how, true, b, x);
}

/* x := full multigrid's approximation of A^-1 b from level l on. */
MAYBE_UNUSED static void dense_full(const dense_levels *d, int l, const kry_cycle_params *how,
                                    const double *b, double *x)
{
    const dense_level *L = &d->level[l];
    double coarse[DENSE_MOST], e[DENSE_MOST];

    if (L->m) {
        dense_times(L->m, L->n, 1, L->P, true, b, coarse);
        dense_full(d, l + 1, how, coarse, e);
        dense_times(L->n, L->m, 1, L->P, false, e, x);
    }
    dense_cycle(d, l, how, b, x);
}

#endif
