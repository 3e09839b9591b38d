/* restart.c - a solve by any method: true residual, a cycle, and so on until stop.c ends it; of one column, of
 * several, and as a part of another solve. */
#include "krylov/workspace.h"
#include "operator/op_parts.h"
#include "precond/deflation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one solve --------------------------------------------------------------------------- */

typedef struct solve {
    kryi_krylov *K;
    const kry_vec *b; /* the caller's, */
    kry_vec *x;
    kryi_cycle *c; /* and what cycles work on; over: so is the solve */
    kry_result *res;
} solve;

/* KRY_STOP_BACKWARD: the target of this x, whose size does not count along the null space. Waits. */
static kry_status set_target_of(kryi_krylov *K, const kry_vec *x)
{
    kry_status st = KRY_OK;
    kryi_residual *R = &K->residual;

    if (!(K->stopping.norm_A > 0)) return KRY_OK;
    if (R->null.A) {
        TRY(kry_vec_copy(x, R->room));
        TRY(kryi_null_space_project(&R->null, R->room));
        x = R->room;
    }
    TRY(kryi_residual_norm(R, x, &K->stopping.norm_x));
    kryi_stopping_set_target(&K->stopping);
done:
    return st;
}

/* r := b - A x of the x that is there. Waits. */
static kry_status compute_residual(solve *S, double *norm)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->K;
    kryi_cycle *c = S->c;
    kryi_stopping *s = &K->stopping;

    TRY(kryi_residual_compute(&K->residual, c->b, c->x, c->r, norm));
    if (K->method->accept) K->method->accept(K->self, c, norm);
    TRY(set_target_of(K, c->x)); /* the x that stays */
    if (K->method->gradient) TRY(K->method->gradient(K->self, c->r, *norm, &s->gradient));
    c->norm = *norm;
    c->goal = fmax(c->progress->target, s->drop * *norm);
    c->progress->unit = 1;
done:
    return st;
}

kry_status kryi_krylov_start(kryi_krylov *K, bool first, const kry_vec *r, kry_vec *x, bool *moved)
{
    kryi_deflation *D = kryi_deflation_of(K->deflation);

    *moved = D && kryi_deflation_ready(D) && (first || D->variant == KRY_DEF1);
    return *moved ? kryi_deflation_start(D, x, r) : KRY_OK;
}

/* Keep the x that a cycle is about to change, if no other x had so small a true residual. */
static kry_status keep_best(solve *S)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->K;
    const double residual = S->c->norm;

    if (!K->best || !(residual < K->best_residual)) return KRY_OK;
    TRY(kry_vec_copy(S->c->x, K->best));
    K->best_residual = residual;
done:
    return st;
}

/* The residual that a cycle begins with: of x + Q (b - A x) with deflation. Waits. */
static kry_status find_residual(solve *S, double *norm)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->K;
    bool first = K->stopping.restarts < 0, moved = false;

    if (first) TRY(kryi_residual_centre_guess(&K->residual, S->c->b, S->c->x, S->c->r));
    TRY(compute_residual(S, norm));
    CHECK(!first || isfinite(*norm), KRY_ERR_ARGUMENT,
          "kry_solve: the guess has a residual of %g: x holds NaN or infinities, or A x "
          "overflows",
          *norm);
    if (first) K->guess_residual = *norm;
    if (first && K->deflation) TRY(keep_best(S)); /* the start moves x */
    if (K->method->start)
        TRY(K->method->start(K->self, S->c, first, &moved));
    else
        TRY(kryi_krylov_start(K, true, S->c->r, S->c->x, &moved));
    if (moved) TRY(compute_residual(S, norm));
done:
    return st;
}

