/*
 * scaled.c - a solver for a matrix whose rows and columns are scaled by powers of two, which changes no digit, until
 * entries are near 1; the caller's b, x and residuals stay those of A:
 *
 *   B := R A C,  solve B y = R b from y = C^-1 x,  x := C y,  r := b - A x
 *
 * R = C where A is symmetric but for rounding. In ||r|| a row of numbers near 1 counts for nothing beside one of 1e20, so x
 * has three targets to meet:
 *
 *   ||r|| <= rtol ||b||,  ||R r|| <= rtol ||R b||,  ||D r|| <= rtol ||x||  where d_i = 1 / (the largest |a_ij| of row i)
 *
 * Where one of them is not met yet, rounds of refinement follow: solve B y = R r from y = 0, x := x + C y.
 *
 * Storage    B; 8 n numbers (9 n where A is not symmetric)
 * Per solve  10 passes over vectors and a product with A more than a solve with B
 */
#include "krylov/scaled.h"
#include "krylov/exponents.h"
#include "krylov/method.h"
#include "matrix/device_csr.h"
#include "matrix/matrix_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_solver_create";

enum { ROUNDS = 8 }; /* solves with B, at most */

/* Norms of a residual, each divided by its target. */
typedef struct distances {
    double residual;            /* ||b - A x||, as it is */
    double given, scaled, rows; /* the three targets, in the order of the head of this file */
    double most;                /* of the three */
} distances;

/* The scaled matrix, and what it is made by. */
typedef struct scaled_matrix {
    kry_op *A;                    /* the caller's; retained */
    kry_op *B;                    /* R A C */
    int64_t seen;                 /* A's updates when B took its numbers */
    kry_vec *R, *C;               /* n; the same vector where A is symmetric */
    kry_vec *inverse;             /* n: C^-1 */
    kry_vec *by_row;              /* n: D */
    double row_span, column_span; /* of A */
} scaled_matrix;

typedef struct scaled {
    kry_op_table table; /* of the operator, with the solver's kind */
    scaled_matrix E;
    kry_op *solver;   /* for B */
    kry_vec *b, *y;   /* n, of B's system */
    kry_vec *earlier; /* n: x of earlier rounds */
    kry_vec *r;       /* n */
    /* the caller's system */
    kryi_residual residual;
    kry_stop stop;
    double norm_A;    /* KRY_STOP_BACKWARD: an estimate of ||A||; else 0 */
    int64_t max_iter; /* as given: 0 if kry chooses */
    int64_t measured; /* A's updates when ||A|| was estimated; -1: it never was */
    kry_stop inner;   /* the criteria that `solver` has now */
    /* the solve under way */
    double norm_b, target; /* of the x that was measured last */
    double relative;       /* target / ||b||, of the guess */
    double wanted;         /* of ||R r||: the target of the first round */
    double rest;           /* ||R r|| of the x that was measured last: ||b|| of the next round */
    double unit;           /* ||b|| / ||R b||: residuals of B's system are shown in units of b */
    double start;          /* seconds */
    int64_t before;        /* iterations of earlier rounds */
    double *history;       /* owned; of all rounds */
    int64_t history_count, history_room;
    kry_true_residual check[ROUNDS]; /* behind each round */
    int rounds;
    /* the caller's, which sees his x where monitors are promised that */
    kry_monitor monitor;
    void *monitor_user;
    bool shows;
    kry_vec *caller_x; /* borrowed, in a solve */
    char text[500];    /* for kry_op_describe */
} scaled;

/* ---- powers of two on the device --------------------------------------------------------------- */

/* v := sign times the exponents as powers of two */
static kry_status write_powers(const int *exponent, int sign, kry_vec *v)
{
    kry_status st = KRY_OK;
    double *power = NULL;

    TRY(kryi_alloc((size_t)v->n, sizeof *power, &power));
    for (int64_t i = 0; i < v->n; i++) power[i] = ldexp(1, sign * exponent[i]);
    TRY(kryi_vec_write_doubles(v, power));
done:
    free(power);
    return st;
}

