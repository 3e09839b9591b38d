/*
 * elements.c - arithmetic on single numbers, with kernels of the toolbox's own (kernels.h).
 */
#include "kernels.h"
#include "kry_mex.h"
#include <kry/opencl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- launching; on the queue's thread alone ---- */

enum kernel_name { ELEMENTS, PICK, REDUCE, FINISH, CONVERT, KERNEL_COUNT };
static cl_kernel kernels[KERNEL_COUNT][3]; /* by kry_type */

void elements_forget(void)
{
    for (int k = 0; k < KERNEL_COUNT; k++)
        for (int t = 0; t < 3; t++) {
            if (kernels[k][t]) clReleaseKernel(kernels[k][t]);
            kernels[k][t] = NULL;
        }
}

static kry_status kernel_get(enum kernel_name which, kry_type type, cl_kernel *kernel)
{
    static const char *const names[] = { "elements", "elements_pick", "elements_reduce",
                                         "elements_finish", "elements_convert" };
    kry_status st = KRY_OK;
    bool from_double = type == KRY_F32 && kry_device_get_info(the_device())->fp64;

    if (!kernels[which][type])
        TRY(kry_device_kernel(the_device(), type, "gpuMatrix", kernel_text,
                              from_double ? "-DFROM=double" : "-DFROM=float", names[which],
                              &kernels[which][type]));
    *kernel = kernels[which][type];
done:
    return st;
}

typedef struct arg {
    size_t size;
    const void *value;
} arg;
#define ARG(x)          \
    {                   \
        sizeof(x), &(x) \
    }

static kry_status launch(cl_kernel kernel, int64_t items, const arg *args, size_t count)
{
    kry_status st = KRY_OK;
    size_t local = 64, most = (size_t)kry_device_get_info(the_device())->compute_units * 4096;
    size_t global = ((size_t)items + local - 1) / local * local;
    cl_int err = CL_SUCCESS;

    if (global > most) global = most;
    for (size_t i = 0; i < count && !err; i++)
        err = clSetKernelArg(kernel, (cl_uint)i, args[i].size, args[i].value);
    if (!err)
        err = clEnqueueNDRangeKernel(kry_device_queue(the_device()), kernel, 1, NULL, &global,
                                     &local, 0, NULL, NULL);
    CHECK(!err, KRY_ERR_DEVICE, "gpuMatrix: OpenCL error %d at the start of a kernel", err);
done:
    return st;
}

/* An ACC, as the device has it. */
typedef union acc {
    double f64;
    float f32;
} acc;
static arg acc_arg(double number, acc *room)
{
    if (kry_device_get_info(the_device())->fp64) {
        room->f64 = number;
        return (arg){ sizeof(double), &room->f64 };
    }
    room->f32 = (float)number;
    return (arg){ sizeof(float), &room->f32 };
}

static kry_status buffer_of(const kry_vec *x, cl_mem *buffer, cl_long *first)
{
    kry_status st = KRY_OK;
    int64_t at;

    *buffer = kry_vec_buffer(x, &at);
    *first = at;
    CHECK(*buffer, KRY_ERR_UNSUPPORTED,
          "gpuMatrix: arithmetic on several devices as one is not "
          "supported: only products and solves are");
done:
    return st;
}

/* ---- two operands ---- */

typedef struct elements_params {
    kry_type type;
    int op, scalar;
    double number;
    int64_t m, n;
    cl_long a_row, a_col, b_row, b_col;
} elements_params;

