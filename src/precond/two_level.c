/*
 * two_level.c - the first level, M, and the second, Q = Z E^-1 Z', as one preconditioner;
 * P = I - A Q.
 *
 *   DEF1     P A in place of A, M as it is          (algorithm 2 of Gupta, Vuik, Lemmens)
 *   A-DEF2   z := (I - Q A) M r + Q r               one coarse solve, as DEF1; stable
 *   BNN      z := (I - Q A) M (I - A Q) r + Q r     symmetric for any start; two coarse solves
 *
 * All start from x + Q (b - A x). A-DEF2 and BNN end alike: c := E^-1 (Z'r - (AZ)'y), z := y + Z c.
 *
 * Source  J. M. Tang, R. Nabben, C. Vuik, Y. A. Erlangga, Comparison of two-level preconditioners
 *         derived from deflation, domain decomposition and multigrid methods, J. Sci. Comput. 39
 *         (2009)
 */
#include "precond/deflation.h"
#include <math.h>
#include <stdlib.h>

typedef struct two_level {
    kry_op *D_op, *M;  /* retained; M NULL: the identity */
    kryi_deflation *D; /* D_op's */
    bool balances;     /* BNN, not A-DEF2 */
    double scale;      /* scale M is taken in place of M */
    kry_sum *sum;      /* for an application without a use for its sums */
    kry_vec *t;        /* BNN: (I - A Q) r, of as many columns as there ever were */
} two_level;

static void two_level_destroy(void *self)
{
    two_level *T = self;
    if (!T) return;
    kry_vec_release(&T->t);
    kry_sum_release(&T->sum);
    kry_op_release(&T->M);
    kry_op_release(&T->D_op);
    free(T);
}

/* In the preconditioned system all of Z has the eigenvalue 1. Where M is much larger or smaller than the
 * inverse of A, the other eigenvalues lie far from 1, and the errors along Z that rounding makes are hardly
 * corrected. So find s, a power of two, such that those of s M A are about 1, by one random r; s is 1 if M
 * is near enough. */
static kry_status find_scale(two_level *T)
{
    enum { NEAR = 3 }; /* binary exponents */
    kry_status st = KRY_OK;
    const kry_op *A = T->D->A;
    kry_vec *r = NULL, *z = NULL, *q = NULL;
    double rz, zq;

    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &r));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &z));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &q));
    TRY(kryi_vec_fill_random(0, r));
    TRY(T->M ? kry_op_apply(T->M, 1, r, 0, z) : kry_vec_copy(r, z));
    TRY(kry_op_apply(A, 1, z, 0, q));
    TRY(kry_vec_dot(r, z, &rz));
    TRY(kry_vec_dot(z, q, &zq));
    double exponent = rint(log2(rz / zq)); /* NaN for an A or M that is not positive definite */
    bool far = fabs(exponent) >= NEAR && isfinite(exponent);
    T->scale = far ? ldexp(1, (int)exponent) : 1;
done:
    kry_vec_release(&q);
    kry_vec_release(&z);
    kry_vec_release(&r);
    return st;
}

static kry_status two_level_renew(void *self)
{
    two_level *T = self;
    kry_status st = KRY_OK;

    if (T->M) TRY(kry_op_update(T->M, NULL));
    TRY(kry_op_update(T->D_op, NULL));
    TRY(find_scale(T));
done:
    return st;
}

/* in: the vector that M is applied to, r or (I - A Q) r. */
static kry_status project_residual(two_level *T, const kry_vec *r, kry_vec *in)
{
    kry_status st = KRY_OK;
    kry_vec c;

    *in = kryi_vec_borrow(r);
    if (!T->balances) return KRY_OK;
    TRY(kryi_vec_take(&T->t, r->k, in));
    TRY(kryi_deflation_solve(T->D, r, NULL, &c));
    TRY(kry_vec_copy(r, in));
    TRY(kryi_deflation_subtract(T->D, &c, in));
done:
    return st;
}

/* z := scale M r */
static kry_status first_level(two_level *T, const kry_vec *r, kry_vec *z)
{
    return T->M ? kryi_op_run_apply(T->M, T->scale, r, 0, z) : kry_vec_axpby(T->scale, r, 0, z);
}

/* z := y of A-DEF2 and BNN, and c */
static kry_status both_levels(two_level *T, const kry_vec *r, kry_vec *z, kry_vec *c)
{
    kry_status st = KRY_OK;
    kry_vec in;

    TRY(project_residual(T, r, &in));
    TRY(first_level(T, &in, z));
    TRY(kryi_deflation_solve(T->D, r, z, c));
done:
    return st;
}

/* Whether M leaves the sum r.z behind, to which the second level adds k products: Z'r is known. */
static bool keeps_sums(const two_level *T, const kry_vec *z)
{
    const kryi_deflation *D = T->D;
    return !T->balances && D->AZ_t && T->M && T->M->table->apply_dots && T->scale == 1 &&
           !*kryi_vec_alignment(&z, 1);
}

