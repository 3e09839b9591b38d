/*
 * products.c - A B, A', x'y and norms.
 */
#include "kry_mex.h"
#include <kry/opencl.h>

typedef struct product_params {
    kry_type type;
    int64_t m, n, inner;
} product_params;

/* A matrix times a vector goes through an operator, which reads the matrix once. */
static kry_status multiply(const product_params *p, const kry_vec *A, const kry_vec *B, kry_vec *C)
{
    kry_status st = KRY_OK;
    kry_op *op = NULL;

    if (p->n > 1 || p->m == 1) return kry_vec_gemm(false, false, 1, A, B, 0, C);
    TRY(kry_dense_create(A, 0, &op));
    TRY(kry_op_apply(op, 1, B, 0, C));
done:
    kry_op_release(&op);
    return st;
}

static kry_status run_product(void *params, kry_task *self)
{
    const product_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *A, *B, *C = NULL;

    TRY(vec_of(the_device(), p->type, p->m, p->n, &C));
    if (p->m > 0 && p->n > 0 && p->inner > 0) {
        TRY(kry_task_input_vec(self, 0, &A));
        TRY(kry_task_input_vec(self, 1, &B));
        TRY(multiply(p, A, B, C));
    }
    kry_task_set_vec(self, C);
done:
    kry_vec_release(&C);
    return st;
}

static kry_status run_apply(void *params, kry_task *self)
{
    const product_params *p = params;
    kry_status st = KRY_OK;
    kry_op *A;
    kry_vec *B, *C = NULL;

    TRY(vec_of(the_device(), p->type, p->m, p->n, &C));
    if (p->m > 0 && p->n > 0 && p->inner > 0) {
        TRY(kry_task_input_op(self, 0, &A));
        TRY(kry_task_input_vec(self, 1, &B));
        TRY(kry_op_apply(A, 1, B, 0, C));
    }
    kry_task_set_vec(self, C);
done:
    kry_vec_release(&C);
    return st;
}

static kry_status product(call *c, operand *a, operand *b)
{
    kry_status st = KRY_OK;
    bool sparse = a->shape.kind == SPARSE;
    product_params p = { .type = sparse && a->task ? a->shape.type : type_of_both(a, b),
                         .m = a->shape.rows,
                         .n = b->shape.cols,
                         .inner = a->shape.cols };
    kry_task *task = NULL;

    CHECK(a->shape.cols == b->shape.rows, KRY_ERR_SHAPE,
          "gpuMatrix: operator *: sizes do not agree: %lldx%lld times %lldx%lld",
          (long long)a->shape.rows, (long long)a->shape.cols, (long long)b->shape.rows,
          (long long)b->shape.cols);
    TRY(operand_load(a, p.type));
    TRY(operand_load(b, p.type));
    kry_task *const inputs[] = { a->task, b->task };
    TRY(submit("product", sparse ? run_apply : run_product, &p, sizeof p, inputs, 2, &task));
    shape s = { .kind = DENSE, .type = p.type, .rows = p.m, .cols = p.n };
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

static bool is_scalar(const operand *o) { return o->shape.rows == 1 && o->shape.cols == 1; }

/* kry_mex ('mtimes', a, b), or with true behind them: leave_to_host */
kry_status command_mtimes(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, b = { 0 };
    kry_task *task = NULL;
    shape s;

    TRY(take_count(c, 2, 3));
    TRY(operand_look(c->in[0], &a));
    TRY(operand_look(c->in[1], &b));
    bool scale = is_scalar(&a) || is_scalar(&b);
    if ((b.shape.kind == SPARSE && a.shape.cols == b.shape.rows) ||
        (scale && (a.shape.kind == SPARSE || b.shape.kind == SPARSE))) {
        TRY(leave_to_host(c));
    } else if (scale) {
        TRY(elements(ELEMENT_TIMES, &a, &b, &s, &task));
        TRY(value_keep(&s, &task, &c->out[0]));
    } else {
        TRY(product(c, &a, &b));
    }
done:
    kry_task_release(&task);
    operand_drop(&a);
    operand_drop(&b);
    return st;
}

static kry_status run_transpose(void *params, kry_task *self)
{
    const shape *p = params; /* of the result */
    kry_status st = KRY_OK;
    kry_vec *A, *At = NULL;

    TRY(vec_of(the_device(), p->type, p->rows, p->cols, &At));
    if (p->rows > 0 && p->cols > 0) {
        TRY(kry_task_input_vec(self, 0, &A));
        TRY(kry_vec_transpose(A, At));
    }
    kry_task_set_vec(self, At);
done:
    kry_vec_release(&At);
    return st;
}

/* kry_mex ('transpose', h); 0: by the host. A symmetric one is its own. */
kry_status command_transpose(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.task, KRY_ERR_TYPE, "transpose: not a gpuMatrix");
    shape s = a.shape;
    if (s.kind == SPARSE && !s.symmetric) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    s.rows = a.shape.cols, s.cols = a.shape.rows;
    if (s.kind == SPARSE)
        task = kry_task_retain(a.task);
    else
        TRY(submit("transpose", run_transpose, &s, sizeof s, &a.task, 1, &task));
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    return st;
}

