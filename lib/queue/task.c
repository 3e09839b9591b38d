/* task.c - handles: which task waits for which, how a task ends, and what follows for the others. */
#include "task.h"
#include <stdio.h>
#include <stdlib.h>

static _Thread_local kry_queue *inside;

kry_queue *kryi_task_inside(void) { return inside; }

void kryi_task_enter(kry_queue *queue)
{
    inside = queue;
    kry_device_work_for(queue->device);
}

/* ---- lists ---- */

static void append(kryi_task_list *list, kry_task *t)
{
    t->previous = list->last, t->next = NULL;
    *(list->last ? &list->last->next : &list->first) = t;
    list->last = t;
}

void kryi_task_list_remove(kryi_task_list *list, kry_task *t)
{
    *(t->previous ? &t->previous->next : &list->first) = t->next;
    *(t->next ? &t->next->previous : &list->last) = t->previous;
    t->previous = t->next = NULL;
}

/* ---- making ---- */

kry_status kryi_task_new(const char *who, const kry_job *job, kry_task *const *inputs, int count,
                         kry_task **task)
{
    kry_status st = KRY_OK;
    kry_task *t = NULL;

    CHECK(count >= 0 && (inputs || count == 0), KRY_ERR_ARGUMENT, "%s: NULL inputs", who);
    for (int i = 0; i < count; i++)
        CHECK(inputs[i], KRY_ERR_ARGUMENT, "%s: input %d of '%s' is NULL", who, i,
              job->name ? job->name : "job");
    TRY(kryi_allocate(1, sizeof *t + (size_t)count * sizeof t->input[0], &t));
    t->refs = 1;
    t->job = *job;
    t->count = count;
    snprintf(t->name, sizeof t->name, "%s", job->name ? job->name : "job");
    t->out.message = t->out.cause = t->out.error;
    for (int i = 0; i < count; i++)
        t->input[i] = (kryi_edge){ .from = kry_task_retain(inputs[i]), .to = t };
    *task = t;
done:
    return st;
}

kry_task *kry_task_retain(kry_task *task)
{
    if (task) task->refs++;
    return task;
}

void kryi_task_forget_value(kry_task *t)
{
    kry_vec_release(&t->out.vec);
    kry_op_release(&t->out.op);
    if (t->out.result) free((double *)t->out.result->history);
    free(t->out.result);
    t->out.result = NULL;
}

void kryi_task_forget_work(kry_task *t)
{
    if (t->job.destroy) t->job.destroy(t->job.user);
    t->job.destroy = NULL;
    for (int i = 0; t->copy && i < t->count; i++) kry_vec_release(&t->copy[i]);
    free(t->copy);
    t->copy = NULL;
}

void kry_task_release(kry_task **task)
{
    kry_task *t = task ? *task : NULL;
    if (task) *task = NULL;
    if (!t || --t->refs) return;
    for (int i = 0; i < t->count; i++) kry_task_release(&t->input[i].from); /* never started */
    kryi_task_forget_value(t);
    kry_device_release(&t->device);
    free(t);
}

static kry_status task_of(const char *name, kry_vec *vec, const kry_op *op, kry_task **task)
{
    kry_status st = KRY_OK;
    kry_task *t = NULL;

    if (task) *task = NULL;
    CHECK(task && (vec || op), KRY_ERR_ARGUMENT, "kry_task_of_%s: %s is NULL", name,
          task ? name : "task");
    TRY(kryi_task_new("kry_task_of", KRY_JOB(.name = name), NULL, 0, &t));
    if (vec) t->out.vec = kry_vec_retain(vec), t->device = kry_device_retain(kry_vec_device(vec));
    if (op) t->out.op = kry_op_retain(op), t->device = kry_device_retain(kry_op_device(op));
    t->phase = KRY_TASK_DONE;
    t->progress.fraction = 1;
    *task = t;
done:
    return st;
}

kry_status kry_task_of_vec(kry_vec *vec, kry_task **task)
{
    return task_of("vec", vec, NULL, task);
}

