/*
 * index.c - A(i,j), A(k), diagonals, other shapes, copies side by side, and A(i,j) = B: what is
 * asked for is checked on the host, and numbers are moved on the device.
 */
#include "launch.h"
#include <math.h>
#include <stdlib.h>

static kry_status list_buffer(const picks *p, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    cl_int err = CL_SUCCESS;

    *buffer = NULL;
    if (!p->list) return st;
    *buffer =
        clCreateBuffer(kry_device_context(the_device()), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                       (size_t)p->count * sizeof *p->list, p->list, &err);
    CHECK(!err, KRY_ERR_MEMORY,
          "gpuMatrix: no room on the device for %lld indices (OpenCL error %d)",
          (long long)p->count, err);
done:
    return st;
}

kry_status pick_elements(const kry_vec *x, int64_t rows, const picks *i, const picks *j, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_type type = kry_vec_type(x);
    cl_mem x_buffer, z_buffer, row = NULL, col = NULL;
    cl_long m = i->count, total = m * j->count, x0, z0, x_rows = rows;
    cl_int listed = (i->list ? 1 : 0) | (j->list ? 2 : 0);
    cl_kernel kernel;

    if (total == 0) return st;
    TRY(buffer_of(x, &x_buffer, &x0));
    TRY(buffer_of(z, &z_buffer, &z0));
    TRY(list_buffer(i, &row));
    TRY(list_buffer(j, &col));
    TRY(kernel_get(PICK, type, &kernel));
    const cl_mem row_arg = row ? row : x_buffer, col_arg = col ? col : x_buffer;
    const arg args[] = { ARG(m),        ARG(total),   ARG(x_buffer), ARG(x0),      ARG(x_rows),
                         ARG(listed),   ARG(row_arg), ARG(i->start), ARG(i->step), ARG(col_arg),
                         ARG(j->start), ARG(j->step), ARG(z_buffer), ARG(z0) };
    TRY(launch(kernel, total, args, COUNT(args)));
done:
    if (row) clReleaseMemObject(row);
    if (col) clReleaseMemObject(col);
    return st;
}

/* z(rows_i, columns_j) := x, or a number where x is NULL; z as one of `rows` rows. */
static kry_status put_elements(const kry_vec *x, double number, int64_t rows, const picks *i,
                               const picks *j, kry_vec *z)
{
    kry_status st = KRY_OK;
    cl_mem x_buffer, z_buffer, row = NULL, col = NULL;
    cl_long m = i->count, total = m * j->count, x0 = 0, z0, z_rows = rows;
    cl_int listed = (i->list ? 1 : 0) | (j->list ? 2 : 0), scalar = !x;
    cl_kernel kernel;
    acc room;

    if (total == 0) return st;
    TRY(buffer_of(z, &z_buffer, &z0));
    x_buffer = z_buffer; /* not read of a number */
    if (x) TRY(buffer_of(x, &x_buffer, &x0));
    TRY(list_buffer(i, &row));
    TRY(list_buffer(j, &col));
    TRY(kernel_get(PUT, kry_vec_type(z), &kernel));
    const cl_mem row_arg = row ? row : z_buffer, col_arg = col ? col : z_buffer;
    const arg args[] = { ARG(m),        ARG(total),   ARG(x_buffer),
                         ARG(x0),       ARG(scalar),  acc_arg(number, &room),
                         ARG(z_rows),   ARG(listed),  ARG(row_arg),
                         ARG(i->start), ARG(i->step), ARG(col_arg),
                         ARG(j->start), ARG(j->step), ARG(z_buffer),
                         ARG(z0) };
    TRY(launch(kernel, total, args, COUNT(args)));
done:
    if (row) clReleaseMemObject(row);
    if (col) clReleaseMemObject(col);
    return st;
}

/* The rows and the columns that are picked. */
static void picks_release(picks *i, picks *j)
{
    free(i->list);
    free(j->list);
}

