/* mixed_create.c - mixed precision from parameters and from words, on one device and on a team. */
#include "krylov/mixed.h"
#include "operator/op_parts.h"
#include <stdio.h>

enum { INNER = 25 }; /* iterations of a correction for the flexible scheme */

static kry_status check(const kry_op *A, const kry_mixed_params *p)
{
    kry_status st = KRY_OK;

    TRY(kry_op_check_square("kry_mixed_create", A));
    CHECK(A->shape.type == KRY_F64, KRY_ERR_TYPE,
          "kry_mixed_create: '%s' is single, and so are its numbers; mixed precision wants them in "
          "double (for a device without double: on_host of KRY_MATRIX, KRY_STENCIL)",
          A->table->kind);
    CHECK((unsigned)p->scheme <= KRY_SCHEME_DOUBLE, KRY_ERR_ARGUMENT,
          "kry_mixed_create: scheme = %d is none", (int)p->scheme);
    CHECK((unsigned)p->equilibrate <= KRY_EQUILIBRATE_ON, KRY_ERR_ARGUMENT,
          "kry_mixed_create: equilibrate = %d is none", (int)p->equilibrate);
    CHECK(p->inner >= 0, KRY_ERR_ARGUMENT, "kry_mixed_create: inner = %lld", (long long)p->inner);
    CHECK(p->inner_rtol >= 0 && p->inner_rtol < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: inner_rtol = %g is not in (0, 1)", p->inner_rtol);
    CHECK(p->delta >= 0 && p->delta < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: delta = %g is not in (0, 1)", p->delta);
done:
    return st;
}

static bool scales_diagonally(const kry_mixed *M)
{
    const kry_options *o = &M->options;
    bool singular = M->A->null_space || (M->A->shape.traits & KRY_SINGULAR);

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
    o.stop = (kry_stop){ .max_iter = M->stop.max_iter, .check_every = M->stop.check_every };
    o.monitor = NULL;
    TRY(kry_options_solver(M->converted, &o, &I->solver));
    TRY(kry_options_system(M->converted, &o, &I->system));
    I->K = kry_krylov_of(I->solver);
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->r));
    TRY(kry_vec_create(M->converted->dev, KRY_F32, n, 1, &I->x));
done:
    return st;
}

/* Where single cannot hold the matrix, double does: every result says so. */
static kry_status make_inner_or_double(kry_mixed *M)
{
    kry_status st = make_inner(M);

    if (st != KRY_ERR_UNSUPPORTED || M->converted || M->asked != KRY_SCHEME_AUTO) return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    return KRY_OK;
}

static void set_scheme(kry_mixed *M, const kry_mixed_params *p)
{
    M->asked = p->scheme;
    M->fitting = p->scheme == KRY_SCHEME_AUTO ? KRY_SCHEME_RELIABLE : p->scheme;
    if (kry_options_relax(&M->options) && M->fitting == KRY_SCHEME_RELIABLE)
        M->fitting = KRY_SCHEME_CLASSICAL;
    double drop = M->fitting == KRY_SCHEME_RELIABLE ? p->delta : p->inner_rtol;
    if (!(drop > 0)) drop = M->fitting == KRY_SCHEME_RELIABLE ? 0.1 : 1e-2;
    M->drop = drop;
    M->inner.rtol = p->inner_rtol;
    M->inner.most = p->inner ? p->inner : p->inner_rtol > 0 ? 0 : INNER;
    M->options.equilibrate = p->equilibrate;
}

