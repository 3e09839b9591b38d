/* queue.c - a thread that works for a device, and the tasks that it runs. */
#include "task.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What the job left for the device to do is part of the task. */
static kry_status run(kry_task *t, kry_device *dev)
{
    kry_status st;

    kry_fail(KRY_OK, "%s", ""); /* forget the message of an earlier task */
    st = t->job.run(t->job.user, t);
    if (dev && st >= 0) {
        kry_status finished = kry_device_finish(dev);
        if (finished < 0) st = finished;
    }
    if (st < 0 && !*kry_last_error()) kry_fail(st, "%s", kry_status_text(st));
    return st;
}

static void work_off(kry_queue *q, kry_task *t)
{
    kryi_ended ended = { NULL, NULL };
    char error[KRY_SENTENCE];

    kry_status st = run(t, q->device);
    snprintf(error, sizeof error, "%.*s", KRY_SENTENCE - 1, kry_last_error());
    if (st < 0) kryi_task_forget_value(t);
    kryi_task_forget_work(t);
    kryi_tasks_lock();
    kryi_task_end(t, st, st < 0 ? error : NULL, &ended);
    kryi_tasks_unlock();
    kryi_ended_release(&ended);
}

static kry_task *first_ready(const kry_queue *q)
{
    kry_task *t = q->tasks.first;
    while (t && t->phase != KRY_TASK_READY) t = t->next;
    return t;
}

kry_status kryi_queue_check_process(const char *who, const kry_queue *q)
{
    return q->process == getpid()
               ? KRY_OK
               : kry_fail(KRY_ERR_ARGUMENT,
                          "%s: the thread of the queue '%s' is in the process that this one was "
                          "forked from: make queues after fork()",
                          who, q->name);
}

/* Each device has one queue at most in a process; those of processes that this one was forked from stay in the list. Under
 * the lock. */
static kry_queue *queues;

static kry_queue *find_queue(const kry_device *device)
{
    kry_queue *q = queues;

    while (q && (q->device != device || q->process != getpid())) q = q->next;
    return q;
}

static void unlist(const kry_queue *queue)
{
    kry_queue **q = &queues;

    while (*q && *q != queue) q = &(*q)->next;
    if (*q) *q = queue->next;
}

static void queue_free(kry_queue *q)
{
    pthread_cond_destroy(&q->work);
    kry_device_release(&q->device);
    free(q);
}

static void *thread_main(void *arg)
{
    kry_queue *q = arg;
    bool alone;

    kryi_task_enter(q);
    kryi_tasks_lock();
    while (!q->quit || q->tasks.first) {
        kry_task *t = first_ready(q);
        if (!t) {
            q->sleeping = true;
            kryi_tasks_sleep(&q->work);
            q->sleeping = false;
            continue;
        }
        kryi_task_list_remove(&q->tasks, t);
        t->phase = KRY_TASK_RUNNING;
        t->began = kryi_queue_clock();
        q->running = t;
        kryi_tasks_unlock();
        work_off(q, t);
        kryi_tasks_lock();
    }
    alone = q->abandoned;
    unlist(q);
    kryi_tasks_changed();
    kryi_tasks_unlock();
    if (alone) queue_free(q); /* nobody joins */
    return NULL;
}

static kry_status queue_new(kry_device *device, const char *name, kry_queue **queue)
{
    kry_status st = KRY_OK;
    kry_queue *q = NULL;

    TRY(kryi_allocate(1, sizeof *q, &q));
    q->refs = 1;
    q->process = getpid();
    snprintf(q->name, sizeof q->name, "%s", name);
    pthread_cond_init(&q->work, NULL);
    q->device = kry_device_retain(device);
    CHECK(pthread_create(&q->thread, NULL, thread_main, q) == 0, KRY_ERR_MEMORY,
          "kry_queue_create: no thread for '%s'", q->name);
    if (device) q->next = queues, queues = q;
    *queue = q;
    q = NULL;
done:
    if (q) queue_free(q);
    return st;
}

