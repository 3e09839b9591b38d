/* solver_create.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "krylov/auto.h"
#include "krylov/find_null.h"
#include "krylov/method.h"
#include "krylov/reorder.h"
#include "krylov/scaled.h"

/* All that the options say. A solver that works with another matrix makes the one inside of it so, too. */
static kry_status make(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    const bool by_itself = kryi_options_choose(o) || o->method == KRY_METHOD_DIRECT;
    const kry_equilibrate scaling = o->mixed.equilibrate;

    if (kryi_options_find_null(o)) TRY(kryi_find_null("kry_solver_create", A));
    /* Rows and columns may have to be scaled; mixed precision does it in its own way. */
    if (o->precision != KRY_PRECISION_MIXED &&
        (scaling == KRY_EQUILIBRATE_ON || (scaling == KRY_EQUILIBRATE_AUTO && by_itself)))
        return kryi_scaled_create(A, o, make, solver);
    if (o->reorder != KRY_REORDER_NONE) return kryi_reordered_create(A, o, make, solver);
    if (o->precision == KRY_PRECISION_MIXED) return kryi_options_mixed(A, o, solver);
    if (!kryi_options_choose(o)) return kryi_options_solver(A, o, solver);
    TRY(kryi_options_check(o));
    TRY(kryi_auto_create(A, o, solver));
done:
    return st;
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
    TRY(make(A, &o, solver));
    (*solver)->stop = o.pcg.stop;
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
