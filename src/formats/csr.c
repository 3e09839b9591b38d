/* csr.c - compressed sparse rows on the device. Kernels: cl/csr.cl. */
#include "csr_runs.h"
#include "host_csr.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct csr {
    kry_device *dev; /* borrowed: the operator holds it */
    kry_type type;
    int64_t rows, cols, nnz;
    bool wide;                /* row_ptr is long, not int */
    bool wrapped;             /* the buffers are the caller's */
    cl_mem row_ptr, col, val; /* owned or retained */
    kry_csr_runs runs;        /* how the kernels walk the rows */
    kry_host_csr host;        /* what new values need: place and mirror of the entries */
    kry_kernel *apply, *residual, *apply_dot, *apply_direction;
} csr;

/* ---- the operator ------------------------------------------------------------------------ */

#define CSR_ARGS(A) \
    ARG((A)->runs.blocks), ARG((A)->runs.block), ARG((A)->row_ptr), ARG((A)->col), ARG((A)->val)

static kry_status csr_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    csr *A = self;
    kry_scalar a = kry_scalar_of(A->dev, alpha), b = kry_scalar_of(A->dev, beta);
    kry_arg args[] = { CSR_ARGS(A),        ARG_ACC(A->dev, a), ARG(x->buffer), ARG(x->first),
                       ARG_ACC(A->dev, b), ARG(y->buffer),     ARG(y->first) };
    return kry_launch(A->dev, A->apply, A->runs.groups, args, COUNT(args));
}

static kry_status csr_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    csr *A = self;
    kry_arg args[] = { CSR_ARGS(A),    ARG(x->buffer), ARG(x->first),
                       ARG(y->buffer), ARG(y->first),  ARG(sum->buffer) };
    sum->count = (cl_int)A->runs.groups;
    return kry_launch(A->dev, A->apply_dot, A->runs.groups, args, COUNT(args));
}

static kry_status csr_apply_direction(void *self, const kry_direction *d, kry_vec *p, kry_vec *q,
                                      kry_sum *sum)
{
    csr *A = self;
    const kry_arg rest[] = { CSR_ARGS(A),    ARG(d->z->buffer), ARG(d->old->buffer),
                             ARG(p->buffer), ARG(q->buffer),    ARG(sum->buffer) };
    kry_arg args[KRY_DIRECTION_ARGS + COUNT(rest)];

    if (!A->runs.fuses) {
        kry_status st = kry_direction_run(d, p);
        return st < 0 ? st : csr_apply_dot(A, p, q, sum);
    }
    kry_direction_args(d, args);
    memcpy(args + KRY_DIRECTION_ARGS, rest, sizeof rest);
    sum->count = (cl_int)A->runs.groups;
    return kry_launch(A->dev, A->apply_direction, A->runs.groups, args, COUNT(args));
}

static kry_status csr_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    csr *A = self;
    kry_arg args[] = { CSR_ARGS(A),   ARG(b->buffer), ARG(b->first), ARG(x->buffer),
                       ARG(x->first), ARG(r->buffer), ARG(r->first) };
    return kry_launch(A->dev, A->residual, A->runs.groups, args, COUNT(args));
}

static kry_status csr_diagonal(void *self, kry_vec *d)
{
    csr *A = self;
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    kry_arg args[] = { ARG(A->rows), ARG(A->row_ptr), ARG(A->col),
                       ARG(A->val),  ARG(d->buffer),  ARG(d->first) };
    TRY(kry_kernel_get(A->dev, "csr", A->type, A->wide ? "-DOFFSET=long" : "", "csr_diagonal",
                       &kernel));
    TRY(kry_launch(A->dev, kernel, kry_groups_for(A->dev, A->type, A->rows), args, COUNT(args)));
done:
    return st;
}

