/* lock.c - the one lock of all tasks and queues, waiting for one of them to end, and fork(). */
#include "task.h"
#include <math.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* a task or a queue has ended */
static int waiters;
static clockid_t clock_of_waits = CLOCK_MONOTONIC;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Over a fork() the lock is held, so that the child finds lists that are whole and no thread that waits. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void init_condition(void)
{
    pthread_condattr_t how;

    pthread_condattr_init(&how);
    /* Not every host has it, and then waits are by the clock that can be set. */
    if (pthread_condattr_setclock(&how, CLOCK_MONOTONIC)) clock_of_waits = CLOCK_REALTIME;
    pthread_cond_init(&changed, &how);
    pthread_condattr_destroy(&how);
}

static void in_child(void)
{
    waiters = 0;
    init_condition();
    pthread_mutex_unlock(&lock);
}

static void make_condition(void)
{
    init_condition();
    pthread_atfork(before_fork, after_fork, in_child);
}

double kryi_queue_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void kryi_tasks_lock(void)
{
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
}

void kryi_tasks_unlock(void) { pthread_mutex_unlock(&lock); }
void kryi_tasks_sleep(pthread_cond_t *condition) { pthread_cond_wait(condition, &lock); }

bool kryi_tasks_wait(double until)
{
    struct timespec t = { 0 };
    int err;

    if (until < KRY_FOREVER) {
        clock_gettime(clock_of_waits, &t);
        double at =
            fmax(0, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + until - kryi_queue_clock());
        t.tv_sec = (time_t)at, t.tv_nsec = (long)(1e9 * (at - (double)t.tv_sec));
    }
    waiters++;
    err = until >= KRY_FOREVER ? pthread_cond_wait(&changed, &lock)
                               : pthread_cond_timedwait(&changed, &lock, &t);
    waiters--;
    return !err;
}

void kryi_tasks_changed(void)
{
    if (waiters) pthread_cond_broadcast(&changed);
}
