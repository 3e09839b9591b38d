/* jobs.c - the jobs that the library brings along: transfers, products, solvers and solves. */
#include "task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- submitting ---- */

/* What a job is given besides its inputs. */
typedef struct work {
    kry_host_block block;
    void *host;
    char options[];
} work;

static void destroy_work(void *user)
{
    work *w = user;
    if (w->block.release) w->block.release(w->block.user);
    free(w);
}

static kry_status run_read(void *user, kry_task *self);

/* inputs: three, of which the first `needed` must be there and the others may be NULL. */
static kry_status submit(const char *who, kry_queue *queue,
                         kry_status (*run)(void *user, kry_task *self), const work *given,
                         const char *options, kry_task *const *inputs, int needed, kry_task **task)
{
    kry_status st = KRY_OK;
    work *w = NULL;
    int count = 0;

    if (task) *task = NULL;
    CHECK(queue, KRY_ERR_ARGUMENT, "%s: NULL queue", who);
    CHECK(queue->device || run == run_read, KRY_ERR_ARGUMENT,
          "%s: the queue '%s' belongs to the host, and this needs a device", who, queue->name);
    for (; count < needed; count++)
        CHECK(inputs[count], KRY_ERR_ARGUMENT, "%s: input %d is NULL", who, count);
    while (count < 3 && inputs[count]) count++;
    TRY(kryi_allocate(1, sizeof *w + strlen(options) + 1, &w));
    *w = *given;
    memcpy(w->options, options, strlen(options));
    TRY(kry_task_submit(
        queue,
        KRY_JOB(.name = who + strlen("kry_task_"), .run = run, .destroy = destroy_work, .user = w),
        inputs, count, task));
    w = NULL;
done:
    free(w);
    return st;
}

/* The new vector becomes the value if all went well (st). Returns st. */
static kry_status give(kry_task *self, kry_status st, kry_vec **v)
{
    if (st >= 0) kry_task_set_vec(self, *v);
    kry_vec_release(v);
    return st;
}

/* ---- between host and device ---- */

static kry_status run_write(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    const kry_host_block *b = &((work *)user)->block;
    kry_vec *v = NULL;

    TRY(kry_vec_create(self->queue->device, b->type, b->n, b->k, &v));
    TRY(kry_vec_write(v, b->numbers));
done:
    return give(self, st, &v);
}

kry_status kry_task_write(kry_queue *queue, const kry_host_block *from, kry_task **task)
{
    static const char who[] = "kry_task_write";
    kry_status st = KRY_OK;
    kry_host_block mine;

    if (task) *task = NULL;
    CHECK(from, KRY_ERR_ARGUMENT, "%s: NULL", who);
    TRY(kryi_take_params(who, "KRY_HOST", from, &mine, sizeof mine));
    from = &mine;
    CHECK(from->type == KRY_F32 || from->type == KRY_F64, KRY_ERR_ARGUMENT,
          "%s: %d is not a number type", who, (int)from->type);
    CHECK(from->n >= 0 && from->k >= 0, KRY_ERR_ARGUMENT, "%s: %lld-by-%lld is not a size", who,
          (long long)from->n, (long long)from->k);
    CHECK(from->numbers || from->n == 0, KRY_ERR_ARGUMENT, "%s: the numbers are NULL", who);
    work w = { .block = *from };
    if (w.block.k == 0) w.block.k = 1;
    TRY(submit(who, queue, run_write, &w, "", (kry_task *[3]){ from->after }, 0, task));
done:
    return st;
}

/* Not through kry_task_input_vec: x may lie on another device. */
static kry_status run_read(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    const kry_task *from = self->input[0].from;

    CHECK(from->out.vec, KRY_ERR_TYPE, "'%s' wants a vector as input 0, but '%s' gives none",
          self->name, from->name);
    TRY(kry_vec_read(from->out.vec, ((work *)user)->host));
    kry_task_set_vec(self, from->out.vec);
done:
    return st;
}

kry_status kry_task_read(kry_queue *queue, kry_task *x, void *host, kry_task **task)
{
    kry_status st = KRY_OK;

    if (task) *task = NULL;
    NOT_NULL(host);
    TRY(submit("kry_task_read", queue, run_read, &(work){ .host = host }, "", (kry_task *[3]){ x },
               1, task));
done:
    return st;
}

/* ---- operators and solvers ---- */

static kry_status run_apply(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *A;
    kry_vec *x, *y = NULL;

    (void)user;
    TRY(kry_task_input_op(self, 0, &A));
    TRY(kry_task_input_vec(self, 1, &x));
    TRY(kry_vec_create(self->queue->device, kry_vec_type(x), kry_op_get_shape(A)->rows,
                       kry_vec_cols(x), &y));
    TRY(kry_op_apply(A, 1, x, 0, y));
done:
    return give(self, st, &y);
}