static kry_status csr_update(void *self, const void *values)
{
    csr *A = self;
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->nnz * kry_type_size(A->type);

    if (!values) return KRY_OK; /* the buffer itself was changed, and nothing depends on it */
    CHECK(!A->wrapped, KRY_ERR_ARGUMENT,
          "kry_op_update: the values of a wrapped matrix are changed in its buffer; pass NULL");
    if (A->host.identity)
        TRY(kry_values_check("kry_op_update", A->type, A->nnz, values));
    else
        TRY(kry_host_csr_set_values(&A->host, "kry_op_update", values));
    if (bytes)
        TRY_CL(clEnqueueWriteBuffer(A->dev->queue, A->val, CL_TRUE, 0, bytes,
                                    A->host.identity ? values : A->host.val, 0, NULL, NULL));
done:
    return st;
}

static void csr_describe(void *self, kry_op_info *info)
{
    csr *A = self;
    double number = (double)kry_type_size(A->type);
    info->variant = A->runs.variant;
    info->nnz = A->nnz;
    info->bytes_per_apply =
        (double)A->nnz * (number + 4) + (double)A->rows * (number + 4) + (double)A->cols * number;
    /* reads z, old; writes p, q: two vectors more than a product, three if p has its own pass */
    info->bytes_per_direction =
        info->bytes_per_apply + (A->runs.fuses ? 2.0 : 3.0) * number * A->rows;
}

static void csr_destroy(void *self)
{
    csr *A = self;
    if (!A) return;
    kry_buffer_release(A->dev, &A->runs.block);
    kry_buffer_release(A->dev, &A->row_ptr);
    kry_buffer_release(A->dev, &A->col);
    kry_buffer_release(A->dev, &A->val);
    kry_host_csr_release(&A->host);
    free(A);
}

static const kry_op_table csr_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "csr",
    .apply = csr_apply,
    .apply_dot = csr_apply_dot,
    .apply_direction = csr_apply_direction,
    .residual = csr_residual,
    .diagonal = csr_diagonal,
    .update = csr_update,
    .describe = csr_describe,
    .destroy = csr_destroy,
};

/* ---- making one --------------------------------------------------------------------------- */

static kry_status get_kernels(csr *A)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    char plain[64], exact[96];

    snprintf(plain, sizeof plain, "-DUNROLL=%d%s", KRY_CSR_UNROLL, A->wide ? " -DOFFSET=long" : "");
    /* The true residual of a single-precision solve is summed in double. */
    snprintf(exact, sizeof exact, "%s%s", plain,
             A->type == KRY_F32 && dev->info.fp64 ? " -DSUM=ACC" : "");
    TRY(kry_kernel_get(dev, "csr", A->type, plain, "csr_apply", &A->apply));
    TRY(kry_kernel_get(dev, "csr", A->type, plain, "csr_apply_dot", &A->apply_dot));
    TRY(kry_kernel_get(dev, "csr", A->type, plain, "csr_apply_direction", &A->apply_direction));
    TRY(kry_kernel_get(dev, "csr", A->type, exact, "csr_residual", &A->residual));
done:
    return st;
}

kry_status kry_csr_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                int64_t cols, const kry_csr_params *params)
{
    kry_status st = KRY_OK;

    CHECK(dev, KRY_ERR_ARGUMENT, "%s: NULL device", who);
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT, "%s: params not made by KRY_CSR",
          who);
    TRY(kry_type_check(who, dev, type));
    CHECK(rows >= 0 && cols >= 0 && rows <= INT32_MAX && cols <= INT32_MAX, KRY_ERR_ARGUMENT,
          "%s: %lld-by-%lld is outside 0 ... 2^31-1", who, (long long)rows, (long long)cols);
    CHECK(params->storage == KRY_GENERAL || rows == cols, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld cannot be symmetric", who, (long long)rows, (long long)cols);
done:
    return st;
}

static kry_status csr_new(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                          csr **out)
{
    kry_status st = kry_alloc(1, sizeof **out, out);
    if (st == KRY_OK)
        **out = (csr){ .dev = dev, .type = type, .rows = rows, .cols = cols, .nnz = nnz };
    return st;
}

