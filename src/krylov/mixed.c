/*
 * mixed.c - the accuracy of double with iterations in single.
 *
 *   reliable   conjugate gradients in single; when the residual has dropped to delta of what it was,
 *              x is added up in double, r := b - A x in double, and the iteration goes on along the
 *              direction that it had
 *   classical  the same from a new start each time
 *   flexible   conjugate gradients in double (Polak, Ribiere), preconditioned by a few iterations in
 *              single
 *   double     everything in double
 *
 * All of them are solves of restart.c. Reliable and classical refinement are a method whose cycles
 * are corrections by the solver in single; the others are pcg.c in double. A scheme that stalls is
 * promoted to the next. Where A is kept on the host, so are x and its residual, and the outer
 * iteration runs there (mixed_outer.c).
 *
 * Source  G. L. G. Sleijpen, H. A. van der Vorst, Reliable updated residuals in hybrid Bi-CG
 *         methods, Computing 56 (1996); M. A. Clark et al., Solving lattice QCD systems of equations
 *         using mixed precision solvers on GPUs, Comput. Phys. Commun. 181 (2010); A. Cevahir, A.
 *         Nukada, S. Matsuoka, ICCS 2009
 */
#include "krylov/mixed.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The flexible method is given up after so many steps that did not halve the residual; where another scheme
 * can take over, after fewer. */
enum { STALL_STEPS = 100, SLOW_STEPS = 20 };

const char *kry_scheme_word(kry_scheme scheme)
{
    static const char *const words[] = {
#define SCHEME_WORD(name, word) [name] = word,
        KRY_SCHEME_LIST(SCHEME_WORD)
#undef SCHEME_WORD
    };
    return (unsigned)scheme < COUNT(words) ? words[scheme] : "unknown";
}

/* ---- what the monitor is shown ------------------------------------------------------------ */

static int show(kryi_mixed *M, const kry_iteration *at, int64_t iteration)
{
    kry_iteration it = *at;

    it.iteration = iteration;
    it.seconds = kryi_work_clock(M->A->dev) - M->now.start;
    return M->options.pcg.monitor ? M->options.pcg.monitor(M->options.pcg.monitor_user, &it) : 0;
}

static int stall_steps(const kryi_mixed *M)
{
    return M->options.mixed.scheme == KRY_SCHEME_AUTO ? SLOW_STEPS : STALL_STEPS;
}

/* Called by the solver in single, and by those in double; a flexible method that gets nowhere for
 * many steps is stopped. */
int kryi_mixed_inner_monitor(void *user, const kry_iteration *it)
{
    return show(user, it, it->iteration);
}

int kryi_mixed_outer_monitor(void *user, const kry_iteration *it)
{
    kryi_mixed *M = user;
    const int64_t inner = M->inner.iterations;

    if (M->now.scheme != KRY_SCHEME_FLEXIBLE) return show(M, it, inner + it->iteration);
    if (it->residual < 0.5 * M->now.best)
        M->now.best = it->residual, M->now.best_step = it->iteration;
    bool there = it->residual <= it->target;
    M->now.stalled = !there && it->iteration - M->now.best_step > stall_steps(M);
    M->now.spent = !there && inner >= M->now.before + M->options.pcg.stop.max_iter;
    return show(M, it, inner) || M->now.stalled || M->now.spent;
}

/* ---- the schemes ------------------------------------------------------------------------ */

/* Only the first part's monitor has seen how it ended. */
static kry_status agree_on_end(kryi_mixed *M)
{
    kry_status st = KRY_OK;
    double end = M->now.stalled ? 1 : M->now.spent ? 2 : 0;

    TRY(kryi_layout_agree(&M->A->dev->layout, &end));
    M->now.stalled = end == 1, M->now.spent = end == 2;
done:
    return st;
}

static kry_status flexible(kryi_mixed *M, kryi_terms *terms, kry_result *res)
{
    kry_status st = KRY_OK;
    int64_t each = M->inner.most ? M->inner.most : 1;

    terms->max_iter = 1 + (terms->max_iter - 1) / each;
    M->now.best = INFINITY, M->now.best_step = 0, M->now.stalled = M->now.spent = false;
    TRY(kryi_outer_run(M->outer, KRY_SCHEME_FLEXIBLE, terms, res));
    TRY(agree_on_end(M));
    if (M->now.stalled && res->reason == KRY_MONITOR_STOP) {
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kryi_print(res->why, sizeof res->why,
                   "%d steps around solves in single did not halve the residual of %.3e",
                   stall_steps(M), M->now.best);
    } else if (M->now.spent && res->reason == KRY_MONITOR_STOP) {
        res->reason = KRY_ITERATION_LIMIT;
        kryi_print(res->why, sizeof res->why,
                   "%lld iterations in single were not enough: residual %.3e, wanted %.3e",
                   (long long)M->inner.iterations, res->true_residual, res->target);
    }
done:
    return st;
}

