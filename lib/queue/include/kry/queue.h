/*
 * queue.h - work in the background, a library of its own (kry-queue): a thread for each device, and handles for the results.
 *
 *     kry_queue_create(device, NULL, &queue);
 *     kry_task_write(queue, KRY_HOST(.type = KRY_F64, .n = n, .numbers = b), &rhs);
 *     kry_task_solve(queue, solver, rhs, NULL, &x);      returns at once
 *     ...                                                 the caller goes on
 *     kry_task_read(queue, x, numbers, &read);
 *     kry_task_wait(read);
 *
 * A kry_task is a handle for a piece of work and for its value: a kry_vec, a kry_op (LU factors, a
 * solver) or a number. Later tasks may take it as an input before it is computed. All functions here
 * may be called from any thread at any time, and return in microseconds unless they say "waits".
 * docs/in-programs.md.
 *
 * "One thread at a time per device" (kry.h) holds here, too: while a queue has work, its device
 * belongs to the thread of the queue. Wait with kry_queue_finish before you use the device directly.
 * Only _retain, _release and questions that do not touch the device (sizes, types, kry_op_describe)
 * are allowed meanwhile. Other calls are refused with KRY_ERR_ARGUMENT where kry can tell.
 */
#ifndef KRY_QUEUE_H
#define KRY_QUEUE_H

#include <kry/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_queue kry_queue;
typedef struct kry_task kry_task;

/* ---- queues ---- */

/*
 * A thread that works for a device, and the tasks that it has to do
 *
 *   device  retained; may be a team (team.h). NULL: a thread of the host, which runs the caller's own
 *           functions (kry_task_submit), e.g. LAPACK's
 *   name    for messages, copied; NULL: the device's name, or "host"
 *   queue   [out]  a device has one queue: if there is one already, another reference to it. Every
 *           call without a device makes a new queue
 *
 * Tasks run one after the other, in the order in which they were submitted. A task whose inputs are
 * not there yet lets others pass.
 *
 * Returns  KRY_ERR_UNSUPPORTED for a team of ranks (transport.h); KRY_ERR_MEMORY, also if no thread can be
 *          started.
 */
KRY_API KRY_MUST_CHECK kry_status kry_queue_create(kry_device *device, const char *name,
                                                   kry_queue **queue);
/*
 * The last release ends the thread: tasks that have not begun are cancelled, the running one is asked
 * to stop. Call kry_queue_finish first if they shall run. Handles stay valid, and so do values that
 * were computed. Waits.
 */
KRY_API void kry_queue_release(kry_queue **queue);
KRY_API kry_device *kry_queue_device(const kry_queue *queue); /* borrowed; NULL: of the host */
KRY_API const char *kry_queue_name(const kry_queue *queue);   /* borrowed */

/* Wait until every task submitted so far has ended, well or badly: errors stay with the handles.
 * The device may then be used directly, until something is submitted again.
 * Returns  KRY_ERR_ARGUMENT if called from within a task. */
KRY_API KRY_MUST_CHECK kry_status kry_queue_finish(kry_queue *queue);
/* kry_task_cancel for all of its tasks that have not ended. */
KRY_API void kry_queue_cancel(kry_queue *queue);

/* ---- handles ---- */

KRY_API kry_task *kry_task_retain(kry_task *task);
/* Dropping a handle cancels nothing: the task runs, and its value goes when nobody needs it. */
KRY_API void kry_task_release(kry_task **task);

/* A task that has ended already, with this value, which it retains. */
KRY_API KRY_MUST_CHECK kry_status kry_task_of_vec(kry_vec *vec, kry_task **task);
KRY_API KRY_MUST_CHECK kry_status kry_task_of_op(const kry_op *op, kry_task **task);

typedef enum kry_task_phase {
    KRY_TASK_WAITING, /* for its inputs */
    KRY_TASK_READY,   /* for its turn */
    KRY_TASK_RUNNING,
    KRY_TASK_DONE, /* its status is not negative */
    KRY_TASK_FAILED,
    KRY_TASK_CANCELLED
} kry_task_phase;
KRY_API kry_task_phase kry_task_state(const kry_task *task); /* >= KRY_TASK_DONE: it has ended */
KRY_API const char *kry_task_name(const kry_task *task);     /* borrowed */

