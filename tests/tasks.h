/* tasks.h - what the tests of background work share: gates that jobs wait at, waits that end, and
 * a small system to solve. */
#ifndef KRY_TEST_TASKS_H
#define KRY_TEST_TASKS_H

#include "teams.h"
#include <kry/problem.h>
#include <kry/queue.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 800 }; /* seconds; nothing here takes long, but machines may be busy */

/* A door that jobs wait behind: tests decide by it what runs when, not by the clock. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int arrived, destroyed;
} gate;

MAYBE_UNUSED static void gate_init(gate *g)
{
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

MAYBE_UNUSED static void gate_destroy(gate *g)
{
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
}

MAYBE_UNUSED static struct timespec deadline(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += PATIENCE;
    return t;
}

/* Wait until it is open, or `arrived` have come to it; false: nobody came in all that time. */
MAYBE_UNUSED static bool gate_wait(gate *g, int arrived)
{
    struct timespec until = deadline();
    int err = 0;

    pthread_mutex_lock(&g->lock);
    while (!err && (arrived ? g->arrived < arrived : !g->open))
        err = pthread_cond_timedwait(&g->changed, &g->lock, &until);
    pthread_mutex_unlock(&g->lock);
    return err == 0;
}

MAYBE_UNUSED static void gate_open(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

MAYBE_UNUSED static void gate_arrive(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->arrived++;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* Jobs: say that they have begun, and wait until the gate is open, or they are cancelled. */
MAYBE_UNUSED static kry_status at_gate(void *user, kry_task *self)
{
    gate *g = user;
    gate_arrive(g);
    while (!kry_task_is_cancelled(self)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000;
        if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
        pthread_mutex_lock(&g->lock);
        if (!g->open) pthread_cond_timedwait(&g->changed, &g->lock, &until);
        bool open = g->open;
        pthread_mutex_unlock(&g->lock);
        if (open) return KRY_OK;
    }
    return KRY_STOPPED;
}

MAYBE_UNUSED static void gate_forget(void *user)
{
    gate *g = user;
    pthread_mutex_lock(&g->lock);
    g->destroyed++;
    pthread_mutex_unlock(&g->lock);
}

MAYBE_UNUSED static kry_task *gate_job(kry_queue *q, gate *g, kry_task *const *inputs, int count)
{
    kry_task *t;
    OK(kry_task_submit(q,
                       KRY_JOB(.name = "gate", .run = at_gate, .destroy = gate_forget, .user = g),
                       inputs, count, &t));
    return t;
}

/* kry_task_wait, but a test never hangs. */
MAYBE_UNUSED static kry_status wait_for(kry_task *t)
{
    bool ended;
    kry_status st = kry_task_wait_for(t, PATIENCE, &ended);
    if (!ended)
        fail_msg("'%s' did not end in %d s: %s", kry_task_name(t), PATIENCE, kry_last_error());
    return st;
}

MAYBE_UNUSED static kry_queue *queue_of(kry_device *dev)
{
    kry_queue *q;
    OK(kry_queue_create(dev, NULL, &q));
    return q;
}

/* Queues of test_queues of their own on the device there is. */
MAYBE_UNUSED static kry_device *another_device(void)
{
    kry_device *dev;
    OK(kry_device_open(NULL, &dev));
    return dev;
}

MAYBE_UNUSED static kry_task *task_with(kry_vec *v)
{
    kry_task *t;
    OK(kry_task_of_vec(v, &t));
    return t;
}

MAYBE_UNUSED static kry_task *task_of(kry_op *op)
{
    kry_task *t;
    OK(kry_task_of_op(op, &t));
    return t;
}

/* The numbers that a task comes to, read in its queue; to be freed. */
MAYBE_UNUSED static double *numbers_from(kry_queue *q, kry_task *x, kry_type type, int64_t n)
{
    kry_task *t;
    void *host = calloc((size_t)n + 1, kry_type_size(type));
    double *out = calloc((size_t)n + 1, sizeof *out);

    OK(kry_task_read(q, x, host, &t));
    OK(wait_for(t));
    for (int64_t i = 0; i < n; i++) out[i] = at(type, host, i);
    free(host);
    kry_task_release(&t);
    return out;
}

/* Jobs of a batch: the norm of nine 2s, each to its place. */
MAYBE_UNUSED static kry_status norms_of_twos(void *user, int queue, kry_device *dev, int64_t first,
                                             int64_t count)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;
    double *norm = user;

    (void)queue;
    TRY(kry_vec_create(dev, KRY_F32, 9, 1, &v));
    TRY(kry_vec_fill(v, 2));
    for (int64_t i = first; i < first + count; i++) TRY(kry_vec_norm2(v, &norm[i]));
done:
    kry_vec_release(&v);
    return st;
}

/* ---- dense matrices: jobs of the caller's, of the kind that docs/in-programs.md shows ---- */

/* The value: LU factors of input 0. user: kry_lu_params, NULL: the defaults. */
MAYBE_UNUSED static kry_status factor_job(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A;
    kry_op *lu = NULL;

    TRY(kry_task_input_vec(self, 0, &A));
    TRY(kry_lu_create(A, user, &lu));
    kry_task_set_op(self, lu);
done:
    kry_op_release(&lu);
    return st;
}

/* The value: X with A X = B, A' X = B if user is not NULL; inputs: factors of A, and B. */
MAYBE_UNUSED static kry_status factors_solve_job(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *lu;
    kry_vec *B, *X = NULL;

    TRY(kry_task_input_op(self, 0, &lu));
    TRY(kry_task_input_vec(self, 1, &B));
    TRY(kry_vec_create(kry_vec_device(B), kry_vec_type(B), kry_vec_rows(B), kry_vec_cols(B), &X));
    TRY(kry_lu_solve(lu, user != NULL, B, X));
    kry_task_set_vec(self, X);
done:
    kry_vec_release(&X);
    return st;
}

/* The value: the inverse of input 0. user: as of factor_job. */
MAYBE_UNUSED static kry_status inverse_job(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A, *inverse = NULL;

    TRY(kry_task_input_vec(self, 0, &A));
    TRY(kry_vec_create(kry_vec_device(A), kry_vec_type(A), kry_vec_rows(A), kry_vec_cols(A),
                       &inverse));
    TRY(kry_vec_inverse(A, user, inverse));
    kry_task_set_vec(self, inverse);
done:
    kry_vec_release(&inverse);
    return st;
}

/* The value: the product of inputs 0 and 1, square matrices. */
MAYBE_UNUSED static kry_status product_job(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A, *B, *P = NULL;

    (void)user;
    TRY(kry_task_input_vec(self, 0, &A));
    TRY(kry_task_input_vec(self, 1, &B));
    TRY(kry_vec_create(kry_vec_device(A), kry_vec_type(A), kry_vec_rows(A), kry_vec_cols(B), &P));
    TRY(kry_vec_gemm(false, false, 1, A, B, 0, P));
    kry_task_set_vec(self, P);
done:
    kry_vec_release(&P);
    return st;
}

/* The value: a x + b y; inputs: x and, if there is one, y; user: a, b, and how many inputs. */
MAYBE_UNUSED static kry_status axpby_job(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    const double *factor = user;
    kry_vec *x, *y, *z = NULL;

    TRY(kry_task_input_vec(self, 0, &x));
    TRY(kry_vec_create(kry_vec_device(x), kry_vec_type(x), kry_vec_rows(x), kry_vec_cols(x), &z));
    if (factor[2] > 1) {
        TRY(kry_task_input_vec(self, 1, &y));
        TRY(kry_vec_copy(y, z));
    }
    TRY(kry_vec_axpby(factor[0], x, factor[2] > 1 ? factor[1] : 0, z));
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* y NULL: alpha x */
MAYBE_UNUSED static kry_status task_axpby(kry_queue *q, double alpha, kry_task *x, double beta,
                                          kry_task *y, kry_task **task)
{
    kry_task *inputs[] = { x, y };
    double *factor = malloc(3 * sizeof *factor);
    factor[0] = alpha, factor[1] = beta, factor[2] = y ? 2 : 1;
    kry_status st = kry_task_submit(
        q, KRY_JOB(.name = "axpby", .run = axpby_job, .destroy = free, .user = factor), inputs,
        y ? 2 : 1, task);
    if (st < 0) free(factor);
    return st;
}

/* A copy, on the device of this queue. */
MAYBE_UNUSED static kry_status task_copy(kry_queue *q, kry_task *x, kry_task **task)
{
    return task_axpby(q, 1, x, 0, NULL, task);
}

MAYBE_UNUSED static kry_status norm2_job(void *user, kry_task *self)
{
    kry_vec *x;
    double number;
    kry_status st = kry_task_input_vec(self, 0, &x);

    (void)user;
    if (st >= 0) st = kry_vec_norm2(x, &number);
    if (st >= 0) kry_task_set_number(self, number);
    return st;
}

MAYBE_UNUSED static kry_status task_norm2(kry_queue *q, kry_task *x, kry_task **task)
{
    return kry_task_submit(q, KRY_JOB(.name = "norm2", .run = norm2_job), &x, 1, task);
}

/* Submit one of the jobs above on dense matrices; inputs up to the first NULL. */
MAYBE_UNUSED static kry_status dense_task(kry_queue *q, kry_status (*run)(void *, kry_task *),
                                          const void *user, kry_task *a, kry_task *b,
                                          kry_task **task)
{
    kry_task *inputs[] = { a, b };
    const char *name = run == factor_job          ? "lu"
                       : run == factors_solve_job ? "lu_solve"
                       : run == inverse_job       ? "inverse"
                                                  : "gemm";
    return kry_task_submit(q, KRY_JOB(.name = name, .run = run, .user = (void *)user), inputs,
                           b ? 2 : 1, task);
}

/* ---- a small system ---- */

MAYBE_UNUSED static kry_op *matrix_for(kry_device *dev, kry_type type, const char *spec,
                                       kry_problem **p)
{
    kry_op *A;
    OK(kry_problem_create(spec, 1, p));
    A = matrix_on(dev, type, *p, KRY_MATRIX(.traits = KRY_POSITIVE));
    return A;
}

/* By launches, for a persistent kernel has solved such a system before the monitor is asked. */
MAYBE_UNUSED static kry_task *solver_task(kry_op *A, kry_monitor monitor, void *user)
{
    kry_op *solver;
    kry_task *t;
    OK(kry_pcg_create(
        A, KRY_PCG(.monitor = monitor, .monitor_user = user, .resident = KRY_RESIDENT_OFF),
        &solver));
    t = task_of(solver);
    kry_op_release(&solver);
    return t;
}

MAYBE_UNUSED static kry_task *written(kry_queue *q, kry_type type, const void *numbers, int64_t n,
                                      kry_task *after)
{
    kry_task *t;
    OK(kry_task_write(q, KRY_HOST(.type = type, .n = n, .numbers = numbers, .after = after), &t));
    return t;
}

MAYBE_UNUSED static kry_status nothing(void *user, kry_task *self)
{
    (void)user;
    (void)self;
    return KRY_OK;
}

MAYBE_UNUSED static void check_solution(const kry_problem *p, const double *x, const kry_result *r)
{
    double norm = 0;
    for (int64_t i = 0; i < p->n; i++) {
        double ri = p->rhs[i];
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) ri -= p->val[k] * x[p->col[k]];
        norm += ri * ri;
    }
    NEAR(sqrt(norm), 0, 2 * r->target, "residual");
}

#endif
