/* rho.c - the largest eigenvalue of D^-1 A on the host. */
#include "amg/amg.h"
#include <kry/problem.h>
#include <math.h>
#include <stdlib.h>

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

/* What the threads that multiply with S A S share. */
typedef struct product_args {
    const kryi_csr *A;
    lanczos *l;
    double beta;
} product_args;

/* w := -beta old;  old := S v */
static void scale_rows(void *user, int part, int64_t begin, int64_t end)
{
    const product_args *m = user;
    const lanczos *l = m->l;

    (void)part;
    for (int64_t j = begin; j < end; j++) {
        l->w[j] = -m->beta * l->old[j];
        l->old[j] = l->s[j] * l->v[j];
    }
}

/* w := w + S A old */
static void multiply_rows(void *user, int part, int64_t begin, int64_t end)
{
    const product_args *m = user;
    const kryi_csr *A = m->A;
    const lanczos *l = m->l;
    const double *val = A->val;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += val[e] * l->old[A->col[e]];
        l->w[i] += l->s[i] * sum;
    }
}

/* w := S A S v - beta old;  returns v'w. old := S v on the way. */
static double multiply(const kryi_csr *A, lanczos *l, double beta)
{
    const int parts = kryi_parts(kryi_csr_nnz(A));
    product_args m = { A, l, beta };
    double alpha = 0;

    kryi_parallel(parts, l->n, scale_rows, &m);
    kryi_parallel(parts, l->n, multiply_rows, &m);
    for (int64_t i = 0; i < l->n; i++) alpha += l->w[i] * l->v[i];
    return alpha;
}

static void run(const kryi_csr *A, lanczos *l, kryi_lanczos *T)
{
    double beta = norm_of(l->v, l->n);

    for (int64_t i = 0; i < l->n; i++) l->v[i] /= beta;
    for (beta = 0, T->n = 0; T->n < KRY_LANCZOS_STEPS && T->n < l->n;) {
        const double alpha = multiply(A, l, beta);
        for (int64_t i = 0; i < l->n; i++) l->old[i] = l->v[i], l->w[i] -= alpha * l->v[i];
        T->diagonal[T->n] = alpha, T->off[T->n++] = beta;
        beta = norm_of(l->w, l->n);
        if (!(beta > 1e-12)) break;
        for (int64_t i = 0; i < l->n; i++) l->v[i] = l->w[i] / beta;
    }
}

double kryi_amg_rho_of(const kryi_lanczos *T)
{
    enum { DIGITS = 20 };
    int exponent;
    const double digits = frexp(1.05 * kryi_lanczos_largest(T), &exponent);
    return ldexp(rint(ldexp(digits, DIGITS)), exponent - DIGITS);
}

kry_status kryi_amg_lanczos(const kryi_csr *A, const double *d, kryi_lanczos *T)
{
    kry_status st = KRY_OK;
    lanczos l = { .n = A->rows };
    double **const vectors[] = { &l.s, &l.v, &l.old, &l.w };

    for (size_t k = 0; k < COUNT(vectors); k++)
        TRY(kryi_alloc((size_t)l.n, sizeof(double), vectors[k]));
    for (int64_t i = 0; i < l.n; i++) {
        l.s[i] = 1 / sqrt(d[i]);
        l.v[i] = kry_random_unit(1, 0, (uint64_t)i) - 0.5;
    }
    run(A, &l, T);
done:
    for (size_t k = 0; k < COUNT(vectors); k++) free(*vectors[k]);
    return st;
}

kry_status kryi_amg_rho(const kryi_csr *A, const double *d, double *rho)
{
    kry_status st = KRY_OK;
    kryi_lanczos T;

    TRY(kryi_amg_lanczos(A, d, &T));
    *rho = kryi_amg_rho_of(&T);
done:
    return st;
}
