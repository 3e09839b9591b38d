/*
 * batch.c - many independent jobs on several devices at once.
 *
 * Every queue gets a task that takes chunk after chunk until there are none left. A chunk is half
 * of what the queue would do until the batch ends if all went on at the rates of their last chunks,
 * so chunks shrink towards the end, and errors of the rates with them. What a queue measures first
 * is small.
 *
 * Source   C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling: a practical scheduling
 *          scheme for parallel supercomputers, IEEE Trans. Comput. C-36 (1987).
 */
#include "task/task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SHARE = 32, /* the first chunk is this part of a queue's share by weight */
    GROWTH = 8        /* a chunk is at most so many times the last one, whose rate may be a start's
                       */
};

/* What one queue has to do with it. */
typedef struct feeder {
    struct batch *batch;
    kry_device *device; /* borrowed */
    kry_queue *queue;   /* borrowed; for its name, while its task runs */
    int number;
    double weight;
    /* Under the lock. */
    kry_batch_share share;
    double rate;   /* of its last chunk; 0: none yet */
    int64_t count; /* of the chunk that it does, else of its last; 0: none yet */
    double since;  /* when it began */
    bool active;   /* has begun, and may take more */
} feeder;

typedef struct batch {
    int refs; /* under the lock, as the rest below */
    kry_batch_fn *run;
    void *user;
    kry_batch_share *shares; /* the caller's; NULL: not wanted */
    char name[KRY_NAME];
    int count;
    int64_t jobs, smallest;
    int64_t taken, done;
    bool stop; /* nothing more is begun */
    kry_status status;
    char error[KRY_SENTENCE];
    feeder feeder[];
} batch;

static void batch_release(void *user)
{
    batch *b = user;

    kry_tasks_lock();
    bool last = --b->refs == 0;
    kry_tasks_unlock();
    if (last) free(b);
}

static void feeder_release(void *user) { batch_release(((feeder *)user)->batch); }

/* ---- how much, under the lock ---- */

/* Of a queue that has not been measured, by those that have. */
static double rate_of(const batch *b, const feeder *f)
{
    double rates = 0, weights = 0;

    if (f->rate > 0) return f->rate;
    for (int i = 0; i < b->count; i++) {
        if (!(b->feeder[i].rate > 0)) continue;
        rates += b->feeder[i].rate, weights += b->feeder[i].weight;
    }
    return rates > 0 ? f->weight * rates / weights : f->weight;
}

/* Whether others that are at work would be through with all that is left before f is with the
 * smallest chunk there is. */
static bool others_are_faster(const batch *b, const feeder *f, int64_t smallest)
{
    const double now = kry_now();

    if (!(f->rate > 0)) return false;
    for (int i = 0; i < b->count; i++) {
        const feeder *o = &b->feeder[i];
        if (o == f || !o->active || !(o->rate > 0)) continue;
        double busy = o->since + (double)o->count / o->rate - now;
        double left = (double)(b->jobs - b->taken) / o->rate;
        if ((busy > 0 ? busy : 0) + left < (double)smallest / f->rate) return true;
    }
    return false;
}

static int64_t chunk_of(const batch *b, const feeder *f)
{
    const int64_t left = b->jobs - b->taken, smallest = left < b->smallest ? left : b->smallest;
    double weights = 0, rates = 0, chunk;

    for (int i = 0; i < b->count; i++) {
        weights += b->feeder[i].weight;
        rates += rate_of(b, &b->feeder[i]);
    }
    if (f->count == 0) {
        chunk = (double)b->jobs * f->weight / weights / FIRST_SHARE;
    } else {
        if (others_are_faster(b, f, smallest)) return 0;
        chunk = 0.5 * (double)left * rate_of(b, f) / rates;
        chunk = fmin(chunk, (double)GROWTH * (double)f->count);
    }
    int64_t whole = (int64_t)ceil(chunk);
    if (whole < smallest) whole = smallest;
    return whole < left ? whole : left;
}