/* R, C, C^-1 and D on the device */
static kry_status take_exponents(scaled_matrix *E, const kryi_exponents *s)
{
    kry_status st = KRY_OK;

    if (E->C == E->R && !s->symmetric) {
        kry_vec *C = NULL;
        TRY(kry_vec_create(E->A->dev, E->A->shape.type, E->A->shape.cols, 1, &C));
        kry_vec_release(&E->C);
        E->C = C;
    }
    TRY(write_powers(s->row, 1, E->R));
    if (E->C != E->R) TRY(write_powers(s->col, 1, E->C));
    TRY(write_powers(s->col, -1, E->inverse));
    TRY(write_powers(s->by_row, 1, E->by_row));
    E->row_span = s->row_span, E->column_span = s->column_span;
done:
    return st;
}

/* Set B's near null space: C^-1 times that of A; or where A is like the Laplacian of something, and smooth errors
 * are nearly constant, C^-1 times ones. */
static kry_status set_near_null_space(scaled_matrix *E, const kryi_exponents *s)
{
    kry_status st = KRY_OK;
    const kry_vec *given = E->A->near_null_space;
    kry_vec *near = NULL;

    if (!given && !s->dominant) return KRY_OK;
    if (!given) return kry_op_set_near_null_space(E->B, E->inverse);
    TRY(kry_vec_create(given->dev, given->type, given->n, given->k, &near));
    TRY(kryi_vec_mul_columns(1, E->inverse, given, near));
    TRY(kry_op_set_near_null_space(E->B, near));
done:
    kry_vec_release(&near);
    return st;
}

/* B takes the numbers that A has now, scaled as suits them. */
static kry_status renew(scaled_matrix *E)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    kryi_exponents s = { 0 };
    void *val = NULL;
    kryi_finding found;

    TRY(kryi_matrix_download(kryi_matrix_of(E->A), &rows));
    TRY(kryi_exponents_find(&rows, E->A->shape.traits & KRY_SYMMETRIC, true, &s, &val, &found));
    TRY(kry_op_update(E->B, val));
    E->B->found = found;
    TRY(take_exponents(E, &s));
    TRY(set_near_null_space(E, &s));
    E->seen = E->A->updates;
done:
    free(val);
    kryi_exponents_release(&s);
    kryi_csr_release(&rows);
    return st;
}

/* ---- a solve ----------------------------------------------------------------------------------- */

/* x := what earlier rounds came to + C y */
static kry_status hand_out(scaled *S)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_copy(S->earlier, S->caller_x));
    TRY(kry_vec_mul(1, S->E.C, S->y, 1, S->caller_x));
done:
    return st;
}

static int show(void *user, const kry_iteration *it)
{
    scaled *S = user;
    kry_iteration shown = *it;

    if (S->shows && S->caller_x && hand_out(S) < 0) return 1;
    shown.iteration += S->before;
    shown.residual *= S->unit, shown.target *= S->unit;
    shown.seconds = kryi_work_clock(S->E.A->dev) - S->start;
    return S->monitor(S->monitor_user, &shown);
}

static double roundoff_of(const scaled *S) { return kryi_unit_roundoff(S->E.A->shape.type); }

/* Let the solver for B stop at this relative residual, with the iterations that are left. */
static kry_status set_inner_stop(scaled *S, double relative)
{
    kry_status st = KRY_OK;
    const kry_stop *own = &S->stop;
    kry_stop *now = &S->inner;
    kry_stop stop = { .test = own->test, .max_iter = S->max_iter };

    if (S->rounds && stop.test == KRY_STOP_BACKWARD) stop.test = KRY_STOP_RESIDUAL;
    if (stop.max_iter) stop.max_iter -= S->before;
    stop.rtol = fmin(0.5, fmax(relative, 2 * roundoff_of(S)));
    if (stop.rtol == now->rtol && stop.atol == now->atol && stop.max_iter == now->max_iter &&
        stop.test == now->test)
        return KRY_OK;
    TRY(kry_solver_set_stop(S->solver, &stop));
    *now = stop;
done:
    return st;
}