/* A solve that broke down or stagnated hands back the best x that it kept, not the last one. */
static kry_status take_best(solve *S, double *residual, bool *taken)
{
    const kryi_krylov *K = S->K;
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
    kryi_krylov *K = S->K;
    const kryi_finding *rows = &K->A->found;
    const double n = (double)S->x->n;
    double size;

    if (!(rows->least_row > 0) || rows->largest_row <= much * rows->least_row ||
        kry_reason_status(S->res->reason) != KRY_OK ||
        K->stopping.criteria.test == KRY_STOP_NEVER || K->method->takes == KRY_TAKES_RECTANGULAR ||
        kryi_layout_size(&K->A->dev->layout) > 1)
        return KRY_OK;
    TRY(kryi_residual_norm(&K->residual, S->x, &size));
    if (S->res->true_residual <= unnoticed * rows->least_row * size / sqrt(n)) return KRY_OK;
    const size_t used = strlen(S->res->why);
    kryi_print(S->res->why + used, sizeof S->res->why - used,
               "; but rows of A differ in size by a factor of %.1e, and what x is in small ones "
               "hardly counts in that: equilibrate=on solves them, too",
               rows->largest_row / rows->least_row);
done:
    return st;
}

/* The last cycle has ended with this true residual: choose the x that is returned, and the verdict on it. Waits. */
static kry_status end_solve(solve *S, double residual)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->K;
    bool other;

    kryi_stopping_end(&K->stopping, residual, S->res);
    TRY(take_best(S, &residual, &other));
    if (K->stopping.drop > 0) residual = K->stopping.accepted;
    if (S->c->x != S->x) TRY(kry_vec_copy(S->c->x, S->x));
    if (other) TRY(set_target_of(K, S->x));
    TRY(kryi_residual_centre(&K->residual, S->c->b, S->x, K->r, K->stopping.progress.target,
                             &residual));
    if (K->residual.null.A) TRY(set_target_of(K, S->x));
    /* Where no x reaches b, the part of A x along vectors that the solve has found is rounding: b's part counts. */
    const bool rounded = K->residual.null.certified &&
                         K->stopping.inconsistent > kryi_stopping_whole_target(&K->stopping);
    kryi_stopping_verdict(&K->stopping, residual,
                          rounded ? K->stopping.inconsistent : K->residual.along, other, S->res);
    TRY(warn_of_small_rows(S));
    S->c->over = true;
done:
    return st;
}

kry_status kryi_krylov_verdict(kryi_krylov *K, const kry_vec *b, const kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;
    kryi_residual *R = &K->residual;
    double norm;

    R->measures = kryi_null_space_may_be_false(&R->null);
    TRY(kryi_residual_compute(R, b, x, K->r, &norm));
    TRY(set_target_of(K, x));
    kryi_stopping_verdict(&K->stopping, norm, R->along, true, res);
done:
    return st;
}

/* The true residual of x decides: another cycle, or the end. Waits. */
static kry_status restart_or_end(solve *S)
{
    kry_status st = KRY_OK;
    kryi_stopping *s = &S->K->stopping;
    double norm;

    TRY(find_residual(S, &norm));
    if (!kryi_stopping_restarts(s, norm)) return end_solve(S, norm);
    TRY(keep_best(S));
    /* Along the direction of the last cycle, if that ended well. */
    S->c->goes_on =
        s->drop > 0 && s->restarts >= 0 && s->progress.end == KRY_END_CONVERGED && !s->stagnant;
    s->restarts++;
    s->cycle_target = s->progress.target;
    s->progress.end = KRY_END_NONE;
done:
    return st;
}

static double bytes_of(const kryi_krylov *K, int64_t iterations)
{
    return K->method->bytes ? K->method->bytes(K->self) * (double)iterations : 0;
}

