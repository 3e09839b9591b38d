/* method_create.c - solvers of a method, their preconditioner and deflation; one on each part of a team. */
#include "device/pool.h"
#include "krylov/options.h"
#include "krylov/workspace.h"
#include "operator/op_parts.h"
#include "precond/deflation.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

kry_status kryi_method_check_stop(const char *who, const kryi_method *method, const kry_stop *stop)
{
    if (method->takes != KRY_TAKES_RECTANGULAR || stop->test != KRY_STOP_BACKWARD) return KRY_OK;
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "%s: method '%s' has no stop=backward: it ends by ||A'r|| <= rtol ||A|| ||r||, too", who,
        method->kind);
}

/* Refuse a preconditioner that does not fit A: its shape is that of b, or from the right that of x. */
static kry_status check_precond(const kry_op *A, const kryi_setup *s)
{
    kry_status st = KRY_OK;
    const kryi_method *method = s->method;
    const kry_op *M = s->precond;
    const bool by_columns = method->takes == KRY_TAKES_RECTANGULAR;
    const int64_t n = by_columns ? A->shape.cols : A->shape.rows;

    CHECK(M->shape.rows == n && M->shape.cols == n, KRY_ERR_SHAPE,
          "%s: A has %lld %s, the preconditioner '%s' is %lld-by-%lld", method->who, (long long)n,
          by_columns ? "columns" : "rows", M->table->kind, (long long)M->shape.rows,
          (long long)M->shape.cols);
    CHECK(M->shape.type == A->shape.type, KRY_ERR_TYPE,
          "%s: A is %s, the preconditioner '%s' is %s", method->who, kry_type_name(A->shape.type),
          M->table->kind, kry_type_name(M->shape.type));
    CHECK(M->dev == A->dev, KRY_ERR_ARGUMENT, "%s: the preconditioner '%s' lives on another device",
          method->who, M->table->kind);
    CHECK(s->varying || !(M->shape.traits & KRY_VARYING), KRY_ERR_TYPE,
          "%s: '%s' varies between applications: only a flexible method may use it "
          "(KRY_POLAK_RIBIERE)",
          method->who, M->table->kind);
done:
    return st;
}

static kry_status check(const kry_op *A, const void *setup)
{
    kry_status st = KRY_OK;
    const kryi_setup *s = setup;
    const kryi_method *method = s->method;
    const bool rectangular = method->takes == KRY_TAKES_RECTANGULAR;

    const kry_op_shape *shape = kry_op_get_shape(A);
    CHECK(rectangular || shape->rows == shape->cols, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, and must be square; methods lsqr and lsmr take any shape",
          method->who, (long long)shape->rows, (long long)shape->cols);
    CHECK(!rectangular || !A->dev->team, KRY_ERR_UNSUPPORTED,
          "%s: method '%s' is for one device, and this is a team of %d: there are no products with "
          "the transpose on teams",
          method->who, method->kind, kry_team_size(A->dev));
    TRY(kryi_method_check_stop(method->who, method, &s->stop));
    CHECK(!s->width || method->width.most, KRY_ERR_PARSE, "%s: method '%s' has no number",
          method->who, method->kind);
    CHECK(s->width >= 0 && s->width <= method->width.most, KRY_ERR_PARSE,
          "%s: %s:%lld: its %s is from 1 to %lld", method->who, method->kind, (long long)s->width,
          method->width.name, (long long)method->width.most);
    CHECK(!s->deflation || method->deflates, KRY_ERR_UNSUPPORTED,
          "%s: method '%s' takes no deflation", method->who, method->kind);
    if (s->precond) TRY(check_precond(A, s));
done:
    return st;
}

/* Refuse an M that is not symmetric where the method needs one that is (a method that takes an M that varies takes any), and
 * a deflation of another matrix. Runs on each part of a team, which all have the same kinds. */
static kry_status check_part(const kry_op *A, const kryi_setup *s)
{
    kry_status st = KRY_OK;
    const kryi_method *method = s->method;
    const kry_op *M = s->precond, *D = s->deflation;
    const bool needed =
        method->takes <= KRY_TAKES_DEFINITE && !s->varying && s->check != KRY_CHECK_NONE;

    CHECK(!D || kryi_deflation_of(D), KRY_ERR_TYPE,
          "%s: '%s' is no deflation (kry_deflation_create makes them)", method->who,
          D->table->kind);
    CHECK(!D || kryi_deflation_of(D)->A == A, KRY_ERR_ARGUMENT,
          "%s: the deflation was made for another matrix", method->who);
    CHECK(!M || !needed || !M->fused->is_unsymmetric || !M->fused->is_unsymmetric(M->self),
          KRY_ERR_UNSUPPORTED,
          "%s: the preconditioner '%s' is not symmetric, and method '%s' needs one that is: take "
          "method=bicgstab or gmres with it, or a symmetric one such as block-ic (check=none "
          "solves all the same)",
          method->who, M->table->kind, method->kind);
done:
    return st;
}