/* History and counts of a round behind those of the rounds before, in units of b. */
static kry_status add_round(scaled *S, const kry_result *round, kry_result *res)
{
    kry_status st = KRY_OK;
    const int64_t skipped = S->history_count > 0, /* where it begins the one before ended */
        room = S->history_count + round->history_count;
    kry_result sum = *round;

    if (room > S->history_room) {
        TRY(kryi_realloc((size_t)room, sizeof *S->history, &S->history));
        S->history_room = room;
    }
    for (int64_t k = skipped; k < round->history_count; k++)
        S->history[S->history_count++] = round->history[k] * S->unit;
    S->before += round->iterations;
    sum.iterations = S->before;
    sum.residual *= S->unit;
    sum.resident_iterations += res->resident_iterations;
    sum.restarts += res->restarts;
    sum.bytes += res->bytes;
    sum.history = S->history, sum.history_count = S->history_count;
    *res = sum;
done:
    return st;
}

/* How far x = `x` is from what it has to meet: at most 1 where it does. S->b := R (b - A x). Waits. */
static kry_status measure_x(scaled *S, const kry_vec *b, const kry_vec *x, distances *d)
{
    kry_status st = KRY_OK;
    double by_rows, size;

    TRY(kryi_residual_compute(&S->residual, b, x, S->r, &d->residual));
    TRY(kryi_residual_norm(&S->residual, x, &size));
    S->target = kryi_stop_target(&S->stop, S->norm_b, S->norm_A > 0 ? S->norm_A * size : 0);
    TRY(kry_vec_mul(1, S->E.R, S->r, 0, S->b));
    TRY(kryi_residual_norm(&S->residual, S->b, &S->rest));
    TRY(kry_vec_mul(1, S->E.by_row, S->r, 0, S->r));
    TRY(kryi_residual_norm(&S->residual, S->r, &by_rows));
    d->given = d->residual / S->target;
    d->scaled = S->rest / (1.01 * S->wanted); /* whose roundoff was another */
    d->rows = by_rows > 0 ? by_rows / (S->relative * size) : 0;
    d->most = fmax(d->given, fmax(d->scaled, d->rows)); /* NaN: the others */
    const bool proves = S->stop.test == KRY_STOP_NEVER || d->residual == 0 ||
                        S->target >= roundoff_of(S) * S->norm_b;
    if (!isfinite(d->residual) || !proves) d->given = d->most = INFINITY;
done:
    return st;
}

/* Behind the last round, whose status is given. */
static void end_rounds(const scaled *S, kry_status status, const distances *d, kry_result *res)
{
    char why[sizeof res->why];

    memcpy(why, res->why, sizeof why);
    res->norm_b = S->norm_b;
    res->target = S->target;
    res->true_residual = d->residual;
    res->checks = S->check, res->check_count = S->rounds;
    if (S->stop.test == KRY_STOP_NEVER) {
        if (res->reason == KRY_ITERATIONS_DONE)
            kryi_print(res->why, sizeof res->why, "%lld iteration%s, as asked: ||b - A x|| = %.3e",
                       (long long)res->iterations, res->iterations == 1 ? "" : "s", d->residual);
    } else if (fmax(d->given, d->scaled) <= 1) {
        if (status != KRY_OK) res->reason = KRY_CONVERGED;
        if (res->reason == KRY_CONVERGED)
            kryi_print(res->why, sizeof res->why,
                       "||b - A x|| = %.3e, and equilibrated the system meets the tolerance, too%s",
                       d->residual,
                       d->rows > 1 ? "; but in small rows x is no better than rounding lets it be"
                                   : "");
    } else if (status == KRY_OK) {
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kryi_print(
            res->why, sizeof res->why,
            "||b - A x|| = %.3e, wanted %.3e, and equilibrated %.2g times what is wanted: the "
            "limit of this precision for this matrix",
            d->residual, res->target, d->scaled);
    } else {
        kryi_print(res->why, sizeof res->why,
                   "equilibrated: %.300s (||b - A x|| = %.3e, wanted %.3e)", why, d->residual,
                   res->target);
    }
}

