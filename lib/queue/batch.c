/*
 * batch.c - many independent jobs on several devices at once.
 *
 * Every queue gets a task that takes chunk after chunk until none is left. The first chunk is small
 * and measures the rate of the queue. Every later one is half of what the queue would do until the
 * end of the batch if all queues went on at the rates of their last chunks. So chunks shrink towards
 * the end, and the errors of the rates matter less and less.
 *
 * Source   C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling: a practical scheduling
 *          scheme for parallel supercomputers, IEEE Trans. Comput. C-36 (1987).
 */
#include "task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FIRST_SHARE = 32, /* the first chunk is this part of an equal share */
    GROWTH =
        8 /* a chunk is at most so many times the last one, which may have been slow to start */
};

/* The part that one queue takes in a batch. */
typedef struct feeder {
    struct batch *batch;
    kry_queue *queue; /* borrowed */
    kry_task *task;   /* owned */
    int number;
    /* Under the lock. */
    kry_batch_share share;
    double rate;   /* of its last chunk; 0: none yet */
    int64_t count; /* of the chunk that it does, else of its last; 0: none yet */
    double since;  /* when that chunk began */
    bool active;   /* has begun, and may take more */
} feeder;

typedef struct batch {
    const kry_batch_params *params;
    const char *name;
    feeder *feeder; /* params->count, owned */
    /* Under the lock. */
    int64_t taken, done;
    kry_status status; /* negative: no further chunk is begun */
    char error[KRY_SENTENCE];
} batch;

/* A queue that has not been measured counts as the average of those that have. */
static double rate_of(const batch *b, const feeder *f)
{
    double rates = 0;
    int measured = 0;

    if (f->rate > 0) return f->rate;
    for (int i = 0; i < b->params->count; i++)
        if (b->feeder[i].rate > 0) rates += b->feeder[i].rate, measured++;
    return measured ? rates / measured : 1;
}

/* Whether another queue at work would finish all that is left before f had done the smallest chunk. */
static bool others_are_faster(const batch *b, const feeder *f, int64_t smallest)
{
    const double now = kryi_queue_clock();

    if (!(f->rate > 0)) return false;
    for (int i = 0; i < b->params->count; i++) {
        const feeder *o = &b->feeder[i];
        if (o == f || !o->active || !(o->rate > 0)) continue;
        double busy = o->since + (double)o->count / o->rate - now;
        double left = (double)(b->params->jobs - b->taken) / o->rate;
        if ((busy > 0 ? busy : 0) + left < (double)smallest / f->rate) return true;
    }
    return false;
}

static int64_t chunk_of(const batch *b, const feeder *f)
{
    const kry_batch_params *p = b->params;
    const int64_t left = p->jobs - b->taken, least = p->smallest > 0 ? p->smallest : 1,
                  smallest = left < least ? left : least;
    double rates = 0, chunk;

    for (int i = 0; i < p->count; i++) rates += rate_of(b, &b->feeder[i]);
    if (f->count == 0) {
        chunk = (double)p->jobs / p->count / FIRST_SHARE;
    } else {
        if (others_are_faster(b, f, smallest)) return 0;
        chunk = 0.5 * (double)left * rate_of(b, f) / rates;
        chunk = fmin(chunk, (double)GROWTH * (double)f->count);
    }
    int64_t whole = (int64_t)ceil(chunk);
    if (whole < smallest) whole = smallest;
    return whole < left ? whole : left;
}

/* The number of jobs from `first` on that the queue is to do; 0: no more. */
static int64_t take(batch *b, feeder *f, bool cancelled, int64_t *first)
{
    kryi_tasks_lock();
    bool over = b->status < 0 || cancelled || b->taken == b->params->jobs;
    int64_t count = over ? 0 : chunk_of(b, f);
    f->active = count > 0;
    if (count > 0) f->count = count, f->since = kryi_queue_clock();
    *first = b->taken;
    b->taken += count;
    kryi_tasks_unlock();
    return count;
}

static kry_status run_chunk(const batch *b, const feeder *f, int64_t first, int64_t count)
{
    kry_device *device = f->queue->device;
    kry_status st;

    kry_fail(KRY_OK, "%s", "");
    st = b->params->run(b->params->user, f->number, device, first, count);
    if (st >= 0 && device) {
        kry_status finished = kry_device_finish(device);
        if (finished < 0) st = finished;
    }
    return st;
}

