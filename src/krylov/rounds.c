/* rounds.c - the rounds of a solve by any method: residual and verdict, a cycle, and so on; of one column, of
 * several, and as a part of another solve. */
#include "krylov/method.h"
#include "precond/deflation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one solve --------------------------------------------------------------------------- */

typedef struct solve {
    kry_krylov *K;
    const kry_vec *b; /* the caller's, */
    kry_vec *x;
    kry_cycle *c; /* and what cycles work on; over: so is the solve */
    kry_result *res;
} solve;

/* KRY_STOP_BACKWARD: the target of this x. Waits. */
static kry_status aim_by_x(kry_krylov *K, const kry_vec *x)
{
    kry_status st = KRY_OK;

    if (!(K->stopping.norm_A > 0)) return KRY_OK;
    TRY(kry_system_size(&K->system, x, &K->stopping.norm_x));
    kry_stopping_set_target(&K->stopping);
done:
    return st;
}

/* r := b - A x of the x that is there. Waits. */
static kry_status compute_residual(solve *S, double *norm)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    kry_cycle *c = S->c;
    kry_stopping *s = &K->stopping;
    double unit;

    TRY(kry_system_residual(&K->system, c->b, c->x, c->r, norm, &unit));
    if (K->method->accept) K->method->accept(K->self, c, norm);
    TRY(aim_by_x(K, c->x)); /* the x that stays */
    const bool unpins = K->system.unpins;
    TRY(kry_system_rhs(&K->system, s->inconsistent, kry_stopping_whole_target(s), &c->b));
    /* A target that has grown may be above what b has along the null space, and then A x = b has a solution. */
    if (K->system.unpins && !unpins)
        TRY(kry_system_residual(&K->system, c->b, c->x, c->r, norm, &unit));
    if (K->method->gradient) TRY(K->method->gradient(K->self, c->r, *norm, &s->gradient));
    c->norm = *norm / unit;
    /* Only to half the target where an unknown is pinned: the unit changes on the way. */
    const bool half = unit > 1 && s->restarts >= 0 && !s->drop;
    c->goal = (half ? 0.5 * s->target : fmax(s->target, s->drop * *norm)) / unit;
    s->unit = unit;
done:
    return st;
}

kry_status kry_krylov_start(kry_krylov *K, bool first, const kry_vec *r, kry_vec *x, bool *moved)
{
    kry_deflation *D = kry_deflation_of(K->deflation);

    *moved = D && kry_deflation_ready(D) && (first || D->variant == KRY_DEF1);
    return *moved ? kry_deflation_start(D, x, r) : KRY_OK;
}

/* Keep the x that a cycle is about to change, if no other x had so small a true residual. */
static kry_status keep_best(solve *S)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    double residual = S->c->norm * K->stopping.unit;

    if (!K->best || !(residual < K->best_residual)) return KRY_OK;
    TRY(kry_vec_copy(S->c->x, K->best));
    K->best_residual = residual;
done:
    return st;
}

kry_status kry_krylov_add_null(kry_krylov *K, const kry_cycle *c, const kry_vec *v)
{
    kry_status st = KRY_OK;

    TRY(kry_system_add_null(&K->system, v));
    TRY(kry_null_space_project(&K->system.null, c->x));
    TRY(kry_null_space_measure(&K->system.null, c->b, &K->stopping.inconsistent));
    K->system.along = K->stopping.inconsistent;
    kry_stopping_set_target(&K->stopping);
    K->stopping.last_true = -1, K->best_residual = INFINITY; /* residuals were others */
done:
    return st;
}

/* The residual that a cycle begins with: of x + Q (b - A x) with deflation. Waits. */
static kry_status find_residual(solve *S, double *norm)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    bool first = K->stopping.restarts < 0, moved = false;

    if (first) TRY(kry_system_clear(&K->system, S->c->b, S->c->x, S->c->r));
    TRY(compute_residual(S, norm));
    if (first) TRY(kry_guess_check(*norm));
    if (first) K->guess_residual = *norm;
    if (first && K->deflation) TRY(keep_best(S)); /* the start moves x */
    if (K->method->start)
        TRY(K->method->start(K->self, S->c, first, &moved));
    else
        TRY(kry_krylov_start(K, true, S->c->r, S->c->x, &moved));
    if (moved) TRY(compute_residual(S, norm));
done:
    return st;
}

/* Ready for the next cycle. */
static kry_status begin_cycle(solve *S)
{
    kry_status st = KRY_OK;
    kry_stopping *s = &S->K->stopping;

    TRY(keep_best(S));
    /* Along the direction of the last cycle, if that ended well. */
    S->c->goes_on = s->drop > 0 && s->restarts >= 0 && s->end == KRY_END_CONVERGED && !s->stagnant;
    s->restarts++;
    s->cycle_target = s->target;
    s->end = KRY_END_NONE;
done:
    return st;
}