/* Ready for the first round: S->b = R b, y = C^-1 x */
static kry_status begin(scaled *S, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;
    double inconsistent, scaled_norm;

    S->start = kryi_work_clock(S->E.A->dev);
    S->before = S->history_count = 0, S->rounds = 0;
    if (S->E.seen != S->E.A->updates) TRY(renew(&S->E));
    TRY(kryi_residual_begin(&S->residual, b, &S->norm_b, &inconsistent));
    if (S->stop.test == KRY_STOP_BACKWARD && S->measured != S->E.A->updates) {
        TRY(kryi_residual_norm_of_A(&S->residual, S->r, &S->norm_A));
        S->measured = S->E.A->updates;
    }
    S->target = kryi_stop_target(&S->stop, S->norm_b, 0);
    S->relative = S->norm_b > 0 ? S->target / S->norm_b : 0.5;
    TRY(kry_vec_mul(1, S->E.R, b, 0, S->b));
    TRY(kry_vec_mul(1, S->E.inverse, x, 0, S->y));
    TRY(kry_vec_fill(S->earlier, 0));
    TRY(kryi_residual_norm(&S->residual, S->b, &scaled_norm));
    S->unit = scaled_norm > 0 ? S->norm_b / scaled_norm : 1;
done:
    return st;
}

/* One solve with B, and what it makes of x. Waits. */
static kry_status run_round(scaled *S, const kry_vec *b, double relative, kry_status *status,
                            kry_result *res, distances *d)
{
    kry_status st = KRY_OK;
    kry_result round = { 0 };

    TRY(set_inner_stop(S, relative));
    TRY(*status = S->solver->table->solve(S->solver->self, S->b, S->y, &round));
    if (S->rounds == 0) S->wanted = round.target;
    TRY(add_round(S, &round, res));
    TRY(hand_out(S));
    if (round.reason == KRY_CONVERGED_ZERO)
        *d = (distances){ 0 };
    else
        TRY(measure_x(S, b, S->caller_x, d));
    S->check[S->rounds++] = (kry_true_residual){ S->before, d->residual };
done:
    return st;
}

static kry_status solve_rounds(scaled *S, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK, status = KRY_OK;
    distances d, before;
    /* A round of refinement leaves at least this share of its residual. */
    const double finest = S->E.A->shape.type == KRY_F32 ? 1e-4 : 1e-8;
    int stagnant = S->stop.test == KRY_STOP_NEVER ? 2 : 0;

    TRY(run_round(S, b, S->relative, &status, res, &d));
    while (stagnant < 2 && status == KRY_OK && !(d.most <= 1) && S->rounds < ROUNDS &&
           kryi_residual_has_range(S->E.A->dev, S->rest) &&
           (!S->max_iter || S->before < S->max_iter)) {
        /* ||R r|| may fall while what is wanted of small rows does not: then as far as it goes. */
        const double share = stagnant ? finest : fmax(0.2 / d.most, finest);
        before = d;
        TRY(kry_vec_copy(x, S->earlier));
        TRY(kry_vec_fill(S->y, 0)); /* S->b is R (b - A x) */
        TRY(run_round(S, b, share, &status, res, &d));
        stagnant = d.most <= 0.5 * before.most ? 0 : stagnant + 1;
        if (!(d.most <= before.most)) { /* x goes back to what it was before this round */
            TRY(kry_vec_copy(S->earlier, x));
            TRY(measure_x(S, b, x, &d)); /* and so does S->b */
            d = before;
            S->check[S->rounds - 1].residual = d.residual;
        }
    }
    end_rounds(S, status, &d, res);
    res->row_span = S->E.row_span, res->column_span = S->E.column_span;
    res->solve_seconds = kryi_work_clock(S->E.A->dev) - S->start;
    st = kry_reason_status(res->reason);
done:
    return st;
}

static kry_status scaled_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    scaled *S = self;
    kry_status st = kryi_op_keep("kry_solve", S->E.A);

    if (st < 0) return st;
    S->caller_x = x;
    TRY(begin(S, b, x));
    st = solve_rounds(S, b, x, res);
done:
    S->caller_x = NULL;
    kryi_op_let_go(S->E.A);
    return st;
}

/* ---- the operator ------------------------------------------------------------------------------ */

