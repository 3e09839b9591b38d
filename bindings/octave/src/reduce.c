/*
 * reduce.c - sums, products, extremes and counts along an axis.
 */
#include "launch.h"
#include <string.h>

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
    static const char *const words[] = { "sum",    "sumabs", "max",   "min",
                                         "maxabs", "nnz",    "zeros", "prod" };
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
