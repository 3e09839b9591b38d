/* multiply.c - products of sparse matrices on the host, row by row (Gustavson). */
#include "sparse/sparse.h"
#include <assert.h>
#include <stdlib.h>

/* Form row i of A B: the columns in the order in which they are met in col, their sums in val. Both
 * NULL: only count them. place[j] is column j's place in the row if seen[j] == i + 1. */
static int64_t multiply_row(const kry_sparse *A, const kry_sparse *B, int64_t i, int64_t *seen,
                            int64_t *place, int32_t *col, double *val)
{
    const double *a = A->val, *b = B->val;
    int64_t count = 0;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            int32_t j = B->col[f];
            if (seen[j] != i + 1) {
                if (col) col[count] = j;
                seen[j] = i + 1, place[j] = count++;
            }
            if (val) val[place[j]] += a[e] * b[f];
        }
    }
    return count;
}

kry_status kry_sparse_multiply(const kry_sparse *A, const kry_sparse *B, kry_sparse *C)
{
    kry_status st = KRY_OK;
    int64_t *seen = NULL, *place = NULL;

    assert(A->cols == B->rows && !A->val == !B->val);
    assert(!A->val || (A->type == KRY_F64 && B->type == KRY_F64));
    *C = (kry_sparse){ .rows = A->rows, .cols = B->cols, .type = KRY_F64 };
    TRY(kry_alloc((size_t)B->cols, sizeof *seen, &seen));
    TRY(kry_alloc((size_t)B->cols, sizeof *place, &place));
    TRY(kry_alloc((size_t)C->rows + 1, sizeof *C->row_ptr, &C->row_ptr));
    for (int64_t i = 0; i < C->rows; i++)
        C->row_ptr[i + 1] = C->row_ptr[i] + multiply_row(A, B, i, seen, place, NULL, NULL);
    TRY(kry_alloc((size_t)kry_sparse_nnz(C), sizeof *C->col, &C->col));
    if (A->val) TRY(kry_alloc((size_t)kry_sparse_nnz(C), sizeof(double), &C->val));
    double *val = C->val;
    for (int64_t j = 0; j < C->cols; j++) seen[j] = 0;
    for (int64_t i = 0; i < C->rows; i++)
        multiply_row(A, B, i, seen, place, C->col + C->row_ptr[i],
                     val ? val + C->row_ptr[i] : NULL);
    TRY(kry_sparse_sort(C));
done:
    if (st < 0) kry_sparse_release(C);
    free(place);
    free(seen);
    return st;
}

/* Row i; place[j]: where (i, j) is in C, -1: nowhere. */
static void add_row(const kry_sparse *A, const double *d, const kry_sparse *B, int64_t i,
                    const int64_t *place, double *c)
{
    const double *a = A->val, *b = B->val;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            int64_t at = place[B->col[f]];
            if (at < 0) continue;
            double both = a[e] * b[f];
            c[at] += d ? both * d[k] : both;
        }
    }
}

kry_status kry_sparse_multiply_within(const kry_sparse *A, const double *d, const kry_sparse *B,
                                      kry_sparse *C)
{
    kry_status st = KRY_OK;
    int64_t *place = NULL;
    double *c = C->val;

    assert(A->rows == C->rows && A->cols == B->rows && B->cols == C->cols);
    TRY(kry_alloc((size_t)C->cols, sizeof *place, &place));
    for (int64_t j = 0; j < C->cols; j++) place[j] = -1;
    for (int64_t i = 0; i < C->rows; i++) {
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = e, c[e] = 0;
        add_row(A, d, B, i, place, c);
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = -1;
    }
done:
    free(place);
    return st;
}
