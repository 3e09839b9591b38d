/*
 * inverse_norm.c - an estimate of the 1-norm of an inverse, from solves with A and A'.
 *
 * Source      N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix, ACM TOMS 14 (1988)
 */
#include "sparse/csr.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether the signs of x are new; they are kept. */
static bool take_signs(const double *x, double *sign, int64_t n)
{
    bool fresh = false;
    for (int64_t i = 0; i < n; i++) {
        double s = x[i] < 0 ? -1 : 1;
        fresh |= s != sign[i];
        sign[i] = s;
    }
    return fresh;
}

static int64_t largest(const double *x, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[at])) at = i;
    return at;
}

static double norm1(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(x[i]);
    return sum;
}

kry_status kryi_inverse_norm(int64_t n, kryi_host_solve *solve, void *user, double *norm)
{
    enum { STEPS = 5 };
    kry_status st = KRY_OK;
    double *x = NULL, *sign = NULL;
    int64_t last = -1;

    *norm = 0;
    TRY(kryi_alloc((size_t)n, sizeof *x, &x));
    TRY(kryi_alloc((size_t)n, sizeof *sign, &sign));
    for (int64_t i = 0; i < n; i++) x[i] = 1.0 / (double)n;
    TRY(solve(user, x, false));
    *norm = norm1(x, n);
    for (int step = 1; step < STEPS && n > 1 && take_signs(x, sign, n); step++) {
        memcpy(x, sign, (size_t)n * sizeof *x);
        TRY(solve(user, x, true));
        int64_t j = largest(x, n);
        if (j == last) break;
        last = j;
        for (int64_t i = 0; i < n; i++) x[i] = i == j;
        TRY(solve(user, x, false));
        const double now = norm1(x, n);
        if (!(now > *norm)) break;
        *norm = now;
    }
    /* A second estimate, for matrices for which the iteration stops far too early. */
    if (n > 1) {
        for (int64_t i = 0; i < n; i++) x[i] = (i % 2 ? -1 : 1) * (1 + (double)i / (double)(n - 1));
        TRY(solve(user, x, false));
        *norm = fmax(*norm, 2 * norm1(x, n) / (3 * (double)n));
    }
done:
    free(x);
    free(sign);
    return st;
}