/* Of 0 jobs: there are none left for it. */
static int64_t take(batch *b, feeder *f, bool cancelled, int64_t *first)
{
    kry_tasks_lock();
    int64_t count = b->stop || cancelled || b->taken == b->jobs ? 0 : chunk_of(b, f);
    f->active = count > 0;
    if (count > 0) f->count = count, f->since = kry_now();
    *first = b->taken;
    b->taken += count;
    kry_tasks_unlock();
    return count;
}

/* ---- one queue's work ---- */

static kry_status run_chunk(const batch *b, const feeder *f, int64_t first, int64_t count)
{
    kry_status st;

    kry_fail(KRY_OK, "%s", "");
    st = b->run(b->user, f->number, f->device, first, count);
    if (st >= 0 && f->device) {
        kry_status finished = kry_device_finish(f->device);
        if (finished < 0) st = finished;
    }
    return st;
}

static void note(batch *b, feeder *f, int64_t first, int64_t count, kry_status st)
{
    kry_tasks_lock();
    double seconds = kry_now() - f->since;
    f->share.chunks++;
    f->share.seconds += seconds;
    if (st >= 0) {
        f->rate = (double)count / (seconds > 1e-9 ? seconds : 1e-9);
        f->share.jobs += count;
        b->done += count;
    } else if (!b->stop) {
        const char *why = *kry_last_error() ? kry_last_error() : kry_status_text(st);
        b->stop = true, b->status = st;
        snprintf(b->error, sizeof b->error, "%s: jobs %lld ... %lld on '%s': %.200s", b->name,
                 (long long)first, (long long)(first + count - 1), f->queue->name, why);
    }
    if (f->share.seconds > 0) f->share.rate = (double)f->share.jobs / f->share.seconds;
    if (b->shares) b->shares[f->number] = f->share;
    kry_tasks_unlock();
}

/* A failure is told by the task of the whole. */
static kry_status feed(void *user, kry_task *self)
{
    feeder *f = user;
    batch *b = f->batch;
    int64_t first, count;

    while ((count = take(b, f, kry_task_is_cancelled(self), &first)) > 0) {
        kry_status st = run_chunk(b, f, first, count);
        note(b, f, first, count, st);
    }
    return KRY_OK;
}

/* ---- the whole: under the lock ---- */

static kry_status outcome(void *user, char *error, size_t size)
{
    const batch *b = user;

    if (b->status < 0) return snprintf(error, size, "%s", b->error), b->status;
    if (b->done == b->jobs) return KRY_OK;
    snprintf(error, size, "%s: cancelled with %lld of %lld jobs done", b->name, (long long)b->done,
             (long long)b->jobs);
    return KRY_ERR_CANCELLED;
}

static double fraction(void *user)
{
    const batch *b = user;
    return b->jobs > 0 ? (double)b->done / (double)b->jobs : 0;
}

static const kry_joint whole = { outcome, fraction };

/* ---- making ---- */

static kry_status check(const kry_batch_params *p)
{
    kry_status st = KRY_OK;

    CHECK(p, KRY_ERR_ARGUMENT, "kry_batch_submit: NULL");
    CHECK(p->struct_size == sizeof *p, KRY_ERR_ARGUMENT,
          "kry_batch_submit: params of %zu bytes where %zu are expected: start from KRY_JOBS",
          p->struct_size, sizeof *p);
    CHECK(p->queues && p->count > 0 && p->run, KRY_ERR_ARGUMENT, "kry_batch_submit: no %s",
          p->run ? "queues" : "function to run");
    CHECK(p->jobs >= 0 && p->smallest >= 0, KRY_ERR_ARGUMENT,
          "kry_batch_submit: %lld jobs in chunks of at least %lld", (long long)p->jobs,
          (long long)p->smallest);
    for (int i = 0; i < p->count; i++) {
        CHECK(p->queues[i], KRY_ERR_ARGUMENT, "kry_batch_submit: queue %d is NULL", i);
        for (int j = 0; j < i; j++)
            CHECK(p->queues[i] != p->queues[j], KRY_ERR_ARGUMENT,
                  "kry_batch_submit: queues %d and %d are the same", j, i);
        if (!p->weights) continue;
        CHECK(p->weights[i] > 0 && isfinite(p->weights[i]), KRY_ERR_ARGUMENT,
              "kry_batch_submit: weight %d is %g", i, p->weights[i]);
    }
done:
    return st;
}