/* ---- numbers for the host ---- */

static kry_status run_dot(void *params, kry_task *self)
{
    const int *inputs = params;
    kry_status st = KRY_OK;
    kry_vec *x, *y, *like = NULL;
    double number = 0;
    int64_t first;

    TRY(kry_task_input_vec(self, 0, &x));
    if (*inputs == 2) { /* a row goes with a column */
        TRY(kry_task_input_vec(self, 1, &y));
        cl_mem buffer = kry_vec_buffer(y, &first);
        if (kry_vec_rows(x) != kry_vec_rows(y) && buffer)
            TRY(kry_vec_wrap(the_device(), kry_vec_type(x), kry_vec_rows(x), kry_vec_cols(x),
                             buffer, first, &like));
        TRY(kry_vec_dot(x, like ? like : y, &number));
    } else {
        TRY(kry_vec_norm2(x, &number));
    }
    kry_task_set_number(self, number);
done:
    kry_vec_release(&like);
    return st;
}

static kry_status number_of(const char *name, kry_task *const *inputs, int count, kry_type type,
                            mxArray **out)
{
    kry_status st = KRY_OK;
    kry_task *task = NULL;
    double number;

    TRY(submit(name, run_dot, &count, sizeof count, inputs, count, &task));
    TRY(wait_for(task));
    TRY(kry_task_number(task, &number));
    if (type == KRY_F64) {
        *out = mxCreateDoubleScalar(number);
    } else {
        *out = mxCreateNumericMatrix(1, 1, mxSINGLE_CLASS, mxREAL);
        *(float *)mxGetData(*out) = (float)number;
    }
done:
    kry_task_release(&task);
    return st;
}

/* kry_mex ('dot', x, y): the sum over all numbers of two dense ones of the same count. Waits. */
kry_status command_dot(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, b = { 0 };

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &a));
    TRY(operand_look(c->in[1], &b));
    CHECK(a.shape.kind == DENSE && b.shape.kind == DENSE, KRY_ERR_TYPE,
          "dot: of dense vectors only");
    CHECK(a.shape.rows * a.shape.cols == b.shape.rows * b.shape.cols, KRY_ERR_SHAPE,
          "dot: sizes do not agree: %lldx%lld and %lldx%lld", (long long)a.shape.rows,
          (long long)a.shape.cols, (long long)b.shape.rows, (long long)b.shape.cols);
    kry_type type = type_of_both(&a, &b);
    TRY(operand_load(&a, type));
    TRY(operand_load(&b, type));
    kry_task *const inputs[] = { a.task, b.task };
    TRY(number_of("dot", inputs, 2, type, &c->out[0]));
done:
    operand_drop(&a);
    operand_drop(&b);
    return st;
}

/* kry_mex ('norm2', h): the root of the sum of squares of a dense one. Waits. */
kry_status command_norm2(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 };

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.task && a.shape.kind == DENSE, KRY_ERR_TYPE, "norm: of dense matrices only");
    TRY(number_of("norm", &a.task, 1, a.shape.type, &c->out[0]));
done:
    operand_drop(&a);
    return st;
}