static kry_status upload(kry_device *dev, const void *host, size_t bytes, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    TRY(kry_buffer_create(dev, bytes, buffer));
    if (bytes)
        TRY_CL(clEnqueueWriteBuffer(dev->queue, *buffer, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
done:
    return st;
}

/* row_ptr on the device: int while nnz allows, for it is read with every product. */
static kry_status upload_row_ptr(csr *A, const int64_t *row_ptr)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)A->rows + 1;
    cl_int *narrow = NULL;

    A->wide = A->nnz > INT32_MAX;
    if (A->wide) return upload(A->dev, row_ptr, n * sizeof *row_ptr, &A->row_ptr);
    TRY(kry_alloc(n, sizeof *narrow, &narrow));
    for (size_t i = 0; i < n; i++) narrow[i] = (cl_int)row_ptr[i];
    TRY(upload(A->dev, narrow, n * sizeof *narrow, &A->row_ptr));
done:
    free(narrow);
    return st;
}

static kry_status finish(csr **A, unsigned traits, const int64_t *row_ptr, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = { (*A)->rows, (*A)->cols, (*A)->type, traits };

    TRY(kry_csr_runs_create((*A)->dev, (*A)->type, row_ptr, (*A)->rows, &(*A)->runs));
    TRY(get_kernels(*A));
    TRY(kry_op_create((*A)->dev, &csr_table, *A, &shape, op));
    *A = NULL; /* the operator's now */
done:
    return st;
}

kry_status kry_csr_from_host(kry_device *dev, kry_host_csr *host, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    csr *A = NULL;

    *op = NULL;
    TRY(csr_new(dev, host->type, host->rows, host->cols, host->nnz, &A));
    TRY(upload_row_ptr(A, host->row_ptr));
    TRY(upload(dev, host->col, (size_t)host->nnz * sizeof *host->col, &A->col));
    TRY(upload(dev, host->val, (size_t)host->nnz * kry_type_size(host->type), &A->val));
    A->host = *host; /* place and mirror are kept for new values, the rest has done its work */
    memset(host, 0, sizeof *host);
    TRY(finish(&A, traits, A->host.row_ptr, op));
    csr *made = (*op)->self;
    free(made->host.row_ptr), made->host.row_ptr = NULL;
    free(made->host.col), made->host.col = NULL;
    if (made->host.identity) free(made->host.val), made->host.val = NULL;
done:
    csr_destroy(A);
    return st;
}

kry_status kry_csr_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols,
                          const int64_t *row_ptr, const int32_t *col, const void *val,
                          const kry_csr_params *params, kry_op **op)
{
    static const kry_csr_params defaults = { .struct_size = sizeof defaults };
    static const char who[] = "kry_csr_create";
    kry_status st = KRY_OK;
    kry_host_csr A = { 0 };

    *op = NULL;
    if (!params) params = &defaults;
    TRY(kry_csr_check_params(who, dev, type, rows, cols, params));
    CHECK(row_ptr, KRY_ERR_ARGUMENT, "%s: row_ptr is NULL", who);
    CHECK(row_ptr[rows] == 0 || (col && val), KRY_ERR_ARGUMENT, "%s: col or val is NULL", who);
    kry_entries e = { .who = who,
                      .rows = rows,
                      .cols = cols,
                      .nnz = row_ptr[rows],
                      .type = type,
                      .row_ptr = row_ptr,
                      .col = col,
                      .val = val };
    CHECK(e.nnz >= 0, KRY_ERR_ARGUMENT, "%s: row_ptr[%lld] = %lld is negative", who,
          (long long)rows, (long long)e.nnz);
    TRY(kry_host_csr_create(&e, params, &A));
    TRY(kry_csr_from_host(dev, &A, params->traits, op));
done:
    kry_host_csr_release(&A);
    return st;
}

