/*
 * polynomial.c - M := p(D^-1 A) D^-1, p from the iterations of Jacobi (Neumann's series) or of
 * Chebyshev for A z = r:
 *
 *   z_0 := b D^-1 r,  z_k := z_k-1 + c0 (z_k-1 - z_k-2) + c1 D^-1 (r - A z_k-1),  M r = z_degree
 *
 *   Neumann     b = c1 = omega, c0 = 0:  M = omega sum over j of (I - omega D^-1 A)^j D^-1
 *   Chebyshev   b = 1 / theta, c0 = rho_k-1 rho_k, c1 = 2 rho_k / delta, where theta and delta are
 *               the middle and half the length of the interval, sigma = theta / delta,
 *               rho_0 = 1 / sigma and rho_k = 1 / (2 sigma - rho_k-1)
 *
 * Storage     n numbers, and those of sweeps.h
 * Per use     degree products; words moved on grids: 2 for z_0, then 3 for each iterate, and for
 *             Chebyshev 1 more from z_2 on. If the diagonal of a grid is one number, z_0 is a
 *             multiple of r: it is not stored and costs nothing
 * Source      precond.h
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include "precond/spectrum.h"
#include "precond/sweeps.h"
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct polynomial {
    kryi_relaxer sweep;
    kry_vec *work; /* every second iterate; of as many columns as there ever were */
    int degree;
    double omega;          /* Neumann; 0: Chebyshev */
    double given;          /* the upper end of the interval if the caller gave it, else 0 */
    double ratio, highest; /* Chebyshev's interval is highest / ratio ... highest */
    double entry;          /* the diagonal of a grid if it is one number, else 0 */
    char variant[64];
} polynomial;

static kry_status find_interval(polynomial *M)
{
    kry_status st = KRY_OK;

    M->highest = M->given;
    if (!M->given)
        TRY(kryi_spectrum_bound("kry_chebyshev_create", M->sweep.A, M->sweep.M, &M->highest));
    kryi_print(M->variant, sizeof M->variant, "degree %d on %.3g ... %.3g", M->degree,
               M->highest / M->ratio, M->highest);
done:
    return st;
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* Where z_k is stored. The last iterate is z, so every second one is stored there. */
typedef struct places {
    kry_vec *z, work;
} places;
static kry_vec *place(const polynomial *M, int k, places *at)
{
    return (M->degree - k) % 2 ? &at->work : at->z;
}

/* The coefficients of step k, from 1 on, where *rho is Chebyshev's, 1 / sigma before the first. */
static void next_step(const polynomial *M, double *rho, double *c0, double *c1)
{
    const double low = M->highest / M->ratio, theta = (M->highest + low) / 2,
                 delta = (M->highest - low) / 2, next = 1 / (2 * theta / delta - *rho);

    *c0 = M->omega > 0 ? 0 : *rho * next;
    *c1 = M->omega > 0 ? M->omega : 2 * next / delta;
    *rho = next;
}

/* b of the formulas above, and the first rho. */
static double first_step(const polynomial *M, double *rho)
{
    const double low = M->highest / M->ratio, theta = (M->highest + low) / 2;

    *rho = (M->highest - low) / 2 / theta;
    return M->omega > 0 ? M->omega : 1 / theta;
}

/* sum NULL: none */
static kry_status polynomial_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    polynomial *M = self;
    kry_status st = KRY_OK;
    double rho, b = first_step(M, &rho);
    double multiple = M->entry > 0 ? b / M->entry : 0; /* z_0 = multiple r is not stored then */

    TRY(kryi_vec_widen(&M->work, z->k));
    places at = { z, kryi_vec_columns(M->work, 0, z->k) };
    const kryi_relax first = { .c1 = b, .b = r };
    if (!multiple) TRY(kryi_relaxer_run(&M->sweep, &first, place(M, 0, &at), NULL));
    for (int k = 1; k <= M->degree; k++) {
        kryi_relax s = { .b = r, .x = place(M, k - 1, &at) };
        next_step(M, &rho, &s.c0, &s.c1);
        if (k > 1 && s.c0 != 0) s.old = place(M, k - 2, &at);
        if (multiple && k == 2 && s.c0 != 0) s.old = r, s.old_scale = multiple;
        if (multiple && k == 1) s.x = r, s.x_scale = multiple;
        TRY(kryi_relaxer_run(&M->sweep, &s, place(M, k, &at), k == M->degree ? sum : NULL));
    }
done:
    return st;
}

static bool polynomial_as_polynomial(void *self, kryi_polynomial *p)
{
    const polynomial *M = self;
    double rho;

    if (!M->sweep.M || M->degree > KRY_POLYNOMIAL_DEGREE) return false;
    *p = (kryi_polynomial){ .A = M->sweep.A,
                            .d = kryi_op_as_diagonal(M->sweep.M),
                            .degree = M->degree };
    p->c[0] = first_step(M, &rho);
    for (int k = 1; k <= M->degree; k++) next_step(M, &rho, &p->c[2 * k - 1], &p->c[2 * k]);
    return true;
}

static kry_status polynomial_run(void *self, const kry_vec *r, kry_vec *z)
{
    return polynomial_apply_dots(self, r, z, NULL);
}

static kry_status polynomial_apply(void *self, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y)
{
    return kryi_op_apply_by(polynomial_run, self, alpha, x, beta, y);
}

static kry_status polynomial_renew(void *self)
{
    polynomial *M = self;
    kry_status st = KRY_OK;

    TRY(kryi_relaxer_update(&M->sweep));
    if (!M->omega) TRY(find_interval(M));
done:
    return st;
}

