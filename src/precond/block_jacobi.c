/*
 * block_jacobi.c - M := inverse of the diagonal blocks of `rows` consecutive rows each.
 *
 * Storage     rows n numbers, twice while new ones are made; in single or as halves, then with a
 *             power of two for each block
 * Per use     rows + 2 words: reads the blocks and r, writes z; sums in the same pass
 * Positive    if A is: its diagonal blocks are, then
 * Source      Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 4.1.1
 */
#include "operator/op_parts.h"
#include "precond/rows.h"
#include "precond/small_block.h"
#include "precond/storage.h"
#include <float.h>
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = KRY_MOST_BLOCK, USUAL = 2 }; /* rows of a block */

typedef struct block_jacobi {
    kry_op *A; /* retained */
    int rows;
    bool symmetric;
    kry_store storage;
    cl_mem inverse; /* rows n numbers, see cl/block_jacobi.cl */
    cl_mem scale;   /* of each block; a word where they are stored as given */
    kry_kernel *kernel;
    char variant[32];
} block_jacobi;

/* ---- blocks on the host ---------------------------------------------------------------------- */

/* The block that begins at row `first`. */
static void cut_out(const kry_sparse *R, int64_t first, int rows, kry_small_block *B)
{
    const double *val = R->val;

    memset(B, 0, sizeof *B);
    B->size = first + rows <= R->rows ? rows : (int)(R->rows - first);
    for (int i = 0; i < B->size; i++)
        for (int64_t e = R->row_ptr[first + i]; e < R->row_ptr[first + i + 1]; e++)
            if (R->col[e] >= first && R->col[e] < first + B->size)
                B->a[i][R->col[e] - first] = val[e];
}

static bool all_symmetric(const kry_sparse *R, int rows)
{
    kry_small_block B;
    for (int64_t first = 0; first < R->rows; first += rows) {
        cut_out(R, first, rows, &B);
        for (int i = 0; i < B.size; i++)
            for (int j = 0; j < i; j++)
                if (B.a[i][j] != B.a[j][i]) return false;
    }
    return true;
}

static bool same_pattern(const kry_sparse *R, int64_t i, int64_t k)
{
    int64_t length = R->row_ptr[i + 1] - R->row_ptr[i];
    return R->row_ptr[k + 1] - R->row_ptr[k] == length &&
           !memcmp(R->col + R->row_ptr[i], R->col + R->row_ptr[k], (size_t)length * sizeof *R->col);
}

/* The unknowns of a node of finite elements share their columns: the size of which all groups of
 * rows with one pattern are multiples. */
static int rows_by_pattern(const kry_sparse *R)
{
    int64_t common = R->rows, begin = 0;

    for (int64_t i = 1; i < R->rows && common > 1; i++) {
        if (same_pattern(R, i - 1, i)) continue;
        for (int64_t rest = i - begin; rest;) { /* Euclid */
            int64_t left = common % rest;
            common = rest, rest = left;
        }
        begin = i;
    }
    for (int rows = MOST; rows > 1; rows--)
        if (common % rows == 0) return rows;
    return USUAL;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool fits(kry_type type, const kry_small_block *B)
{
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++)
            if (!isfinite(type == KRY_F32 ? (double)(float)B->a[i][j] : B->a[i][j])) return false;
    return true;
}

/* rounded := B / scale as it is stored, with its diagonal raised by the factor 1 + lift. */
static void round_entries(const block_jacobi *M, const kry_small_block *B, double scale,
                          double lift, kry_small_block *rounded)
{
    rounded->size = B->size;
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++)
            rounded->a[i][j] = kry_storage_round(M->storage, M->A->shape.type,
                                                 B->a[i][j] / scale * (i == j ? 1 + lift : 1));
}

/* B := what is stored of it, and the scale. A positive definite block stays so: its diagonal is
 * raised until the rounded one is, too. false: the range of its diagonal is too large. */
