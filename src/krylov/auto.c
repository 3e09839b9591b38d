/*
 * auto.c - a solver that chooses the method: the first of a list (auto_choices.c) that takes A; where that breaks
 * down, stagnates, or is not going to converge, the next one goes on from the best x.
 *
 * Leaving    auto_pace.c
 * Budget     max_iter counts the iterations of all choices; where kry chooses it, each of them may take as many
 */
#include "krylov/auto.h"
#include "krylov/auto_choices.h"
#include "krylov/auto_pace.h"
#include "krylov/direct.h"
#include "krylov/find_null.h"
#include "krylov/method.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far the solve under way is. */
typedef struct progress {
    double start;     /* seconds */
    int64_t before;   /* iterations of earlier choices */
    int64_t resident; /* of them */
    int restarts;     /* of earlier choices, */
    double bytes;     /* and what they moved */
    double least;     /* true residual of the best x so far */
    kryi_pace pace;   /* of the choice under way */
    bool leaves;      /* which is given up, though it could go on */
    bool stays;       /* no other choice is left */
} progress;

typedef struct automatic {
    kry_op *A;            /* retained */
    kryi_options options; /* of all choices, but for method and precond */
    kryi_choices choices;
    int at;         /* the choice that `solver` is */
    kry_op *solver; /* owned */
    kry_vec *best;  /* n */
    bool limits;    /* max_iter is kry's own choice */
    bool failed;    /* the last solve: the next one begins with the first choice again */
    int promotions; /* of the solve under way */
    char left[400]; /* why the last choice was left */
    progress now;
    char text[600], chosen[400]; /* for kry_op_describe */
} automatic;

static const kryi_choice *choice_of(const automatic *S) { return &S->choices.choice[S->at]; }

static bool is_direct(const kryi_choice *c) { return !strcmp(c->method, "direct"); }

/* Whether a constructor refuses A: another choice may take it. */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_ARGUMENT || st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_SINGULAR ||
           st == KRY_ERR_MEMORY;
}

/* ---- when to leave --------------------------------------------------------------------------- */

/* Whether the choice under way is to be given up for the next one. */
static bool leaves(automatic *S, const kry_iteration *it)
{
    const kryi_choice *next = choice_of(S) + 1;
    const bool may =
        !S->now.stays && S->at + 1 < S->choices.count && S->options.pcg.stop.test != KRY_STOP_NEVER;

    return may && kryi_pace_hopeless(&S->now.pace, it, is_direct(next) ? next->seconds : INFINITY);
}

/* The monitor of every choice. */
static int watch(void *user, const kry_iteration *it)
{
    automatic *S = user;
    kry_iteration shown = *it;
    int stop = 0;

    shown.iteration += S->now.before;
    shown.seconds = kryi_work_clock(S->A->dev) - S->now.start;
    if (S->options.pcg.monitor) stop = S->options.pcg.monitor(S->options.pcg.monitor_user, &shown);
    if (stop)
        S->now.leaves = false;
    else if (leaves(S, it))
        S->now.leaves = true; /* and stays so: it may be asked again before the end */
    return stop || S->now.leaves;
}

/* ---- the choices ----------------------------------------------------------------------------- */

/* o := the words of a choice */
static kry_status take_words(const kryi_choice *c, kryi_options *o)
{
    char words[KRY_FIELD_ROOM + 64];

    snprintf(words, sizeof words, "method=%s precond=%s", c->method, c->precond);
    return kryi_options_parse(words, o);
}

static kry_status make_choice(automatic *S, int at, const kryi_options *o, kry_op **made)
{
    kryi_factor *F = &S->choices.factor;
    const bool ordered =
        is_direct(&S->choices.choice[at]) && F->engine && o->null_space == KRY_NULL_SPACE_PROJECT;

    return ordered ? kryi_direct_create(S->A, o, F, made) : kryi_options_solver(S->A, o, made);
}

/* The first choice from number `from` on that takes A. On failure nothing changes. */
static kry_status make(automatic *S, int from)
{
    kry_status st = KRY_ERR_UNSUPPORTED;
    kry_op *made = NULL;
    int at = from;

    for (; at < S->choices.count; at++) {
        kryi_options o = S->options;
        o.pcg.monitor = watch, o.pcg.monitor_user = S;
        TRY(take_words(&S->choices.choice[at], &o));
        st = make_choice(S, at, &o, &made);
        if (!is_refusal(st)) break;
        snprintf(S->left, sizeof S->left, "%.20s: %.370s", S->choices.choice[at].method,
                 kry_last_error());
    }
    TRY(st);
    kry_op_release(&S->solver);
    S->solver = made, S->at = at;
done:
    return st;
}

