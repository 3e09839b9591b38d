/*
 * chebyshev.c - M := p(D^-1 A) D^-1, p the polynomial of Chebyshev's iteration for A z = r:
 *
 *   z_1 := D^-1 r / theta z_k+1 := z_k + rho_k rho_k-1 (z_k - z_k-1) + 2 rho_k / delta D^-1 (r - A
 *   z_k)
 *
 *   theta, delta: middle and half length of the interval, sigma = theta / delta, rho_0 = 1 / sigma,
 *   rho_k = 1 / (2 sigma - rho_k-1)
 *
 * Storage     2 n numbers, and those of sweeps.h
 * Per use     degree products; words moved on grids: 2 for z_1, 3 for z_2, 4 for each further
 * iterate. If the
 *             diagonal of a grid is one number, z_1 is not stored and costs nothing
 * Positive    if no eigenvalue of D^-1 A is above the interval
 * Source      Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), algorithm 12.1;
 *             the largest eigenvalue from the coefficients of conjugate gradients: section 6.7.3
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include "precond/sweeps.h"
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct chebyshev {
    kry_relaxer sweep;
    kry_vec *work, *product; /* every second iterate; M x, if beta is not 0 */
    int degree;
    double entry;          /* the diagonal of a grid if it is one number, else 0 */
    double given;          /* the upper end of the interval if the caller gave it, else 0 */
    double ratio, highest; /* the interval is highest / ratio ... highest */
    char variant[64];
} chebyshev;

/* ---- the largest eigenvalue of D^-1 A ------------------------------------------------------- */

enum { STEPS = 12 }; /* of conjugate gradients: they find it within a few per cent */

/* A symmetric tridiagonal matrix; off[k] couples k - 1 and k. */
typedef struct tridiagonal {
    int n;
    double diagonal[STEPS], off[STEPS];
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
    while (!all_below(T, high)) high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(all_below(T, middle) ? &high : &low) = middle;
    }
    return high;
}

typedef struct krylov {
    const kry_op *A, *M;
    kry_vec *r, *z, *p, *q;
} krylov;

/* Conjugate gradients for A x = r: their coefficients give Lanczos' T = V' D^-1 A V. */
static kry_status tridiagonalise(krylov *k, tridiagonal *T)
{
    kry_status st = KRY_OK;
    double rho, first = 0, last = 1, alpha = 1, pq;

    for (T->n = 0; T->n < STEPS; T->n++) {
        TRY(kry_op_apply(k->M, 1, k->r, 0, k->z));
        TRY(kry_vec_dot(k->r, k->z, &rho));
        CHECK(rho >= 0, KRY_ERR_ARGUMENT,
              "kry_chebyshev_create: '%s' is not positive definite: its diagonal is not",
              k->A->table->kind);
        if (T->n == 0) first = rho;
        if (!(rho > 1e-10 * first)) break; /* solved */
        double beta = T->n ? rho / last : 0;
        TRY(kry_vec_axpby(1, k->z, beta, k->p));
        TRY(kry_op_apply(k->A, 1, k->p, 0, k->q));
        TRY(kry_vec_dot(k->p, k->q, &pq));
        CHECK(pq > 0, KRY_ERR_ARGUMENT,
              "kry_chebyshev_create: '%s' is not positive definite: p'Ap = %g", k->A->table->kind,
              pq);
        T->diagonal[T->n] = pq / rho + (T->n ? beta / alpha : 0);
        T->off[T->n] = T->n ? sqrt(beta) / alpha : 0;
        alpha = rho / pq, last = rho;
        TRY(kry_vec_axpby(-alpha, k->q, 1, k->r));
    }
done:
    return st;
}

/* The same numbers in every run, on every machine and for every split of the rows. */
static kry_status fill_random(kry_vec *v)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    int64_t first, all;

    TRY(kry_layout_rows(v->layout, v->n, &first, &all));
    TRY(kry_alloc((size_t)v->n, kry_type_size(v->type), &host));
    for (int64_t i = 0; i < v->n; i++)
        kry_number_put(v->type, host, i, kry_random_unit(1, 0, (uint64_t)(first + i)) - 0.5);
    TRY(kry_vec_write(v, host));
done:
    free(host);
    return st;
}

static kry_status estimate(const chebyshev *M, double *highest)
{
    kry_status st = KRY_OK;
    const kry_op *A = M->sweep.A;
    kry_op *jacobi = NULL;
    krylov k = { .A = A };
    tridiagonal T;
    kry_vec **all[] = { &k.r, &k.z, &k.p, &k.q };

    for (size_t i = 0; i < COUNT(all); i++)
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, all[i]));
    if (M->sweep.jacobi)
        jacobi = kry_op_retain(M->sweep.jacobi);
    else
        TRY(kry_jacobi_create(A, &jacobi));
    k.M = jacobi;
    TRY(fill_random(k.r));
    TRY(tridiagonalise(&k, &T));
    *highest = 1.1 * largest_of(&T);
done:
    for (size_t i = 0; i < COUNT(all); i++) kry_vec_release(all[i]);
    kry_op_release(&jacobi);
    return st;
}

/* Rows of grids are diagonally dominant, so 2 is an upper bound (Gershgorin), and a sharp one. */
static kry_status find_interval(chebyshev *M)
{
    kry_status st = KRY_OK;
    double highest = 2;

    if (M->given > 0)
        highest = M->given;
    else if (!kry_stencil_of(M->sweep.A) && M->sweep.A->shape.rows > 0)
        TRY(estimate(M, &highest));
    M->highest = highest;
    snprintf(M->variant, sizeof M->variant, "degree %d on %.3g ... %.3g", M->degree,
             highest / M->ratio, highest);
done:
    return st;
}