/* A solve that broke down or stagnated hands back the best x that it kept, not the last one. */
static kry_status take_best(solve *S, double *residual, bool *taken)
{
    const kry_krylov *K = S->K;
    const kry_status st = kry_reason_status(S->res->reason);
    const bool failed = st == KRY_BREAKDOWN || st == KRY_STAGNATED;

    *taken = K->best && failed && !(*residual <= K->best_residual);
    if (!*taken) return KRY_OK;
    *residual = K->best_residual;
    return kry_vec_copy(K->best, S->c->x);
}

/* Where rows of A differ so much in size that ||b - A x|| may say nothing about small ones, res->why says that. Parts of
 * a team have rows of their own each, and say nothing. Waits. */
static kry_status warn_of_small_rows(solve *S)
{
    const double much = 1e8, unnoticed = 1e-4; /* of a row's size times that of x */
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    const kry_finding *rows = &kry_pin_of(K->A)->found;
    const double n = (double)S->x->n;
    double size;

    if (!(rows->least_row > 0) || rows->largest_row <= much * rows->least_row ||
        kry_reason_status(S->res->reason) != KRY_OK ||
        K->stopping.criteria.test == KRY_STOP_NEVER || K->method->takes == KRY_TAKES_RECTANGULAR ||
        kry_layout_size(&K->A->dev->layout) > 1)
        return KRY_OK;
    TRY(kry_system_norm(&K->system, S->x, &size));
    if (S->res->true_residual <= unnoticed * rows->least_row * size / sqrt(n)) return KRY_OK;
    const size_t used = strlen(S->res->why);
    kry_print(S->res->why + used, sizeof S->res->why - used,
              "; but rows of A differ in size by a factor of %.1e, and what x is in small ones "
              "hardly counts in that: equilibrate=on solves them, too",
              rows->largest_row / rows->least_row);
done:
    return st;
}

/* The rounds have ended with this true residual: choose the x that is returned, and judge it. Waits. */
static kry_status end_rounds(solve *S, double residual)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    bool other;

    kry_stopping_end(&K->stopping, residual, S->res);
    TRY(take_best(S, &residual, &other));
    if (K->stopping.drop > 0) residual = K->stopping.accepted;
    if (S->c->x != S->x) TRY(kry_vec_copy(S->c->x, S->x));
    if (other) TRY(aim_by_x(K, S->x));
    TRY(kry_system_centre(&K->system, S->c->b, S->x, K->r, K->stopping.target, &residual));
    if (K->system.null.A) TRY(aim_by_x(K, S->x));
    /* Where no x reaches b, the part of A x along vectors that the solve has found is rounding: b's part is told. */
    const bool rounded = K->system.null.certified &&
                         K->stopping.inconsistent > kry_stopping_whole_target(&K->stopping);
    kry_stopping_verdict(&K->stopping, residual,
                         rounded ? K->stopping.inconsistent : K->system.along, other, S->res);
    TRY(warn_of_small_rows(S));
    S->c->over = true;
done:
    return st;
}

kry_status kry_krylov_hand_back(kry_krylov *K, const kry_vec *b, const kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_system *s = &K->system;
    double residual, unit;

    s->measures = kry_null_space_may_be_false(&s->null);
    TRY(kry_system_rhs(s, K->stopping.inconsistent, kry_stopping_whole_target(&K->stopping), &b));
    TRY(kry_system_residual(s, b, x, K->r, &residual, &unit));
    TRY(aim_by_x(K, x));
    kry_stopping_verdict(&K->stopping, residual, s->along, true, res);
done:
    return st;
}

/* The residual, and the verdict: another cycle, or the end. Waits. */
static kry_status judge(solve *S)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    double norm;

    TRY(find_residual(S, &norm));
    if (kry_stopping_restarts(&K->stopping, norm)) return begin_cycle(S);
    TRY(end_rounds(S, norm));
done:
    return st;
}

static double bytes_of(const kry_krylov *K, int64_t iterations)
{
    return K->method->bytes ? K->method->bytes(K->self) * (double)iterations : 0;
}

/* ||A||, unless it is known. */
static kry_status estimate_norm(kry_krylov *K)
{
    kry_status st = KRY_OK;

    if (K->measured == K->A->updates) return KRY_OK;
    TRY(kry_system_estimate(&K->system, K->r, &K->stopping.norm_A));
    K->measured = K->A->updates;
done:
    return st;
}

