/* options.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "krylov/options.h"
#include "krylov/auto.h"
#include "krylov/auto_precond.h"
#include "krylov/find_null.h"
#include "krylov/method.h"
#include "krylov/reorder.h"
#include "krylov/scaled.h"
#include <kry/deflation.h>
#include <kry/multigrid.h>
#include <kry/precond.h>
#include <stdio.h>
#include <string.h>

bool kryi_options_deflate(const kryi_options *o)
{
    return o->mixed.deflation || (o->deflation[0] && strcmp(o->deflation, "none"));
}

kry_status kryi_options_deflation(const kryi_options *o, char *room, size_t size,
                                  kry_deflation_params *params)
{
    *params = *KRY_DEFLATION(.stripes = 0);
    return kry_deflation_parse(o->deflation, room, size, params);
}

/* D from its word; NULL for none. */
static kry_status make_deflation(const kry_op *A, const kryi_options *o, kry_op **D)
{
    kry_status st = KRY_OK;
    kry_deflation_params params;
    char room[sizeof o->deflation];

    *D = NULL;
    if (o->mixed.deflation) return o->mixed.deflation(o->mixed.make_user, A, D);
    if (!kryi_options_deflate(o)) return KRY_OK;
    TRY(kryi_options_deflation(o, room, sizeof room, &params));
    TRY(o->subdomains ? kryi_deflation_create_with(A, &params, o->subdomains, D)
                      : kry_deflation_create(A, &params, D));
done:
    return st;
}

kry_status kryi_options_system(const kry_op *A, const kryi_options *o, kry_op **system)
{
    if (o->null_space == KRY_NULL_SPACE_PIN) return kry_pin_create(A, 0, system);
    *system = kry_op_retain(A);
    return KRY_OK;
}

/* Multigrid leaves little for a second level to do, and knows nothing of a pin. */
const char *kry_precond_default(const kry_op *A, bool alone)
{
    return alone && kry_mg_takes(A) ? "mg" : "jacobi";
}

/* Columns are scaled by default where A x = b is to be solved. Of a rectangular A that would be another x than
 * the shortest one. */
static bool scales_columns(const kry_op *A, const kryi_options *o)
{
    return (o->method == KRY_METHOD_LSQR || o->method == KRY_METHOD_LSMR) &&
           A->shape.rows == A->shape.cols;
}

static const char *precond_of(const kry_op *A, const kryi_options *o)
{
    const bool alone = !kryi_options_deflate(o) && o->null_space != KRY_NULL_SPACE_PIN;

    if (!strcmp(o->precond, "auto") && !alone) return "jacobi";
    if (o->precond[0]) return o->precond;
    if (o->method == KRY_METHOD_MG || o->method == KRY_METHOD_FMG)
        return kry_mg_takes(A) ? "mg" : "amg";
    if (scales_columns(A, o)) return "columns";
    return o->method == KRY_METHOD_PCG ? kry_precond_default(A, alone) : "none";
}

/* Methods that hand M its own results, or want the error of discretisation, ask for more digits than a cycle in single has. */
static bool takes_single(const kryi_options *o)
{
    return o->method == KRY_METHOD_PCG || o->method == KRY_METHOD_MG ||
           o->method == KRY_METHOD_RICHARDSON || o->method == KRY_METHOD_FGMRES;
}

/* M is made from A, for it may read entries or want a grid. Where nobody asked for multigrid, and it cannot be
 * made in these numbers, it is Jacobi's; where nobody asked for columns to be scaled, and they cannot be read, none. */
static kry_status make_precond(const kry_op *A, const kryi_options *o, kry_op **M)
{
    const char *word = precond_of(A, o);

    if (o->mixed.precond) return o->mixed.precond(o->mixed.make_user, A, M);
    kry_status st = kryi_precond_create(A, word, takes_single(o), M);
    if (st == KRY_ERR_ARGUMENT && !o->precond[0] && o->method == KRY_METHOD_PCG &&
        strcmp(word, "jacobi"))
        st = kry_precond_create(A, "jacobi", M);
    const bool cannot = st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_SINGULAR;
    if (cannot && !o->precond[0] && scales_columns(A, o))
        return KRY_OK; /* without a preconditioner */
    return st;
}

/* Deflation knows what a pin is. */
static kry_status make_krylov(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *system = NULL, *M = NULL, *D = NULL;

    TRY(kryi_options_system(A, o, &system));
    TRY(make_precond(A, o, &M));
    TRY(make_deflation(system, o, &D));
    kry_pcg_params p = o->pcg;
    p.struct_size = sizeof p, p.precond = M, p.deflation = D;
    p.flexible = M && M->shape.traits & KRY_VARYING ? KRY_POLAK_RIBIERE : KRY_RIGID;
    TRY(kryi_method_create(kryi_method_number(o->method), system, &p, o->width, solver));
done:
    kry_op_release(&D);
    kry_op_release(&M);
    kry_op_release(&system);
    return st;
}