kry_status kry_queue_create(kry_device *device, const char *name, kry_queue **queue)
{
    kry_status st = KRY_OK;
    const char *own_name = device ? kry_device_get_info(device)->name : "host";
    kry_queue *q;

    if (queue) *queue = NULL;
    NOT_NULL(queue);
    CHECK(
        !kry_team_is_ranks(device), KRY_ERR_UNSUPPORTED,
        "kry_queue_create: '%s': on ranks all calls come from the thread that made the team, and a "
        "queue has its own",
        own_name);
    if (device) { /* a device that cannot be used in this process is refused here */
        TRY(kry_device_reserve(device));
        kry_device_unreserve(device);
    }
    kryi_tasks_lock();
    while ((q = device ? find_queue(device) : NULL) && q->quit && q != kryi_task_inside())
        kryi_tasks_wait(KRY_FOREVER); /* until it has ended */
    if (!q) {
        st = queue_new(device, name ? name : own_name, queue);
    } else if (q->quit) {
        st = kry_fail(KRY_ERR_ARGUMENT, "kry_queue_create: the queue of '%s' is being released",
                      own_name);
    } else {
        *queue = q;
        q->refs++;
    }
    kryi_tasks_unlock();
done:
    return st;
}

static void cancel_all(kry_queue *q, kryi_ended *ended)
{
    if (q->running) kryi_task_cancel_locked(q->running, ended);
    while (q->tasks.first) kryi_task_cancel_locked(q->tasks.first, ended);
}

void kry_queue_release(kry_queue **queue)
{
    kry_queue *q = queue ? *queue : NULL;
    kryi_ended ended = { NULL, NULL };

    if (queue) *queue = NULL;
    if (!q) return;
    kryi_tasks_lock();
    bool last = --q->refs == 0, itself = kryi_task_inside() == q;
    if (last && q->process != getpid()) {
        cancel_all(q, &ended);
        last =
            false; /* it stays: a condition that a thread of the parent waits for cannot be destroyed */
    } else if (last) {
        q->quit = true;
        q->abandoned = itself;
        cancel_all(q, &ended);
        pthread_cond_signal(&q->work);
        if (itself) pthread_detach(q->thread);
    }
    kryi_tasks_unlock();
    kryi_ended_release(&ended);
    if (!last || itself) return;
    pthread_join(q->thread, NULL);
    queue_free(q);
}

kry_device *kry_queue_device(const kry_queue *q) { return q ? q->device : NULL; }
const char *kry_queue_name(const kry_queue *q) { return q ? q->name : NULL; }

void kry_queue_cancel(kry_queue *q)
{
    kryi_ended ended = { NULL, NULL };

    if (!q) return;
    kryi_tasks_lock();
    cancel_all(q, &ended);
    kryi_tasks_unlock();
    kryi_ended_release(&ended);
}

static bool begins_after(const kry_task *t, uint64_t number) { return !t || t->order > number; }

kry_status kry_queue_finish(kry_queue *q)
{
    kry_status st = KRY_OK;

    CHECK(q, KRY_ERR_ARGUMENT, "kry_queue_finish: NULL");
    CHECK(!kryi_task_inside(), KRY_ERR_ARGUMENT,
          "kry_queue_finish: called from within a task, which keeps '%s' waiting",
          kryi_task_inside()->name);
    TRY(kryi_queue_check_process("kry_queue_finish", q));
    kryi_tasks_lock();
    const uint64_t last = q->submitted;
    while (!begins_after(q->running, last) || !begins_after(q->tasks.first, last))
        kryi_tasks_wait(KRY_FOREVER);
    kryi_tasks_unlock();
done:
    return st;
}

kry_status kry_task_submit(kry_queue *q, const kry_job *job, kry_task *const *inputs, int count,
                           kry_task **task)
{
    kry_status st = KRY_OK;
    kryi_ended ended = { NULL, NULL };
    kry_task *t = NULL;
    kry_job mine;

    if (task) *task = NULL;
    CHECK(q && job, KRY_ERR_ARGUMENT, "kry_task_submit: NULL");
    TRY(kryi_take_params("kry_task_submit", "KRY_JOB", job, &mine, sizeof mine));
    job = &mine;
    CHECK(job->run, KRY_ERR_ARGUMENT, "kry_task_submit: '%s' has no run",
          job->name ? job->name : "job");
    TRY(kryi_queue_check_process("kry_task_submit", q));
    TRY(kryi_task_new("kry_task_submit", job, inputs, count, &t));
    if (q->device) TRY(kry_device_reserve(q->device)); /* until the task has ended */
    kryi_tasks_lock();
    bool open = !q->quit;
    if (open) kryi_task_start(t, q, &ended);
    kryi_tasks_unlock();
    if (!open) kry_device_unreserve(q->device);
    kryi_ended_release(&ended);
    CHECK(open, KRY_ERR_ARGUMENT, "kry_task_submit: '%s': the queue '%s' is being released",
          t->name, q->name);
    if (task) *task = t, t = NULL;
done:
    kry_task_release(&t);
    return st;
}