/* subdomains: on a part of a team, where words ask for deflation; taken over even if it fails. */
static kry_status create(const kry_op *A, const kry_mixed_params *params, const kry_options *inner,
                         kry_subdomains *subdomains, kry_op **solver)
{
    kry_status st = KRY_OK;
    int64_t unknowns;
    kry_mixed *M = NULL;
    double start = kry_now();

    *solver = NULL;
    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->stop = params->stop;
    M->monitor = params->monitor, M->monitor_user = params->monitor_user;
    M->options = *inner;
    if (subdomains) {
        M->subdomains = *subdomains, *subdomains = (kry_subdomains){ 0 };
        M->options.subdomains = &M->subdomains;
    }
    TRY(kry_layout_rows(&A->dev->layout, A->shape.rows, NULL, &unknowns));
    TRY(kry_stop_check("kry_mixed_create", KRY_F64, unknowns, &M->stop));
    set_scheme(M, params);
    TRY(kry_options_system(A, &M->options, &M->system));
    if (M->fitting != KRY_SCHEME_DOUBLE) TRY(make_inner_or_double(M));
    TRY(kry_outer_create(M, &M->outer));
    TRY(kry_device_finish(kry_device_for_copies(A->dev)));
    M->setup_seconds = kry_now() - start;
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    TRY(kry_op_create(A->dev, &kry_mixed_table, M, &shape, solver));
    M = NULL;
done:
    kry_mixed_destroy(M);
    if (subdomains) kry_subdomains_release(subdomains);
    return st;
}

/* ---- on a team: which sub-domains, all parts find together ------------------------------ */

typedef struct part_args {
    const kry_op *A;
    const kry_mixed_params *params;
    const kry_options *inner;
    const kry_subdomains *subdomains; /* NULL: no deflation */
} part_args;

static kry_status create_part(const kry_op *A, const void *user, kry_op **solver)
{
    kry_status st = KRY_OK;
    const part_args *given = user;
    int rank = kry_layout_rank(&A->dev->layout);
    kry_subdomains mine;
    kry_vec vectors; /* words have none */

    if (given->subdomains)
        TRY(kry_subdomains_of_part(given->subdomains, given->A, rank, &vectors, &mine));
    TRY(create(A, given->params, given->inner, given->subdomains ? &mine : NULL, solver));
done:
    return st;
}

static kry_status create_in_parts(const kry_op *A, const kry_mixed_params *params,
                                  const kry_options *inner, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_subdomains all = { 0 };
    kry_deflation_params deflation;
    char room[sizeof inner->deflation];

    CHECK(!params->precond && !params->deflation, KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: on several devices preconditioners and deflation are made by words of "
          "the options, not by functions");
    bool deflates = kry_options_deflate(inner) && !kry_options_relax(inner);
    if (deflates) {
        TRY(kry_options_deflation(inner, room, sizeof room, &deflation));
        TRY(kry_subdomains_find(A, &deflation, &all));
    }
    const part_args given = { A, params, inner, deflates ? &all : NULL };
    TRY(kry_op_make(A, create_part, &given, solver));
done:
    kry_subdomains_release(&all);
    return st;
}

static kry_status create_checked(const kry_op *A, const kry_mixed_params *params,
                                 kry_options *inner, kry_op **solver)
{
    kry_status st = KRY_OK;

    inner->make_precond = params->precond, inner->make_deflation = params->deflation;
    inner->make_user = params->make_user;
    inner->omega = params->omega;
    TRY(check(A, params));
    TRY(kry_op_in_parts(A) ? create_in_parts(A, params, inner, solver)
                           : create(A, params, inner, NULL, solver));
done:
    return st;
}

kry_status kry_mixed_create(const kry_op *A, const kry_mixed_params *params, kry_op **solver)
{
    static const kry_mixed_params defaults = { .struct_size = sizeof defaults };
    kry_status st = KRY_OK;
    kry_options inner = { 0 };

    *solver = NULL;
    if (!params) params = &defaults;
    CHECK(A, KRY_ERR_ARGUMENT, "kry_mixed_create: NULL");
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_mixed_create: params not made by KRY_MIXED");
    TRY(kry_options_parse_inner(params->options ? params->options : "", &inner));
    TRY(create_checked(A, params, &inner, solver));
done:
    return st;
}

/* ---- by option string ------------------------------------------------------------------- */

kry_status kry_options_mixed(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_options inner = *o; /* what its method does not take, it refuses by itself */
    const kry_mixed_params params = { .struct_size = sizeof params,
                                      .scheme = o->scheme,
                                      .inner = o->inner,
                                      .inner_rtol = o->inner_rtol,
                                      .delta = o->delta,
                                      .equilibrate = o->equilibrate,
                                      .stop = o->stop,
                                      .monitor = o->monitor,
                                      .monitor_user = o->monitor_user,
                                      .omega = o->omega };
    return create_checked(A, &params, &inner, solver);
}
