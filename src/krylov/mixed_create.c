/* mixed_create.c - mixed precision from parameters and from words, on one device and on a team. */
#include "krylov/auto.h"
#include "krylov/mixed.h"
#include "operator/op_parts.h"
#include <stdio.h>

enum { INNER = 25 }; /* iterations of a correction for the flexible scheme */

static kry_status check(const kry_op *A, const kry_options *o)
{
    kry_status st = KRY_OK;
    int64_t checked = -1;

    CHECK(
        kry_options_relax(o) || kry_method_number(o->method)->takes != KRY_TAKES_RECTANGULAR,
        KRY_ERR_UNSUPPORTED,
        "kry_mixed_create: method '%s' of least squares is not for mixed precision, which asks for "
        "residuals that fall to zero",
        kry_method_number(o->method)->kind);
    TRY(kry_op_check_square("kry_mixed_create", A));
    CHECK(A->shape.type == KRY_F64, KRY_ERR_TYPE,
          "kry_mixed_create: '%s' is single, and so are its numbers; mixed precision wants them in "
          "double (for a device without double: on_host of KRY_MATRIX, KRY_STENCIL)",
          A->table->kind);
    CHECK((unsigned)o->scheme <= KRY_SCHEME_DOUBLE, KRY_ERR_ARGUMENT,
          "kry_mixed_create: scheme = %d is none", (int)o->scheme);
    CHECK((unsigned)o->equilibrate <= KRY_EQUILIBRATE_ON, KRY_ERR_ARGUMENT,
          "kry_mixed_create: equilibrate = %d is none", (int)o->equilibrate);
    CHECK(o->inner >= 0, KRY_ERR_ARGUMENT, "kry_mixed_create: inner = %lld", (long long)o->inner);
    CHECK(o->inner_rtol >= 0 && o->inner_rtol < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: inner_rtol = %g is not in (0, 1)", o->inner_rtol);
    CHECK(o->delta >= 0 && o->delta < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: delta = %g is not in (0, 1)", o->delta);
    CHECK(o->stop.test != KRY_STOP_NEVER, KRY_ERR_UNSUPPORTED, KRY_NEVER_MIXED, "kry_mixed_create");
    if (kry_options_relax(o)) return KRY_OK;
    const kry_takes takes = kry_method_number(o->method)->takes;
    CHECK(takes != KRY_TAKES_ANY || o->scheme != KRY_SCHEME_FLEXIBLE, KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: scheme=flexible is conjugate gradients around solves in single, for "
          "symmetric "
          "matrices; around '%s' take reliable or classical",
          kry_method_number(o->method)->kind);
    TRY(kry_check_matrix("kry_mixed_create", A, o->check, takes, &checked));
done:
    return st;
}

static bool scales_diagonally(const kry_mixed *M)
{
    const kry_options *o = &M->options;
    const bool singular = kry_op_is_singular(M->A) || M->A->null_found.parts > 0;

    return !kry_options_deflate(o) && !singular && kry_op_is_assembled(M->A);
}

/* The matrix in single and a solver for it. */
static kry_status make_inner(kry_mixed *M)
{
    kry_status st = KRY_OK;
    kry_inner *I = &M->inner;
    kry_options o = M->options;
    int64_t n = M->A->shape.rows;

    TRY(kry_equilibrium_find(M->A, o.equilibrate, scales_diagonally(M), &M->e));
    TRY(kry_op_make_copy("kry_mixed_create", M->A, KRY_F32, M->e.factor, M->e.scale,
                         &M->converted));
    o.stop = (kry_stop){ .max_iter = M->options.stop.max_iter,
                         .check_every = M->options.stop.check_every };
    o.monitor = NULL;
    TRY(kry_options_solver(M->converted, &o, &I->solver));
    TRY(kry_options_system(M->converted, &o, &I->system));
    I->K = kry_krylov_of(I->solver);
    const kry_deflation *D = kry_deflation_of(I->K->deflation);
    CHECK(!D || !D->recycle, KRY_ERR_TYPE,
          "kry_mixed_create: a deflation whose vectors solves leave is not for mixed precision");
    kry_vec_release(&I->K->best); /* its solves are parts of another, which keeps x */
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->r));
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->x));
done:
    return st;
}

/* Where single cannot hold the matrix, double does: every result says so. */
static kry_status make_inner_or_double(kry_mixed *M)
{
    kry_status st = make_inner(M);

    if (st != KRY_ERR_UNSUPPORTED || M->converted || M->options.scheme != KRY_SCHEME_AUTO)
        return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    return KRY_OK;
}

static void set_scheme(kry_mixed *M)
{
    const kry_options *o = &M->options;

    M->fitting = o->scheme == KRY_SCHEME_AUTO ? KRY_SCHEME_RELIABLE : o->scheme;
    if (kry_options_relax(o) && M->fitting == KRY_SCHEME_RELIABLE)
        M->fitting = KRY_SCHEME_CLASSICAL;
    double drop = M->fitting == KRY_SCHEME_RELIABLE ? o->delta : o->inner_rtol;
    if (!(drop > 0)) drop = M->fitting == KRY_SCHEME_RELIABLE ? 0.1 : 1e-2;
    M->drop = drop;
    M->inner.rtol = o->inner_rtol;
    M->inner.most = o->inner ? o->inner : o->inner_rtol > 0 ? 0 : INNER;
}