kry_status kry_task_of_op(const kry_op *op, kry_task **task)
{
    return task_of("op", NULL, op, task);
}

/* ---- ending ---- */

static bool has_ended(const kry_task *t) { return t->phase >= KRY_TASK_DONE; }

static kry_task_phase phase_of(const kry_task *t, kry_status status)
{
    if (status == KRY_ERR_CANCELLED || (status == KRY_STOPPED && t->cancelled))
        return KRY_TASK_CANCELLED;
    return status < 0 ? KRY_TASK_FAILED : KRY_TASK_DONE;
}

/* End this task alone; kryi_task_end goes on with those that depend on it. */
static void settle(kry_task *t, kry_status status, const char *error, kryi_ended *ended)
{
    kryi_outcome *out = &t->out;
    int at = 0;

    if (t->phase < KRY_TASK_RUNNING) kryi_task_list_remove(&t->queue->tasks, t);
    out->status = status;
    t->phase = phase_of(t, status);
    if (t->phase == KRY_TASK_CANCELLED && !error)
        snprintf(out->error, sizeof out->error, "'%s' was cancelled%s", t->name,
                 status > 0 ? " while it ran" : "");
    if (error) {
        if (status != KRY_ERR_CANCELLED)
            at = snprintf(out->error, sizeof out->error, "'%s' failed: ", t->name);
        snprintf(out->error + at, sizeof out->error - (size_t)at, "%s", error);
    }
    out->message = out->error + at;
    if (t->queue->running == t) t->queue->running = NULL;
    if (t->queue->quit) pthread_cond_signal(&t->queue->work); /* it may be the last */
    kry_device_unreserve(t->queue->device);
    t->queue = NULL;
    if (t->phase == KRY_TASK_DONE) t->progress.fraction = 1;
    if (t->began > 0) t->progress.seconds = kryi_queue_clock() - t->began;
    append(ended, t);
    kryi_tasks_changed();
}

/* End a task that cannot run because `input` has no value. */
static void settle_because(kry_task *t, const kry_task *input, kryi_ended *ended)
{
    kry_status status = input->out.status < 0 ? input->out.status : KRY_ERR_CANCELLED;
    char error[KRY_SENTENCE];
    int at = snprintf(error, sizeof error, "'%s' was not run because ", t->name);

    snprintf(error + at, sizeof error - (size_t)at, "%s", input->out.cause);
    settle(t, KRY_ERR_CANCELLED, error, ended);
    t->out.status = status, t->phase = phase_of(t, status);
    t->out.cause = t->out.error + at;
}

static void make_ready(kry_task *t)
{
    t->phase = KRY_TASK_READY;
    if (t->queue->sleeping) pthread_cond_signal(&t->queue->work);
}

void kryi_task_end(kry_task *task, kry_status status, const char *error, kryi_ended *ended)
{
    settle(task, status, error, ended);
    for (kry_task *t = task; t; t = t->next) { /* settle_because appends to this list */
        kryi_edge *e = t->dependents;

        t->dependents = NULL;
        for (kryi_edge *next; e; e = next) {
            next = e->next;
            e->next = NULL, e->at = NULL;
            if (has_ended(e->to)) continue;
            if (t->phase != KRY_TASK_DONE)
                settle_because(e->to, t, ended);
            else if (--e->to->missing == 0)
                make_ready(e->to);
        }
    }
}

static void unlink_edges(kry_task *t)
{
    for (int i = 0; i < t->count; i++) {
        kryi_edge *e = &t->input[i];
        if (!e->at) continue;
        *e->at = e->next;
        if (e->next) e->next->at = e->at;
        e->at = NULL, e->next = NULL;
    }
}

void kryi_ended_release(kryi_ended *ended)
{
    if (!ended->first) return;
    kryi_tasks_lock();
    for (kry_task *t = ended->first; t; t = t->next) unlink_edges(t);
    kryi_tasks_unlock();
    for (kry_task *t = ended->first, *next; t; t = next) {
        next = t->next;
        t->previous = t->next = NULL;
        kryi_task_forget_work(t);
        for (int i = 0; i < t->count; i++) kry_task_release(&t->input[i].from);
        kry_task_release(&t);
    }
    *ended = (kryi_ended){ NULL, NULL };
}

