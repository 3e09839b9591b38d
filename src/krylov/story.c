/* story.c - the history of a solve, its monitor, and its end. */
#include "krylov/story.h"
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

static kry_status reserve_history(kry_story *s, int64_t capacity)
{
    kry_status st = kry_realloc((size_t)capacity, sizeof *s->history, &s->history);
    if (st == KRY_OK) s->history_capacity = capacity;
    return st;
}

kry_status kry_story_reserve(kry_story *s, int64_t max_iter)
{
    enum { MOST = 1 << 20 }; /* a longer history grows as it is written */
    const int64_t capacity = max_iter < MOST ? max_iter + 1 : MOST;

    return capacity > s->history_capacity ? reserve_history(s, capacity) : KRY_OK;
}

kry_status kry_story_create(kry_device *dev, const kry_stop *stop, kry_monitor monitor, void *user,
                            kry_story *s)
{
    *s = (kry_story){ .dev = dev,
                      .monitor = monitor,
                      .monitor_user = user,
                      .exact = monitor && stop->check_every,
                      .unit = 1,
                      .history_every = 1 };
    return kry_story_reserve(s, stop->max_iter);
}

void kry_story_release(kry_story *s)
{
    free(s->history);
    *s = (kry_story){ 0 };
}

void kry_story_begin(kry_story *s, int64_t max_iter)
{
    s->start = kry_work_clock(s->dev);
    s->unit = 1;
    s->max_iter = max_iter;
    s->iteration = s->history_count = s->persistent = 0;
    s->residual = 0;
    s->check_count = 0;
    s->end = KRY_END_NONE, s->end_value = 0;
    s->monitor_stopped = false;
    s->anew = 0;
}

void kry_story_begin_anew(kry_story *s)
{
    s->end = KRY_END_NONE;
    s->anew++;
}

kry_status kry_story_add(kry_story *s, int64_t iteration, double residual)
{
    kry_status st = KRY_OK;

    if (iteration >= s->history_capacity) TRY(reserve_history(s, 2 * iteration));
    s->residual = residual * s->unit;
    s->history[iteration] = s->residual;
    s->history_count = iteration + 1;
done:
    return st;
}

void kry_story_check(kry_story *s, double residual)
{
    if (s->check_count < KRY_CHECKS) s->check_count++;
    s->check[s->check_count - 1] = (kry_true_residual){ s->iteration, residual };
}

kry_status kry_story_show(kry_story *s, int64_t iteration)
{
    kry_status st = KRY_OK;
    const kry_iteration it = { iteration, s->residual, s->target,
                               kry_work_clock(s->dev) - s->start };
    /* All parts of a team have an observer, or none. */
    const kry_observer *observer = s->inner ? NULL : kry_device_for_copies(s->dev)->observer;
    double stop = 0;

    if (!s->monitor && !observer) return KRY_OK;
    /* Of several parts the first one shows it, and each rank. One that wants to stop stops all. */
    if (kry_layout_reports(&s->dev->layout)) {
        if (s->monitor) stop = s->monitor(s->monitor_user, &it) != 0;
        if (observer && observer->look(observer->user, &it)) stop = 1;
    }
    TRY(kry_layout_combine(&s->dev->layout, KRY_MAX, &stop, 1));
    if (stop != 0) s->monitor_stopped = true;
done:
    return st;
}

kry_status kry_story_look(kry_story *s, int64_t entry, double residual, double goal)
{
    kry_status st = KRY_OK;

    TRY(kry_story_add(s, entry, residual));
    TRY(kry_story_show(s, s->iteration));
    s->end_value = s->residual;
    if (residual <= goal)
        s->end = KRY_END_CONVERGED;
    else if (!isfinite(residual))
        s->end = KRY_END_NOT_FINITE;
    else if (s->residual > KRY_DIVERGED_AT * s->history[0])
        s->end = KRY_END_DIVERGED;
done:
    return st;
}

bool kry_story_goes_on(const kry_story *s)
{
    return !s->end && !s->monitor_stopped && s->iteration < s->max_iter;
}

bool kry_story_ran_out(const kry_story *s)
{
    return !s->end && !s->monitor_stopped && s->iteration >= s->max_iter;
}

void kry_story_tell(const kry_story *s, kry_reason reason, double true_residual, const char *why,
                    kry_result *res)
{
    res->reason = reason;
    if (s->anew)
        snprintf(res->why, sizeof res->why, "%.340s; %d breakdown%s, then a new beginning", why,
                 s->anew, s->anew > 1 ? "s" : "");
    else
        snprintf(res->why, sizeof res->why, "%s", why);
    res->iterations = s->iteration;
    res->residual = s->history_count ? s->residual : true_residual;
    res->true_residual = true_residual;
    res->history = s->history;
    res->history_count = s->history_count;
    res->history_every = s->history_every;
    res->checks = s->check;
    res->check_count = s->check_count;
    res->solve_seconds = kry_work_clock(s->dev) - s->start;
}
