/* stop.c - stopping, watching from a batch behind, judging by the true residual. */
#include "krylov/stop.h"
#include "operator/direction.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device's reasons, as in cl/direction.clh, and one of the host's. */
enum { GO_ON, STOP_CONVERGED, STOP_PRECOND, STOP_MATRIX, STOP_NOT_FINITE, STOP_DIVERGED };

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

kry_status kry_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop)
{
    kry_status st = KRY_OK;
    double roundoff = type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;

    CHECK(stop->rtol >= 0 && stop->rtol < INFINITY, KRY_ERR_ARGUMENT, "%s: rtol = %g", who,
          stop->rtol);
    CHECK(stop->atol >= 0 && stop->atol < INFINITY, KRY_ERR_ARGUMENT, "%s: atol = %g", who,
          stop->atol);
    CHECK(stop->max_iter >= 0, KRY_ERR_ARGUMENT, "%s: max_iter = %lld", who,
          (long long)stop->max_iter);
    CHECK(stop->check_every >= 0, KRY_ERR_ARGUMENT, "%s: check_every = %lld", who,
          (long long)stop->check_every);
    CHECK(stop->rtol == 0 || stop->rtol >= roundoff, KRY_ERR_ARGUMENT,
          "%s: rtol = %g is below what %s precision can give (%.1e)", who, stop->rtol,
          kry_type_name(type), roundoff);
    if (stop->rtol == 0 && stop->atol == 0) stop->rtol = type == KRY_F32 ? 1e-5 : 1e-8;
    if (stop->max_iter == 0) stop->max_iter = n < 10 ? 100 : n < 10000 ? 10 * n : 100000;
done:
    return st;
}

/* ---- the watch's memory ------------------------------------------------------------------- */

static size_t look_bytes(const kry_watch *w)
{
    return (STATE_SIZE + KRY_LOOK) * kry_acc_size(w->dev);
}

static double mirror_at(const kry_watch *w, int look, int i)
{
    const char *at = w->mirror + (size_t)look * look_bytes(w) + (size_t)i * kry_acc_size(w->dev);
    double f64;
    float f32;
    if (w->dev->info.fp64) return memcpy(&f64, at, sizeof f64), f64;
    return memcpy(&f32, at, sizeof f32), (double)f32;
}

static kry_status reserve_history(kry_watch *w, int64_t capacity)
{
    kry_status st = kry_realloc((size_t)capacity, sizeof *w->host_history, &w->host_history);
    if (st == KRY_OK) w->history_capacity = capacity;
    return st;
}

kry_status kry_watch_create(kry_device *dev, const kry_stop *stop, kry_monitor monitor, void *user,
                            kry_watch *w)
{
    kry_status st = KRY_OK;
    size_t acc = kry_acc_size(dev);
    enum { HISTORY = 1 << 20 }; /* more grows as it comes */
    cl_int err;

    *w = (kry_watch){
        .dev = dev, .stop = *stop, .monitor = monitor, .monitor_user = user, .every = 1
    };
    /* Now, for once iterations have changed x it is too late to be out of memory. */
    TRY(reserve_history(w, stop->max_iter < HISTORY ? stop->max_iter + 1 : HISTORY));
    TRY(kry_buffer_create(dev, STATE_SIZE * acc, &w->state));
    TRY(kry_buffer_create(dev, STATE_SIZE * acc, &w->step));
    TRY(kry_buffer_create(dev, KRY_LOOK * acc, &w->history));
    /* Reads into memory that is not pinned wait for the device on some drivers. */
    w->pinned = clCreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                               2 * look_bytes(w), NULL, &err);
    TRY(kry_cl_check(err, __func__, "clCreateBuffer"));
    w->mirror = clEnqueueMapBuffer(dev->queue, w->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                   2 * look_bytes(w), 0, NULL, NULL, &err);
    TRY(kry_cl_check(err, __func__, "clEnqueueMapBuffer"));
done:
    if (st < 0) kry_watch_release(w);
    return st;
}

/* Wait for reads that nobody looked at, and forget them. */
static void drain(kry_watch *w)
{
    for (int i = 0; i < 2; i++) {
        if (!w->look[i].ready) continue;
        clWaitForEvents(1, &w->look[i].ready);
        clReleaseEvent(w->look[i].ready);
        w->look[i].ready = NULL;
    }
}

