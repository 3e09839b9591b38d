/* rho.c - the largest eigenvalue of D^-1 A on the host. */
#include "multigrid/amg.h"
#include <kry/io.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 12 };

/* A symmetric tridiagonal matrix; off[k] couples unknowns k - 1 and k. */
typedef struct tridiagonal {
    int n;
    double diagonal[STEPS], off[STEPS + 1];
} tridiagonal;

/* Whether all eigenvalues are below x, that is, all pivots of T - x are negative (Sturm). */
static bool all_below(const tridiagonal *T, double x)
{
    double pivot = -1;
    for (int k = 0; k < T->n; k++) {
        pivot = T->diagonal[k] - x - (k ? T->off[k] * T->off[k] / pivot : 0);
        if (!(pivot < 0)) return false;
    }
    return true;
}

static double largest_of(const tridiagonal *T)
{
    double low = 0, high = 1;
    while (!all_below(T, high) && high < 1e300) high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(all_below(T, middle) ? &high : &low) = middle;
    }
    return high;
}

/* Vectors of n numbers: s = d^-1/2, v and the one before it, and w. */
typedef struct lanczos {
    int64_t n;
    double *s, *v, *old, *w;
} lanczos;

static double norm_of(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* w := S A S v - beta old;  returns v'w. old := S v on the way. */
static double multiply(const kry_sparse *A, lanczos *l, double beta)
{
    const double *val = A->val;
    double alpha = 0;

    for (int64_t j = 0; j < l->n; j++) {
        l->w[j] = -beta * l->old[j];
        l->old[j] = l->s[j] * l->v[j];
    }
    for (int64_t i = 0; i < l->n; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += val[e] * l->old[A->col[e]];
        l->w[i] += l->s[i] * sum;
        alpha += l->w[i] * l->v[i];
    }
    return alpha;
}

static void run(const kry_sparse *A, lanczos *l, tridiagonal *T)
{
    double beta = norm_of(l->v, l->n);

    for (int64_t i = 0; i < l->n; i++) l->v[i] /= beta;
    for (beta = 0, T->n = 0; T->n < STEPS && T->n < l->n;) {
        const double alpha = multiply(A, l, beta);
        for (int64_t i = 0; i < l->n; i++) l->old[i] = l->v[i], l->w[i] -= alpha * l->v[i];
        T->diagonal[T->n++] = alpha;
        T->off[T->n] = beta = norm_of(l->w, l->n);
        if (!(beta > 1e-12)) break;
        for (int64_t i = 0; i < l->n; i++) l->v[i] = l->w[i] / beta;
    }
}

kry_status kry_amg_rho(const kry_sparse *A, const double *d, double *rho)
{
    kry_status st = KRY_OK;
    lanczos l = { .n = A->rows };
    double **const vectors[] = { &l.s, &l.v, &l.old, &l.w };
    tridiagonal T;

    for (size_t k = 0; k < COUNT(vectors); k++)
        TRY(kry_alloc((size_t)l.n, sizeof(double), vectors[k]));
    for (int64_t i = 0; i < l.n; i++) {
        l.s[i] = 1 / sqrt(d[i]);
        l.v[i] = kry_random_unit(0, 0, (uint64_t)i) - 0.5;
    }
    run(A, &l, &T);
    *rho = 1.05 * largest_of(&T);
done:
    for (size_t k = 0; k < COUNT(vectors); k++) free(*vectors[k]);
    return st;
}
