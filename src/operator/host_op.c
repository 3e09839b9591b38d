/* host_op.c - operators whose numbers stay on the host. */
#include "operator/host_op.h"
#include <math.h>
#include <stdlib.h>

/* ---- the operator; applied to vectors on a device with double, by way of the host ------- */

static kry_status host_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_host_op *A = self;
    kry_status st = KRY_OK;
    double *in = NULL, *out = NULL, *old = NULL;

    TRY(kry_alloc((size_t)A->n, sizeof *in, &in));
    TRY(kry_alloc((size_t)A->n, sizeof *out, &out));
    TRY(kry_alloc((size_t)A->n, sizeof *old, &old));
    TRY(kry_vec_read(x, in));
    if (beta != 0) TRY(kry_vec_read(y, old));
    A->table->product(A, in, out);
    for (int64_t i = 0; i < A->n; i++)
        out[i] = beta == 0 ? alpha * out[i] : alpha * out[i] + beta * old[i];
    TRY(kry_vec_write(y, out));
done:
    free(old);
    free(out);
    free(in);
    return st;
}

static kry_status host_diagonal(void *self, kry_vec *d)
{
    kry_host_op *A = self;
    kry_status st = KRY_OK;
    double *host = NULL;

    TRY(kry_alloc((size_t)A->n, sizeof *host, &host));
    A->table->diagonal(A, host);
    TRY(kry_vec_write(d, host));
done:
    free(host);
    return st;
}

static kry_status host_update(void *self, const void *values)
{
    kry_host_op *A = self;
    return values ? A->table->update(A, values) : KRY_OK;
}

static kry_status host_twin(void *self, kry_type type, double factor, const double *scale,
                            kry_op **twin)
{
    kry_host_op *A = self;
    return A->table->twin(A, type, factor, scale, twin);
}

static void host_describe(void *self, kry_op_info *info)
{
    info->variant = ((kry_host_op *)self)->table->kind;
}

static void host_destroy(void *self)
{
    kry_host_op *A = self;
    if (A) A->table->destroy(A);
}

static const kry_op_table host_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "host",
    .apply = host_apply,
    .diagonal = host_diagonal,
    .update = host_update,
    .describe = host_describe,
    .destroy = host_destroy,
    .twin = host_twin,
};

kry_host_op *kry_host_op_of(const kry_op *op) { return op->table == &host_table ? op->self : NULL; }

kry_status kry_host_op_create(kry_device *dev, kry_host_op **A, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_op_shape shape = { (*A)->n, (*A)->n, KRY_F64, traits };

    (*A)->dev = dev;
    TRY(kry_op_create(dev, &host_table, *A, &shape, op));
    *A = NULL;
done:
    return st;
}
