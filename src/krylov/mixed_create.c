/* mixed_create.c - mixed precision from parameters and from words, on one device and on a team. */
#include "krylov/auto.h"
#include "krylov/mixed.h"
#include "operator/op_parts.h"
#include <stdio.h>

enum { INNER = 25 }; /* iterations of a correction for the flexible scheme */

static kry_status check(const kry_op *A, const kryi_options *o)
{
    kry_status st = KRY_OK;
    int64_t checked = -1;

    CHECK(
        kryi_options_relax(o) || kryi_method_number(o->method)->takes != KRY_TAKES_RECTANGULAR,
        KRY_ERR_UNSUPPORTED,
        "kry_mixed_create: method '%s' of least squares is not for mixed precision, which asks for "
        "residuals that fall to zero",
        kryi_method_number(o->method)->kind);
    TRY(kryi_op_check_square("kry_mixed_create", A));
    CHECK(A->shape.type == KRY_F64, KRY_ERR_TYPE,
          "kry_mixed_create: '%s' is single, and so are its numbers; mixed precision wants them in "
          "double (for a device without double: on_host of KRY_MATRIX, KRY_STENCIL)",
          A->table->kind);
    TRY(kryi_fields_check("kry_mixed_create", kryi_mixed_fields, &o->mixed));
    CHECK(o->pcg.stop.test != KRY_STOP_NEVER, KRY_ERR_UNSUPPORTED, KRY_NEVER_MIXED,
          "kry_mixed_create");
    if (kryi_options_relax(o)) return KRY_OK;
    const kryi_takes takes = kryi_method_number(o->method)->takes;
    CHECK(takes != KRY_TAKES_ANY || o->mixed.scheme != KRY_SCHEME_FLEXIBLE, KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: scheme=flexible is conjugate gradients around solves in single, for "
          "symmetric "
          "matrices; around '%s' take reliable or classical",
          kryi_method_number(o->method)->kind);
    TRY(kryi_check_matrix("kry_mixed_create", A, o->pcg.check, takes, &checked));
done:
    return st;
}

static bool scales_diagonally(const kryi_mixed *M)
{
    const kryi_options *o = &M->options;
    const bool singular = kryi_op_is_singular(M->A) || M->A->null_found.parts > 0;

    return !kryi_options_deflate(o) && !singular && kryi_op_is_assembled(M->A);
}

/* The matrix in single and a solver for it. */
static kry_status make_inner(kryi_mixed *M)
{
    kry_status st = KRY_OK;
    kryi_inner *I = &M->inner;
    kryi_options o = M->options;
    int64_t n = M->A->shape.rows;

    TRY(kryi_equilibrium_find(M->A, o.mixed.equilibrate, scales_diagonally(M), &M->e));
    TRY(kryi_op_make_copy("kry_mixed_create", M->A, KRY_F32, M->e.factor, M->e.scale,
                          &M->converted));
    o.pcg.stop = (kry_stop){ .max_iter = M->options.pcg.stop.max_iter,
                             .check_every = M->options.pcg.stop.check_every };
    o.pcg.monitor = NULL;
    TRY(kryi_options_solver(M->converted, &o, &I->solver));
    I->K = kryi_krylov_of(I->solver);
    const kryi_deflation *D = kryi_deflation_of(I->K->deflation);
    CHECK(!D || !D->recycle, KRY_ERR_TYPE,
          "kry_mixed_create: a deflation whose vectors solves leave is not for mixed precision");
    kry_vec_release(&I->K->best); /* its solves are parts of another, which keeps x */
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->r));
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->x));
done:
    return st;
}

/* Where single cannot hold the matrix, double does: every result says so. */
static kry_status make_inner_or_double(kryi_mixed *M)
{
    kry_status st = make_inner(M);

    if (st != KRY_ERR_UNSUPPORTED || M->converted || M->options.mixed.scheme != KRY_SCHEME_AUTO)
        return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    return KRY_OK;
}

static void set_scheme(kryi_mixed *M)
{
    const kryi_options *o = &M->options;

    M->fitting = o->mixed.scheme == KRY_SCHEME_AUTO ? KRY_SCHEME_RELIABLE : o->mixed.scheme;
    if (kryi_options_relax(o) && M->fitting == KRY_SCHEME_RELIABLE)
        M->fitting = KRY_SCHEME_CLASSICAL;
    double drop = M->fitting == KRY_SCHEME_RELIABLE ? o->mixed.delta : o->mixed.inner_rtol;
    if (!(drop > 0)) drop = M->fitting == KRY_SCHEME_RELIABLE ? 0.1 : 1e-2;
    M->drop = drop;
    M->inner.rtol = o->mixed.inner_rtol;
    M->inner.most = o->mixed.inner ? o->mixed.inner : o->mixed.inner_rtol > 0 ? 0 : INNER;
}

