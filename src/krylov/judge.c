/* judge.c - when a solve ends, and what it is called. */
#include "krylov/judge.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

double kry_unit_roundoff(kry_type type)
{
    return type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

kry_status kry_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop)
{
    kry_status st = KRY_OK;
    double roundoff = kry_unit_roundoff(type);

    CHECK(stop->rtol >= 0 && stop->rtol < 1, KRY_ERR_ARGUMENT,
          "%s: rtol = %g is not at least 0 and below 1, where x = 0 would do", who, stop->rtol);
    CHECK(stop->atol >= 0 && stop->atol < INFINITY, KRY_ERR_ARGUMENT,
          "%s: atol = %g is not at least 0 and finite", who, stop->atol);
    CHECK(stop->max_iter >= 0, KRY_ERR_ARGUMENT, "%s: max_iter = %lld, must be at least 0", who,
          (long long)stop->max_iter);
    CHECK(stop->check_every >= 0, KRY_ERR_ARGUMENT, "%s: check_every = %lld, must be at least 0",
          who, (long long)stop->check_every);
    CHECK((unsigned)stop->test <= KRY_STOP_NEVER, KRY_ERR_ARGUMENT, "%s: test = %d is none", who,
          (int)stop->test);
    CHECK(stop->rtol == 0 || stop->rtol >= roundoff, KRY_ERR_ARGUMENT,
          "%s: rtol = %g is below what %s precision can give (%.1e)", who, stop->rtol,
          kry_type_name(type), roundoff);
    if (stop->rtol == 0 && stop->atol == 0) stop->rtol = type == KRY_F32 ? 1e-5 : 1e-8;
    if (stop->max_iter == 0) stop->max_iter = n < 10 ? 100 : n < 10000 ? 10 * n : 100000;
done:
    return st;
}

const char *kry_stop_text(const kry_stop *stop, char *text, size_t size)
{
    if (stop->test == KRY_STOP_NEVER)
        snprintf(text, size, "exactly %lld iterations", (long long)stop->max_iter);
    else
        kry_print(text, size, "rtol=%g atol=%g maxit=%lld%s", stop->rtol, stop->atol,
                  (long long)stop->max_iter,
                  stop->test == KRY_STOP_BACKWARD ? " stop=backward" : "");
    return text;
}

double kry_judge_whole_target(const kry_judge *J)
{
    const double flows = J->norm_A * J->norm_x, size = J->norm_b + flows;

    if (J->stop.test == KRY_STOP_NEVER) return 0;
    /* A size that overflowed, or is not a number, cannot bound a residual: ||b|| alone counts then. */
    return fmax(J->stop.rtol * (isfinite(size) ? size : J->norm_b), J->stop.atol);
}

void kry_judge_aim(kry_judge *J)
{
    J->target = kry_judge_whole_target(J);
    double share = J->target > 0 ? J->inconsistent / J->target : 0;
    if (share > 0 && share < 1) J->target *= sqrt((1 - share) * (1 + share));
}

void kry_judge_begin(kry_judge *J, double norm_b, double inconsistent)
{
    J->norm_b = norm_b, J->inconsistent = inconsistent, J->norm_x = 0;
    kry_judge_aim(J);
    J->aimed = J->target;
    J->gradient = J->last_gradient = INFINITY;
    J->norm_AN = J->condition = 0;
    J->last_claim = -1, J->least = INFINITY;
    J->in_vain = 0, J->restarts = -1, J->told = false;
}

double kry_judge_goal(const kry_judge *J, double residual)
{
    return fmax(J->target, J->drop * residual);
}

double kry_judge_gradient_goal(const kry_judge *J)
{
    return J->stop.test == KRY_STOP_NEVER ? 0 : J->stop.rtol;
}

/* Whether x is the least-squares solution. */
static bool minimises(const kry_judge *J) { return J->gradient <= kry_judge_gradient_goal(J); }

bool kry_judge_keeps(const kry_judge *J, const kry_story *s)
{
    return J->restarts >= 0 && s->end == KRY_END_CONVERGED && !J->in_vain;
}

bool kry_residual_accept(double residual, double *least)
{
    const double most = 1e4; /* a correction may make the residual larger, but x must survive it */
    bool sane = isfinite(residual) && residual <= most * *least;

    if (sane) *least = residual;
    return sane;
}

