/*
 * task.h - what the files of the background work share.
 *
 * One lock guards queues, the graph of tasks and batches: it is held for moments only, never while
 * something runs, and never while a caller's function is called. What a task came to is written
 * before it ends and not touched afterwards.
 */
#ifndef KRY_TASK_INTERNAL_H
#define KRY_TASK_INTERNAL_H

#include "operator/op.h"
#include <pthread.h>

enum { KRY_NAME = 48, KRY_SENTENCE = 512 };

/* Task `to` needs what task `from` comes to. */
typedef struct kry_edge {
    kry_task *from; /* retained until `to` has ended */
    kry_task *to;
    struct kry_edge *next, **at; /* among those that begin at `from`; at NULL: it has ended */
} kry_edge;

/* An OpenCL event that is told how a task ended. */
typedef struct kry_told {
    cl_event event; /* retained */
    struct kry_told *next;
} kry_told;

/* In the order of submission. */
typedef struct kry_task_list {
    kry_task *first, *last;
} kry_task_list;

/* How a task that only waits for others comes out, once they have ended; called under the lock. */
typedef struct kry_joint {
    kry_status (*outcome)(void *user, char *error, size_t size);
    double (*fraction)(void *user);
} kry_joint;

struct kry_task {
    atomic_int refs;
    char name[KRY_NAME];
    kry_job job;            /* run NULL: it ends when nothing is missing any more */
    const kry_joint *joint; /* static; NULL: it fails when an input does */
    atomic_bool cancelled;
    bool has_number;

    /* Under the lock. */
    kry_queue *queue; /* borrowed; NULL: none, or it has ended */
    kry_task_phase phase;
    uint64_t number;      /* in the order of submission to its queue */
    int missing;          /* inputs and events that it waits for */
    kry_edge *dependents; /* that wait for it */
    kry_task_list *list;  /* that it is in */
    kry_task *previous, *next;
    kry_told *told; /* owned */
    kry_task_progress_info progress;
    double began;

    /* What it came to. */
    kry_status status;
    char error[KRY_SENTENCE];
    const char *message, *cause; /* in `error`: its own sentence, and that which others quote */
    double result_number, first_residual;
    kry_vec *vec;       /* owned */
    kry_op *op;         /* owned */
    kry_result *result; /* owned, with its history */

    kry_device *device; /* retained: its queue's, or that of its value; NULL: none */
    kry_vec **copy;     /* count, owned: of inputs, on the queue's device; NULL: none */
    int count;
    kry_edge input[];
};

struct kry_queue {
    int refs;           /* this and the rest under the lock */
    kry_device *device; /* retained; NULL: the host's. Constant, as is the name */
    kry_queue **slot;   /* where the device keeps this queue */
    char name[128];
    pthread_t thread;
    pthread_cond_t work;
    kry_task_list waiting, ready;
    kry_task *running;
    uint64_t submitted;
    bool finish_on_release;
    bool sleeping, quit, abandoned; /* abandoned: its own thread released it */
};

/* ---- task.c ---- */

void kry_tasks_lock(void);
void kry_tasks_unlock(void);
/* Wait, under the lock, until something has ended or `until` (kry_now) has come; false: it has. */
bool kry_tasks_wait(double until);
#define KRY_FOREVER 1e300
/* A condition for kry_tasks_sleep, which waits for it under the lock; it may wake up for nothing,
 * and the lock is free in between. */
void kry_tasks_condition(pthread_cond_t *condition);
void kry_tasks_sleep(pthread_cond_t *condition);
void kry_tasks_changed(void); /* wake those who wait; under the lock */

/* The queue whose thread this is, NULL: none. */
kry_queue *kry_task_inside(void);
void kry_task_enter(kry_queue *queue);
void kry_task_forget_work(kry_task *task); /* its job and copies of inputs */
void kry_task_forget_value(kry_task *task);

/* A task that is not known to anybody yet, with inputs; retained is what it keeps. */
kry_status kry_task_new(const char *who, const kry_job *job, kry_task *const *inputs, int count,
                        kry_task **task);
/* Several that have ended, whose jobs, inputs and events are to be let go (kry_ended_release)
 * without the lock. */
typedef kry_task_list kry_ended;
/* Let it go its way: into the queue's lists (NULL: none). Takes over the job. Under the lock. */
void kry_task_start(kry_task *task, kry_queue *queue, kry_ended *ended);
/* The task has come to this; and with it those that end because of it. Under the lock. error NULL:
 * none. */
void kry_task_end(kry_task *task, kry_status status, const char *error, kry_ended *ended);
/* One more thing that it waited for is there. Under the lock. */
void kry_task_lack_less(kry_task *task, kry_ended *ended);
void kry_task_cancel_locked(kry_task *task, kry_ended *ended);
void kry_ended_release(kry_ended *ended);

/* ---- events.c ---- */

/* Whether any is waited for; look for those that have ended with an error, which lets go of the
 * lock in between. */
bool kry_events_any(void);
void kry_events_look(void);
enum { KRY_LOOK_EVERY = 20 }; /* ms */

/* Tell them how the task ended, and let them go. Without the lock. */
void kry_told_release(kry_told *told, const kry_task *task);

/* ---- queue.c ---- */

void kry_task_list_add(kry_task_list *list, kry_task *task); /* where its number puts it */
void kry_task_list_remove(kry_task *task);

/* ---- jobs.c: for ready-made jobs ---- */

/* A job of the library: a few numbers, and the inputs that are not NULL. */
enum { KRY_WORK_INPUTS = 3 };
typedef struct kry_work kry_work;
typedef kry_status kry_work_fn(kry_work *work, kry_task *self);
struct kry_work {
    kry_work_fn *run;
    void (*destroy)(kry_work *work); /* what else it owns; NULL: nothing */
    double alpha, beta;
    bool transposed;
    void *host;
    kry_host_block block;
    int at[KRY_WORK_INPUTS]; /* which input a given one became; -1: none */
    char text[];             /* options, parameters */
};
typedef struct kry_work_inputs {
    kry_task *task[KRY_WORK_INPUTS]; /* those behind the first `needed` may be NULL */
    int needed;
    bool host_too;    /* queues without a device can do it */
    const void *text; /* copied into the job */
    size_t size;
} kry_work_inputs;
/* who: the public function, whose name behind kry_task_ is the task's. */
kry_status kry_work_submit(const char *who, kry_queue *queue, const kry_work *work,
                           const kry_work_inputs *given, kry_task **task);
/* Number i of those that were given; NULL if it was. */
kry_status kry_work_input(const kry_work *work, kry_task *self, int i, kry_vec **vec);
/* The new vector becomes the value if all went well (st); v is released in any case. Returns st. */
kry_status kry_work_give(kry_task *self, kry_status st, kry_vec **v);
/* A vector on the task's device whose numbers are not set yet. */
kry_status kry_work_vec(kry_task *self, kry_type type, int64_t n, int64_t k, kry_vec **vec);
kry_device *kry_work_device(const kry_task *self);

#endif
