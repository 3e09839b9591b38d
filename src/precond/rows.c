/* rows.c - a matrix on the host: read back from the device, checked, made symmetric. */
#include "precond/rows.h"
#include "grid/stencil.h"
#include "matrix/coupled.h"
#include "matrix/matrix.h"
#include <kry/formats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status kry_rows_create(int64_t n, int64_t nnz, kry_rows *R)
{
    kry_status st = KRY_OK;

    *R = (kry_rows){ .n = n, .nnz = nnz };
    TRY(kry_alloc((size_t)n + 1, sizeof *R->row_ptr, &R->row_ptr));
    TRY(kry_alloc((size_t)nnz, sizeof *R->col, &R->col));
    TRY(kry_alloc((size_t)nnz, sizeof *R->val, &R->val));
done:
    if (st < 0) kry_rows_release(R);
    return st;
}

void kry_rows_release(kry_rows *R)
{
    free(R->row_ptr);
    free(R->col);
    free(R->val);
    memset(R, 0, sizeof *R);
}

bool kry_has_rows(const kry_op *A)
{
    A = kry_op_own(A);
    return kry_matrix_of(A) || kry_stencil_of(A);
}

/* ---- reading ------------------------------------------------------------------------------ */

kry_status kry_raw_rows_read(const kry_op *A, kry_raw_rows *R)
{
    kry_status st = KRY_OK;
    kry_op *matrix = NULL;
    kry_op_info info;

    *R = (kry_raw_rows){ .n = A->shape.rows };
    A = kry_op_own(A);
    if (kry_stencil_of(A))
        TRY(kry_stencil_matrix(A, KRY_MATRIX(.format = KRY_FORMAT_CSR), &matrix));
    else
        matrix = kry_op_retain(A);
    kry_op_describe(matrix, &info);
    R->nnz = info.nnz > 0 ? info.nnz : 0;
    TRY(kry_alloc((size_t)R->n + 1, sizeof *R->row_ptr, &R->row_ptr));
    TRY(kry_alloc((size_t)R->nnz, sizeof *R->col, &R->col));
    TRY(kry_alloc((size_t)R->nnz, kry_type_size(A->shape.type), &R->val));
    TRY(kry_matrix_read(matrix, R->row_ptr, R->col, R->val));
done:
    kry_op_release(&matrix);
    if (st < 0) kry_raw_rows_release(R);
    return st;
}

void kry_raw_rows_release(kry_raw_rows *R)
{
    free(R->row_ptr);
    free(R->col);
    free(R->val);
    *R = (kry_raw_rows){ 0 };
}

/* A wrapped matrix comes back as it lies in the caller's buffers: sort it, and add up. */
static kry_status tidy(const char *who, const kry_op *A, kry_rows *R)
{
    kry_status st = KRY_OK;
    kry_host_csr host = { 0 };
    const kry_entries given = { .who = who,
                                .rows = R->n,
                                .cols = R->n,
                                .nnz = R->nnz,
                                .type = KRY_F64,
                                .row_ptr = R->row_ptr,
                                .col = R->col,
                                .val = R->val };

    if (!kry_matrix_of(A) || !kry_matrix_of(A)->wrapped) return KRY_OK;
    TRY(kry_host_csr_create(&given, KRY_MATRIX(.duplicates = KRY_SUM), &host));
    kry_rows_release(R);
    *R = (kry_rows){ host.rows, host.nnz, host.row_ptr, host.col, host.val };
    host.row_ptr = NULL, host.col = NULL, host.val = NULL;
done:
    kry_host_csr_release(&host);
    return st;
}

/* The entries in double. */
static kry_status widen(kry_type type, kry_raw_rows *raw, kry_rows *R)
{
    kry_status st = KRY_OK;

    *R = (kry_rows){ .n = raw->n, .nnz = raw->nnz };
    if (type == KRY_F32) {
        TRY(kry_alloc((size_t)R->nnz, sizeof *R->val, &R->val));
        for (int64_t e = 0; e < R->nnz; e++) R->val[e] = kry_number_at(type, raw->val, e);
    } else {
        R->val = raw->val, raw->val = NULL;
    }
    R->row_ptr = raw->row_ptr, raw->row_ptr = NULL;
    R->col = raw->col, raw->col = NULL;
done:
    return st;
}

kry_status kry_rows_read(const char *who, const kry_op *A, kry_rows *R)
{
    kry_status st = KRY_OK;
    kry_raw_rows raw = { 0 };

    memset(R, 0, sizeof *R);
    TRY(kry_op_check_square(who, A));
    CHECK(kry_has_rows(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is neither a stored matrix nor a grid operator: it has no entries to read; "
          "take 'jacobi' or 'chebyshev'",
          who, A->table->kind);
    TRY(kry_raw_rows_read(A, &raw));
    TRY(widen(A->shape.type, &raw, R));
    TRY(tidy(who, A, R));
done:
    kry_raw_rows_release(&raw);
    if (st < 0) kry_rows_release(R);
    return st;
}

/* ---- checks -------------------------------------------------------------------------------- */

kry_status kry_rows_diagonal(const char *who, const kry_op *A, const kry_rows *R, int64_t *at)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < R->n; i++) {
        int64_t e = R->row_ptr[i];
        while (e < R->row_ptr[i + 1] && R->col[e] < i) e++;
        bool there = e < R->row_ptr[i + 1] && R->col[e] == i;
        double v = there ? R->val[e] : 0,
               inverse = A->shape.type == KRY_F32 ? (double)(float)(1 / v) : 1 / v;
        CHECK(v > 0 && isfinite(v) && isfinite(inverse), KRY_ERR_ARGUMENT,
              "%s: the diagonal entry of row %lld of '%s' is %g; all must be positive", who,
              (long long)kry_layout_row(&A->dev->layout, i), A->table->kind, v);
        at[i] = e;
    }