void kry_watch_release(kry_watch *w)
{
    if (!w->dev) return;
    drain(w);
    if (w->mirror) {
        clEnqueueUnmapMemObject(w->dev->queue, w->pinned, w->mirror, 0, NULL, NULL);
        clFinish(w->dev->queue);
    }
    kry_buffer_release(w->dev, &w->pinned);
    kry_buffer_release(w->dev, &w->history);
    kry_buffer_release(w->dev, &w->step);
    kry_buffer_release(w->dev, &w->state);
    free(w->host_history);
    memset(w, 0, sizeof *w);
}

/* ---- looking on ------------------------------------------------------------------------------ */

static kry_status remember(kry_watch *w, int64_t iteration, double residual)
{
    kry_status st = KRY_OK;
    if (iteration >= w->history_capacity) TRY(reserve_history(w, 2 * iteration));
    residual *= w->unit;
    w->host_history[iteration] = residual;
    w->history_count = iteration + 1;
    w->residual = residual;
done:
    return st;
}

/* Of several parts the first one tells it. */
static kry_status tell_monitor(kry_watch *w, int64_t iteration)
{
    kry_status st = KRY_OK;
    kry_iteration it = { iteration, w->residual, w->target, kry_now() - w->start };
    const kry_observer *observer = w->dev->observer; /* all parts have one, or none */
    double stop = 0;

    if (!w->monitor && !observer) return KRY_OK;
    if (kry_layout_rank(&w->dev->layout) == 0) {
        if (w->monitor) stop = w->monitor(w->monitor_user, &it) != 0;
        if (observer && observer->look(observer->user, &it)) stop = 1;
    }
    TRY(kry_layout_agree(&w->dev->layout, &stop));
    if (stop != 0) w->monitor_stopped = true;
done:
    return st;
}

/* Start reading what the device says after the iterations enqueued so far. */
static kry_status start_look(kry_watch *w)
{
    kry_status st = KRY_OK;
    kry_look *look = &w->look[w->current];
    size_t acc = kry_acc_size(w->dev);
    char *to = w->mirror + (size_t)w->current * look_bytes(w);

    TRY_CL(clEnqueueReadBuffer(w->dev->queue, w->history, CL_FALSE, 0, (size_t)look->count * acc,
                               to + STATE_SIZE * acc, 0, NULL, NULL));
    TRY_CL(clEnqueueReadBuffer(w->dev->queue, w->state, CL_FALSE, 0, STATE_SIZE * acc, to, 0, NULL,
                               &look->ready));
    TRY_CL(clFlush(w->dev->queue));
done:
    return st;
}

/* Wait for a look and take in what it saw. */
static kry_status take_look(kry_watch *w, int which)
{
    kry_status st = KRY_OK;
    kry_look *look = &w->look[which];
    int64_t last = look->first + look->count - 1;

    if (!look->ready) return KRY_OK;
    cl_int err = clWaitForEvents(1, &look->ready);
    clReleaseEvent(look->ready);
    look->ready = NULL;
    TRY(kry_cl_check(err, "kry_solve", "clWaitForEvents"));
    int stop = (int)mirror_at(w, which, STATE_STOP);
    if (w->device_stop) return KRY_OK; /* an earlier look saw the end already */
    if (stop) {
        last = (int64_t)mirror_at(w, which, STATE_ITERATION);
        w->device_stop = stop;
        w->device_value = mirror_at(w, which, STATE_VALUE);
        w->iteration = last;
    }
    for (int64_t k = look->first; k <= last; k++)
        TRY(remember(w, k, sqrt(mirror_at(w, which, STATE_SIZE + (int)(k - look->first)))));
    TRY(tell_monitor(w, last));
done:
    return st;
}

/* Iterations that are left once those under way are done, if the residual goes on falling as it did
 * over the last look or, if that is faster, from the start. */
static double expected_left(const kry_watch *w)
{
    int64_t last = w->history_count - 1, before = w->looked_at;

    if (w->history_count < 2 || before >= last || !(w->goal > 0)) return KRY_BATCH;
    double here = log(w->host_history[last]);
    double recent = (log(w->host_history[before]) - here) / (double)(last - before);
    double all = (log(w->host_history[0]) - here) / (double)last;
    double rate = fmax(recent, all);
    return rate > 0 ? (here - log(w->goal)) / rate - (double)(w->iteration - last) : KRY_BATCH;
}

