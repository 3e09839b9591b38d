/*
 * block_jacobi.c - M := inverse of the diagonal blocks of `rows` consecutive rows each.
 *
 * Storage     rows n numbers, twice while new ones are made
 * Per use     rows + 2 words: reads the blocks and r, writes z; sums in the same pass
 */
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <float.h>
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = KRY_BLOCK_MOST, USUAL = 2 }; /* rows of a block */

typedef struct block_jacobi {
    kry_op *A; /* retained */
    int rows;
    bool symmetric;
    cl_mem inverse; /* rows n numbers, see cl/precond/block_jacobi.cl */
    kryi_kernel *kernel;
    char variant[32];
} block_jacobi;

typedef struct block {
    int size;
    double a[MOST][MOST];
} block;

/* ---- the inverse of a block ------------------------------------------------------------------ */

/* Scale by powers of two that bring the largest entry of each row, then of each column, near one:
 * what is small afterwards is small by cancellation. false: a row or column is zero. */
static bool equilibrate(block *B, double *by_row, double *by_col)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < B->size; i++) {
            double most = 0, *by = side ? by_col : by_row;
            int exponent;
            for (int j = 0; j < B->size; j++)
                most = fmax(most, fabs(side ? B->a[j][i] : B->a[i][j]));
            if (!(most > 0)) return false;
            frexp(most, &exponent);
            by[i] = ldexp(1, -exponent);
            for (int j = 0; j < B->size; j++) *(side ? &B->a[j][i] : &B->a[i][j]) *= by[i];
        }
    return true;
}

static void swap_rows(block *B, int i, int k)
{
    double row[MOST];
    memcpy(row, B->a[i], sizeof row);
    memcpy(B->a[i], B->a[k], sizeof row);
    memcpy(B->a[k], row, sizeof row);
}

/* Gauss-Jordan elimination with the largest pivot of each column: I becomes the inverse of B. */
static bool eliminate(block *B, block *I)
{
    int n = B->size;

    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(B->a[i][k]) > fabs(B->a[best][k])) best = i;
        if (!(fabs(B->a[best][k]) > 4 * n * DBL_EPSILON)) return false;
        swap_rows(B, k, best), swap_rows(I, k, best);
        double pivot = B->a[k][k];
        for (int j = 0; j < n; j++) B->a[k][j] /= pivot, I->a[k][j] /= pivot;
        for (int i = 0; i < n; i++) {
            double by = B->a[i][k];
            if (i == k || by == 0) continue;
            for (int j = 0; j < n; j++)
                B->a[i][j] -= by * B->a[k][j], I->a[i][j] -= by * I->a[k][j];
        }
    }
    return true;
}

static void symmetrise(block *B)
{
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < i; j++) B->a[i][j] = B->a[j][i] = (B->a[i][j] + B->a[j][i]) / 2;
}

/* B := its inverse; symmetric: that of its symmetric part, symmetric to the bit. false: it is
 * singular. */
static bool invert(block *B, bool symmetric)
{
    double by_row[MOST] = { 0 }, by_col[MOST] = { 0 };
    block I = { .size = B->size };

    if (symmetric) symmetrise(B);
    if (!equilibrate(B, by_row, by_col)) return false;
    for (int i = 0; i < B->size; i++) I.a[i][i] = 1;
    if (!eliminate(B, &I)) return false;
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++) B->a[i][j] = by_col[i] * I.a[i][j] * by_row[j];
    if (symmetric) symmetrise(B);
    return true;
}

/* ---- blocks of the matrix ---------------------------------------------------------------------- */

/* The block that begins at row `first`. */
static void cut_out(const kryi_csr *R, int64_t first, int rows, block *B)
{
    const double *val = R->val;

    memset(B, 0, sizeof *B);
    B->size = first + rows <= R->rows ? rows : (int)(R->rows - first);
    for (int i = 0; i < B->size; i++)
        for (int64_t e = R->row_ptr[first + i]; e < R->row_ptr[first + i + 1]; e++)
            if (R->col[e] >= first && R->col[e] < first + B->size)
                B->a[i][R->col[e] - first] = val[e];
}

static bool all_symmetric(const kryi_csr *R, int rows)
{
    block B;
    for (int64_t first = 0; first < R->rows; first += rows) {
        cut_out(R, first, rows, &B);
        for (int i = 0; i < B.size; i++)
            for (int j = 0; j < i; j++)
                if (B.a[i][j] != B.a[j][i]) return false;
    }
    return true;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool fits(kry_type type, const block *B)
{
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++)
            if (!isfinite(type == KRY_F32 ? (double)(float)B->a[i][j] : B->a[i][j])) return false;
    return true;
}

static void put_block(const block_jacobi *M, const block *B, int64_t first, void *host)
{
    bool by_rows = M->A->dev->info.cpu_kernels;
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++)
            kryi_number_put(M->A->shape.type, host,
                            by_rows ? (first + i) * M->rows + j : j * M->A->shape.rows + first + i,
                            B->a[i][j]);
}

