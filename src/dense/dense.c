/* dense.c - a dense matrix as an operator, its transpose, and what the other files ask of dense matrices:
 * whether their numbers are finite, and how large they are. Kernels: cl/dense/dense.cl, cl/dense/gemm.cl. */
#include "dense/dense.h"
#include <math.h>
#include <stdlib.h>

/* ---- checks ------------------------------------------------------------------------------------- */

kry_status kryi_dense_check_block(const char *who, const char *name, const kry_vec *A)
{
    kry_status st = KRY_OK;

    CHECK(A, KRY_ERR_ARGUMENT, "%s: %s is NULL", who, name);
    CHECK(!A->split, KRY_ERR_UNSUPPORTED,
          "%s: %s lies on several devices, and dense matrices are for one", who, name);
done:
    return st;
}

kry_status kryi_dense_check(const char *who, const char *name, const kry_vec *A)
{
    kry_status st = kryi_dense_check_block(who, name, A);
    return st < 0 ? st : kryi_vec_check_packed(who, name, A);
}

kry_status kryi_dense_check_two(const char *who, const char *a, const kry_vec *A, const char *b,
                                const kry_vec *B, bool or_equal)
{
    kry_status st = KRY_OK;

    CHECK(A->type == B->type, KRY_ERR_TYPE, "%s: %s is %s, %s is %s", who, a,
          kry_type_name(A->type), b, kry_type_name(B->type));
    CHECK(A->dev == B->dev, KRY_ERR_ARGUMENT, "%s: %s and %s live on different devices", who, a, b);
    CHECK(!kryi_vec_overlap(A, B) || (or_equal && A->first == B->first), KRY_ERR_ARGUMENT,
          "%s: %s and %s overlap", who, a, b);
done:
    return st;
}

/* ---- scratch storage --------------------------------------------------------------------------- */

typedef struct room {
    cl_mem buffer;
    size_t bytes;
} room;

static void release_room(kry_device *dev, void *kept)
{
    room *r = kept;
    kryi_buffer_release(dev, &r->buffer);
    r->bytes = 0;
}

static const kryi_keeper room_keeper = { sizeof(room), release_room };

kry_status kryi_room_reserve(kry_device *dev, size_t bytes, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    room *r;

    TRY(kryi_device_keep(dev, &room_keeper, &r));
    if (!r->buffer || r->bytes < bytes) {
        release_room(dev, r); /* there may not be room for both */
        TRY(kryi_buffer_create(dev, bytes, &r->buffer));
        r->bytes = bytes;
    }
    *buffer = r->buffer;
done:
    return st;
}

void kryi_room_trim(kry_device *dev)
{
    enum { KEPT_BYTES = 128 << 20 };
    room *r = kryi_device_kept(dev, &room_keeper);
    if (r && r->bytes > KEPT_BYTES) release_room(dev, r);
}

/* ---- small kernels ------------------------------------------------------------------------------ */

kry_status kryi_block_fill(const kryi_block *B, double value)
{
    kryi_scalar v = kryi_scalar_of(B->dev, value);
    const kry_arg args[] = { ARG(B->rows), ARG(B->cols), ARG_ACC(B->dev, v), ARG_VEC(B),
                             ARG(B->ld) };

    if (B->rows == 0 || B->cols == 0) return KRY_OK;
    return kryi_run(B->dev, "dense", B->type, "", "dense_fill",
                    kryi_groups_for(B->dev, B->type, B->rows * B->cols), args, COUNT(args));
}

kry_status kryi_block_diagonal(const kryi_block *B, kry_vec *d)
{
    const kry_arg args[] = { ARG(d->n), ARG_VEC(B), ARG(B->ld), ARG_VEC(d) };

    if (d->n == 0) return KRY_OK;
    return kryi_run(d->dev, "dense", d->type, "", "dense_diagonal",
                    kryi_groups_for(d->dev, d->type, d->n), args, COUNT(args));
}

/* The sums of magnitudes along the columns or the rows, on the host. */
static kry_status sums_of(const kry_vec *A, bool of_rows, double **sums)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const int64_t count = of_rows ? A->n : A->k,
                  groups = of_rows ? kryi_groups_for(dev, A->type, A->n * 16)
                                   : kryi_groups_at_most(dev, A->k);
    const kry_type acc = kryi_acc_type(dev);
    cl_mem buffer = NULL;
    void *host = NULL;
    double *out = NULL;

    *sums = NULL;
    TRY(kryi_alloc((size_t)count, sizeof *out, &out));
    TRY(kryi_alloc((size_t)count, kry_type_size(acc), &host));
    if (A->n > 0 && A->k > 0) {
        TRY(kryi_buffer_create(dev, (size_t)count * kry_type_size(acc), &buffer));
        const kry_arg args[] = { ARG(A->n), ARG(A->k), ARG_VEC(A), ARG(A->n), ARG(buffer) };
        TRY(kryi_run(dev, "dense", A->type, "", of_rows ? "dense_row_sums" : "dense_column_sums",
                     groups, args, COUNT(args)));
        TRY(kryi_buffer_read(dev, buffer, 0, (size_t)count * kry_type_size(acc), host));
    }
    for (int64_t i = 0; i < count; i++) out[i] = kryi_number_at(acc, host, i);
    *sums = out;
    out = NULL;
done:
    free(out), free(host);
    kryi_buffer_release(dev, &buffer);
    return st;
}

/* A column whose sum is not finite: because of an entry, or because the sum is too large. */
static kry_status look_at_column(const char *who, const kry_vec *A, int64_t j)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    const kry_vec column = kryi_vec_column(A, j);

    TRY(kryi_alloc((size_t)A->n, kry_type_size(A->type), &host));
    TRY(kry_vec_read(&column, host));
    for (int64_t i = 0; i < A->n; i++) {
        double v = kryi_number_at(A->type, host, i);
        CHECK(isfinite(v), KRY_ERR_ARGUMENT, "%s: entry (%lld, %lld) is %g", who, (long long)i,
              (long long)j, v);
    }
