/*
 * solve.c - preconditioners and deflation by kry's own words, and conjugate gradients as Octave's
 * pcg reports them.
 */
#include "kry_mex.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Input i as an operator: a stored matrix, or a dense one; retained. */
static kry_status matrix_of(kry_task *self, int i, bool dense, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_vec *A;
    kry_op *there;

    *op = NULL;
    if (dense) {
        TRY(kry_task_input_vec(self, i, &A));
        TRY(kry_dense_create(A, KRY_SYMMETRIC, op));
    } else {
        TRY(kry_task_input_op(self, i, &there));
        *op = kry_op_retain(there);
    }
done:
    return st;
}

static kry_status take_matrix(const mxArray *a, operand *o)
{
    kry_status st = KRY_OK;

    TRY(operand_look(a, o));
    CHECK(o->shape.rows == o->shape.cols, KRY_ERR_SHAPE, "kry: A must be square, not %lldx%lld",
          (long long)o->shape.rows, (long long)o->shape.cols);
    if (o->host) TRY(operand_load(o, o->shape.type));
done:
    return st;
}

/* ---- preconditioners and deflation ---- */

typedef struct precond_params {
    bool dense, vectors;
    char word[256];
} precond_params;

static kry_status run_precond(void *params, kry_task *self)
{
    const precond_params *p = params;
    kry_status st = KRY_OK;
    kry_op *A = NULL, *M = NULL;

    TRY(matrix_of(self, 0, p->dense, &A));
    TRY(kry_precond_create(A, p->word, &M));
    CHECK(M, KRY_ERR_PARSE, "kry_precond: '%s' is none", p->word);
    kry_task_set_op(self, M);
done:
    kry_op_release(&M);
    kry_op_release(&A);
    return st;
}

static kry_status run_deflation(void *params, kry_task *self)
{
    const precond_params *p = params;
    kry_status st = KRY_OK;
    kry_op *A = NULL, *D = NULL;
    kry_deflation_params how = *KRY_DEFLATION(.stripes = 0);
    char room[256];
    kry_vec *Z;

    TRY(matrix_of(self, 0, p->dense, &A));
    if (p->vectors) {
        TRY(kry_task_input_vec(self, 1, &Z));
        how.vectors = Z;
    } else {
        TRY(kry_deflation_parse(p->word, room, sizeof room, &how));
    }
    TRY(kry_deflation_create(A, &how, &D));
    kry_task_set_op(self, D);
done:
    kry_op_release(&D);
    kry_op_release(&A);
    return st;
}