static kry_status batch_new(const kry_batch_params *p, kry_batch_share *shares, batch **made)
{
    kry_status st = KRY_OK;
    batch *b = NULL;

    TRY(kry_alloc(1, sizeof *b + (size_t)p->count * sizeof b->feeder[0], &b));
    b->refs = 1;
    b->run = p->run, b->user = p->user, b->shares = shares;
    b->count = p->count, b->jobs = p->jobs;
    b->smallest = p->smallest > 0 ? p->smallest : 1;
    snprintf(b->name, sizeof b->name, "%s", p->name ? p->name : "batch");
    for (int i = 0; i < p->count; i++)
        b->feeder[i] = (feeder){ .batch = b,
                                 .device = p->queues[i]->device,
                                 .queue = p->queues[i],
                                 .number = i,
                                 .weight = p->weights ? p->weights[i] : 1 };
    if (shares) memset(shares, 0, (size_t)p->count * sizeof *shares);
    *made = b;
done:
    return st;
}

static kry_status submit_feeder(batch *b, feeder *f, kry_task **task)
{
    kry_status st = KRY_OK;

    kry_tasks_lock();
    b->refs++;
    kry_tasks_unlock();
    st = kry_task_submit(
        f->queue, KRY_JOB(.name = b->name, .run = feed, .destroy = feeder_release, .user = f), NULL,
        0, task);
    if (st < 0) feeder_release(f);
    return st;
}

static kry_status submit_whole(batch *b, kry_task *const *feeders, kry_task **task)
{
    kry_status st = KRY_OK;
    kry_ended ended = { NULL, NULL };
    kry_task *t = NULL;

    TRY(kry_task_new("kry_batch_submit", KRY_JOB(.name = b->name, .user = b), feeders, b->count,
                     &t));
    t->joint = &whole;
    t->job.destroy = batch_release;
    kry_tasks_lock();
    b->refs++;
    kry_task_start(t, NULL, &ended);
    kry_tasks_unlock();
    kry_ended_release(&ended);
    *task = t;
done:
    return st;
}

kry_status kry_batch_submit(const kry_batch_params *params, kry_batch_share *shares,
                            kry_task **task)
{
    kry_status st = KRY_OK;
    kry_task **feeders = NULL, *t = NULL;
    batch *b = NULL;
    int count = 0;

    if (task) *task = NULL;
    TRY(check(params));
    TRY(kry_alloc((size_t)params->count, sizeof *feeders, &feeders));
    TRY(batch_new(params, shares, &b));
    for (; count < b->count; count++) TRY(submit_feeder(b, &b->feeder[count], &feeders[count]));
    TRY(submit_whole(b, feeders, &t));
    if (task) *task = t, t = NULL;
done:
    if (st < 0 && b) { /* what has begun ends with its chunk */
        kry_tasks_lock();
        b->stop = true, b->shares = NULL;
        kry_tasks_unlock();
        for (int i = 0; i < count; i++) kry_task_cancel(feeders[i]);
    }
    for (int i = 0; i < count; i++) kry_task_release(&feeders[i]);
    free(feeders);
    if (b) batch_release(b);
    kry_task_release(&t);
    return st;
}

kry_status kry_batch_run(const kry_batch_params *params, kry_batch_share *shares)
{
    kry_status st = KRY_OK;
    kry_task *t = NULL;

    CHECK(!kry_task_inside(), KRY_ERR_ARGUMENT,
          "kry_batch_run: called from within a task, which keeps others waiting");
    TRY(kry_batch_submit(params, shares, &t));
    st = kry_task_wait(t);
done:
    kry_task_release(&t);
    return st;
}
