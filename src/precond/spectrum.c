/*
 * spectrum.c - the largest eigenvalue of D^-1 A, by some steps of conjugate gradients, all of them enqueued before the host
 * waits. Kernels: cl/precond/spectrum.cl.
 */
#include "precond/spectrum.h"
#include "device/launch.h"
#include "grid/stencil.h"
#include <kry/precond.h>
#include <math.h>

/* How many eigenvalues are below x: as many as T - x has negative pivots (Sturm). */
static int count_below(const kryi_lanczos *T, double x)
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
static double bisect(const kryi_lanczos *T, int count)
{
    double low = 0, high = 1;
    while (count_below(T, high) < count && high < 1e300) high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(count_below(T, middle) >= count ? &high : &low) = middle;
    }
    return high;
}

double kryi_lanczos_largest(const kryi_lanczos *T) { return bisect(T, T->n); }
double kryi_lanczos_smallest(const kryi_lanczos *T) { return bisect(T, 1); }

/* Vectors and scalars of conjugate gradients. */
typedef struct lanczos {
    const kry_op *A, *jacobi;
    kry_vec *r, *z, *p, *q;
    kry_sum *rho[2]; /* r'z of every second step */
    kry_sum *pq;
    cl_mem out; /* of the device's scalars, two for each step: see cl/precond/spectrum.cl */
} lanczos;

static void lanczos_release(lanczos *l)
{
    kry_device *dev = l->A->dev;

    kryi_buffer_release(dev, &l->out);
    kry_sum_release(&l->pq);
    kry_sum_release(&l->rho[1]);
    kry_sum_release(&l->rho[0]);
    kry_vec_release(&l->q);
    kry_vec_release(&l->p);
    kry_vec_release(&l->z);
    kry_vec_release(&l->r);
    kry_op_release((kry_op **)&l->jacobi);
}

static kry_status lanczos_create(const kry_op *A, const kry_op *given, lanczos *l)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    kry_vec **const vectors[] = { &l->r, &l->z, &l->p, &l->q };
    kry_sum **const sums[] = { &l->rho[0], &l->rho[1], &l->pq };
    kry_op *jacobi = NULL;

    *l = (lanczos){ .A = A };
    if (given)
        jacobi = kry_op_retain(given);
    else
        TRY(kry_jacobi_create(A, &jacobi));
    l->jacobi = jacobi;
    for (size_t i = 0; i < COUNT(vectors); i++)
        TRY(kry_vec_create(dev, A->shape.type, A->shape.rows, 1, vectors[i]));
    for (size_t i = 0; i < COUNT(sums); i++) TRY(kry_sum_create(dev, 1, sums[i]));
    TRY(kryi_buffer_create(dev, 2 * KRY_LANCZOS_STEPS * kryi_acc_size(dev), &l->out));
done:
    return st;
}

/* `from` and `to`: z and p, q and r. */
static kry_status run(const lanczos *l, const char *name, cl_int step, const kry_sum *second,
                      const kry_vec *from, kry_vec *to)
{
    const kry_sum *rho = l->rho[step % 2];
    const kry_arg args[] = { ARG(to->n),      ARG(step),           ARG(rho->buffer),
                             ARG(rho->count), ARG(second->buffer), ARG(second->count),
                             ARG(l->out),     ARG(from->buffer),   ARG(to->buffer) };
    return kryi_run(to->dev, "spectrum", to->type, "", name,
                    kryi_groups_for(to->dev, to->type, to->n), args, COUNT(args));
}

