/*
 * neumann.c - M := omega sum (I - omega D^-1 A)^j D^-1, Neumann's series up to j = degree:
 *
 *   z_0 := omega D^-1 r,  z_k+1 := z_k + omega D^-1 (r - A z_k)
 *
 * Storage     2 n numbers, and those of sweeps.h
 * Per use     degree products; words moved on grids: 2 for z_0, then 3 for each iterate. If the
 * diagonal of a
 *             grid is one number, z_0 is a multiple of r and is not stored. Other operators: 3,
 *             then 5
 * Positive    if 1 - (1 - omega s)^(degree + 1) > 0 for all eigenvalues s > 0 of D^-1 A: with even
 *             degrees always, with odd degrees if omega s < 2
 * Source      P. F. Dubois, A. Greenbaum, G. H. Rodrigue, Approximating the inverse of a matrix for
 *             use in iterative algorithms on vector processors, Computing 22 (1979)
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include "precond/sweeps.h"
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct neumann {
    kry_relaxer sweep;
    kry_vec *work, *product; /* every second iterate; M x, if beta is not 0 */
    int degree;
    double omega;
    double entry; /* the diagonal of a grid if it is one number, else 0 */
    char variant[48];
} neumann;

/* Where z_k is stored. The last iterate is z, so every second one is stored there. */
static kry_vec *place(const neumann *M, int k, kry_vec *z)
{
    return (M->degree - k) % 2 ? M->work : z;
}

static kry_status run(neumann *M, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_status st = KRY_OK;
    const double multiple = M->entry > 0 ? M->omega / M->entry : 0;
    const kry_relax from_zero = { .c1 = M->omega, .b = r };

    if (!multiple) TRY(kry_relaxer_run(&M->sweep, &from_zero, place(M, 0, z), NULL));
    for (int k = 1; k <= M->degree; k++) {
        kry_relax s = { .c1 = M->omega, .b = r, .x = place(M, k - 1, z) };
        if (multiple && k == 1) s.x = r, s.x_scale = multiple;
        TRY(kry_relaxer_run(&M->sweep, &s, place(M, k, z), k == M->degree ? sum : NULL));
    }
done:
    return st;
}

static kry_status neumann_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    neumann *M = self;
    kry_status st = KRY_OK;

    if (alpha == 1 && beta == 0) return run(M, x, y, NULL);
    TRY(run(M, x, M->product, NULL));
    TRY(kry_vec_axpby(alpha, M->product, beta, y));
done:
    return st;
}

static kry_status neumann_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    return run(self, r, z, sum);
}

static kry_status neumann_update(void *self, const void *values)
{
    neumann *M = self;
    if (values) return kry_fail(KRY_ERR_ARGUMENT, "kry_op_update: 'neumann' takes no values");
    return kry_relaxer_update(&M->sweep);
}

static void neumann_describe(void *self, kry_op_info *info)
{
    const neumann *M = self;
    double word = (double)M->work->n * (double)kry_type_size(M->work->type),
           sweep = kry_relaxer_bytes(&M->sweep);
    /* z_0; less, if r takes its place */
    double first = M->sweep.jacobi ? 3 : M->entry > 0 ? -1 : 2;

    info->variant = M->variant;
    if (sweep > 0) info->bytes_per_apply = M->degree * sweep + first * word;
}

static void neumann_destroy(void *self)
{
    neumann *M = self;
    if (!M) return;
    kry_vec_release(&M->product);
    kry_vec_release(&M->work);
    kry_relaxer_release(&M->sweep);
    free(M);
}

static const kry_op_table neumann_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "neumann",
    .apply = neumann_apply,
    .update = neumann_update,
    .describe = neumann_describe,
    .destroy = neumann_destroy,
    .apply_dots = neumann_apply_dots,
};

static kry_status check(const kry_op *A, const void *params)
{
    enum { MOST = 1000 };
    kry_status st = KRY_OK;
    const kry_neumann_params *p = params;

    (void)A;
    CHECK(p->degree >= 0 && p->degree <= MOST, KRY_ERR_ARGUMENT,
          "kry_neumann_create: degree = %d is not in 1 ... %d", p->degree, (int)MOST);
    CHECK(p->omega >= 0 && isfinite(p->omega), KRY_ERR_ARGUMENT,
          "kry_neumann_create: omega = %g; it must be positive", p->omega);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_neumann_params *p = params;
    neumann *M = NULL;
    kry_op_shape shape = A->shape;

    TRY(kry_alloc(1, sizeof *M, &M));
    M->degree = p->degree ? p->degree : 2;
    M->omega = p->omega > 0 ? p->omega : M->degree % 2 ? 0.9 : 1;
    if (kry_stencil_of(A)) M->entry = kry_stencil_diagonal_entry(kry_stencil_of(A));
    snprintf(M->variant, sizeof M->variant, "degree %d, omega %g", M->degree, M->omega);
    TRY(kry_relaxer_create("kry_neumann_create", A, &M->sweep));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->work));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->product));
    shape.traits &= KRY_SYMMETRIC | (M->degree % 2 ? 0 : KRY_POSITIVE);
    TRY(kry_op_create(A->dev, &neumann_table, M, &shape, out));
    M = NULL;
done:
    neumann_destroy(M);
    return st;
}

kry_status kry_neumann_create(const kry_op *A, const kry_neumann_params *params, kry_op **out)
{
    static const kry_constructor how = { "kry_neumann_create", "KRY_NEUMANN", sizeof *params,
                                         .check = check, .create = create };
    return kry_construct(&how, A, params ? params : KRY_NEUMANN(), out);
}