/* Up to the first cycle, or to the end of a solve that needs none. */
static kry_status begin_solve(solve *S, const kryi_terms *terms)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->K;
    kryi_stopping *s = &K->stopping;
    const bool guesses = K->guess && !terms->inner;

    *S->c = (kryi_cycle){
        .b = S->b, .x = S->x, .r = K->r, .progress = &s->progress, .ask = kryi_krylov_ask(K)
    };
    TRY(kryi_check_matrix("kry_solve", K->A, K->check, K->method->takes, &K->checked));
    kryi_stopping_begin(s, terms->max_iter ? terms->max_iter : s->criteria.max_iter, terms->inner);
    TRY(kryi_residual_begin(&K->residual, S->b, &s->norm_b, &s->inconsistent));
    if (s->criteria.test == KRY_STOP_BACKWARD && K->measured != K->A->updates) {
        TRY(kryi_residual_norm_of_A(&K->residual, K->r, &s->norm_A));
        K->measured = K->A->updates;
    }
    kryi_stopping_set_target(s);
    if (s->norm_b == 0) {
        TRY(kry_vec_fill(S->x, 0.0));
        kryi_stopping_end(s, 0, S->res);
        S->c->over = true;
        goto done;
    }
    if (guesses) TRY(kryi_guess_start(K->guess, S->b, K->r, S->x));
    kryi_deflation *D = kryi_deflation_of(K->deflation);
    if (D && D->recycle && !terms->inner) kryi_recycle_begin(D->recycle);
    K->best_residual = INFINITY;
    TRY(restart_or_end(S));
done:
    return st;
}

/* Keep the caller's operators for this thread alone. */
static kry_status keep_operators(const kryi_krylov *K)
{
    const kry_op *used[] = { K->A, K->first, K->deflation };
    kry_status st = KRY_OK;
    size_t kept = 0;

    for (; kept < COUNT(used); kept++) TRY(kryi_op_keep("kry_solve", used[kept]));
done:
    while (st < 0 && kept > 0) kryi_op_let_go(used[--kept]);
    return st;
}

static void let_go_of_operators(const kryi_krylov *K)
{
    kryi_op_let_go(K->deflation);
    kryi_op_let_go(K->first);
    kryi_op_let_go(K->A);
}

kry_status kryi_krylov_solve(kryi_krylov *K, const kryi_terms *terms, const kry_vec *b, kry_vec *x,
                             kry_result *res)
{
    kryi_cycle cycle;
    solve S = { .K = K, .b = b, .x = x, .c = &cycle, .res = res };
    kry_status st = keep_operators(K);

    if (st < 0) return st;
    TRY(begin_solve(&S, terms));
    while (!cycle.over) {
        TRY(K->method->cycle(K->self, &cycle));
        TRY(kryi_krylov_find_null(K, &cycle));
        TRY(restart_or_end(&S));
    }
    if (K->guess && !terms->inner && res->reason != KRY_CONVERGED_ZERO)
        TRY(kryi_guess_keep(K->guess, x, K->r));
    if (K->deflation) TRY(kryi_deflation_recycle(kryi_deflation_of(K->deflation), K->first));
    res->resident_iterations = K->stopping.progress.persistent;
    res->bytes = bytes_of(K, res->iterations - res->resident_iterations);
    res->solve_seconds = kryi_work_clock(K->stopping.progress.dev) - K->stopping.progress.start;
    st = kry_reason_status(res->reason);
done:
    let_go_of_operators(K);
    return st;
}

/* ---- several columns --------------------------------------------------------------------------- */

/* Several columns at once: a solver for each of them, which restarts and ends by itself, and a state of
 * the method for the cycles of all. */
typedef struct kryi_columns {
    int count;
    kryi_krylov **column; /* owned; `self` of none is made */
    kry_vec *R;           /* n-by-count: their r */
    void *self;
} kryi_columns;

/* A solver for one of the columns, which shares operators and settings with K. */
static kry_status make_column(const kryi_krylov *K, const kry_vec *R, int j, kryi_krylov **column)
{
    kry_status st = KRY_OK;
    const kry_op *A = K->A;
    kryi_krylov *one = NULL;

    TRY(kryi_alloc(1, sizeof *one, &one));
    *column = one;
    one->method = K->method;
    one->A = kry_op_retain(A);
    one->M = kry_op_retain(K->M);
    one->product = kry_op_retain(K->product);
    one->deflation = kry_op_retain(K->deflation);
    one->first = kry_op_retain(K->first);
    one->check = K->check;
    one->measured = -1;
    one->stopping = K->stopping;
    one->stopping.progress.history = NULL, one->stopping.progress.history_capacity = 0;
    TRY(kryi_residual_create(A, !K->method->ignores_null_space, &one->residual));
    TRY(kry_vec_view(R, j, &one->r));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &one->best));
    TRY(kryi_progress_reserve(&one->stopping.progress, K->stopping.criteria.max_iter));