/* Up to the first cycle, or to the end of a solve that needs none. */
static kry_status begin_solve(solve *S, const kry_terms *terms)
{
    kry_status st = KRY_OK;
    kry_krylov *K = S->K;
    kry_stopping *s = &K->stopping;
    const bool guesses = K->guess && !terms->inner;

    *S->c = (kry_cycle){ .b = S->b, .x = S->x, .r = K->r, .stopping = s };
    TRY(kry_suit_check("kry_solve", K->A, &K->suit));
    kry_stopping_begin(s, terms->max_iter ? terms->max_iter : s->criteria.max_iter, terms->inner);
    TRY(kry_system_measure(&K->system, S->b, &s->norm_b, &s->inconsistent));
    if (s->criteria.test == KRY_STOP_BACKWARD) TRY(estimate_norm(K));
    kry_stopping_set_target(s);
    if (s->norm_b == 0) {
        TRY(kry_vec_fill(S->x, 0.0));
        kry_stopping_end(s, 0, S->res);
        S->c->over = true;
        goto done;
    }
    if (guesses) TRY(kry_guess_start(K->guess, S->b, K->r, S->x));
    kry_deflation *D = kry_deflation_of(K->deflation);
    if (D && D->recycle && !terms->inner) kry_recycle_begin(D->recycle);
    TRY(kry_system_rhs(&K->system, s->inconsistent, kry_stopping_whole_target(s), &S->c->b));
    K->best_residual = INFINITY;
    TRY(judge(S));
done:
    return st;
}

/* The caller's operators that a solve uses, each for its thread alone: A, M, the deflation. */
enum { USED = 3 };
static const kry_op *used(const kry_krylov *K, int i)
{
    return i == 0 ? K->A : i == 1 ? K->first : K->deflation;
}

static void let_go(const kry_krylov *K, int count)
{
    while (count-- > 0) kry_op_let_go(used(K, count));
}

static kry_status keep(const kry_krylov *K)
{
    kry_status st = KRY_OK;
    int kept = 0;

    for (; kept < USED; kept++) TRY(kry_op_keep("kry_solve", used(K, kept)));
done:
    if (st < 0) let_go(K, kept);
    return st;
}

static kry_status solve_one(kry_krylov *K, const kry_vec *b, kry_vec *x, const kry_terms *terms,
                            kry_result *res)
{
    kry_status st = KRY_OK;
    kry_cycle cycle;
    solve S = { .K = K, .b = b, .x = x, .c = &cycle, .res = res };

    TRY(begin_solve(&S, terms));
    while (!cycle.over) {
        TRY(K->method->cycle(K->self, &cycle));
        TRY(judge(&S));
    }
    if (K->guess && !terms->inner && res->reason != KRY_CONVERGED_ZERO)
        TRY(kry_guess_keep(K->guess, x, K->r));
    if (K->deflation) TRY(kry_deflation_harvest(kry_deflation_of(K->deflation), K->first));
    res->resident_iterations = K->stopping.persistent;
    res->bytes = bytes_of(K, res->iterations - res->resident_iterations);
    res->solve_seconds = kry_work_clock(K->stopping.dev) - K->stopping.start;
    st = kry_reason_status(res->reason);
done:
    return st;
}

kry_status kry_krylov_solve(kry_krylov *K, const kry_vec *b, kry_vec *x, const kry_terms *terms,
                            kry_result *res)
{
    kry_status st = keep(K);

    if (st < 0) return st;
    st = solve_one(K, b, x, terms, res);
    let_go(K, USED);
    return st;
}

/* ---- several columns --------------------------------------------------------------------------- */

/* Columns that are not over are at the same iteration, though some may have waited for others: those have the
 * residual that they waited with. */
static kry_status wait_for_others(const kry_cycle *c, int count)
{
    kry_status st = KRY_OK;
    int64_t latest = 0;

    for (int j = 0; j < count; j++)
        if (!c[j].over && c[j].stopping->iteration > latest) latest = c[j].stopping->iteration;
    for (int j = 0; j < count; j++) {
        kry_stopping *s = c[j].stopping;
        for (; !c[j].over && s->iteration < latest; s->iteration++)
            TRY(kry_stopping_record(s, s->iteration, s->residual / s->unit));
    }
done:
    return st;
}

/* R := B - A X, which each column then takes for its own r. */
static kry_status compute_residuals(kry_krylov *K, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_columns *C = K->columns;

    TRY(kry_op_residual(K->A, b, x, C->R));
    for (int j = 0; j < C->count; j++) C->column[j]->system.given = true;
done:
    return st;
}

static bool all_over(const kry_cycle *c, int count)
{
    for (int j = 0; j < count; j++)
        if (!c[j].over) return false;
    return true;
}

