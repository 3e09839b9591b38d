/* spectrum.c - the largest eigenvalue of D^-1 A, by some steps of conjugate gradients. */
#include "precond/spectrum.h"
#include "grid/stencil.h"
#include <kry/precond.h>
#include <math.h>

/* How many eigenvalues are below x: as many as T - x has negative pivots (Sturm). */
static int count_below(const kry_lanczos *T, double x)
{
    double pivot = 1;
    int count = 0;

    for (int k = 0; k < T->n; k++) {
        pivot = T->diagonal[k] - x - (k ? T->off[k] * T->off[k] / pivot : 0);
        if (pivot == 0) pivot = 1e-300;
        count += pivot < 0;
    }
    return count;
}

/* The least number between 0 and 2^1000 below which there are so many. */
static double bisect(const kry_lanczos *T, int count)
{
    double low = 0, high = 1;
    while (count_below(T, high) < count && high < 1e300) high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(count_below(T, middle) >= count ? &high : &low) = middle;
    }
    return high;
}

double kry_lanczos_largest(const kry_lanczos *T) { return bisect(T, T->n); }
double kry_lanczos_smallest(const kry_lanczos *T) { return bisect(T, 1); }

/* Conjugate gradients for A x = r, whose coefficients give the T = V' D^-1 A V of Lanczos's method. They end
 * where nothing is left of r but what A maps to zero. v: r, z, p, q */
static kry_status tridiagonalise(const char *who, const kry_op *A, const kry_op *jacobi,
                                 kry_vec *const v[4], kry_lanczos *T)
{
    kry_status st = KRY_OK;
    kry_vec *r = v[0], *z = v[1], *p = v[2], *q = v[3];
    const double rounding = A->shape.type == KRY_F32 ? 1e-5 : 1e-13;
    double rho, first = 0, last = 1, alpha = 1, pq, pDp = 0;

    for (T->n = 0; T->n < KRY_LANCZOS_STEPS; T->n++) {
        TRY(kry_op_apply(jacobi, 1, r, 0, z));
        TRY(kry_vec_dot(r, z, &rho));
        CHECK(rho >= 0, KRY_ERR_ARGUMENT,
              "%s: '%s' is not positive definite: its diagonal has an entry that is not positive",
              who, A->table->kind);
        if (T->n == 0) first = rho;
        if (!(rho > 1e-10 * first)) break; /* solved */
        double beta = T->n ? rho / last : 0;
        TRY(kry_vec_axpby(1, z, beta, p));
        TRY(kry_op_apply(A, 1, p, 0, q));
        TRY(kry_vec_dot(p, q, &pq));
        pDp = rho + beta * beta * pDp;
        if (fabs(pq) <= rounding * pDp) break;
        CHECK(pq > 0, KRY_ERR_ARGUMENT, "%s: '%s' is not positive definite: p'Ap = %g", who,
              A->table->kind, pq);
        T->diagonal[T->n] = pq / rho + (T->n ? beta / alpha : 0);
        T->off[T->n] = T->n ? sqrt(beta) / alpha : 0;
        alpha = rho / pq, last = rho;
        TRY(kry_vec_axpby(-alpha, q, 1, r));
    }
done:
    return st;
}

static kry_status estimate(const char *who, const kry_op *A, const kry_op *given, double *highest)
{
    kry_status st = KRY_OK;
    kry_op *jacobi = NULL;
    kry_vec *v[4] = { NULL };
    kry_lanczos T;

    for (size_t i = 0; i < COUNT(v); i++)
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &v[i]));
    if (given)
        jacobi = kry_op_retain(given);
    else
        TRY(kry_jacobi_create(A, &jacobi));
    TRY(kry_vec_fill_random(0, v[0]));
    if (A->shape.traits & KRY_SINGULAR) { /* begin with what A x = r has a solution for */
        TRY(kry_vec_copy(v[0], v[1]));
        TRY(kry_op_apply(A, 1, v[1], 0, v[0]));
    }
    TRY(tridiagonalise(who, A, jacobi, v, &T));
    *highest = 1.1 * kry_lanczos_largest(&T);
done:
    for (size_t i = 0; i < COUNT(v); i++) kry_vec_release(&v[i]);
    kry_op_release(&jacobi);
    return st;
}

kry_status kry_spectrum_bound(const char *who, const kry_op *A, const kry_op *jacobi,
                              double *highest)
{
    const bool empty = A->shape.rows == 0 && kry_layout_size(&A->dev->layout) == 1;

    *highest = 2;
    if (kry_stencil_of(A) || empty) return KRY_OK;
    return estimate(who, A, jacobi, highest);
}
