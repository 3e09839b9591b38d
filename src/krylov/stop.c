/* stop.c - when a solve stops, and what that is called. */
#include "krylov/stop.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kry_reason_word(kry_reason reason)
{
    switch (reason) {
#define REASON_WORD(name, word, status) \
    case name: return word;
        KRY_REASON_LIST(REASON_WORD)
#undef REASON_WORD
    }
    return "unknown";
}

kry_status kry_reason_status(kry_reason reason)
{
    switch (reason) {
#define REASON_STATUS(name, word, status) \
    case name: return status;
        KRY_REASON_LIST(REASON_STATUS)
#undef REASON_STATUS
    }
    return KRY_BREAKDOWN;
}

/* ---- criteria ---------------------------------------------------------------------------- */

double kryi_unit_roundoff(kry_type type)
{
    return type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

#define PARAMS kry_stop
const kryi_field kryi_stop_fields[] = {
    { KRY_FIELD(DOUBLE, rtol),
      KRY_WORD("rtol", REAL, "=T",
               "stop at ||r|| <= T ||b|| (default 1e-8 in double, 1e-5 in single)"),
      KRY_BELOW(0, 1) },
    { KRY_FIELD(DOUBLE, atol), KRY_WORD("atol", REAL, "=T", "stop at ||r|| <= T (default 0)"),
      KRY_BELOW(0, INFINITY) },
    { KRY_FIELD(INT64, max_iter),
      KRY_WORD("maxit", WHOLE, "=N", "iterations at most (default 0: chosen)"),
      KRY_CLOSED(0, INFINITY) },
    { KRY_FIELD(INT64, check_every),
      KRY_WORD("check-every", WHOLE, "=N",
               "iterations between two looks of the host (default 0: chosen)"),
      KRY_CLOSED(0, INFINITY) },
    { KRY_FIELD(INT, test),
      KRY_WORD("stop", CHOICE, "=residual|backward|never",
               "backward: at ||r|| <= rtol (||A|| ||x|| + ||b||); never: maxit iterations, no "
               "test") },
    { 0 },
};

kry_status kryi_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop)
{
    kry_status st = KRY_OK;
    double roundoff = kryi_unit_roundoff(type);

    TRY(kryi_fields_check(who, kryi_stop_fields, stop));
    CHECK(stop->rtol == 0 || stop->rtol >= roundoff, KRY_ERR_ARGUMENT,
          "%s: rtol = %g is below what %s precision can give (%.1e)", who, stop->rtol,
          kry_type_name(type), roundoff);
    if (stop->rtol == 0 && stop->atol == 0) stop->rtol = type == KRY_F32 ? 1e-5 : 1e-8;
    if (stop->max_iter == 0) stop->max_iter = n < 10 ? 100 : n < 10000 ? 10 * n : 100000;
done:
    return st;
}

const char *kryi_stop_text(const kry_stop *stop, char *text, size_t size)
{
    if (stop->test == KRY_STOP_NEVER)
        snprintf(text, size, "exactly %lld iterations", (long long)stop->max_iter);
    else
        kryi_print(text, size, "rtol=%g atol=%g maxit=%lld%s", stop->rtol, stop->atol,
                   (long long)stop->max_iter,
                   stop->test == KRY_STOP_BACKWARD ? " stop=backward" : "");
    return text;
}

double kryi_stop_target(const kry_stop *stop, double norm_b, double norm_Ax)
{
    const double size = norm_b + norm_Ax;

    if (stop->test == KRY_STOP_NEVER) return 0;
    /* A size that overflowed, or is not a number, cannot bound a residual: ||b|| alone counts then. */
    return fmax(stop->rtol * (isfinite(size) ? size : norm_b), stop->atol);
}

double kryi_stop_gradient(const kry_stop *stop)
{
    return stop->test == KRY_STOP_NEVER ? 0 : stop->rtol;
}

double kryi_stopping_whole_target(const kryi_stopping *s)
{
    return kryi_stop_target(&s->criteria, s->norm_b, s->norm_A * s->norm_x);
}

void kryi_stopping_set_target(kryi_stopping *s)
{
    s->progress.target = kryi_stopping_whole_target(s);
    const double share = s->progress.target > 0 ? s->inconsistent / s->progress.target : 0;
    if (share > 0 && share < 1) s->progress.target *= sqrt((1 - share) * (1 + share));
}

/* ---- the convergence history ------------------------------------------------------------- */

static kry_status reserve_history(kryi_progress *p, int64_t capacity)
{
    kry_status st = kryi_realloc((size_t)capacity, sizeof *p->history, &p->history);
    if (st == KRY_OK) p->history_capacity = capacity;
    return st;
}