static kry_status scaled_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_apply_by_solve(scaled_solve, self, alpha, x, beta, y);
}

static kry_status scaled_renew(void *self)
{
    kry_status st = KRY_OK;
    scaled *S = self;

    TRY(renew(&S->E));
    TRY(kry_op_update(S->solver, NULL));
done:
    return st;
}

static void scaled_describe(void *self, kry_op_info *info)
{
    scaled *S = self;

    kry_op_describe(S->solver, info);
    kryi_print(S->text, sizeof S->text,
               "%.360s, %s by powers of two (norms of rows differ by a factor of %.2g, of columns "
               "by %.2g)",
               info->variant,
               S->E.C == S->E.R ? "rows and columns scaled alike" : "rows and columns scaled",
               S->E.row_span, S->E.column_span);
    info->variant = S->text;
}

static void scaled_destroy(void *self)
{
    scaled *S = self;
    if (!S) return;
    kry_op_release(&S->solver);
    kry_op_release(&S->E.B);
    kryi_residual_release(&S->residual);
    kry_vec_release(&S->r);
    kry_vec_release(&S->earlier);
    kry_vec_release(&S->y);
    kry_vec_release(&S->b);
    kry_vec_release(&S->E.by_row);
    kry_vec_release(&S->E.inverse);
    kry_vec_release(&S->E.C);
    kry_vec_release(&S->E.R);
    kry_op_release(&S->E.A);
    free(S->history);
    free(S);
}

static const kry_op_table scaled_table = {
    .struct_size = sizeof(kry_op_table),
    .apply = scaled_apply,
    .solve = scaled_solve,
    .describe = scaled_describe,
    .destroy = scaled_destroy,
};

static const kry_op *scaled_inner(const void *self) { return ((const scaled *)self)->solver; }

static kry_status scaled_set_stop(void *self, const kry_stop *given)
{
    kry_status st = KRY_OK;
    scaled *S = self;
    kry_stop stop = *given;

    TRY(kry_solver_set_stop(S->solver, given)); /* which checks it */
    S->inner = *given;
    TRY(kryi_stop_check("kry_solver_set_stop", S->E.A->shape.type, S->E.A->shape.cols, &stop));
    S->stop = stop, S->max_iter = given->max_iter;
    S->norm_A = 0, S->measured = -1;
done:
    return st;
}

static const kryi_op_fused scaled_fused = { .renew = scaled_renew,
                                            .inner = scaled_inner,
                                            .set_stop = scaled_set_stop };

/* ---- making one -------------------------------------------------------------------------------- */

/* B, and what is known of A */
static kry_status make_matrix(scaled_matrix *E, kryi_csr *rows, const kryi_exponents *s, void *val,
                              const kryi_finding *found)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = kryi_matrix_of(E->A);
    kry_matrix_params params = A->params;
    kryi_csr B = *rows;

    B.val = val;
    params.storage = KRY_GENERAL;
    if (!s->symmetric) params.traits &= ~(unsigned)(KRY_SYMMETRIC | KRY_POSITIVE);
    if (strcmp(A->chosen, "asked for") != 0) params.format = KRY_FORMAT_AUTO;
    TRY(kryi_matrix_create(E->A->dev, &B, &params, &E->B));
    E->B->found = *found, E->seen = E->A->updates;
    TRY(take_exponents(E, s));
    TRY(set_near_null_space(E, s));
done:
    return st;
}

static kry_status make_solver(scaled *S, const kryi_options *o, kryi_solver_maker maker)
{
    kryi_options inner = *o;

    inner.mixed.equilibrate = KRY_EQUILIBRATE_OFF;
    S->monitor = o->pcg.monitor, S->monitor_user = o->pcg.monitor_user;
    S->shows = o->pcg.stop.check_every > 0;
    if (o->pcg.monitor) inner.pcg.monitor = show, inner.pcg.monitor_user = S;
    S->inner = o->pcg.stop, S->max_iter = o->pcg.stop.max_iter, S->measured = -1;
    return maker(S->E.B, &inner, &S->solver);
}

