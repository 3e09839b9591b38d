/*
 * task.h - work in the background: a thread for each device, and handles for what it will compute.
 *
 *     kry_queue_create(device, NULL, &queue);
 *     kry_task_write(queue, KRY_HOST(.type = KRY_F64, .n = n, .numbers = b), &rhs);
 *     kry_task_solve(queue, solver, rhs, NULL, &x);      returns at once
 *     ...                                                 the caller goes on
 *     kry_task_read(queue, x, numbers, &read);
 *     kry_task_wait(read);
 *
 * A kry_task is a handle: of work that waits, runs or has ended, and of its value, a kry_vec or a
 * kry_op (LU factors, solvers), or a number. Handles are inputs of later tasks before they are
 * computed. All functions here may be called from any thread at any time, and return in
 * microseconds unless they say "waits". docs/background.md.
 *
 * "One thread at a time per device" (kry.h) holds: while a queue has work, its device is its
 * thread's. Calls that use the device directly have to wait for kry_queue_finish; what is allowed
 * meanwhile are _retain and _release, and what does not touch the device (sizes, types,
 * kry_op_describe). Others are refused (KRY_ERR_ARGUMENT) where kry can tell.
 */
#ifndef KRY_TASK_H
#define KRY_TASK_H

#include <kry/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_queue kry_queue;
typedef struct kry_task kry_task;

/* ---- queues ---- */

typedef struct kry_queue_params {
    size_t struct_size;
    const char *name;       /* for messages, copied; default: the device's, "host" without one */
    bool finish_on_release; /* kry_queue_release of the last reference runs what is queued; default:
                               cancels it */
} kry_queue_params;
#define KRY_QUEUE(...) (&(kry_queue_params){ .struct_size = sizeof(kry_queue_params), __VA_ARGS__ })

/*
 * A thread that works for a device, and the tasks it has to do
 *
 *   device  retained; several as one (team.h) too. NULL: a thread of the host that runs the
 *           caller's own functions (kry_task_submit), e.g. LAPACK's
 *   params  NULL: the defaults
 *   queue   [out]  a device has one: where it has a queue already, another reference to that, and
 *           params are not looked at. Of the host there are as many as are made
 *
 * Tasks run one after the other, in the order in which they were submitted; those whose inputs are
 * not computed yet step aside.
 *
 * Returns  KRY_ERR_MEMORY, also if there is no thread.
 */
KRY_API KRY_MUST_CHECK kry_status kry_queue_create(kry_device *device,
                                                   const kry_queue_params *params,
                                                   kry_queue **queue);
KRY_API kry_queue *kry_queue_retain(kry_queue *queue);
/*
 * The last one ends the thread: what waits is cancelled (or finished: finish_on_release), what runs
 * is asked to stop and waited for. Handles stay valid, and so do values that were computed. Waits.
 */
KRY_API void kry_queue_release(kry_queue **queue);
KRY_API kry_device *kry_queue_device(const kry_queue *queue); /* borrowed; NULL: the host's */
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

/* Tasks that are done already, and hold what there is. Retained. */
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
 * Wait until the task has ended, and say how: kry_last_error() of this thread is then the task's
 * message
 *
 * Returns  what it returned: of kry_task_solve what kry_solve did, KRY_STOPPED if it was cancelled
 *          while it ran; KRY_ERR_CANCELLED if it was cancelled before; of a task whose input failed
 *          that input's status (KRY_ERR_CANCELLED if it was cancelled), with "... because ..." and
 *          the input's message.
 *          KRY_ERR_ARGUMENT from within another task: make it an input there. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_wait(kry_task *task);
/* The same for at most so many seconds; 0: poll. *ended tells whether it has; if not, KRY_OK. */
KRY_API KRY_MUST_CHECK kry_status kry_task_wait_for(kry_task *task, double seconds, bool *ended);

typedef struct kry_task_progress_info {
    double fraction;   /* 0 ... 1; of a solve by the logarithm of its residual */
    int64_t iteration; /* of a solve; 0 before its first look */
    double residual;   /* of a solve, as kry_iteration has it; 0 before its first look */
    double target;     /* of a solve */
    double seconds;    /* since it began to run, or how long it ran */
} kry_task_progress_info;
KRY_API void kry_task_progress(const kry_task *task, kry_task_progress_info *info);

/*
 * What has not begun is dropped: KRY_ERR_CANCELLED. A solve that runs is stopped at its next look
 * at the residual: KRY_STOPPED, with its last iterate as its value. A caller's job sees
 * kry_task_is_cancelled. Other work runs to its end; so does what had ended. Tasks that have it as
 * input fail, with a message that names it. Does not wait.
 */