done:
    free(host);
    return st;
}

kry_status kryi_dense_column_sums(const char *who, const kry_vec *A, double **sums)
{
    kry_status st = KRY_OK;
    double *s = NULL;

    *sums = NULL;
    TRY(sums_of(A, false, &s));
    for (int64_t j = 0; j < A->k; j++)
        if (!isfinite(s[j])) TRY(look_at_column(who, A, j));
    *sums = s;
    s = NULL;
done:
    free(s);
    return st;
}

kry_status kryi_dense_row_norm(const kry_vec *A, double *norm)
{
    kry_status st = KRY_OK;
    double *s = NULL;

    *norm = 0;
    TRY(sums_of(A, true, &s));
    for (int64_t i = 0; i < A->n; i++) *norm = fmax(*norm, s[i]);
done:
    free(s);
    return st;
}

/* ---- At := A' ---------------------------------------------------------------------------------- */

/* Squares of this side pass through local memory: MOST of cl/dense/dense.cl, or less. */
static int side_of(const kry_device *dev)
{
    int side = 16;
    while (side > 1 && side * side > dev->info.max_group) side /= 2;
    return side;
}

static kry_status transpose(const kry_vec *A, kry_vec *At)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    kryi_kernel *kernel;
    const cl_int side = side_of(dev);
    const bool cpu = dev->info.cpu_kernels;
    const int64_t squares = ((A->n + side - 1) / side) * ((A->k + side - 1) / side);
    const kry_arg args[] = { ARG(A->n), ARG(A->k),   ARG(side), ARG_VEC(A),
                             ARG(A->n), ARG_VEC(At), ARG(At->n) };

    TRY(kryi_kernel_get(dev, "dense", A->type, "", "dense_transpose", &kernel));
    TRY(kryi_launch_range(
        dev, kernel,
        (kryi_range){ kryi_groups_at_most(dev, squares), .size = cpu ? 1 : side * side }, args,
        COUNT(args)));
done:
    return st;
}

kry_status kry_vec_transpose(const kry_vec *A, kry_vec *At)
{
    static const char who[] = "kry_vec_transpose";
    kry_status st = KRY_OK;

    TRY(kryi_dense_check(who, "A", A));
    TRY(kryi_dense_check(who, "At", At));
    CHECK(A->n == At->k && A->k == At->n, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, but At %lld-by-%lld", who, (long long)A->n, (long long)A->k,
          (long long)At->n, (long long)At->k);
    TRY(kryi_dense_check_two(who, "A", A, "At", At, false));
    if (A->n > 0) TRY(transpose(A, At));
done:
    return st;
}

/* ---- the operator ------------------------------------------------------------------------------- */

/* What is behind the operator is the matrix itself, retained. */
static kry_status multiply(const kry_vec *A, bool transposed, double alpha, const kry_vec *x,
                           double beta, kry_vec *y)
{
    return kryi_gemm_run(&(kryi_gemm){ .ta = transposed,
                                       .alpha = alpha,
                                       .A = kryi_block_of(A),
                                       .B = kryi_block_of(x),
                                       .beta = beta,
                                       .C = kryi_block_of(y) });
}

static kry_status dense_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return multiply(self, false, alpha, x, beta, y);
}

static kry_status dense_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                        kry_vec *y)
{
    return multiply(self, true, alpha, x, beta, y);
}

static kry_status dense_diagonal(void *self, kry_vec *d)
{
    const kryi_block A = kryi_block_of(self);
    return kryi_block_diagonal(&A, d);
}

static kry_status dense_update(void *self, const void *values)
{
    return values ? kry_vec_write(self, values) : KRY_OK;
}

static void dense_describe(void *self, kry_op_info *info)
{
    const kry_vec *A = self;
    const double word = (double)kry_type_size(A->type), m = (double)A->n, n = (double)A->k;

    info->nnz = info->slots = A->n * A->k;
    info->bytes_stored = m * n * word;
    info->bytes_per_apply = (m * n + m + n) * word;
}

static void dense_destroy(void *self)
{
    kry_vec *A = self;
    kry_vec_release(&A);
}

static const kry_op_table dense_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "dense",
    .apply = dense_apply,
    .apply_block = dense_apply,
    .apply_transpose = dense_apply_transpose,
    .diagonal = dense_diagonal,
    .update = dense_update,
    .describe = dense_describe,
    .destroy = dense_destroy,
};

kry_status kry_dense_create(const kry_vec *A, unsigned traits, kry_op **op)
{
    const unsigned known = KRY_SYMMETRIC | KRY_POSITIVE | KRY_SINGULAR;
    kry_status st = KRY_OK;
    kry_vec *kept = NULL;

    if (op) *op = NULL;
    TRY(GIVEN(op));
    TRY(kryi_dense_check("kry_dense_create", "A", A));
    CHECK(!(traits & ~known), KRY_ERR_ARGUMENT, "kry_dense_create: %u is not a set of traits",
          traits);
    CHECK(A->n == A->k || !traits, KRY_ERR_SHAPE,
          "kry_dense_create: a matrix of %lld-by-%lld has none of these traits", (long long)A->n,
          (long long)A->k);
    kept = kry_vec_retain((kry_vec *)A); /* its numbers change only by kry_op_update */
    TRY(kry_op_create(
        A->dev, &dense_table, kept,
        &(kry_op_shape){ .rows = A->n, .cols = A->k, .type = A->type, .traits = traits }, op));
    kept = NULL;
done:
    kry_vec_release(&kept);
    return st;
}