/* Short batches while iterations are long, so that little is enqueued in vain past the end;
 * long ones while they are short, so that looking costs nothing. */
static kry_status adapt_batch(kry_watch *w)
{
    enum { SHORT_US = 1000, LONG_US = 4000 };
    kry_status st = KRY_OK;
    double now = kry_now(), us = 1e6 * (now - w->looked);

    w->looked = now;
    TRY(kry_layout_agree(&w->dev->layout, &us));
    if (w->stop.check_every)
        w->batch = w->stop.check_every < KRY_BATCH ? (int)w->stop.check_every : KRY_BATCH;
    else if (us < SHORT_US)
        w->batch = 2 * w->batch < KRY_BATCH ? 2 * w->batch : KRY_BATCH;
    else if (us > LONG_US && w->batch > 1)
        w->batch /= 2;
    if (w->stop.check_every) return KRY_OK;
    /* Near the end, too: preconditioners go on working past it. */
    double left = expected_left(w);
    if (left < w->batch) w->batch = left > 1 ? (int)left : 1;
    w->looked_at = w->history_count > 0 ? w->history_count - 1 : 0;
done:
    return st;
}

static kry_status close_batch(kry_watch *w)
{
    kry_status st = KRY_OK;
    TRY(start_look(w));
    w->current = !w->current;
    TRY(take_look(w, w->current)); /* the one before */
    w->look[w->current] = (kry_look){ .first = w->iteration };
    TRY(adapt_batch(w));
done:
    return st;
}

/* Look at the residual of this very iterate: a launch of the stopping test alone, and a wait. */
static kry_status look_now(kry_watch *w, kry_direction *d)
{
    kry_status st = KRY_OK;
    kry_look *look = &w->look[w->current];

    d->iteration = (cl_int)w->iteration, d->slot = look->count;
    TRY(kry_direction_check(d));
    look->count++;
    TRY(start_look(w));
    TRY(take_look(w, !w->current));
    TRY(take_look(w, w->current));
    *look = (kry_look){ .first = w->iteration };
done:
    return st;
}

kry_status kry_watch_next(kry_watch *w, kry_direction *d, bool *go)
{
    kry_status st = KRY_OK;
    bool exact = w->monitor && w->stop.check_every;
    bool due = w->attentive || (exact && w->iteration % w->stop.check_every == 0);

    *go = false;
    if (w->iteration >= w->stop.max_iter || due)
        TRY(look_now(w, d));
    else if (w->look[w->current].count >= w->batch)
        TRY(close_batch(w));
    if (w->device_stop || w->monitor_stopped || w->iteration >= w->stop.max_iter) {
        if (!w->device_stop && w->look[w->current].count) TRY(look_now(w, d));
        drain(w);
        goto done;
    }
    d->iteration = (cl_int)w->iteration++;
    d->slot = w->look[w->current].count++;
    *go = true;
done:
    if (st < 0) drain(w);
    return st;
}

kry_status kry_watch_take(kry_watch *w, const double *residual2, int done, int stop, double value)
{
    kry_status st = KRY_OK;

    for (int k = 0; k <= done; k++) TRY(remember(w, w->iteration + k, sqrt(residual2[k])));
    w->iteration += done;
    w->device_stop = stop;
    w->device_value = value;
    TRY(tell_monitor(w, w->iteration));
done:
    return st;
}

/* ---- residuals that the host reads ----------------------------------------------------------- */

int64_t kry_watch_until_look(const kry_watch *w)
{
    int64_t left = w->stop.max_iter - w->iteration, count = w->every - w->iteration % w->every;
    return count < left ? count : left;
}

kry_status kry_watch_measured(kry_watch *w, double residual, bool *go)
{
    const double diverged = 1e10; /* times the first residual */
    kry_status st = KRY_OK;

    *go = false;
    TRY(remember(w, (w->iteration + w->every - 1) / w->every, residual));
    residual *= w->unit;
    if (w->iteration == 0) w->first_residual = residual;
    TRY(tell_monitor(w, w->iteration));
    w->device_value = residual;
    if (residual <= w->goal)
        w->device_stop = STOP_CONVERGED;
    else if (!isfinite(residual))
        w->device_stop = STOP_NOT_FINITE;
    else if (residual > diverged * w->first_residual)
        w->device_stop = STOP_DIVERGED;
    *go = !w->device_stop && !w->monitor_stopped && w->iteration < w->stop.max_iter;
done:
    return st;
}