typedef struct given {
    const kry_op *A; /* of all rows */
    const kryi_options *options;
    const kryi_subdomains
        *subdomains; /* of all rows, where words ask a team for deflation; else NULL */
} given;

static kry_status create(const kry_op *A, const void *user, kry_op **solver)
{
    kry_status st = KRY_OK;
    const given *g = user;
    kryi_mixed *M = NULL;
    kry_vec vectors; /* words have none */

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->options = *g->options;
    const bool relaxes = kryi_options_relax(&M->options);
    M->check = relaxes ? KRY_CHECK_NONE : M->options.pcg.check;
    M->checked = A->updates;
    if (!relaxes) M->takes = kryi_method_number(M->options.method)->takes;
    M->options.pcg.check = KRY_CHECK_NONE; /* of the copies, for it was made of A */
    if (g->subdomains) {
        TRY(kryi_subdomains_of_part(g->subdomains, g->A, kryi_layout_rank(&A->dev->layout),
                                    &vectors, &M->subdomains));
        M->options.subdomains = &M->subdomains;
    }
    TRY(kryi_layout_rows(&A->dev->layout, A->shape.rows, NULL, &M->unknowns));
    M->limits = M->options.pcg.stop.max_iter == 0 && M->options.mixed.scheme == KRY_SCHEME_AUTO;
    TRY(kryi_stop_check("kry_mixed_create", KRY_F64, M->unknowns, &M->options.pcg.stop));
    set_scheme(M);
    if (M->fitting != KRY_SCHEME_DOUBLE) TRY(make_inner_or_double(M));
    TRY(kryi_outer_create(M, &M->outer));
    TRY(kry_device_finish(kryi_device_for_copies(A->dev)));
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    TRY(kryi_op_create_fused(A->dev, &kryi_mixed_table, &kryi_mixed_fused, M, &shape, solver));
    M = NULL;
done:
    kryi_mixed_destroy(M);
    return st;
}

/* All parts of a team find the sub-domains together. */
kry_status kryi_options_mixed(const kry_op *A, const kryi_options *given_options, kry_op **solver)
{
    kry_status st = KRY_OK;
    kryi_options settled = *given_options;
    const kryi_options *o = &settled;
    const bool parts = kryi_op_in_parts(A);
    kryi_subdomains all = { 0 };
    kry_deflation_params deflation;
    char room[sizeof o->deflation];
    const kryi_stopwatch watch = kryi_stopwatch_begin(A->dev);

    if (kryi_options_choose(o)) TRY(kryi_auto_settle(A, &settled));
    TRY(check(A, o));
    CHECK(!parts || (!o->mixed.precond && !o->mixed.deflation), KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: on several devices preconditioners and deflation are made by words of "
          "the options, not by functions");
    const bool words = kryi_options_deflate(o) && !o->mixed.deflation && !kryi_options_relax(o);
    if (words) TRY(kryi_options_deflation(o, room, sizeof room, &deflation));
    CHECK(!words || !deflation.recycle, KRY_ERR_UNSUPPORTED, /* its vectors are of whole solves */
          "kry_mixed_create: deflation=%s is not for precision=mixed", o->deflation);
    if (words && parts) TRY(kryi_subdomains_find(A, &deflation, &all));
    TRY(kryi_op_make(A, create, &(given){ A, o, words && parts ? &all : NULL }, solver));
    (*solver)->setup = kryi_stopwatch_end(&watch);
done:
    kryi_subdomains_release(&all);
    return st;
}

kry_status kry_mixed_create(const kry_op *A, const kry_mixed_params *params, kry_op **solver)
{
    kry_status st = KRY_OK;
    const kry_mixed_params *p = params;
    kry_mixed_params mine;
    kryi_options o = { 0 };

    kryi_team_enter(kry_op_device(A), "kry_mixed_create", NULL);
    if (solver) *solver = NULL;
    TRY(GIVEN(solver));
    CHECK(A, KRY_ERR_ARGUMENT, "kry_mixed_create: NULL");
    TAKE_PARAMS(p, mine, "kry_mixed_create", "KRY_MIXED");
    kryi_team_same_fields(A->dev, kryi_mixed_fields, p);
    TRY(kryi_options_parse_inner(p->options ? p->options : "", &o));
    kryi_team_same_fields(A->dev, kryi_options_fields, &o);
    o.mixed = *p, o.pcg.stop = p->stop;
    o.pcg.monitor = p->monitor, o.pcg.monitor_user = p->monitor_user;
    TRY(kryi_options_mixed(A, &o, solver));
    (*solver)->stop = p->stop;
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}