static int64_t iterations_of(const kryi_mixed *M) { return M->inner.iterations + M->now.doubled; }

static kry_status run_scheme(kryi_mixed *M, bool inner, kry_result *res)
{
    kry_status st = KRY_OK;
    int64_t left = M->options.pcg.stop.max_iter + M->now.before - iterations_of(M);
    kryi_terms terms = { .max_iter = left > 1 ? left : 1, .inner = inner };

    if (M->now.scheme == KRY_SCHEME_FLEXIBLE) return flexible(M, &terms, res);
    TRY(kryi_outer_run(M->outer, M->now.scheme, &terms, res));
    if (M->now.scheme == KRY_SCHEME_DOUBLE)
        M->now.doubled += res->iterations, M->now.bytes += res->bytes;
done:
    return st;
}

/* Go on to the next scheme after one that failed for what single precision is. Returns false if there is none. */
static bool promote(kryi_mixed *M, kry_result *res, kry_result *promoted)
{
    static const kry_scheme next[] = { [KRY_SCHEME_RELIABLE] = KRY_SCHEME_FLEXIBLE,
                                       [KRY_SCHEME_FLEXIBLE] = KRY_SCHEME_DOUBLE,
                                       [KRY_SCHEME_CLASSICAL] = KRY_SCHEME_DOUBLE };
    kry_status st = kry_reason_status(res->reason);

    if (M->options.mixed.scheme != KRY_SCHEME_AUTO || M->now.scheme == KRY_SCHEME_DOUBLE)
        return false;
    const bool limited = M->limits && res->reason == KRY_ITERATION_LIMIT;
    if (st != KRY_STAGNATED && st != KRY_BREAKDOWN && !limited) return false;
    promoted->promotions++;
    snprintf(promoted->promoted_why, sizeof promoted->promoted_why, "%s: %.370s",
             kry_scheme_word(M->now.scheme), res->why);
    /* Where single is slow the flexible method, whose solves in single are short, is slower still; and it needs
     * a symmetric A. */
    const bool skips = M->now.slow || M->takes == KRY_TAKES_ANY;
    M->now.scheme = skips ? KRY_SCHEME_DOUBLE : next[M->now.scheme];
    if (M->limits) M->now.before = iterations_of(M);
    return true;
}

/* By the model: iterations, and the residuals between them: the product and 8 words. */
static double bytes_moved(const kryi_mixed *M)
{
    kry_op_info A;
    double words = 8.0 * (double)M->A->shape.rows * (double)sizeof(double);

    kry_op_describe(M->A, &A);
    if (M->inner.iterations && M->inner.bytes <= 0) return 0;
    return M->inner.bytes + M->now.bytes + (double)M->now.products * (A.bytes_per_apply + words);
}

static void report(kryi_mixed *M, const kry_result *promoted, kry_result *res)
{
    res->scheme = M->now.scheme;
    res->single_iterations = M->inner.iterations;
    res->double_iterations = M->now.doubled;
    res->iterations = iterations_of(M);
    res->outer_iterations = M->now.products;
    res->promotions = promoted->promotions;
    memcpy(res->promoted_why, promoted->promoted_why, sizeof res->promoted_why);
    res->bytes = bytes_moved(M);
    res->solve_seconds = kryi_work_clock(M->A->dev) - M->now.start;
}

static kry_scheme first_scheme(const kryi_mixed *M)
{
    return M->refused[0] ? KRY_SCHEME_DOUBLE : M->fitting;
}

static kry_status solve_alone(kryi_mixed *M, const kry_vec *b, kry_vec *x, bool inner,
                              kry_result *res)
{
    kry_status st = KRY_OK;
    kry_result promoted = { .promotions = 0 };

    memset(&M->now, 0, sizeof M->now);
    M->now.start = kryi_work_clock(M->A->dev);
    M->now.scheme = first_scheme(M);
    M->inner.iterations = 0;
    M->inner.bytes = 0;
    M->now.least = M->now.guess = INFINITY;
    TRY(kryi_check_matrix("kry_solve", M->A, M->check, M->takes, &M->checked));
    if (M->refused[0]) {
        promoted.promotions = 1;
        snprintf(promoted.promoted_why, sizeof promoted.promoted_why, "%s", M->refused);
    }
    TRY(kryi_outer_begin(M->outer, b, x));
    do TRY(run_scheme(M, inner, res));
    while (promote(M, res, &promoted));
    st = kry_reason_status(res->reason);
    const bool guess = (st == KRY_BREAKDOWN || st == KRY_STAGNATED) && M->now.guess < M->now.least;
    TRY(kryi_outer_end(M->outer, guess, x, res));
    report(M, &promoted, res);
    st = kry_reason_status(res->reason);
done:
    return st;
}