/* A step of conjugate gradients for A x = r. */
static kry_status step(const lanczos *l, cl_int k)
{
    kry_status st = KRY_OK;
    kryi_layout *layout = &l->A->dev->layout;
    kry_sum *rho = l->rho[k % 2], *last = l->rho[(k + 1) % 2];

    TRY(kry_op_apply(l->jacobi, 1, l->r, 0, l->z));
    TRY(kry_vec_dot_sum(l->r, l->z, rho));
    TRY(kryi_layout_reduce(layout, &rho, 1));
    TRY(run(l, "spectrum_direction", k, k ? last : rho, l->z, l->p));
    TRY(kryi_op_run_dot(l->A, l->p, l->q, l->pq));
    TRY(kryi_layout_reduce(layout, (kry_sum *const *)&l->pq, 1));
    TRY(run(l, "spectrum_residual", k, l->pq, l->q, l->r));
done:
    return st;
}

/* The coefficients of these steps give the T = V' D^-1 A V of Lanczos's method. It ends where nothing is left of r but what A
 * maps to zero. */
static kry_status tridiagonalise(const char *who, const kry_op *A, const double *out,
                                 kryi_lanczos *T)
{
    kry_status st = KRY_OK;
    const double rounding = A->shape.type == KRY_F32 ? 1e-5 : 1e-13;
    double last = 1, alpha = 1, pDp = 0;

    for (T->n = 0; T->n < KRY_LANCZOS_STEPS; T->n++) {
        const double rho = out[2 * T->n], pq = out[2 * T->n + 1];
        CHECK(rho >= 0, KRY_ERR_ARGUMENT,
              "%s: '%s' is not positive definite: its diagonal has an entry that is not positive",
              who, A->table->kind);
        if (!(rho > 1e-10 * out[0])) break; /* solved */
        double beta = T->n ? rho / last : 0;
        pDp = rho + beta * beta * pDp;
        if (fabs(pq) <= rounding * pDp) break;
        CHECK(pq > 0, KRY_ERR_ARGUMENT, "%s: '%s' is not positive definite: p'Ap = %g", who,
              A->table->kind, pq);
        T->diagonal[T->n] = pq / rho + (T->n ? beta / alpha : 0);
        T->off[T->n] = T->n ? sqrt(beta) / alpha : 0;
        alpha = rho / pq, last = rho;
    }
done:
    return st;
}

static kry_status read_out(const lanczos *l, double out[2 * KRY_LANCZOS_STEPS])
{
    kry_status st = KRY_OK;
    kry_device *dev = l->A->dev;
    const kry_type type = kryi_acc_type(dev);
    double numbers[2 * KRY_LANCZOS_STEPS];

    TRY(kryi_buffer_read(dev, l->out, 0, 2 * KRY_LANCZOS_STEPS * kryi_acc_size(dev), numbers));
    for (int k = 0; k < 2 * KRY_LANCZOS_STEPS; k++) out[k] = kryi_number_at(type, numbers, k);
done:
    return st;
}

static kry_status estimate(const char *who, const kry_op *A, const kry_op *given, double *highest)
{
    kry_status st = KRY_OK;
    double out[2 * KRY_LANCZOS_STEPS];
    kryi_lanczos T;
    lanczos l;

    TRY(lanczos_create(A, given, &l));
    TRY(kryi_vec_fill_random(0, l.r));
    if (kryi_op_is_singular(A)) { /* begin with what A x = r has a solution for */
        TRY(kry_vec_copy(l.r, l.z));
        TRY(kry_op_apply(A, 1, l.z, 0, l.r));
    }
    for (cl_int k = 0; k < KRY_LANCZOS_STEPS; k++) TRY(step(&l, k));
    TRY(read_out(&l, out));
    TRY(tridiagonalise(who, A, out, &T));
    *highest = 1.1 * kryi_lanczos_largest(&T);
done:
    lanczos_release(&l);
    return st;
}

kry_status kryi_spectrum_bound(const char *who, const kry_op *A, const kry_op *jacobi,
                               double *highest)
{
    const bool empty = A->shape.rows == 0 && kryi_layout_size(&A->dev->layout) == 1;

    *highest = 2;
    if (kryi_stencil_of(A) || empty) return KRY_OK;
    return estimate(who, A, jacobi, highest);
}