KRY_API void kry_task_cancel(kry_task *task);

/* The value once it is there: borrowed from the task, NULL before that or if it is of another kind.
 * On the device of its queue, which may be busy: kry_task_read reads it in its turn. Not to be
 * written to while other tasks may read it. */
KRY_API kry_vec *kry_task_vec(const kry_task *task);
KRY_API kry_op *kry_task_op(const kry_task *task);
/* Of kry_task_solve, once it has ended and not failed; else NULL. The history is the task's own
 * copy. */
KRY_API const kry_result *kry_task_result(const kry_task *task);
/* The number of kry_task_dot and others. Waits for the task, and returns as kry_task_wait;
 * KRY_ERR_TYPE if it has none. */
KRY_API KRY_MUST_CHECK kry_status kry_task_number(kry_task *task, double *number);

/* ---- the caller's own work ---- */

typedef struct kry_job {
    size_t struct_size;
    const char *name; /* for messages, copied; default "job" */
    /* Called on the queue's thread, once all inputs are done. The queue's device may be used
     * freely, no other one. A negative status (kry_fail) fails the task with kry_last_error() as
     * message. */
    kry_status (*run)(void *user, kry_task *self);
    /* Called once when the task has ended, whether it ran or not, on any thread; NULL: nothing to
       do. */
    void (*destroy)(void *user);
    void *user; /* the task's if kry_task_submit succeeds (destroy), else still the caller's */
} kry_job;
#define KRY_JOB(...) (&(kry_job){ .struct_size = sizeof(kry_job), __VA_ARGS__ })

/*
 * Have a function run
 *
 *   inputs  count tasks of any queue, retained until this one has ended: it waits for them, and
 *           fails if one of them does
 *   task    [out]  NULL: no handle is wanted. The same everywhere below
 *
 * Returns  KRY_ERR_ARGUMENT for a NULL among the inputs, or a queue that is being released;
 *          KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_submit(kry_queue *queue, const kry_job *job,
                                                  kry_task *const *inputs, int count,
                                                  kry_task **task);

/* For run() alone, with its own task. */

/* Input i as a vector on the queue's device; one that lies on another device is copied through the
 * host, once. On queues of the host: where it lies, to be read only. Borrowed until run() returns.
 * Returns  KRY_ERR_TYPE if it is no vector. */
KRY_API KRY_MUST_CHECK kry_status kry_task_input_vec(kry_task *self, int i, kry_vec **vec);
/* Input i as an operator. Returns  KRY_ERR_TYPE if it is none, KRY_ERR_UNSUPPORTED if it lives on
 * another device. */
KRY_API KRY_MUST_CHECK kry_status kry_task_input_op(kry_task *self, int i, kry_op **op);
KRY_API KRY_MUST_CHECK kry_status kry_task_input_number(kry_task *self, int i, double *number);
/* The value: the task takes a reference of its own, and yours is still yours to release. */
KRY_API void kry_task_set_vec(kry_task *self, kry_vec *vec);
KRY_API void kry_task_set_op(kry_task *self, kry_op *op);
KRY_API void kry_task_set_number(kry_task *self, double number);
KRY_API void kry_task_set_progress(kry_task *self, double fraction);
/* Somebody wants it to end: return KRY_STOPPED. */
KRY_API bool kry_task_is_cancelled(const kry_task *self);

/* ---- between host and device ---- */

typedef struct kry_host_block {
    size_t struct_size;
    kry_type type;
    int64_t n, k;        /* column major; k: default 1 */
    const void *numbers; /* borrowed until `release` or, without it, until the task has ended */
    void (*release)(void *user); /* called once, on any thread, when the numbers are no longer
                                    needed, if the submission succeeded; NULL: nobody wants to know
                                    */
    void *user;
    kry_task *after; /* not before this one is done: the numbers are its work; NULL: now */
} kry_host_block;
#define KRY_HOST(...) (&(kry_host_block){ .struct_size = sizeof(kry_host_block), __VA_ARGS__ })

/* A new vector with these numbers. */
KRY_API KRY_MUST_CHECK kry_status kry_task_write(kry_queue *queue, const kry_host_block *from,
                                                 kry_task **task);
/* The n*k numbers of x into host memory, in their type; borrowed until the task has ended. Value:
 * x, for those who go on. Any queue, of the host too; that of x is the best. */
KRY_API KRY_MUST_CHECK kry_status kry_task_read(kry_queue *queue, kry_task *x, void *host,
                                                kry_task **task);
/* x on this queue's device: a copy in any case. */
KRY_API KRY_MUST_CHECK kry_status kry_task_copy(kry_queue *queue, kry_task *x, kry_task **task);