kry_status kryi_progress_reserve(kryi_progress *p, int64_t max_iter)
{
    enum { MOST = 1 << 20 }; /* a longer history grows as it is written */
    const int64_t capacity = max_iter < MOST ? max_iter + 1 : MOST;

    return capacity > p->history_capacity ? reserve_history(p, capacity) : KRY_OK;
}

kry_status kryi_progress_record(kryi_progress *p, int64_t iteration, double residual)
{
    kry_status st = KRY_OK;

    if (iteration >= p->history_capacity) TRY(reserve_history(p, 2 * iteration));
    p->residual = residual * p->unit;
    p->history[iteration] = p->residual;
    p->history_count = iteration + 1;
done:
    return st;
}

void kry_device_set_monitor(kry_device *device, kry_monitor monitor, void *user)
{
    if (!device) return;
    device->monitor = monitor, device->monitor_user = user;
    for (int i = 0; device->team && i < kry_team_size(device); i++)
        if (device->team->part[i]) kry_device_set_monitor(device->team->part[i], monitor, user);
}

kry_status kryi_progress_call_monitor(kryi_progress *p, int64_t iteration)
{
    kry_status st = KRY_OK;
    const kry_iteration it = { iteration, p->residual, p->target,
                               kryi_work_clock(p->dev) - p->start };
    /* All parts of a team have one, or none. */
    const kry_device *dev = kryi_device_for_copies(p->dev);
    const kry_monitor monitor = p->inner ? NULL : dev->monitor;
    double stop = 0;

    if (!p->monitor && !monitor) return KRY_OK;
    /* The first of several parts shows it, and so does each rank. One that wants to stop stops all. */
    if (kryi_layout_reports(&p->dev->layout)) {
        if (p->monitor) stop = p->monitor(p->monitor_user, &it) != 0;
        if (monitor && monitor(dev->monitor_user, &it)) stop = 1;
    }
    TRY(kryi_layout_combine(&p->dev->layout, KRY_MAX, &stop, 1));
    if (stop != 0) p->monitor_stopped = true;
done:
    return st;
}

/* ---- a solve, and its cycles ------------------------------------------------------------- */

void kryi_progress_begin(kryi_progress *p, int64_t max_iter, bool inner)
{
    p->inner = inner;
    p->start = kryi_work_clock(p->dev);
    p->max_iter = max_iter;
    p->unit = 1;
    p->iteration = p->history_count = p->persistent = 0;
    p->residual = 0;
    p->end = KRY_END_NONE, p->end_value = 0;
    p->monitor_stopped = false;
    p->breakdowns = 0, p->alternative = false;
}

void kryi_stopping_begin(kryi_stopping *s, int64_t max_iter, bool inner)
{
    kryi_progress_begin(&s->progress, max_iter, inner);
    s->norm_x = 0;
    s->check_count = 0;
    s->restarts = -1, s->stagnant = 0;
    s->last_true = -1, s->accepted = INFINITY;
    s->gradient = s->last_gradient = INFINITY;
    s->found_norm_A = s->condition = 0;
    s->best_reported = false;
}

bool kryi_progress_iterates(const kryi_progress *p)
{
    return !p->end && !p->monitor_stopped && p->iteration < p->max_iter;
}

kry_status kryi_progress_test(kryi_progress *p, int64_t entry, double residual, double goal)
{
    kry_status st = KRY_OK;

    TRY(kryi_progress_record(p, entry, residual));
    TRY(kryi_progress_call_monitor(p, p->iteration));
    p->end_value = p->residual;
    if (residual <= goal)
        p->end = KRY_END_CONVERGED;
    else if (!isfinite(residual))
        p->end = KRY_END_NOT_FINITE;
    else if (p->residual > KRY_DIVERGED_AT * p->history[0])
        p->end = KRY_END_DIVERGED;
done:
    return st;
}

void kryi_progress_retry(kryi_progress *p, bool barren, bool has_alternative)
{
    const bool broke = p->end == KRY_END_MATRIX || p->end == KRY_END_PRECOND;

    if (!broke || (barren && (!has_alternative || p->alternative))) return;
    p->alternative = barren;
    p->end = KRY_END_NONE;
    p->breakdowns++;
}

/* ---- between cycles ---------------------------------------------------------------------- */

/* Whether x is the least-squares solution. */
static bool minimises(const kryi_stopping *s)
{
    return s->gradient <= kryi_stop_gradient(&s->criteria);
}

/* The recurrence says that it has converged, and the true residual that it has not: another cycle
 * is worth it while each one at least halves the least true residual so far, or if its goal was a target
 * that its x, being smaller, has taken back. Of cycles that ask for a small drop each, one may fail to. */