/* ---- the story of a solve -------------------------------------------------------------------- */

void kry_watch_begin(kry_watch *w, double norm_b)
{
    w->start = w->looked = kry_now();
    w->norm_b = norm_b;
    w->goal = w->target = fmax(w->stop.rtol * norm_b, w->stop.atol);
    w->unit = 1;
    w->in_vain = 0;
    w->iteration = 0, w->history_count = 0, w->restarts = -1;
    w->last_claim = -1;
    w->looked_at = 0;
    w->device_stop = GO_ON, w->residual = 0;
    w->monitor_stopped = false;
    w->batch = 1;
}

void kry_watch_leave(kry_watch *w, double inconsistent)
{
    double share = inconsistent / w->target;

    if (share > 0 && share < 1) w->goal = w->target *= sqrt((1 - share) * (1 + share));
}

void kry_watch_aim(kry_watch *w)
{
    if (!w->truth) return;
    w->goal = fmax(w->target, w->truth->drop * w->truth->norm);
    w->unit = w->truth->unit;
}

bool kry_watch_keeps(const kry_watch *w)
{
    bool ended_well = w->restarts >= 0 && w->device_stop == STOP_CONVERGED && !w->in_vain;
    return w->truth && w->truth->keep && ended_well;
}

double kry_watch_goal2(const kry_watch *w)
{
    double goal = w->goal / w->unit;
    return goal * goal;
}

/* The scalars of the step before, for a direction that is kept: p := z + beta p with beta the new
 * r'z over the old one, which is in the units of the cycle before, as p is. Waits. */
static kry_status keep_scalars(kry_watch *w)
{
    kry_status st = KRY_OK;
    kry_scalar step[STATE_SIZE];
    size_t bytes = STATE_SIZE * kry_acc_size(w->dev);
    kry_type acc = w->dev->info.fp64 ? KRY_F64 : KRY_F32;

    TRY_CL(clEnqueueReadBuffer(w->dev->queue, w->step, CL_TRUE, 0, bytes, step, 0, NULL, NULL));
    kry_number_put(acc, step, STATE_STOP, GO_ON);
    double change = w->scale / w->truth->scale; /* a power of two */
    kry_number_put(acc, step, STATE_RHO, change * kry_number_at(acc, step, STATE_RHO));
    kry_number_put(acc, step, STATE_RHO_REST, change * kry_number_at(acc, step, STATE_RHO_REST));
    TRY_CL(clEnqueueWriteBuffer(w->dev->queue, w->step, CL_TRUE, 0, bytes, step, 0, NULL, NULL));
done:
    return st;
}

kry_status kry_watch_cycle(kry_watch *w)
{
    static const double zero[STATE_SIZE];
    kry_status st = KRY_OK;
    size_t bytes = STATE_SIZE * kry_acc_size(w->dev);

    if (kry_watch_keeps(w))
        TRY(keep_scalars(w));
    else
        TRY_CL(
            clEnqueueWriteBuffer(w->dev->queue, w->step, CL_FALSE, 0, bytes, zero, 0, NULL, NULL));
    TRY_CL(clEnqueueWriteBuffer(w->dev->queue, w->state, CL_FALSE, 0, bytes, zero, 0, NULL, NULL));
    if (w->truth) w->scale = w->truth->scale;
    w->device_stop = GO_ON;
    w->restarts++;
    w->current = 0;
    w->look[0] = w->look[1] = (kry_look){ .first = w->iteration };
    if (w->stop.check_every && w->stop.check_every < KRY_BATCH) w->batch = (int)w->stop.check_every;
done:
    return st;
}

void kry_watch_end(kry_watch *w, kry_reason reason, double true_residual, const char *why,
                   kry_result *res)
{
    res->reason = reason;
    snprintf(res->why, sizeof res->why, "%s", why);
    res->iterations = w->iteration;
    res->restarts = w->restarts > 0 ? w->restarts : 0;
    res->norm_b = w->norm_b;
    res->target = w->target;
    res->residual = w->history_count ? w->residual : true_residual;
    res->true_residual = true_residual;
    res->history = w->host_history;
    res->history_count = w->history_count;
    res->history_every = w->every;
    res->solve_seconds = kry_now() - w->start;
}

