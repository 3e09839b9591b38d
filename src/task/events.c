/* events.c - OpenCL events that tasks wait for, and events that wait for tasks. */
#include "task/task.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- in ---- */

/* An event that a task waits for. Freed when the event has called back. */
typedef struct watched {
    cl_event event; /* retained; the rest under the lock */
    kry_task *task; /* retained; NULL: it has been told */
    bool called;    /* back */
    struct watched *next;
} watched;

static watched *all; /* under the lock */

/* The task has been told: what it held of it is to be released. NULL: that was long ago. */
static kry_task *tell_task(watched *w, cl_int status, kry_ended *ended)
{
    char error[KRY_SENTENCE];
    kry_task *t = w->task;

    w->task = NULL;
    if (t && status >= 0) {
        kry_task_lack_less(t, ended);
    } else if (t && t->phase < KRY_TASK_DONE) {
        snprintf(error, sizeof error, "an event that '%s' waits for ended with %s (%d)", t->name,
                 kry_cl_error_name(status), status);
        kry_task_end(t, KRY_ERR_DEVICE, error, ended);
    }
    return t;
}

static void forget(watched *w)
{
    watched **at = &all;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
}

/* On a thread of the OpenCL implementation, or at once on the caller's; nothing here may wait. What
 * comes of a failure is for those who look: it may be the end of others, and of what they hold. */
static void CL_CALLBACK event_ended(cl_event event, cl_int status, void *user)
{
    watched *w = user;
    kry_task *t = NULL;
    kry_ended ended = { NULL, NULL };

    kry_tasks_lock();
    w->called = true;
    bool told = !w->task || status >= 0;
    if (told) {
        t = tell_task(w, status, &ended);
        forget(w);
    }
    kry_tasks_unlock();
    if (!told) return;
    kry_ended_release(&ended);
    if (t) clReleaseEvent(event);
    kry_task_release(&t);
    free(w);
}

static watched *number(int i)
{
    watched *w = all;
    while (w && (!w->task || i-- > 0)) w = w->next;
    return w;
}

/* Tell its task if the event has failed, or can no longer be asked: the device is lost then. Called
 * with the lock, and lets go of it in between, for the implementation's locks come first. */
static bool look_at(watched *w)
{
    kry_ended ended = { NULL, NULL };
    cl_event event = w->event;
    kry_task *t = kry_task_retain(w->task), *told = NULL;
    cl_int status = CL_COMPLETE;

    clRetainEvent(event);
    kry_tasks_unlock();
    cl_int err =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (err != CL_SUCCESS) status = err;
    kry_tasks_lock();
    for (w = status < 0 ? all : NULL; w; w = w->next) /* if it is still there */
        if (w->event == event && w->task == t) break;
    if (w) told = tell_task(w, status, &ended);
    bool last = w && w->called;
    if (last) forget(w);
    kry_tasks_unlock();
    kry_ended_release(&ended);
    if (told) clReleaseEvent(event);
    if (last) free(w);
    clReleaseEvent(event);
    kry_task_release(&t);
    t = told;
    kry_task_release(&t);
    kry_tasks_lock();
    return told != NULL;
}

/* PoCL 3.1 does not call back for events that end with an error. Where it might yet, they stay in
 * the list. */
void kry_events_look(void)
{
    int i = 0;
    for (watched *w; (w = number(i)) != NULL;)
        if (!look_at(w)) i++;
}

bool kry_events_any(void)
{
    watched *w = all;
    while (w && !w->task) w = w->next;
    return w != NULL;
}

/* Nobody else may push the commands behind it on their way. */
static void flush(cl_event event)
{
    cl_command_queue queue = NULL;
    cl_int err = clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);

    if (err == CL_SUCCESS && queue) clFlush(queue);
}