/*
 * Wait until the task has ended; kry_last_error() of this thread is then the message of the task
 *
 * Returns  the status of the task: for kry_task_solve that of kry_solve. KRY_STOPPED if it was
 *          cancelled while it ran, KRY_ERR_CANCELLED if it was cancelled before. If an input failed,
 *          the status of the input, and a message "... was not run because ...".
 *          KRY_ERR_ARGUMENT from within another task: make this one an input there.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_wait(kry_task *task);
/* kry_task_wait for at most so many seconds; 0: do not wait. *ended: whether it has ended; if not,
 * the call returns KRY_OK. */
KRY_API KRY_MUST_CHECK kry_status kry_task_wait_for(kry_task *task, double seconds, bool *ended);

typedef struct kry_task_progress_info {
    double fraction;   /* 0 ... 1; for a solve by the logarithm of the residual */
    int64_t iteration; /* of a solve; 0 before the first look at the residual */
    double residual;   /* of a solve, as in kry_iteration; 0 before the first look */
    double target;     /* of a solve */
    double seconds;    /* that it has run */
} kry_task_progress_info;
KRY_API void kry_task_progress(const kry_task *task, kry_task_progress_info *info);

/*
 * Cancel a task. One that has not begun is dropped: KRY_ERR_CANCELLED. A running solve stops at its
 * next look at the residual: KRY_STOPPED, and its value is the last iterate. A job of the caller can
 * ask kry_task_is_cancelled. Any other running task runs to its end. Tasks that have a cancelled one
 * as an input fail, with a message that names it. Does not wait.
 */
KRY_API void kry_task_cancel(kry_task *task);

/* The value, borrowed from the task; NULL before the task has ended, or if the value is of another
 * kind. It lies on the device of the queue, which may be busy: kry_task_read reads it in its turn.
 * Do not write to it while other tasks may read it. */
KRY_API kry_vec *kry_task_vec(const kry_task *task);
KRY_API kry_op *kry_task_op(const kry_task *task);
/* The result of a kry_task_solve that has ended and not failed; else NULL. Its history is the task's. */
KRY_API const kry_result *kry_task_result(const kry_task *task);
/* The number that kry_task_set_number set. Waits, and returns what kry_task_wait returns, also to a job
 * that has the task as an input; KRY_ERR_TYPE if there is none. */
KRY_API KRY_MUST_CHECK kry_status kry_task_number(kry_task *task, double *number);

/* ---- the caller's own work ---- */

typedef struct kry_job {
    size_t struct_size;
    const char *name; /* for messages, copied; default "job" */
    /* Called on the thread of the queue once all inputs are there. It may use the device of the queue
     * freely, and no other one. A negative status fails the task, with kry_last_error() as its message. */
    kry_status (*run)(void *user, kry_task *self);
    /* Called once when the task has ended, on any thread, even if `run` was not called. May be NULL. */
    void (*destroy)(void *user);
    void *user; /* belongs to the task once kry_task_submit has succeeded */
} kry_job;
#define KRY_JOB(...) KRY_PARAMS(kry_job, __VA_ARGS__)

/*
 * Run a function on the thread of a queue
 *
 *   inputs  count tasks of any queues, retained until this task has ended. It waits for them, and
 *           fails if one of them fails
 *   task    [out]  NULL: no handle is wanted. This holds for all functions below
 *
 * Whatever the library can do directly it can do so in the background.
 *
 * Returns  KRY_ERR_ARGUMENT if an input is NULL, or the queue is being released; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_submit(kry_queue *queue, const kry_job *job,
                                                  kry_task *const *inputs, int count,
                                                  kry_task **task);

/* The following are for `run`, with its own task. */

/* Input i as a vector on the device of the queue; one that lies on another device is copied through
 * the host. On a queue of the host: where it lies, for reading only. Borrowed until `run` returns.
 * Returns  KRY_ERR_TYPE if the input is no vector. */
KRY_API KRY_MUST_CHECK kry_status kry_task_input_vec(kry_task *self, int i, kry_vec **vec);
/* Input i as an operator. Returns  KRY_ERR_TYPE if it is none, KRY_ERR_UNSUPPORTED if it lives on
 * another device. */
KRY_API KRY_MUST_CHECK kry_status kry_task_input_op(kry_task *self, int i, kry_op **op);
/* Set the value. The task retains it; the caller's reference remains the caller's. */
KRY_API void kry_task_set_vec(kry_task *self, kry_vec *vec);
KRY_API void kry_task_set_op(kry_task *self, kry_op *op);
KRY_API void kry_task_set_number(kry_task *self, double number);
KRY_API void kry_task_set_progress(kry_task *self, double fraction);
/* Whether the task was cancelled: `run` should return KRY_STOPPED. */
KRY_API bool kry_task_is_cancelled(const kry_task *self);