done:
    return st;
}

void kryi_columns_release(kryi_krylov *K)
{
    kryi_columns *C = K->columns;

    K->columns = NULL;
    if (!C) return;
    kryi_workspace_destroy(C->self);
    for (int j = 0; C->column && j < C->count; j++) kryi_krylov_destroy(C->column[j]);
    free(C->column);
    kry_vec_release(&C->R);
    free(C);
}

static kry_status make_columns(kryi_krylov *K, int count)
{
    kry_status st = KRY_OK;
    kryi_columns *C;

    TRY(kryi_alloc(1, sizeof *C, &C));
    K->columns = C;
    C->count = count;
    TRY(kryi_workspace_create(K, count, &C->self));
    TRY(kryi_alloc((size_t)count, sizeof *C->column, &C->column));
    TRY(kryi_vec_create_columns(K->A->dev, K->A->shape.type, K->A->shape.rows, count, &C->R));
    for (int j = 0; j < count; j++) TRY(make_column(K, C->R, j, &C->column[j]));
done:
    if (st < 0) kryi_columns_release(K);
    return st;
}

/* Whether several columns may be solved at once: what is in the way has numbers of one solve. */
static bool may_share(const kryi_krylov *K, int count)
{
    const kry_device *dev = K->A->dev;

    return count <= K->method->most_columns && !K->guess &&
           K->stopping.criteria.test != KRY_STOP_BACKWARD && kryi_layout_size(&dev->layout) == 1 &&
           !dev->layout.reproducible;
}

/* Make K->columns for this many; NULL if there is no way. */
static kry_status prepare_columns(kryi_krylov *K, int count)
{
    kry_status st = KRY_OK;

    if (K->columns && K->columns->count != count) kryi_columns_release(K);
    if (!may_share(K, count))
        kryi_columns_release(K);
    else if (!K->columns && (!K->method->gains || K->method->gains(K, count)))
        st = make_columns(K, count);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK;
    TRY(st);
    for (int j = 0; K->columns && j < count; j++) {
        kryi_krylov *one = K->columns->column[j];
        one->checked = K->checked, one->stopping.criteria = K->stopping.criteria;
        TRY(kryi_progress_reserve(&one->stopping.progress, K->stopping.criteria.max_iter));
    }
done:
    return st;
}

/* Columns that are not over are at the same iteration, though some may have waited for others: those have the
 * residual that they waited with. */
static kry_status wait_for_others(const kryi_cycle *c, int count)
{
    kry_status st = KRY_OK;
    int64_t latest = 0;

    for (int j = 0; j < count; j++)
        if (!c[j].over && c[j].progress->iteration > latest) latest = c[j].progress->iteration;
    for (int j = 0; j < count; j++) {
        kryi_progress *p = c[j].progress;
        for (; !c[j].over && p->iteration < latest; p->iteration++)
            TRY(kryi_progress_record(p, p->iteration, p->residual / p->unit));
    }
done:
    return st;
}

/* R := B - A X, which each column then takes for its own r. */
static kry_status compute_residuals(kryi_krylov *K, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;
    kryi_columns *C = K->columns;

    TRY(kry_op_residual(K->A, b, x, C->R));
    for (int j = 0; j < C->count; j++) C->column[j]->residual.computed = true;
done:
    return st;
}

static bool all_over(const kryi_cycle *c, int count)
{
    for (int j = 0; j < count; j++)
        if (!c[j].over) return false;
    return true;
}