static kry_status make(const kry_op *A, const kryi_options *o, kryi_csr *rows,
                       const kryi_exponents *s, void *val, const kryi_finding *found,
                       kryi_solver_maker maker, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = A->shape;
    scaled *S = NULL;

    TRY(kryi_alloc(1, sizeof *S, &S));
    S->E.A = kry_op_retain(A);
    S->stop = o->pcg.stop;
    TRY(kryi_stop_check(who, shape.type, shape.rows, &S->stop));
    kry_vec **vectors[] = {
        &S->E.R, &S->E.inverse, &S->E.by_row, &S->b, &S->y, &S->earlier, &S->r
    };
    for (size_t i = 0; i < COUNT(vectors); i++)
        TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, vectors[i]));
    S->E.C = kry_vec_retain(S->E.R);
    TRY(kryi_residual_create(A, false, &S->residual));
    TRY(make_matrix(&S->E, rows, s, val, found));
    TRY(make_solver(S, o, maker));
    S->table = scaled_table, S->table.kind = S->solver->table->kind;
    shape.traits = KRY_VARYING;
    TRY(kryi_op_create_fused(A->dev, &S->table, &scaled_fused, S, &shape, solver));
    S = NULL;
done:
    scaled_destroy(S);
    return st;
}

/* Whether deflation goes by sub-domains or given vectors, which scaling would make others. */
static kry_status deflates_by_place(const kryi_options *o, bool *by_place)
{
    kry_status st = KRY_OK;
    kry_deflation_params params;
    char room[sizeof o->deflation];

    *by_place = kryi_options_deflate(o);
    if (!*by_place || o->mixed.deflation) return KRY_OK;
    TRY(kryi_options_deflation(o, room, sizeof room, &params));
    *by_place = !params.recycle;
done:
    return st;
}

/* Why nothing is scaled; NULL: it may be. */
static const char *obstacle(const kry_op *A, const kryi_options *o, bool by_place)
{
    if (A->dev->team) return "is for one device, not for a team";
    if (!kryi_matrix_of(A)) return "is for stored matrices";
    if (!kryi_op_is_assembled(A))
        return "is not for matrices in flux form, whose rows are differences";
    if (A->shape.rows != A->shape.cols) return "is for square matrices";
    if (o->method == KRY_METHOD_LSQR || o->method == KRY_METHOD_LSMR)
        return "is not for least squares, where scaled rows are another problem: take "
               "precond=columns";
    if (kryi_op_is_singular(A) || A->null_found.parts > 0)
        return "is for regular matrices: scaled, this one would have another null space";
    if (by_place)
        return "does not go with deflation, but recycle: scaling would change its vectors";
    return NULL;
}

kry_status kryi_scaled_create(const kry_op *A, const kryi_options *o, kryi_solver_maker maker,
                              kry_op **solver)
{
    kry_status st = KRY_OK;
    const bool asked = o->mixed.equilibrate == KRY_EQUILIBRATE_ON;
    kryi_options plain = *o;
    kryi_csr rows = { 0 };
    kryi_exponents s = { 0 };
    void *val = NULL;
    kryi_finding found;
    bool by_place;
    const kryi_stopwatch watch = kryi_stopwatch_begin(A->dev);

    plain.mixed.equilibrate = KRY_EQUILIBRATE_OFF;
    TRY(deflates_by_place(o, &by_place));
    const char *not = obstacle(A, o, by_place);
    CHECK(!asked || !not, KRY_ERR_UNSUPPORTED, "%s: equilibrate=on %s", who, not );
    if (not || A->shape.rows == 0) return maker(A, &plain, solver);
    TRY(kryi_device_csr_check(who, kryi_matrix_of(A)));
    TRY(kryi_matrix_download(kryi_matrix_of(A), &rows));
    TRY(kryi_exponents_find(&rows, A->shape.traits & KRY_SYMMETRIC, asked, &s, &val, &found));
    if (val)
        TRY(make(A, o, &rows, &s, val, &found, maker, solver));
    else
        TRY(maker(A, &plain, solver));
    (*solver)->setup = kryi_stopwatch_end(&watch);
done:
    free(val);
    kryi_exponents_release(&s);
    kryi_csr_release(&rows);
    return st;
}
