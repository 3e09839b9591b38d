/*
 * narrow.c - a preconditioner in single precision for vectors in double: z := double(M single(r)).
 * Kernels: cl/narrow.cl.
 *
 * Storage     two vectors in single precision, beside those of M
 * Per use     reads r (twice with sums) and writes z in double; writes r and reads z in single; and
 *             what M moves. A diagonal M: reads r and the diagonal and writes z in one pass
 * Range       r is scaled by a power of two near its size before it is rounded
 */
#include "operator/op.h"
#include <kry/precond.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct narrow {
    kry_op *M;       /* retained, in single */
    kry_device *dev; /* borrowed from M */
    kry_vec *r, *z;  /* in single; NULL for a diagonal */
    kry_sum *size;   /* sum of |r_i|; NULL for a diagonal */
    cl_mem scale;    /* two doubles: the powers of two of the last use and of this one */
    char variant[80];
} narrow;

/* Launch a kernel with vector loads, compiled for where x and y start. */
static kry_status launch(narrow *N, const char *name, bool diagonal, const kry_vec *x,
                         const kry_vec *y, const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const kry_vec *vectors[] = { x, y };
    char defines[64];

    snprintf(defines, sizeof defines, "%s%s", diagonal ? "-DDIAGONAL " : "",
             kry_vec_alignment(vectors, COUNT(vectors)));
    TRY(kry_kernel_get(N->dev, "narrow", KRY_F64, defines, name, &kernel));
    TRY(kry_launch(N->dev, kernel, kry_groups_for_sums(N->dev, KRY_F64, x->n), args, count));
done:
    return st;
}

/* N->r := r scaled by a power of two. All parts of a team have the same sum, and so the same
 * scale. */
static kry_status narrow_in(narrow *N, const kry_vec *r)
{
    kry_status st = KRY_OK;
    const kry_arg in[] = { ARG(r->n),     ARG(r->buffer),    ARG(r->first),
                           ARG(N->scale), ARG(N->r->buffer), ARG(N->size->buffer) };
    const kry_arg again[] = { ARG(r->n),           ARG(r->buffer),
                              ARG(r->first),       ARG(N->size->buffer),
                              ARG(N->size->count), ARG(N->scale),
                              ARG(N->r->buffer) };

    TRY(launch(N, "narrow_in", false, r, r, in, COUNT(in)));
    N->size->count = (cl_int)kry_groups_for_sums(N->dev, KRY_F64, r->n);
    TRY(kry_layout_reduce(r->layout, &N->size, 1));
    TRY(launch(N, "narrow_again", false, r, r, again, COUNT(again)));
done:
    return st;
}

/* sum NULL: none */
static kry_status run(narrow *N, double alpha, const kry_vec *r, double beta, kry_vec *z,
                      kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kry_op_table *table = N->M->table;
    const kry_vec *d = N->r ? NULL : table->as_diagonal(N->M->self), *from = d ? d : N->z;
    const cl_int sums = sum != NULL;
    const cl_mem part = sum ? sum->buffer : z->buffer;
    kry_scalar a = kry_scalar_of(N->dev, alpha), b = kry_scalar_of(N->dev, beta);
    const kry_arg out[] = { ARG(r->n),          ARG_ACC(N->dev, a), ARG(from->buffer),
                            ARG_ACC(N->dev, b), ARG(z->buffer),     ARG(z->first),
                            ARG(r->buffer),     ARG(r->first),      ARG(N->scale),
                            ARG(sums),          ARG(part) };

    if (sum) sum->count = 0;
    if (r->n == 0) return KRY_OK;
    if (!d) {
        TRY(narrow_in(N, r));
        TRY(table->apply(N->M->self, 1, N->r, 0, N->z));
    }
    TRY(launch(N, "narrow_out", d != NULL, r, z, out, COUNT(out)));
    if (sum) sum->count = (cl_int)kry_groups_for_sums(N->dev, KRY_F64, r->n);
done:
    return st;
}

static kry_status narrow_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return run(self, alpha, x, beta, y, NULL);
}

static kry_status narrow_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    return run(self, 1, r, 0, z, sum);
}

static double narrow_as_scalar(void *self)
{
    const kry_op *M = ((narrow *)self)->M;
    return M->fused->as_scalar ? M->fused->as_scalar(M->self) : 0;
}

static kry_status narrow_update(void *self, const void *values)
{
    return kry_op_update(((narrow *)self)->M, values);
}

static void narrow_describe(void *self, kry_op_info *info)
{
    narrow *N = self;
    const double n = (double)N->M->shape.rows;
    kry_op_info inner;

    kry_op_describe(N->M, &inner);
    snprintf(N->variant, sizeof N->variant, "%s%s%s", inner.kind, *inner.variant ? " " : "",
             inner.variant);
    info->variant = N->variant;
    info->nnz = inner.nnz;
    info->slots = inner.slots;
    if (!N->r) {
        info->bytes_per_apply = 20 * n;
        info->bytes_stored = inner.bytes_stored;
        return;
    }
    if (inner.bytes_stored > 0) info->bytes_stored = inner.bytes_stored + 8 * n;
    if (inner.bytes_per_apply > 0) info->bytes_per_apply = inner.bytes_per_apply + 24 * n;
}

static void narrow_destroy(void *self)
{
    narrow *N = self;
    if (!N) return;
    kry_buffer_release(N->dev, &N->scale);
    kry_sum_release(&N->size);
    kry_vec_release(&N->z);
    kry_vec_release(&N->r);
    kry_op_release(&N->M);
    free(N);
}

static const kry_op_table narrow_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "narrow",
    .apply = narrow_apply,
    .update = narrow_update,
    .describe = narrow_describe,
    .destroy = narrow_destroy,
    .apply_dots = narrow_apply_dots,
};

static const kry_op_fused narrow_fused = { .as_scalar = narrow_as_scalar };

kry_status kry_precond_narrow(const kry_op *M, kry_op **out)
{
    static const double one[2] = { 1, 1 };
    kry_status st = KRY_OK;
    narrow *N = NULL;

    *out = NULL;
    CHECK(M, KRY_ERR_ARGUMENT, "kry_precond_narrow: NULL");
    kry_op_shape shape = M->shape;
    TRY(kry_op_check_square("kry_precond_narrow", M));
    CHECK(shape.type == KRY_F32, KRY_ERR_TYPE,
          "kry_precond_narrow: '%s' is in double; make M in single", M->table->kind);
    TRY(kry_type_check("kry_precond_narrow", M->dev, KRY_F64));
    TRY(kry_alloc(1, sizeof *N, &N));
    N->M = kry_op_retain(M);
    N->dev = M->dev;
    TRY(kry_buffer_upload(N->dev, sizeof one, one, &N->scale));
    if (!M->table->as_diagonal) {
        TRY(kry_vec_create(N->dev, KRY_F32, shape.rows, 1, &N->z));
        TRY(kry_sum_create(N->dev, 1, &N->size));
        TRY(kry_vec_create(N->dev, KRY_F32, shape.rows, 1, &N->r));
    }
    shape.type = KRY_F64;
    TRY(kry_op_create_fused(M->dev, &narrow_table, &narrow_fused, N, &shape, out));
    N = NULL;
done:
    narrow_destroy(N);
    return st;
}