static kry_status solve_at_once(kryi_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                bool *done)
{
    kry_status st = KRY_OK;
    const int count = (int)b->k;
    solve *S = NULL;
    kryi_cycle *c = NULL;
    kry_vec *view = NULL;
    const double start = kryi_work_clock(K->stopping.progress.dev);

    *done = false;
    TRY(prepare_columns(K, count));
    if (!K->columns) return KRY_OK;
    TRY(kryi_alloc((size_t)count, sizeof *S, &S));
    TRY(kryi_alloc((size_t)count, sizeof *c, &c));
    TRY(kryi_alloc((uint64_t)count * 2, sizeof *view, &view));
    TRY(compute_residuals(K, b, x));
    for (int j = 0; j < count; j++) {
        view[2 * j] = kryi_vec_column(b, j), view[2 * j + 1] = kryi_vec_column(x, j);
        S[j] = (solve){ K->columns->column[j], &view[2 * j], &view[2 * j + 1], &c[j], &res[j] };
        TRY(begin_solve(&S[j], &(kryi_terms){ 0 }));
        K->columns->column[j]->residual.computed = false; /* b is zero */
    }
    c->X = x, c->R = K->columns->R;
    while (!all_over(c, count)) {
        TRY(wait_for_others(c, count));
        TRY(K->method->cycle(K->columns->self, c));
        TRY(compute_residuals(K, b, x));
        for (int j = 0; j < count; j++)
            if (!c[j].over) TRY(restart_or_end(&S[j]));
    }
    for (int j = 0; j < count; j++) res[j].solve_seconds = 0;
    res[0].solve_seconds = kryi_work_clock(K->stopping.progress.dev) - start;
    *done = true;
done:
    free(view);
    free(c);
    free(S);
    return st;
}

/* Columns that seem to be out of A's range go on one after the other. */
static kry_status solve_singular(kryi_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < b->k; j++) {
        const kry_vec bj = kryi_vec_column(b, j);
        kry_vec xj = kryi_vec_column(x, j);
        const int64_t before = res[j].iterations;
        const double bytes = res[j].bytes, seconds = res[j].solve_seconds;
        if (res[j].reason != KRY_INDEFINITE_MATRIX) continue;
        TRY(kryi_krylov_solve(K, &(kryi_terms){ 0 }, &bj, &xj, &res[j]));
        res[j].iterations += before, res[j].bytes += bytes, res[j].solve_seconds += seconds;
    }
done:
    return st < 0 ? st : KRY_OK;
}

kry_status kryi_krylov_solve_columns(kryi_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                     bool *done)
{
    kry_status st = keep_operators(K);

    if (st < 0) return st;
    st = solve_at_once(K, b, x, res, done);
    if (st >= 0 && *done && K->method->finds_null) st = solve_singular(K, b, x, res);
    let_go_of_operators(K);
    return st;
}

/* ---- a part of another solve ------------------------------------------------------------- */

kry_status kryi_krylov_correct(kryi_krylov *K, kryi_cycle *c, bool deflates, double *bytes)
{
    kry_status st = KRY_OK;
    const kryi_progress *p = c->progress;
    const int64_t before = p->iteration - p->persistent;
    kry_vec *rhs = c->r;
    bool moved;

    deflates = deflates && K->deflation;
    c->b = rhs;
    if (deflates || K->method->uses_rhs) c->r = K->r;
    c->goes_on = c->goes_on && K->method->continues;
    if (deflates) { /* x := Q rhs,  r := rhs - A x */
        TRY(kryi_null_space_project(&K->residual.null, rhs));
        TRY(kryi_krylov_start(K, true, rhs, c->x, &moved));
        TRY(kry_op_residual(K->A, rhs, c->x, c->r));
    }
    TRY(kryi_null_space_project(&K->residual.null, c->r));
    c->progress->end = KRY_END_NONE;
    TRY(K->method->cycle(K->self, c));
    if (deflates && kryi_deflation_of(K->deflation)->variant == KRY_DEF1) { /* x += Q (rhs - A x) */
        TRY(kry_op_residual(K->A, rhs, c->x, c->r));
        TRY(kryi_null_space_project(&K->residual.null, c->r));
        TRY(kryi_krylov_start(K, false, c->r, c->x, &moved));
    }
    *bytes = bytes_of(K, p->iteration - p->persistent - before);
done:
    return st;
}