static bool is_worth_restarting(kryi_stopping *s, double t)
{
    const bool target_fell =
        s->progress.residual <= s->cycle_target && s->progress.residual > s->progress.target;
    const bool halved = target_fell || s->last_true < 0 || t <= 0.5 * s->last_true ||
                        (isfinite(s->gradient) && s->gradient <= 0.5 * s->last_gradient);

    if (!s->drop || halved) s->last_true = t;
    s->last_gradient = s->gradient;
    s->stagnant = halved ? 0 : s->stagnant + 1;
    return s->stagnant < (s->drop ? 2 : 1);
}

bool kryi_stopping_restarts(kryi_stopping *s, double t)
{
    if (s->check_count < KRY_CHECKS) s->check_count++;
    s->check[s->check_count - 1] = (kry_true_residual){ s->progress.iteration, t };
    if (t <= s->progress.target || !isfinite(t) || minimises(s)) return false;
    if (s->restarts < 0) {
        if (s->drop) s->last_true = t;
        return true;
    }
    if (kryi_progress_iterates(&s->progress)) return true; /* the method wants to restart */
    return !s->progress.monitor_stopped && s->progress.end == KRY_END_CONVERGED &&
           s->progress.iteration < s->progress.max_iter && is_worth_restarting(s, t);
}

/* ---- the verdict ------------------------------------------------------------------------- */