static kry_status solve_at_once(kry_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                bool *done)
{
    kry_status st = KRY_OK;
    const int count = (int)b->k;
    solve *S = NULL;
    kry_cycle *c = NULL;
    kry_vec *view = NULL;
    const double start = kry_work_clock(K->stopping.dev);

    *done = false;
    TRY(kry_columns_prepare(K, count));
    if (!K->columns) return KRY_OK;
    TRY(kry_alloc((size_t)count, sizeof *S, &S));
    TRY(kry_alloc((size_t)count, sizeof *c, &c));
    TRY(kry_alloc((size_t)count * 2, sizeof *view, &view));
    TRY(compute_residuals(K, b, x));
    for (int j = 0; j < count; j++) {
        view[2 * j] = kry_vec_column(b, j), view[2 * j + 1] = kry_vec_column(x, j);
        S[j] = (solve){ K->columns->column[j], &view[2 * j], &view[2 * j + 1], &c[j], &res[j] };
        TRY(begin_solve(&S[j], &(kry_terms){ 0 }));
        K->columns->column[j]->system.given = false; /* b is zero */
    }
    c->X = x, c->R = K->columns->R;
    while (!all_over(c, count)) {
        TRY(wait_for_others(c, count));
        TRY(K->method->cycle(K->columns->self, c));
        TRY(compute_residuals(K, b, x));
        for (int j = 0; j < count; j++)
            if (!c[j].over) TRY(judge(&S[j]));
    }
    for (int j = 0; j < count; j++) res[j].solve_seconds = 0;
    res[0].solve_seconds = kry_work_clock(K->stopping.dev) - start;
    *done = true;
done:
    free(view);
    free(c);
    free(S);
    return st;
}

/* Columns that seem to be out of A's range go on one after the other. */
static kry_status solve_singular(kry_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < b->k; j++) {
        const kry_vec bj = kry_vec_column(b, j);
        kry_vec xj = kry_vec_column(x, j);
        const int64_t before = res[j].iterations;
        const double bytes = res[j].bytes, seconds = res[j].solve_seconds;
        if (res[j].reason != KRY_INDEFINITE_MATRIX) continue;
        TRY(solve_one(K, &bj, &xj, &(kry_terms){ 0 }, &res[j]));
        res[j].iterations += before, res[j].bytes += bytes, res[j].solve_seconds += seconds;
    }
done:
    return st < 0 ? st : KRY_OK;
}

kry_status kry_krylov_solve_columns(kry_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                    bool *done)
{
    kry_status st = keep(K);

    if (st < 0) return st;
    st = solve_at_once(K, b, x, res, done);
    if (st >= 0 && *done && K->method->finds_null) st = solve_singular(K, b, x, res);
    let_go(K, USED);
    return st;
}

/* ---- a part of another solve ------------------------------------------------------------- */

/* x := Q rhs, r := rhs - A x */
static kry_status begin_deflated(kry_krylov *K, kry_vec *rhs, kry_vec *x, kry_vec *r)
{
    kry_status st = KRY_OK;
    bool moved;

    TRY(kry_null_space_project(&K->system.null, rhs));
    TRY(kry_krylov_start(K, true, rhs, x, &moved));
    TRY(kry_op_residual(K->A, rhs, x, r));
done:
    return st;
}

/* DEF1: x := x + Q (rhs - A x) */
static kry_status end_deflated(kry_krylov *K, const kry_vec *rhs, kry_vec *x, kry_vec *r)
{
    kry_status st = KRY_OK;
    bool moved;

    TRY(kry_op_residual(K->A, rhs, x, r));
    TRY(kry_null_space_project(&K->system.null, r));
    TRY(kry_krylov_start(K, false, r, x, &moved));
done:
    return st;
}

kry_status kry_krylov_correct(kry_krylov *K, kry_correction *correction)
{
    kry_status st = KRY_OK;
    kry_vec *rhs = correction->r, *x = correction->x;
    bool deflates = correction->starts && K->deflation, apart = deflates || K->method->uses_rhs;
    kry_stopping *stopping = correction->stopping;
    int64_t before = stopping->iteration - stopping->persistent;
    kry_cycle c = { .b = rhs,
                    .x = x,
                    .r = apart ? K->r : rhs,
                    .norm = correction->norm,
                    .goal = correction->goal,
                    .keeps_direction = correction->keeps_direction,
                    .goes_on = correction->goes_on && K->method->continues,
                    .unit_ratio = correction->unit_ratio,
                    .stopping = stopping };

    if (deflates) TRY(begin_deflated(K, rhs, x, c.r));
    TRY(kry_null_space_project(&K->system.null, c.r));
    stopping->end = KRY_END_NONE;
    TRY(K->method->cycle(K->self, &c));
    if (deflates && kry_deflation_of(K->deflation)->variant == KRY_DEF1)
        TRY(end_deflated(K, rhs, x, c.r));
    correction->bytes = bytes_of(K, stopping->iteration - stopping->persistent - before);
done:
    return st;
}