/* ---- wrapping the caller's buffers ---------------------------------------------------------- */

static kry_status check_size(const char *what, cl_mem buffer, int64_t count, size_t size)
{
    kry_status st = KRY_OK;
    size_t bytes = 0;

    TRY_CL(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    CHECK((uint64_t)count <= bytes / size, KRY_ERR_SHAPE,
          "kry_csr_wrap: %s holds %zu bytes, %lld numbers of %zu are needed", what, bytes,
          (long long)count, size);
done:
    return st;
}

/* Read the caller's pattern back and check it as if it had come from the host. */
static kry_status read_pattern(csr *A, int64_t **row_ptr)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)A->rows + 1, bytes = n * (A->wide ? 8 : 4);
    int32_t *col = NULL;

    TRY(kry_alloc(n, sizeof **row_ptr, row_ptr));
    TRY(kry_alloc((size_t)A->nnz, sizeof *col, &col));
    TRY_CL(
        clEnqueueReadBuffer(A->dev->queue, A->row_ptr, CL_TRUE, 0, bytes, *row_ptr, 0, NULL, NULL));
    if (!A->wide) /* widen in place, from the back */
        for (size_t i = n; i-- > 0;) {
            cl_int narrow;
            memcpy(&narrow, (char *)*row_ptr + 4 * i, 4);
            (*row_ptr)[i] = narrow;
        }
    if (A->nnz)
        TRY_CL(clEnqueueReadBuffer(A->dev->queue, A->col, CL_TRUE, 0, (size_t)A->nnz * 4, col, 0,
                                   NULL, NULL));
    CHECK((*row_ptr)[A->rows] == A->nnz, KRY_ERR_ARGUMENT,
          "kry_csr_wrap: row_ptr ends at %lld, but nnz = %lld", (long long)(*row_ptr)[A->rows],
          (long long)A->nnz);
    kry_entries e = { .who = "kry_csr_wrap",
                      .rows = A->rows,
                      .cols = A->cols,
                      .nnz = A->nnz,
                      .type = A->type,
                      .row_ptr = *row_ptr,
                      .col = col };
    TRY(kry_entries_check(&e));
done:
    free(col);
    return st;
}

kry_status kry_csr_wrap(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                        bool wide, cl_mem row_ptr, cl_mem col, cl_mem val,
                        const kry_csr_params *params, kry_op **op)
{
    static const kry_csr_params defaults = { .struct_size = sizeof defaults };
    static const char who[] = "kry_csr_wrap";
    kry_status st = KRY_OK;
    csr *A = NULL;
    int64_t *host_ptr = NULL;

    *op = NULL;
    if (!params) params = &defaults;
    TRY(kry_csr_check_params(who, dev, type, rows, cols, params));
    CHECK(row_ptr && col && val && nnz >= 0, KRY_ERR_ARGUMENT, "%s: NULL, or nnz = %lld", who,
          (long long)nnz);
    CHECK(params->storage == KRY_GENERAL, KRY_ERR_UNSUPPORTED,
          "%s: a wrapped matrix holds all its entries; symmetric storage cannot be wrapped", who);
    TRY(check_size("row_ptr", row_ptr, rows + 1, wide ? 8 : 4));
    TRY(check_size("col", col, nnz, 4));
    TRY(check_size("val", val, nnz, kry_type_size(type)));
    TRY(csr_new(dev, type, rows, cols, nnz, &A));
    A->wide = wide, A->wrapped = true;
    TRY_CL(clRetainMemObject(row_ptr));
    A->row_ptr = row_ptr;
    TRY_CL(clRetainMemObject(col));
    A->col = col;
    TRY_CL(clRetainMemObject(val));
    A->val = val;
    TRY(read_pattern(A, &host_ptr));
    TRY(finish(&A, params->traits, host_ptr, op));
done:
    free(host_ptr);
    csr_destroy(A);
    return st;
}