typedef struct index_params {
    kry_type type;
    int64_t rows; /* of the matrix, as it is looked at */
    int64_t m, n; /* of the result */
    picks i, j;
} index_params;

static void destroy_index(void *params)
{
    index_params *p = params;
    picks_release(&p->i, &p->j);
    free(p);
}

static kry_status run_index(void *params, kry_task *self)
{
    const index_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *x, *z = NULL;

    TRY(kry_task_input_vec(self, 0, &x));
    TRY(vec_of(the_device(), p->type, p->m, p->n, &z));
    TRY(pick_elements(x, p->rows, &p->i, &p->j, z));
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* ---- what is asked for ---- */

static kry_status out_of_range(double index, int64_t size)
{
    return fail_as("kry:index", KRY_ERR_ARGUMENT, "gpuMatrix: index %g is out of bound %lld", index,
                   (long long)size);
}

static kry_status picks_of_mask(const mxArray *a, int64_t size, picks *p)
{
    kry_status st = KRY_OK;
    const mxLogical *mask = mxGetLogicals(a);
    int64_t n = (int64_t)mxGetNumberOfElements(a);

    p->distinct = true;
    for (int64_t k = 0; k < n; k++) p->count += mask[k] ? 1 : 0;
    p->list = malloc(((size_t)p->count + 1) * sizeof *p->list);
    CHECK(p->list, KRY_ERR_MEMORY, "gpuMatrix: no memory for %lld indices", (long long)p->count);
    for (int64_t k = 0, to = 0; k < n; k++) {
        if (!mask[k]) continue;
        if (k >= size) return out_of_range((double)k + 1, size);
        p->list[to++] = k;
    }
done:
    return st;
}

/* Ranges need no list. */
static bool is_range(const double *at, int64_t n, picks *p)
{
    double step = n > 1 ? at[1] - at[0] : 1;
    for (int64_t k = 1; k < n; k++)
        if (at[k] != at[0] + (double)k * step) return false;
    p->start = n ? (int64_t)at[0] - 1 : 0;
    p->step = (int64_t)step;
    p->distinct = p->step != 0 || n < 2;
    return true;
}

static kry_status picks_of_numbers(const mxArray *a, int64_t size, picks *p)
{
    kry_status st = KRY_OK;
    const double *at = mxGetPr(a);

    p->count = (int64_t)mxGetNumberOfElements(a);
    for (int64_t k = 0; k < p->count; k++) {
        if (!(at[k] >= 1) || at[k] != floor(at[k]))
            return fail_as("kry:index", KRY_ERR_ARGUMENT,
                           "gpuMatrix: index %g is not a whole number from 1 on", at[k]);
        if (at[k] > (double)size) return out_of_range(at[k], size);
    }
    if (is_range(at, p->count, p)) return KRY_OK;
    p->list = malloc((size_t)p->count * sizeof *p->list);
    CHECK(p->list, KRY_ERR_MEMORY, "gpuMatrix: no memory for %lld indices", (long long)p->count);
    for (int64_t k = 0; k < p->count; k++) p->list[k] = (int64_t)at[k] - 1;
done:
    return st;
}

static bool is_colon(const mxArray *a)
{
    char text[4] = "";
    return mxIsChar(a) && mxGetNumberOfElements(a) == 1 && !mxGetString(a, text, sizeof text) &&
           text[0] == ':';
}

static kry_status take_picks(const mxArray *a, int64_t size, picks *p)
{
    *p = (picks){ .count = 0, .start = 0, .step = 1 };
    if (is_colon(a)) {
        p->count = size, p->distinct = true;
        return KRY_OK;
    }
    if (mxIsLogical(a) && !mxIsSparse(a)) return picks_of_mask(a, size, p);
    if (mxIsDouble(a) && !mxIsSparse(a) && !mxIsComplex(a)) return picks_of_numbers(a, size, p);
    return fail_as("kry:index", KRY_ERR_TYPE,
                   "gpuMatrix: an index must be ':', logical or double, not %s", mxGetClassName(a));
}

/* The shape of A(k): that of k; but A(:) is a column, and a vector at a vector keeps its direction.
 */
static void linear_shape(const mxArray *k, const shape *s, int64_t count, index_params *p)
{
    int64_t rows = (int64_t)mxGetM(k), cols = (int64_t)mxGetN(k);
    bool list = rows == 1 || cols == 1 || mxIsLogical(k), vector = (s->rows == 1) != (s->cols == 1);

    if (is_colon(k)) {
        p->m = count, p->n = 1;
    } else if (mxIsLogical(k) && rows == 1 && cols == 1) {
        p->m = count, p->n = count; /* A(false) is 0x0 */
    } else if (list && vector) {
        p->m = s->rows == 1 ? 1 : count, p->n = s->rows == 1 ? count : 1;
    } else if (mxIsLogical(k)) {
        p->m = rows == 1 ? 1 : count, p->n = rows == 1 ? count : 1;
    } else {
        p->m = rows, p->n = cols;
    }
}

static kry_status submit_index(call *c, operand *x, index_params *p)
{
    kry_status st = KRY_OK;
    kry_task *task = NULL;
    shape s = { .kind = DENSE, .type = p->type, .rows = p->m, .cols = p->n };

    TRY(submit_owning("index", run_index, p, sizeof *p, destroy_index, &x->task, 1, &task));
    *p = (index_params){ 0 };
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

/* kry_mex ('index', h, k), kry_mex ('index', h, i, j); 0: by the host */
kry_status command_index(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    index_params p = { 0 };

    TRY(take_count(c, 2, 3));
    TRY(operand_look(c->in[0], &x));
    if (x.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    p.type = x.shape.type;
    if (c->in_count == 2) {
        p.rows = x.shape.rows * x.shape.cols;
        TRY(take_picks(c->in[1], p.rows, &p.i));
        p.j = (picks){ .count = 1 };
        linear_shape(c->in[1], &x.shape, p.i.count, &p);
    } else {
        p.rows = x.shape.rows;
        TRY(take_picks(c->in[1], x.shape.rows, &p.i));
        TRY(take_picks(c->in[2], x.shape.cols, &p.j));
        p.m = p.i.count, p.n = p.j.count;
    }
    TRY(submit_index(c, &x, &p));
done:
    picks_release(&p.i, &p.j);
    operand_drop(&x);
    return st;
}

/* kry_mex ('diag', h, k): a diagonal of a matrix as a column; 0: by the host */
kry_status command_diag(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    index_params p = { 0 };
    double k;

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &x));
    TRY(take_number(c->in[1], "diag: which diagonal", &k));
    const shape *s = &x.shape;
    if (s->kind == SPARSE || s->rows == 1 || s->cols == 1) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    int64_t below = k < 0 ? (int64_t)-k : 0, right = k > 0 ? (int64_t)k : 0;
    int64_t down = s->rows - below, across = s->cols - right;
    int64_t count = down < across ? down : across;
    p = (index_params){ .type = s->type,
                        .rows = s->rows * s->cols,
                        .m = count > 0 ? count : 0,
                        .n = 1,
                        .i = { count > 0 ? count : 0, right * s->rows + below, s->rows + 1 },
                        .j = { .count = 1 } };
    TRY(submit_index(c, &x, &p));
done:
    picks_release(&p.i, &p.j);
    operand_drop(&x);
    return st;
}

/* kry_mex ('reshape', h, m, n): the same numbers as m rows and n columns; 0: by the host */
kry_status command_reshape(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    double m, n;

    TRY(take_count(c, 3, 3));
    TRY(operand_look(c->in[0], &x));
    TRY(take_number(c->in[1], "reshape: the rows", &m));
    TRY(take_number(c->in[2], "reshape: the columns", &n));
    if (x.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    int64_t count = x.shape.rows * x.shape.cols;
    CHECK(m >= 0 && n >= 0 && m * n == (double)count, KRY_ERR_SHAPE,
          "reshape: %lldx%lld numbers do not make %gx%g", (long long)x.shape.rows,
          (long long)x.shape.cols, m, n);
    index_params p = { .type = x.shape.type,
                       .rows = count,
                       .m = (int64_t)m,
                       .n = (int64_t)n,
                       .i = { .count = count, .step = 1 },
                       .j = { .count = 1 } };
    TRY(submit_index(c, &x, &p));
done:
    operand_drop(&x);
    return st;
}

/* 0 ... size-1, so many times */
static kry_status picks_repeated(int64_t size, double times, picks *p)
{
    kry_status st = KRY_OK;

    *p = (picks){ .count = times > 0 ? size * (int64_t)times : 0, .step = size > 1 };
    if (size < 2 || times < 2) return st;
    p->list = malloc((size_t)p->count * sizeof *p->list);
    CHECK(p->list, KRY_ERR_MEMORY, "repmat: no memory for %lld indices", (long long)p->count);
    for (int64_t k = 0; k < p->count; k++) p->list[k] = k % size;
done:
    return st;
}

/* kry_mex ('repmat', h, m, n): m by n copies; 0: by the host */
kry_status command_repmat(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    index_params p = { 0 };
    double m, n;

    TRY(take_count(c, 3, 3));
    TRY(operand_look(c->in[0], &x));
    TRY(take_number(c->in[1], "repmat: how many times down", &m));
    TRY(take_number(c->in[2], "repmat: how many times across", &n));
    if (x.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    p.type = x.shape.type, p.rows = x.shape.rows;
    TRY(picks_repeated(x.shape.rows, m, &p.i));
    TRY(picks_repeated(x.shape.cols, n, &p.j));
    p.m = p.i.count, p.n = p.j.count;
    TRY(submit_index(c, &x, &p));
done:
    picks_release(&p.i, &p.j);
    operand_drop(&x);
    return st;
}

/* ---- A(i,j) = B, and matrices side by side ---- */

typedef struct assign_params {
    shape shape;  /* of A, and of the result */
    int64_t rows; /* of the result, as it is looked at */
    bool scalar;  /* B is a number of the host */
    double number;
    picks i, j;
} assign_params;

static void destroy_assign(void *params)
{
    assign_params *p = params;
    picks_release(&p->i, &p->j);
    free(p);
}

static kry_status run_assign(void *params, kry_task *self)
{
    const assign_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *A, *B = NULL, *z = NULL;

    TRY(kry_task_input_vec(self, 0, &A));
    if (!p->scalar) TRY(kry_task_input_vec(self, 1, &B));
    TRY(vec_of(the_device(), p->shape.type, p->shape.rows, p->shape.cols, &z));
    TRY(kry_vec_copy(A, z));
    TRY(put_elements(B, p->number, p->rows, &p->i, &p->j, z));
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* Does B go where the picks point, as it is? */
static bool assignable(const assign_params *p, const operand *a, const operand *b)
{
    const shape *s = &b->shape;
    bool vectors = (s->rows == 1 || s->cols == 1) && (p->i.count == 1 || p->j.count == 1);

    if (a->shape.kind != DENSE || s->kind != DENSE || !p->i.distinct || !p->j.distinct)
        return false;
    if (s->type == KRY_F32 && a->shape.type == KRY_F64) return false; /* the result is single */
    if (b->scalar) return true;
    return (s->rows == p->i.count && s->cols == p->j.count) ||
           (vectors && s->rows * s->cols == p->i.count * p->j.count);
}

/* What A(i,j) = B means; false: the host has to do it, or to refuse it */
static bool take_assignment(call *c, const operand *a, const operand *b, assign_params *p)
{
    const shape *s = &a->shape;
    bool linear = c->in_count == 3;

    p->shape = *s;
    p->rows = linear ? s->rows * s->cols : s->rows;
    p->scalar = b->scalar, p->number = b->number;
    p->j = (picks){ .count = 1, .distinct = true };
    if (take_picks(c->in[2], p->rows, &p->i) < 0) return false;
    if (!linear && take_picks(c->in[3], s->cols, &p->j) < 0) return false;
    return assignable(p, a, b);
}

/* kry_mex ('assign', h, b, k), kry_mex ('assign', h, b, i, j); 0: by the host */
kry_status command_assign(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, b = { 0 };
    assign_params p = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 3, 4));
    TRY(operand_look(c->in[0], &a));
    TRY(operand_look(c->in[1], &b));
    if (!take_assignment(c, &a, &b, &p)) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    if (!b.scalar) TRY(operand_load(&b, a.shape.type));
    kry_task *const inputs[] = { a.task, b.task };
    TRY(submit_owning("assignment", run_assign, &p, sizeof p, destroy_assign, inputs,
                      b.scalar ? 1 : 2, &task));
    p = (assign_params){ 0 };
    TRY(value_keep(&a.shape, &task, &c->out[0]));
done:
    picks_release(&p.i, &p.j);
    kry_task_release(&task);
    operand_drop(&a);
    operand_drop(&b);
    return st;
}

enum { PARTS_MOST = 64 };
typedef struct cat_params {
    shape shape;
    int count, dim;
    struct {
        int64_t rows, cols;
    } parts[PARTS_MOST];
} cat_params;

static kry_status run_cat(void *params, kry_task *self)
{
    const cat_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *x, *z = NULL;
    picks i = { .step = 1 }, j = { .step = 1 };

    TRY(vec_of(the_device(), p->shape.type, p->shape.rows, p->shape.cols, &z));
    for (int k = 0; k < p->count; k++) {
        TRY(kry_task_input_vec(self, k, &x));
        i.count = p->parts[k].rows, j.count = p->parts[k].cols;
        TRY(put_elements(x, 0, p->shape.rows, &i, &j, z));
        if (p->dim == 1)
            i.start += i.count;
        else
            j.start += j.count;
    }
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* Sizes of the parts and of the whole; false: the host has to do it, or to refuse it */
static bool parts_fit(const operand *parts, cat_params *p)
{
    shape *s = &p->shape;

    *s = parts[0].shape;
    for (int k = 0; k < p->count; k++) {
        const shape *part = &parts[k].shape;
        if (part->kind != DENSE || part->rows * part->cols == 0) return false;
        p->parts[k].rows = part->rows, p->parts[k].cols = part->cols;
        if (part->type == KRY_F32) s->type = KRY_F32;
        if (k == 0) continue;
        if (p->dim == 1 ? part->cols != s->cols : part->rows != s->rows) return false;
        if (p->dim == 1)
            s->rows += part->rows;
        else
            s->cols += part->cols;
    }
    return true;
}

/* kry_mex ('cat', dim, a, b, ...): side by side along axis 1 or 2; 0: by the host */
kry_status command_cat(call *c)
{
    kry_status st = KRY_OK;
    operand parts[PARTS_MOST] = { 0 };
    kry_task *inputs[PARTS_MOST], *task = NULL;
    cat_params p = { .count = c->in_count - 1 };
    double dim;

    TRY(take_count(c, 2, PARTS_MOST + 1));
    TRY(take_number(c->in[0], "cat: the dimension", &dim));
    p.dim = (int)dim;
    for (int k = 0; k < p.count; k++) TRY(operand_look(c->in[k + 1], &parts[k]));
    if (!parts_fit(parts, &p)) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    for (int k = 0; k < p.count; k++) {
        TRY(operand_load(&parts[k], p.shape.type));
        inputs[k] = parts[k].task;
    }
    TRY(submit("cat", run_cat, &p, sizeof p, inputs, p.count, &task));
    TRY(value_keep(&p.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    for (int k = 0; k < p.count && k < PARTS_MOST; k++) operand_drop(&parts[k]);
    return st;
}