typedef struct given {
    const kry_op *A; /* of all rows */
    const kry_options *options;
    const kry_subdomains
        *subdomains; /* of all rows, where words ask a team for deflation; else NULL */
} given;

static kry_status create(const kry_op *A, const void *user, kry_op **solver)
{
    kry_status st = KRY_OK;
    const given *g = user;
    kry_mixed *M = NULL;
    kry_vec vectors; /* words have none */

    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->options = *g->options;
    const bool relaxes = kry_options_relax(&M->options);
    M->check = relaxes ? KRY_CHECK_NONE : M->options.check;
    M->checked = kry_pin_of(A)->updates;
    if (!relaxes) M->takes = kry_method_number(M->options.method)->takes;
    M->options.check = KRY_CHECK_NONE; /* of the copies, for it was made of A */
    if (g->subdomains) {
        TRY(kry_subdomains_of_part(g->subdomains, g->A, kry_layout_rank(&A->dev->layout), &vectors,
                                   &M->subdomains));
        M->options.subdomains = &M->subdomains;
    }
    TRY(kry_layout_rows(&A->dev->layout, A->shape.rows, NULL, &M->unknowns));
    M->limits = M->options.stop.max_iter == 0 && M->options.scheme == KRY_SCHEME_AUTO;
    TRY(kry_stop_check("kry_mixed_create", KRY_F64, M->unknowns, &M->options.stop));
    set_scheme(M);
    TRY(kry_options_system(A, &M->options, &M->system));
    if (M->fitting != KRY_SCHEME_DOUBLE) TRY(make_inner_or_double(M));
    TRY(kry_outer_create(M, &M->outer));
    TRY(kry_device_finish(kry_device_for_copies(A->dev)));
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    TRY(kry_op_create(A->dev, &kry_mixed_table, M, &shape, solver));
    M = NULL;
done:
    kry_mixed_destroy(M);
    return st;
}

/* The vectors that solves leave are those of whole solves. */
static kry_status check_deflation(const kry_options *o)
{
    kry_status st = KRY_OK;
    kry_deflation_params deflation;
    char room[sizeof o->deflation];

    if (o->make.deflation || kry_options_relax(o) || !kry_options_deflate(o)) return KRY_OK;
    TRY(kry_options_deflation(o, room, sizeof room, &deflation));
    CHECK(!deflation.recycle, KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: deflation=%s is not for precision=mixed", o->deflation);
done:
    return st;
}

/* All parts of a team find the sub-domains together. */
kry_status kry_options_mixed(const kry_op *A, const kry_options *given_options, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_options settled = *given_options;
    const kry_options *o = &settled;
    const bool parts = kry_op_in_parts(A);
    const bool deflates = parts && kry_options_deflate(o) && !kry_options_relax(o);
    kry_subdomains all = { 0 };
    kry_deflation_params deflation;
    char room[sizeof o->deflation];
    const kry_stopwatch watch = kry_stopwatch_begin(A->dev);

    if (kry_options_choose(o)) TRY(kry_auto_settle(A, &settled));
    TRY(check(A, o));
    TRY(check_deflation(o));
    CHECK(!parts || (!o->make.precond && !o->make.deflation), KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: on several devices preconditioners and deflation are made by words of "
          "the options, not by functions");
    if (deflates) {
        TRY(kry_options_deflation(o, room, sizeof room, &deflation));
        TRY(kry_subdomains_find(A, &deflation, &all));
    }
    TRY(kry_op_make(A, create, &(given){ A, o, deflates ? &all : NULL }, solver));
    (*solver)->setup = kry_stopwatch_end(&watch);
done:
    kry_subdomains_release(&all);
    return st;
}

kry_status kry_mixed_create(const kry_op *A, const kry_mixed_params *params, kry_op **solver)
{
    kry_status st = KRY_OK;
    const kry_mixed_params *p = params;
    kry_mixed_params mine;
    kry_options o = { 0 };

    kry_team_enter(kry_op_device(A), "kry_mixed_create", NULL);
    if (solver) *solver = NULL;
    TRY(GIVEN(solver));
    CHECK(A, KRY_ERR_ARGUMENT, "kry_mixed_create: NULL");
    TAKE_PARAMS(p, mine, "kry_mixed_create", "KRY_MIXED");
    kry_team_same_fields(A->dev, "xxiqdddi" KRY_STOP_FIELDS "xxPPx", p, sizeof *p);
    TRY(kry_options_parse_inner(p->options ? p->options : "", &o));
    kry_options_same(A->dev, &o);
    o.scheme = p->scheme, o.equilibrate = p->equilibrate;
    o.inner = p->inner, o.inner_rtol = p->inner_rtol, o.delta = p->delta;
    o.make.precond = p->precond, o.make.deflation = p->deflation, o.make.user = p->make_user;
    o.stop = p->stop, o.omega = p->omega;
    o.monitor = p->monitor, o.monitor_user = p->monitor_user;
    TRY(kry_options_mixed(A, &o, solver));
done:
    st = kry_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}