static kry_status make_relaxation(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_relaxation_method method = o->method == KRY_METHOD_SOR ? KRY_SOR : KRY_JACOBI_ITERATION;

    return kry_relaxation_create(A,
                                 KRY_RELAXATION(.method = method, .omega = o->mixed.omega,
                                                .stop = o->pcg.stop, .monitor = o->pcg.monitor,
                                                .monitor_user = o->pcg.monitor_user),
                                 solver);
}

bool kryi_options_find_null(const kryi_options *o)
{
    return o->null_space != KRY_NULL_SPACE_NONE && !kryi_options_relax(o);
}

kry_status kryi_options_solver(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    bool relax = kryi_options_relax(o);
    const char *stray =
        kryi_options_stray(o, KRY_OF_MIXED | (relax ? KRY_OF_RELAXATION : KRY_OF_KRYLOV));

    CHECK(!relax || !o->width, KRY_ERR_PARSE, "kry_solver_create: a relaxation has no number");
    CHECK(!stray && (relax || o->mixed.omega == 0), KRY_ERR_PARSE, "kry_solver_create: %s no %s",
          relax ? "a relaxation takes" : "conjugate gradients take", stray ? stray : "omega");
    if (kryi_options_choose(o)) return kryi_auto_create(A, o, solver);
    TRY(relax ? make_relaxation(A, o, solver) : make_krylov(A, o, solver));
done:
    return st;
}

/* Whether rows and columns may have to be scaled; mixed precision does it in its own way. */
static bool may_scale(const kryi_options *o)
{
    const bool by_itself = kryi_options_choose(o) || o->method == KRY_METHOD_DIRECT;

    return o->precision != KRY_PRECISION_MIXED &&
           (o->mixed.equilibrate == KRY_EQUILIBRATE_ON ||
            (o->mixed.equilibrate == KRY_EQUILIBRATE_AUTO && by_itself));
}

kry_status kryi_options_make(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    if (kryi_options_find_null(o)) {
        kry_status st = kryi_find_null("kry_solver_create", A);
        if (st < 0) return st;
    }
    if (may_scale(o)) return kryi_scaled_create(A, o, solver);
    if (o->reorder != KRY_REORDER_NONE) return kryi_reordered_create(A, o, solver);
    return o->precision == KRY_PRECISION_MIXED ? kryi_options_mixed(A, o, solver)
                                               : kryi_options_solver(A, o, solver);
}

kry_status kry_solver_create(const kry_op *A, const char *text, kry_monitor monitor,
                             void *monitor_user, kry_op **solver)
{
    kry_status st = KRY_OK;
    kryi_options o = { .pcg = { .monitor = monitor, .monitor_user = monitor_user } };

    kryi_team_enter(kry_op_device(A), "kry_solver_create", NULL);
    if (solver) *solver = NULL;
    TRY(GIVEN(solver));
    CHECK(A, KRY_ERR_ARGUMENT, "kry_solver_create: NULL");
    o.precision = A->shape.type == KRY_F32 ? KRY_PRECISION_SINGLE : KRY_PRECISION_DOUBLE;
    const kryi_precision own = o.precision;
    TRY(kryi_options_parse(text ? text : "", &o));
    kryi_team_same_fields(A->dev, kryi_options_fields, &o);
    CHECK(!o.pcg.guesses || o.precision == own, KRY_ERR_UNSUPPORTED,
          "kry_solver_create: guess=project is not for precision=mixed");
    const bool mixed = o.precision == KRY_PRECISION_MIXED;
    CHECK(mixed || o.precision == own, KRY_ERR_PARSE,
          "kry_solver_create: precision '%s' is neither mixed nor %s, in which the matrix is",
          own == KRY_PRECISION_SINGLE ? "double" : "single", kry_type_name(A->shape.type));
    const char *stray = mixed ? NULL : kryi_options_stray(&o, KRY_OF_KRYLOV | KRY_OF_RELAXATION);
    CHECK(!stray, KRY_ERR_PARSE, "kry_solver_create: %s goes with precision=mixed", stray);
    TRY(kryi_options_make(A, &o, solver));
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}

kry_status kry_krylov_create(const kry_op *A, const char *method, const kry_pcg_params *params,
                             kry_op **solver)
{
    kry_status st = KRY_OK;
    kryi_options o = { 0 };

    if (solver) *solver = NULL;
    TRY(GIVEN(A, method, solver));
    TRY(kryi_field_set("kry_krylov_create", kryi_options_fields, ~0u, "method", method, &o));
    CHECK(!kryi_options_relax(&o), KRY_ERR_UNSUPPORTED,
          "kry_krylov_create: '%s' is a relaxation, of kry_relaxation_create", method);
    CHECK(!kryi_options_choose(&o), KRY_ERR_UNSUPPORTED,
          "kry_krylov_create: 'auto' chooses the preconditioner, too: take kry_solver_create");
    TRY(kryi_method_create(kryi_method_number(o.method), A, params, o.width, solver));
done:
    return st;
}
