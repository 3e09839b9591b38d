/*
 * task.h - what the files of the background work share.
 *
 * One lock guards the queues, the graph of tasks and the batches. It is held for moments only: never
 * while a job runs, and never while a function of the caller is called. The outcome of a task is
 * written before the task ends and does not change afterwards.
 */
#ifndef KRY_TASK_INTERNAL_H
#define KRY_TASK_INTERNAL_H

#include "exit.h"
#include "memory.h"
#include <kry/kry.h>
#include <kry/queue.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { KRY_NAME = 48, KRY_SENTENCE = 512 };

/* Task `to` needs the value of task `from`. */
typedef struct kryi_edge {
    kry_task *from; /* retained until `to` has ended */
    kry_task *to;
    struct kryi_edge *next,
        **at; /* among the edges that begin at `from`; at NULL: `from` has ended */
} kryi_edge;

typedef struct kryi_task_list {
    kry_task *first, *last;
} kryi_task_list;

/* How a task ended, and its value. */
typedef struct kryi_outcome {
    kry_status status;
    char error[KRY_SENTENCE];
    const char *message,
        *cause; /* in `error`: what kry_task_wait says, and what dependents quote */
    bool has_number;
    double number;
    kry_vec *vec;       /* owned */
    kry_op *op;         /* owned */
    kry_result *result; /* owned, with its history */
} kryi_outcome;

struct kry_task {
    atomic_int refs;
    char name[KRY_NAME];
    kry_job job;
    atomic_bool cancelled;

    /* Under the lock. */
    kry_queue *queue; /* borrowed; NULL: the task has ended */
    kry_task_phase phase;
    uint64_t order;            /* of its submission to the queue */
    int missing;               /* inputs that have not ended */
    kryi_edge *dependents;     /* tasks that wait for this one */
    kry_task *previous, *next; /* in the queue, until it runs; then among those that have ended */
    kry_task_progress_info progress;
    double began;

    kryi_outcome out;
    kry_device *device; /* retained: the queue's, or that of the value; NULL: none */
    kry_vec **copy;     /* count, owned: inputs copied to the queue's device; NULL: none */
    int count;
    kryi_edge input[];
};

struct kry_queue {
    int refs;           /* this and the rest under the lock */
    kry_device *device; /* retained; NULL: a queue of the host. Constant, as is the name */
    kry_queue *next;    /* among those that work for devices */
    char name[128];
    pid_t process; /* that has the thread: one that was forked from it has not */
    pthread_t thread;
    pthread_cond_t work;
    kryi_task_list tasks; /* that wait or are ready, in the order of submission */
    kry_task *running;
    uint64_t submitted;
    bool sleeping, quit, abandoned; /* abandoned: its own thread released it */
};

/* ---- lock.c ---- */

double kryi_queue_clock(void); /* seconds, from a clock that only goes forward */
void kryi_tasks_lock(void);
void kryi_tasks_unlock(void);
void kryi_tasks_sleep(pthread_cond_t *condition); /* under the lock, which is free meanwhile */
/* Wait, under the lock, until a task or a queue has ended or `until` (kryi_queue_clock) has come; false: it has. */
bool kryi_tasks_wait(double until);
#define KRY_FOREVER 1e300
void kryi_tasks_changed(void); /* wake the threads in kryi_tasks_wait; under the lock */

/* ---- task.c ---- */

/* The queue whose thread this is; NULL: none. */
kry_queue *kryi_task_inside(void);
void kryi_task_enter(kry_queue *queue);
void kryi_task_list_remove(kryi_task_list *list, kry_task *task);
void kryi_task_forget_work(kry_task *task); /* its job and its copies of inputs */
void kryi_task_forget_value(kry_task *task);

/* Refuse a queue whose thread is not in this process. */
kry_status kryi_queue_check_process(const char *who, const kry_queue *queue);

/* A task with inputs that nobody else knows yet. */
kry_status kryi_task_new(const char *who, const kry_job *job, kry_task *const *inputs, int count,
                         kry_task **task);
/* Tasks that have just ended. kryi_ended_release, without the lock, lets go of their jobs and inputs. */
typedef kryi_task_list kryi_ended;
void kryi_ended_release(kryi_ended *ended);

/* These are called under the lock. */
void kryi_task_start(kry_task *task, kry_queue *queue, kryi_ended *ended); /* takes over the job */
/* End the task, and with it the tasks that cannot run without it. error NULL: none. */
void kryi_task_end(kry_task *task, kry_status status, const char *error, kryi_ended *ended);
void kryi_task_cancel_locked(kry_task *task, kryi_ended *ended);

#endif