/* ---- the table --------------------------------------------------------------------------- */

/* Where z_k+1 is stored. The last iterate is z, so every second one is stored there. */
static kry_vec *place(const chebyshev *M, int k, kry_vec *z)
{
    return (M->degree - k) % 2 ? M->work : z;
}

/* If the diagonal is one number, z_1 is a multiple of r and is not stored. */
static kry_status run(chebyshev *M, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_status st = KRY_OK;
    double low = M->highest / M->ratio, theta = (M->highest + low) / 2,
           delta = (M->highest - low) / 2, sigma = theta / delta, rho = 1 / sigma;
    const double multiple = M->entry > 0 ? 1 / (theta * M->entry) : 0;

    if (!multiple)
        TRY(kry_relaxer_run(&M->sweep, &(kry_relax){ .c1 = 1 / theta, .b = r }, place(M, 0, z),
                            NULL));
    for (int k = 1; k <= M->degree; k++) {
        double next = 1 / (2 * sigma - rho);
        kry_relax s = { .c0 = rho * next, .c1 = 2 * next / delta, .b = r, .x = place(M, k - 1, z) };
        if (k > 1) s.old = place(M, k - 2, z);
        if (multiple && k == 1) s.x = r, s.x_scale = multiple;
        if (multiple && k == 2) s.old = r, s.old_scale = multiple;
        TRY(kry_relaxer_run(&M->sweep, &s, place(M, k, z), k == M->degree ? sum : NULL));
        rho = next;
    }
done:
    return st;
}

static kry_status chebyshev_apply(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    chebyshev *M = self;
    kry_status st = KRY_OK;

    if (alpha == 1 && beta == 0) return run(M, x, y, NULL);
    TRY(run(M, x, M->product, NULL));
    TRY(kry_vec_axpby(alpha, M->product, beta, y));
done:
    return st;
}

static kry_status chebyshev_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    return run(self, r, z, sum);
}

static kry_status chebyshev_update(void *self, const void *values)
{
    chebyshev *M = self;
    kry_status st = KRY_OK;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'chebyshev' takes no values");
    TRY(kry_relaxer_update(&M->sweep));
    TRY(find_interval(M));
done:
    return st;
}

static void chebyshev_describe(void *self, kry_op_info *info)
{
    const chebyshev *M = self;
    double word = (double)M->work->n * (double)kry_type_size(M->work->type),
           sweep = kry_relaxer_bytes(&M->sweep);

    info->variant = M->variant;
    if (sweep <= 0) return;
    double first = M->sweep.jacobi ? 3
                   : M->entry > 0  ? -1
                                   : 2, /* less: r takes the place of z_1 */
        olds = M->entry > 0 && M->degree > 1 ? M->degree - 2 : M->degree - 1;
    info->bytes_per_apply = M->degree * sweep + (first + olds) * word;
}

static void chebyshev_destroy(void *self)
{
    chebyshev *M = self;
    if (!M) return;
    kry_vec_release(&M->product);
    kry_vec_release(&M->work);
    kry_relaxer_release(&M->sweep);
    free(M);
}

static const kry_op_table chebyshev_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "chebyshev",
    .apply = chebyshev_apply,
    .apply_transpose = chebyshev_apply,
    .update = chebyshev_update,
    .describe = chebyshev_describe,
    .destroy = chebyshev_destroy,
    .apply_dots = chebyshev_apply_dots,
};

static kry_status check(const kry_op *A, const void *params)
{
    enum { MOST = 1000 };
    kry_status st = KRY_OK;
    const kry_chebyshev_params *p = params;

    (void)A;
    CHECK(p->degree >= 0 && p->degree <= MOST, KRY_ERR_ARGUMENT,
          "kry_chebyshev_create: degree = %d is not in 1 ... %d", p->degree, (int)MOST);
    CHECK(p->highest >= 0 && isfinite(p->highest), KRY_ERR_ARGUMENT,
          "kry_chebyshev_create: highest = %g", p->highest);
    CHECK(p->ratio == 0 || (p->ratio > 1 && isfinite(p->ratio)), KRY_ERR_ARGUMENT,
          "kry_chebyshev_create: ratio = %g; it must be above 1", p->ratio);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_chebyshev_params *p = params;
    chebyshev *M = NULL;
    kry_op_shape shape = A->shape;

    TRY(kry_alloc(1, sizeof *M, &M));
    M->degree = p->degree ? p->degree : 4;
    M->ratio = p->ratio > 0 ? p->ratio : 60;
    M->given = p->highest;
    if (kry_stencil_of(A)) M->entry = kry_stencil_diagonal_entry(kry_stencil_of(A));
    TRY(kry_relaxer_create("kry_chebyshev_create", A, &M->sweep));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->work));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->product));
    TRY(find_interval(M));
    shape.traits = KRY_SYMMETRIC;
    TRY(kry_op_create(A->dev, &chebyshev_table, M, &shape, out));
    M = NULL;
done:
    chebyshev_destroy(M);
    return st;
}

kry_status kry_chebyshev_create(const kry_op *A, const kry_chebyshev_params *params, kry_op **out)
{
    static const kry_constructor how = { "kry_chebyshev_create", "KRY_CHEBYSHEV", sizeof *params,
                                         .check = check, .create = create };
    return kry_construct(&how, A, params ? params : KRY_CHEBYSHEV(), out);
}