/* inner: a part of another solve. */
static kry_status solve(kryi_mixed *M, const kry_vec *b, kry_vec *x, bool inner, kry_result *res)
{
    kry_status st = kryi_op_keep("kry_solve", M->A);

    if (st < 0) return st;
    st = solve_alone(M, b, x, inner, res);
    kryi_op_let_go(M->A);
    return st;
}

/* ---- the operator ----------------------------------------------------------------------- */

static kry_status mixed_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return solve(self, b, x, false, res);
}

static kry_status solve_within(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return solve(self, b, x, true, res);
}

static kry_status mixed_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_apply_by_solve(solve_within, self, alpha, x, beta, y);
}

/* A in single with A's new numbers, and what was made of it. */
static kry_status update_inner(kryi_mixed *M)
{
    kry_status st = KRY_OK;
    kryi_inner *I = &M->inner;

    TRY(kryi_null_found_check(M->A));
    TRY(kryi_op_make_copy("kry_op_update", M->A, KRY_F32, M->e.factor, M->e.scale, &M->converted));
    TRY(kry_op_update(I->solver, NULL));
    M->refused[0] = 0;
done:
    if (st != KRY_ERR_UNSUPPORTED || M->options.mixed.scheme != KRY_SCHEME_AUTO) return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    return KRY_OK;
}

static kry_status mixed_renew(void *self)
{
    kryi_mixed *M = self;
    kry_status st = KRY_OK;

    TRY(kryi_check_matrix("kry_op_update", M->A, M->check, M->takes, &M->checked));
    if (M->converted) TRY(update_inner(M));
    TRY(kryi_outer_update(M->outer));
done:
    return st;
}

static const kry_op *mixed_inner(const void *self)
{
    return ((const kryi_mixed *)self)->inner.solver;
}

/* Set the criteria of all solvers that this one is made of. */
static kry_status mixed_set_stop(void *self, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    kryi_mixed *M = self;

    CHECK(stop->test != KRY_STOP_NEVER, KRY_ERR_UNSUPPORTED, KRY_NEVER_MIXED,
          "kry_solver_set_stop");
    TRY(kryi_outer_set_stop(M->outer, stop));
    if (M->inner.K)
        TRY(kryi_krylov_set_stop(M->inner.K,
                                 &(kry_stop){ .max_iter = M->options.pcg.stop.max_iter }));
done:
    return st;
}

/* The scheme that a solve begins with, the solver in single, and the tolerances of the whole. */
static void mixed_describe(void *self, kry_op_info *info)
{
    kryi_mixed *M = self;
    char stop[100], inner[300] = "";

    if (M->inner.K) kryi_krylov_text(M->inner.K, inner, sizeof inner);
    snprintf(M->text, sizeof M->text, "%s, %s %s%s%s, mixed precision",
             kry_scheme_word(first_scheme(M)), M->inner.K ? M->inner.K->method->kind : "", inner,
             *inner ? ", " : "", kryi_stop_text(&M->options.pcg.stop, stop, sizeof stop));
    info->variant = M->text;
}

void kryi_mixed_destroy(void *self)
{
    kryi_mixed *M = self;
    if (!M) return;
    kryi_outer_destroy(M->outer);
    kry_vec_release(&M->inner.x);
    kry_vec_release(&M->inner.r);
    kry_op_release(&M->inner.solver);
    kry_op_release(&M->converted);
    kry_op_release(&M->A);
    kryi_subdomains_release(&M->subdomains);
    kryi_equilibrium_release(&M->e);
    free(M);
}

const kry_op_table kryi_mixed_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "mixed",
    .apply = mixed_apply,
    .solve = mixed_solve,
    .describe = mixed_describe,
    .destroy = kryi_mixed_destroy,
};
const kryi_op_fused kryi_mixed_fused = { .renew = mixed_renew,
                                         .inner = mixed_inner,
                                         .set_stop = mixed_set_stop };