/* ---- between host and device ---- */

typedef struct kry_host_block {
    size_t struct_size;
    kry_type type;
    int64_t n, k; /* column major; k: default 1 */
    const void
        *numbers; /* borrowed until `release` is called, or without it until the task has ended */
    void (*release)(
        void *user); /* called once, on any thread, when the numbers are no longer needed,
                                    if the submission succeeded. May be NULL */
    void *user;
    kry_task *after; /* the task that writes the numbers; NULL: they are there */
} kry_host_block;
#define KRY_HOST(...) KRY_PARAMS(kry_host_block, __VA_ARGS__)

/* A new vector with these numbers. */
KRY_API KRY_MUST_CHECK kry_status kry_task_write(kry_queue *queue, const kry_host_block *from,
                                                 kry_task **task);
/* Copy the n*k numbers of x to the host, in their type; `host` is borrowed until the task has ended.
 * The value is x. Any queue may do it, also one of the host; the queue of x is the best. */
KRY_API KRY_MUST_CHECK kry_status kry_task_read(kry_queue *queue, kry_task *x, void *host,
                                                kry_task **task);

/* ---- operators and solvers ---- */

/* A x, a new vector of as many columns as x
 *   A  a task whose value is an operator: a matrix, a preconditioner, LU factors, a solver */
KRY_API KRY_MUST_CHECK kry_status kry_task_apply(kry_queue *queue, kry_task *A, kry_task *x,
                                                 kry_task **task);
/*
 * Solve A x = b (kry_solve) into a new vector; kry_task_result has the result
 *
 *   solver  a task whose value is a solver
 *   b       n-by-k: column after column. Result and status are those of the first column that did not
 *           converge, else of the last one
 *   guess   n-by-k; NULL: zero
 *
 * The solver's own monitor is called on the thread of the queue. A solve that does not converge has a
 * value and a positive status, and tasks that use the value run: look at the status.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_solve(kry_queue *queue, kry_task *solver, kry_task *b,
                                                 kry_task *guess, kry_task **task);
/* kry_solver_create with these words, copied: factorisations happen in the background, too. */
KRY_API KRY_MUST_CHECK kry_status kry_task_solver(kry_queue *queue, kry_task *A,
                                                  const char *options, kry_task **task);

/* ---- batches over several devices ---- */

/* Do the jobs first ... first + count - 1 on the thread of queue number `queue` of the batch, with its
 * device (NULL: a queue of the host). A negative status ends the batch. */
typedef kry_status kry_batch_fn(void *user, int queue, kry_device *device, int64_t first,
                                int64_t count);

typedef struct kry_batch_params {
    size_t struct_size;
    kry_queue *const *queues; /* count of them, all different */
    int count;
    int64_t jobs;
    kry_batch_fn *run;
    void *user;
    const char *name; /* for messages; default "batch" */
    int64_t smallest; /* jobs in a chunk, at least (but for the last chunk); default 1 */
} kry_batch_params;
#define KRY_JOBS(...) KRY_PARAMS(kry_batch_params, __VA_ARGS__)

/* The part of a batch that one queue did. */
typedef struct kry_batch_share {
    int64_t jobs, chunks;
    double seconds; /* in run() */
    double rate;    /* jobs / seconds */
} kry_batch_share;

/*
 * Run many independent jobs on several devices at once, divided by how fast each device turns out to be
 *
 *   shares  [out]  count of them; NULL: not wanted
 *
 * Guided self-scheduling: each queue takes a chunk in proportion to its measured rate, half of what
 * would finish the batch at the present rates. Chunks shrink towards the end, and a queue that would
 * hold the others up leaves the rest to them. A queue that has other work joins when it comes to it.
 * After a failure no further chunk is begun. Waits.
 *
 * Returns  the status of the first chunk that failed (message: which jobs, on which queue);
 *          KRY_ERR_CANCELLED if the queues were released before all jobs were done;
 *          KRY_ERR_ARGUMENT for no queues, the same one twice, negative jobs, or from within a task;
 *          KRY_ERR_MEMORY.
 * Source   C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling: a practical scheduling
 *          scheme for parallel supercomputers, IEEE Trans. Comput. C-36 (1987).
 */
KRY_API KRY_MUST_CHECK kry_status kry_batch_run(const kry_batch_params *batch,
                                                kry_batch_share *shares);

#ifdef __cplusplus
}
#endif
#endif