static bool round_block(const block_jacobi *M, kry_small_block *B, double *scale)
{
    const bool positive = M->symmetric && kry_small_block_is_positive(B);
    double most = 0, lift = 0;
    kry_small_block rounded;

    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++) most = fmax(most, fabs(B->a[i][j]));
    *scale = 2 * kry_storage_scale(M->storage, M->A->shape.type, most);
    for (int i = 0; i < B->size; i++)
        if (positive && !kry_storage_holds(M->storage, B->a[i][i] / *scale)) return false;
    round_entries(M, B, *scale, lift, &rounded);
    while (positive && !kry_small_block_is_positive(&rounded)) {
        lift = lift > 0 ? 2 * lift : 1.0 / 1024;
        if (lift > 1) return false;
        round_entries(M, B, *scale, lift, &rounded);
    }
    *B = rounded;
    return fits(M->A->shape.type, B);
}

static void put_block(const block_jacobi *M, const kry_small_block *B, int64_t first, void *host)
{
    bool by_rows = M->A->dev->info.cpu_kernels;
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++)
            kry_storage_put(M->storage, M->A->shape.type, host,
                            by_rows ? (first + i) * M->rows + j : j * M->A->shape.rows + first + i,
                            B->a[i][j]);
}

static kry_status invert_all(const block_jacobi *M, const kry_sparse *R, void *host, void *scales)
{
    kry_status st = KRY_OK;
    kry_small_block B;
    double scale = 1;

    for (int64_t first = 0; first < R->rows; first += M->rows) {
        cut_out(R, first, M->rows, &B);
        CHECK(kry_small_block_invert(&B, M->symmetric) && fits(M->A->shape.type, &B),
              KRY_ERR_SINGULAR,
              "kry_block_jacobi_create: the block of rows %lld to %lld of '%s' is singular",
              (long long)first, (long long)first + B.size - 1, M->A->table->kind);
        CHECK(M->storage == KRY_STORE_GIVEN || round_block(M, &B, &scale), KRY_ERR_UNSUPPORTED,
              "kry_block_jacobi_create: the inverse of the block of rows %lld to %lld of '%s' has "
              "too large a range for storage '%s'",
              (long long)first, (long long)first + B.size - 1, M->A->table->kind,
              kry_storage_name(M->storage));
        put_block(M, &B, first, host);
        kry_number_put(M->A->shape.type, scales, first / M->rows, scale);
    }
done:
    return st;
}

/* The old blocks stay until the new ones are there. */
static kry_status make_blocks(block_jacobi *M, const kry_sparse *R)
{
    kry_status st = KRY_OK;
    kry_device *dev = M->A->dev;
    size_t numbers = (size_t)R->rows * (size_t)M->rows, word = kry_type_size(M->A->shape.type);
    size_t size = kry_storage_size(M->storage, M->A->shape.type);
    size_t blocks = ((size_t)R->rows + (size_t)M->rows - 1) / (size_t)M->rows;
    void *host = NULL, *scales = NULL;
    cl_mem next = NULL, scale = NULL;

    if (R->rows == 0) return KRY_OK;
    TRY(kry_alloc(numbers, size, &host));
    TRY(kry_alloc(blocks, word, &scales));
    TRY(invert_all(M, R, host, scales));
    if (M->storage == KRY_STORE_GIVEN) blocks = 1; /* not read */
    TRY(kry_buffer_upload(dev, numbers * size, host, &next));
    TRY(kry_buffer_upload(dev, blocks * word, scales, &scale));
    kry_buffer_release(dev, &M->inverse);
    kry_buffer_release(dev, &M->scale);
    M->inverse = next, next = NULL;
    M->scale = scale, scale = NULL;
done:
    kry_buffer_release(dev, &scale);
    kry_buffer_release(dev, &next);
    free(scales), free(host);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static kry_status run(block_jacobi *M, double alpha, const kry_vec *x, double beta, kry_vec *y,
                      kry_sum *sum)
{
    kry_device *dev = y->dev;
    const cl_int rows = M->rows, sums = sum != NULL;
    const cl_long by_row = dev->info.cpu_kernels ? rows : 1,
                  by_col = dev->info.cpu_kernels ? 1 : y->n;
    kry_scalar a = kry_scalar_of(dev, alpha), b = kry_scalar_of(dev, beta);
    const cl_mem part = sum ? sum->buffer : y->buffer;
    int64_t groups =
        sum ? kry_groups_for_sums(dev, y->type, y->n) : kry_groups_for(dev, y->type, y->n);
    const kry_arg args[] = { ARG(y->n),       ARG(rows),       ARG(by_row),     ARG(by_col),
                             ARG(M->inverse), ARG(M->scale),   ARG_ACC(dev, a), ARG(x->buffer),
                             ARG(x->first),   ARG_ACC(dev, b), ARG(y->buffer),  ARG(y->first),
                             ARG(sums),       ARG(part) };

    if (sum) sum->count = y->n ? (cl_int)groups : 0;
    if (y->n == 0) return KRY_OK;
    return kry_launch(dev, M->kernel, groups, args, COUNT(args));
}

static kry_status block_jacobi_apply(void *self, double alpha, const kry_vec *x, double beta,
                                     kry_vec *y)
{
    return run(self, alpha, x, beta, y, NULL);
}

static kry_status block_jacobi_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    return run(self, 1, r, 0, z, sum);
}