done:
    return st;
}

/* As small as this against the diagonal, a difference is none. */
static bool is_rounding(const kry_op *A, double difference, double d_i, double d_j)
{
    double tolerance = A->shape.type == KRY_F32 ? 1e-5 : 1e-8; /* of files with fewer digits */
    return fabs(difference) <= tolerance * sqrt(d_i) * sqrt(d_j);
}

static kry_status compare(const char *who, const kry_op *A, const kry_rows *R, const int64_t *at,
                          int64_t i, int64_t j, double lower, double upper)
{
    kry_status st = KRY_OK;
    long long row = kry_layout_row(&A->dev->layout, i), col = kry_layout_row(&A->dev->layout, j);
    CHECK(is_rounding(A, lower - upper, R->val[at[i]], R->val[at[j]]), KRY_ERR_ARGUMENT,
          "%s: '%s' is not symmetric: row %lld has %g in column %lld, row %lld has %g in column "
          "%lld",
          who, A->table->kind, row, lower, col, col, upper, row);
done:
    return st;
}

enum { GONE = -1 }; /* the column of an entry that is to be left out */

static void leave_out(kry_rows *R)
{
    int64_t to = 0, e = 0;
    for (int64_t i = 0; i < R->n; i++) {
        for (; e < R->row_ptr[i + 1]; e++)
            if (R->col[e] != GONE) R->col[to] = R->col[e], R->val[to++] = R->val[e];
        R->row_ptr[i + 1] = to;
    }
    R->nnz = to;
}

/* Upper entries of row j before column `until` that no lower entry has claimed. */
static kry_status pass_over(const char *who, const kry_op *A, kry_rows *R, const int64_t *at,
                            int64_t j, int64_t until, int64_t *cursor)
{
    kry_status st = KRY_OK;

    for (; *cursor < R->row_ptr[j + 1] && R->col[*cursor] < until; ++*cursor) {
        TRY(compare(who, A, R, at, R->col[*cursor], j, 0, R->val[*cursor]));
        R->col[*cursor] = GONE;
    }
done:
    return st;
}

/* Lower entries in the order of rows meet their partners in the order of each row's columns: one
 * pass, with a cursor into every row. */
kry_status kry_rows_symmetrise(const char *who, const kry_op *A, kry_rows *R)
{
    kry_status st = KRY_OK;
    int64_t *at = NULL, *cursor = NULL;

    TRY(kry_alloc((size_t)R->n, sizeof *at, &at));
    TRY(kry_alloc((size_t)R->n, sizeof *cursor, &cursor));
    TRY(kry_rows_diagonal(who, A, R, at));
    for (int64_t i = 0; i < R->n; i++) cursor[i] = at[i] + 1;
    for (int64_t i = 0; i < R->n; i++)
        for (int64_t e = R->row_ptr[i]; e < at[i]; e++) {
            int64_t j = R->col[e];
            TRY(pass_over(who, A, R, at, j, i, &cursor[j]));
            bool paired = cursor[j] < R->row_ptr[j + 1] && R->col[cursor[j]] == i;
            TRY(compare(who, A, R, at, i, j, R->val[e], paired ? R->val[cursor[j]] : 0));
            if (paired)
                R->val[cursor[j]++] = R->val[e];
            else
                R->col[e] = GONE;
        }
    for (int64_t i = 0; i < R->n; i++) TRY(pass_over(who, A, R, at, i, R->n, &cursor[i]));
    leave_out(R);
done:
    free(at);
    free(cursor);
    return st;
}

/* ---- back to the device ---------------------------------------------------------------------- */

kry_status kry_rows_matrix(const kry_op *A, const kry_rows *R, unsigned traits, kry_op **matrix)
{
    kry_status st = KRY_OK;
    float *narrow = NULL;

    *matrix = NULL;
    if (A->shape.type == KRY_F32) TRY(kry_alloc((size_t)R->nnz, sizeof *narrow, &narrow));
    for (int64_t e = 0; narrow && e < R->nnz; e++) narrow[e] = (float)R->val[e];
    TRY(kry_csr_create(A->dev, A->shape.type, R->n, R->n, R->row_ptr, R->col,
                       narrow ? (void *)narrow : R->val, KRY_MATRIX(.traits = traits), matrix));
done:
    free(narrow);
    return st;
}
