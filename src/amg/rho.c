/* rho.c - the largest eigenvalue of D^-1 A by Lanczos's method. Kernels: cl/amg/aggregate.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"
#include <math.h>
#include <stdlib.h>

/* Vectors: s = d^-1/2, v and the one before it, w, and S v. */
typedef struct lanczos {
    kry_op *A;
    kryi_layout layout; /* sums are over these rows, also where the device is a part of a team */
    kry_vec *s, *v, *old, *w, *scaled;
    kry_sum *sum; /* of all dot products: it is larger than short vectors */
} lanczos;

static void lanczos_release(lanczos *l)
{
    kry_vec **const vectors[] = { &l->s, &l->v, &l->old, &l->w, &l->scaled };

    for (size_t k = 0; k < COUNT(vectors); k++) kry_vec_release(vectors[k]);
    kry_sum_release(&l->sum);
    kry_op_release(&l->A);
    free(l->layout.scratch);
}

static kry_status lanczos_create(const kryi_device_csr *A, cl_mem d, lanczos *l)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;

    *l = (lanczos){ 0 };
    kryi_layout_init(&l->layout, A->dev);
    l->layout.reproducible = A->dev->layout.reproducible;
    kry_vec **const vectors[] = { &l->s, &l->v, &l->old, &l->w, &l->scaled };
    for (size_t k = 0; k < COUNT(vectors); k++) {
        TRY(kry_vec_create(A->dev, KRY_F64, A->rows, 1, vectors[k]));
        (*vectors[k])->layout = &l->layout;
    }
    TRY(kry_sum_create(A->dev, 1, &l->sum));
    TRY(kryi_device_csr_operator(A, 0, NULL, &l->A));
    TRY(kryi_vec_fill_random(0, l->v));
    const kry_arg args[] = { ARG(rows), ARG(d), ARG(l->s->buffer) };
    TRY(kryi_device_rows(A->dev, "aggregate", "inverse_root", A->rows, args, COUNT(args)));
done:
    return st;
}

static kry_status dot(lanczos *l, const kry_vec *x, const kry_vec *y, double *value)
{
    const kry_status st = kry_vec_dot_sum(x, y, l->sum);
    return st < 0 ? st : kryi_sum_read(&l->layout, l->sum, value);
}

/* w := S A S v - beta old - alpha v, alpha = v'S A S v; beta: what was left the last time. */
static kry_status step(lanczos *l, double beta, double *alpha)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_mul(1, l->s, l->v, 0, l->scaled));
    TRY(kry_op_apply(l->A, 1, l->scaled, 0, l->w));
    TRY(kry_vec_mul(1, l->s, l->w, 0, l->w));
    TRY(kry_vec_axpby(-beta, l->old, 1, l->w));
    TRY(dot(l, l->w, l->v, alpha));
    TRY(kry_vec_axpby(-*alpha, l->v, 1, l->w));
done:
    return st;
}

static kry_status run_lanczos(lanczos *l, kryi_lanczos *T)
{
    kry_status st = KRY_OK;
    double beta = 0, squared, alpha;

    TRY(dot(l, l->v, l->v, &squared));
    TRY(kry_vec_axpby(1 / sqrt(squared), l->v, 0, l->v));
    TRY(kry_vec_fill(l->old, 0));
    for (T->n = 0; T->n < KRY_LANCZOS_STEPS && T->n < l->v->n;) {
        TRY(step(l, beta, &alpha));
        T->diagonal[T->n] = alpha, T->off[T->n++] = beta;
        TRY(dot(l, l->w, l->w, &squared));
        beta = sqrt(squared);
        if (!(beta > 1e-12)) break;
        kry_vec *room = l->old;
        l->old = l->v, l->v = l->w, l->w = room;
        TRY(kry_vec_axpby(1 / beta, l->v, 0, l->v));
    }
done:
    return st;
}

kry_status kryi_amg_lanczos(const kryi_device_csr *A, cl_mem d, kryi_lanczos *T)
{
    kry_status st = KRY_OK;
    lanczos l;

    TRY(lanczos_create(A, d, &l));
    TRY(run_lanczos(&l, T));
done:
    lanczos_release(&l);
    return st;
}

kry_status kryi_amg_rho(const kryi_device_csr *A, cl_mem d, double *rho)
{
    enum { DIGITS = 20 };
    kry_status st = KRY_OK;
    kryi_lanczos T;
    int exponent;

    TRY(kryi_amg_lanczos(A, d, &T));
    const double digits = frexp(1.05 * kryi_lanczos_largest(&T), &exponent);
    *rho = ldexp(rint(ldexp(digits, DIGITS)), exponent - DIGITS);
done:
    return st;
}
