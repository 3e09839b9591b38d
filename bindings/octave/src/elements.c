/*
 * elements.c - functions of single numbers, and of two of them.
 */
#include "launch.h"
#include <math.h>
#include <string.h>

/* ---- two operands ---- */

/* The operations, in the order of element_of in kernels.h. */
static const struct {
    const char *name;
    const char *complex; /* for which numbers the result would be complex; NULL: never */
} operations[] = {
    { "+", NULL },
    { "-", NULL },
    { ".*", NULL },
    { "./", NULL },
    { ".\\", NULL },
    { ".^", "a negative number to a power that is not whole" },
    { "max", NULL },
    { "min", NULL },
    { "atan2", NULL },
    { "hypot", NULL },
    { "abs", NULL },
    { "exp", NULL },
    { "expm1", NULL },
    { "sqrt", "sqrt of a negative number" },
    { "log", "log of a negative number" },
    { "log2", "log2 of a negative number" },
    { "log10", "log10 of a negative number" },
    { "log1p", "log1p of a number below -1" },
    { "sin", NULL },
    { "cos", NULL },
    { "tan", NULL },
    { "asin", "asin of a number outside [-1, 1]" },
    { "acos", "acos of a number outside [-1, 1]" },
    { "atan", NULL },
    { "sinh", NULL },
    { "cosh", NULL },
    { "tanh", NULL },
    { "asinh", NULL },
    { "acosh", "acosh of a number below 1" },
    { "atanh", "atanh of a number outside [-1, 1]" },
    { "floor", NULL },
    { "ceil", NULL },
    { "round", NULL },
    { "fix", NULL },
    { "sign", NULL },
    { "cbrt", NULL },
    { "erf", NULL },
    { "erfc", NULL },
};

typedef struct elements_params {
    kry_type type;
    int op, scalar;
    int checked; /* the result may be complex: look whether it would be */
    double number;
    int64_t m, n;
    cl_long a_row, a_col, b_row, b_col;
} elements_params;

/* A cell of device memory that the kernel writes to where it meets a number outside the domain. */
static kry_status outside_create(const elements_params *p, cl_mem *outside)
{
    kry_status st = KRY_OK;
    cl_int zero = 0, err = CL_SUCCESS;

    if (p->checked)
        *outside =
            clCreateBuffer(kry_device_context(the_device()),
                           CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, &zero, &err);
    CHECK(!err, KRY_ERR_MEMORY, "gpuMatrix: no room on the device (OpenCL error %d)", err);
done:
    return st;
}

static kry_status outside_check(const elements_params *p, cl_mem outside)
{
    kry_status st = KRY_OK;
    cl_int found = 0, err;

    if (!outside) return st;
    err = clEnqueueReadBuffer(kry_device_queue(the_device()), outside, CL_TRUE, 0, sizeof found,
                              &found, 0, NULL, NULL);
    CHECK(!err, KRY_ERR_DEVICE, "gpuMatrix: OpenCL error %d when a result was read", err);
    CHECK(!found, KRY_ERR_TYPE,
          "gpuMatrix: %s is complex, and complex numbers are not supported: gather first",
          operations[p->op].complex);
done:
    return st;
}

static kry_status run_elements(void *params, kry_task *self)
{
    const elements_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *a, *b, *z = NULL;
    cl_mem a_buffer, b_buffer, z_buffer, outside = NULL;
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
        TRY(outside_create(p, &outside));
        const cl_mem cell = outside ? outside : z_buffer; /* not written to if nothing is checked */
        const arg args[] = { ARG(p->op),
                             ARG(m),
                             ARG(total),
                             ARG(p->scalar),
                             acc_arg(p->number, &room),
                             ARG(a_buffer),
                             ARG(a0),
                             ARG(p->a_row),
                             ARG(p->a_col),
                             ARG(b_buffer),
                             ARG(b0),
                             ARG(p->b_row),
                             ARG(p->b_col),
                             ARG(z_buffer),
                             ARG(z0),
                             ARG(p->checked),
                             ARG(cell) };
        TRY(launch(kernel, total, args, COUNT(args)));
        TRY(outside_check(p, outside));
    }
    kry_task_set_vec(self, z);
done:
    if (outside) clReleaseMemObject(outside);
    kry_vec_release(&z);
    return st;
}

/* The size of a result along one axis: that of both, or of the one that is not 1. */
static bool fits(int64_t a, int64_t b, int64_t *size)
{
    *size = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

/* Can it be seen without a look at the device that a power stays real? */
static bool stays_real(element_op op, const operand *a, const operand *b)
{
    if (!operations[op].complex) return true;
    if (op != ELEMENT_POWER) return false;
    return (a->scalar && a->number >= 0) ||
           (b->scalar && isfinite(b->number) && b->number == floor(b->number));
}

kry_status elements(element_op op, operand *a, operand *b, shape *s, kry_task **task)
{
    kry_status st = KRY_OK;
    elements_params p = { .op = (int)op, .type = type_of_both(a, b) };
    const shape *x = &a->shape, *y = &b->shape;

    *task = NULL;
    p.checked = !stays_real(op, a, b);
    CHECK(fits(x->rows, y->rows, &p.m) && fits(x->cols, y->cols, &p.n), KRY_ERR_SHAPE,
          "gpuMatrix: operator %s: sizes do not agree: %lldx%lld and %lldx%lld",
          operations[op].name, (long long)x->rows, (long long)x->cols, (long long)y->rows,
          (long long)y->cols);
    p.scalar = a->scalar ? 1 : b->scalar ? 2 : 0;
    p.number = a->scalar ? a->number : b->number;
    p.a_row = x->rows != 1 || p.m == 1, p.a_col = x->cols != 1 || p.n == 1 ? x->rows : 0;
    p.b_row = y->rows != 1 || p.m == 1, p.b_col = y->cols != 1 || p.n == 1 ? y->rows : 0;
    if (a->scalar) p.a_row = p.b_row, p.a_col = p.b_col;
    if (b->scalar) p.b_row = p.a_row, p.b_col = p.a_col;
    if (!a->scalar) TRY(operand_load(a, p.type));
    if (!b->scalar) TRY(operand_load(b, p.type));
    kry_task *const inputs[] = { a->scalar ? b->task : a->task, b->scalar ? a->task : b->task };
    TRY(submit(operations[op].name, run_elements, &p, sizeof p, inputs, 2, task));
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

/* kry_mex ('unary', h, "sqrt"); 0: by the host */
kry_status command_unary(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, none = { .scalar = true };
    kry_task *task = NULL;
    shape s;
    char word[16];
    size_t op = ELEMENT_UNARY;

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &a));
    TRY(take_text(c->in[1], "kry_mex: the function", word, sizeof word));
    while (op < COUNT(operations) && strcmp(operations[op].name, word)) op++;
    CHECK(op < COUNT(operations), KRY_ERR_ARGUMENT, "kry_mex: no function '%s'", word);
    CHECK(a.task, KRY_ERR_TYPE, "gpuMatrix: the operand is none");
    if (a.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    none.shape = (shape){ .type = a.shape.type, .rows = 1, .cols = 1 };
    TRY(elements((element_op)op, &a, &none, &s, &task));
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
kry_status command_atan2(call *c) { return binary(c, ELEMENT_ATAN2); }
kry_status command_hypot(call *c) { return binary(c, ELEMENT_HYPOT); }