static const char *wanted_precond(const kryi_options *o)
{
    return o->precond[0] && strcmp(o->precond, "auto") ? o->precond : NULL;
}

static kry_status list(const kry_op *A, const kryi_options *o, bool direct, kryi_choices *choices)
{
    const char *precond = wanted_precond(o);

    direct = direct && !precond && !kryi_options_deflate(o) && o->pcg.stop.test != KRY_STOP_NEVER;
    return kryi_choices_list(A, precond, direct, choices);
}

kry_status kryi_auto_settle(const kry_op *A, kryi_options *o)
{
    kry_status st = KRY_OK;
    kryi_choices choices;

    TRY(list(A, o, false, &choices));
    TRY(take_words(&choices.choice[0], o));
    kryi_choices_release(&choices);
done:
    return st;
}

/* "pcg with amg: symmetric with a positive diagonal" */
static void describe_choice(const automatic *S, char *text, size_t size)
{
    const kryi_choice *c = choice_of(S);
    const kryi_krylov *K = kryi_krylov_of(S->solver);
    const char *M = K->first                     ? K->first->table->kind
                    : strcmp(c->precond, "auto") ? c->precond
                                                 : "none";

    if (is_direct(c))
        snprintf(text, size, "direct: %s", S->choices.why);
    else
        snprintf(text, size, "%s with %s: %s", c->method, M, S->choices.why);
}

/* ---- a solve --------------------------------------------------------------------------------- */

static kry_status attempt(automatic *S, const kry_vec *b, kry_vec *x, bool inner, kry_result *res)
{
    kry_status st = KRY_OK;
    progress *P = &S->now;
    const int64_t used = S->limits ? 0 : P->before;

    const int64_t budget = S->options.pcg.stop.max_iter - used;
    P->leaves = false;
    kryi_pace_begin(&P->pace, budget, choice_of(S)->patience);
    TRY(kry_vec_copy(x, S->best));
    kryi_krylov *K = kryi_krylov_of(S->solver);
    const kryi_terms terms = { .max_iter = budget, .inner = inner };
    TRY(kryi_krylov_solve(K, &terms, b, x, res));
    P->before += res->iterations, P->bytes += res->bytes;
    P->resident += res->resident_iterations, P->restarts += res->restarts;
    if (!isfinite(P->least)) P->least = K->guess_residual;
    if (res->true_residual <= P->least || kry_reason_status(res->reason) == KRY_OK)
        P->least = res->true_residual;
    else { /* it was better before */
        TRY(kry_vec_copy(S->best, x));
        TRY(kryi_krylov_verdict(kryi_krylov_of(S->solver), b, x, res));
    }
done:
    return st;
}

/* Whether another choice is to go on after this end. */
static bool goes_on(const automatic *S, const kry_result *res)
{
    const kry_status st = kry_reason_status(res->reason);
    const bool limit = res->reason == KRY_ITERATION_LIMIT;

    if (st == KRY_STOPPED) return S->now.leaves;
    if (!S->limits && S->now.before >= S->options.pcg.stop.max_iter) return false;
    return !S->now.stays && (st == KRY_BREAKDOWN || st == KRY_STAGNATED || (limit && S->limits));
}

/* The next choice; where none takes A, the one that was left may go on (*again) for good. */
static kry_status go_on(automatic *S, const kry_result *res, bool *again)
{
    kry_status st = KRY_OK;
    char left[sizeof S->left];

    snprintf(left, sizeof left, "%.20s: %.370s", choice_of(S)->method,
             S->now.leaves ? "it would take too long" : res->why);
    st = make(S, S->at + 1);
    *again = st >= 0 || S->now.leaves;
    if (st < 0 && is_refusal(st)) S->now.stays = true, st = KRY_OK;
    TRY(st);
    if (!S->now.stays) S->promotions++, memcpy(S->left, left, sizeof left);
done:
    return st;
}

static void report(automatic *S, kry_result *res)
{
    res->iterations = S->now.before;
    res->resident_iterations = S->now.resident;
    res->restarts = S->now.restarts;
    res->bytes = S->now.bytes;
    res->promotions = S->promotions;
    if (S->promotions) memcpy(res->promoted_why, S->left, sizeof res->promoted_why);
    describe_choice(S, res->chosen, sizeof res->chosen);
    if (res->reason == KRY_CONVERGED_LEAST_SQUARES) { /* nobody has asked for that */
        res->reason = KRY_INCONSISTENT;
        kryi_print(res->why, sizeof res->why,
                   "no x solves A x = b: A is singular, and x a least-squares solution with "
                   "||b - A x|| = %.3e",
                   res->true_residual);
    }
    res->solve_seconds = kryi_work_clock(S->A->dev) - S->now.start;
}