static kry_status block_jacobi_update(void *self, const void *values)
{
    block_jacobi *M = self;
    kry_status st = KRY_OK;
    kry_sparse R = { 0 };

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'block-jacobi' takes no values");
    TRY(kry_rows_read("kry_block_jacobi_create", M->A, &R));
    TRY(make_blocks(M, &R));
done:
    kry_sparse_release(&R);
    return st;
}

static void block_jacobi_describe(void *self, kry_op_info *info)
{
    const block_jacobi *M = self;
    const double n = (double)M->A->shape.rows, word = (double)kry_type_size(M->A->shape.type);
    const double given = M->storage == KRY_STORE_GIVEN ? 0 : n / M->rows * word;

    info->variant = M->variant;
    info->bytes_stored =
        M->rows * n * (double)kry_storage_size(M->storage, M->A->shape.type) + given;
    info->bytes_per_apply = info->bytes_stored + 2 * n * word;
}

static void block_jacobi_destroy(void *self)
{
    block_jacobi *M = self;
    if (!M) return;
    kry_buffer_release(M->A->dev, &M->inverse);
    kry_buffer_release(M->A->dev, &M->scale);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table block_jacobi_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "block-jacobi",
    .apply = block_jacobi_apply,
    .update = block_jacobi_update,
    .describe = block_jacobi_describe,
    .destroy = block_jacobi_destroy,
    .apply_dots = block_jacobi_apply_dots,
};

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_block_jacobi_params *p = params;

    (void)A;
    CHECK(p->rows >= 0 && p->rows <= MOST, KRY_ERR_ARGUMENT,
          "kry_block_jacobi_create: blocks of %d rows are not in 1 ... %d", p->rows, (int)MOST);
    TRY(kry_storage_check("kry_block_jacobi_create", p->storage));
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_block_jacobi_params *p = params;
    block_jacobi *M = NULL;
    kry_sparse R = { 0 };

    TRY(kry_rows_read("kry_block_jacobi_create", A, &R));
    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->rows = p->rows ? p->rows : rows_by_pattern(&R);
    M->symmetric = (A->shape.traits & (KRY_SYMMETRIC | KRY_SINGULAR)) || all_symmetric(&R, M->rows);
    /* single of single is as given */
    M->storage =
        p->storage == KRY_STORE_SINGLE && A->shape.type == KRY_F32 ? KRY_STORE_GIVEN : p->storage;
    snprintf(M->variant, sizeof M->variant, "blocks of %d%s%s", M->rows, p->storage ? " " : "",
             p->storage ? kry_storage_name(p->storage) : "");
    TRY(kry_kernel_get(A->dev, "block_jacobi", A->shape.type,
                       kry_storage_defines(M->storage, A->shape.type), "block_jacobi", &M->kernel));
    TRY(make_blocks(M, &R));
    kry_op_shape shape = A->shape;
    shape.traits = (A->shape.traits & KRY_POSITIVE) | (M->symmetric ? KRY_SYMMETRIC : 0);
    TRY(kry_op_create(A->dev, &block_jacobi_table, M, &shape, out));
    M = NULL;
done:
    kry_sparse_release(&R);
    block_jacobi_destroy(M);
    return st;
}

kry_status kry_block_jacobi_create(const kry_op *A, const kry_block_jacobi_params *params,
                                   kry_op **out)
{
    static const kry_constructor how = { "kry_block_jacobi_create", "KRY_BLOCK_JACOBI",
                                         sizeof *params, .check = check, .create = create };
    return kry_construct(&how, A, params ? params : KRY_BLOCK_JACOBI(), out);
}