/* ---- vectors; kry_task_submit does what is not here, e.g. products of dense matrices ---- */

/* alpha x + beta y; y NULL: alpha x */
KRY_API KRY_MUST_CHECK kry_status kry_task_axpby(kry_queue *queue, double alpha, kry_task *x,
                                                 double beta, kry_task *y, kry_task **task);
/* The 2-norm of x: a number, see kry_task_number. */
KRY_API KRY_MUST_CHECK kry_status kry_task_norm2(kry_queue *queue, kry_task *x, kry_task **task);

/* ---- operators and solvers ---- */

typedef struct kry_apply_params {
    size_t struct_size;
    bool transposed;
    double alpha; /* default 1 */
    double beta;
    kry_task *y; /* NULL: zero */
} kry_apply_params;
#define KRY_APPLY(...) (&(kry_apply_params){ .struct_size = sizeof(kry_apply_params), __VA_ARGS__ })

/* alpha op(A) x + beta y, a new vector of as many columns as x
 *   A       a task whose value is an operator: a matrix, a preconditioner, LU factors, a solver
 *   params  NULL: A x */
KRY_API KRY_MUST_CHECK kry_status kry_task_apply(kry_queue *queue, kry_task *A, kry_task *x,
                                                 const kry_apply_params *params, kry_task **task);
/*
 * kry_solve: a new vector with the solution of A x = b; kry_task_result has its result
 *
 *   solver  a task whose value is a solver
 *   b       n-by-k: column after column. The result and the status are those of the first that did
 *           not converge, else of the last
 *   guess   n-by-k; NULL: zero
 *
 * The solver's own monitor is called on the queue's thread. A solve that does not converge has a
 * value, a positive status, and tasks that use it run: look at the status.
 */
KRY_API KRY_MUST_CHECK kry_status kry_task_solve(kry_queue *queue, kry_task *solver, kry_task *b,
                                                 kry_task *guess, kry_task **task);
/* kry_solver_create with these words, copied: matrices are factorised in the background, too. */
KRY_API KRY_MUST_CHECK kry_status kry_task_solver(kry_queue *queue, kry_task *A,
                                                  const char *options, kry_task **task);

/* ---- batches over several devices ---- */

/* Do the jobs first ... first + count - 1, on the thread of queue number `queue` of the batch; with
 * its device (NULL: the host's). A negative status ends the batch. */
typedef kry_status kry_batch_fn(void *user, int queue, kry_device *device, int64_t first,
                                int64_t count);

typedef struct kry_batch_params {
    size_t struct_size;
    kry_queue *const *queues; /* count of them, all different */
    int count;
    int64_t jobs;
    kry_batch_fn *run;
    void *user;            /* borrowed until the batch has ended */
    const char *name;      /* for messages; default "batch" */
    const double *weights; /* count rates to begin with, in any unit, that divide the first chunks;
                              NULL: equal ones */
    int64_t smallest;      /* jobs in a chunk, at least (but for the last); default 1 */
} kry_batch_params;
#define KRY_JOBS(...) (&(kry_batch_params){ .struct_size = sizeof(kry_batch_params), __VA_ARGS__ })

/* What a queue did in a batch. */
typedef struct kry_batch_share {
    int64_t jobs, chunks;
    double seconds; /* in run() */
    double rate;    /* jobs / seconds */
} kry_batch_share;

/*
 * Run many independent jobs on several devices at once, and divide them by how fast each turns out
 * to be
 *
 *   shares  [out]  count of them, filled in when the batch has ended; NULL: not wanted
 *   task    [out]  of the whole: wait, progress (jobs done), cancel (no further chunk is begun)
 *
 * Guided self-scheduling: each queue takes a chunk in proportion to its measured rate, half of what
 * would finish the batch if all went on as they do; chunks shrink towards the end, and a queue that
 * would hold the others up leaves the rest to them. A queue that has other work joins when it comes
 * to it.
 *
 * The first failure ends the batch: chunks that run are finished, no other is begun, and its
 * message names the jobs and the queue.
 *
 * Returns  KRY_ERR_ARGUMENT for no queues, the same one twice, negative jobs or weights that are
 *          not positive; KRY_ERR_MEMORY.
 * Source   C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling: a practical scheduling
 *          scheme for parallel supercomputers, IEEE Trans. Comput. C-36 (1987).
 */
KRY_API KRY_MUST_CHECK kry_status kry_batch_submit(const kry_batch_params *batch,
                                                   kry_batch_share *shares, kry_task **task);
/* The same, and wait. */
KRY_API KRY_MUST_CHECK kry_status kry_batch_run(const kry_batch_params *batch,
                                                kry_batch_share *shares);

#ifdef __cplusplus
}
#endif
#endif
