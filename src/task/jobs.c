/* jobs.c - the jobs that the library brings along: transfers, products, solvers and solves. */
#include "operator/op_parts.h"
#include "task/task.h"
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
    TRY(kryi_alloc(1, sizeof *w + strlen(options) + 1, &w));
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

/* A vector on the task's device whose numbers are not set yet. */
static kry_status unset_vec(kry_task *self, kry_type type, int64_t n, int64_t k, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_device *dev = self->queue->device;
    cl_mem buffer = NULL;

    *vec = NULL;
    if (dev->team || n <= 0 || k <= 0 || k > INT64_MAX / 16 / n)
        return kry_vec_create(dev, type, n, k, vec);
    TRY(kryi_type_check(self->name, dev, type));
    TRY(kryi_buffer_create(dev, (size_t)(n * k) * kry_type_size(type), &buffer));
    TRY(kry_vec_wrap(dev, type, n, k, buffer, 0, vec));
done:
    if (buffer) dev->driver->drop(buffer); /* the vector has its own reference */
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

    TRY(unset_vec(self, b->type, b->n, b->k, &v));
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
    TAKE_PARAMS(from, mine, who, "KRY_HOST");
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
    if (!host) {
        if (task) *task = NULL;
        return GIVEN(host);
    }
    return submit("kry_task_read", queue, run_read, &(work){ .host = host }, "",
                  (kry_task *[3]){ x }, 1, task);
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
    TRY(unset_vec(self, x->type, A->shape.rows, x->k, &y));
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

static void observe(kry_device *dev, kryi_observer *observer)
{
    dev->observer = observer;
    for (int i = 0; dev->team && i < dev->team->size; i++)
        if (dev->team->part[i]) dev->team->part[i]->observer = observer;
}

/* The solver owns the history and will overwrite it: the task keeps a copy. */
static kry_status keep_result(kry_task *self, const kry_result *result)
{
    kry_status st = KRY_OK;
    kry_result *own = NULL;
    double *history = NULL;
    size_t count = result->history ? (size_t)result->history_count : 0;

    TRY(kryi_alloc(1, sizeof *own, &own));
    TRY(kryi_alloc(count, sizeof *history, &history));
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
    kry_result result;

    CHECK(b->k == x->k, KRY_ERR_SHAPE, "kry_task_solve: b has %lld columns, the guess %lld",
          (long long)b->k, (long long)x->k);
    for (int64_t j = 0; j < b->k && !(worst && w->task->cancelled); j++) {
        kry_vec bj = kryi_vec_column(b, j), xj = kryi_vec_column(x, j);
        w->first_residual = 0;
        TRY(kry_solve(solver, &bj, &xj, &result));
        if (worst == KRY_OK) {
            worst = st;
            TRY(keep_result(w->task, &result));
        }
    }
done:
    return st < 0 ? st : worst;
}

static kry_status run_solve(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_device *dev = self->queue->device;
    watched w = { .task = self };
    kryi_observer observer = { look, &w };
    kry_op *solver;
    kry_vec *b, *guess = NULL, *x = NULL;

    (void)user;
    TRY(kry_task_input_op(self, 0, &solver));
    TRY(kry_task_input_vec(self, 1, &b));
    if (self->count > 2) TRY(kry_task_input_vec(self, 2, &guess));
    TRY(unset_vec(self, b->type, solver->shape.cols, b->k, &x));
    TRY(guess ? kry_vec_copy(guess, x) : kry_vec_fill(x, 0));
    observe(dev, &observer);
    st = solve_columns(&w, solver, b, x);
    observe(dev, NULL);
done:
    return give(self, st, &x);
}

kry_status kry_task_solve(kry_queue *queue, kry_task *solver, kry_task *b, kry_task *guess,
                          kry_task **task)
{
    return submit("kry_task_solve", queue, run_solve, &(work){ 0 }, "",
                  (kry_task *[3]){ solver, b, guess }, 2, task);
}