static kry_status make(call *c, job_fn *run, kind kind, const operand *A, kry_task *const *inputs,
                       int count, const precond_params *p)
{
    kry_status st = KRY_OK;
    kry_task *task = NULL;
    shape s = { .kind = kind, .type = A->shape.type, .rows = A->shape.rows, .cols = A->shape.cols };

    TRY(submit(kind == PRECOND ? "preconditioner" : "deflation", run, p, sizeof *p, inputs, count,
               &task));
    TRY(wait_for(task)); /* for words that are none, and matrices that do not suit */
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

/* kry_mex ('precond', A, word). Waits. */
kry_status command_precond(call *c)
{
    kry_status st = KRY_OK;
    operand A = { 0 };
    precond_params p = { 0 };

    TRY(take_count(c, 2, 2));
    TRY(take_text(c->in[1], "kry_precond: the kind", p.word, sizeof p.word));
    TRY(take_matrix(c->in[0], &A));
    p.dense = A.shape.kind == DENSE;
    TRY(make(c, run_precond, PRECOND, &A, &A.task, 1, &p));
done:
    operand_drop(&A);
    return st;
}

/* kry_mex ('deflation', A, word), or with the vectors, n-by-k. Waits. */
kry_status command_deflation(call *c)
{
    kry_status st = KRY_OK;
    operand A = { 0 }, Z = { 0 };
    precond_params p = { 0 };

    TRY(take_count(c, 2, 2));
    p.vectors = !mxIsChar(c->in[1]);
    TRY(take_matrix(c->in[0], &A));
    p.dense = A.shape.kind == DENSE;
    if (p.vectors) {
        TRY(operand_look(c->in[1], &Z));
        CHECK(Z.shape.kind == DENSE && Z.shape.rows == A.shape.rows, KRY_ERR_SHAPE,
              "kry_precond: deflation vectors must be a dense matrix of %lld rows, not %lldx%lld",
              (long long)A.shape.rows, (long long)Z.shape.rows, (long long)Z.shape.cols);
        TRY(operand_load(&Z, A.shape.type));
    } else {
        TRY(take_text(c->in[1], "kry_precond: deflation", p.word, sizeof p.word));
    }
    kry_task *const inputs[] = { A.task, Z.task };
    TRY(make(c, run_deflation, DEFLATION, &A, inputs, p.vectors ? 2 : 1, &p));
done:
    operand_drop(&A);
    operand_drop(&Z);
    return st;
}

static kry_status run_operator(void *params, kry_task *self)
{
    const shape *p = params;
    kry_status st = KRY_OK;
    kry_op *M;
    kry_vec *r, *z = NULL;

    TRY(kry_task_input_op(self, 0, &M));
    TRY(kry_task_input_vec(self, 1, &r));
    TRY(vec_of(the_device(), p->type, p->rows, p->cols, &z));
    if (p->rows > 0 && p->cols > 0) TRY(kry_op_apply(M, 1, r, 0, z));
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* kry_mex ('apply', M, r): what a preconditioner makes of r */
kry_status command_apply(call *c)
{
    kry_status st = KRY_OK;
    value *M;
    operand r = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 2, 2));
    TRY(value_find(c->in[0], &M));
    CHECK(M->shape.kind >= FACTORS, KRY_ERR_TYPE, "kry_mex: a preconditioner is wanted");
    TRY(operand_look(c->in[1], &r));
    CHECK(r.shape.kind == DENSE && r.shape.rows == M->shape.cols, KRY_ERR_SHAPE,
          "kryPrecond: operator \\: sizes do not agree: %lldx%lld and %lldx%lld",
          (long long)M->shape.rows, (long long)M->shape.cols, (long long)r.shape.rows,
          (long long)r.shape.cols);
    TRY(operand_load(&r, M->shape.type));
    kry_task *const inputs[] = { M->task, r.task };
    TRY(submit("preconditioning", run_operator, &r.shape, sizeof r.shape, inputs, 2, &task));
    TRY(value_keep(&r.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&r);
    return st;
}

/* ---- conjugate gradients ---- */

enum { IN_A, IN_B, IN_X0, IN_M, IN_D, IN_COUNT };

/* Shared with the thread that waits; it stays until the task has ended. */
typedef struct pcg_report {
    kry_result result;
    /* Owned. Residuals of the recurrence, one at least; that of iteration `best`, of which x is returned, is ||b - A x||. */
    double *history;
    int64_t count, best;
} pcg_report;

typedef struct pcg_params {
    bool dense;
    int at[IN_COUNT]; /* which input; -1: none */
    double tol;
    int64_t max_iter;
    bool backward; /* tol is of ||A|| ||x|| + ||b||, not of ||b|| */
    pcg_report *report;
} pcg_params;

static int watch(void *user, const kry_iteration *it)
{
    (void)it;
    return kry_task_is_cancelled(user);
}

static kry_status keep_history(const kry_result *result, pcg_report *report)
{
    kry_status st = KRY_OK;

    report->result = *result;
    report->count = result->history_count ? result->history_count : 1;
    report->history = malloc((size_t)report->count * sizeof *report->history);
    CHECK(report->history, KRY_ERR_MEMORY, "kry_pcg: no memory for the history");
    report->history[0] = result->true_residual; /* of a guess that is good enough */
    if (result->history_count)
        memcpy(report->history, result->history, (size_t)report->count * sizeof *report->history);
    for (int64_t k = 1; k < report->count; k++)
        if (report->history[k] <= report->history[report->best]) report->best = k;
done:
    return st;
}

/* What a solve is made of, on the queue's thread. */
typedef struct system_parts {
    kry_op *A, *M, *D; /* A retained, the others borrowed */
    kry_vec *b, *x0;   /* borrowed */
} system_parts;

static kry_status take_parts(const pcg_params *p, kry_task *self, system_parts *s)
{
    kry_status st = KRY_OK;

    *s = (system_parts){ 0 };
    TRY(matrix_of(self, p->at[IN_A], p->dense, &s->A));
    TRY(kry_task_input_vec(self, p->at[IN_B], &s->b));
    if (p->at[IN_X0] >= 0) TRY(kry_task_input_vec(self, p->at[IN_X0], &s->x0));
    if (p->at[IN_M] >= 0) TRY(kry_task_input_op(self, p->at[IN_M], &s->M));
    if (p->at[IN_D] >= 0) TRY(kry_task_input_op(self, p->at[IN_D], &s->D));
done:
    return st;
}

static kry_status start_from(const system_parts *s, kry_vec *x)
{
    return s->x0 ? kry_vec_copy(s->x0, x) : kry_vec_fill(x, 0);
}

static kry_status solve(const system_parts *s, const kry_stop *stop, kry_task *self, kry_vec *x,
                        kry_result *result, pcg_report *report)
{
    kry_status st = KRY_OK, end;
    kry_op *solver = NULL;

    TRY(start_from(s, x));
    TRY(kry_pcg_create(s->A,
                       KRY_PCG(.precond = s->M, .deflation = s->D, .stop = *stop, .monitor = watch,
                               .monitor_user = self, .check = KRY_CHECK_NONE),
                       &solver));
    TRY(end = kry_solve(solver, s->b, x, result));
    CHECK(end != KRY_STOPPED, KRY_ERR_CANCELLED, "kry_pcg: interrupted");
    if (report) TRY(keep_history(result, report));
done:
    kry_op_release(&solver);
    return st;
}

/* Octave hands back the iterate of the least residual: where that is not the last one, the same
 * iterations once more, and no further. */
static kry_status run_pcg(void *params, kry_task *self)
{
    const pcg_params *p = params;
    kry_status st = KRY_OK;
    pcg_report *r = p->report;
    system_parts s = { 0 };
    kry_vec *x = NULL;
    kry_result result;
    double norm_b = 0;

    TRY(take_parts(p, self, &s));
    TRY(kry_vec_create(the_device(), kry_vec_type(s.b), kry_vec_rows(s.b), 1, &x));
    TRY(kry_vec_norm2(s.b, &norm_b));
    const double target = p->tol * norm_b; /* absolute, so that any tolerance can be asked for */
    kry_stop stop = { .atol = target > 0 ? target : DBL_MIN, .max_iter = p->max_iter };
    if (p->backward)
        stop = (kry_stop){ .rtol = p->tol, .max_iter = p->max_iter, .test = KRY_STOP_BACKWARD };
    TRY(solve(&s, &stop, self, x, &result, r));
    bool last = r->best == r->count - 1 || result.reason <= KRY_CONVERGED_ZERO;
    if (!last && r->best == 0) {
        TRY(start_from(&s, x));
    } else {
        stop.max_iter = r->best;
        if (!last) TRY(solve(&s, &stop, self, x, &result, NULL));
        r->history[r->best] = result.true_residual;
    }
    kry_task_set_vec(self, x);
done:
    kry_vec_release(&x);
    kry_op_release(&s.A);
    return st;
}

static int flag_of(kry_reason reason)
{
    switch (reason) {
    case KRY_CONVERGED:
    case KRY_CONVERGED_GUESS:
    case KRY_CONVERGED_ZERO: return 0;
    case KRY_TRUE_RESIDUAL_STAGNATED: return 3;
    case KRY_INDEFINITE_MATRIX:
    case KRY_INDEFINITE_PRECOND: return 4;
    default: return 1;
    }
}

/* [x, flag, relres, iter, resvec, why] */
static kry_status report_out(call *c, const pcg_report *r, const shape *s, kry_task **task)
{
    kry_status st = KRY_OK;
    const double norm_b = r->result.norm_b;

    TRY(value_keep(s, task, &c->out[0]));
    if (c->out_count > 1) c->out[1] = mxCreateDoubleScalar(flag_of(r->result.reason));
    if (c->out_count > 2)
        c->out[2] = mxCreateDoubleScalar(norm_b > 0 ? r->history[r->best] / norm_b : 0);
    if (c->out_count > 3) c->out[3] = mxCreateDoubleScalar((double)r->best);
    if (c->out_count > 4) {
        c->out[4] = mxCreateDoubleMatrix((mwSize)r->count, 1, mxREAL);
        for (int64_t k = 0; k < r->count; k++) mxGetPr(c->out[4])[k] = r->history[k];
    }
    if (c->out_count > 5) c->out[5] = mxCreateString(r->result.why);
done:
    return st;
}

/* An optional handle of an operator: [] is none */
static kry_status take_operator(const mxArray *a, kind wanted, int64_t n, kry_type type,
                                kry_task **task)
{
    kry_status st = KRY_OK;
    value *v;

    *task = NULL;
    if (mxIsEmpty(a)) return KRY_OK;
    TRY(value_find(a, &v));
    CHECK(v->shape.kind == wanted || (wanted == PRECOND && v->shape.kind == FACTORS), KRY_ERR_TYPE,
          "kry_pcg: that is no %s", wanted == PRECOND ? "preconditioner" : "deflation");
    CHECK(v->shape.rows == n, KRY_ERR_SHAPE,
          "kry_pcg: a preconditioner for %lld unknowns, A has %lld", (long long)v->shape.rows,
          (long long)n);
    CHECK(v->shape.type == type, KRY_ERR_TYPE,
          "kry_pcg: the preconditioner is in %s, the rest in %s", kry_type_name(v->shape.type),
          kry_type_name(type));
    *task = v->task;
done:
    return st;
}

static kry_status check_vector(const operand *v, const char *name, int64_t n)
{
    if (v->shape.kind == DENSE && v->shape.rows == n && v->shape.cols == 1) return KRY_OK;
    return kry_fail(KRY_ERR_SHAPE, "kry_pcg: %s must be a column of %lld numbers, not %lldx%lld",
                    name, (long long)n, (long long)v->shape.rows, (long long)v->shape.cols);
}

/* The inputs that there are, in a row. */
static int line_up(kry_task *const *all, kry_task **inputs, int *at)
{
    int count = 0;
    for (int i = 0; i < IN_COUNT; i++) {
        at[i] = all[i] ? count : -1;
        if (all[i]) inputs[count++] = all[i];
    }
    return count;
}

/* kry_mex ('pcg', A, b, x0, tol, maxit, M, deflation, backward); x0, M and deflation may be []; maxit >= 1;
 * backward, if given: the test is KRY_STOP_BACKWARD. Waits. */
kry_status command_pcg(call *c)
{
    kry_status st = KRY_OK;
    operand A = { 0 }, b = { 0 }, x0 = { 0 };
    kry_task *task = NULL, *M = NULL, *D = NULL, *inputs[IN_COUNT];
    pcg_report report = { 0 };
    pcg_params p = { .report = &report };
    double max_iter;

    TRY(take_count(c, 7, 8));
    p.backward = c->in_count == 8;
    TRY(take_matrix(c->in[0], &A));
    int64_t n = A.shape.rows;
    kry_type type = A.shape.type;
    TRY(operand_look(c->in[1], &b));
    TRY(check_vector(&b, "b", n));
    TRY(operand_load(&b, type));
    if (!mxIsEmpty(c->in[2])) {
        TRY(operand_look(c->in[2], &x0));
        TRY(check_vector(&x0, "x0", n));
        TRY(operand_load(&x0, type));
    }
    TRY(take_number(c->in[3], "kry_pcg: tol", &p.tol));
    TRY(take_number(c->in[4], "kry_pcg: maxit", &max_iter));
    TRY(take_operator(c->in[5], PRECOND, n, type, &M));
    TRY(take_operator(c->in[6], DEFLATION, n, type, &D));
    CHECK(max_iter >= 1 && max_iter < 1e15, KRY_ERR_ARGUMENT, "kry_pcg: maxit = %g", max_iter);
    p.dense = A.shape.kind == DENSE;
    p.max_iter = (int64_t)max_iter;
    kry_task *const all[] = { A.task, b.task, x0.task, M, D };
    int count = line_up(all, inputs, p.at);
    TRY(submit("pcg", run_pcg, &p, sizeof p, inputs, count, &task));
    TRY(wait_for(task));
    shape s = { .kind = DENSE, .type = type, .rows = n, .cols = 1 };
    TRY(report_out(c, &report, &s, &task));
done:
    kry_task_release(&task);
    free(report.history);
    operand_drop(&A);
    operand_drop(&b);
    operand_drop(&x0);
    return st;
}
