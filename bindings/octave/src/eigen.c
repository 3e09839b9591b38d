/*
 * eigen.c - eigenvalues of symmetric matrices, by LOBPCG with a preconditioner and by Lanczos without.
 */
#include "kry_mex.h"
#include <kry/eigenvalues.h>
#include <string.h>

enum { IN_A, IN_B, IN_M, IN_COUNT };

/* `result` is shared with the thread that waits; it stays until the task has ended. */
typedef struct eigen_params {
    int at[IN_COUNT]; /* which input; -1: none */
    int64_t count, max_iter;
    bool largest, nearest;
    double sigma, tol;
    int basis;
    kry_status *end;
    kry_eigen_result *result;
} eigen_params;

static int watch(void *user, const kry_eigen_step *step)
{
    (void)step;
    return kry_task_is_cancelled(user);
}

static kry_status run_eigen(void *params, kry_task *self)
{
    const eigen_params *p = params;
    kry_status st = KRY_OK;
    kry_op *op[IN_COUNT] = { NULL };
    kry_vec *X = NULL;

    for (int i = 0; i < IN_COUNT; i++)
        if (p->at[i] >= 0) TRY(kry_task_input_op(self, p->at[i], &op[i]));
    const kry_op_shape *shape = kry_op_get_shape(op[IN_A]);
    TRY(kry_vec_create(the_device(), shape->type, shape->rows, p->count, &X));
    TRY(*p->end = kry_eigen(op[IN_A],
                            KRY_EIGEN(.B = op[IN_B], .precond = op[IN_M], .largest = p->largest,
                                      .nearest = p->nearest, .sigma = p->sigma, .rtol = p->tol,
                                      .max_iter = p->max_iter, .basis = p->basis,
                                      .method = op[IN_M] ? "lobpcg" : "lanczos", .monitor = watch,
                                      .monitor_user = self),
                            X, p->result));
    CHECK(*p->end != KRY_STOPPED, KRY_ERR_CANCELLED, "kry_eigs: interrupted");
    kry_task_set_vec(self, X);
done:
    kry_vec_release(&X);
    return st;
}

/* The matrix A, or one as large and of its type. */
static kry_status take_square(const mxArray *a, const char *name, const operand *A, operand *o)
{
    kry_status st = KRY_OK;

    TRY(operand_look(a, o));
    CHECK(o->shape.kind == SPARSE && o->shape.rows == o->shape.cols, KRY_ERR_SHAPE,
          "kry_eigs: %s must be a square sparse matrix, and it is %lldx%lld", name,
          (long long)o->shape.rows, (long long)o->shape.cols);
    CHECK(!A || o->shape.rows == A->shape.rows, KRY_ERR_SHAPE, "kry_eigs: A has %lld rows, %s %lld",
          A ? (long long)A->shape.rows : 0, name, (long long)o->shape.rows);
    TRY(operand_load(o, A ? A->shape.type : o->shape.type));
done:
    return st;
}

static kry_status take_preconditioner(const mxArray *a, const operand *A, kry_task **task)
{
    kry_status st = KRY_OK;
    value *v;

    if (mxIsEmpty(a)) return KRY_OK;
    TRY(value_find(a, &v));
    CHECK(v->shape.kind == PRECOND && v->shape.rows == A->shape.rows &&
              v->shape.type == A->shape.type,
          KRY_ERR_TYPE, "kry_eigs: M is no preconditioner of a matrix such as A");
    *task = v->task;
done:
    return st;
}

static kry_status take_settings(call *c, eigen_params *p)
{
    kry_status st = KRY_OK;
    char which[8];
    double count, max_iter, basis;

    TRY(take_number(c->in[3], "kry_eigs: k", &count));
    TRY(take_text(c->in[4], "kry_eigs: sigma", which, sizeof which));
    TRY(take_number(c->in[5], "kry_eigs: sigma", &p->sigma));
    TRY(take_number(c->in[6], "kry_eigs: tol", &p->tol));
    TRY(take_number(c->in[7], "kry_eigs: maxit", &max_iter));
    TRY(take_number(c->in[8], "kry_eigs: p", &basis));
    CHECK(count >= 1 && count <= KRY_EIGEN_MOST, KRY_ERR_ARGUMENT, "kry_eigs: k is %g, not 1 to %d",
          count, KRY_EIGEN_MOST);
    CHECK(max_iter >= 0 && max_iter < 1e15, KRY_ERR_ARGUMENT, "kry_eigs: maxit = %g", max_iter);
    CHECK(basis >= 0 && basis < 1e9, KRY_ERR_ARGUMENT, "kry_eigs: p = %g", basis);
    p->count = (int64_t)count, p->max_iter = (int64_t)max_iter, p->basis = (int)basis;
    p->largest = !strcmp(which, "la"), p->nearest = !strcmp(which, "near");
done:
    return st;
}

/* [V, values, flag, why] = kry_mex ('eigen', A, B, M, k, 'la'|'sa'|'near', sigma, tol, maxit, p): A and B sparse;
 * B and M may be [], and tol, maxit and p 0. Waits. */
kry_status command_eigen(call *c)
{
    kry_status st = KRY_OK, end = KRY_OK;
    operand A = { 0 }, B = { 0 };
    kry_task *task = NULL, *M = NULL, *inputs[IN_COUNT];
    kry_eigen_result result = { 0 };
    eigen_params p = { .end = &end, .result = &result };
    int count = 0;

    TRY(take_count(c, 9, 9));
    TRY(take_square(c->in[0], "A", NULL, &A));
    if (!mxIsEmpty(c->in[1])) TRY(take_square(c->in[1], "B", &A, &B));
    TRY(take_preconditioner(c->in[2], &A, &M));
    TRY(take_settings(c, &p));
    kry_task *const all[] = { A.task, B.task, M };
    for (int i = 0; i < IN_COUNT; i++) {
        p.at[i] = all[i] ? count : -1;
        if (all[i]) inputs[count++] = all[i];
    }
    TRY(submit("eigenvalues", run_eigen, &p, sizeof p, inputs, count, &task));
    TRY(wait_for(task));
    const shape s = { .kind = DENSE, .type = A.shape.type, .rows = A.shape.rows, .cols = p.count };
    TRY(value_keep(&s, &task, &c->out[0]));
    if (c->out_count > 1) {
        c->out[1] = mxCreateDoubleMatrix((mwSize)p.count, 1, mxREAL);
        for (int64_t j = 0; j < p.count; j++) mxGetPr(c->out[1])[j] = result.value[j];
    }
    if (c->out_count > 2) c->out[2] = mxCreateDoubleScalar(end != KRY_OK);
    if (c->out_count > 3) c->out[3] = mxCreateString(result.why);
done:
    kry_task_release(&task);
    operand_drop(&A), operand_drop(&B);
    return st;
}