kry_status kry_task_apply(kry_queue *queue, kry_task *A, kry_task *x, kry_task **task)
{
    return submit("kry_task_apply", queue, run_apply, &(work){ 0 }, "", (kry_task *[3]){ A, x }, 2,
                  task);
}

static kry_status run_solver(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *A, *solver = NULL;

    TRY(kry_task_input_op(self, 0, &A));
    TRY(kry_solver_create(A, ((work *)user)->options, NULL, NULL, &solver));
    kry_task_set_op(self, solver);
done:
    kry_op_release(&solver);
    return st;
}

kry_status kry_task_solver(kry_queue *queue, kry_task *A, const char *options, kry_task **task)
{
    return submit("kry_task_solver", queue, run_solver, &(work){ 0 }, options ? options : "",
                  (kry_task *[3]){ A }, 1, task);
}

/* A solve whose progress is watched. */
typedef struct watched {
    kry_task *task;
    double first_residual;
} watched;

/* Called on the queue's thread at every look at the residual. */
static int look(void *user, const kry_iteration *it)
{
    watched *w = user;
    kry_task_progress_info *p = &w->task->progress;

    kryi_tasks_lock();
    if (!(w->first_residual > 0)) w->first_residual = it->residual;
    p->iteration = it->iteration;
    p->residual = it->residual;
    p->target = it->target;
    double all = log(w->first_residual / it->target), got = log(w->first_residual / it->residual);
    if (all > 0 && got > p->fraction * all) p->fraction = got < all ? got / all : 1;
    kryi_tasks_unlock();
    return w->task->cancelled;
}

/* The solver owns the history and will overwrite it: the task keeps a copy. */
static kry_status keep_result(kry_task *self, const kry_result *result)
{
    kry_status st = KRY_OK;
    kry_result *own = NULL;
    double *history = NULL;
    size_t count = result->history ? (size_t)result->history_count : 0;

    TRY(kryi_allocate(1, sizeof *own, &own));
    TRY(kryi_allocate(count, sizeof *history, &history));
    if (count) memcpy(history, result->history, count * sizeof *history);
    *own = *result;
    own->history = history;
    if (self->out.result) free((double *)self->out.result->history);
    free(self->out.result);
    self->out.result = own;
    own = NULL, history = NULL;
done:
    free(history);
    free(own);
    return st;
}

/* Column by column; the result is that of the first that did not converge, else of the last. */
static kry_status solve_columns(watched *w, const kry_op *solver, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK, worst = KRY_OK;
    kry_vec *bj = NULL, *xj = NULL;
    kry_result result;
    const int64_t k = kry_vec_cols(b);

    CHECK(k == kry_vec_cols(x), KRY_ERR_SHAPE, "kry_task_solve: b has %lld columns, the guess %lld",
          (long long)k, (long long)kry_vec_cols(x));
    for (int64_t j = 0; j < k && !(worst && w->task->cancelled); j++) {
        w->first_residual = 0;
        kry_vec_release(&bj), kry_vec_release(&xj);
        TRY(kry_vec_view(b, j, &bj));
        TRY(kry_vec_view(x, j, &xj));
        TRY(kry_solve(solver, bj, xj, &result));
        if (worst == KRY_OK) {
            worst = st;
            TRY(keep_result(w->task, &result));
        }
    }
done:
    kry_vec_release(&bj), kry_vec_release(&xj);
    return st < 0 ? st : worst;
}

static kry_status run_solve(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_device *dev = self->queue->device;
    watched w = { .task = self };
    kry_op *solver;
    kry_vec *b, *guess = NULL, *x = NULL;

    (void)user;
    TRY(kry_task_input_op(self, 0, &solver));
    TRY(kry_task_input_vec(self, 1, &b));
    if (self->count > 2) TRY(kry_task_input_vec(self, 2, &guess));
    TRY(kry_vec_create(dev, kry_vec_type(b), kry_op_get_shape(solver)->cols, kry_vec_cols(b), &x));
    if (guess) TRY(kry_vec_copy(guess, x));
    kry_device_set_monitor(dev, look, &w);
    st = solve_columns(&w, solver, b, x);
    kry_device_set_monitor(dev, NULL, NULL);
done:
    return give(self, st, &x);
}

kry_status kry_task_solve(kry_queue *queue, kry_task *solver, kry_task *b, kry_task *guess,
                          kry_task **task)
{
    return submit("kry_task_solve", queue, run_solve, &(work){ 0 }, "",
                  (kry_task *[3]){ solver, b, guess }, 2, task);
}
