/* task_solve.c - operators and solvers at work in the background. */
#include "operator/op_parts.h"
#include "task/task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- products ---- */

static kry_status run_apply(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    bool transposed = work->transposed;
    kry_op *A;
    kry_vec *x, *y, *v = NULL;

    TRY(kry_task_input_op(self, 0, &A));
    TRY(kry_work_input(work, self, 1, &x));
    TRY(kry_work_input(work, self, 2, &y));
    TRY(kry_work_vec(self, x->type, transposed ? A->shape.cols : A->shape.rows, x->k, &v));
    if (y) TRY(kry_vec_copy(y, v));
    double beta = y ? work->beta : 0;
    TRY(transposed ? kry_op_apply_transpose(A, work->alpha, x, beta, v)
                   : kry_op_apply(A, work->alpha, x, beta, v));
done:
    return kry_work_give(self, st, &v);
}

kry_status kry_task_apply(kry_queue *queue, kry_task *A, kry_task *x,
                          const kry_apply_params *params, kry_task **task)
{
    static const kry_apply_params defaults = { .struct_size = sizeof defaults };
    kry_status st = KRY_OK;

    if (task) *task = NULL;
    if (!params) params = &defaults;
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_task_apply: params of %zu bytes where %zu are expected: start from KRY_APPLY",
          params->struct_size, sizeof *params);
    kry_work work = { .run = run_apply,
                      .alpha = params->alpha != 0 ? params->alpha : 1,
                      .beta = params->beta,
                      .transposed = params->transposed };
    TRY(kry_work_submit("kry_task_apply", queue, &work,
                        &(kry_work_inputs){ .task = { A, x, params->y }, .needed = 2 }, task));
done:
    return st;
}

/* ---- solves ---- */

/* Called on the queue's thread at every look at the residual. */
static int look(void *user, const kry_iteration *it)
{
    kry_task *self = user;
    kry_task_progress_info *p = &self->progress;

    kry_tasks_lock();
    if (p->iteration == 0 || !(self->first_residual > 0)) self->first_residual = it->residual;
    p->iteration = it->iteration;
    p->residual = it->residual;
    p->target = it->target;
    double all = log(self->first_residual / it->target),
           got = log(self->first_residual / it->residual);
    if (all > 0 && got > p->fraction * all) p->fraction = got < all ? got / all : 1;
    kry_tasks_unlock();
    return self->cancelled;
}

static void observe(kry_device *dev, kry_observer *observer)
{
    dev->observer = observer;
    for (int i = 0; dev->team && i < dev->team->size; i++) dev->team->part[i]->observer = observer;
}

/* The solver owns the history, and overwrites it. */
static kry_status keep_result(kry_task *self, const kry_result *result)
{
    kry_status st = KRY_OK;
    kry_result *own = NULL;
    double *history = NULL;
    size_t count = result->history ? (size_t)result->history_count : 0;

    TRY(kry_alloc(1, sizeof *own, &own));
    TRY(kry_alloc(count, sizeof *history, &history));
    if (count) memcpy(history, result->history, count * sizeof *history);
    *own = *result;
    own->history = history;
    if (self->result) free((double *)self->result->history);
    free(self->result);
    self->result = own;
    own = NULL, history = NULL;
done:
    free(history);
    free(own);
    return st;
}

/* Column by column; the result is that of the first that did not converge, else of the last. */
static kry_status solve_columns(kry_task *self, const kry_op *solver, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK, worst = KRY_OK;
    kry_result result;

    CHECK(b->k == x->k, KRY_ERR_SHAPE, "kry_task_solve: b has %lld columns, the guess %lld",
          (long long)b->k, (long long)x->k);
    for (int64_t j = 0; j < b->k && !(worst && self->cancelled); j++) {
        kry_vec bj = kry_vec_column(b, j), xj = kry_vec_column(x, j);
        self->first_residual = 0;
        TRY(kry_solve(solver, &bj, &xj, &result));
        if (worst == KRY_OK) {
            worst = st;
            TRY(keep_result(self, &result));
        }
    }
done:
    return st < 0 ? st : worst;
}

static kry_status run_solve(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_work_device(self);
    kry_observer observer = { look, self };
    kry_op *solver;
    kry_vec *b, *guess, *x = NULL;

    TRY(kry_task_input_op(self, 0, &solver));
    TRY(kry_work_input(work, self, 1, &b));
    TRY(kry_work_input(work, self, 2, &guess));
    TRY(kry_work_vec(self, b->type, solver->shape.cols, b->k, &x));
    TRY(guess ? kry_vec_copy(guess, x) : kry_vec_fill(x, 0));
    observe(dev, &observer);
    st = solve_columns(self, solver, b, x);
    observe(dev, NULL);
done:
    return kry_work_give(self, st, &x);
}

kry_status kry_task_solve(kry_queue *queue, kry_task *solver, kry_task *b, kry_task *guess,
                          kry_task **task)
{
    return kry_work_submit("kry_task_solve", queue, &(kry_work){ .run = run_solve },
                           &(kry_work_inputs){ .task = { solver, b, guess }, .needed = 2 }, task);
}

static kry_status run_solver(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *A, *solver = NULL;

    TRY(kry_task_input_op(self, 0, &A));
    TRY(kry_solver_create(A, work->text, NULL, NULL, &solver));
    kry_task_set_op(self, solver);
done:
    kry_op_release(&solver);
    return st;
}

kry_status kry_task_solver(kry_queue *queue, kry_task *A, const char *options, kry_task **task)
{
    kry_work_inputs given = { .task = { A }, .needed = 1, .text = options ? options : "" };

    given.size = strlen(given.text) + 1;
    return kry_work_submit("kry_task_solver", queue, &(kry_work){ .run = run_solver }, &given,
                           task);
}