/* M and A, one of them with deflation as the second level. */
static kry_status take_operators(kryi_krylov *K, const kry_op *A, const kryi_setup *s)
{
    kry_status st = KRY_OK;
    const kry_op *given = s->precond;
    /* z = c r: Krylov methods take the same steps as with z = r. */
    const bool left_out = given && !s->method->minds_scale && given->fused->as_scalar &&
                          given->fused->as_scalar(given->self) > 0;
    const kry_op *M = left_out ? NULL : given;
    kryi_deflation *D = kryi_deflation_of(s->deflation);

    K->A = kry_op_retain(A);
    K->first = kry_op_retain(M);
    if (left_out) K->left_out = given->table->kind;
    if (D) K->deflation = kry_op_retain(s->deflation);
    if (D && D->variant == KRY_DEF1)
        TRY(kryi_two_level_product(s->deflation, &K->product));
    else
        K->product = kry_op_retain(A);
    if (D && D->variant != KRY_DEF1)
        TRY(kryi_two_level_precond(s->deflation, M, &K->M));
    else if (M)
        K->M = kry_op_retain(M);
done:
    return st;
}

static kry_status make(const kry_op *A, const void *setup, kry_op **solver)
{
    kry_status st = KRY_OK;
    const kryi_setup *s = setup;
    const kryi_method *method = s->method;
    kryi_krylov *K = NULL;
    kry_op_shape shape = A->shape;
    int64_t unknowns;

    TRY(check_part(A, s));
    TRY(kryi_alloc(1, sizeof *K, &K));
    K->method = method;
    K->width = s->width ? s->width : method->width.usual;
    K->check = s->check, K->checked = A->updates;
    K->measured = -1;
    K->table = kryi_krylov_table, K->table.kind = method->kind;
    K->stopping = (kryi_stopping){ .progress = { .dev = A->dev,
                                                 .monitor = s->monitor,
                                                 .monitor_user = s->monitor_user,
                                                 .shows_x = s->monitor && s->stop.check_every,
                                                 .history_every = 1 },
                                   .criteria = s->stop,
                                   .roundoff = kryi_unit_roundoff(shape.type) };
    TRY(kryi_layout_rows(&A->dev->layout, shape.cols, NULL, &unknowns));
    TRY(kryi_stop_check(method->who, shape.type, unknowns, &K->stopping.criteria));
    TRY(take_operators(K, A, s));
    const bool other = !K->first && method->no_precond.quantity;
    K->stopping.breakdown[0] = other ? &method->no_precond : &method->precond;
    K->stopping.breakdown[1] = &method->matrix;
    TRY(kryi_residual_create(A, !method->ignores_null_space, &K->residual));
    TRY(kryi_guess_create(A, s->guesses, &K->guess));
    TRY(kryi_vec_create_room(A->dev, shape.type, shape.rows, 1, &K->r));
    if (!method->accept) TRY(kryi_vec_create_room(A->dev, shape.type, shape.cols, 1, &K->best));
    TRY(kryi_progress_reserve(&K->stopping.progress, K->stopping.criteria.max_iter));
    K->params = s->params;
    TRY(kryi_workspace_create(K, 1, &K->self));
    K->params = NULL;
    TRY(kry_device_finish(A->dev));
    shape.traits = KRY_VARYING;
    TRY(kryi_op_create_fused(A->dev, &K->table, &kryi_krylov_fused, K, &shape, solver));
    K = NULL;
done:
    kryi_krylov_destroy(K);
    return st;
}

static kry_status create(const kry_op *A, const void *setup, kry_op **solver)
{
    kry_status st = kryi_pool_open(A->dev);

    *solver = NULL;
    if (st < 0) return st;
    st = make(A, setup, solver);
    kryi_pool_close(A->dev);
    return st;
}

kry_status kryi_krylov_make(const kry_op *A, kryi_setup setup, kry_op **solver)
{
    const kryi_constructor how = { .name = setup.method->who,
                                   .params_size = sizeof setup,
                                   .operand = { offsetof(kryi_setup, precond),
                                                offsetof(kryi_setup, deflation) },
                                   .check = check,
                                   .create = create,
                                   .any_shape = true };
    const kry_op *parts[] = { setup.precond, setup.deflation };
    kry_status st = KRY_OK;

    TRY(kryi_construct(&how, A, &setup, solver));
    (*solver)->stop = setup.stop;
    for (size_t i = 0; i < COUNT(parts); i++)
        if (parts[i]) {
            (*solver)->setup.seconds += parts[i]->setup.seconds;
            (*solver)->setup.compile_seconds += parts[i]->setup.compile_seconds;
            (*solver)->setup.programs += parts[i]->setup.programs;
        }
done:
    return st;
}