/* ---- beginning ---- */

void kryi_task_start(kry_task *t, kry_queue *queue, kryi_ended *ended)
{
    const kry_task *failed = NULL;

    kry_task_retain(t); /* until it has ended */
    t->queue = queue;
    t->device = kry_device_retain(queue->device);
    t->order = ++queue->submitted;
    t->phase = KRY_TASK_WAITING;
    append(&queue->tasks, t);
    for (int i = 0; i < t->count; i++) {
        kryi_edge *e = &t->input[i];
        if (has_ended(e->from)) {
            if (e->from->phase != KRY_TASK_DONE && !failed) failed = e->from;
            continue;
        }
        t->missing++;
        e->next = e->from->dependents, e->at = &e->from->dependents;
        if (e->next) e->next->at = &e->next;
        e->from->dependents = e;
    }
    if (failed)
        settle_because(t, failed, ended);
    else if (t->missing == 0)
        make_ready(t);
}

/* ---- cancelling ---- */

void kryi_task_cancel_locked(kry_task *t, kryi_ended *ended)
{
    if (has_ended(t)) return;
    t->cancelled = true;
    if (t->phase != KRY_TASK_RUNNING) kryi_task_end(t, KRY_ERR_CANCELLED, NULL, ended);
}

void kry_task_cancel(kry_task *t)
{
    kryi_ended ended = { NULL, NULL };

    if (!t) return;
    kryi_tasks_lock();
    kryi_task_cancel_locked(t, &ended);
    kryi_tasks_unlock();
    kryi_ended_release(&ended);
}

bool kry_task_is_cancelled(const kry_task *t) { return t && t->cancelled; }

/* ---- looking ---- */

const char *kry_task_name(const kry_task *t) { return t ? t->name : NULL; }

kry_task_phase kry_task_state(const kry_task *t)
{
    if (!t) return KRY_TASK_FAILED;
    kryi_tasks_lock();
    kry_task_phase phase = t->phase;
    kryi_tasks_unlock();
    return phase;
}

void kry_task_progress(const kry_task *t, kry_task_progress_info *info)
{
    if (info) *info = (kry_task_progress_info){ 0 };
    if (!t || !info) return;
    kryi_tasks_lock();
    *info = t->progress;
    if (!has_ended(t) && t->began > 0) info->seconds = kryi_queue_clock() - t->began;
    kryi_tasks_unlock();
}

static bool ended_by(const kry_task *t, double until)
{
    while (!has_ended(t))
        if (!kryi_tasks_wait(until)) return has_ended(t);
    return true;
}

static kry_status wait_until(const char *who, kry_task *t, double until, bool *ended)
{
    kry_status st = KRY_OK;

    CHECK(t && ended, KRY_ERR_ARGUMENT, "%s: %s is NULL", who, t ? "ended" : "task");
    *ended = false;
    kryi_tasks_lock();
    bool refused = inside && until > 0 && !has_ended(t);
    if (until > 0 && !has_ended(t)) st = kryi_queue_check_process(who, t->queue);
    *ended = !refused && st == KRY_OK && ended_by(t, until);
    kryi_tasks_unlock();
    TRY(st);
    CHECK(!refused, KRY_ERR_ARGUMENT,
          "%s: called from within a task, which keeps others waiting: make '%s' an input of it",
          who, t->name);
    if (!*ended) return KRY_OK;
    st = t->out.status;
    if (st < 0) kry_fail(st, "%s", t->out.message);
done:
    return st;
}

kry_status kry_task_wait(kry_task *t)
{
    bool ended;
    return wait_until("kry_task_wait", t, KRY_FOREVER, &ended);
}

kry_status kry_task_wait_for(kry_task *t, double seconds, bool *ended)
{
    double until = seconds > 0 ? kryi_queue_clock() + seconds : 0;

    if (seconds > 1e9) until = KRY_FOREVER;
    return wait_until("kry_task_wait_for", t, until, ended);
}