static kry_status invert_all(const block_jacobi *M, const kryi_csr *R, void *host)
{
    kry_status st = KRY_OK;
    block B;

    for (int64_t first = 0; first < R->rows; first += M->rows) {
        cut_out(R, first, M->rows, &B);
        CHECK(invert(&B, M->symmetric) && fits(M->A->shape.type, &B), KRY_ERR_SINGULAR,
              "kry_block_jacobi_create: the block of rows %lld to %lld of '%s' is singular" COUNTED,
              ROW(first), ROW(first + B.size - 1), M->A->table->kind, kryi_first_row);
        put_block(M, &B, first, host);
    }
done:
    return st;
}

/* The old blocks stay until the new ones are there. */
static kry_status make_blocks(block_jacobi *M, const kryi_csr *R)
{
    kry_status st = KRY_OK;
    kry_device *dev = M->A->dev;
    size_t numbers = (size_t)R->rows * (size_t)M->rows, word = kry_type_size(M->A->shape.type);
    void *host = NULL;
    cl_mem next = NULL;

    if (R->rows == 0) return KRY_OK;
    TRY(kryi_alloc(numbers, word, &host));
    TRY(invert_all(M, R, host));
    TRY(kryi_buffer_upload(dev, numbers * word, host, &next));
    kryi_buffer_release(dev, &M->inverse);
    M->inverse = next;
done:
    free(host);
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
    kryi_scalar a = kryi_scalar_of(dev, alpha), b = kryi_scalar_of(dev, beta);
    const cl_mem part = sum ? sum->buffer : y->buffer;
    int64_t groups =
        sum ? kryi_groups_for_sums(dev, y->type, y->n) : kryi_groups_for(dev, y->type, y->n);
    const kry_arg args[] = { ARG(y->n),       ARG(rows),       ARG(by_row), ARG(by_col),
                             ARG(M->inverse), ARG_ACC(dev, a), ARG_VEC(x),  ARG(x->ld),
                             ARG_ACC(dev, b), ARG_VEC(y),      ARG(y->ld),  ARG(sums),
                             ARG(part) };

    if (sum) sum->count = y->n ? (cl_int)groups : 0;
    if (y->n == 0) return KRY_OK;
    return kryi_launch_range(dev, M->kernel, (kryi_range){ groups, .columns = y->k }, args,
                             COUNT(args));
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

static kry_status block_jacobi_renew(void *self)
{
    block_jacobi *M = self;
    kry_status st = KRY_OK;
    kryi_csr R = { 0 };

    TRY(kryi_rows_read("kry_block_jacobi_create", M->A, &R));
    TRY(make_blocks(M, &R));
done:
    kryi_csr_release(&R);
    return st;
}

static void block_jacobi_describe(void *self, kry_op_info *info)
{
    const block_jacobi *M = self;
    const double n = (double)M->A->shape.rows, word = (double)kry_type_size(M->A->shape.type);

    info->variant = M->variant;
    info->bytes_stored = M->rows * n * word;
    info->bytes_per_apply = info->bytes_stored + 2 * n * word;
}

static void block_jacobi_destroy(void *self)
{
    block_jacobi *M = self;
    if (!M) return;
    kryi_buffer_release(M->A->dev, &M->inverse);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table block_jacobi_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "block-jacobi",
    .apply = block_jacobi_apply,
    .apply_block = block_jacobi_apply,
    .describe = block_jacobi_describe,
    .destroy = block_jacobi_destroy,
    .apply_dots = block_jacobi_apply_dots,
};
static const kryi_op_fused block_jacobi_fused = { .renew = block_jacobi_renew };

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_block_jacobi_params *p = params;
    block_jacobi *M = NULL;
    kryi_csr R = { 0 };

    TRY(kryi_rows_read("kry_block_jacobi_create", A, &R));
    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->rows = p->rows ? p->rows : kryi_matrix_node(A, &R);
    if (M->rows == 1 && !p->rows) M->rows = USUAL;
    M->symmetric = (A->shape.traits & (KRY_SYMMETRIC | KRY_SINGULAR)) || all_symmetric(&R, M->rows);
    snprintf(M->variant, sizeof M->variant, "blocks of %d", M->rows);
    TRY(kryi_kernel_get(A->dev, "block_jacobi", A->shape.type, "", "block_jacobi", &M->kernel));
    TRY(make_blocks(M, &R));
    kry_op_shape shape = A->shape;
    shape.traits = (A->shape.traits & KRY_POSITIVE) | (M->symmetric ? KRY_SYMMETRIC : 0);
    TRY(kryi_op_create_fused(A->dev, &block_jacobi_table, &block_jacobi_fused, M, &shape, out));
    M = NULL;
done:
    kryi_csr_release(&R);
    block_jacobi_destroy(M);
    return st;
}

#define PARAMS kry_block_jacobi_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT, rows), KRY_WORD("rows", WHOLE, "=N", "of a block (default: by the pattern)"),
      KRY_CLOSED(1, MOST) },
    { 0 },
};

const kryi_constructor kryi_block_jacobi_precond = { "kry_block_jacobi_create", "KRY_BLOCK_JACOBI",
                                                     sizeof(kry_block_jacobi_params), fields,
                                                     .create = create };

kry_status kry_block_jacobi_create(const kry_op *A, const kry_block_jacobi_params *params,
                                   kry_op **out)
{
    return kryi_construct(&kryi_block_jacobi_precond, A, params, out);
}