static kry_reason name_breakdown(const kryi_stopping *s, char *why, size_t size)
{
    long long k = (long long)s->progress.iteration;

    if (s->progress.end == KRY_END_PRECOND || s->progress.end == KRY_END_MATRIX) {
        const kryi_breakdown *word = s->breakdown[s->progress.end == KRY_END_MATRIX];
        kryi_print(why, size, "%s = %.3g at iteration %lld %s", word->quantity,
                   s->progress.end_value, k, word->meaning);
        return word->reason;
    }
    if (s->progress.end == KRY_END_DIVERGED) {
        kryi_print(
            why, size,
            "the residual grew from %.3e to %.3e in %lld iterations: the iteration diverges; "
            "take another method, or a smaller omega if it has one",
            s->progress.history[0], s->progress.end_value, k);
        return KRY_DIVERGED;
    }
    if (s->progress.end == KRY_END_SLOW) {
        kryi_print(why, size,
                   "%.0f iterations in single were not enough to reduce the residual of %.3e by a "
                   "factor of %g",
                   s->progress.end_value, s->accepted, 1 / s->drop);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    kryi_print(why, size, "the recurrence ran into %g at iteration %lld", s->progress.end_value, k);
    return KRY_NOT_FINITE;
}

/* Rounding b alone may change a residual by more than a target that is so small: a computed residual
 * that meets it proves nothing, unless it is zero. */
static bool proves_nothing(const kryi_stopping *s, double t)
{
    return t > 0 && s->progress.target < s->roundoff * s->norm_b;
}

/* Whether the recurrence has come to a residual with which no step can be made. */
static bool nothing_left(const kryi_stopping *s)
{
    return s->progress.residual <= DBL_EPSILON * DBL_EPSILON * s->norm_b;
}

/* Why no other cycle is worth it. */
static kry_reason find_reason(const kryi_stopping *s, double t, char *why, size_t size)
{
    long long k = (long long)s->progress.iteration;

    if (s->norm_b == 0) {
        snprintf(why, size, "b is zero, and so is x");
        return KRY_CONVERGED_ZERO;
    }
    if (t <= s->progress.target && proves_nothing(s, t)) {
        kryi_print(why, size,
                   "||b - A x|| is computed as %.3e, but rounding alone may make %.1e of ||b|| = "
                   "%.3e: the target of %.3e (atol) is too small to be verified",
                   t, s->roundoff * s->norm_b, s->norm_b, s->progress.target);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    if (t <= s->progress.target && s->restarts < 0) {
        kryi_print(why, size, "the guess has ||b - A x|| = %.3e already", t);
        return KRY_CONVERGED_GUESS;
    }
    if (t <= s->progress.target) {
        kryi_print(why, size, "||b - A x|| = %.3e", t);
        return KRY_CONVERGED;
    }
    if (!isfinite(t)) {
        kryi_print(why, size,
                   s->drop ? "||b - A x|| (%g) of what %lld iterations in single came to grew "
                             "out of bounds"
                           : "||b - A x|| is %g after %lld iterations",
                   t, k);
        return KRY_NOT_FINITE;
    }
    if (minimises(s) && s->regular && s->gradient > 0) {
        kryi_print(
            why, size,
            "||b - A x|| = %.3e, wanted %.3e, though ||A'r|| is %.1e ||A|| ||r||: A is "
            "singular and x a least-squares solution, or ill-conditioned: scale its columns, "
            "or take a smaller rtol",
            t, s->progress.target, s->gradient);
        return KRY_INCONSISTENT;
    }
    if (minimises(s)) {
        kryi_print(why, size,
                   "a least-squares solution: ||A'r|| is %.1e ||A|| ||r||, so that no x makes "
                   "r = b - A x noticeably smaller than %.3e",
                   s->gradient, t);
        return KRY_CONVERGED_LEAST_SQUARES;
    }
    if (s->progress.monitor_stopped) {
        snprintf(why, size, "the monitor asked to stop at iteration %lld", k);
        return KRY_MONITOR_STOP;
    }
    if (s->criteria.test == KRY_STOP_NEVER && (!s->progress.end || nothing_left(s))) {
        kryi_print(why, size, "%lld iteration%s, as asked: ||b - A x|| = %.3e", k,
                   k == 1 ? "" : "s", t);
        return KRY_ITERATIONS_DONE;
    }
    const bool limited =
        s->progress.end == KRY_END_MATRIX && s->breakdown[1]->reason == KRY_ILL_CONDITIONED;
    if (s->progress.end == KRY_END_CONVERGED ||
        (s->progress.end && !limited && s->last_true >= 0 && !s->drop)) {
        kryi_print(why, size,
                   "the recurrence claims %.3e, but ||b - A x|| stays at %.3e: the limit of "
                   "this precision for this matrix",
                   s->progress.residual, t);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    if (s->progress.end) return name_breakdown(s, why, size);
    kryi_print(why, size, "%lld iteration%s not enough: ||b - A x|| = %.3e, wanted %.3e", k,
               k == 1 ? " was" : "s were", t, s->progress.target);
    return KRY_ITERATION_LIMIT;
}

void kryi_stopping_end(const kryi_stopping *s, double t, kry_result *res)
{
    char why[sizeof res->why];

    res->reason = find_reason(s, t, why, sizeof why);
    if (s->progress.breakdowns)
        snprintf(res->why, sizeof res->why, "%.340s; %d breakdown%s, then a new beginning", why,
                 s->progress.breakdowns, s->progress.breakdowns > 1 ? "s" : "");
    else
        snprintf(res->why, sizeof res->why, "%s", why);
    res->iterations = s->progress.iteration;
    res->restarts = s->restarts > 0 ? s->restarts : 0;
    res->norm_b = s->norm_b;
    res->target = s->progress.target;
    res->norm_A = s->found_norm_A, res->condition = s->condition;
    res->residual = s->progress.history_count ? s->progress.residual : t;
    res->true_residual = t;
    res->history = s->progress.history;
    res->history_count = s->progress.history_count;
    res->history_every = s->progress.history_every;
    res->checks = s->check;
    res->check_count = s->check_count;
    res->solve_seconds = kryi_work_clock(s->progress.dev) - s->progress.start;
}

/* The whole target, and whether b - A x has a part along the null space that no x explains. */
static void check_consistency(const kryi_stopping *s, double along, kry_result *res)
{
    double rounding = 8 * s->roundoff * s->norm_b;

    res->inconsistent = s->inconsistent;
    res->target = kryi_stopping_whole_target(s);
    if (kry_reason_status(res->reason) != KRY_OK) return;
    if (fabs(along - s->inconsistent) > 0.1 * res->target + rounding) {
        res->true_residual = hypot(res->true_residual, along);
        if (res->true_residual <= res->target) return;
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kryi_print(res->why, sizeof res->why,
                   "||b - A x|| = %.3e, of which %.3e lies along the null space that A is "
                   "promised to have: A does not map it to zero",
                   res->true_residual, along);
        return;
    }
    if (s->inconsistent <= res->target || s->criteria.test == KRY_STOP_NEVER) return;
    res->reason = KRY_INCONSISTENT;
    kryi_print(res->why, sizeof res->why,
               "no x solves A x = b: A is singular, and %.3e of ||b|| = %.3e lies where it maps "
               "nothing; without that ||b - A x|| = %.3e",
               s->inconsistent, res->norm_b, res->true_residual);
}

void kryi_stopping_verdict(kryi_stopping *s, double t, double along, bool other, kry_result *res)
{
    const bool met = t <= s->progress.target && !proves_nothing(s, t);
    const bool claims = res->reason == KRY_CONVERGED || res->reason == KRY_CONVERGED_GUESS;

    res->true_residual = t;
    if (met && kry_reason_status(res->reason) != KRY_OK) {
        res->reason = KRY_CONVERGED;
        kryi_print(res->why, sizeof res->why, "||b - A x|| = %.3e%s", t,
                   other ? ", of the best x that was seen" : ", x being clear of the null space");
    } else if (!met && claims) {
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kryi_print(res->why, sizeof res->why,
                   "||b - A x|| = %.3e of the x that is returned, wanted %.3e", t,
                   s->progress.target);
    } else if (other && !s->best_reported) {
        size_t used = strlen(res->why);
        snprintf(res->why + used, sizeof res->why - used, "; x is the best that was seen");
        s->best_reported = true;
    }
    check_consistency(s, along, res);
}