static void polynomial_describe(void *self, kry_op_info *info)
{
    const polynomial *M = self;
    double word = (double)M->work->n * (double)kry_type_size(M->work->type),
           sweep = kryi_relaxer_bytes(&M->sweep);
    /* z_0, or less where r takes its place; and z_k-2 */
    int words = M->sweep.M ? 3 : M->entry > 0 ? -1 : 2;

    if (!M->omega) words += M->degree - (M->entry > 0 && M->degree > 1 ? 2 : 1);
    info->variant = M->variant;
    if (sweep > 0) info->bytes_per_apply = M->degree * sweep + words * word;
}

static void polynomial_destroy(void *self)
{
    polynomial *M = self;
    if (!M) return;
    kry_vec_release(&M->work);
    kryi_relaxer_release(&M->sweep);
    free(M);
}

/* Two tables that differ in the name. */
#define TABLE(name)                                                                   \
    {                                                                                 \
        .struct_size = sizeof(kry_op_table), .kind = name, .apply = polynomial_apply, \
        .apply_block = polynomial_apply, .describe = polynomial_describe,             \
        .destroy = polynomial_destroy, .apply_dots = polynomial_apply_dots            \
    }
static const kry_op_table neumann_table = TABLE("neumann"), chebyshev_table = TABLE("chebyshev");
static const kryi_op_fused polynomial_fused = { .as_polynomial = polynomial_as_polynomial,
                                                .renew = polynomial_renew };

/* given: degree, and omega or the interval. */
static kry_status create(const char *who, const kry_op *A, const polynomial *given, kry_op **out)
{
    kry_status st = KRY_OK;
    polynomial *M = NULL;
    kry_op_shape shape = A->shape;

    TRY(kryi_alloc(1, sizeof *M, &M));
    *M = *given;
    if (kryi_stencil_of(A)) M->entry = kryi_stencil_diagonal_entry(kryi_stencil_of(A));
    TRY(kryi_relaxer_create(who, A, &M->sweep));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->work));
    if (M->omega > 0) {
        kryi_print(M->variant, sizeof M->variant, "degree %d, omega %g", M->degree, M->omega);
        shape.traits &= KRY_SYMMETRIC | (M->degree % 2 ? 0 : KRY_POSITIVE);
    } else {
        TRY(find_interval(M));
        shape.traits = KRY_SYMMETRIC;
    }
    TRY(kryi_op_create_fused(A->dev, M->omega > 0 ? &neumann_table : &chebyshev_table,
                             &polynomial_fused, M, &shape, out));
    M = NULL;
done:
    polynomial_destroy(M);
    return st;
}

/* ---- the constructors ------------------------------------------------------------------------ */

static kry_status neumann_create(const kry_op *A, const void *params, kry_op **out)
{
    const kry_neumann_params *p = params;
    const double usual = p->degree % 2 ? 0.9 : 1;

    return create(
        "kry_neumann_create", A,
        &(polynomial){ .degree = p->degree, .ratio = 1, .omega = p->omega > 0 ? p->omega : usual },
        out);
}

#define PARAMS kry_neumann_params
static const kryi_field neumann_fields[] = {
    { KRY_FIELD(INT, degree), KRY_WORD("degree", WHOLE, "=N", "products with A (default 2)"),
      KRY_CLOSED(1, 1000), .otherwise = 2 },
    { KRY_FIELD(DOUBLE, omega),
      KRY_WORD("omega", REAL, "=W", "weight (default 1, for odd degrees 0.9)"),
      KRY_OPEN(0, INFINITY) },
    { 0 },
};
#undef PARAMS

const kryi_constructor kryi_neumann_precond = { "kry_neumann_create", "KRY_NEUMANN",
                                                sizeof(kry_neumann_params), neumann_fields,
                                                .create = neumann_create };

kry_status kry_neumann_create(const kry_op *A, const kry_neumann_params *params, kry_op **out)
{
    return kryi_construct(&kryi_neumann_precond, A, params, out);
}

static kry_status chebyshev_create(const kry_op *A, const void *params, kry_op **out)
{
    const kry_chebyshev_params *p = params;

    return create("kry_chebyshev_create", A,
                  &(polynomial){ .degree = p->degree, .given = p->highest, .ratio = p->ratio },
                  out);
}

#define PARAMS kry_chebyshev_params
static const kryi_field chebyshev_fields[] = {
    { KRY_FIELD(INT, degree), KRY_WORD("degree", WHOLE, "=N", "products with A (default 4)"),
      KRY_CLOSED(1, 1000), .otherwise = 4 },
    { KRY_FIELD(DOUBLE, highest),
      KRY_WORD("highest", REAL, "=L",
               "no eigenvalue of D^-1 A is larger (default: grids 2, else by an estimate)"),
      KRY_OPEN(0, INFINITY) },
    { KRY_FIELD(DOUBLE, ratio),
      KRY_WORD("ratio", REAL, "=R", "of the ends of the interval (default 60)"),
      KRY_OPEN(1, INFINITY), .otherwise = 60 },
    { 0 },
};
#undef PARAMS

const kryi_constructor kryi_chebyshev_precond = { "kry_chebyshev_create", "KRY_CHEBYSHEV",
                                                  sizeof(kry_chebyshev_params), chebyshev_fields,
                                                  .create = chebyshev_create };

kry_status kry_chebyshev_create(const kry_op *A, const kry_chebyshev_params *params, kry_op **out)
{
    return kryi_construct(&kryi_chebyshev_precond, A, params, out);
}