void kry_judge_again(double true_residual, kry_result *res)
{
    bool met = true_residual <= res->target && kry_reason_status(res->reason) != KRY_OK;

    res->true_residual = true_residual;
    if (!met) return;
    res->reason = KRY_CONVERGED;
    snprintf(res->why, sizeof res->why,
             "the true residual is %.3e, x being clear of the null space", true_residual);
}

/* The recurrence says it is there, the true residual says it is not: worth another cycle while
 * each one at least halves the least true residual so far. Of cycles that ask for a little each,
 * one may not. */
static bool worth_restarting(kry_watch *w, double true_residual)
{
    bool halved = w->last_claim < 0 || true_residual <= 0.5 * w->last_claim;
    if (!w->truth || halved) w->last_claim = true_residual;
    w->in_vain = halved ? 0 : w->in_vain + 1;
    return w->in_vain < (w->truth ? 2 : 1);
}

static kry_reason breakdown(const kry_watch *w, char *why, size_t size)
{
    long long k = (long long)w->iteration;
    if (w->device_stop == STOP_MATRIX) {
        snprintf(why, size,
                 "p'Ap = %.3g at iteration %lld is not positive: the matrix is not positive "
                 "definite, or too ill-conditioned for this precision",
                 w->device_value, k);
        return KRY_INDEFINITE_MATRIX;
    }
    if (w->device_stop == STOP_PRECOND) {
        snprintf(why, size,
                 "r'Mr = %.3g at iteration %lld is not positive: the preconditioner is not "
                 "positive definite",
                 w->device_value, k);
        return KRY_INDEFINITE_PRECOND;
    }
    if (w->device_stop == STOP_DIVERGED) {
        snprintf(why, size,
                 "the residual grew from %.3e to %.3e in %lld iterations: the iteration diverges; "
                 "take a smaller omega or another method",
                 w->first_residual, w->device_value, k);
        return KRY_DIVERGED;
    }
    snprintf(why, size, "the recurrence ran into %g at iteration %lld", w->device_value, k);
    return KRY_NOT_FINITE;
}

bool kry_watch_judge(kry_watch *w, double t, kry_result *res)
{
    char why[sizeof res->why];
    kry_reason reason;
    bool first = w->restarts < 0;

    if (t <= w->target) {
        reason = first ? KRY_CONVERGED_GUESS : KRY_CONVERGED;
        snprintf(why, sizeof why,
                 first ? "the guess has a true residual of %.3e already"
                       : "the true residual is %.3e",
                 t);
    } else if (first && isfinite(t)) {
        if (w->truth) w->last_claim = t;
        return true;
    } else if (!isfinite(t)) {
        reason = KRY_NOT_FINITE;
        snprintf(why, sizeof why,
                 w->truth ? "the true residual (%g) of what %lld iterations in single came to grew "
                            "out of bounds"
                          : "the true residual is %g after %lld iterations",
                 w->truth ? w->truth->norm : t, (long long)w->iteration);
    } else if (w->monitor_stopped) {
        reason = KRY_MONITOR_STOP;
        snprintf(why, sizeof why, "the monitor asked to stop at iteration %lld",
                 (long long)w->iteration);
    } else if (w->device_stop == STOP_CONVERGED && w->iteration < w->stop.max_iter &&
               worth_restarting(w, t)) {
        return true;
    } else if (w->device_stop == STOP_CONVERGED ||
               (w->device_stop && w->last_claim >= 0 && !w->truth)) {
        reason = KRY_TRUE_RESIDUAL_STAGNATED;
        snprintf(why, sizeof why,
                 "the recurrence claims %.3e, but the true residual stays at %.3e: the limit of "
                 "this precision for this matrix",
                 w->residual, t);
    } else if (w->device_stop) {
        reason = breakdown(w, why, sizeof why);
    } else {
        reason = KRY_ITERATION_LIMIT;
        snprintf(why, sizeof why, "%lld iterations were not enough: residual %.3e, wanted %.3e",
                 (long long)w->iteration, t, w->target);
    }
    kry_watch_end(w, reason, t, why, res);
    return false;
}