void kry_judge_end(const kry_judge *J, const kry_story *s, kry_reason reason, const char *why,
                   double true_residual, kry_result *res)
{
    kry_story_tell(s, reason, true_residual, why, res);
    res->restarts = J->restarts > 0 ? J->restarts : 0;
    res->norm_b = J->norm_b;
    res->target = J->target;
    res->norm_A = J->norm_AN, res->condition = J->condition;
}

/* The recurrence says that it has converged, and the true residual that it has not: another cycle
 * is worth it while each one at least halves the least true residual so far, or if it aimed at a target
 * that its x, being smaller, has taken back. Of cycles that ask for a small drop each, one may fail to. */
static bool worth_restarting(kry_judge *J, const kry_story *s, double t)
{
    const bool aimed_high = s->residual <= J->aimed && s->residual > J->target;
    bool halved = aimed_high || J->last_claim < 0 || t <= 0.5 * J->last_claim ||
                  (isfinite(J->gradient) && J->gradient <= 0.5 * J->last_gradient);

    if (!J->drop || halved) J->last_claim = t;
    J->last_gradient = J->gradient;
    J->in_vain = halved ? 0 : J->in_vain + 1;
    return J->in_vain < (J->drop ? 2 : 1);
}

bool kry_judge_goes_on(kry_judge *J, const kry_story *s, double t)
{
    if (t <= J->target || !isfinite(t) || minimises(J)) return false;
    if (J->restarts < 0) {
        if (J->drop) J->last_claim = t;
        return true;
    }
    if (kry_story_goes_on(s)) return true; /* the method wants to begin anew */
    return !s->monitor_stopped && s->end == KRY_END_CONVERGED && s->iteration < s->max_iter &&
           worth_restarting(J, s, t);
}