static kry_status two_level_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    two_level *T = self;
    kry_status st = KRY_OK;
    kry_vec c;

    if (!kryi_deflation_ready(T->D)) {
        if (T->M && T->scale == 1) return kryi_op_run_dots(T->M, r, z, sum);
        TRY(first_level(T, r, z));
        return kryi_vec_dot_pair(r, z, sum);
    }
    if (keeps_sums(T, z)) {
        TRY(T->M->table->apply_dots(T->M->self, r, z, sum));
        TRY(kryi_deflation_solve(T->D, r, z, &c));
        return kryi_subspace_add(&T->D->Z, &c, z, sum);
    }
    TRY(both_levels(T, r, z, &c));
    TRY(kryi_subspace_correct(&T->D->Z, &c, r, z, sum));
done:
    return st;
}

/* Several columns at once, without sums. */
static kry_status run_columns(two_level *T, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_vec c;

    if (!kryi_deflation_ready(T->D)) return first_level(T, r, z);
    TRY(both_levels(T, r, z, &c));
    TRY(kryi_subspace_prolong(&T->D->Z, 1, &c, 1, z));
done:
    return st;
}

static kry_status precond_run(void *self, const kry_vec *r, kry_vec *z)
{
    two_level *T = self;
    return r->k > 1 ? run_columns(T, r, z) : two_level_dots(T, r, z, T->sum);
}

static kry_status two_level_apply(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    return kryi_op_apply_by(precond_run, self, alpha, x, beta, y);
}

static void two_level_describe(void *self, kry_op_info *info)
{
    const two_level *T = self;
    kry_op_info D, M = { .bytes_per_apply = 0 };
    double number = (double)kry_type_size(T->D->Z.type), word = (double)T->D->Z.n * number;

    kry_op_describe(T->D_op, &D);
    info->variant = D.variant;
    if (T->M) kry_op_describe(T->M, &M);
    if (T->M && M.bytes_per_apply <= 0) return;
    /* D describes Q, which restricts and adds; beside that (AZ)'y, and r read for its sums. */
    info->bytes_stored = D.bytes_stored;
    info->bytes_per_apply = M.bytes_per_apply + (T->M ? 0 : 2 * word) + D.bytes_per_step -
                            (keeps_sums(T, T->D->t) ? word : 0);
}

static const kry_op_table precond_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "two-level",
    .apply = two_level_apply,
    .apply_block = two_level_apply,
    .apply_dots = two_level_dots,
    .describe = two_level_describe,
    .destroy = two_level_destroy,
};

static kry_status create(const kry_op_table *table, const kry_op *D, const kry_op *M,
                         const kry_op_shape *shape, kry_op **out)
{
    static const kryi_op_fused fused[] = { [true] = { .renew = two_level_renew } };
    kry_status st = KRY_OK;
    two_level *T = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *T, &T));
    T->D_op = kry_op_retain(D);
    T->D = kryi_deflation_of(D);
    T->balances = T->D->variant == KRY_BNN || (T->D->variant == KRY_VARIANT_AUTO && !M);
    T->scale = 1;
    if (M) T->M = kry_op_retain(M);
    TRY(kry_sum_create(D->dev, 2, &T->sum));
    if (T->balances) TRY(kry_vec_create(D->dev, shape->type, shape->rows, 1, &T->t));
    if (table == &precond_table) TRY(find_scale(T));
    TRY(kryi_op_create_fused(D->dev, table, &fused[table == &precond_table], T, shape, out));
    T = NULL;
done:
    two_level_destroy(T);
    return st;
}

kry_status kryi_two_level_precond(const kry_op *D, const kry_op *M, kry_op **out)
{
    kry_op_shape shape = D->shape;
    /* A-DEF2 is symmetric on the residuals that follow a start from x + Q r, and only there. */
    kry_status st = KRY_OK;

    shape.traits = 0;
    TRY(create(&precond_table, D, M, &shape, out));
    if (((two_level *)(*out)->self)->balances) (*out)->shape.traits = KRY_SYMMETRIC;
done:
    return st;
}

static kry_status product_run(void *self, const kry_vec *x, kry_vec *q)
{
    const two_level *T = self;
    kry_status st = KRY_OK;
    kry_vec c;

    TRY(kryi_op_run_apply(T->D->A, 1, x, 0, q));
    TRY(kryi_deflation_solve(T->D, q, NULL, &c));
    TRY(kryi_deflation_subtract(T->D, &c, q));
done:
    return st;
}

static kry_status product_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_op_apply_by(product_run, self, alpha, x, beta, y);
}

static kry_status product_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    TRY(product_run(self, x, y));
    TRY(kry_vec_dot_sum(x, y, sum));
done:
    return st;
}

static void product_describe(void *self, kry_op_info *info)
{
    const two_level *T = self;
    kry_op_info A, D;

    kry_op_describe(T->D->A, &A);
    kry_op_describe(T->D_op, &D);
    if (A.bytes_per_apply > 0)
        info->bytes_per_apply = A.bytes_per_apply + D.bytes_per_step +
                                2.0 * (double)T->D->Z.n * (double)kry_type_size(T->D->Z.type);
}

static const kry_op_table product_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "deflated",
    .apply = product_apply,
    .apply_block = product_apply,
    .apply_dot = product_apply_dot,
    .describe = product_describe,
    .destroy = two_level_destroy,
};

kry_status kryi_two_level_product(const kry_op *D, kry_op **out)
{
    kry_op_shape shape = D->shape;
    shape.traits = KRY_SYMMETRIC | KRY_SINGULAR; /* P A is symmetric, and maps Z to zero */
    return create(&product_table, D, NULL, &shape, out);
}