static void note(batch *b, feeder *f, int64_t first, int64_t count, kry_status st)
{
    kryi_tasks_lock();
    double seconds = kryi_queue_clock() - f->since;
    f->share.chunks++;
    f->share.seconds += seconds;
    if (st >= 0) {
        f->rate = (double)count / (seconds > 1e-9 ? seconds : 1e-9);
        f->share.jobs += count;
        b->done += count;
    } else if (b->status == KRY_OK) {
        const char *why = *kry_last_error() ? kry_last_error() : kry_status_text(st);
        b->status = st;
        snprintf(b->error, sizeof b->error, "%s: jobs %lld ... %lld on '%s': %.200s", b->name,
                 (long long)first, (long long)(first + count - 1), f->queue->name, why);
    }
    if (f->share.seconds > 0) f->share.rate = (double)f->share.jobs / f->share.seconds;
    kryi_tasks_unlock();
}

/* Take chunk after chunk. A failure is reported by kry_batch_run. */
static kry_status feed(void *user, kry_task *self)
{
    feeder *f = user;
    batch *b = f->batch;
    int64_t first, count;

    while ((count = take(b, f, self->cancelled, &first)) > 0)
        note(b, f, first, count, run_chunk(b, f, first, count));
    return KRY_OK;
}

static kry_status check(const kry_batch_params *p)
{
    static const char who[] = "kry_batch_run";
    kry_status st = KRY_OK;

    CHECK(p->queues && p->count > 0 && p->run, KRY_ERR_ARGUMENT, "%s: no %s", who,
          p->run ? "queues" : "function to run");
    CHECK(p->jobs >= 0 && p->smallest >= 0, KRY_ERR_ARGUMENT,
          "%s: %lld jobs in chunks of at least %lld", who, (long long)p->jobs,
          (long long)p->smallest);
    for (int i = 0; i < p->count; i++) {
        CHECK(p->queues[i], KRY_ERR_ARGUMENT, "%s: queue %d is NULL", who, i);
        for (int j = 0; j < i; j++)
            CHECK(p->queues[i] != p->queues[j], KRY_ERR_ARGUMENT,
                  "%s: queues %d and %d are the same", who, j, i);
    }
    CHECK(!kryi_task_inside(), KRY_ERR_ARGUMENT,
          "%s: called from within a task, which keeps others waiting", who);
done:
    return st;
}

static void stop(batch *b, kry_status st)
{
    kryi_tasks_lock();
    if (b->status == KRY_OK) {
        b->status = st;
        snprintf(b->error, sizeof b->error, "%s", kry_last_error());
    }
    kryi_tasks_unlock();
    for (int i = 0; i < b->params->count; i++)
        if (b->feeder[i].task) kry_task_cancel(b->feeder[i].task);
}

kry_status kry_batch_run(const kry_batch_params *params, kry_batch_share *shares)
{
    kry_status st = KRY_OK;
    kry_batch_params mine;
    batch b = { .params = &mine };

    NOT_NULL(params);
    TRY(kryi_take_params("kry_batch_run", "KRY_JOBS", params, &mine, sizeof mine));
    params = &mine;
    TRY(check(params));
    b.name = params->name ? params->name : "batch";
    TRY(kryi_allocate((size_t)params->count, sizeof *b.feeder, &b.feeder));
    for (int i = 0; i < params->count; i++) {
        feeder *f = &b.feeder[i];
        *f = (feeder){ .batch = &b, .queue = params->queues[i], .number = i };
    }
    for (int i = 0; i < params->count && st >= 0; i++)
        st = kry_task_submit(params->queues[i],
                             KRY_JOB(.name = b.name, .run = feed, .user = &b.feeder[i]), NULL, 0,
                             &b.feeder[i].task);
    if (st < 0) stop(&b, st);
    /* The tasks of queues that were released have been cancelled; that is no failure if others did the jobs. */
    for (int i = 0; i < b.params->count; i++) {
        kry_status ignored = b.feeder[i].task ? kry_task_wait(b.feeder[i].task) : KRY_OK;
        (void)ignored;
        kry_task_release(&b.feeder[i].task);
    }
    for (int i = 0; shares && i < params->count; i++) shares[i] = b.feeder[i].share;
    CHECK(b.status >= 0, b.status, "%s", b.error);
    CHECK(b.done == params->jobs, KRY_ERR_CANCELLED, "%s: cancelled with %lld of %lld jobs done",
          b.name, (long long)b.done, (long long)params->jobs);
done:
    free(b.feeder);
    return st;
}