static kry_reason breakdown(const kry_judge *J, const kry_story *s, char *why, size_t size)
{
    long long k = (long long)s->iteration;

    if (s->end == KRY_END_PRECOND || s->end == KRY_END_MATRIX) {
        const kry_breakdown *word = J->words[s->end == KRY_END_MATRIX];
        kry_print(why, size, "%s = %.3g at iteration %lld %s", word->quantity, s->end_value, k,
                  word->meaning);
        return word->reason;
    }
    if (s->end == KRY_END_DIVERGED) {
        kry_print(why, size,
                  "the residual grew from %.3e to %.3e in %lld iterations: the iteration diverges; "
                  "take another method, or a smaller omega if it has one",
                  s->history[0], s->end_value, k);
        return KRY_DIVERGED;
    }
    if (s->end == KRY_END_SLOW) {
        kry_print(why, size,
                  "%.0f iterations in single were not enough to reduce the residual of %.3e by a "
                  "factor of %g",
                  s->end_value, J->least, 1 / J->drop);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    kry_print(why, size, "the recurrence ran into %g at iteration %lld", s->end_value, k);
    return KRY_NOT_FINITE;
}

/* Rounding b alone may change a residual by more than a target that is so small: a computed residual
 * that meets it proves nothing, unless it is zero. */
static bool proves_nothing(const kry_judge *J, double t)
{
    return t > 0 && J->target < J->roundoff * J->norm_b;
}

/* Whether the recurrence has come to a residual with which no step can be made. */
static bool nothing_left(const kry_judge *J, const kry_story *s)
{
    return s->residual <= DBL_EPSILON * DBL_EPSILON * J->norm_b;
}

/* Why no other cycle is worth it. */
static kry_reason find_reason(const kry_judge *J, const kry_story *s, double t, char *why,
                              size_t size)
{
    long long k = (long long)s->iteration;

    if (t <= J->target && proves_nothing(J, t)) {
        kry_print(why, size,
                  "||b - A x|| is computed as %.3e, but rounding alone may make %.1e of ||b|| = "
                  "%.3e: the target of %.3e (atol) is too small to be verified",
                  t, J->roundoff * J->norm_b, J->norm_b, J->target);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    if (t <= J->target && J->restarts < 0) {
        kry_print(why, size, "the guess has ||b - A x|| = %.3e already", t);
        return KRY_CONVERGED_GUESS;
    }
    if (t <= J->target) {
        kry_print(why, size, "||b - A x|| = %.3e", t);
        return KRY_CONVERGED;
    }
    if (!isfinite(t)) {
        kry_print(why, size,
                  J->drop ? "||b - A x|| (%g) of what %lld iterations in single came to grew "
                            "out of bounds"
                          : "||b - A x|| is %g after %lld iterations",
                  t, k);
        return KRY_NOT_FINITE;
    }
    if (minimises(J) && J->regular && J->gradient > 0) {
        kry_print(why, size,
                  "||b - A x|| = %.3e, wanted %.3e, though ||A'r|| is %.1e ||A|| ||r||: A is "
                  "singular and x a least-squares solution, or ill-conditioned: scale its columns, "
                  "or take a smaller rtol",
                  t, J->target, J->gradient);
        return KRY_INCONSISTENT;
    }
    if (minimises(J)) {
        kry_print(why, size,
                  "a least-squares solution: ||A'r|| is %.1e ||A|| ||r||, so that no x makes "
                  "r = b - A x noticeably smaller than %.3e",
                  J->gradient, t);
        return KRY_CONVERGED_LEAST_SQUARES;
    }
    if (s->monitor_stopped) {
        snprintf(why, size, "the monitor asked to stop at iteration %lld", k);
        return KRY_MONITOR_STOP;
    }
    if (J->stop.test == KRY_STOP_NEVER && (!s->end || nothing_left(J, s))) {
        kry_print(why, size, "%lld iteration%s, as asked: ||b - A x|| = %.3e", k, k == 1 ? "" : "s",
                  t);
        return KRY_ITERATIONS_DONE;
    }
    const bool limited = s->end == KRY_END_MATRIX && J->words[1]->reason == KRY_ILL_CONDITIONED;
    if (s->end == KRY_END_CONVERGED || (s->end && !limited && J->last_claim >= 0 && !J->drop)) {
        kry_print(why, size,
                  "the recurrence claims %.3e, but ||b - A x|| stays at %.3e: the limit of "
                  "this precision for this matrix",
                  s->residual, t);
        return KRY_TRUE_RESIDUAL_STAGNATED;
    }
    if (s->end) return breakdown(J, s, why, size);
    kry_print(why, size, "%lld iteration%s not enough: ||b - A x|| = %.3e, wanted %.3e", k,
              k == 1 ? " was" : "s were", t, J->target);
    return KRY_ITERATION_LIMIT;
}

void kry_judge_stop(const kry_judge *J, const kry_story *s, double t, kry_result *res)
{
    char why[sizeof res->why];
    kry_reason reason = find_reason(J, s, t, why, sizeof why);

    kry_judge_end(J, s, reason, why, t, res);
}

/* The whole target, and whether b - A x has a part along the null space that no x explains. */
static void check_consistency(const kry_judge *J, double along, kry_result *res)
{
    double rounding = 8 * J->roundoff * J->norm_b;

    res->inconsistent = J->inconsistent;
    res->target = kry_judge_whole_target(J);
    if (kry_reason_status(res->reason) != KRY_OK) return;
    if (fabs(along - J->inconsistent) > 0.1 * res->target + rounding) {
        res->true_residual = hypot(res->true_residual, along);
        if (res->true_residual <= res->target) return;
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kry_print(res->why, sizeof res->why,
                  "||b - A x|| = %.3e, of which %.3e lies along the null space that A is "
                  "promised to have: A does not map it to zero",
                  res->true_residual, along);
        return;
    }
    if (J->inconsistent <= res->target || J->stop.test == KRY_STOP_NEVER) return;
    res->reason = KRY_INCONSISTENT;
    kry_print(res->why, sizeof res->why,
              "no x solves A x = b: A is singular, and %.3e of ||b|| = %.3e lies where it maps "
              "nothing; without that ||b - A x|| = %.3e",
              J->inconsistent, res->norm_b, res->true_residual);
}

void kry_judge_conclude(kry_judge *J, double t, double along, bool other, kry_result *res)
{
    const bool met = t <= J->target && !proves_nothing(J, t);
    const bool claims = res->reason == KRY_CONVERGED || res->reason == KRY_CONVERGED_GUESS;

    res->true_residual = t;
    if (met && kry_reason_status(res->reason) != KRY_OK) {
        res->reason = KRY_CONVERGED;
        kry_print(res->why, sizeof res->why, "||b - A x|| = %.3e%s", t,
                  other ? ", of the best x that was seen" : ", x being clear of the null space");
    } else if (!met && claims) {
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        kry_print(res->why, sizeof res->why,
                  "||b - A x|| = %.3e of the x that is returned, wanted %.3e", t, J->target);
    } else if (other && !J->told) {
        size_t used = strlen(res->why);
        snprintf(res->why + used, sizeof res->why - used, "; x is the best that was seen");
        J->told = true;
    }
    check_consistency(J, along, res);
}