/* "project", "project:8", or "none". */
static kry_status read_guess(const char *who, const char *value, void *params)
{
    const char *number = !strncmp(value, "project", 7) ? value + 7 : NULL;
    int64_t *guesses = &((kry_pcg_params *)params)->guesses;

    *guesses = number ? KRY_GUESS_USUAL : 0;
    if (number ? !*number : !strcmp(value, "none")) return KRY_OK;
    if (number && *number == ':' && kryi_parse_int64(number + 1, guesses) && *guesses > 0 &&
        *guesses <= KRY_GUESS_MOST)
        return KRY_OK;
    return kry_fail(KRY_ERR_PARSE, "%s: '%s' is no value for guess", who, value);
}

#define PARAMS kry_pcg_params
const kryi_field kryi_pcg_fields[] = {
    { KRY_FIELD(POINTER, precond) },
    { KRY_FIELD(POINTER, deflation) },
    { KRY_FIELD(STRUCT, stop), .fields = kryi_stop_fields },
    { KRY_FIELD(LOCAL, monitor) },
    { KRY_FIELD(LOCAL, monitor_user) },
    { KRY_FIELD(INT, resident),
      KRY_WORD("resident", CHOICE, "=auto|off|on",
               "the whole solve as one kernel that stays on the device (cg, pcg)"),
      .of = KRY_OF_KRYLOV | KRY_OF_INNER },
    { KRY_FIELD(INT, flexible), .word = { .name = "flexible" }, KRY_CLOSED(0, KRY_POLAK_RIBIERE) },
    { KRY_FIELD(INT, check),
      KRY_WORD("check", CHOICE, "=cheap|none|full",
               "refuse a matrix that is not symmetric, or not positive definite by its diagonal"),
      .of = KRY_OF_KRYLOV | KRY_OF_INNER },
    { KRY_FIELD(INT64, guesses),
      KRY_WORD("guess", TEXT, "=project[:K]",
               "project: begin at the best of the last K solutions (K 8; default none)"),
      KRY_CLOSED(0, KRY_GUESS_MOST), .of = KRY_OF_KRYLOV, .read = read_guess },
    { KRY_FIELD(DOUBLE, conlim),
      KRY_WORD("conlim", REAL, "=C",
               "lsqr, lsmr: end once the condition number is estimated above C (default: no "
               "limit)"),
      KRY_OPEN(1, INFINITY), .of = KRY_OF_KRYLOV },
    { 0 },
};

kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params, kry_op **solver)
{
    kry_status st = GIVEN(solver);
    return st < 0 ? st : kryi_method_create(&kryi_pcg_method, A, params, 0, solver);
}

kry_status kryi_method_create(const kryi_method *method, const kry_op *A,
                              const kry_pcg_params *params, int64_t width, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_pcg_params mine;
    int64_t checked = -1;

    kryi_team_enter(kry_op_device(A), method->who, NULL);
    *solver = NULL;
    CHECK(A, KRY_ERR_ARGUMENT, "%s: NULL", method->who);
    TAKE_PARAMS(params, mine, method->who, "KRY_PCG");
    kryi_team_same_fields(A->dev, kryi_pcg_fields, params);
    kryi_team_same(A->dev, &width, sizeof width);
    CHECK(!params->flexible || method->flexible, KRY_ERR_UNSUPPORTED,
          "%s: method '%s' is not flexible", method->who, method->kind);
    TRY(kryi_fields_check(method->who, kryi_pcg_fields, params));
    CHECK(!params->conlim || method->takes == KRY_TAKES_RECTANGULAR, KRY_ERR_UNSUPPORTED,
          "%s: conlim = %g is a limit of lsqr and lsmr; '%s' has none", method->who, params->conlim,
          method->kind);
    CHECK(!params->conlim || params->stop.test != KRY_STOP_NEVER, KRY_ERR_ARGUMENT,
          "%s: conlim = %g ends a solve, and stop=never asks for all its iterations", method->who,
          params->conlim);
    TRY(kryi_check_matrix(method->who, A, params->check, method->takes, &checked));
    TRY(kryi_krylov_make(
        A,
        (kryi_setup){ .method = method,
                      .precond = params->precond,
                      .deflation = params->deflation,
                      .stop = params->stop,
                      .monitor = params->monitor,
                      .monitor_user = params->monitor_user,
                      .varying = params->flexible || method->flexible == KRY_FLEXIBLE,
                      .check = params->check,
                      .width = width,
                      .guesses = params->guesses,
                      .params = params },
        solver));
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}