static kry_status wait_for(kry_task *t, cl_event event)
{
    kry_status st = KRY_OK;
    watched *w = NULL;

    TRY(kry_alloc(1, sizeof *w, &w));
    TRY_CL(clRetainEvent(event));
    w->event = event;
    w->task = kry_task_retain(t);
    kry_tasks_lock();
    w->next = all, all = w;
    kry_tasks_unlock();
    cl_int err = clSetEventCallback(event, CL_COMPLETE, event_ended, w);
    if (err == CL_SUCCESS) {
        w = NULL;
        flush(event);
        return KRY_OK;
    }
    kry_tasks_lock();
    forget(w);
    kry_tasks_unlock();
    clReleaseEvent(event);
    kry_task_release(&w->task);
    TRY(kry_cl_check(err, "kry_task_of_events", "clSetEventCallback"));
done:
    free(w);
    return st;
}

/* Those that are waited for already will find it ended. */
static void give_up(kry_task *t)
{
    kry_ended ended = { NULL, NULL };

    kry_tasks_lock();
    kry_task_cancel_locked(t, &ended);
    kry_tasks_unlock();
    kry_ended_release(&ended);
}

kry_status kry_task_of_events(const cl_event *events, int count, kry_vec *vec, kry_task **task)
{
    kry_status st = KRY_OK;
    kry_ended ended = { NULL, NULL };
    kry_task *t = NULL;
    bool started = false;

    *task = NULL;
    CHECK(count >= 0 && (events || count == 0), KRY_ERR_ARGUMENT, "kry_task_of_events: NULL");
    for (int i = 0; i < count; i++)
        CHECK(events[i], KRY_ERR_ARGUMENT, "kry_task_of_events: event %d is NULL", i);
    TRY(kry_task_new("kry_task_of_events", KRY_JOB(.name = "events"), NULL, 0, &t));
    if (vec) t->vec = kry_vec_retain(vec), t->device = kry_device_retain(vec->dev);
    t->missing = count;
    kry_tasks_lock();
    kry_task_start(t, NULL, &ended);
    kry_tasks_unlock();
    kry_ended_release(&ended);
    started = true;
    for (int i = 0; i < count; i++) TRY(wait_for(t, events[i]));
    *task = t;
    t = NULL;
done:
    if (started && st < 0) give_up(t);
    kry_task_release(&t);
    return st;
}

/* ---- out ---- */

/* Have the event among those that are told, unless the task has ended: then it is told at once. */
static kry_status add_told(kry_task *t, cl_event event)
{
    kry_status st = KRY_OK;
    kry_told *told = NULL;

    TRY(kry_alloc(1, sizeof *told, &told));
    TRY_CL(clRetainEvent(event));
    told->event = event;
    kry_tasks_lock();
    bool late = t->phase >= KRY_TASK_DONE;
    if (!late) told->next = t->told, t->told = told;
    kry_tasks_unlock();
    if (late) kry_told_release(told, t);
    told = NULL;
done:
    free(told);
    return st;
}

void kry_told_release(kry_told *told, const kry_task *t)
{
    cl_int status = t->phase == KRY_TASK_DONE ? CL_COMPLETE
                    : t->status < 0           ? (cl_int)t->status
                                              : (cl_int)KRY_ERR_CANCELLED;

    for (kry_told *next; told; told = next) {
        next = told->next;
        clSetUserEventStatus(told->event, status);
        clReleaseEvent(told->event);
        free(told);
    }
}

/* That of the value or of the queue, as far as there is one. */
static cl_context context_of(const kry_task *t) { return t->device ? t->device->context : NULL; }

kry_status kry_task_event(kry_task *t, cl_context context, cl_event *event)
{
    kry_status st = KRY_OK;
    cl_event e = NULL;
    cl_int err;

    *event = NULL;
    CHECK(t, KRY_ERR_ARGUMENT, "kry_task_event: NULL");
    if (!context) context = context_of(t);
    CHECK(context, KRY_ERR_ARGUMENT,
          "kry_task_event: '%s' belongs to no device of its own: name the context", t->name);
    e = clCreateUserEvent(context, &err);
    TRY(kry_cl_check(err, "kry_task_event", "clCreateUserEvent"));
    TRY(add_told(t, e));
    *event = e;
    e = NULL;
done:
    if (e) clReleaseEvent(e);
    return st;
}