static kry_status solve(automatic *S, const kry_vec *b, kry_vec *x, bool inner, kry_result *res)
{
    kry_status st = KRY_OK;
    bool again = true;

    S->now = (progress){ .start = kryi_work_clock(S->A->dev), .least = INFINITY };
    S->promotions = 0;
    if (S->failed) TRY(make(S, 0));
    while (again) {
        TRY(attempt(S, b, x, inner, res));
        again = goes_on(S, res);
        if (again) TRY(go_on(S, res, &again));
    }
    report(S, res);
    st = kry_reason_status(res->reason);
    S->failed = st != KRY_OK && st != KRY_STOPPED && S->at > 0;
done:
    return st;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static kry_status auto_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return solve(self, b, x, false, res);
}

static kry_status solve_within(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return solve(self, b, x, true, res);
}

static kry_status auto_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_apply_by_solve(solve_within, self, alpha, x, beta, y);
}

/* Other numbers may want another solver; the one that there is learns them if it is still the first choice. */
static kry_status auto_renew(void *self)
{
    kry_status st = KRY_OK;
    automatic *S = self;
    const kryi_choice old = *choice_of(S);
    const bool first = S->at == 0;
    kryi_choices fresh;

    if (kryi_options_find_null(&S->options)) TRY(kryi_find_null("kry_op_update", S->A));
    TRY(list(S->A, &S->options, true, &fresh));
    kryi_choices_release(&S->choices);
    S->choices = fresh;
    const kryi_choice *new = &S->choices.choice[0];
    if (first && !strcmp(old.method, new->method) && !strcmp(old.precond, new->precond)) {
        st = kry_op_update(S->solver, NULL);
        if (!is_refusal(st)) return st;
    }
    TRY(make(S, 0));
done:
    return st;
}

static const kry_op *auto_inner(const void *self) { return ((const automatic *)self)->solver; }

static kry_status auto_set_stop(void *self, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    automatic *S = self;

    TRY(kryi_krylov_set_stop(kryi_krylov_of(S->solver), stop));
    S->options.pcg.stop = kryi_krylov_of(S->solver)->stopping.criteria;
    S->limits = stop->max_iter == 0;
done:
    return st;
}

static void auto_describe(void *self, kry_op_info *info)
{
    automatic *S = self;
    kry_op_info inner;

    kry_op_describe(S->solver, &inner);
    describe_choice(S, S->chosen, sizeof S->chosen);
    snprintf(S->text, sizeof S->text, "%s, %s", inner.kind, inner.variant);
    info->variant = S->text;
    info->chosen = S->chosen;
}

static void auto_destroy(void *self)
{
    automatic *S = self;
    if (!S) return;
    kryi_choices_release(&S->choices);
    kry_vec_release(&S->best);
    kry_op_release(&S->solver);
    kry_op_release(&S->A);
    free(S);
}

static const kry_op_table auto_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "auto",
    .apply = auto_apply,
    .solve = auto_solve,
    .describe = auto_describe,
    .destroy = auto_destroy,
};
static const kryi_op_fused auto_fused = { .renew = auto_renew,
                                          .inner = auto_inner,
                                          .set_stop = auto_set_stop };

static kry_status create(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    automatic *S = NULL;
    kry_op_shape shape = A->shape;

    CHECK(shape.rows == shape.cols, KRY_ERR_SHAPE,
          "kry_solver_create: A is %lld-by-%lld, and must be square for method auto; lsqr and lsmr "
          "take any shape",
          (long long)shape.rows, (long long)shape.cols);
    TRY(kryi_alloc(1, sizeof *S, &S));
    S->A = kry_op_retain(A);
    S->options = *o;
    S->limits = o->pcg.stop.max_iter == 0;
    TRY(kryi_stop_check("kry_solver_create", shape.type, shape.rows, &S->options.pcg.stop));
    TRY(list(A, &S->options, true, &S->choices)); /* which keeps words of them */
    TRY(make(S, 0));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &S->best));
    shape.traits = KRY_VARYING;
    TRY(kryi_op_create_fused(A->dev, &auto_table, &auto_fused, S, &shape, solver));
    S = NULL;
done:
    auto_destroy(S);
    return st;
}

kry_status kryi_auto_create(const kry_op *A, const kryi_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    const kryi_stopwatch watch = kryi_stopwatch_begin(A->dev);

    if (A->dev->team) {
        kryi_options settled = *o;
        TRY(kryi_auto_settle(A, &settled));
        return kryi_options_solver(A, &settled, solver);
    }
    TRY(create(A, o, solver));
    (*solver)->setup = kryi_stopwatch_end(&watch);
done:
    return st;
}
