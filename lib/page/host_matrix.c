/*
 * host_matrix.c - a matrix on the host, its transpose, and how far it is from that.
 */
#include "page/host_matrix.h"
#include <math.h>
#include <stdlib.h>

kry_status kryi_host_matrix_create(int64_t rows, int64_t cols, int64_t nnz, kryi_host_matrix *A)
{
    kry_status st = KRY_OK;
    *A = (kryi_host_matrix){ .rows = rows, .cols = cols, .nnz = nnz };
    TRY(kryi_allocate((size_t)rows + 1, sizeof(int64_t), &A->row_ptr));
    TRY(kryi_allocate((uint64_t)nnz, sizeof(int32_t), &A->col));
    TRY(kryi_allocate((uint64_t)nnz, sizeof(double), &A->val));
done:
    return st;
}

void kryi_host_matrix_release(kryi_host_matrix *A)
{
    if (!A->borrowed) {
        free(A->row_ptr);
        free(A->col);
        free(A->val);
        free(A->place);
    }
    *A = (kryi_host_matrix){ 0 };
}

/* Turn counts in row_ptr[1...] into the place where each row begins; kryi_host_matrix_put() moves it to its end. */
void kryi_host_matrix_begin_rows(kryi_host_matrix *A)
{
    int64_t sum = 0;
    for (int64_t i = 1; i <= A->rows; i++) {
        int64_t count = A->row_ptr[i];
        A->row_ptr[i] = sum;
        sum += count;
    }
}

void kryi_host_matrix_put(kryi_host_matrix *A, int64_t row, int64_t col, double value)
{
    int64_t at = A->row_ptr[row + 1]++;
    A->col[at] = (int32_t)col;
    A->val[at] = value;
}

/* A stable counting sort by column, so the rows of T are ascending whatever those of A are. */
kry_status kryi_host_matrix_transpose(const kryi_host_matrix *A, kryi_host_matrix *T)
{
    kry_status st = KRY_OK;
    TRY(kryi_host_matrix_create(A->cols, A->rows, A->nnz, T));
    for (int64_t e = 0; e < A->nnz; e++) T->row_ptr[A->col[e] + 1]++;
    kryi_host_matrix_begin_rows(T);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            kryi_host_matrix_put(T, A->col[e], i, A->val[e]);
done:
    return st;
}

/* ---- symmetry ------------------------------------------------------------------------------- */

void kryi_asymmetry_note(asymmetry *a, double difference, int64_t row, int64_t col)
{
    if (!(difference > a->difference)) return;
    a->difference = difference;
    a->row = row;
    a->col = col;
}

/* The sum of the entries of row i in the column of entry *e, and on to the next column. */
static double take_place(const kryi_host_matrix *A, int64_t i, int64_t *e)
{
    int32_t col = A->col[*e];
    double sum = 0;
    for (; *e < A->row_ptr[i + 1] && A->col[*e] == col; ++*e) sum += A->val[*e];
    return sum;
}

kry_status kryi_host_matrix_asymmetry(const kryi_host_matrix *A, asymmetry *a)
{
    kry_status st = KRY_OK;
    kryi_host_matrix T = { 0 };
    *a = (asymmetry){ .row = -1, .col = -1 };
    TRY(kryi_host_matrix_transpose(A, &T));
    for (int64_t i = 0; i < A->rows && i < T.rows; i++) {
        int64_t e = A->row_ptr[i], f = T.row_ptr[i];
        while (e < A->row_ptr[i + 1] || f < T.row_ptr[i + 1]) {
            int64_t j = e < A->row_ptr[i + 1] ? A->col[e] : INT64_MAX;
            int64_t k = f < T.row_ptr[i + 1] ? T.col[f] : INT64_MAX;
            double aij = j <= k ? take_place(A, i, &e) : 0,
                   aji = k <= j ? take_place(&T, i, &f) : 0;
            a->unmatched += j < k; /* those with j > k are counted in their own row */
            if (fabs(aij) > a->largest) a->largest = fabs(aij);
            kryi_asymmetry_note(a, fabs(aij - aji), i, j < k ? j : k);
        }
    }
done:
    kryi_host_matrix_release(&T);
    return st;
}