static kry_status run_elements(void *params, kry_task *self)
{
    const elements_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *a, *b, *z = NULL;
    cl_mem a_buffer, b_buffer, z_buffer;
    cl_long a0, b0, z0, m = p->m, total = p->m * p->n;
    cl_kernel kernel;
    acc room;

    TRY(vec_of(the_device(), p->type, p->m, p->n, &z));
    if (total > 0) {
        TRY(kry_task_input_vec(self, 0, &a));
        TRY(kry_task_input_vec(self, 1, &b));
        TRY(buffer_of(a, &a_buffer, &a0));
        TRY(buffer_of(b, &b_buffer, &b0));
        TRY(buffer_of(z, &z_buffer, &z0));
        TRY(kernel_get(ELEMENTS, p->type, &kernel));
        const arg args[] = {
            ARG(p->op),    ARG(m),        ARG(total),    ARG(p->scalar), acc_arg(p->number, &room),
            ARG(a_buffer), ARG(a0),       ARG(p->a_row), ARG(p->a_col),  ARG(b_buffer),
            ARG(b0),       ARG(p->b_row), ARG(p->b_col), ARG(z_buffer),  ARG(z0)
        };
        TRY(launch(kernel, total, args, COUNT(args)));
    }
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* The size of a result along one axis: that of both, or of the one that is not 1. */
static bool fits(int64_t a, int64_t b, int64_t *size)
{
    *size = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

static const char *element_name(element_op op)
{
    static const char *const names[] = { "+",  "-",   ".*",  "./",  ".\\",
                                         ".^", "max", "min", "abs", "exp" };
    return names[op];
}

kry_status elements(element_op op, operand *a, operand *b, shape *s, kry_task **task)
{
    kry_status st = KRY_OK;
    elements_params p = { .op = (int)op, .type = type_of_both(a, b) };
    const shape *x = &a->shape, *y = &b->shape;

    *task = NULL;
    CHECK(fits(x->rows, y->rows, &p.m) && fits(x->cols, y->cols, &p.n), KRY_ERR_SHAPE,
          "gpuMatrix: operator %s: sizes do not agree: %lldx%lld and %lldx%lld", element_name(op),
          (long long)x->rows, (long long)x->cols, (long long)y->rows, (long long)y->cols);
    p.scalar = a->scalar ? 1 : b->scalar ? 2 : 0;
    p.number = a->scalar ? a->number : b->number;
    p.a_row = x->rows != 1 || p.m == 1, p.a_col = x->cols != 1 || p.n == 1 ? x->rows : 0;
    p.b_row = y->rows != 1 || p.m == 1, p.b_col = y->cols != 1 || p.n == 1 ? y->rows : 0;
    if (a->scalar) p.a_row = p.b_row, p.a_col = p.b_col;
    if (b->scalar) p.b_row = p.a_row, p.b_col = p.a_col;
    if (!a->scalar) TRY(operand_load(a, p.type));
    if (!b->scalar) TRY(operand_load(b, p.type));
    kry_task *const inputs[] = { a->scalar ? b->task : a->task, b->scalar ? a->task : b->task };
    TRY(submit(element_name(op), run_elements, &p, sizeof p, inputs, 2, task));
    *s = (shape){ .kind = DENSE, .type = p.type, .rows = p.m, .cols = p.n };
done:
    return st;
}

static kry_status run_convert(void *params, kry_task *self)
{
    const shape *p = params;
    kry_status st = KRY_OK;
    kry_vec *x, *z = NULL;
    cl_mem x_buffer, z_buffer;
    cl_long x0, z0, total = p->rows * p->cols;
    cl_kernel kernel;

    TRY(vec_of(the_device(), p->type, p->rows, p->cols, &z));
    if (total > 0) {
        TRY(kry_task_input_vec(self, 0, &x));
        TRY(buffer_of(x, &x_buffer, &x0));
        TRY(buffer_of(z, &z_buffer, &z0));
        TRY(kernel_get(CONVERT, p->type, &kernel));
        const arg args[] = { ARG(total), ARG(x_buffer), ARG(x0), ARG(z_buffer), ARG(z0) };
        TRY(launch(kernel, total, args, COUNT(args)));
    }
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

kry_status elements_convert(kry_task *task, const shape *from, kry_type type, kry_task **converted)
{
    shape to = *from;
    to.type = type;
    return submit("convert", run_convert, &to, sizeof to, &task, 1, converted);
}

/* ---- picking ---- */

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

/* ---- reducing ---- */

typedef struct reduce_params {
    kry_type type;
    int op;
    int64_t count, lines, line, step; /* numbers of a line, lines, from one to the next */
    int64_t m, n;                     /* of the result */
} reduce_params;

static kry_status reduce(const reduce_params *p, const kry_vec *x, cl_mem part, cl_long chunks,
                         kry_vec *z)
{
    kry_status st = KRY_OK;
    cl_mem x_buffer, z_buffer;
    cl_long x0, z0, near = 0;
    cl_kernel kernel;

    if (kry_device_get_info(the_device())->cpu_kernels) near = (p->count + chunks - 1) / chunks;
    TRY(buffer_of(x, &x_buffer, &x0));
    TRY(buffer_of(z, &z_buffer, &z0));
    TRY(kernel_get(REDUCE, p->type, &kernel));
    const arg first[] = { ARG(p->op),  ARG(p->count), ARG(p->lines), ARG(p->line), ARG(p->step),
                          ARG(chunks), ARG(near),     ARG(x_buffer), ARG(x0),      ARG(part) };
    TRY(launch(kernel, chunks * p->lines, first, COUNT(first)));
    TRY(kernel_get(FINISH, p->type, &kernel));
    const arg last[] = {
        ARG(p->op), ARG(chunks), ARG(p->lines), ARG(part), ARG(z_buffer), ARG(z0)
    };
    TRY(launch(kernel, p->lines, last, COUNT(last)));
done:
    return st;
}

static kry_status run_reduce(void *params, kry_task *self)
{
    const reduce_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *x, *z = NULL;
    cl_mem part = NULL;
    cl_long chunks = p->count < 64 ? 1 : p->count < 65536 ? 32 : 1024;
    cl_int err;

    if (p->lines > 4096 && chunks > 32) chunks = 32;
    TRY(vec_of(the_device(), p->type, p->m, p->n, &z));
    if (p->lines > 0) {
        TRY(kry_task_input_vec(self, 0, &x));
        part = clCreateBuffer(kry_device_context(the_device()), CL_MEM_READ_WRITE,
                              (size_t)(chunks * p->lines) * sizeof(double), NULL, &err);
        CHECK(part, KRY_ERR_MEMORY, "gpuMatrix: no room on the device for sums (OpenCL error %d)",
              err);
        TRY(reduce(p, x, part, chunks, z));
    }
    kry_task_set_vec(self, z);
done:
    if (part) clReleaseMemObject(part);
    kry_vec_release(&z);
    return st;
}

static kry_status take_reduction(const mxArray *a, int *op)
{
    static const char *const words[] = { "sum", "sumabs", "max", "min", "maxabs", "nnz", "prod" };
    kry_status st = KRY_OK;
    char word[16];

    TRY(take_text(a, "kry_mex: the reduction", word, sizeof word));
    for (size_t i = 0; i < COUNT(words); i++)
        if (!strcmp(words[i], word)) return *op = (int)i, KRY_OK;
    CHECK(false, KRY_ERR_ARGUMENT, "kry_mex: no reduction '%s'", word);
done:
    return st;
}

/* kry_mex ('reduce', h, "sum", dim): dim 1, 2, or 0 for all numbers; 0: by the host */
kry_status command_reduce(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    double dim;
    kry_task *task = NULL;
    reduce_params p;

    TRY(take_count(c, 3, 3));
    TRY(operand_look(c->in[0], &x));
    TRY(take_reduction(c->in[1], &p.op));
    TRY(take_number(c->in[2], "kry_mex: the dimension", &dim));
    if (x.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    const shape *s = &x.shape;
    p.type = s->type;
    p.count = dim == 1 ? s->rows : dim == 2 ? s->cols : s->rows * s->cols;
    p.lines = dim == 1 ? s->cols : dim == 2 ? s->rows : 1;
    p.line = dim == 2 ? 1 : s->rows;
    p.step = dim == 2 ? s->rows : 1;
    p.m = dim == 2 ? s->rows : 1;
    p.n = dim == 1 ? s->cols : 1;
    TRY(submit("reduce", run_reduce, &p, sizeof p, &x.task, 1, &task));
    shape r = { .kind = DENSE, .type = p.type, .rows = p.m, .cols = p.n };
    TRY(value_keep(&r, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&x);
    return st;
}

/* ---- commands ---- */

static kry_status binary(call *c, element_op op)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, b = { 0 };
    kry_task *task = NULL;
    shape s;

    TRY(take_count(c, 2, 3));
    TRY(operand_look(c->in[0], &a));
    TRY(operand_look(c->in[1], &b));
    if (a.shape.kind == SPARSE || b.shape.kind == SPARSE) {
        TRY(leave_to_host(c));
        goto done;
    }
    CHECK(a.task || b.task, KRY_ERR_TYPE, "gpuMatrix: none of the operands is one");
    TRY(elements(op, &a, &b, &s, &task));
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    operand_drop(&b);
    return st;
}

static kry_status unary(call *c, element_op op)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, none = { .scalar = true };
    kry_task *task = NULL;
    shape s;

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.task, KRY_ERR_TYPE, "gpuMatrix: the operand is none");
    if (a.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    none.shape = (shape){ .type = a.shape.type, .rows = 1, .cols = 1 };
    TRY(elements(op, &a, &none, &s, &task));
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    return st;
}

kry_status command_plus(call *c) { return binary(c, ELEMENT_PLUS); }
kry_status command_minus(call *c) { return binary(c, ELEMENT_MINUS); }
kry_status command_times(call *c) { return binary(c, ELEMENT_TIMES); }
kry_status command_rdivide(call *c) { return binary(c, ELEMENT_RDIVIDE); }
kry_status command_ldivide(call *c) { return binary(c, ELEMENT_LDIVIDE); }
kry_status command_power(call *c) { return binary(c, ELEMENT_POWER); }
kry_status command_max2(call *c) { return binary(c, ELEMENT_MAX); }
kry_status command_min2(call *c) { return binary(c, ELEMENT_MIN); }
kry_status command_abs(call *c) { return unary(c, ELEMENT_ABS); }
kry_status command_exp(call *c) { return unary(c, ELEMENT_EXP); }
